//! The tree as a value and as text.

use std::time::Duration;

use feedwarden::supervision::{
    ChildSpec, Group, GroupSettings, MailboxView, NodeKind, Root, State, SupervisorSpec, Thread, ThreadState,
};

use super::probe::{Cast, Fail, Generation};
use super::world::{AT_ONCE, DAWN, Stage, World, on_stage, once, until};

#[test]
fn the_tree_tells_everything_about_everybody() {
    on_stage(async {
        let world = World::new();
        let (scheduler, fetcher) = (Cast::new("scheduler"), Cast::new("fetcher"));
        let group = Group::new("hosts", GroupSettings::default());
        let pool = SupervisorSpec::new("pool", once(vec![fetcher.spec().on(&Thread::new("fetch 1"))]));
        let children = vec![ChildSpec::group(&group), ChildSpec::supervisor(pool), scheduler.spec()];
        let stage = Stage::start(&world, SupervisorSpec::new("root", once(children)).intensity(AT_ONCE));
        assert_eq!(scheduler.inbox.address().send(Generation).await, Ok(1));
        let host = Cast::new("example.org");
        let host_address = group.start("example.org", 8, host.factory()).unwrap();
        assert_eq!(host_address.send(Generation).await, Ok(1));
        world.advance(Duration::from_secs(30));
        scheduler.inbox.address().do_send(Fail::InHandler);
        assert_eq!(scheduler.inbox.address().send(Generation).await, Ok(2));
        world.advance(Duration::from_secs(12));
        until("all to be up", || stage.node("scheduler").state == State::Up).await;

        let tree = stage.tree();
        let names: Vec<&str> = tree.root.children.iter().map(|child| child.name.as_str()).collect();
        assert_eq!(names, ["hosts", "pool", "scheduler"]);
        let node = tree.root.find("scheduler").unwrap();
        assert_eq!((node.kind, node.state, node.restarts), (NodeKind::Actor, State::Up, 1));
        assert_eq!(node.uptime, Some(Duration::from_secs(12)));
        assert_eq!(node.mailbox, Some(MailboxView { depth: 0, capacity: 16 }));
        let crash = node.last_crash.as_ref().unwrap();
        assert_eq!((crash.message.as_str(), crash.at), ("in the handler", DAWN + Duration::from_secs(30)));
        let place = crash.place.clone().unwrap();
        assert_eq!(tree.root.find("pool").unwrap().kind, NodeKind::Supervisor);
        let hosts = tree.root.find("hosts").unwrap();
        assert_eq!((hosts.kind, hosts.children_total, hosts.children.len()), (NodeKind::Group, 1, 1));
        assert_eq!(tree.threads.iter().map(|thread| thread.state).collect::<Vec<_>>(), [ThreadState::Responsive; 2]);

        let wanted = format!(
            "root: up for 42 s\n  \
               hosts: up for 42 s\n    \
                 example.org: up for 42 s, 0 of 8 messages\n  \
               pool: up for 42 s\n    \
                 fetcher: up for 42 s, 0 of 16 messages\n  \
               scheduler: up for 12 s, 0 of 16 messages, 1 restarts, last crash: in the handler ({place})\n\
             thread root: responsive\n\
             thread fetch 1: responsive\n"
        );
        assert_eq!(tree.to_string(), wanted);
    });
}

#[test]
fn there_is_no_tree_before_it_runs() {
    let root = Root::new(SupervisorSpec::new("root", once(Vec::new())), World::new());
    assert!(root.handle().tree(10).is_none());
}

#[test]
fn only_the_latest_crashes_keep_their_backtraces() {
    on_stage(async {
        let casts: Vec<Cast> = (0..80).map(|number| Cast::new(&number.to_string())).collect();
        let specs = casts.iter().map(Cast::spec).collect();
        let patient = feedwarden::supervision::Intensity { restarts_max: 1_000, ..AT_ONCE };
        let stage = Stage::start(&World::new(), SupervisorSpec::new("root", once(specs)).intensity(patient));
        for cast in &casts {
            cast.inbox.address().do_send(Fail::InHandler);
            assert_eq!(cast.inbox.address().send(Generation).await, Ok(2));
        }
        let crashes: Vec<_> = stage.tree().root.children.into_iter().map(|child| child.last_crash.unwrap()).collect();
        assert_eq!(crashes.len(), 80);
        assert!(crashes[..16].iter().all(|crash| crash.backtrace.is_none()));
        assert!(crashes[16..].iter().all(|crash| crash.backtrace.is_some()));
    });
}
