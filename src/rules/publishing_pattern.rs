//! Weekdays and hours at which a source publishes, where they are clear: multipliers of its rate whose mean is 1.

use crate::model::{PublishingCounts, Timestamp};

/// Days after which 1/e of a count is left. Longer than for the rate: habits change less.
const FADE_DAYS: f64 = 42.0;
/// Hours with entries that each value of a pattern gets beside those that were counted.
const PRIOR: f64 = 1.0;
/// The least hours with entries, and the chi-squared that equal values exceed once in a thousand times.
const WEEKDAYS_CLEAR: Clear = Clear { counted_min: 14.0, chi_squared: 22.46 };
const HOURS_CLEAR: Clear = Clear { counted_min: 16.0, chi_squared: 49.73 };

/// When a pattern is clear.
struct Clear {
    counted_min: f64,
    chi_squared: f64,
}

/// Square roots of the multipliers.
#[derive(Clone, Debug, PartialEq)]
pub struct WeekPattern {
    /// Monday first.
    weekdays: [f32; 7],
    /// Of the day, in universal time.
    hours: [f32; 24],
}

impl WeekPattern {
    /// The pattern of these counts; none if neither weekdays nor hours are clear.
    pub(super) fn of(counts: &PublishingCounts) -> Option<WeekPattern> {
        let (weekdays, hours) = (roots(&counts.weekdays, &WEEKDAYS_CLEAR), roots(&counts.hours, &HOURS_CLEAR));
        (weekdays.is_some() || hours.is_some())
            .then(|| WeekPattern { weekdays: weekdays.unwrap_or([1.0; 7]), hours: hours.unwrap_or([1.0; 24]) })
    }

    /// Counts an hour with an entry. Several entries of an hour are one event: a burst is no habit.
    pub(super) fn count(counts: &mut PublishingCounts, at: Timestamp) {
        let (day, hour) = place(at.as_seconds().div_euclid(3600));
        for count in [&mut counts.weekdays[day], &mut counts.hours[hour]] {
            *count = count.saturating_add(PublishingCounts::UNIT);
        }
    }

    /// Lets the counts fade up to this time, by whole days: less would be lost in rounding.
    pub(super) fn fade(counts: &mut PublishingCounts, at: Timestamp) {
        let day = |at: Timestamp| at.as_seconds().div_euclid(86_400);
        let days = day(at) - day(counts.counted_at);
        if days > 0 {
            let left = (-(days as f64) / FADE_DAYS).exp();
            for count in counts.weekdays.iter_mut().chain(&mut counts.hours) {
                *count = (f64::from(*count) * left).round() as u16;
            }
        }
    }

    pub(super) fn mean_root(&self) -> f64 {
        mean(&self.weekdays) * mean(&self.hours)
    }

    pub(super) fn root_in(&self, hour: i64) -> f64 {
        let (day, hour) = place(hour);
        f64::from(self.weekdays[day]) * f64::from(self.hours[hour])
    }
}

/// The day of the week and the hour of the day of an hour since 1970.
fn place(hour: i64) -> (usize, usize) {
    // 1970 began on a Thursday.
    let day = (hour.div_euclid(24) + 3).rem_euclid(7);
    (day as usize, hour.rem_euclid(24) as usize)
}

/// The square roots of the multipliers, if they are clear.
fn roots<const N: usize>(counts: &[u16; N], clear: &Clear) -> Option<[f32; N]> {
    let total = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / f64::from(PublishingCounts::UNIT);
    if total < clear.counted_min {
        return None;
    }
    let expected = total / N as f64;
    let counted = counts.map(|count| f64::from(count) / f64::from(PublishingCounts::UNIT));
    let chi_squared = counted.iter().map(|count| (count - expected).powi(2) / expected).sum::<f64>();
    (chi_squared > clear.chi_squared).then(|| counted.map(|count| ((count + PRIOR) / (expected + PRIOR)).sqrt() as f32))
}

fn mean(values: &[f32]) -> f64 {
    values.iter().map(|value| f64::from(*value)).sum::<f64>() / values.len() as f64
}
