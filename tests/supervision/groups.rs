//! Children that come and go.

use std::sync::Arc;
use std::time::Duration;

use actix::{Addr, MailboxError};
use feedwarden::supervision::{
    ChildSpec, Group, GroupSettings, Intensity, JoinError, RootEnd, State, SupervisorSpec, WhenGivenUp,
};

use super::probe::{Cast, Fail, Generation, Note, Probe};
use super::world::{AT_ONCE, Stage, World, on_stage, once, until};

/// A group below a root, both without delays.
async fn group(world: &Arc<World>, settings: GroupSettings) -> (Group, Stage) {
    let group = Group::new("group", settings);
    let root = SupervisorSpec::new("root", once(vec![ChildSpec::group(&group)])).intensity(AT_ONCE);
    let stage = Stage::start(world, root);
    until("the group to be up", || {
        stage.handle.tree(0).is_some_and(|tree| tree.root.children.iter().any(|child| child.state == State::Up))
    })
    .await;
    (group, stage)
}

fn settings() -> GroupSettings {
    GroupSettings { intensity: AT_ONCE, ..GroupSettings::default() }
}

fn join(group: &Group, cast: &Cast) -> Addr<Probe> {
    group.start(&cast.name, 16, cast.factory()).unwrap()
}

#[test]
fn one_poisonous_child_among_ten_thousand_is_given_up_alone() {
    on_stage(async {
        let (group, stage) = group(&World::new(), settings()).await;
        let casts: Vec<Cast> = (0..10_000).map(|number| Cast::new(&format!("host {number}"))).collect();
        let addresses: Vec<Addr<Probe>> = casts.iter().map(|cast| join(&group, cast)).collect();
        assert_eq!(group.len(), 10_000);
        let poisonous = &addresses[5_000];
        for generation in 1..=5 {
            poisonous.do_send(Fail::InHandler);
            assert_eq!(poisonous.send(Generation).await, Ok(generation + 1));
        }
        poisonous.do_send(Fail::InHandler);
        stage.until_saw("host 5000 gave up: in the handler").await;
        until("its address to close", || !poisonous.connected()).await;
        assert_eq!(poisonous.send(Generation).await, Err(MailboxError::Closed));
        assert_eq!(group.len(), 9_999);
        for (number, address) in addresses.iter().enumerate().filter(|(number, _)| *number != 5_000) {
            assert_eq!(address.send(Generation).await, Ok(1), "host {number}");
        }
        // The tree shows the one with trouble first, and no more than were asked for.
        let shown = stage.handle.tree(3).unwrap().root.children[0].clone();
        assert_eq!((shown.children.len(), shown.children_total, shown.restarts), (3, 10_000, 0));
        assert_eq!((shown.children[0].name.as_str(), shown.children[0].state), ("host 5000", State::GivenUp));
        assert_eq!(shown.children[0].last_crash.as_ref().unwrap().message, "in the handler");
        assert!(matches!(stage.stop().await, RootEnd::Stopped));
        assert!(group.is_empty() && !addresses[0].connected());
    });
}

#[test]
fn children_leave_when_they_stop_or_when_nobody_knows_them_any_more() {
    on_stage(async {
        let (group, stage) = group(&World::new(), settings()).await;
        let (stops, forgotten) = (Cast::new("stops"), Cast::new("forgotten"));
        let address = join(&group, &stops);
        address.do_send(Fail::Stop);
        until("one to leave", || !address.connected()).await;
        assert_eq!(group.len(), 0);
        let address = join(&group, &forgotten);
        address.do_send(Note(1));
        drop(address);
        until("the other to leave", || group.is_empty()).await;
        // What it was sent before is not lost.
        assert_eq!(forgotten.diary(), ["forgotten started", "forgotten got 1", "forgotten stopped"]);
        assert!(stage.world.saw("stops ended") && stage.world.saw("forgotten ended"));
    });
}

#[test]
fn a_crash_in_a_group_is_healed_behind_the_same_address() {
    on_stage(async {
        let (group, _stage) = group(&World::new(), settings()).await;
        let cast = Cast::new("probe");
        let address = group.start("probe", 16, cast.factory()).unwrap();
        address.do_send(Fail::InHandler);
        assert_eq!(address.send(Generation).await, Ok(2));
    });
}

#[test]
fn delays_in_a_group_are_those_of_each_child() {
    on_stage(async {
        let world = World::new();
        let intensity = Intensity { delay_first: Duration::from_secs(1), jitter: 0.0, ..Intensity::default() };
        let (group, stage) = group(&world, GroupSettings { intensity, ..settings() }).await;
        let casts = ["a", "b"].map(Cast::new);
        let [a, b] = casts.each_ref().map(|cast| join(&group, cast));
        a.do_send(Fail::InHandler);
        stage.until_saw("a restarts after 1s, crash 1").await;
        world.advance(Duration::from_secs(1));
        assert_eq!(a.send(Generation).await, Ok(2));
        a.do_send(Fail::InHandler);
        b.do_send(Fail::InHandler);
        stage.until_saw("a restarts after 2s, crash 2").await;
        stage.until_saw("b restarts after 1s, crash 1").await;
    });
}

#[test]
fn a_group_can_be_told_to_escalate_instead() {
    on_stage(async {
        let intensity = Intensity { restarts_max: 0, ..AT_ONCE };
        let when_given_up = WhenGivenUp::Escalate;
        let world = World::new();
        let (group, stage) = group(&world, GroupSettings { intensity, when_given_up, ..settings() }).await;
        let casts = ["a", "b"].map(Cast::new);
        let [a, b] = casts.each_ref().map(|cast| join(&group, cast));
        assert_eq!(b.send(Generation).await, Ok(1));
        a.do_send(Fail::InHandler);
        stage.until_saw("group crashed: a crashed too often: in the handler").await;
        // The group starts again without children, as a dynamic supervisor of OTP does.
        until("the group to be up", || stage.node("group").state == State::Up).await;
        assert_eq!((group.len(), b.connected(), stage.node("group").restarts), (0, false, 1));
        assert_eq!(casts[1].diary(), ["b started", "b stopped"]);
        assert!(group.start("c", 1, Cast::new("c").factory()).is_ok());
    });
}

#[test]
fn a_group_has_room_for_so_many_and_none_when_it_does_not_run() {
    let group_of_two = Group::new("group", GroupSettings { children_max: 2, ..settings() });
    let cast = Cast::new("early");
    assert_eq!(group_of_two.start("early", 1, cast.factory()).unwrap_err(), JoinError::Closed);
    on_stage(async {
        let (group, stage) = group(&World::new(), GroupSettings { children_max: 2, ..settings() }).await;
        let casts = ["a", "b", "c"].map(Cast::new);
        let first = join(&group, &casts[0]);
        let _second = join(&group, &casts[1]);
        assert_eq!(group.start("c", 1, casts[2].factory()).unwrap_err(), JoinError::Full);
        first.do_send(Fail::Stop);
        until("a place", || group.len() == 1).await;
        let _third = join(&group, &casts[2]);
        stage.stop().await;
        assert_eq!(group.start("late", 1, Cast::new("late").factory()).unwrap_err(), JoinError::Closed);
    });
}

#[test]
fn children_of_a_group_that_refuse_to_stop_are_dropped_after_its_limit() {
    on_stage(async {
        let world = World::new();
        let (group, stage) = group(&world, settings()).await;
        let casts = ["willing", "stubborn"].map(Cast::new);
        casts[1].plan.refuses_to_stop.store(true, std::sync::atomic::Ordering::SeqCst);
        let addresses = casts.each_ref().map(|cast| join(&group, cast));
        assert_eq!(addresses[1].send(Generation).await, Ok(1));
        stage.handle.stop();
        until("the willing one to leave", || group.len() == 1).await;
        world.advance(Duration::from_secs(5));
        assert!(matches!(stage.running.await.unwrap(), RootEnd::Stopped));
        assert!(world.saw("stubborn overran 5s") && !world.saw("willing overran 5s"));
        assert!(!addresses[1].connected());
    });
}
