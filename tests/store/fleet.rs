//! Nodes, shards and the fence. PostgreSQL only: one process at a time uses an SQLite file.

use std::sync::Arc;
use std::time::Duration;

use feedwarden::model::{
    HostKey, HostState, JoinOutcome, NewNode, NodeId, OwnedShard, Receiver, SHARDS, Settled, SettledPoll, Settlement,
    Shard, SlotCursor, SourceSettings, SourceType,
};
use feedwarden::store::{FleetStore, StoreError};

use super::{NOW, Postgres, TestStore, at, post, rss};

const LEASE: Duration = Duration::from_secs(3);

fn node(id: i64, name: &str, boot: &str) -> NewNode {
    NewNode {
        id: NodeId(id),
        name: name.into(),
        boot: boot.into(),
        booted_for: Duration::from_secs(id.unsigned_abs()),
        version: "1".into(),
        settings: "same".into(),
        lease: LEASE,
    }
}

async fn joined(store: &TestStore, id: i64) -> Arc<dyn FleetStore> {
    let fleet = store.fleet().unwrap();
    assert_eq!(fleet.join(&node(id, "one", "here")).await.unwrap(), JoinOutcome::Joined { lease: LEASE });
    fleet
}

async fn raw_text(store: &TestStore, sql: &str) -> String {
    store.raw_text(sql).await.unwrap()
}

async fn timeline(fleet: &dyn FleetStore, id: i64) -> String {
    fleet.renew(NodeId(id), "{}", true).await.unwrap().timeline.1
}

#[tokio::test]
async fn p28_the_database_and_the_model_agree_about_shards() {
    let store = Postgres.store().await;
    for host in [
        "example.org",
        "www.example.org",
        "www.",
        "www.www.example",
        "127.0.0.1",
        "[::1]",
        "a\\b",
        "xn--mnchen-3ya.de",
        "",
    ] {
        let slot = raw_text(&store, &format!("SELECT host_slot('{}')::text", host.replace('\'', "''"))).await;
        let found: u16 = slot.parse().unwrap();
        let key = (!host.is_empty()).then(|| HostKey::from_canonical(host));
        assert_eq!(Shard(found >> 8), Shard::of_host(key.as_ref()), "{host}");
    }
    for url in ["http://example.org/feed", "https://www.example.org/", "http://10.0.0.7:8080/x", "mailto:nobody"] {
        let source = store.add(rss(url)).await;
        let slot = raw_text(&store, &format!("SELECT slot::text FROM sources WHERE id = {}", source.id)).await;
        assert_eq!(Shard(slot.parse::<u16>().unwrap() >> 8), Shard::of_source(&source.settings), "{url}");
    }
    let account = SourceSettings::new(SourceType::Twitter, "https://x.com/nasa");
    assert_eq!(Shard::of_source(&account), Shard::of_name("(x)"));
}

#[tokio::test]
async fn p28_the_sources_of_all_shards_are_all_sources() {
    let store = Postgres.store().await;
    let mut all: Vec<i64> = Vec::new();
    for number in 0..50 {
        all.push(store.add(rss(&format!("http://host-{number}.example/"))).await.id.0);
    }
    let mut found = Vec::new();
    for shard in Shard::all() {
        let mut place = Some(SlotCursor::before(shard));
        while let Some(after) = place {
            let (page, last) = store.sources_in_slots(after, shard.last_slot(), 3).await.unwrap();
            assert!(page.iter().all(|source| Shard::of_source(&source.settings) == shard));
            found.extend(page.iter().map(|source| source.id.0));
            place = last;
        }
    }
    found.sort_unstable();
    assert_eq!(found, all);
}

#[tokio::test]
async fn p28_an_earlier_run_in_the_same_place_is_ended_and_a_namesake_elsewhere_is_not() {
    let store = Postgres.store().await;
    let fleet = joined(&store, 1).await;
    let line = timeline(fleet.as_ref(), 1).await;
    assert_eq!(fleet.take_shards(NodeId(1), 9, &line).await.unwrap().len(), 9);
    let elsewhere = fleet.join(&node(2, "one", "elsewhere")).await.unwrap();
    assert!(matches!(elsewhere, JoinOutcome::NameTaken { node: NodeId(1), beat: 1, .. }), "{elsewhere:?}");
    // A join that arrives late does not end the run that came after it.
    let late = fleet.join(&node(-1, "one", "here")).await.unwrap();
    assert!(matches!(late, JoinOutcome::NameTaken { .. }), "{late:?}");
    joined(&store, 3).await;
    assert_eq!(fleet.renew(NodeId(1), "{}", true).await.unwrap().beat, None, "it has ended");
    let renewal = fleet.renew(NodeId(3), "{}", true).await.unwrap();
    assert_eq!((renewal.free, renewal.nodes.len()), (usize::from(SHARDS), 1));
}

#[tokio::test]
async fn a_node_with_another_encryption_key_is_refused() {
    let store = Postgres.store().await;
    joined(&store, 1).await;
    let mut settings = store.settings.clone();
    settings.encryption_key = Some("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=".into());
    let other = feedwarden::store::open(&settings, at(NOW)).await.unwrap();
    let error = other.fleet().unwrap().join(&node(2, "two", "there")).await.unwrap_err();
    assert!(matches!(&error, StoreError::Unusable(text) if text.contains("another encryption key")), "{error}");
}

#[tokio::test]
async fn p28_a_poll_by_a_right_that_is_gone_is_not_stored_but_what_it_heard_of_its_host_is() {
    let store = Postgres.store().await;
    let fleet = joined(&store, 1).await;
    let line = timeline(fleet.as_ref(), 1).await;
    let taken = fleet.take_shards(NodeId(1), usize::from(SHARDS), &line).await.unwrap();
    let (source, other) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    let claim = |source: &feedwarden::model::Source| {
        taken.iter().copied().find(|owned| owned.shard == Shard::of_source(&source.settings))
    };
    let host = |seconds| HostState {
        last_asked_at: Some(at(NOW + seconds)),
        held_until: Some(at(NOW + 100 * seconds)),
        held_reason: Some(format!("{seconds}")),
        ..HostState::new(HostKey::from_canonical("a.example"))
    };
    let poll = |source: &feedwarden::model::Source, claim: Option<OwnedShard>, text: &str, seconds| Settlement {
        claim,
        posts: vec![post(text)],
        host: Some(host(seconds)),
        poll: Some(Box::new(SettledPoll::unchanged(at(NOW + seconds)))),
        ..Settlement::of_state(source, at(NOW))
    };
    let settled = store.settle(vec![poll(&source, claim(&source), "first", 1)]).await.unwrap();
    assert!(matches!(settled[..], [Settled::Written { .. }]), "{settled:?}");

    // Another epoch of the same shard, and a shard of the same node that is still its own, in one batch.
    let source = store.source(source.id).await.unwrap().unwrap();
    let old = claim(&source).map(|owned| OwnedShard { epoch: owned.epoch - 1, ..owned });
    let batch = vec![poll(&source, old, "late", 3), poll(&other, claim(&other), "in time", 0)];
    let settled = store.settle(batch).await.unwrap();
    assert!(matches!(settled[..], [Settled::Fenced, Settled::Written { .. }]), "{settled:?}");
    assert_eq!(store.source(source.id).await.unwrap().unwrap().version, source.version);
    let kept = store.host(&HostKey::from_canonical("a.example")).await.unwrap().unwrap();
    assert_eq!(kept.last_asked_at, Some(at(NOW + 3)), "it does not go back");

    // The node has ended.
    fleet.leave(NodeId(1)).await.unwrap();
    let settled = store.settle(vec![poll(&source, claim(&source), "too late", 2)]).await.unwrap();
    assert_eq!(settled, [Settled::Fenced]);
    let kept = store.host(&HostKey::from_canonical("a.example")).await.unwrap().unwrap();
    assert_eq!((kept.last_asked_at, kept.held_until), (Some(at(NOW + 3)), Some(at(NOW + 300))));
    let bodies: Vec<String> =
        store.list_posts(None, None, 9).await.unwrap().into_iter().map(|post| post.content.text).collect();
    assert_eq!(bodies, ["first", "in time"]);
    let history = store.polls_of_source(source.id, None, 9).await.unwrap();
    assert_eq!(
        history.iter().map(|stored| stored.poll.at).collect::<Vec<_>>(),
        [at(NOW + 1)],
        "no poll of a lost claim"
    );
}

#[tokio::test]
async fn p28_a_change_of_a_source_and_the_message_to_its_owner_are_one_transaction() {
    let store = Postgres.store().await;
    let fleet = joined(&store, 1).await;
    let all: Vec<Shard> = Shard::all().collect();
    let source = store.add(rss("http://a.example/")).await;
    let shard = Shard::of_source(&source.settings);
    let elsewhere: Vec<Shard> = all.iter().copied().filter(|other| *other != shard).collect();
    assert_eq!(fleet.take_messages(NodeId(9), elsewhere, 9).await.unwrap(), [], "for the owner only");
    let bodies = async |shards: Vec<Shard>| -> Vec<String> {
        let taken = fleet.take_messages(NodeId(9), shards, 9).await.unwrap();
        taken.into_iter().map(|message| message.body.replace(' ', "")).collect()
    };
    let told = format!("{{\"sources_changed\":[{}]}}", source.id);
    assert_eq!(bodies(vec![shard]).await, [told.as_str()]);
    assert_eq!(bodies(vec![shard]).await, [] as [&str; 0], "once");
    // A source that moves to another host has two owners to be told.
    let mut moved = source.clone();
    moved.settings.url = "http://other.example/".into();
    let new_shard = Shard::of_source(&moved.settings);
    store.save_source(moved.clone(), at(NOW)).await.unwrap();
    assert_eq!(bodies(vec![shard]).await, [told.as_str()]);
    assert_eq!(bodies(vec![new_shard]).await, [told.as_str()]);
    // What is not written is not told.
    store.save_source(moved, at(NOW)).await.unwrap();
    bodies(all.clone()).await;
    store.remove_source(source.id).await.unwrap();
    assert_eq!(bodies(all).await, [told.as_str()]);
}

#[tokio::test]
async fn p28_messages_wake_their_receivers_in_order() {
    let store = Postgres.store().await;
    let fleet = joined(&store, 1).await;
    assert_eq!(fleet.news().await, feedwarden::store::FleetNews::Missed);
    let messages = vec![(Receiver::Node(NodeId(1)), "one".into()), (Receiver::Shard(Shard(7)), "two".into())];
    fleet.send_messages(NodeId(5), messages).await.unwrap();
    let heard = [fleet.news().await, fleet.news().await];
    let expected = [Receiver::Node(NodeId(1)), Receiver::Shard(Shard(7))].map(feedwarden::store::FleetNews::Message);
    assert_eq!(heard, expected);
    let taken = fleet.take_messages(NodeId(1), vec![Shard(7)], 9).await.unwrap();
    let taken: Vec<(NodeId, &str)> = taken.iter().map(|message| (message.sender, message.body.as_str())).collect();
    assert_eq!(taken, [(NodeId(5), "one"), (NodeId(5), "two")]);
}

#[tokio::test]
async fn p28_what_was_planned_before_a_failover_does_not_hold_after_it() {
    let store = Postgres.store().await;
    let fleet = joined(&store, 1).await;
    let line = timeline(fleet.as_ref(), 1).await;
    assert_eq!(fleet.take_shards(NodeId(1), 4, "00000009").await.unwrap(), []);
    assert_eq!(fleet.take_shards(NodeId(1), 4, &line).await.unwrap().len(), 4);
    let before: i64 =
        raw_text(&store, "SELECT nextval(pg_get_serial_sequence('posts', 'id'))::text").await.parse().unwrap();
    store.raw("UPDATE fleet SET timeline = '00000000'").await;
    assert!(fleet.begin_timeline(&line).await.unwrap());
    assert!(!fleet.begin_timeline(&line).await.unwrap(), "once");
    let after: i64 =
        raw_text(&store, "SELECT nextval(pg_get_serial_sequence('posts', 'id'))::text").await.parse().unwrap();
    assert!(after > before + 1_000_000, "{before} to {after}");
    assert!(fleet.renew(NodeId(1), "{}", true).await.unwrap().quiet_for > Duration::from_secs(1));
    assert_eq!(fleet.take_shards(NodeId(1), 4, &line).await.unwrap(), [], "quiet");
}
