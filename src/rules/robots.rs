//! Which `robots.txt` governs a URL, and for how long. `parse` reads its rules.

use std::time::Duration;

use url::Url;

use crate::model::{RobotsRecord, Timestamp};

use super::host_key::host_key;
use super::hours;

/// The longest time that a stored `robots.txt` is used (RFC 9309, p29).
pub const AGE_MAX: Duration = hours(24);

/// Origin of a URL in canonical form: scheme, host, and the port if it is not the default. None for a URL that is no
/// web page.
pub fn origin(url: &str) -> Option<String> {
    let parsed = Url::parse(url).ok().filter(|parsed| matches!(parsed.scheme(), "http" | "https"))?;
    // A host without a key can neither get requests nor be stored.
    let host = host_key(url)?;
    let port = parsed.port().map_or_else(String::new, |port| format!(":{port}"));
    Some(format!("{}://{host}{port}", parsed.scheme()))
}

/// Whether a `robots.txt` has to be requested again. One from the future was stored by a clock that was ahead, so its
/// age is unknown.
pub fn is_stale(record: &RobotsRecord, now: Timestamp, age_max: Duration) -> bool {
    record.fetched_at > now || now.since(record.fetched_at) >= age_max
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(url: &str, expected: Option<&str>) {
        assert_eq!(origin(url).as_deref(), expected, "{url}");
    }

    #[test]
    fn p29_an_origin_is_scheme_host_and_port() {
        check("https://a.example/path?query#fragment", Some("https://a.example"));
        check("HTTP://ada:secret@A.example:80/", Some("http://a.example"));
        check("https://a.example:443", Some("https://a.example"));
        check("http://a.example:443/", Some("http://a.example:443"));
        check("https://a.example.:8443/", Some("https://a.example:8443"));
        check("https://m\u{fc}nchen.example/", Some("https://xn--mnchen-3ya.example"));
        check("http://[2001:DB8::1]:8080/", Some("http://[2001:db8::1]:8080"));
    }

    #[test]
    fn p29_what_is_no_page_has_no_origin() {
        for url in ["", "a.example/feed", "ftp://a.example/", "mailto:ada@a.example", "data:,x", "http://"] {
            check(url, None);
        }
        check(&format!("http://{}example/", "abcdefg.".repeat(40)), None);
    }

    #[test]
    fn p29_a_day_is_the_end_of_its_word() {
        let now = Timestamp::from_seconds(1_800_000_000);
        let second = Duration::from_secs(1);
        for (fetched_at, stale) in [
            (now, false),
            (now - AGE_MAX + second, false),
            (now - AGE_MAX, true),
            (Timestamp::MIN, true),
            (now + second, true),
            (Timestamp::MAX, true),
        ] {
            let record = RobotsRecord { origin: "https://a.example".into(), fetched_at, rules: None };
            assert_eq!(is_stale(&record, now, AGE_MAX), stale, "{fetched_at}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_it_and_an_origin_is_its_own(url in ".*") {
            if let Some(found) = origin(&url) {
                prop_assert_eq!(origin(&found), Some(found));
            }
        }
    }
}
