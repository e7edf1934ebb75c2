//! Times and durations as people write and read them, in the local time zone (`TZ`, or else that of the system).

use std::time::Duration;

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Zoned};

use crate::clock::{Clock, SystemClock};
use crate::model::Timestamp;

const TIMES: &str = "write 1h, 90m, 1d12h, \"2 days ago\", today, yesterday, \"yesterday 14:30\", 14:30, 2026-11-01, \
                     \"2026-11-01 14:30\" or 2026-11-01T14:30:00Z";
const ENDS: &str = "write 2h, 90m, 1d12h, tomorrow, \"tomorrow 14:30\", 14:30, 2026-11-01, \"2026-11-01 14:30\" or \
                    2026-11-01T14:30:00Z";
const DURATIONS: &str = "write 30s, 90m, 2h, 1d12h or \"2 days\"";

/// Whether a duration lies before or after now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Past,
    Future,
}

/// A moment in the past; for clap.
pub(super) fn past_moment(text: &str) -> Result<Timestamp, String> {
    moment(text, &local(SystemClock.now()), Side::Past).ok_or_else(|| TIMES.to_owned())
}

/// A moment in the future; for clap.
pub(super) fn future_moment(text: &str) -> Result<Timestamp, String> {
    moment(text, &local(SystemClock.now()), Side::Future).ok_or_else(|| ENDS.to_owned())
}

/// A duration of at least a second; for clap.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let span: Span = text.trim().parse().map_err(|_| DURATIONS.to_owned())?;
    let exact = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| DURATIONS.to_owned())?;
    Duration::try_from(exact).ok().filter(|exact| exact.as_secs() > 0).ok_or_else(|| DURATIONS.to_owned())
}

/// The same; a number without a unit counts seconds, and zero is allowed.
pub(super) fn seconds(text: &str) -> Result<u64, String> {
    match text.trim().parse::<u64>() {
        Ok(seconds) => Ok(seconds),
        Err(_) => duration(text)
            .map(|exact| exact.as_secs())
            .map_err(|_| DURATIONS.replace("write ", "write a number of seconds, or ")),
    }
}

/// When today began.
pub(super) fn start_of_today() -> Timestamp {
    let now = SystemClock.now();
    local(now).start_of_day().map_or(now, |start| start.timestamp().into())
}

/// Date and time to the second, with the zone.
pub(super) fn second(moment: Timestamp) -> String {
    local(moment).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
}

/// Date and time to the minute; the zone is named elsewhere.
pub(super) fn minute(moment: Timestamp) -> String {
    local(moment).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Abbreviation of the local time zone at this moment.
pub(super) fn zone(moment: Timestamp) -> String {
    local(moment).strftime("%Z").to_string()
}

/// A text of the daemon with the times in it, which are RFC 3339 in UTC, as local times.
pub(super) fn localized(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let is_inside_word = rest[..start].ends_with(|letter: char| letter.is_alphanumeric());
        let end = rest[start..].find(|letter: char| !is_of_time(letter)).map_or(rest.len(), |length| start + length);
        result.push_str(&rest[..start]);
        let word = &rest[start..end];
        // A time at the end of a sentence has no Z in front of its full stop.
        match word.find('Z').map(|place| word.split_at(place + 1)) {
            Some((time, behind)) if !is_inside_word && time.len() >= "2026-11-16T07:56:06Z".len() => {
                match time.parse::<Timestamp>() {
                    Ok(moment) => result.push_str(&second(moment)),
                    Err(_) => result.push_str(time),
                }
                result.push_str(behind);
            }
            _ => result.push_str(word),
        }
        rest = &rest[end..];
    }
    result + rest
}

fn is_of_time(letter: char) -> bool {
    letter.is_ascii_digit() || matches!(letter, '-' | ':' | '.' | 'T' | 'Z')
}

fn local(moment: Timestamp) -> Zoned {
    jiff::Timestamp::from(moment).to_zoned(local_zone())
}

/// Universal time if the system does not say.
fn local_zone() -> TimeZone {
    let zone = TimeZone::system();
    if zone.is_unknown() { TimeZone::UTC } else { zone }
}

fn moment(text: &str, now: &Zoned, side: Side) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment);
    }
    let at = |date_time: DateTime| Some(date_time.to_zoned(now.time_zone().clone()).ok()?.timestamp().into());
    let starts_with_date = text.get(..4).is_some_and(|year| year.bytes().all(|byte| byte.is_ascii_digit()));
    if starts_with_date && text.contains('-') {
        return at(text.parse::<DateTime>().ok()?);
    }
    if let Some(date_time) = named_day(text, now) {
        return at(date_time);
    }
    let span = match (text.strip_prefix("in "), side) {
        (Some(span), Side::Future) => span,
        (Some(_), Side::Past) => return None,
        (None, _) => text,
    };
    let span: Span = span.parse().ok()?;
    if span.is_negative() && side == Side::Future || span.is_zero() {
        return None;
    }
    let moved = match side {
        Side::Past => now.checked_sub(span.abs()),
        Side::Future => now.checked_add(span),
    };
    Some(moved.ok()?.timestamp().into())
}

/// `now`, a day by name with or without a time, or a time of today.
fn named_day(text: &str, now: &Zoned) -> Option<DateTime> {
    let (day, time) = text.split_once(' ').map_or((text, None), |(day, time)| (day, Some(time.trim())));
    let today = now.date();
    let date = match day.to_ascii_lowercase().as_str() {
        "now" if time.is_none() => return Some(now.datetime()),
        "today" => today,
        "yesterday" => today.yesterday().ok()?,
        "tomorrow" => today.tomorrow().ok()?,
        _ => return clock_time(text).map(|time| today.to_datetime(time)),
    };
    match time {
        None => Some(date.to_datetime(Time::midnight())),
        Some(time) => clock_time(time).map(|time| date.to_datetime(time)),
    }
}

/// `14:30`, `9:05` or `14:30:10`.
fn clock_time(text: &str) -> Option<Time> {
    let mut parts = text.split(':').map(|part| part.parse::<i8>().ok().filter(|_| part.len() <= 2));
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = match parts.next() {
        Some(second) => second?,
        None => 0,
    };
    parts.next().is_none().then(|| Time::new(hour, minute, second, 0).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noon of this day in Berlin, whether or not this machine has time zones.
    fn noon(day: &str) -> Zoned {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        format!("{day}T12:00").parse::<DateTime>().unwrap().to_zoned(zone).unwrap()
    }

    fn now() -> Zoned {
        noon("2026-11-18")
    }

    #[test]
    fn times_are_taken_as_people_write_them() {
        for (text, wanted) in [
            ("1h", "2026-11-18T10:00:00Z"),
            ("90m", "2026-11-18T09:30:00Z"),
            ("1d12h", "2026-11-16T23:00:00Z"),
            ("2 days ago", "2026-11-16T11:00:00Z"),
            ("30 minutes ago", "2026-11-18T10:30:00Z"),
            ("1 week", "2026-11-11T11:00:00Z"),
            ("now", "2026-11-18T11:00:00Z"),
            ("today", "2026-11-17T23:00:00Z"),
            ("Yesterday", "2026-11-16T23:00:00Z"),
            ("yesterday 14:30", "2026-11-17T13:30:00Z"),
            ("9:05", "2026-11-18T08:05:00Z"),
            ("2026-11-01", "2026-10-31T23:00:00Z"),
            ("2026-07-01", "2026-06-30T22:00:00Z"),
            ("2026-11-01 14:30", "2026-11-01T13:30:00Z"),
            ("2026-11-01T14:30:00Z", "2026-11-01T14:30:00Z"),
            ("2026-11-01T14:30:00+05:00", "2026-11-01T09:30:00Z"),
        ] {
            assert_eq!(moment(text, &now(), Side::Past), Some(wanted.parse().unwrap()), "{text}");
        }
        for text in
            ["", "1", "soon", "in 2h", "25:00", "2026-13-01", "2026-11-31", "1x", "0s", "14:30:10:5", "99999999999y"]
        {
            assert_eq!(moment(text, &now(), Side::Past), None, "{text}");
        }
    }

    #[test]
    fn ends_lie_ahead() {
        for (text, wanted) in [
            ("2h", "2026-11-18T13:00:00Z"),
            ("in 2h", "2026-11-18T13:00:00Z"),
            ("tomorrow", "2026-11-18T23:00:00Z"),
            ("tomorrow 8:00", "2026-11-19T07:00:00Z"),
        ] {
            assert_eq!(moment(text, &now(), Side::Future), Some(wanted.parse().unwrap()), "{text}");
        }
        assert_eq!(moment("2 hours ago", &now(), Side::Future), None);
    }

    #[test]
    fn a_day_has_the_hours_that_the_zone_gives_it() {
        assert_eq!(moment("1d", &noon("2026-10-25"), Side::Past), Some("2026-10-24T10:00:00Z".parse().unwrap()));
    }

    #[test]
    fn durations_have_a_unit_and_an_end() {
        for (text, wanted) in
            [("2h", 7200), ("90m", 5400), ("1d12h", 129_600), ("30s", 30), ("2 days", 172_800), ("1w", 604_800)]
        {
            assert_eq!(duration(text), Ok(Duration::from_secs(wanted)), "{text}");
        }
        for text in ["", "5", "0s", "-2h", "2h ago", "1mo", "1y", "forever"] {
            let error = duration(text).expect_err(text);
            assert!(error.contains("90m"), "{error}");
        }
        assert_eq!((seconds("0"), seconds("45"), seconds("2m")), (Ok(0), Ok(45), Ok(120)));
        assert!(seconds("soon").unwrap_err().contains("number of seconds, or 30s"));
    }

    #[test]
    fn times_of_the_daemon_become_local_and_nothing_else_changes() {
        let at = second("2026-11-16T07:56:06Z".parse().unwrap());
        for (text, wanted) in [
            ("next poll at 2026-11-16T07:56:06Z: the interval", format!("next poll at {at}: the interval")),
            ("until 2026-11-16T07:56:06.123456Z.", format!("until {at}.")),
            ("HTTP 404 at 127.0.0.1:80, 2026-11-16", "HTTP 404 at 127.0.0.1:80, 2026-11-16".into()),
            ("9999-99-99T99:99:99Z", "9999-99-99T99:99:99Z".into()),
            ("é 3Z ü", "é 3Z ü".into()),
        ] {
            assert_eq!(localized(text), wanted);
        }
    }
}
