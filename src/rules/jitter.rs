//! Spreads the first polls of sources that have never been polled over one interval.

use std::time::Duration;

use crate::model::{SourceState, Timestamp};

/// Whether a source that exists at the start gets jitter: it was never polled, and no poll is requested.
pub fn wants_jitter(state: &SourceState) -> bool {
    state.first_polled_at.is_none() && state.last_polled.is_none() && state.poll_requested_at.is_none()
}

/// The moment to store as `last_polled`, so that the ordinary rule makes the source due somewhere in the coming
/// interval. The roll is clamped to 0..1.
pub fn jittered_last_polled(now: Timestamp, interval: Duration, roll: f64) -> Timestamp {
    now - share(interval, roll)
}

/// The share of a time span that a roll stands for, never more than the whole.
pub(super) fn share(span: Duration, roll: f64) -> Duration {
    let share = if roll.is_finite() { roll.clamp(0.0, 1.0) } else { 0.0 };
    span.mul_f64(share).min(span)
}

#[cfg(test)]
mod tests {
    use super::super::{Policy, due, minutes};
    use super::*;
    use crate::model::{NewSource, Source, SourceId, SourceSettings, SourceType};
    use proptest::prelude::*;

    #[test]
    fn s507_jitter_moves_the_first_poll_into_the_coming_interval() {
        let now = Timestamp::from_seconds(1_000_000);
        for (roll, minutes_ago) in [(0.0, 0), (0.25, 15), (0.5, 30), (1.0, 60)] {
            assert_eq!(jittered_last_polled(now, minutes(60), roll), now - minutes(minutes_ago));
        }
    }

    #[test]
    fn s507_a_restart_does_not_jitter_again() {
        let mut state = SourceState::default();
        assert!(wants_jitter(&state));
        state.last_polled = Some(jittered_last_polled(Timestamp::EPOCH, minutes(60), 0.3));
        assert!(!wants_jitter(&state));
    }

    #[test]
    fn s508_a_source_that_a_person_waits_for_gets_no_jitter() {
        let state = SourceState { poll_requested_at: Some(Timestamp::EPOCH), ..SourceState::default() };
        assert!(!wants_jitter(&state));
    }

    proptest! {
        #[test]
        fn p19_any_roll_is_due_between_now_and_one_interval_from_now(roll in any::<f64>(), seconds in 1u64..100_000_000) {
            let now = Timestamp::from_seconds(1_800_000_000);
            let interval = Duration::from_secs(seconds);
            let mut source = Source::fresh(SourceId(1), NewSource {
                settings: SourceSettings::new(SourceType::Rss, "http://a.example/"),
                created_at: now,
            });
            source.state.last_polled = Some(jittered_last_polled(now, interval, roll));
            let policy = Policy { interval, adaptive: None, ..Policy::default() };
            let at = due::next_poll(&source, None, &policy, now).at().unwrap();
            prop_assert!(at >= now && at <= now + interval, "{at}");
        }
    }
}
