//! What the first poll skipped stays out, also for publishers who leave it to us to know what is new (s804–s806).

use feedwarden::actors::Scope;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::rules::hours;
use rstest::rstest;

use super::publisher::{dated_feed, publisher};
use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

/// Polls a source that was added on 2027-01-15 at eight, once for each answer; the bodies of its posts after each poll.
async fn polled(engine: Engine, answers: &[&[(&str, &str)]]) -> Vec<Vec<String>> {
    let answers: Vec<String> = answers.iter().map(|entries| dated_feed(entries)).collect();
    let server = publisher(&answers).await;
    let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
    world.start(Scope::Daemon);
    let id = world.add_feed(&server.url("/feed")).await;
    assert_eq!(world.source(id).await.created_at.to_string(), "2027-01-15T08:00:00.000001Z");
    let mut bodies = Vec::new();
    for polls in 1..=answers.len() {
        world.settled(polls as u64).await;
        bodies.push(world.store.bodies(id).await);
        world.advance(hours(1));
    }
    world.stop().await;
    bodies
}

#[rstest]
fn s613_an_entry_dated_in_the_year_1_or_at_the_start_of_1970_counts_as_undated(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let zero = [
            ("year one", "0001-01-01T00:00:00Z"),
            ("epoch", "Thu, 01 Jan 1970 00:00:00 GMT"),
            ("second", "1970-01-01T00:00:01Z"),
        ];
        // What has no date is stored at the first poll, too, and once.
        let bodies = polled(engine, &[&zero, &zero]).await;
        assert_eq!(bodies, [["epoch", "year one"], ["epoch", "year one"]]);
    });
}

#[rstest]
fn s806_what_the_first_poll_skipped_stays_out_of_a_feed_without_validators(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let old =
            [("newest", "2027-01-14T09:00:00Z"), ("also", "2027-01-14T09:00:00Z"), ("old", "2027-01-13T09:00:00Z")];
        let new = [("fresh", "2027-01-15T09:30:00Z"), old[0], old[1], old[2]];
        let bodies = polled(engine, &[&old, &old, &new, &new]).await;
        let fresh = ["fresh".to_owned()];
        assert_eq!(bodies, [&[][..], &[], &fresh, &fresh]);
    });
}

#[rstest]
fn s806_an_entry_of_the_same_day_that_appears_later_is_stored(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        // It gives whole days: the day on which the source was added began before it.
        let (morning, yesterday) = (("morning", "2027-01-15"), ("yesterday", "2027-01-14"));
        let (noon, evening) = (("noon", "2027-01-15"), ("evening", "2027-01-15"));
        let answers: [&[_]; 4] = [
            &[morning, yesterday],
            &[morning, yesterday],
            &[noon, morning, yesterday],
            &[evening, noon, morning, yesterday],
        ];
        let bodies = polled(engine, &answers).await;
        let (noon, evening) = ("noon".to_owned(), "evening".to_owned());
        assert_eq!(bodies, [vec![], vec![], vec![noon.clone()], vec![noon, evening]]);
    });
}
