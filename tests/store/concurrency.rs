//! Concurrent writers: one is first, none overwrites another, nothing deadlocks.

use std::time::Duration;

use super::*;
use feedwarden::model::{FetchedPage, PageEnd};
use feedwarden::store::Store;
use feedwarden::store::settings::EngineSettings;
use rstest::rstest;

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_nodes_that_settle_one_source_exactly_one_is_written(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let other = store.another().await;
    for round in 0..30 {
        let source = store.add(rss(&format!("http://{round}.example/"))).await;
        let (ours, theirs) = tokio::join!(
            store.settle(vec![found(&source, vec![post("ours"), post("both")])]),
            other.settle(vec![found(&source, vec![post("theirs"), post("both")])]),
        );
        let settled = [ours.unwrap().pop().unwrap(), theirs.unwrap().pop().unwrap()];
        let written = settled.iter().filter(|settled| matches!(settled, Settled::Written { .. })).count();
        let stale = settled.iter().filter(|settled| matches!(settled, Settled::Stale(_))).count();
        assert_eq!((written, stale), (1, 1), "round {round}: {settled:?}");
        let winner = if matches!(settled[0], Settled::Written { .. }) { "ours" } else { "theirs" };
        assert_eq!(store.bodies(source.id).await, [winner, "both"]);
        assert_eq!(store.source(source.id).await.unwrap().unwrap().version, 2);
    }
}

/// Settles the source once on whatever it looks like, again and again until it was written.
async fn settle_until_written(store: &dyn Store, id: SourceId, body: &str) -> usize {
    let mut tries = 1;
    loop {
        let source = store.source(id).await.unwrap().unwrap();
        if let Settled::Written { .. } = store.settle(vec![found(&source, vec![post(body)])]).await.unwrap()[0] {
            return tries;
        }
        tries += 1;
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_that_try_again_lose_nothing(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let other = store.another().await;
    let source = store.add(rss("http://a.example/")).await;
    let writers = (0..8).map(|writer| {
        let store = if writer % 2 == 0 { store.shared() } else { other.clone() };
        tokio::spawn(async move {
            for round in 0..10 {
                settle_until_written(store.as_ref(), source.id, &format!("{writer} {round}")).await;
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    assert_eq!(store.source(source.id).await.unwrap().unwrap().version, 81);
    let mut bodies = store.bodies(source.id).await;
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), 80);
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn batches_that_meet_crosswise_never_deadlock(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let other = store.another().await;
    store.add_sources((0..50).map(|n| rss(&format!("http://{n}.example/"))).collect()).await.unwrap();
    let tasks = (0..6).map(|task| {
        let store = if task % 2 == 0 { store.shared() } else { other.clone() };
        tokio::spawn(async move {
            for round in 0..10 {
                let mut sources = store.list_sources(None, 50).await.unwrap();
                if task % 2 == 0 {
                    sources.reverse();
                }
                let host = |source: &Source| {
                    let key = feedwarden::rules::host_key::host_key(&source.settings.url).unwrap();
                    feedwarden::model::HostState::new(key)
                };
                let batch = sources.iter().map(|source| Settlement {
                    host: Some(host(source)),
                    ..found(source, vec![post(&format!("{task} {round}"))])
                });
                store.settle(batch.collect()).await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    for source in store.list_sources(None, 50).await.unwrap() {
        let bodies = store.bodies(source.id).await.len();
        assert_eq!(source.version, 1 + i64::try_from(bodies).unwrap(), "each written settle brought one post");
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_source_removed_in_the_middle_of_settles_is_never_resurrected(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let other = store.another().await;
    for round in 0..30 {
        let source = store.add(rss(&format!("http://{round}.example/"))).await;
        let (settled, removed) =
            tokio::join!(store.settle(vec![found(&source, vec![post("late")])]), other.remove_source(source.id));
        assert!(removed.unwrap());
        let settled = settled.unwrap().pop().unwrap();
        assert!(matches!(settled, Settled::Written { .. } | Settled::Gone), "{settled:?}");
        assert_eq!(store.source(source.id).await.unwrap(), None);
        assert_eq!(store.bodies(source.id).await, [""; 0]);
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reading_goes_on_while_a_large_batch_is_written(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    store.add_sources((0..200).map(|n| rss(&format!("http://{n}.example/"))).collect()).await.unwrap();
    let sources = store.list_sources(None, 200).await.unwrap();
    let batch = sources
        .iter()
        .map(|source| found(source, (0..30).map(|n| post(&format!("{n} {}", "x".repeat(2000)))).collect()))
        .collect();
    let writing = tokio::spawn({
        let store = store.shared();
        async move { store.settle(batch).await.unwrap() }
    });
    let mut seen = Vec::new();
    while !writing.is_finished() {
        seen.push(store.source(sources[199].id).await.unwrap().unwrap().version);
    }
    assert_eq!(writing.await.unwrap().len(), 200);
    assert!(seen.contains(&1), "readers saw the state from before while the batch was under way: {seen:?}");
    assert_eq!(store.source(sources[199].id).await.unwrap().unwrap().version, 2);
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cleaning_and_removing_the_same_source_never_deadlock(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let other = store.another().await;
    let cutoffs = feedwarden::rules::cleanup::cutoffs(&Policy::default(), at(NOW) + minutes(60 * 24 * 30));
    for round in 0..20 {
        let source = store.add(rss(&format!("http://{round}.example/"))).await;
        store.find(source.id, (0..1000).map(|n| post(&format!("{round} {n}"))).collect()).await;
        let (cleaned, removed) = tokio::join!(store.clean(cutoffs, 1000), other.remove_source(source.id));
        assert!(removed.unwrap(), "round {round}");
        cleaned.unwrap();
        assert_eq!(store.bodies(source.id).await, [""; 0]);
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_sources_added_crosswise_never_deadlock(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let other = store.another().await;
    for round in 0..5 {
        let list: Vec<_> = (0..2000).map(|n| rss(&format!("http://{round}.example/{n}"))).collect();
        let reversed: Vec<_> = list.iter().rev().cloned().collect();
        let (ours, theirs) = tokio::join!(store.add_sources(list), other.add_sources(reversed));
        let new = |added: Vec<Added>| added.into_iter().filter(|one| matches!(one, Added::New(_))).count();
        assert_eq!(new(ours.unwrap()) + new(theirs.unwrap()), 2000, "round {round}");
    }
}

#[tokio::test]
async fn a_page_that_an_edit_queues_anew_stays_in_the_queue_while_the_old_one_leaves_it() {
    let store = Postgres.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let id = store.find(source.id, vec![post("text")]).await[0];
    let queue =
        format!("INSERT INTO full_text_queue (post_id, host, queued_at, next_at) VALUES ({id}, 'a', now(), now())");
    store.raw(&queue).await;
    let EngineSettings::Postgres(settings) = &store.settings.engine else { unreachable!("it is PostgreSQL") };
    // The edit has written everything, and is not committed yet.
    let editing = connect(&settings.url).await;
    let edit = format!(
        "BEGIN; UPDATE posts SET text_origin = 'feed_pending' WHERE id = {id}; \
         UPDATE full_text_queue SET queued_at = now(), attempts = 0 WHERE post_id = {id}"
    );
    editing.batch_execute(&edit).await.unwrap();
    let content_hash = store.post(id).await.unwrap().unwrap().content_hash;
    let end = PageEnd::GivenUp { error: String::new() };
    let finishing = store.shared();
    let page = FetchedPage { post_id: id, content_hash, end, at: at(NOW) };
    let finished = tokio::spawn(async move { finishing.finish_full_text(page).await });
    let waiting =
        "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while store.raw_text(waiting).await.unwrap() == "0" {
        assert!(!finished.is_finished(), "it waits for the edit");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    editing.batch_execute("COMMIT").await.unwrap();
    finished.await.unwrap().unwrap();
    let queued = store.raw_text("SELECT count(*)::text FROM full_text_queue").await;
    assert_eq!(queued.as_deref(), Some("1"), "the post waits for its page");
}
