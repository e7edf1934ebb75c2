//! Threads that are blocked or gone, as the watchdog sees them.

use std::sync::mpsc::channel;
use std::time::Duration;

use feedwarden::supervision::{SupervisorSpec, Thread, ThreadState, WatchdogSettings};

use super::probe::{Cast, Fail, Generation};
use super::world::{AT_ONCE, Stage, World, on_stage, once, until};

/// Quick, and with a patience that a busy machine does not use up by accident within a test that must not see it.
const WATCHDOG: WatchdogSettings = WatchdogSettings { interval: Duration::from_millis(5), missed_max: 3 };

fn state(stage: &Stage, name: &str) -> ThreadState {
    stage.tree().threads.into_iter().find(|thread| thread.name == name).unwrap().state
}

#[test]
fn a_blocked_thread_is_noticed_and_so_is_its_recovery() {
    on_stage(async {
        let world = World::new();
        let cast = Cast::new("probe");
        let thread = Thread::new("worker");
        let root = SupervisorSpec::new("root", once(vec![cast.spec().on(&thread)]));
        let stage = Stage::watched(&world, root, WATCHDOG);
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(1));
        let (release, blocked) = channel();
        cast.inbox.address().do_send(Fail::Block(blocked));
        cast.until_last("probe blocks").await;
        stage.until_saw("thread worker blocked").await;
        let ThreadState::Blocked { silent } = state(&stage, "worker") else { panic!("{}", stage.tree()) };
        assert!(silent >= 3 * WATCHDOG.interval);
        // What is queued behind the blocked handler can be seen.
        (0..5).for_each(|_| cast.inbox.address().do_send(Fail::InHandler));
        assert_eq!(stage.node("probe").mailbox.unwrap().depth, 5);
        release.send(()).unwrap();
        stage.until_saw("thread worker recovered").await;
        until("an answer", || state(&stage, "worker") == ThreadState::Responsive).await;
    });
}

#[test]
fn a_thread_that_is_gone_is_noticed_and_replaced_when_its_child_returns() {
    on_stage(async {
        let world = World::new();
        let cast = Cast::new("probe");
        let root = SupervisorSpec::new("root", once(vec![cast.spec().on(&Thread::new("worker"))]));
        // The default intensity delays the restart, and time stands still.
        let stage = Stage::watched(&world, root, WATCHDOG);
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(1));
        cast.inbox.address().do_send(Fail::EndThread);
        stage.until_saw("thread worker gone").await;
        assert_eq!(state(&stage, "worker"), ThreadState::Gone);
        stage.until_saw("probe crashed: the thread it ran on is gone").await;
        world.advance(Duration::from_secs(1));
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(2));
        stage.until_saw("thread worker recovered").await;
    });
}

#[test]
fn the_roots_own_thread_is_watched_as_well() {
    on_stage(async {
        let world = World::new();
        let cast = Cast::new("probe");
        let root = SupervisorSpec::new("root", once(vec![cast.spec()])).intensity(AT_ONCE);
        let stage = Stage::watched(&world, root, WATCHDOG);
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(1));
        // This test runs on that thread; while it waits here in the wrong way, nothing else can.
        let blocked = || world.saw("thread root blocked");
        while !blocked() {
            std::thread::sleep(WATCHDOG.interval);
        }
        stage.until_saw("thread root recovered").await;
    });
}
