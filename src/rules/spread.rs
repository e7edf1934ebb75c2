//! Spreads sources that are freed together over time (p19, p33).

use std::time::Duration;

use crate::model::Timestamp;

use super::jitter::share;

/// New due time of a source that is freed at this moment: within the window, and not before its own due time. The roll
/// is clamped to 0..1.
pub fn spread(freed_at: Timestamp, due_at: Timestamp, window: Duration, roll: f64) -> Timestamp {
    due_at.max(freed_at + share(window, roll))
}

#[cfg(test)]
mod tests {
    use super::super::minutes;
    use super::*;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    #[test]
    fn p33_the_roll_decides_where_in_the_window() {
        for (roll, after) in [(0.0, 0), (0.5, 5), (1.0, 10), (7.0, 10), (-1.0, 0), (f64::NAN, 0)] {
            assert_eq!(spread(NOW, NOW - minutes(60), minutes(10), roll), NOW + minutes(after), "{roll}");
        }
    }

    #[test]
    fn p19_what_is_due_later_comes_when_it_is_due() {
        assert_eq!(spread(NOW, NOW + minutes(30), minutes(10), 0.9), NOW + minutes(30));
        assert_eq!(spread(NOW, NOW + minutes(3), minutes(10), 0.9), NOW + minutes(9));
    }

    #[test]
    fn without_a_window_all_sources_come_at_once() {
        assert_eq!(spread(NOW, NOW - minutes(1), Duration::ZERO, 0.9), NOW);
    }

    proptest! {
        #[test]
        fn p19_never_before_either_and_never_later_than_the_window_or_the_due_time(
            freed in any::<i64>(), due in any::<i64>(), seconds in 0u64..100_000, roll in any::<f64>(),
        ) {
            let (freed, due) = (Timestamp::from_micros(freed), Timestamp::from_micros(due));
            let window = Duration::from_secs(seconds);
            let at = spread(freed, due, window, roll);
            prop_assert!(at >= freed && at >= due);
            prop_assert!(at <= due.max(freed + window));
        }
    }
}
