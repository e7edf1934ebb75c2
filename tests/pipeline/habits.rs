//! What publishers do to their entries: each entry is stored once, in its newest version (s609–s613).

use feedwarden::demo::web::EntryHabit::*;
use feedwarden::demo::web::{Habits, Publishing, SiteComparison, WebSettings};
use feedwarden::model::{Post, SourceId};
use feedwarden::rules::hours;
use rstest::rstest;

use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

const POLLS: usize = 12;

/// Polls a feed with each of these sets of habits, one an hour, while each publishes at every second poll.
async fn polled(engine: Engine, habits: &[Habits], backlog: usize) -> (World, Vec<SourceId>) {
    let settings = WebSettings {
        hosts: habits.len(),
        sites: habits.len(),
        habits: habits.to_vec(),
        publishing: Publishing::EveryRequests(2),
        // Entries leave the feed before the end.
        entries: 6..=6,
        entry_bytes: 50,
        backlog,
        ..WebSettings::default()
    };
    let mut world = World::with(engine, settings).await;
    let ids = world.start_and_poll_all().await;
    for polls in 2..=POLLS {
        world.advance(hours(1));
        world.settled((polls * ids.len()) as u64).await;
    }
    (world, ids)
}

async fn posts(world: &World, id: SourceId) -> Vec<Post> {
    world.store.list_posts(Some(id), None, 1000).await.unwrap()
}

/// Asserts that what is stored of each feed is what the feed served.
async fn check(engine: Engine, habits: Vec<Habits>, backlog: usize) {
    let (mut world, ids) = polled(engine, &habits, backlog).await;
    let mut wrong: Vec<(Habits, SiteComparison)> = Vec::new();
    for (site, id) in ids.iter().enumerate() {
        let found = world.web.compare(site, &posts(&world, *id).await);
        // The first entry, and one at every second poll.
        assert_eq!(found.served.len(), 1 + POLLS / 2, "{:?}", habits[site]);
        if !found.is_exact() {
            wrong.push((habits[site], found));
        }
    }
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), habits.len());
    world.stop().await;
}

#[rstest]
fn each_habit_alone_and_some_together_store_every_entry_once(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || check(engine, Habits::lifelike(), 0).await);
}

#[rstest]
fn each_habit_leaves_entries_older_than_the_source_out(#[values(Sqlite, Postgres)] engine: Engine) {
    let dated = |habits: &Habits| !habits.has(Undated) && !habits.has(ZeroDates);
    run(async || check(engine, Habits::each().into_iter().filter(dated).collect(), 2).await);
}

#[rstest]
fn every_two_habits_together_store_every_entry_once(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || check(engine, Habits::pairs(), 0).await);
}

#[rstest]
fn s609_a_comment_counter_changes_its_post_eight_times_and_then_once_a_day(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (mut world, ids) = polled(engine, &[Habits::of(&[CommentCounters])], 0).await;
        let revisions = async || {
            let mut posts = posts(&world, ids[0]).await;
            posts.sort_by_key(|post| post.id);
            posts.iter().map(|post| post.revision).collect::<Vec<u32>>()
        };
        // The first entries had more changes than are stored at once. They change while they are among the newest five.
        assert_eq!(revisions().await[..3], [8, 8, 8]);
        world.advance(hours(24));
        world.settled(POLLS as u64 + 1).await;
        let later = revisions().await;
        assert!(later.iter().all(|revision| *revision <= 9) && later.contains(&9), "{later:?}");
        let found = world.web.compare(0, &posts(&world, ids[0]).await);
        assert!(found.is_exact(), "{found:?}");
        world.stop().await;
    });
}
