//! Settings of the demo, and the settings of its parts that follow from them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use super::web::{Elsewhere, Habits, Mix, Publishing, RetryAfter, SiteBehaviour, WebSettings};
use crate::actors::{Fault, FaultAction, FaultSettings, FetchSettings, PipelineSettings, SchedulerSettings};
use crate::http::HttpSettings;
use crate::model::{FailureKind, SourceType};
use crate::rules::{BreakerPolicy, Delays, Policy, RestRule, Rests, hours, minutes};
use crate::supervision::Intensity;

const INTERVAL: Duration = minutes(30);
/// The pause between two requests to one host.
pub(super) const DELAY: Duration = Duration::from_secs(20);
/// Approximate number of crashes per second of real time.
const CRASHES_PER_SECOND: f64 = 1.5;
/// Where crashes are injected. Each poll passes every place about once.
const CRASH_PLACES: [(&str, &str); 6] = [
    ("host", "PollSource"),
    ("host", "FetchFinished"),
    ("fetch", "FetchSource"),
    ("post-sink", "PollSucceeded"),
    ("failure-tracker", "PollFailed"),
    ("scheduler", "PollCompleted"),
];

#[derive(Clone, Debug, PartialEq)]
pub struct DemoSettings {
    /// Duration in real time; none until a signal.
    pub duration: Option<Duration>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// How many sources there are.
    pub sources: usize,
    /// How many hosts they are on, apart from the dead ones.
    pub hosts: usize,
    /// Speed of the fast clock.
    pub speed: f64,
    /// Log file; without one, nothing is logged.
    pub log: Option<PathBuf>,
}

impl Default for DemoSettings {
    /// Defaults: one hour passes in three seconds.
    fn default() -> DemoSettings {
        DemoSettings { duration: None, seed: 1, sources: 300, hosts: 60, speed: 1200.0, log: None }
    }
}

impl DemoSettings {
    pub(super) fn web(&self) -> WebSettings {
        WebSettings {
            hosts: self.hosts,
            sites: self.sources,
            seed: self.seed,
            mix: mix(),
            entries: 10..=30,
            publishing: Publishing::Chance(0.15),
            habits: Habits::lifelike(),
            habit_chance: 0.3,
            latency: Duration::from_millis(2),
            // Timeouts in real time are long by the fast clock, so they are short here.
            slow: Duration::from_millis(300),
            drip: Duration::from_millis(20),
            huge_bytes: 4 * 1024 * 1024,
            journal_max: 0,
            ..WebSettings::default()
        }
    }

    pub(super) fn http(&self) -> HttpSettings {
        HttpSettings {
            deadline: Duration::from_millis(1500),
            connect_timeout: Duration::from_secs(1),
            // A request that breaks off on a kept connection is made again at once on a new one (RFC 9110, 9.2.2). To
            // the web that is a visit without a pause; so that every pause can be measured, no connection is kept.
            idle_timeout: Duration::ZERO,
            body_bytes_max: 1024 * 1024,
            allowed_networks: vec!["127.0.0.0/8".parse().expect("the text is a network")],
            ..HttpSettings::default()
        }
    }

    /// The daemon's rules, with rests of hours instead of days.
    pub(super) fn policy(&self) -> Policy {
        let rule = |after, cooldown_hours| RestRule { after, cooldown: hours(cooldown_hours) };
        Policy {
            interval: INTERVAL,
            adaptive: None,
            max_failures: 5,
            max_backoff: hours(3),
            rests: Rests::from_iter([
                (FailureKind::Unauthorized, rule(0, 4)),
                (FailureKind::Forbidden, rule(3, 4)),
                (FailureKind::NotFound, rule(3, 3)),
                (FailureKind::Gone, rule(1, 6)),
                (FailureKind::UpstreamFailure, rule(4, 2)),
                (FailureKind::Network, rule(5, 2)),
                (FailureKind::ParseError, rule(3, 4)),
            ]),
            delays: Delays {
                by_type: SourceType::ALL.into_iter().map(|source_type| (source_type, DELAY)).collect(),
                by_host: HashMap::new(),
            },
            // Nothing is cleaned up, so that the store can be compared with what was served.
            article_age_max: hours(24 * 365 * 100),
            breaker: BreakerPolicy { after: 3, pause_first: minutes(20), pause_max: hours(3) },
            ..Policy::default()
        }
    }

    pub(super) fn pipeline(&self) -> PipelineSettings {
        PipelineSettings {
            websub: None,
            scheduler: SchedulerSettings {
                tick: self.simulated(Duration::from_millis(500)),
                look_gap: self.simulated(Duration::from_millis(5)),
            },
            fetch: FetchSettings { threads: Some(2), concurrency: 128 },
            // No number of injected crashes ends the demo.
            intensity: Intensity {
                restarts_max: 100_000,
                delay_first: Duration::from_millis(50),
                delay_max: Duration::from_millis(500),
                ..Intensity::default()
            },
            faults: self.faults(),
            ..PipelineSettings::default()
        }
    }

    fn faults(&self) -> FaultSettings {
        let polls_per_second = self.sources as f64 * self.speed / INTERVAL.as_secs_f64();
        let probability = (CRASHES_PER_SECOND / CRASH_PLACES.len() as f64 / polls_per_second).min(0.02);
        let fault = |(actor, message): (&str, &str)| Fault {
            actor: actor.to_owned(),
            message: message.to_owned(),
            action: FaultAction::Panic,
            probability,
        };
        FaultSettings {
            is_enabled: true,
            seed: self.seed,
            limit: None,
            faults: CRASH_PLACES.into_iter().map(fault).collect(),
        }
    }

    /// How much of the fast clock's time passes in a span of the machine's.
    pub(super) fn simulated(&self, span: Duration) -> Duration {
        span.mul_f64(self.speed.max(1.0))
    }
}

/// Most are well, and there is some of everything, also among a few hundred.
fn mix() -> Mix {
    Mix::Weighted(vec![
        (SiteBehaviour::Healthy, 420),
        (SiteBehaviour::NoValidators, 60),
        (SiteBehaviour::Busy, 20),
        (SiteBehaviour::Titleless, 30),
        (SiteBehaviour::Gzip, 60),
        (SiteBehaviour::CacheFor(7200), 40),
        (SiteBehaviour::NotFound, 40),
        (SiteBehaviour::Gone, 20),
        (SiteBehaviour::Forbidden, 20),
        (SiteBehaviour::Unauthorized, 10),
        (SiteBehaviour::RateLimited(RetryAfter::Seconds(5400)), 10),
        (SiteBehaviour::RateLimited(RetryAfter::Date(7200)), 4),
        (SiteBehaviour::RateLimited(RetryAfter::Unsaid), 4),
        (SiteBehaviour::Unavailable(RetryAfter::Seconds(3600)), 8),
        (SiteBehaviour::Broken(500), 15),
        (SiteBehaviour::Broken(502), 15),
        (SiteBehaviour::Slow, 20),
        (SiteBehaviour::Dripping, 10),
        (SiteBehaviour::Hanging, 4),
        (SiteBehaviour::Cut, 8),
        (SiteBehaviour::Reset, 8),
        (SiteBehaviour::BrokenXml, 20),
        (SiteBehaviour::NotAFeed, 10),
        (SiteBehaviour::Huge, 4),
        (SiteBehaviour::Moved(Elsewhere::SameHost), 15),
        (SiteBehaviour::Moved(Elsewhere::OtherHost), 10),
        (SiteBehaviour::Found(Elsewhere::OtherHost), 10),
        (SiteBehaviour::Loop, 4),
        (SiteBehaviour::Website, 45),
        (SiteBehaviour::Flaky, 36),
        (SiteBehaviour::Dead, 20),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crashes_are_as_frequent_however_large_and_fast_the_show_is() {
        let per_second = |sources, speed| {
            let settings = DemoSettings { sources, speed, ..DemoSettings::default() };
            let polls_per_second = sources as f64 * speed / INTERVAL.as_secs_f64();
            settings.faults().faults.iter().map(|fault| fault.probability * polls_per_second).sum::<f64>()
        };
        for (sources, speed) in [(300, 1200.0), (3000, 600.0)] {
            assert!((per_second(sources, speed) - CRASHES_PER_SECOND).abs() < 1e-9);
        }
        assert!(per_second(1, 1.0) < CRASHES_PER_SECOND, "a slow show does not crash at every poll");
    }

    #[test]
    fn places_that_crash_are_places_where_faults_can_be_injected() {
        for (actor, message) in CRASH_PLACES {
            assert!(format!("{actor}/{message}=panic@0.1").parse::<Fault>().is_ok(), "{actor} {message}");
        }
    }
}
