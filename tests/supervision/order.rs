//! In which order children start and stop, and what happens to those that do not want to.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::Duration;

use feedwarden::supervision::{ChildSpec, Intensity, Restart, RootEnd, State, SupervisorSpec, Thread};

use super::probe::{Cast, Diary, Fail, Generation};
use super::world::{AT_ONCE, Stage, World, on_stage, once, until};

const SECOND: Duration = Duration::from_secs(1);

fn three() -> (Diary, [Cast; 3]) {
    let diary = Diary::default();
    let casts = ["a", "b", "c"].map(|name| Cast::with_diary(name, &diary));
    (diary, casts)
}

fn specs(casts: &[Cast; 3]) -> Vec<ChildSpec> {
    casts.iter().map(Cast::spec).collect()
}

#[test]
fn children_start_in_order_and_stop_in_reverse() {
    on_stage(async {
        let (diary, casts) = three();
        let [a, b, c] = &casts;
        let inner = SupervisorSpec::new("inner", once(vec![b.spec(), c.spec()]));
        let root = SupervisorSpec::new("root", once(vec![a.spec(), ChildSpec::supervisor(inner)]));
        let stage = Stage::start(&World::new(), root);
        assert_eq!(c.inbox.address().send(Generation).await, Ok(1));
        assert!(matches!(stage.stop().await, RootEnd::Stopped));
        let wanted = ["a started", "b started", "c started", "c stopped", "b stopped", "a stopped"];
        assert_eq!(*diary.lock().unwrap(), wanted);
        until("the addresses to close", || !a.inbox.address().connected()).await;
    });
}

#[test]
fn a_child_that_cannot_start_holds_up_those_behind_it() {
    on_stage(async {
        let (diary, casts) = three();
        let [_, b, c] = &casts;
        b.plan.panics_in_started.store(1, Ordering::SeqCst);
        let intensity = Intensity { delay_first: SECOND, jitter: 0.0, ..Intensity::default() };
        let stage = Stage::start(&World::new(), SupervisorSpec::new("root", once(specs(&casts))).intensity(intensity));
        stage.until_saw("b restarts after 1s, crash 1").await;
        assert_eq!(*diary.lock().unwrap(), ["a started"]);
        assert_eq!((stage.node("c").state, stage.tree().root.state), (State::Waiting, State::Starting));
        stage.world.advance(SECOND);
        assert_eq!(c.inbox.address().send(Generation).await, Ok(1));
        assert_eq!(*diary.lock().unwrap(), ["a started", "b started", "c started"]);
    });
}

#[test]
fn one_for_one_leaves_the_others_alone() {
    on_stage(async {
        let (diary, casts) = three();
        let stage = Stage::start(&World::new(), SupervisorSpec::new("root", once(specs(&casts))).intensity(AT_ONCE));
        assert_eq!(casts[2].inbox.address().send(Generation).await, Ok(1));
        casts[0].inbox.address().do_send(Fail::InHandler);
        assert_eq!(casts[0].inbox.address().send(Generation).await, Ok(2));
        assert_eq!(diary.lock().unwrap()[3..], ["a started"]);
        assert!(matches!(stage.stop().await, RootEnd::Stopped));
    });
}

#[test]
fn a_transient_child_that_ends_normally_is_not_started_again() {
    on_stage(async {
        let cast = Cast::new("probe");
        let stage = Stage::of_one(&World::new(), cast.spec().restart(Restart::Transient));
        let address = cast.inbox.address();
        address.do_send(Fail::InHandler);
        assert_eq!(address.send(Generation).await, Ok(2), "after a crash it is");
        address.do_send(Fail::Stop);
        until("the address to close", || !address.connected()).await;
        assert_eq!((cast.made(), stage.node("probe").state), (2, State::Ended));
        assert!(stage.world.saw("probe ended"));
        assert!(matches!(stage.stop().await, RootEnd::Stopped));
    });
}

#[test]
fn a_child_that_refuses_to_stop_is_dropped_after_its_limit_and_the_next_one_waits_for_that() {
    on_stage(async {
        let (diary, casts) = three();
        let [a, b, c] = &casts;
        b.plan.refuses_to_stop.store(true, Ordering::SeqCst);
        let children = vec![a.spec(), b.spec().stop_within(3 * SECOND), c.spec()];
        let stage = Stage::start(&World::new(), SupervisorSpec::new("root", once(children)));
        assert_eq!(c.inbox.address().send(Generation).await, Ok(1));
        stage.handle.stop();
        stage.until_saw("c stopped").await;
        until("b to be asked", || stage.node("b").state == State::Stopping).await;
        stage.world.advance(3 * SECOND - Duration::from_nanos(1));
        // It still answers: it has only asked for time.
        assert_eq!(b.inbox.address().send(Generation).await, Ok(1));
        assert_eq!(diary.lock().unwrap()[3..], ["c stopped"]);
        stage.world.advance(Duration::from_nanos(1));
        let world = stage.world.clone();
        assert!(matches!(stage.running.await.unwrap(), RootEnd::Stopped));
        assert!(world.saw("b overran 3s"));
        assert_eq!(diary.lock().unwrap()[3..], ["c stopped", "a stopped"]);
    });
}

#[test]
fn a_child_whose_thread_is_blocked_is_abandoned_and_the_rest_still_stop() {
    on_stage(async {
        let world = World::new();
        let (diary, casts) = three();
        let [a, b, _] = &casts;
        let children = vec![a.spec(), b.spec().on(&Thread::new("worker"))];
        let stage = Stage::start(&world, SupervisorSpec::new("root", once(children)));
        assert_eq!(b.inbox.address().send(Generation).await, Ok(1));
        let (release, blocked) = channel();
        b.inbox.address().do_send(Fail::Block(blocked));
        b.until_last("b blocks").await;
        stage.handle.stop();
        until("b to be asked", || stage.node("b").state == State::Stopping).await;
        world.advance(5 * SECOND);
        stage.until_saw("b overran 5s").await;
        world.advance(SECOND);
        let handle = stage.handle.clone();
        assert!(matches!(stage.running.await.unwrap(), RootEnd::Stopped));
        assert_eq!(handle.tree(10).unwrap().root.find("b").unwrap().state, State::Abandoned);
        assert_eq!(diary.lock().unwrap().last().unwrap(), "a stopped");
        release.send(()).unwrap();
    });
}

#[test]
fn a_blocked_child_that_should_be_replaced_escalates_since_two_of_it_must_not_run() {
    on_stage(async {
        let world = World::new();
        let (_, casts) = three();
        let [a, b, _] = &casts;
        let children = vec![a.spec(), b.spec().on(&Thread::new("worker"))];
        // The first crash of a child makes the inner supervisor fail, which stops all of its children.
        let none = Intensity { restarts_max: 0, ..AT_ONCE };
        let inner = SupervisorSpec::new("inner", once(children)).intensity(none);
        let once_more = Intensity { restarts_max: 1, ..AT_ONCE };
        let root = SupervisorSpec::new("root", once(vec![ChildSpec::supervisor(inner)])).intensity(once_more);
        let stage = Stage::start(&world, root);
        assert_eq!(b.inbox.address().send(Generation).await, Ok(1));
        let (release, blocked) = channel();
        b.inbox.address().do_send(Fail::Block(blocked));
        b.until_last("b blocks").await;
        a.inbox.address().do_send(Fail::InHandler);
        until("b to be asked", || stage.node("b").state == State::Stopping).await;
        world.advance(5 * SECOND);
        stage.until_saw("b overran 5s").await;
        world.advance(SECOND);
        let RootEnd::Escalated(crash) = stage.running.await.unwrap() else { panic!("it ended well") };
        assert!(crash.message.ends_with("b does not answer, so it cannot be started again"), "{}", crash.message);
        release.send(()).unwrap();
    });
}

#[test]
fn a_kill_does_not_wait_for_anybody() {
    on_stage(async {
        let (diary, casts) = three();
        casts[1].plan.refuses_to_stop.store(true, Ordering::SeqCst);
        let stage = Stage::start(&World::new(), SupervisorSpec::new("root", once(specs(&casts))));
        assert_eq!(casts[2].inbox.address().send(Generation).await, Ok(1));
        stage.handle.stop();
        stage.until_saw("c stopped").await;
        stage.handle.kill();
        assert!(matches!(stage.running.await.unwrap(), RootEnd::Stopped));
        until("the addresses to close", || !casts[1].inbox.address().connected()).await;
        assert!(!diary.lock().unwrap().contains(&"b stopped".to_owned()));
    });
}

#[test]
fn a_stop_during_a_restart_delay_does_not_wait_for_it() {
    on_stage(async {
        let cast = Arc::new(Cast::new("probe"));
        let stage = Stage::start(&World::new(), SupervisorSpec::new("root", once(vec![cast.spec()])));
        cast.inbox.address().do_send(Fail::InHandler);
        stage.until_saw("probe restarts after 100ms, crash 1").await;
        assert_eq!(stage.node("probe").state, State::Delayed);
        let handle = stage.handle.clone();
        assert!(matches!(stage.stop().await, RootEnd::Stopped));
        assert_eq!((cast.made(), handle.tree(1).unwrap().root.children[0].state), (1, State::Stopped));
    });
}
