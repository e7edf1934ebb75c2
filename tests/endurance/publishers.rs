//! The publishers of an endurance run.

use std::time::Duration;

use feedwarden::demo::web::{Character, Mix, Publishing, RetryAfter, Robots, WebSettings};

use super::run::Size;

/// A web that misbehaves in every way. Waits of hours are made short.
pub(super) fn web_settings(size: &Size, seed: u64) -> WebSettings {
    let weighted = Character::EVERY.map(|character| match character {
        Character::Healthy => (character, 40),
        Character::Flaky => (character, 20),
        character => (hurried(character), 1),
    });
    WebSettings {
        hosts: size.hosts,
        sites: size.sources,
        seed,
        mix: Mix::Weighted(weighted.into()),
        robots: Some(Robots::Allowing),
        // No entry leaves its feed before it could be read.
        entries: 1000..=1000,
        entry_bytes: 100,
        publishing: Publishing::Chance(0.2),
        slow: Duration::from_millis(300),
        drip: Duration::from_millis(20),
        huge_bytes: 4 * 1024 * 1024,
        journal_max: 2_000_000,
        ..WebSettings::default()
    }
}

/// What is asked for is counted in seconds here.
fn hurried(character: Character) -> Character {
    match character {
        Character::CacheFor(_) => Character::CacheFor(1),
        Character::RateLimited(_) => Character::RateLimited(RetryAfter::Seconds(1)),
        Character::Unavailable(RetryAfter::Seconds(_)) => Character::Unavailable(RetryAfter::Seconds(1)),
        other => other,
    }
}
