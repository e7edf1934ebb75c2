//! A moment, in microseconds: the precision that both stores keep, so that what is read equals what was written.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment in universal time, between the years 1 and 9999.
///
/// Arithmetic saturates at those bounds instead of failing: feeds hold every date a person or a broken clock can
/// write, and no rule may overflow on one of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A text that is not an RFC 3339 moment.
#[derive(Debug, thiserror::Error)]
#[error("{text:?} is not a time such as 2026-11-16T08:30:00Z")]
pub struct TimestampError {
    text: String,
}

impl Timestamp {
    /// 0001-01-01T00:00:00Z.
    pub const MIN: Timestamp = Timestamp(-62_135_596_800_000_000);
    /// 9999-12-30T22:00:00Z, the last second that every time zone can still write with four digits.
    pub const MAX: Timestamp = Timestamp(253_402_207_200_000_000);
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Timestamp = Timestamp(0);

    /// The moment this many microseconds after 1970, moved into the range if it lies outside.
    pub const fn from_micros(micros: i64) -> Timestamp {
        if micros < Self::MIN.0 {
            Self::MIN
        } else if micros > Self::MAX.0 {
            Self::MAX
        } else {
            Timestamp(micros)
        }
    }

    /// The moment this many seconds after 1970, moved into the range if it lies outside.
    pub const fn from_seconds(seconds: i64) -> Timestamp {
        Self::from_micros(seconds.saturating_mul(1_000_000))
    }

    /// Microseconds since 1970.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970, rounded down.
    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// The year, in universal time; a day off at most around a new year.
    pub const fn year(self) -> i16 {
        // A year has 365.2425 days on average.
        (1970 + self.as_seconds().div_euclid(31_556_952)) as i16
    }

    /// How long this moment lies after the earlier one; nothing if it does not.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// A change of the system's time that no passing of time explains: a person or a time service set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// The time before.
    pub from: Timestamp,
    /// The same moment by the new time.
    pub to: Timestamp,
}

/// Polls whose times move with a step back: those that ended in this span of the time before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedPolls {
    pub since: Timestamp,
    pub until: Timestamp,
    /// Whether entries may have been left out for their age, so that the whole documents have to be read again.
    pub drops_validators: bool,
}

impl ClockStep {
    pub fn is_back(self) -> bool {
        self.to < self.from
    }

    pub fn size(self) -> Duration {
        self.to.since(self.from).max(self.from.since(self.to))
    }

    /// A moment of the time before, by the new time.
    pub fn moved(self, moment: Timestamp) -> Timestamp {
        if self.is_back() { moment - self.size() } else { moment + self.size() }
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Timestamp;

    fn add(self, duration: Duration) -> Timestamp {
        Timestamp::from_micros(self.0.saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl std::ops::Sub<Duration> for Timestamp {
    type Output = Timestamp;

    fn sub(self, duration: Duration) -> Timestamp {
        Timestamp::from_micros(self.0.saturating_sub(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(moment: jiff::Timestamp) -> Timestamp {
        Timestamp::from_micros(moment.as_microsecond())
    }
}

impl From<Timestamp> for jiff::Timestamp {
    fn from(moment: Timestamp) -> jiff::Timestamp {
        jiff::Timestamp::from_microsecond(moment.0).expect("our range lies inside jiff's")
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        jiff::Timestamp::from(*self).fmt(formatter)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Timestamp, TimestampError> {
        text.parse::<jiff::Timestamp>()
            .map(Timestamp::from)
            .map_err(|_| TimestampError { text: text.chars().take(64).collect() })
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time", "description": "Time in UTC." })
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        std::borrow::Cow::<'_, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_bounds_are_what_their_documentation_says() {
        assert_eq!(Timestamp::MIN.to_string(), "0001-01-01T00:00:00Z");
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-30T22:00:00Z");
        assert_eq!(Timestamp::EPOCH.to_string(), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn an_offset_is_read_as_the_same_moment_in_universal_time() {
        let moment: Timestamp = "2026-02-17T10:00:00+05:30".parse().unwrap();
        assert_eq!(moment.to_string(), "2026-02-17T04:30:00Z");
    }

    #[test]
    fn a_text_that_is_no_time_says_what_would_be_one() {
        let error = "yesterday".parse::<Timestamp>().unwrap_err();
        assert_eq!(error.to_string(), r#""yesterday" is not a time such as 2026-11-16T08:30:00Z"#);
    }

    proptest! {
        #[test]
        fn any_moment_survives_being_written_and_read(micros in any::<i64>()) {
            let moment = Timestamp::from_micros(micros);
            prop_assert_eq!(moment.to_string().parse::<Timestamp>().unwrap(), moment);
        }

        #[test]
        fn arithmetic_stays_in_range_and_in_order(micros in any::<i64>(), seconds in any::<u64>()) {
            let moment = Timestamp::from_micros(micros);
            let duration = Duration::from_secs(seconds);
            prop_assert!(moment + duration >= moment && moment + duration <= Timestamp::MAX);
            prop_assert!(moment - duration <= moment && moment - duration >= Timestamp::MIN);
            prop_assert!((moment + duration).since(moment) <= duration);
        }
    }
}
