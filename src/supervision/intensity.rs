//! Limits on restarts, and the delays before them. Pure.

use std::collections::VecDeque;
use std::time::Duration;

/// Limits on restarts, for a supervisor or for each child of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intensity {
    /// The most restarts within the window. One more crash is a failure of the supervisor itself.
    pub restarts_max: u32,
    /// Length of the window.
    pub within: Duration,
    /// The wait before the first restart; it doubles with every further crash of the same child in the window.
    pub delay_first: Duration,
    /// The longest wait.
    pub delay_max: Duration,
    /// Random part of a wait, from 0 to 1.
    pub jitter: f64,
}

impl Default for Intensity {
    fn default() -> Intensity {
        Intensity {
            restarts_max: 5,
            within: Duration::from_secs(60),
            delay_first: Duration::from_millis(100),
            delay_max: Duration::from_secs(30),
            jitter: 0.2,
        }
    }
}

impl Intensity {
    /// The wait after the `nth` crash in the window; `roll` is from 0 up to 1 and only ever shortens it.
    pub fn delay(&self, nth: u32, roll: f64) -> Duration {
        let doublings = nth.saturating_sub(1);
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        let whole = self.delay_first.saturating_mul(factor).min(self.delay_max);
        whole.mul_f64((1.0 - self.jitter * roll).clamp(0.0, 1.0))
    }
}

/// Times of the crashes within the window, at most one more than the limit.
#[derive(Debug, Default)]
pub(super) struct CrashTimes(VecDeque<Duration>);

impl CrashTimes {
    /// Adds a crash and counts those in the window.
    pub(super) fn add(&mut self, now: Duration, intensity: &Intensity) -> u32 {
        // Times in the future were noted before the clock was set back: their age is unknown, so they are dropped.
        self.0.retain(|at| *at <= now && now - *at < intensity.within);
        if self.0.len() > intensity.restarts_max as usize {
            self.0.pop_front();
        }
        self.0.push_back(now);
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn crashes_are_counted_within_the_window_only() {
        let intensity = Intensity { restarts_max: 3, within: 10 * SECOND, ..Intensity::default() };
        let mut history = CrashTimes::default();
        let mut at = |seconds: u32| history.add(seconds * SECOND, &intensity);
        assert_eq!([at(100), at(101), at(102), at(103)], [1, 2, 3, 4]);
        // The window is full and stays at one more than is borne.
        assert_eq!(at(104), 4);
        // At 112 those of 103 and 104 are left; at 114 that of 104 is exactly as old as the window and falls out.
        assert_eq!([at(112), at(114)], [3, 2]);
    }

    #[test]
    fn a_clock_that_is_set_back_forgets_instead_of_giving_up() {
        let intensity = Intensity::default();
        let mut history = CrashTimes::default();
        for _ in 0..5 {
            history.add(1_000 * SECOND, &intensity);
        }
        assert_eq!(history.add(10 * SECOND, &intensity), 1);
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let intensity = Intensity { delay_first: SECOND, delay_max: 10 * SECOND, jitter: 0.5, ..Intensity::default() };
        let waits = [1, 2, 3, 4, 5, 40].map(|nth| intensity.delay(nth, 0.0).as_secs());
        assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
        assert_eq!(intensity.delay(3, 0.5), 3 * SECOND);
    }

    proptest! {
        #[test]
        fn a_wait_is_never_longer_than_allowed_nor_shorter_than_the_dice_may_make_it(
            nth in 0_u32..100, roll in 0.0..1.0_f64, first in 0_u64..100_000, longest in 0_u64..100_000, jitter in 0.0..=1.0_f64,
        ) {
            let intensity = Intensity {
                delay_first: Duration::from_millis(first),
                delay_max: Duration::from_millis(longest),
                jitter,
                ..Intensity::default()
            };
            let delay = intensity.delay(nth, roll);
            prop_assert!(delay <= intensity.delay_max);
            let least = intensity.delay_first.min(intensity.delay_max).mul_f64(1.0 - jitter);
            prop_assert!(delay + Duration::from_nanos(1) >= least, "{delay:?} {least:?}");
        }
    }
}
