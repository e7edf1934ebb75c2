//! Interprets the headers that state a rate limit (p38). Pure; time is an argument.
//!
//! - `RateLimit: limit=10, remaining=0, reset=30` (draft-ietf-httpapi-ratelimit-headers, version 7)
//! - `RateLimit: "minute";r=0;t=30, "day";r=900;t=4000` (version 8 and later)
//! - `RateLimit-Remaining` and `RateLimit-Reset`, `X-RateLimit-…`: one number each, or as many of one as of the other
//!
//! A reset is a number of seconds, a Unix time in seconds or milliseconds, or a date. What cannot be read is ignored.

use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::HeaderName;

use super::headers::{Caching, date, text};
use crate::model::{RateLimit, Timestamp};

/// Header of the current drafts.
const STRUCTURED: HeaderName = HeaderName::from_static("ratelimit");

/// Pairs of headers for what is left and for the reset.
const PAIRS: [(LimitScope, &str, &str); 5] = [
    (LimitScope::Host, "ratelimit-remaining", "ratelimit-reset"),
    (LimitScope::Host, "x-ratelimit-remaining", "x-ratelimit-reset"),
    (LimitScope::Endpoint, "x-rate-limit-remaining", "x-rate-limit-reset"),
    (LimitScope::Endpoint, "x-app-limit-24hour-remaining", "x-app-limit-24hour-reset"),
    (LimitScope::Endpoint, "x-user-limit-24hour-remaining", "x-user-limit-24hour-reset"),
];

/// The requests that a limit counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LimitScope {
    Host,
    /// Requests to one endpoint with one key, as X counts: a limit that is used up explains a 429, and does not concern
    /// other requests to the host.
    Endpoint,
}

/// Smallest number that is a Unix time in seconds (2001) rather than a wait (32 years).
const UNIX_SECONDS_MIN: f64 = 1e9;
/// Smallest number that is a Unix time in milliseconds (1973) rather than in seconds (5138).
const UNIX_MILLISECONDS_MIN: f64 = 1e11;
/// Larger numbers are no time.
const UNIX_MILLISECONDS_MAX: f64 = 1e14;
/// Longest number that is read, in characters.
const NUMBER_LENGTH_MAX: usize = 32;

/// One limit, as far as it can be read.
#[derive(Clone, Copy, Default)]
struct StatedLimit {
    remaining: Option<f64>,
    resets_at: Option<Timestamp>,
}

/// Our time of the answer and the publisher's.
struct AnswerTime {
    now: Timestamp,
    publishers_now: Timestamp,
    /// Time that the answer spent in caches.
    age: Duration,
}

/// The limit of an answer that arrived at `now`: the one that is reset last, among those that are used up if there are
/// any, otherwise among those that do not state what is left.
pub(super) fn rate_limit(headers: &HeaderMap, now: Timestamp) -> Option<RateLimit> {
    let time = AnswerTime::of(headers, now);
    let structured = structured(headers, &time).into_iter().map(|limit| (LimitScope::Host, limit));
    let pairs = PAIRS.into_iter().flat_map(|(scope, remaining, reset)| {
        pair(headers, remaining, reset, &time).into_iter().map(move |limit| (scope, limit))
    });
    let found = structured.chain(pairs).filter_map(|(scope, StatedLimit { remaining, resets_at })| {
        // A part of a request is none.
        let is_used_up = remaining.map(|remaining| remaining < 1.0);
        let resets_at = resets_at.filter(|at| *at > now && is_used_up != Some(false))?;
        Some(RateLimit { is_used_up: is_used_up == Some(true) && scope == LimitScope::Host, resets_at })
    });
    found.max_by_key(|limit| (limit.is_used_up, limit.resets_at))
}

impl AnswerTime {
    fn of(headers: &HeaderMap, now: Timestamp) -> AnswerTime {
        let Caching { date, age, .. } = Caching::of(headers);
        AnswerTime { now, publishers_now: date.map_or(now, |date| date + age), age }
    }

    fn reset(&self, value: &str) -> Option<Timestamp> {
        let Some(number) = decimal(value) else {
            let at = date(value).or_else(|| value.trim().parse().ok())?;
            return Some(self.now + at.since(self.publishers_now));
        };
        let unix = |micros: f64| self.now + Timestamp::from_micros(micros as i64).since(self.publishers_now);
        match number {
            number if !(0.0..UNIX_MILLISECONDS_MAX).contains(&number) => None,
            number if number >= UNIX_MILLISECONDS_MIN => Some(unix(number * 1e3)),
            number if number >= UNIX_SECONDS_MIN => Some(unix(number * 1e6)),
            number => Some(self.now + Duration::from_secs_f64(number).saturating_sub(self.age)),
        }
    }
}

/// The limits of a pair of headers: the first value of one belongs to the first of the other.
fn pair(headers: &HeaderMap, remaining: &str, reset: &str, time: &AnswerTime) -> Vec<StatedLimit> {
    let remaining: Vec<Option<f64>> = all(headers, remaining).iter().map(|value| decimal(value)).collect();
    // A date has a comma, too.
    let lines: Vec<String> = headers.get_all(reset).iter().map(|value| text(value.as_bytes())).collect();
    let resets: Vec<String> = match &lines[..] {
        [line] if date(line).is_some() => lines,
        _ => all(headers, reset),
    };
    let limit = |(place, reset): (usize, &String)| StatedLimit {
        remaining: remaining.get(place).copied().flatten(),
        resets_at: time.reset(reset),
    };
    let is_paired = remaining.is_empty() || remaining.len() == resets.len();
    resets.iter().enumerate().filter(|_| is_paired).map(limit).collect()
}

/// The limits of the structured header: one for each item of a list, or one of a dictionary.
fn structured(headers: &HeaderMap, time: &AnswerTime) -> Vec<StatedLimit> {
    let mut limits = Vec::new();
    let mut of_dictionary = StatedLimit::default();
    for member in all(headers, STRUCTURED.as_str()) {
        let mut parts = split(&member, ';').into_iter().map(|part| part.split_once('=').unwrap_or((part, "")));
        match parts.next() {
            Some(("remaining", value)) => of_dictionary.remaining = decimal(value),
            Some(("reset", value)) => of_dictionary.resets_at = time.reset(value),
            _ => {
                let parameter = |limit: StatedLimit, (name, value): (&str, &str)| match name.trim() {
                    "r" => StatedLimit { remaining: decimal(value), ..limit },
                    "t" => StatedLimit { resets_at: time.reset(value), ..limit },
                    _ => limit,
                };
                limits.push(parts.fold(StatedLimit::default(), parameter));
            }
        }
    }
    limits.push(of_dictionary);
    limits
}

/// The members of all headers of this name.
fn all(headers: &HeaderMap, name: &str) -> Vec<String> {
    let lines = headers.get_all(name).iter().map(|value| text(value.as_bytes()));
    lines.flat_map(|line| split(&line, ',').into_iter().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The trimmed parts between separators that are not within quotes.
fn split(value: &str, separator: char) -> Vec<&str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let is_separator = move |character: char| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match character {
            '\\' if is_quoted && !was_escaped => is_escaped = true,
            '"' if !was_escaped => is_quoted = !is_quoted,
            character => return character == separator && !is_quoted,
        }
        false
    };
    value.split(is_separator).map(str::trim).collect()
}

/// A number in digits, with an optional sign and fraction.
fn decimal(value: &str) -> Option<f64> {
    let value = value.trim();
    let is_plain = |byte: u8| byte.is_ascii_digit() || byte == b'.' || byte == b'-';
    let is_number = value.len() <= NUMBER_LENGTH_MAX && value.bytes().all(is_plain);
    value.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;
    use proptest::prelude::*;
    use rstest::rstest;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn found(lines: &[(&'static str, &str)]) -> Option<RateLimit> {
        let line = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap())
        };
        rate_limit(&lines.iter().map(line).collect(), NOW)
    }

    /// The limit that is reset after so many seconds.
    fn limit(is_used_up: bool, milliseconds: u64) -> Option<RateLimit> {
        Some(RateLimit { is_used_up, resets_at: NOW + Duration::from_millis(milliseconds) })
    }

    fn used_up(seconds: u64) -> Option<RateLimit> {
        limit(true, seconds * 1000)
    }

    #[rstest]
    #[case::version_7("limit=100, remaining=0, reset=50", used_up(50))]
    #[case::version_7_in_another_order("reset=50,remaining=0;a=b, limit=100;w=60", used_up(50))]
    #[case::version_7_with_some_left("limit=100, remaining=1, reset=50", None)]
    #[case::version_7_without_what_is_left("limit=100, reset=50", limit(false, 50_000))]
    #[case::version_7_without_a_reset("limit=100, remaining=0", None)]
    #[case::version_8("\"default\";r=0;t=30", used_up(30))]
    #[case::version_8_with_spaces("\"10-in-1min\"; r=0; t=30", used_up(30))]
    #[case::version_8_with_a_token("default;r=0;t=30;pk=:QUJD=:", used_up(30))]
    #[case::version_8_with_some_left("\"default\";r=5;t=30", None)]
    #[case::one_of_two("\"minute\";r=9;t=60, \"day\";r=0;t=4000", used_up(4000))]
    #[case::the_later_of_two("\"minute\";r=0;t=60, \"day\";r=0;t=4000", used_up(4000))]
    #[case::used_up_before_unstated("\"minute\";r=0;t=60, \"day\";t=4000", used_up(60))]
    #[case::quoted_separators("\"a;r=9,\\\"b\";r=0;t=30", used_up(30))]
    #[case::without_a_reset("\"default\";r=0", None)]
    #[case::policy_only("\"default\";q=100;w=60", None)]
    #[case::open_quote("\"default;r=0;t=30", None)]
    #[case::words("soon", None)]
    #[case::nothing("", None)]
    #[case::separators(",;,;=,", None)]
    #[case::no_wait("\"default\";r=0;t=0", None)]
    #[case::negative("\"default\";r=0;t=-30", None)]
    fn p38_the_header_of_the_drafts_is_read(#[case] value: &str, #[case] expected: Option<RateLimit>) {
        assert_eq!(found(&[("ratelimit", value)]), expected);
    }

    #[rstest]
    #[case::seconds("0", "413", used_up(413))]
    #[case::fractions("0.0", "413.5", limit(true, 413_500))]
    #[case::less_than_one("0.9", "413", used_up(413))]
    #[case::overdrawn("-3", "413", used_up(413))]
    #[case::some_left("1", "413", None)]
    #[case::unix_seconds("0", "1800000090", used_up(90))]
    #[case::unix_fractions("0", "1800000090.5", limit(true, 90_500))]
    #[case::unix_milliseconds("0", "1800000090250", limit(true, 90_250))]
    #[case::unix_time_that_has_passed("0", "1799999999", None)]
    #[case::microseconds("0", "1800000090250000", None)]
    #[case::rfc_3339("0", "2027-01-15T08:01:30.000Z", used_up(90))]
    #[case::http_date("0", "Fri, 15 Jan 2027 08:01:30 GMT", used_up(90))]
    #[case::two_limits("5, 0", "10, 20", used_up(20))]
    #[case::not_paired("0, 0", "10", None)]
    #[case::unreadable_remaining("lots", "413", limit(false, 413_000))]
    #[case::unreadable_reset("0", "soon", None)]
    #[case::exponent("0", "1e3", None)]
    #[case::infinity("0", "inf", None)]
    #[case::no_number("NaN", "NaN", None)]
    #[case::long("0", "999999999999999999999999999999999999999", None)]
    #[case::largest_wait("0", "999999999.5", limit(true, 999_999_999_500))]
    fn p38_a_pair_of_headers_is_read(
        #[case] remaining: &str,
        #[case] reset: &str,
        #[case] expected: Option<RateLimit>,
    ) {
        assert_eq!(found(&[("x-ratelimit-remaining", remaining), ("x-ratelimit-reset", reset)]), expected);
        assert_eq!(found(&[("ratelimit-remaining", remaining), ("ratelimit-reset", reset)]), expected);
    }

    #[rstest]
    #[case::date(&[("date", "Sun, 06 Nov 1994 08:00:00 GMT"), ("x-ratelimit-reset", "Sun, 06 Nov 1994 08:00:30 GMT")], 30)]
    #[case::unix(&[("date", "Fri, 15 Jan 2027 09:00:00 GMT"), ("x-ratelimit-reset", "1800003630")], 30)]
    #[case::age(&[("date", "Fri, 15 Jan 2027 07:59:00 GMT"), ("age", "40"), ("x-ratelimit-reset", "1800000000")], 20)]
    #[case::seconds_less_age(&[("age", "40"), ("x-ratelimit-reset", "100")], 60)]
    fn p38_an_absolute_reset_is_measured_against_the_answers_own_date(
        #[case] lines: &[(&'static str, &str)],
        #[case] seconds: u64,
    ) {
        let lines = [lines, &[("x-ratelimit-remaining", "0")]].concat();
        assert_eq!(found(&lines), used_up(seconds));
    }

    #[rstest]
    #[case::alone(&[("x-rate-limit-reset", "1800000060")], Some(60))]
    #[case::used_up(&[("x-rate-limit-remaining", "0"), ("x-rate-limit-reset", "1800000060")], Some(60))]
    #[case::some_left(&[("x-rate-limit-remaining", "1"), ("x-rate-limit-reset", "1800000060")], None)]
    #[case::the_day(&[
        ("x-rate-limit-remaining", "9"), ("x-rate-limit-reset", "1800000900"),
        ("x-user-limit-24hour-remaining", "0"), ("x-user-limit-24hour-reset", "1800000060"),
    ], Some(60))]
    fn p38_a_limit_of_one_endpoint_does_not_speak_for_its_host(
        #[case] lines: &[(&'static str, &str)],
        #[case] seconds: Option<u64>,
    ) {
        assert_eq!(found(lines), seconds.and_then(|seconds| limit(false, seconds * 1000)));
    }

    proptest! {
        #[test]
        fn p38_no_header_panics_and_every_reset_lies_ahead(
            name in prop::sample::select(vec!["ratelimit", "ratelimit-reset", "x-ratelimit-reset", "x-rate-limit-reset"]),
            value in prop_oneof![
                "[ -~]{0,60}",
                "[0-9.-]{1,40}",
                "\"?[a-z]{0,3}\"?(;[rt]=-?[0-9.]{0,22}){0,3}(, ?[a-z]{0,9}=[0-9]{0,22}){0,3}",
            ],
            remaining in prop_oneof!["[ -~]{0,9}", "-?[0-9.]{1,40}"],
            age in any::<u64>(),
            date in prop::option::of(any::<u32>()),
            now in any::<i64>().prop_map(Timestamp::from_micros),
        ) {
            let mut headers = HeaderMap::new();
            let value_of = |text: &str| HeaderValue::from_bytes(text.as_bytes()).unwrap();
            headers.append(name, value_of(&value));
            headers.append("x-ratelimit-remaining", value_of(&remaining));
            headers.append("ratelimit-remaining", value_of(&remaining));
            headers.append("age", value_of(&age.to_string()));
            if let Some(seconds) = date {
                let date = std::time::UNIX_EPOCH + Duration::from_secs(seconds.into());
                headers.append("date", value_of(&httpdate::fmt_http_date(date)));
            }
            if let Some(limit) = rate_limit(&headers, now) {
                prop_assert!(limit.resets_at > now);
            }
        }
    }
}
