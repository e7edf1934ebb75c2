//! Where a source stands in its life, in one word.

use std::fmt;
use std::str::FromStr;

use crate::model::{Source, Timestamp, UnknownName};

use super::Policy;
use super::due::is_resting;

/// Where a source stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Polled, and its last poll went well or it had none.
    Active,
    /// Polled, less and less often while it fails.
    BackingOff,
    /// Left alone until its cooldown is over or a person ends the rest.
    Resting,
    /// Left alone until a person enables it.
    Disabled,
}

impl Life {
    /// Every one, in the order of their declaration.
    pub const ALL: [Life; 4] = [Life::Active, Life::BackingOff, Life::Resting, Life::Disabled];

    /// The name used in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Life::Active => "active",
            Life::BackingOff => "backing_off",
            Life::Resting => "resting",
            Life::Disabled => "disabled",
        }
    }

    /// Whether it is polled at all for now (s1003).
    pub const fn is_feed_active(self) -> bool {
        matches!(self, Life::Active | Life::BackingOff)
    }
}

/// Where this source stands now.
pub fn life(source: &Source, policy: &Policy, now: Timestamp) -> Life {
    match () {
        () if !source.state.enabled => Life::Disabled,
        () if is_resting(source, policy, now) => Life::Resting,
        () if source.state.failures.consecutive > 0 => Life::BackingOff,
        () => Life::Active,
    }
}

impl fmt::Display for Life {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Life {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Life, UnknownName> {
        UnknownName::find("state of a source", name, &Life::ALL, Life::name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::hours;
    use super::*;
    use crate::model::{FailureKind, NewSource, Rest, RestCause, SourceId, SourceSettings, SourceType};

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn check(enabled: bool, failures: u32, rest: Option<RestCause>, hours_ago: u32, expected: Life) {
        let settings = SourceSettings::new(SourceType::Rss, "http://a.example/");
        let mut source = Source::fresh(SourceId(1), NewSource { settings, created_at: NOW });
        source.state.enabled = enabled;
        source.state.failures.consecutive = failures;
        source.state.rest = rest.map(|cause| Rest { since: NOW - hours(hours_ago), cause });
        assert_eq!(life(&source, &Policy::default(), NOW), expected);
    }

    #[test]
    fn s1003_a_rest_whose_cooldown_is_over_is_no_rest() {
        let gone = || Some(RestCause::Failures(FailureKind::Gone));
        check(true, 1, gone(), 71, Life::Resting);
        check(true, 1, gone(), 72, Life::BackingOff);
        let reported = || Some(RestCause::Reported(FailureKind::Gone));
        check(true, 0, reported(), 71, Life::Resting);
        check(true, 0, reported(), 72, Life::Active);
        check(true, 0, Some(RestCause::Person("tired".into())), 9999, Life::Resting);
    }

    #[test]
    fn the_gravest_word_counts() {
        check(true, 0, None, 0, Life::Active);
        check(true, 3, None, 0, Life::BackingOff);
        check(false, 3, Some(RestCause::Person("tired".into())), 0, Life::Disabled);
        assert_eq!("backing_off".parse::<Life>().unwrap(), Life::BackingOff);
    }
}
