//! When a publisher is asked again, and that a restart never makes it sooner (p10–p20, s507, s807).

use std::sync::Arc;
use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::clock::{Clock, ClockWait, HeldClock};
use feedwarden::demo::web::{Mix, RetryAfter, SiteBehaviour, WebSettings};
use feedwarden::dice::SeededDice;
use feedwarden::model::Timestamp;
use feedwarden::rules::change::Change;
use feedwarden::rules::due::next_poll;
use feedwarden::rules::{hours, minutes};
use rstest::rstest;

use super::publisher::{feed, feed_saying, publisher};
use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

const MINUTE: Duration = Duration::from_secs(60);

#[rstest]
#[case::interval(SiteBehaviour::Healthy, minutes(60))]
#[case::backoff(SiteBehaviour::NotFound, minutes(120))]
#[case::rest(SiteBehaviour::Gone, hours(72))]
#[case::retry_after(SiteBehaviour::RateLimited(RetryAfter::Seconds(5 * 3600)), hours(5))]
#[case::retry_after_as_a_date(SiteBehaviour::Unavailable(RetryAfter::Date(5 * 3600)), hours(5))]
#[case::freshness(SiteBehaviour::CacheFor(5 * 3600), hours(5))]
fn p10_a_restart_never_shortens_a_wait(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] behaviour: SiteBehaviour,
    #[case] wait: Duration,
    #[values(false, true)] killed: bool,
) {
    run(async || {
        let mut world = World::of(engine, &[behaviour]).await;
        world.start_and_poll_all().await;
        let polled = world.now();
        for _ in 0..3 {
            world.advance(wait / 4);
            if killed {
                world.kill_and_start().await;
            } else {
                world.restart().await;
            }
            world.quiet().await;
        }
        world.advance(wait - world.now().since(polled) - MINUTE);
        world.quiet().await;
        assert_eq!(world.web.journal().len(), 1, "a minute is missing");
        world.advance(MINUTE);
        world.settled(1).await;
        assert_eq!(world.web.journal().len(), 2);
        world.stop().await;
    });
}

#[rstest]
#[case::p11_max_age("", &["Cache-Control: max-age=10800", "Age: 3600"], minutes(120), "the last answer is still fresh")]
#[case::p11_a_short_one("", &["Cache-Control: max-age=60"], minutes(60), "the interval of an active source")]
#[case::p12_max_age_before_expires(
    "", &["Cache-Control: max-age=7200", "Expires: Fri, 15 Jan 2027 22:00:00 GMT"], minutes(120),
    "the last answer is still fresh"
)]
#[case::p12_expires("", &["Expires: Fri, 15 Jan 2027 11:00:00 GMT"], minutes(180), "the last answer is still fresh")]
#[case::p12_expires_0("", &["Expires: 0"], minutes(60), "the interval of an active source")]
#[case::p13_cut_to_the_ceiling(
    "", &["Cache-Control: max-age=604800"], hours(24), "the last answer is still fresh, cut to the configured ceiling"
)]
#[case::p14_ttl("<ttl>180</ttl>", &[], minutes(180), "the feed says that it changes no faster")]
#[case::p14_update_period(
    "<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>", &[], hours(6),
    "the feed says that it changes no faster"
)]
#[case::p14_skip_hours(
    "<skipHours><hour>9</hour><hour>10</hour></skipHours>", &[], minutes(180),
    "the feed asks not to be polled in that hour or on that day"
)]
#[case::p14_skip_days(
    "<skipDays><day>Friday</day></skipDays>", &[], hours(16),
    "the feed asks not to be polled in that hour or on that day"
)]
fn p11_p12_p13_p14_a_publisher_says_when_to_come_back(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] said: &str,
    #[case] headers: &[&str],
    #[case] wait: Duration,
    #[case] reason: &str,
) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        assert_eq!(world.now().to_string(), "2027-01-15T08:00:00Z", "a Friday, as the cases know");
        let server = publisher(&[feed_saying(said, headers, &["one"]), feed(&[], &["one"])]).await;
        world.start(Scope::Daemon);
        world.add_feed(&server.url("/feed")).await;
        world.settled(1).await;
        let told = world.records.of("source polled")[0]["reason"].as_str().unwrap().to_owned();
        assert!(told.ends_with(&format!(": {reason}")), "{told}");
        world.advance(wait - MINUTE);
        world.quiet().await;
        assert_eq!(server.requests().len(), 1);
        world.advance(MINUTE);
        world.settled(2).await;
        world.stop().await;
    });
}

#[rstest]
#[case::p15_seconds(SiteBehaviour::RateLimited(RetryAfter::Seconds(7200)), hours(2))]
#[case::p15_date(SiteBehaviour::RateLimited(RetryAfter::Date(7200)), hours(2))]
#[case::p15_unavailable(SiteBehaviour::Unavailable(RetryAfter::Seconds(7200)), hours(2))]
#[case::p15_ceiling(SiteBehaviour::RateLimited(RetryAfter::Seconds(30 * 86_400)), hours(7 * 24))]
#[case::p16_unsaid(SiteBehaviour::RateLimited(RetryAfter::Unsaid), hours(1))]
fn p15_p16_p17_p18_one_that_asks_to_be_left_alone_is_left_alone_with_its_whole_host(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] behaviour: SiteBehaviour,
    #[case] hold: Duration,
    #[values(false, true)] killed: bool,
) {
    run(async || {
        let mut world = World::on_one_host(engine, &[behaviour, SiteBehaviour::Healthy, SiteBehaviour::Healthy]).await;
        world.policy.interval = minutes(10);
        world.start(Scope::Daemon);
        world.quiet().await;
        let ids = world.add_all().await;
        world.handle().sources_changed(ids.clone());
        world.settled_so_far(1).await;
        world.quiet().await;
        let heard = world.now();
        assert_eq!(world.web.journal().len(), 1, "the others are not asked");
        assert_eq!(world.records.of("host held").len(), 1);
        // A request of an operator changes nothing about that (p20), nor does a restart (p10).
        world.advance(hold / 4);
        world.change(ids[1], Change::Poll).await;
        world.quiet().await;
        if killed {
            world.kill_and_start().await;
        } else {
            world.restart().await;
        }
        world.quiet().await;
        world.pass(hold - world.now().since(heard) - MINUTE, 4).await;
        world.quiet().await;
        assert_eq!(world.web.journal().len(), 1, "a minute is missing");
        for id in &ids {
            let state = world.source(*id).await.state;
            assert!(state.enabled && state.rest.is_none());
            assert_eq!(state.failures.consecutive_permanent, 0);
            assert_eq!(state.failures.consecutive, u32::from(*id == ids[0]));
        }
        world.web.set_behaviour(0, SiteBehaviour::Healthy).unwrap();
        world.pass(MINUTE, 1).await;
        // What is due by its own time and freed by the hold comes back.
        world.pass(minutes(20), 20).await;
        world.until("all are polled", async || world.asked(0).len() > 1 && !world.asked(2).is_empty()).await;
        world.quiet().await;
        assert!(!world.asked(1).is_empty());
        world.stop().await;
    });
}

#[rstest]
fn p16_a_429_that_says_nothing_costs_an_hour_and_then_twice_as_long_each_time(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::RateLimited(RetryAfter::Unsaid)]).await;
        world.policy.interval = minutes(1);
        world.start_and_poll_all().await;
        for (polls, wait) in [(2, hours(1)), (3, hours(2)), (4, hours(4)), (5, hours(8))] {
            world.advance(wait - MINUTE);
            world.quiet().await;
            assert_eq!(world.web.journal().len(), polls - 1);
            world.advance(MINUTE);
            world.settled(polls as u64).await;
        }
        world.stop().await;
    });
}

#[rstest]
#[case(SiteBehaviour::RateLimited(RetryAfter::Seconds(60)))]
#[case(SiteBehaviour::RateLimited(RetryAfter::Unsaid))]
#[case(SiteBehaviour::Unavailable(RetryAfter::Seconds(60)))]
fn p18_s412_any_number_of_them_neither_rests_nor_disables(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] behaviour: SiteBehaviour,
) {
    run(async || {
        let mut world = World::of(engine, &[behaviour]).await;
        let ids = world.start_and_poll_all().await;
        for polls in 2..=15 {
            world.advance(hours(24));
            world.settled(polls).await;
        }
        let state = world.source(ids[0]).await.state;
        assert!(state.enabled && state.rest.is_none(), "{state:?}");
        assert!(world.records.of("feed disabled").is_empty() && world.records.of("source disabled").is_empty());
        world.stop().await;
    });
}

#[rstest]
fn p19_s507_sources_present_at_the_start_are_spread_over_their_interval_once(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy; 40]).await;
        world.dice = Arc::new(SeededDice::new(7));
        let ids = world.add_all().await;
        world.start(Scope::Daemon);
        let began = world.now();
        world.quiet().await;
        assert_eq!(world.web.journal().len(), 0);
        let mut jittered = Vec::new();
        for id in &ids {
            let state = world.source(*id).await.state;
            assert_eq!(state.first_polled_at, None);
            let polled = state.last_polled.unwrap();
            assert!(polled <= began && polled > began - hours(1));
            jittered.push(polled);
        }
        world.kill_and_start().await;
        world.quiet().await;
        for (id, polled) in ids.iter().zip(&jittered) {
            assert_eq!(world.source(*id).await.state.last_polled, Some(*polled), "not again after a restart");
        }
        world.pass(hours(1), 12).await;
        world.settled(40).await;
        let quarter = |from: u64| {
            world.seconds_since(began).iter().filter(|at| (from * 900..(from + 1) * 900).contains(*at)).count()
        };
        let quarters: Vec<usize> = (0..4).map(quarter).collect();
        assert!(quarters.iter().all(|count| *count >= 3), "{quarters:?}");
        world.stop().await;
    });
}

#[rstest]
fn p19_sources_freed_by_a_hold_come_back_spread_and_never_before_it(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut behaviours = [SiteBehaviour::Healthy; 31];
        behaviours[0] = SiteBehaviour::RateLimited(RetryAfter::Seconds(7200));
        let mut world = World::on_one_host(engine, &behaviours).await;
        world.dice = Arc::new(SeededDice::new(7));
        world.start(Scope::Daemon);
        world.quiet().await;
        let ids = world.add_all().await;
        world.handle().sources_changed(ids);
        world.settled_so_far(1).await;
        let held = world.now();
        world.quiet().await;
        world.web.set_behaviour(0, SiteBehaviour::Healthy).unwrap();
        world.pass(hours(2), 4).await;
        world.pass(minutes(11), 22).await;
        world.settled(32).await;
        let came: Vec<u64> = world.seconds_since(held).into_iter().skip(1).map(|at| at.saturating_sub(7200)).collect();
        assert!(world.seconds_since(held)[1] >= 7200);
        assert!(*came.last().unwrap() <= 630, "within the ten minutes of the spread: {came:?}");
        let moments: std::collections::BTreeSet<u64> = came.iter().copied().collect();
        assert!(moments.len() >= 10, "{came:?}");
        world.stop().await;
    });
}

#[rstest]
fn s807_after_jitter_the_first_real_poll_is_still_the_first(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mix = Mix::only(SiteBehaviour::NoValidators);
        let settings = WebSettings { backlog: 5, first_entries: 2, mix, ..WebSettings::default() };
        let mut world = World::with(engine, settings).await;
        let ids = world.add_all().await;
        world.start(Scope::Daemon);
        world.quiet().await;
        world.advance(hours(1));
        world.settled(1).await;
        assert_eq!(world.web.served_entries_of(0).len(), 7);
        assert_eq!(world.store.bodies(ids[0]).await.len(), 2, "what was published before it was added is left out");
        world.stop().await;
    });
}

#[rstest]
fn s508_a_poll_asked_for_by_hand_is_made_at_once(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        let ids = world.start_and_poll_all().await;
        world.advance(MINUTE);
        world.change(ids[0], Change::Poll).await;
        world.settled(2).await;
        world.advance(minutes(59));
        world.quiet().await;
        assert_eq!(world.web.journal().len(), 2, "its interval begins anew");
        world.advance(MINUTE);
        world.settled(3).await;
        world.stop().await;
    });
}

/// Time passes between any two looks at this clock.
struct TickingClock(Arc<HeldClock>);

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        self.0.advance(Duration::from_millis(1));
        self.0.now()
    }

    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }

    fn until(&self, moment: Timestamp) -> ClockWait {
        self.0.until(moment)
    }
}

#[rstest]
fn p16_host_source_and_log_agree_to_the_moment_on_when_a_bare_429_is_over(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::RateLimited(RetryAfter::Unsaid)]).await;
        world.policy.interval = minutes(10);
        world.pipeline_clock = Arc::new(TickingClock(world.clock.clone()));
        let ids = world.start_and_poll_all().await;
        let source = world.source(ids[0]).await;
        let over = source.state.last_polled.unwrap() + hours(1);
        let host = world.stored_host(0).await.unwrap();
        assert_eq!(host.held_until, Some(over));
        assert_eq!(next_poll(&source, Some(&host), &world.policy, world.now()).at(), Some(over));
        let told = |message: &str, key: &str| world.records.of(message)[0][key].as_str().unwrap().to_owned();
        assert_eq!(told("host held", "until"), over.to_string());
        assert_eq!(told("feed poll failed", "next_poll_at"), over.to_string());
        world.stop().await;
    });
}
