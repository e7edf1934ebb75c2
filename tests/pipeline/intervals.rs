//! Intervals that follow from how often sources publish.

use std::sync::Arc;
use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::{SiteBehaviour, WebSettings};
use feedwarden::dice::SeededDice;
use feedwarden::model::{NewSource, PublishingHistory, SourceId, SourceSettings, SourceType, Timestamp};
use feedwarden::rules::change::Change;
use feedwarden::rules::{AdaptivePolicy, Policy, hours, minutes};
use feedwarden::service::SourceExplanation;
use rstest::rstest;

use super::publisher::{answer, dated_feed, publisher};
use super::{World, run};
use crate::http::server::Server;
use crate::store::Engine::{self, Postgres, Sqlite};

const MINUTE: Duration = Duration::from_secs(60);

/// A world with adaptive intervals and no sources.
async fn world(engine: Engine) -> World {
    let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
    world.policy.adaptive = Some(AdaptivePolicy::default());
    world.start(Scope::Daemon);
    world.quiet().await;
    world
}

/// A feed of twenty entries at this pause up to now, which never changes.
async fn published_every(pause: Duration, now: Timestamp, prefix: &str) -> Server {
    publisher(&vec![document(pause, now, prefix); 20]).await
}

fn document(pause: Duration, now: Timestamp, prefix: &str) -> String {
    let entries: Vec<(String, String)> =
        (0..20u32).map(|number| (format!("{prefix} {number}"), (now - pause * number).to_string())).collect();
    dated_feed(&entries.iter().map(|(text, date)| (text.as_str(), date.as_str())).collect::<Vec<_>>())
}

async fn explained(world: &World, id: SourceId) -> SourceExplanation {
    world.service().explain(id).await.unwrap()
}

async fn interval(world: &World, id: SourceId) -> Duration {
    Duration::from_secs(explained(world, id).await.interval_seconds)
}

/// Follows other rules, and waits until the schedule follows them, too.
async fn follow(world: &World, policy: Policy) {
    let loaded = world.records.of("sources loaded").len();
    world.handle().set_policy(policy);
    world.until("the schedule", async || world.records.of("sources loaded").len() > loaded).await;
    world.quiet().await;
}

/// Lets the scheduler compute the scale at a tick.
async fn tick(world: &World) {
    world.advance(MINUTE);
    world.quiet().await;
}

#[rstest]
fn s511_s512_s513_a_busy_feed_and_a_quiet_one_get_different_intervals_within_the_budget(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = world(engine).await;
        let now = world.now();
        let busy = published_every(minutes(40), now, "busy").await;
        let quiet = published_every(hours(24 * 3), now, "quiet").await;
        let own = published_every(minutes(1), now, "own").await;
        let ids = [world.add_feed(&busy.url("/")).await, world.add_feed(&quiet.url("/")).await];
        world.settled(2).await;
        tick(&world).await;
        let [often, seldom] = [interval(&world, ids[0]).await, interval(&world, ids[1]).await];
        assert!(often < minutes(45) && seldom > minutes(90), "{often:?}, {seldom:?}");
        let requests = 3600.0 / often.as_secs_f64() + 3600.0 / seldom.as_secs_f64();
        assert!((requests - 2.0).abs() < 0.1, "{requests} requests an hour");

        // One with an interval of its own keeps it, and takes nothing from the others.
        let settings =
            SourceSettings { poll_interval_minutes: Some(500), ..SourceSettings::new(SourceType::Rss, own.url("/")) };
        let added = world.add(vec![NewSource { settings, created_at: world.now() }]).await;
        world.handle().sources_changed(added.clone());
        world.settled(3).await;
        tick(&world).await;
        assert_eq!(interval(&world, added[0]).await, minutes(500));
        assert_eq!(interval(&world, ids[0]).await, often);

        // The explanation names rate and budget in one term, which decides.
        let explanation = explained(&world, ids[0]).await;
        let deciding: Vec<_> = explanation.terms.iter().filter(|term| term.decides).collect();
        let reason = &deciding[0].reason;
        assert!(
            reason.starts_with("polled every ") && reason.contains(": about ") && reason.contains(" new entries a day")
        );
        assert!(reason.ends_with("; budget 2 requests an hour"), "{reason}");
        assert!(explanation.summary.ends_with(reason.as_str()), "{}", explanation.summary);

        // A restart keeps what was learned, and asks nobody.
        let asked = busy.requests().len();
        world.restart().await;
        world.quiet().await;
        tick(&world).await;
        let again = interval(&world, ids[0]).await;
        assert!((again.as_secs_f64() / often.as_secs_f64() - 1.0).abs() < 0.03, "{again:?} after {often:?}");
        assert_eq!(busy.requests().len(), asked);

        // The busy one is polled after its interval.
        let polled = world.source(ids[0]).await.state.last_polled.unwrap();
        world.advance((polled + again).since(world.now()) + MINUTE);
        world.settled(1).await;
        assert_eq!(busy.requests().len(), asked + 1);
        world.stop().await;
    });
}

#[rstest]
fn s518_other_rules_apply_at_once_and_back_again(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = world(engine).await;
        let busy = published_every(minutes(40), world.now(), "busy").await;
        let still = published_every(hours(24 * 3), world.now(), "still").await;
        let ids = [world.add_feed(&busy.url("/")).await, world.add_feed(&still.url("/")).await];
        world.settled(2).await;
        tick(&world).await;
        let before = [interval(&world, ids[0]).await, interval(&world, ids[1]).await];
        let polled = world.source(ids[0]).await.state.last_polled.unwrap();
        let adaptive = world.policy.clone();
        let fixed = Policy { adaptive: None, ..adaptive.clone() };
        for (policy, expected) in [(fixed, [minutes(60); 2]), (adaptive, before)] {
            follow(&world, policy).await;
            for (id, expected) in ids.into_iter().zip(expected) {
                let found = interval(&world, id).await;
                assert!(found.abs_diff(expected) < expected / 30, "{found:?}, not {expected:?}");
                let scheduled = world.handle().scheduled(id).await.unwrap().at;
                assert!(scheduled.since(polled).abs_diff(expected) < expected / 30 + MINUTE);
            }
        }
        world.stop().await;
    });
}

#[rstest]
fn p19_s518_sources_that_shorter_intervals_make_due_are_spread(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let settings = WebSettings { hosts: 10, sites: 20, backlog: 20, entries: 20..=20, ..WebSettings::default() };
        let mut world = World::with(engine, settings).await;
        world.dice = Arc::new(SeededDice::new(3));
        world.policy.interval = hours(20);
        let ids = world.start_and_poll_all().await;
        world.advance(hours(10));
        world.quiet().await;
        let settled = world.handle().statistics().view().settled();
        let budget = AdaptivePolicy { requests_per_hour: Some(1000), ..AdaptivePolicy::default() };
        follow(&world, Policy { adaptive: Some(budget), ..world.policy.clone() }).await;
        let at_once = world.handle().statistics().view().settled() - settled;
        assert!(at_once < 5, "{at_once} polls at once");
        world.pass(world.policy.spread, 10).await;
        let polled = world.handle().statistics().view().settled() - settled;
        assert!(polled >= ids.len() as u64, "{polled} polls within the window");
        world.stop().await;
    });
}

#[rstest]
fn s516_a_gap_shortens_the_interval_at_once(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = world(engine).await;
        let now = world.now();
        let answers = [document(hours(72), now, "first"), document(hours(3), now + hours(60), "second")];
        let server = publisher(&answers).await;
        let id = world.add_feed(&server.url("/")).await;
        world.settled(1).await;
        tick(&world).await;
        // Alone it gets the whole budget, whatever it publishes.
        let busy = published_every(minutes(30), now, "busy").await;
        world.add_feed(&busy.url("/")).await;
        world.settled(2).await;
        tick(&world).await;
        let before = interval(&world, id).await;
        world.change(id, Change::Poll).await;
        world.settled(3).await;
        assert_eq!(world.source(id).await.state.gaps, 1);
        let after = interval(&world, id).await;
        assert!(after <= before / 2 + MINUTE, "{before:?} became {after:?}");
        world.stop().await;
    });
}

#[rstest]
fn s515_a_feed_that_answers_304_for_ever_is_asked_once_a_day_at_last(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = world(engine).await;
        let old = document(hours(24), world.now() - hours(24 * 300), "old");
        let mut answers = vec![old];
        answers.resize(40, answer("304 Not Modified", &[], ""));
        let (old, busy) = (publisher(&answers).await, published_every(minutes(30), world.now(), "busy").await);
        let id = world.add_feed(&old.url("/")).await;
        world.settled(1).await;
        let busy_id = world.add_feed(&busy.url("/")).await;
        world.settled(2).await;
        tick(&world).await;
        let first = interval(&world, id).await;
        world.change(busy_id, Change::Disable(None)).await;
        let known = world.source(id).await.state.publishing;
        world.advance(first + hours(1));
        world.settled(3).await;
        assert!(old.requests().len() == 2 && first > hours(1));
        assert_eq!(world.source(id).await.state.publishing, known, "a 304 writes the value as it is");
        world.stop().await;
    });
}

#[rstest]
fn a_stored_value_that_makes_no_sense_counts_as_nothing_and_is_said(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.policy.adaptive = Some(AdaptivePolicy::default());
        let ids = world.start_and_poll_all().await;
        world.stop().await;
        let nonsense = if engine == Sqlite { "CAST('nonsense' AS BLOB)" } else { "'nonsense'::bytea" };
        world.store.raw(&format!("UPDATE sources SET publishing = {nonsense}")).await;
        assert_eq!(world.source(ids[0]).await.state.publishing, PublishingHistory::Damaged);
        world.start(Scope::Daemon);
        world.quiet().await;
        let reason = &explained(&world, ids[0]).await.summary;
        assert!(reason.contains("how often it publishes is not known yet"), "{reason}");
        world.advance(hours(2));
        world.settled(1).await;
        assert_eq!(world.records.of("publication rate lost").len(), 1);
        assert!(matches!(world.source(ids[0]).await.state.publishing, PublishingHistory::Known(_)));
        world.stop().await;
    });
}
