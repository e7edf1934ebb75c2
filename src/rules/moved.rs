//! When a permanent redirect changes the URL of a source. Publishers redirect by mistake, and a stored mistake loses
//! the source (p22).

use std::fmt;

use url::Url;

use crate::model::{Moved, Timestamp};

/// Longer targets are ignored.
const URL_BYTES_MAX: usize = 8 * 1024;

const DAY_SECONDS: i64 = 86_400;

/// Decision about the redirects of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MovedDecision {
    /// Redirect to store with the source.
    pub moved: Option<Moved>,
    /// New URL of the source, once the redirect is believed.
    pub believed: Option<String>,
}

/// Decides about an answer that came with or without permanent redirects. Not for failed polls.
///
/// A target counts once on each UTC day; another target, or an answer without a redirect, starts over.
pub fn after(
    state: Option<&Moved>,
    moved_to: Option<&str>,
    own_url: &str,
    now: Timestamp,
    days_needed: u32,
) -> MovedDecision {
    let elsewhere = |to: &&str| to.len() <= URL_BYTES_MAX && requested_url(to) != requested_url(own_url);
    let Some(to) = moved_to.filter(elsewhere) else { return MovedDecision::default() };
    let moved = match state.filter(|moved| moved.to == to) {
        Some(moved) if day(now) > day(moved.last_at) => {
            Moved { days: moved.days.saturating_add(1), last_at: now, ..moved.clone() }
        }
        // After a clock that was ahead the next day counts again.
        Some(moved) => Moved { last_at: moved.last_at.min(now), ..moved.clone() },
        None => Moved { to: to.to_owned(), days: 1, last_at: now },
    };
    if moved.days >= days_needed {
        return MovedDecision { moved: None, believed: Some(moved.to) };
    }
    MovedDecision { moved: Some(moved), believed: None }
}

/// The URL without login and fragment.
fn requested_url(url: &str) -> Result<Url, &str> {
    let mut requested = Url::parse(url).map_err(|_| url)?;
    requested.set_fragment(None);
    // This fails only for a URL without a host, which has no login.
    let _ = requested.set_username("").and_then(|()| requested.set_password(None));
    Ok(requested)
}

fn day(moment: Timestamp) -> i64 {
    moment.as_seconds().div_euclid(DAY_SECONDS)
}

impl fmt::Display for MovedDecision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.believed, &self.moved) {
            (Some(to), _) => write!(formatter, "moved for good to {to}"),
            (None, Some(Moved { to, days, .. })) => {
                write!(formatter, "permanent redirects lead to {to}, days so far: {days}")
            }
            (None, None) => write!(formatter, "it is where it was"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::hours;
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Eight in the morning.
    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
    const OWN: &str = "http://a.example/feed";
    const NEW: &str = "https://b.example/feed";

    /// Answers, each so many hours from now, and the decision after the last of them.
    fn check(answers: &[(u32, Option<&str>)], days: u32, believed: bool) {
        let mut decision = MovedDecision::default();
        for (after_hours, to) in answers {
            decision = after(decision.moved.as_ref(), *to, OWN, NOW + hours(*after_hours), 3);
        }
        assert_eq!(decision.moved.map_or(0, |moved| moved.days), days, "{answers:?}");
        assert_eq!(decision.believed.is_some(), believed, "{answers:?}");
    }

    #[test]
    fn p22_three_days_are_believed_and_no_fewer() {
        check(&[(0, Some(NEW))], 1, false);
        check(&[(0, Some(NEW)), (24, Some(NEW))], 2, false);
        check(&[(0, Some(NEW)), (24, Some(NEW)), (48, Some(NEW))], 0, true);
        check(&[(0, Some(NEW)), (99, Some(NEW)), (999, Some(NEW))], 0, true);
    }

    #[test]
    fn p22_a_day_counts_once_and_ends_at_midnight_in_universal_time() {
        check(&[(0, Some(NEW)), (1, Some(NEW)), (15, Some(NEW))], 1, false);
        check(&[(15, Some(NEW)), (16, Some(NEW))], 2, false);
    }

    #[test]
    fn p22_another_target_or_an_answer_without_a_redirect_starts_over() {
        check(&[(0, Some(NEW)), (24, Some(NEW)), (48, Some("https://c.example/feed"))], 1, false);
        check(&[(0, Some(NEW)), (24, Some(NEW)), (48, None)], 0, false);
        check(&[(0, Some(NEW)), (24, Some(NEW)), (48, None), (72, Some(NEW))], 1, false);
    }

    #[test]
    fn a_redirect_to_its_own_place_is_no_move() {
        for (own, to) in [
            ("http://a.example", "http://a.example/"),
            ("http://ada:secret@a.example/feed#top", "http://a.example/feed"),
            ("HTTP://A.example:80/feed", "http://a.example/feed"),
            ("not a url", "not a url"),
        ] {
            assert_eq!(after(None, Some(to), own, NOW, 1), MovedDecision::default(), "{own}");
        }
    }

    #[test]
    fn an_endless_target_is_no_address() {
        let long = format!("http://b.example/{}", "x".repeat(URL_BYTES_MAX));
        assert_eq!(after(None, Some(&long), OWN, NOW, 1), MovedDecision::default());
    }

    #[test]
    fn a_clock_that_was_ahead_neither_counts_nor_stops_the_count() {
        let ahead = Moved { to: NEW.into(), days: 1, last_at: NOW + hours(9_999) };
        let today = after(Some(&ahead), Some(NEW), OWN, NOW, 3).moved.unwrap();
        assert_eq!(today, Moved { last_at: NOW, ..ahead });
        assert_eq!(after(Some(&today), Some(NEW), OWN, NOW + hours(24), 3).moved.unwrap().days, 2);
    }

    #[test]
    fn decisions_are_told_in_words() {
        let first = after(None, Some(NEW), OWN, NOW, 2);
        assert_eq!(first.to_string(), "permanent redirects lead to https://b.example/feed, days so far: 1");
        let second = after(first.moved.as_ref(), Some(NEW), OWN, NOW + hours(24), 2);
        assert_eq!(second.to_string(), "moved for good to https://b.example/feed");
        assert_eq!(MovedDecision::default().to_string(), "it is where it was");
    }

    proptest! {
        #[test]
        fn p22_belief_needs_that_many_answers_on_that_many_days(
            answers in vec((0u64..100_000, prop::bool::weighted(0.9)), 0..40),
            days_needed in 1u32..5,
        ) {
            let (mut state, mut now, mut seen) = (None, NOW, std::collections::BTreeSet::new());
            for (seconds, redirected) in answers {
                now = now + Duration::from_secs(seconds);
                let decision = after(state.as_ref(), redirected.then_some(NEW), OWN, now, days_needed);
                if redirected { seen.insert(day(now)); } else { seen.clear(); }
                prop_assert_eq!(decision.believed.is_some(), seen.len() >= days_needed as usize);
                if decision.believed.is_some() { seen.clear(); }
                prop_assert_eq!(decision.moved.as_ref().map_or(0, |moved| moved.days as usize), seen.len());
                state = decision.moved;
            }
        }
    }
}
