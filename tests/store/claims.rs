//! Polls by the right of a shard, settled together. PostgreSQL only: one process at a time uses an SQLite file.

use std::time::Duration;

use super::*;
use feedwarden::model::{JoinOutcome, NewNode, NodeId, OwnedShard, SHARDS, Shard};

#[tokio::test]
async fn p28_each_claim_of_a_batch_counts_for_its_own_polls() {
    let store = Postgres.store().await;
    let fleet = store.fleet().unwrap();
    let lease = Duration::from_secs(30);
    let node = NewNode {
        id: NodeId(7),
        name: "one".into(),
        boot: "here".into(),
        booted_for: Duration::from_secs(1),
        version: "1".into(),
        settings: "same".into(),
        lease,
    };
    assert_eq!(fleet.join(&node).await.unwrap(), JoinOutcome::Joined { lease });
    let (_, timeline) = fleet.renew(node.id, "{}", true).await.unwrap().timeline;
    let taken = fleet.take_shards(node.id, usize::from(SHARDS), &timeline).await.unwrap();
    let held = |source: &Source| {
        taken.iter().copied().find(|owned| owned.shard == Shard::of_source(&source.settings)).unwrap()
    };
    let earlier = |source: &Source| OwnedShard { epoch: held(source).epoch - 1, ..held(source) };
    // Added in one order, settled in another; three of them share a host, and so a shard.
    let mut sources = Vec::new();
    for url in
        ["http://a.example/1", "http://a.example/2", "http://b.example/", "http://a.example/3", "http://c.example/"]
    {
        sources.push(store.add(rss(url)).await);
    }
    let [first, second, other, third, last] = &sources[..] else { panic!("five were added") };
    assert!(store.remove_source(third.id).await.unwrap());
    assert!(store.remove_source(other.id).await.unwrap());
    let poll = |source: &Source, claim, text: &str| Settlement { claim, ..found(source, vec![post(text)]) };
    let batch = vec![
        poll(last, Some(held(last)), "own shard"),
        poll(third, Some(earlier(third)), "gone, and late"),
        poll(second, Some(earlier(second)), "late"),
        poll(first, Some(held(first)), "the same shard, in time"),
        poll(other, Some(held(other)), "gone"),
    ];
    let settled = store.settle(batch).await.unwrap();
    let [Settled::Written { .. }, Settled::Fenced, Settled::Fenced, Settled::Written { .. }, Settled::Gone] =
        settled[..]
    else {
        panic!("{settled:?}")
    };
    // All sources of a batch are gone: what is late is told apart all the same.
    let batch = vec![poll(third, Some(earlier(third)), "late"), poll(other, Some(held(other)), "gone")];
    assert_eq!(store.settle(batch).await.unwrap(), [Settled::Fenced, Settled::Gone]);
    let mut texts: Vec<String> =
        store.list_posts(None, None, 9).await.unwrap().into_iter().map(|post| post.content.text).collect();
    texts.sort();
    assert_eq!(texts, ["own shard", "the same shard, in time"]);
}
