//! Status of a source.

use std::str::FromStr;

use strum::VariantArray;

use crate::model::{Source, Timestamp, UnknownName};

use super::Policy;
use super::due::is_resting;

/// Status of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum SourceStatus {
    /// Polled; the last poll succeeded, or there was none.
    Active,
    /// Polled less often after failures.
    BackingOff,
    /// Not polled until its cooldown is over or a person ends the rest.
    Resting,
    /// Not polled until a person enables it.
    Disabled,
}

impl SourceStatus {
    /// Name in the API.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether the source is polled (s1003).
    pub const fn is_feed_active(self) -> bool {
        matches!(self, SourceStatus::Active | SourceStatus::BackingOff)
    }
}

/// Status of this source now.
pub fn status(source: &Source, policy: &Policy, now: Timestamp) -> SourceStatus {
    match () {
        () if !source.state.enabled => SourceStatus::Disabled,
        () if is_resting(source, policy, now) => SourceStatus::Resting,
        () if source.state.failures.consecutive > 0 => SourceStatus::BackingOff,
        () => SourceStatus::Active,
    }
}

impl FromStr for SourceStatus {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<SourceStatus, UnknownName> {
        UnknownName::find("state of a source", name, SourceStatus::VARIANTS, SourceStatus::name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::hours;
    use super::*;
    use crate::model::{FailureKind, NewSource, Rest, RestCause, SourceId, SourceSettings, SourceType};

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn check(enabled: bool, failures: u32, rest: Option<RestCause>, hours_ago: u32, expected: SourceStatus) {
        let settings = SourceSettings::new(SourceType::Rss, "http://a.example/");
        let mut source = Source::fresh(SourceId(1), NewSource { settings, created_at: NOW });
        source.state.enabled = enabled;
        source.state.failures.consecutive = failures;
        source.state.rest = rest.map(|cause| Rest { since: NOW - hours(hours_ago), cause });
        assert_eq!(status(&source, &Policy::default(), NOW), expected);
    }

    #[test]
    fn s1003_a_rest_whose_cooldown_is_over_is_no_rest() {
        let gone = || Some(RestCause::Failures(FailureKind::Gone));
        check(true, 1, gone(), 71, SourceStatus::Resting);
        check(true, 1, gone(), 72, SourceStatus::BackingOff);
        let reported = || Some(RestCause::Reported(FailureKind::Gone));
        check(true, 0, reported(), 71, SourceStatus::Resting);
        check(true, 0, reported(), 72, SourceStatus::Active);
        check(true, 0, Some(RestCause::Person("tired".into())), 9999, SourceStatus::Resting);
    }

    #[test]
    fn the_gravest_word_counts() {
        check(true, 0, None, 0, SourceStatus::Active);
        check(true, 3, None, 0, SourceStatus::BackingOff);
        check(false, 3, Some(RestCause::Person("tired".into())), 0, SourceStatus::Disabled);
        assert_eq!("backing_off".parse::<SourceStatus>().unwrap(), SourceStatus::BackingOff);
    }
}
