//! The last events as text, newest last.

use std::collections::{HashSet, VecDeque};

use crate::actors::PipelineEvent;
use crate::model::Timestamp;

/// Number of events kept: more than any screen shows.
const EVENTS_MAX: usize = 200;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoEvent {
    /// When, by the fast clock.
    pub at: Timestamp,
    pub kind: DemoEventKind,
    /// The source, host or actor.
    pub subject: String,
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum DemoEventKind {
    Rests,
    /// A source is disabled.
    Disabled,
    /// A source that rested answers again.
    Returns,
    /// Entries of a feed may have come and gone between two polls.
    Gap,
    /// A hold or breaker of a host has changed.
    Host,
    /// The simulated web changes.
    #[strum(serialize = "web")]
    World,
    Crashed,
    /// An actor crashed and was started again.
    Restart,
}

/// The last events, and counters.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    events: VecDeque<DemoEvent>,
    /// The sources that rest.
    resting: HashSet<String>,
    pub(super) rests: u64,
    pub(super) disables: u64,
    pub(super) holds: u64,
}

impl DemoEventKind {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl EventLog {
    pub(super) fn last(&self, count: usize) -> Vec<DemoEvent> {
        self.events.iter().skip(self.events.len().saturating_sub(count)).cloned().collect()
    }

    /// Records a change of the simulated web.
    pub(super) fn note(&mut self, at: Timestamp, subject: &str, words: &str) {
        self.push(at, DemoEventKind::World, subject.to_owned(), words.to_owned());
    }

    /// Records an event of the pipeline, if it is shown.
    pub(super) fn record(&mut self, at: Timestamp, event: PipelineEvent) {
        match event {
            PipelineEvent::Polled { url, poll, .. } if poll.error_type.is_none() && self.resting.remove(&url) => {
                self.push(at, DemoEventKind::Returns, place(&url), "answers again after its rest".to_owned());
            }
            PipelineEvent::Polled { .. } => {}
            PipelineEvent::Gap { url, .. } => {
                self.push(at, DemoEventKind::Gap, place(&url), "no entry is known: some may be missing".to_owned());
            }
            PipelineEvent::Silenced { url, reason, is_disabled: true } => {
                self.resting.remove(&url);
                self.disables += 1;
                self.push(at, DemoEventKind::Disabled, place(&url), reason);
            }
            PipelineEvent::Silenced { url, reason, is_disabled: false } => {
                let words = reason.strip_prefix("rests ").unwrap_or(&reason).to_owned();
                self.push(at, DemoEventKind::Rests, place(&url), words);
                self.resting.insert(url);
                self.rests += 1;
            }
            PipelineEvent::Host { host, what } => {
                self.holds += u64::from(what.starts_with("held"));
                self.push(at, DemoEventKind::Host, host, short_times(&what));
            }
            PipelineEvent::Crashed { name, message } => self.push(at, DemoEventKind::Crashed, name, message),
            PipelineEvent::Restarted { name } => {
                let is_that = |event: &&mut DemoEvent| event.kind == DemoEventKind::Crashed && event.subject == name;
                if let Some(event) = self.events.iter_mut().rev().find(is_that) {
                    event.kind = DemoEventKind::Restart;
                    event.words.push_str("; restarted");
                }
            }
        }
    }

    fn push(&mut self, at: Timestamp, kind: DemoEventKind, subject: String, words: String) {
        self.events.push_back(DemoEvent { at, kind, subject, words });
        while self.events.len() > EVENTS_MAX {
            self.events.pop_front();
        }
    }
}

/// Host and path of a URL: the scheme and the port are the same for all.
fn place(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = authority.split_once(':').map_or(authority, |(host, _)| host);
    format!("{host}/{path}")
}

/// Shortens times to hours and minutes.
fn short_times(words: &str) -> String {
    let short = |word: &str| {
        let bare = word.trim_end_matches([':', ',']);
        match bare.parse::<Timestamp>() {
            Ok(moment) => format!("{}{}", clock_time(moment), &word[bare.len()..]),
            Err(_) => word.to_owned(),
        }
    };
    words.split(' ').map(short).collect::<Vec<_>>().join(" ")
}

/// Hours and minutes.
pub(super) fn clock_time(moment: Timestamp) -> String {
    let minutes = moment.as_seconds().div_euclid(60);
    format!("{:02}:{:02}", minutes.div_euclid(60).rem_euclid(24), minutes.rem_euclid(60))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SettledPoll;

    fn told(events: impl IntoIterator<Item = PipelineEvent>) -> Vec<(DemoEventKind, String, String)> {
        let mut event_log = EventLog::default();
        events.into_iter().for_each(|event| event_log.record(Timestamp::EPOCH, event));
        event_log.last(10).into_iter().map(|event| (event.kind, event.subject, event.words)).collect()
    }

    fn silenced(reason: &str, is_disabled: bool) -> PipelineEvent {
        PipelineEvent::Silenced { url: "http://127.1.0.4:80/7/feed".into(), reason: reason.into(), is_disabled }
    }

    fn polled(failure: Option<crate::model::FailureKind>) -> PipelineEvent {
        let url = "http://127.1.0.4:80/7/feed".into();
        let poll = SettledPoll { error_type: failure, ..SettledPoll::unchanged(Timestamp::EPOCH) };
        PipelineEvent::Polled { source_id: crate::model::SourceId(1), url, poll: std::sync::Arc::new(poll) }
    }

    #[test]
    fn a_source_that_answers_after_its_rest_returns_once() {
        let place = || "127.1.0.4/7/feed".to_owned();
        let rest = silenced("rests for 3 h after 3 not_found in a row", false);
        assert_eq!(
            told([polled(None), rest, polled(Some(crate::model::FailureKind::NotFound)), polled(None), polled(None)]),
            [
                (DemoEventKind::Rests, place(), "for 3 h after 3 not_found in a row".to_owned()),
                (DemoEventKind::Returns, place(), "answers again after its rest".to_owned()),
            ]
        );
        assert_eq!(told([silenced("why", true), polled(None)]), [(DemoEventKind::Disabled, place(), "why".to_owned())]);
    }

    #[test]
    fn a_crash_and_its_restart_are_one_event() {
        let crash = |name: &str| PipelineEvent::Crashed { name: name.into(), message: "boom".into() };
        let found = told([crash("a"), crash("b"), PipelineEvent::Restarted { name: "a".into() }]);
        let expected = [(DemoEventKind::Restart, "a", "boom; restarted"), (DemoEventKind::Crashed, "b", "boom")];
        assert_eq!(found, expected.map(|(kind, subject, words)| (kind, subject.to_owned(), words.to_owned())));
    }

    #[test]
    fn moments_within_words_become_hours_and_minutes() {
        assert_eq!(
            short_times("held until 2026-11-16T08:10:00.25Z: HTTP 429, until 2026-11-16T23:59:59Z"),
            "held until 08:10: HTTP 429, until 23:59"
        );
        assert_eq!(short_times("silent 3 times: 1 2026"), "silent 3 times: 1 2026");
    }
}
