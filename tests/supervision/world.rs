//! A held environment, and a tree that runs in it.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_rt::System;
use actix_rt::task::JoinHandle;
use actix_rt::time::{sleep, timeout};
use feedwarden::supervision::{
    ChildSpec, Environment, Event, Intensity, Node, Root, RootEnd, RootHandle, SupervisorSpec, Timer, Tree,
    WatchdogSettings,
};
use tokio::sync::watch;

use super::probe::trip;

/// Far longer than any test should need: a bound, not a wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// When the held clock starts.
pub(super) const DAWN: Duration = Duration::from_secs(1_000_000);

/// A clock that stands still, dice that always show the same, and everything that was observed.
pub(super) struct World {
    now: watch::Sender<Duration>,
    roll: f64,
    events: Mutex<Vec<String>>,
    /// How often the dice will panic.
    pub(super) dice_panics: AtomicU32,
    pub(super) log_panics: AtomicBool,
    pub(super) clock_panics: AtomicBool,
}

impl World {
    pub(super) fn new() -> Arc<World> {
        World::with_roll(0.0)
    }

    pub(super) fn with_roll(roll: f64) -> Arc<World> {
        Arc::new(World {
            now: watch::Sender::new(DAWN),
            roll,
            events: Mutex::default(),
            dice_panics: AtomicU32::new(0),
            log_panics: AtomicBool::new(false),
            clock_panics: AtomicBool::new(false),
        })
    }

    pub(super) fn advance(&self, duration: Duration) {
        self.now.send_modify(|now| *now += duration);
    }

    /// What was observed, one line each.
    pub(super) fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }

    pub(super) fn saw(&self, event: &str) -> bool {
        self.events().iter().any(|seen| seen == event)
    }
}

impl Environment for World {
    fn now(&self) -> Duration {
        assert!(!self.clock_panics.load(Ordering::SeqCst), "the clock stopped");
        *self.now.borrow()
    }

    fn roll(&self) -> f64 {
        trip(&self.dice_panics, "the dice fell off the table");
        self.roll
    }

    fn sleep(&self, duration: Duration) -> Timer {
        let due = self.now() + duration;
        let mut now = self.now.subscribe();
        Box::pin(async move {
            now.wait_for(|now| *now >= due).await.unwrap();
        })
    }

    fn observe(&self, event: &Event<'_>) {
        let line = match event {
            Event::Started { name } => format!("{name} started"),
            Event::Crashed { name, crash } => format!("{name} crashed: {}", crash.message),
            Event::Restarting { name, after, nth, .. } => format!("{name} restarts after {after:?}, crash {nth}"),
            Event::Ended { name } => format!("{name} ended"),
            Event::Stopped { name } => format!("{name} stopped"),
            Event::Overran { name, limit } => format!("{name} overran {limit:?}"),
            Event::GaveUp { name, crash } => format!("{name} gave up: {}", crash.message),
            Event::ThreadBlocked { name, .. } => format!("thread {name} blocked"),
            Event::ThreadRecovered { name } => format!("thread {name} recovered"),
            Event::ThreadGone { name } => format!("thread {name} gone"),
            _ => unreachable!("an event that these tests do not know"),
        };
        self.events.lock().unwrap().push(line);
        assert!(!self.log_panics.load(Ordering::SeqCst), "the log is full");
    }
}

/// A tree that runs.
pub(super) struct Stage {
    pub(super) world: Arc<World>,
    pub(super) handle: RootHandle,
    pub(super) running: JoinHandle<RootEnd>,
}

impl Stage {
    pub(super) fn start(world: &Arc<World>, spec: SupervisorSpec) -> Stage {
        Stage::watched(world, spec, WatchdogSettings { interval: PATIENCE, missed_max: 1 })
    }

    pub(super) fn watched(world: &Arc<World>, spec: SupervisorSpec, watchdog: WatchdogSettings) -> Stage {
        let root = Root::watched(spec, world.clone(), watchdog);
        let handle = root.handle();
        Stage { world: world.clone(), handle, running: actix_rt::spawn(root.run()) }
    }

    /// One child below a root that restarts at once.
    pub(super) fn of_one(world: &Arc<World>, child: ChildSpec) -> Stage {
        Stage::start(world, SupervisorSpec::new("root", once(vec![child])).intensity(AT_ONCE))
    }

    pub(super) fn tree(&self) -> Tree {
        self.handle.tree(usize::MAX).unwrap()
    }

    pub(super) fn node(&self, name: &str) -> Node {
        self.tree().root.find(name).unwrap_or_else(|| panic!("no {name} in {}", self.tree())).clone()
    }

    pub(super) async fn until_saw(&self, event: &str) {
        until(&format!("event {event:?}"), || self.world.saw(event)).await;
    }

    pub(super) async fn stop(self) -> RootEnd {
        self.handle.stop();
        self.running.await.unwrap()
    }
}

pub(super) const AT_ONCE: Intensity = Intensity {
    restarts_max: 5,
    within: Duration::from_secs(60),
    delay_first: Duration::ZERO,
    delay_max: Duration::ZERO,
    jitter: 0.0,
};

/// A list of children that is asked for once.
pub(super) fn once(children: Vec<ChildSpec>) -> impl FnMut() -> Vec<ChildSpec> + 'static {
    let mut children = Some(children);
    move || children.take().unwrap()
}

/// Runs a test on a system of its own.
pub(super) fn on_stage<T>(test: impl Future<Output = T>) -> T {
    System::new().block_on(async { timeout(PATIENCE, test).await.expect("the test hangs") })
}

/// Waits for a condition.
pub(super) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let wait = async {
        while !condition() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    assert!(timeout(PATIENCE / 2, wait).await.is_ok(), "waited in vain for {what}");
}
