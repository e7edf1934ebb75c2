//! One test per place of failure: the child is started again behind the same address, and the crash is on record.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Addr, MailboxError};
use feedwarden::supervision::{ChildSpec, Restart, RootEnd, State, SupervisorSpec, Thread};

use super::probe::{Cast, Fail, Generation, Note, Probe, Respond, RespondApart};
use super::world::{AT_ONCE, DAWN, Stage, World, on_stage, once, until};

/// Lets one child fail and sees that the next actor answers at the same address.
fn check(wanted: &str, arrange: impl FnOnce(&Cast), provoke: impl FnOnce(&Addr<Probe>)) {
    on_stage(async {
        let cast = Cast::new("probe");
        arrange(&cast);
        let stage = Stage::of_one(&World::new(), cast.spec());
        let address = cast.inbox.address();
        provoke(&address);
        stage.until_saw(&format!("probe crashed: {wanted}")).await;
        assert_eq!(address.send(Generation).await, Ok(2));
        until("the probe to be up", || stage.node("probe").state == State::Up).await;
        let node = stage.node("probe");
        assert_eq!((node.restarts, cast.made()), (1, 2));
        let crash = node.last_crash.unwrap();
        assert_eq!(crash.message, wanted);
        assert!(crash.place.unwrap().contains("tests/supervision/probe.rs:"));
        assert!(crash.backtrace.unwrap().to_string().contains("probe"), "a backtrace names the code that panicked");
        assert!(matches!(stage.stop().await, RootEnd::Stopped));
    });
}

#[test]
fn in_the_factory() {
    check("in the factory", |cast| cast.plan.panics_in_factory.store(1, Ordering::SeqCst), |_| {});
}

#[test]
fn in_started() {
    check("in started", |cast| cast.plan.panics_in_started.store(1, Ordering::SeqCst), |_| {});
}

#[test]
fn in_a_handler() {
    check("in the handler", |_| {}, |address| address.do_send(Fail::InHandler));
}

#[test]
fn in_a_response_future() {
    check("in a response future", |_| {}, |address| address.do_send(Respond::Panicking));
}

#[test]
fn in_a_response_future_that_is_a_task_of_its_own_only_the_sender_notices() {
    on_stage(async {
        let cast = Cast::new("probe");
        let stage = Stage::of_one(&World::new(), cast.spec());
        assert_eq!(cast.inbox.address().send(RespondApart).await, Err(MailboxError::Closed));
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(1));
        assert_eq!(stage.node("probe").restarts, 0);
    });
}

#[test]
fn in_a_spawned_future() {
    check("in a spawned future", |_| {}, |address| address.do_send(Fail::InSpawnedFuture));
}

#[test]
fn in_a_future_that_the_actor_waits_for() {
    check("in a waited future", |_| {}, |address| address.do_send(Fail::InWaitedFuture));
}

#[test]
fn in_a_timer() {
    check("in a timer", |_| {}, |address| address.do_send(Fail::InTimer));
}

#[test]
fn in_stopping() {
    let arrange = |cast: &Cast| cast.plan.panics_in_stopping.store(1, Ordering::SeqCst);
    check("in stopping", arrange, |address| address.do_send(Fail::Stop));
}

#[test]
fn in_stopped() {
    let arrange = |cast: &Cast| cast.plan.panics_in_stopped.store(1, Ordering::SeqCst);
    check("in stopped", arrange, |address| address.do_send(Fail::Stop));
}

#[test]
fn in_drop_after_a_normal_end() {
    let arrange = |cast: &Cast| cast.plan.panics_in_drop.store(1, Ordering::SeqCst);
    check("in drop", arrange, |address| address.do_send(Fail::Stop));
}

#[test]
fn in_drop_after_a_panic_in_a_handler() {
    // Unprotected, the second panic would end the process.
    let arrange = |cast: &Cast| {
        cast.plan.panics_in_drop.store(1, Ordering::SeqCst);
        cast.plan.panics_in_stopped.store(1, Ordering::SeqCst);
    };
    check("in the handler", arrange, |address| address.do_send(Fail::InHandler));
}

#[test]
fn in_the_destructor_of_a_panics_payload() {
    let wanted = "panicked with a value that is not text";
    on_stage(async {
        let cast = Cast::new("probe");
        let stage = Stage::of_one(&World::new(), cast.spec());
        cast.inbox.address().do_send(Fail::WithBadPayload);
        stage.until_saw(&format!("probe crashed: {wanted}")).await;
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(2));
    });
}

#[test]
fn in_the_supervisors_own_child_list() {
    on_stage(async {
        let cast = Arc::new(Cast::new("probe"));
        let mut asked = 0;
        let list = {
            let cast = cast.clone();
            move || {
                asked += 1;
                assert!(asked > 2, "in the child list, time {asked}");
                vec![cast.spec()]
            }
        };
        let inner = ChildSpec::supervisor(SupervisorSpec::new("inner", list));
        let stage = Stage::of_one(&World::new(), inner);
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(1));
        until("the supervisor to be up", || stage.node("inner").state == State::Up).await;
        let inner = stage.node("inner");
        assert_eq!(inner.restarts, 2);
        let message = inner.last_crash.unwrap().message;
        assert_eq!(message, "the supervisor itself panicked: in the child list, time 2");
    });
}

#[test]
fn in_the_supervisor_itself() {
    on_stage(async {
        let world = World::new();
        let (first, second) = (Cast::new("first"), Cast::new("second"));
        let inner = SupervisorSpec::new("inner", once(vec![first.spec(), second.spec()])).intensity(AT_ONCE);
        let root = SupervisorSpec::new("root", once(vec![ChildSpec::supervisor(inner)])).intensity(AT_ONCE);
        let stage = Stage::start(&world, root);
        assert_eq!(second.inbox.address().send(Generation).await, Ok(1));
        world.dice_panics.store(1, Ordering::SeqCst);
        first.inbox.address().do_send(Fail::InHandler);
        stage.until_saw("inner gave up: the supervisor itself panicked: the dice fell off the table").await;
        // Its children were stopped and started again with it, behind the same addresses.
        assert_eq!(second.inbox.address().send(Generation).await, Ok(2));
        assert_eq!(first.inbox.address().send(Generation).await, Ok(2));
    });
}

#[test]
fn in_the_log_that_observes() {
    on_stage(async {
        let world = World::new();
        world.log_panics.store(true, Ordering::SeqCst);
        let cast = Cast::new("probe");
        let stage = Stage::of_one(&world, cast.spec());
        cast.inbox.address().do_send(Fail::InHandler);
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(2));
        assert!(matches!(stage.stop().await, RootEnd::Stopped));
    });
}

#[test]
fn in_the_clock() {
    on_stage(async {
        let world = World::new();
        let cast = Cast::new("probe");
        let stage = Stage::of_one(&world, cast.spec());
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(1));
        world.clock_panics.store(true, Ordering::SeqCst);
        cast.inbox.address().do_send(Fail::InHandler);
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(2));
        assert_eq!(stage.node("probe").last_crash.unwrap().at, DAWN, "the time is the last one known");
        assert!(matches!(stage.stop().await, RootEnd::Stopped));
    });
}

#[test]
fn while_stopping() {
    on_stage(async {
        let (first, second) = (Cast::new("first"), Cast::new("second"));
        second.plan.panics_in_stopping.store(1, Ordering::SeqCst);
        second.plan.panics_in_drop.store(1, Ordering::SeqCst);
        first.plan.panics_in_stopped.store(1, Ordering::SeqCst);
        let children = vec![first.spec(), second.spec()];
        let stage = Stage::start(&World::new(), SupervisorSpec::new("root", once(children)));
        assert_eq!(second.inbox.address().send(Generation).await, Ok(1));
        let (world, handle) = (stage.world.clone(), stage.handle.clone());
        assert!(matches!(stage.stop().await, RootEnd::Stopped));
        let crashes = world.events().into_iter().filter(|event| event.contains("crashed")).collect::<Vec<_>>();
        assert_eq!(crashes, ["second crashed: in stopping", "first crashed: in stopped"]);
        let tree = handle.tree(10).unwrap();
        assert!(tree.root.children.iter().all(|child| child.state == State::Stopped), "{tree}");
        assert_eq!((first.made(), second.made()), (1, 1), "no actor is restarted while all are stopped");
    });
}

#[test]
fn in_two_children_at_once() {
    on_stage(async {
        let (first, second, third) = (Cast::new("first"), Cast::new("second"), Cast::new("third"));
        let children = vec![first.spec(), second.spec(), third.spec()];
        let stage = Stage::start(&World::new(), SupervisorSpec::new("root", once(children)).intensity(AT_ONCE));
        assert_eq!(third.inbox.address().send(Generation).await, Ok(1));
        // Both messages lie in their mailboxes before either actor runs again.
        first.inbox.address().do_send(Fail::InHandler);
        third.inbox.address().do_send(Fail::InHandler);
        assert_eq!(first.inbox.address().send(Generation).await, Ok(2));
        assert_eq!(third.inbox.address().send(Generation).await, Ok(2));
        assert_eq!(second.inbox.address().send(Generation).await, Ok(1));
        assert_eq!([stage.node("first").restarts, stage.node("third").restarts], [1, 1]);
    });
}

#[test]
fn an_arbiters_thread_that_is_gone() {
    on_stage(async {
        let (first, second) = (Cast::new("first"), Cast::new("second"));
        let thread = Thread::new("worker");
        let children = vec![first.spec().on(&thread), second.spec().on(&thread)];
        let stage = Stage::start(&World::new(), SupervisorSpec::new("root", once(children)).intensity(AT_ONCE));
        assert_eq!(second.inbox.address().send(Generation).await, Ok(1));
        first.inbox.address().do_send(Fail::EndThread);
        for number in 0..10 {
            first.inbox.address().do_send(Note(number));
        }
        stage.until_saw("first crashed: the thread it ran on is gone").await;
        stage.until_saw("second crashed: the thread it ran on is gone").await;
        // Both lived there, and both live again on a new thread, behind the same addresses; what was queued is there.
        assert_eq!(first.inbox.address().send(Generation).await, Ok(2));
        assert_eq!(second.inbox.address().send(Generation).await, Ok(2));
        let got = first.diary().into_iter().filter(|line| line.contains("got")).collect::<Vec<_>>();
        assert_eq!(got, (0..10).map(|number| format!("first got {number}")).collect::<Vec<_>>());
        assert_eq!(stage.tree().threads.iter().find(|thread| thread.name == "worker").unwrap().replaced, 1);
        assert!(matches!(stage.stop().await, RootEnd::Stopped));
    });
}

#[test]
fn a_temporary_child_is_not_started_again_and_its_address_closes() {
    on_stage(async {
        let cast = Cast::new("probe");
        let spec = cast.spec().restart(Restart::Temporary).stop_within(Duration::from_secs(1));
        let stage = Stage::of_one(&World::new(), spec);
        let address = cast.inbox.address();
        address.do_send(Fail::InHandler);
        until("the address to close", || !address.connected()).await;
        assert_eq!((cast.made(), stage.node("probe").state), (1, State::GivenUp));
    });
}
