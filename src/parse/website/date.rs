//! Dates as pages write them in machine-readable places.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::model::Timestamp;

/// Reads ISO 8601 in its everyday variants, RFC 2822, and seconds or milliseconds since 1970. Without an offset it is
/// universal time.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if text.len() > 64 {
        return None;
    }
    if let Some(moment) = epoch(text) {
        return Some(moment);
    }
    let dashed = dashed(text);
    let moment = dashed.parse::<jiff::Timestamp>().ok();
    let moment = moment.or_else(|| Some(dashed.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp()));
    let moment = moment.or_else(|| Some(jiff::fmt::rfc2822::parse(text).ok()?.timestamp()));
    moment.map(Timestamp::from)
}

fn epoch(text: &str) -> Option<Timestamp> {
    let number = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<i64>().ok())??;
    match text.len() {
        10 => Some(Timestamp::from_seconds(number)),
        13 => Some(Timestamp::from_micros(number.saturating_mul(1000))),
        _ => None,
    }
}

/// `2026/11/16 08:30 +0100` is meant as `2026-11-16 08:30+0100`.
fn dashed(text: &str) -> String {
    let (day, time) = text.split_at_checked(10).unwrap_or((text, ""));
    let day = if day.as_bytes().get(4) == Some(&b'/') { day.replace('/', "-") } else { day.to_owned() };
    let time = time.replace(" +", "+").replace(" -", "-").replace(" UTC", "Z").replace(" GMT", "Z").replace(" Z", "Z");
    day + &time
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("2026-11-16T08:30:00Z", "2026-11-16T08:30:00Z")]
    #[case("2026-11-16T08:30:00.123+01:00", "2026-11-16T07:30:00.123Z")]
    #[case("2026-11-16T08:30:00+0100", "2026-11-16T07:30:00Z")]
    #[case(" 2026-11-16 08:30 +0100 ", "2026-11-16T07:30:00Z")]
    #[case("2026-11-16T08:30", "2026-11-16T08:30:00Z")]
    #[case("2026-11-16 08:30:00 UTC", "2026-11-16T08:30:00Z")]
    #[case("2026-11-16", "2026-11-16T00:00:00Z")]
    #[case("2026/11/16", "2026-11-16T00:00:00Z")]
    #[case("20261116", "2026-11-16T00:00:00Z")]
    #[case("Mon, 16 Nov 2026 08:30:00 +0100", "2026-11-16T07:30:00Z")]
    #[case("1794817800", "2026-11-16T08:30:00Z")]
    #[case("1794817800000", "2026-11-16T08:30:00Z")]
    fn machine_readable_dates_are_read(#[case] text: &str, #[case] wanted: &str) {
        assert_eq!(parse(text).map(|moment| moment.to_string()).as_deref(), Some(wanted));
    }

    #[rstest]
    #[case("")]
    #[case("yesterday")]
    #[case("2026-13-45")]
    #[case("16 ноября 2026")]
    #[case("日本語日本語日本語")]
    #[case("12345")]
    fn anything_else_is_no_date(#[case] text: &str) {
        assert_eq!(parse(text), None);
    }
}
