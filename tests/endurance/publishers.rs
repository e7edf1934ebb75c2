//! The publishers of an endurance run.

use std::time::Duration;

use feedwarden::demo::web::{Habits, Mix, Publishing, RetryAfter, RobotsPolicy, SiteBehaviour, WebSettings};

use super::run::Size;

/// A web that misbehaves in every way. Waits of hours are made short.
pub(super) fn web_settings(size: &Size, seed: u64) -> WebSettings {
    let weighted = SiteBehaviour::EVERY.map(|behaviour| match behaviour {
        SiteBehaviour::Healthy => (behaviour, 40),
        SiteBehaviour::Flaky => (behaviour, 20),
        behaviour => (hurried(behaviour), 1),
    });
    WebSettings {
        hosts: size.hosts,
        sites: size.sources,
        seed,
        mix: Mix::Weighted(weighted.into()),
        robots: Some(RobotsPolicy::Allowing),
        // No entry leaves its feed before it could be read.
        entries: 1000..=1000,
        entry_bytes: 100,
        publishing: Publishing::Chance(0.2),
        habits: Habits::lifelike(),
        habit_chance: 0.4,
        slow: Duration::from_millis(300),
        drip: Duration::from_millis(20),
        huge_bytes: 4 * 1024 * 1024,
        journal_max: 2_000_000,
        ..WebSettings::default()
    }
}

/// What is asked for is counted in seconds here.
fn hurried(behaviour: SiteBehaviour) -> SiteBehaviour {
    match behaviour {
        SiteBehaviour::CacheFor(_) => SiteBehaviour::CacheFor(1),
        SiteBehaviour::RateLimited(_) => SiteBehaviour::RateLimited(RetryAfter::Seconds(1)),
        SiteBehaviour::Unavailable(RetryAfter::Seconds(_)) => SiteBehaviour::Unavailable(RetryAfter::Seconds(1)),
        other => other,
    }
}
