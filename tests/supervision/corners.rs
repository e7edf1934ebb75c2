//! Corner cases: concurrent events, ends in the middle of something, and wrong specs.

use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor, Addr, AsyncContext, Context, Handler, MailboxError, Message};
use actix_rt::System;
use feedwarden::supervision::{
    ChildSpec, Group, GroupSettings, Intensity, Restart, Root, RootEnd, State, SupervisorSpec, Thread,
};
use tokio::sync::oneshot;

use super::probe::{Cast, Fail, Generation, Respond};
use super::world::{AT_ONCE, Stage, World, on_stage, once, until};

#[test]
fn a_tree_that_is_told_to_stop_while_it_fails_has_failed() {
    on_stage(async {
        let (slow, poisonous) = (Cast::new("slow"), Cast::new("poisonous"));
        slow.plan.refuses_to_stop.store(true, Ordering::SeqCst);
        let nothing = Intensity { restarts_max: 0, ..AT_ONCE };
        let children = vec![slow.spec(), poisonous.spec()];
        let stage = Stage::start(&World::new(), SupervisorSpec::new("root", once(children)).intensity(nothing));
        poisonous.inbox.address().do_send(Fail::InHandler);
        until("the failure", || stage.world.events().iter().any(|event| event.starts_with("root gave up"))).await;
        stage.handle.stop();
        until("the slow one", || stage.node("slow").state == State::Stopping).await;
        stage.world.advance(Duration::from_secs(5));
        assert!(matches!(stage.running.await.unwrap(), RootEnd::Escalated(_)));
    });
}

#[test]
fn a_tree_whose_run_is_dropped_closes_its_addresses() {
    on_stage(async {
        let cast = Cast::new("probe");
        let stage = Stage::of_one(&World::new(), cast.spec().on(&Thread::new("worker")));
        let address = cast.inbox.address();
        assert_eq!(address.send(Generation).await, Ok(1));
        stage.running.abort();
        until("the address to close", || !address.connected()).await;
    });
}

#[test]
fn a_tree_that_is_told_to_stop_before_it_runs_stops() {
    let cast = Cast::new("probe");
    let root = Root::new(SupervisorSpec::new("root", once(vec![cast.spec()])), World::new());
    root.handle().stop();
    let end = System::new().block_on(root.run());
    assert!(matches!(end, RootEnd::Stopped));
}

#[test]
fn an_inbox_that_two_children_want_is_a_crash_of_their_supervisor() {
    on_stage(async {
        let cast = Cast::new("probe");
        let twice = {
            let (first, second) = (cast.spec(), cast.spec());
            once(vec![first, second])
        };
        let stage = Stage::start(&World::new(), SupervisorSpec::new("root", twice));
        let RootEnd::Escalated(crash) = stage.running.await.unwrap() else { panic!("it ended well") };
        assert_eq!(crash.message, "the supervisor itself panicked: an inbox belongs to one child only");
    });
}

#[test]
fn senders_still_waiting_when_a_child_ends_for_good_are_told() {
    on_stage(async {
        let cast = Cast::new("probe");
        let _stage = Stage::of_one(&World::new(), cast.spec().restart(Restart::Transient));
        let address = cast.inbox.address();
        let under_way = actix_rt::spawn(address.send(Respond::Never));
        address.do_send(Fail::Stop);
        // This one lies behind the stop in the mailbox and is never handled.
        assert_eq!(address.send(Generation).await, Err(MailboxError::Closed));
        assert_eq!(under_way.await.unwrap(), Err(MailboxError::Closed));
    });
}

#[test]
fn a_destructor_that_panics_on_a_dying_thread_is_survived() {
    on_stage(async {
        let cast = Cast::new("probe");
        cast.plan.panics_in_drop.store(1, Ordering::SeqCst);
        let stage = Stage::of_one(&World::new(), cast.spec().on(&Thread::new("worker")));
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(1));
        cast.inbox.address().do_send(Fail::EndThread);
        stage.until_saw("probe crashed: the thread it ran on is gone").await;
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(2));
    });
}

#[test]
fn a_thread_that_ends_while_its_child_is_stopping_has_stopped_it() {
    on_stage(async {
        let cast = Cast::new("probe");
        cast.plan.refuses_to_stop.store(true, Ordering::SeqCst);
        let stage = Stage::of_one(&World::new(), cast.spec().on(&Thread::new("worker")));
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(1));
        stage.handle.stop();
        until("the request", || stage.node("probe").state == State::Stopping).await;
        // It has been asked when it answers after that, since time stands still and its limit is never reached.
        assert_eq!(cast.inbox.address().send(Generation).await, Ok(1));
        cast.inbox.address().do_send(Fail::EndThread);
        assert!(matches!(stage.running.await.unwrap(), RootEnd::Stopped));
    });
}

#[test]
fn a_panic_in_the_group_itself_restarts_the_group() {
    on_stage(async {
        let world = World::new();
        let group = Group::new("group", GroupSettings { intensity: AT_ONCE, ..GroupSettings::default() });
        let stage = Stage::of_one(&world, ChildSpec::group(&group));
        stage.until_saw("group started").await;
        let cast = Cast::new("probe");
        let address = group.start("probe", 16, cast.factory()).unwrap();
        world.dice_panics.store(1, Ordering::SeqCst);
        address.do_send(Fail::InHandler);
        stage.until_saw("group crashed: the group itself panicked: the dice fell off the table").await;
        until("the group to be up", || stage.node("group").state == State::Up).await;
        assert!(group.is_empty() && !address.connected());
        assert!(group.start("next", 16, Cast::new("next").factory()).is_ok());
    });
}

/// Hands out its address on request, after all other copies were dropped.
struct Hermit {
    ask: Option<oneshot::Receiver<oneshot::Sender<Addr<Hermit>>>>,
}

struct Knock;

impl Message for Knock {
    type Result = ();
}

impl Actor for Hermit {
    type Context = Context<Hermit>;

    fn started(&mut self, ctx: &mut Context<Hermit>) {
        use actix::{ActorFutureExt, WrapFuture};
        let ask = self.ask.take().expect("it starts once");
        ctx.spawn(ask.into_actor(self).map(|ask, _, ctx| {
            let _ = ask.expect("a caller asks").send(ctx.address());
        }));
        // Something to live for that never ends.
        ctx.spawn(std::future::pending().into_actor(self));
    }
}

impl Handler<Knock> for Hermit {
    type Result = ();

    fn handle(&mut self, _: Knock, _: &mut Context<Hermit>) {}
}

#[test]
fn a_child_that_everybody_forgot_can_be_found_again_while_it_has_something_to_do() {
    on_stage(async {
        let group = Group::new("group", GroupSettings::default());
        let stage = Stage::of_one(&World::new(), ChildSpec::group(&group));
        stage.until_saw("group started").await;
        let (asker, ask) = oneshot::channel();
        let mut ask = Some(ask);
        let address = group.start("hermit", 16, move || Hermit { ask: ask.take() }).unwrap();
        assert_eq!(address.send(Knock).await, Ok(()));
        drop(address);
        let (sender, found) = oneshot::channel();
        asker.send(sender).ok().unwrap();
        let address = found.await.unwrap();
        assert_eq!(address.send(Knock).await, Ok(()));
        assert_eq!(group.len(), 1);
    });
}
