//! Interprets response headers: validators, freshness, `Retry-After`. Pure; time is an argument.

use std::time::{Duration, SystemTime};

use hyper::HeaderMap;
use hyper::header::{AGE, CACHE_CONTROL, DATE, ETAG, EXPIRES, HeaderName, LAST_MODIFIED, RETRY_AFTER};

use crate::model::{Timestamp, Validators};

/// Freshness of a response, before any maximum is applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caching {
    /// The publisher's clock (`Date`).
    pub date: Option<Timestamp>,
    /// Time in caches (`Age`).
    pub age: Duration,
    /// `Cache-Control: max-age`.
    pub max_age: Option<Duration>,
    /// `Cache-Control: no-cache` or `no-store`: never fresh, whatever other headers say.
    pub no_cache: bool,
    /// `Expires`. An invalid date means "expired" (RFC 9111, 5.3) and reads as 1970.
    pub expires: Option<Timestamp>,
}

impl Caching {
    /// Reads the headers of an answer.
    pub(super) fn of(headers: &HeaderMap) -> Caching {
        let mut caching = Caching {
            date: first(headers, &DATE).and_then(|value| date(&value)),
            age: first(headers, &AGE).and_then(|value| seconds(&value)).unwrap_or_default(),
            expires: first(headers, &EXPIRES).map(|value| date(&value).unwrap_or(Timestamp::EPOCH)),
            ..Caching::default()
        };
        for value in headers.get_all(CACHE_CONTROL) {
            for directive in text(value.as_bytes()).split(',') {
                let (name, argument) = directive.split_once('=').unwrap_or((directive, ""));
                match name.trim().to_ascii_lowercase().as_str() {
                    "max-age" => caching.max_age = caching.max_age.or(seconds(argument.trim().trim_matches('"'))),
                    "no-cache" | "no-store" => caching.no_cache = true,
                    _ => {}
                }
            }
        }
        caching
    }

    /// How long the answer stays fresh from the moment it was given. `max-age` wins over `Expires`, which is measured
    /// against the publisher's own clock where that is known.
    pub fn fresh_for(&self, answered_at: Timestamp) -> Option<Duration> {
        if self.no_cache {
            return None;
        }
        let lifetime = match (self.max_age, self.expires) {
            (Some(max_age), _) => max_age,
            (None, Some(expires)) => expires.since(self.date.unwrap_or(answered_at)),
            (None, None) => return None,
        };
        Some(lifetime.saturating_sub(self.age)).filter(|left| !left.is_zero())
    }
}

/// `ETag` and `Last-Modified`, exactly as received.
pub(super) fn validators(headers: &HeaderMap) -> Validators {
    Validators { etag: first(headers, &ETAG), last_modified: first(headers, &LAST_MODIFIED) }
}

/// `Retry-After` as a time. A date is relative to the publisher's own clock.
pub(super) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Timestamp> {
    let value = first(headers, &RETRY_AFTER)?;
    if let Some(wait) = seconds(&value) {
        return Some(now + wait);
    }
    let moment = date(&value)?;
    Some(match first(headers, &DATE).and_then(|value| date(&value)) {
        Some(publishers_now) => now + moment.since(publishers_now),
        None => moment.max(now),
    })
}

/// A header's value with one character for each byte, so that it can be turned back into exactly these bytes.
pub(super) fn text(value: &[u8]) -> String {
    value.iter().map(|byte| char::from(*byte)).collect()
}

/// Inverse of [`text`]; none if the string is not its result.
pub(super) fn bytes(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect()
}

fn first(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).map(|value| text(value.as_bytes())).filter(|value| !value.is_empty())
}

/// A number too large to parse is the maximum (RFC 9111, 1.2.2).
fn seconds(value: &str) -> Option<Duration> {
    let digits = value.trim();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(Duration::from_secs(digits.parse().unwrap_or(u64::from(u32::MAX)).min(u64::from(u32::MAX))))
}

pub(super) fn date(value: &str) -> Option<Timestamp> {
    let moment = httpdate::parse_http_date(value.trim()).ok()?;
    Some(match moment.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(elapsed) => Timestamp::EPOCH + elapsed,
        Err(before) => Timestamp::EPOCH - before.duration(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;
    use rstest::rstest;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        lines
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap()))
            .collect()
    }

    fn now() -> Timestamp {
        "2026-11-16T08:00:00Z".parse().unwrap()
    }

    #[rstest]
    #[case(&[("cache-control", "max-age=3600")], Some(3600))]
    #[case(&[("cache-control", "public, Max-Age=\"60\"")], Some(60))]
    #[case(&[("cache-control", "max-age=3600"), ("age", "600")], Some(3000))]
    #[case(&[("cache-control", "max-age=3600"), ("age", "9000")], None)]
    #[case(&[("cache-control", "max-age=99999999999999999999")], Some(4294967295))]
    #[case(&[("cache-control", "max-age=-1")], None)]
    #[case(&[("cache-control", "max-age=soon")], None)]
    #[case(&[("cache-control", "no-cache, max-age=3600")], None)]
    #[case(&[("cache-control", "s-maxage=3600")], None)]
    #[case(&[], None)]
    fn p11_max_age_less_age_is_how_long_an_answer_is_fresh(
        #[case] lines: &[(&'static str, &str)],
        #[case] fresh_seconds: Option<u64>,
    ) {
        let caching = Caching::of(&headers(lines));
        assert_eq!(caching.fresh_for(now()), fresh_seconds.map(Duration::from_secs));
    }

    #[rstest]
    // Measured against the publisher's own clock, however wrong that is.
    #[case(&[("date", "Sun, 06 Nov 1994 08:00:00 GMT"), ("expires", "Sun, 06 Nov 1994 08:30:00 GMT")], Some(1800))]
    #[case(&[("expires", "Mon, 16 Nov 2026 09:00:00 GMT")], Some(3600))]
    #[case(&[("expires", "Mon, 16 Nov 2026 09:00:00 GMT"), ("cache-control", "max-age=10")], Some(10))]
    #[case(&[("expires", "0")], None)]
    #[case(&[("expires", "-1")], None)]
    #[case(&[("expires", "Mon, 16 Nov 2026 07:00:00 GMT")], None)]
    fn p12_expires_counts_only_without_max_age_and_an_invalid_one_means_already(
        #[case] lines: &[(&'static str, &str)],
        #[case] fresh_seconds: Option<u64>,
    ) {
        let caching = Caching::of(&headers(lines));
        assert_eq!(caching.fresh_for(now()), fresh_seconds.map(Duration::from_secs));
    }

    #[rstest]
    #[case(&[("retry-after", "120")], Some("2026-11-16T08:02:00Z"))]
    #[case(&[("retry-after", " 0 ")], Some("2026-11-16T08:00:00Z"))]
    #[case(&[("retry-after", "Mon, 16 Nov 2026 10:00:00 GMT")], Some("2026-11-16T10:00:00Z"))]
    #[case(&[("retry-after", "Monday, 16-Nov-26 10:00:00 GMT")], Some("2026-11-16T10:00:00Z"))]
    #[case(&[("retry-after", "Mon, 16 Nov 2026 10:00:00 GMT"), ("date", "Mon, 16 Nov 2026 09:59:00 GMT")], Some("2026-11-16T08:01:00Z"))]
    #[case(&[("retry-after", "Mon, 16 Nov 2026 07:00:00 GMT")], Some("2026-11-16T08:00:00Z"))]
    #[case(&[("retry-after", "later")], None)]
    #[case(&[("retry-after", "-5")], None)]
    #[case(&[], None)]
    fn p15_retry_after_is_read_as_seconds_or_as_a_date_by_the_publishers_clock(
        #[case] lines: &[(&'static str, &str)],
        #[case] moment: Option<&str>,
    ) {
        assert_eq!(retry_after(&headers(lines), now()), moment.map(|moment| moment.parse().unwrap()));
    }

    #[test]
    fn p01_any_byte_of_a_validator_survives_being_a_text() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(bytes(&text(&all)).unwrap(), all);
        assert_eq!(bytes("日"), None);
    }
}
