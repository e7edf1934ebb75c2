//! The publishers of an endurance run.

use std::time::Duration;

use feedwarden::demo::web::{Character, Elsewhere, Mix, Publishing, RetryAfter, Robots, WebSettings};

use super::run::Size;

/// A web that misbehaves in every way. Waits of hours are made short.
pub(super) fn web_settings(size: &Size, seed: u64) -> WebSettings {
    let odd = [
        Character::NoValidators,
        Character::Busy,
        Character::Titleless,
        Character::Gzip,
        Character::CacheFor(1),
        Character::NotFound,
        Character::Gone,
        Character::Forbidden,
        Character::Unauthorized,
        Character::RateLimited(RetryAfter::Seconds(1)),
        Character::Unavailable(RetryAfter::Seconds(1)),
        Character::Unavailable(RetryAfter::Unsaid),
        Character::Broken(500),
        Character::Broken(502),
        Character::Slow,
        Character::Dripping,
        Character::Hanging,
        Character::Cut,
        Character::Reset,
        Character::BrokenXml,
        Character::NotAFeed,
        Character::Huge,
        Character::Moved(Elsewhere::SameHost),
        Character::Moved(Elsewhere::OtherHost),
        Character::Found(Elsewhere::OtherHost),
        Character::Loop,
        Character::Website,
        Character::Dead,
    ];
    let mut mix: Vec<(Character, u32)> = odd.map(|character| (character, 1)).into();
    mix.extend([(Character::Healthy, 40), (Character::Flaky, 20)]);
    WebSettings {
        hosts: size.hosts,
        sites: size.sources,
        seed,
        mix: Mix::Weighted(mix),
        robots: Some(Robots::Allowing),
        // No entry leaves its feed before somebody had the time to read it.
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
