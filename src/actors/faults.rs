//! Fault injection for tests and the demo: panics, stalls and lost messages in chosen actors, by seeded dice. Off by
//! default.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix::fut::wrap_future;
use actix::{Actor, AsyncContext, Context};
use parking_lot::Mutex;

use crate::dice::{Dice, SeededDice};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultSettings {
    /// No fault is injected without this.
    pub is_enabled: bool,
    /// Seed of the dice.
    pub seed: u64,
    /// The most faults in all; no bound without it.
    pub limit: Option<u64>,
    /// Rules, of which the first that matches applies.
    pub faults: Vec<Fault>,
}

/// One rule of the fault injection.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Name of the actor; `*` is any.
    pub actor: String,
    /// Name of the message; `*` is any.
    pub message: String,
    /// What the fault does.
    pub action: FaultAction,
    /// Probability for each message, from 0 to 1.
    pub probability: f64,
}

impl Fault {
    /// The actors and messages that faults can be injected into.
    pub const PLACES: [(&'static str, &'static [&'static str]); 8] = [
        ("scheduler", &["PollCompleted", "SourcesChanged"]),
        ("host", &["PollSource", "FetchFinished"]),
        ("fetch", &["FetchSource"]),
        ("post-sink", &["PollSucceeded", "CleanUp"]),
        ("failure-tracker", &["PollFailed", "HostAnswered", "PollLost"]),
        ("full-text", &["Fetch", "Fetched"]),
        ("websub", &["Ask", "Asked"]),
        ("webhooks", &["Deliver", "Delivered"]),
    ];
}

/// The text is no fault rule.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no fault; write ACTOR/MESSAGE=ACTION@PROBABILITY, such as host/PollSource=panic@0.01, with * for any actor \
     or message, an action out of panic, drop and stall:MILLISECONDS, and a probability from 0 to 1"
)]
pub struct NotAFault(String);

impl FromStr for Fault {
    type Err = NotAFault;

    fn from_str(text: &str) -> Result<Fault, NotAFault> {
        parse(text.trim()).ok_or_else(|| NotAFault(text.chars().take(100).collect()))
    }
}

fn parse(text: &str) -> Option<Fault> {
    let (place, what) = text.split_once('=')?;
    let (actor, message) = place.split_once('/')?;
    let (action, probability) = what.split_once('@')?;
    let known = Fault::PLACES
        .iter()
        .any(|(name, messages)| (actor == "*" || actor == *name) && (message == "*" || messages.contains(&message)));
    let action = match action.split_once(':') {
        None if action == "panic" => FaultAction::Panic,
        None if action == "drop" => FaultAction::Drop,
        Some(("stall", milliseconds)) => FaultAction::Stall(Duration::from_millis(milliseconds.parse().ok()?)),
        _ => return None,
    };
    let probability: f64 = probability.parse().ok()?;
    let is_right = known && (0.0..=1.0).contains(&probability);
    is_right.then(|| Fault { actor: actor.to_owned(), message: message.to_owned(), action, probability })
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { actor, message, action, probability } = self;
        match action {
            FaultAction::Panic => write!(formatter, "{actor}/{message}=panic@{probability}"),
            FaultAction::Drop => write!(formatter, "{actor}/{message}=drop@{probability}"),
            FaultAction::Stall(time) => write!(formatter, "{actor}/{message}=stall:{}@{probability}", time.as_millis()),
        }
    }
}

/// What a fault does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultAction {
    /// The actor panics while it handles the message.
    Panic,
    /// The actor does nothing for this long.
    Stall(Duration),
    /// The message is lost.
    Drop,
}

pub(super) struct Faults {
    settings: Mutex<FaultSettings>,
    dice: SeededDice,
    struck: AtomicU64,
}

impl Faults {
    pub(super) fn new(settings: FaultSettings) -> Faults {
        let dice = SeededDice::new(settings.seed);
        Faults { settings: Mutex::new(settings), dice, struck: AtomicU64::new(0) }
    }

    pub(super) fn settings(&self) -> FaultSettings {
        self.settings.lock().clone()
    }

    /// Replaces the rules, or only enables or disables them.
    pub(super) fn change(&self, is_enabled: bool, rules: Option<Vec<Fault>>) {
        let mut settings = self.settings.lock();
        settings.is_enabled = is_enabled;
        if let Some(rules) = rules {
            settings.faults = rules;
        }
    }

    /// Number of faults so far.
    pub(super) fn struck(&self) -> u64 {
        self.struck.load(Ordering::Relaxed)
    }

    pub(super) fn cease(&self) {
        self.settings.lock().is_enabled = false;
    }

    /// Injects a fault into the handling of a message, if a rule says so; returns true if the message is to be dropped.
    ///
    /// # Panics
    /// If that is the fault.
    pub(super) fn inject<A>(&self, actor: &'static str, message: &'static str, ctx: &mut Context<A>) -> bool
    where
        A: Actor<Context = Context<A>>,
    {
        match self.choose(actor, message) {
            None => false,
            Some(FaultAction::Panic) => panic!("injected fault in {actor} at {message}"),
            Some(FaultAction::Drop) => true,
            Some(FaultAction::Stall(duration)) => {
                ctx.wait(wrap_future(tokio::time::sleep(duration)));
                false
            }
        }
    }

    /// The same for work of an actor that no message starts.
    ///
    /// # Panics
    /// If that is the fault.
    pub(super) async fn inject_into_work(&self, actor: &'static str, work: &'static str) -> bool {
        match self.choose(actor, work) {
            None => false,
            Some(FaultAction::Panic) => panic!("injected fault in {actor} at {work}"),
            Some(FaultAction::Drop) => true,
            Some(FaultAction::Stall(duration)) => {
                tokio::time::sleep(duration).await;
                false
            }
        }
    }

    fn choose(&self, actor: &str, message: &str) -> Option<FaultAction> {
        // No code that may panic runs while the lock is held.
        let settings = self.settings.lock();
        if !settings.is_enabled || settings.limit.is_some_and(|limit| self.struck() >= limit) {
            return None;
        }
        let matches = |pattern: &str, name: &str| pattern == "*" || pattern == name;
        let fault = settings.faults.iter().find(|fault| {
            matches(&fault.actor, actor) && matches(&fault.message, message) && self.dice.roll() < fault.probability
        })?;
        self.struck.fetch_add(1, Ordering::Relaxed);
        Some(fault.action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(is_enabled: bool, limit: Option<u64>) -> Faults {
        let fault = Fault { actor: "host".into(), message: "*".into(), action: FaultAction::Drop, probability: 0.5 };
        Faults::new(FaultSettings { is_enabled, seed: 7, limit, faults: vec![fault] })
    }

    fn strikes(faults: &Faults, actor: &str) -> usize {
        (0..1000).filter(|_| faults.choose(actor, "PollSource").is_some()).count()
    }

    #[test]
    fn faults_match_their_actor_occur_with_their_probability_and_are_seeded() {
        assert_eq!(strikes(&faults(true, None), "scheduler"), 0);
        let count = strikes(&faults(true, None), "host");
        assert!((450..550).contains(&count), "{count}");
        assert_eq!(count, strikes(&faults(true, None), "host"));
    }

    #[test]
    fn a_fault_is_written_as_it_is_read_and_nonsense_is_refused() {
        for text in ["host/PollSource=panic@0.01", "*/*=drop@1", "post-sink/*=stall:250@0.5"] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "host=panic@1",
            "host/Nothing=panic@1",
            "cook/*=panic@1",
            "host/*=sing@1",
            "host/*=panic@2",
            "host/*=stall@1",
        ] {
            assert!(text.parse::<Fault>().is_err(), "{text}");
        }
    }

    #[test]
    fn faults_are_off_unless_enabled_and_end_at_their_limit() {
        assert_eq!(strikes(&faults(false, None), "host"), 0);
        assert_eq!(strikes(&faults(true, Some(3)), "host"), 3);
        let ceased = faults(true, None);
        ceased.cease();
        assert_eq!(strikes(&ceased, "host"), 0);
    }
}
