//! What a feed says about when to come back: `ttl`, `skipHours`, `skipDays`, `sy:updatePeriod`.

/// What was said so far.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    ttl_minutes: Option<u32>,
    period_minutes: Option<u32>,
    frequency: Option<u32>,
    /// Bit 0 is midnight, in universal time.
    pub(super) skip_hours: u32,
    /// Bit 0 is Monday.
    pub(super) skip_days: u8,
}

impl Schedule {
    /// `<ttl>60</ttl>`, in minutes.
    pub(super) fn ttl(&mut self, text: &str) {
        self.ttl_minutes = number(text).or(self.ttl_minutes);
    }

    /// `<sy:updatePeriod>hourly</sy:updatePeriod>`.
    pub(super) fn period(&mut self, text: &str) {
        let minutes = match text.trim().to_ascii_lowercase().as_str() {
            "hourly" => 60,
            "daily" => 24 * 60,
            "weekly" => 7 * 24 * 60,
            "monthly" => 30 * 24 * 60,
            "yearly" => 365 * 24 * 60,
            _ => return,
        };
        self.period_minutes = Some(minutes);
    }

    /// `<sy:updateFrequency>2</sy:updateFrequency>`: so many times in the period.
    pub(super) fn frequency(&mut self, text: &str) {
        self.frequency = number(text).or(self.frequency);
    }

    /// `<hour>4</hour>`. RSS 0.91 counts from 1 to 24, all others from 0 to 23: 24 is midnight in any case.
    pub(super) fn hour(&mut self, text: &str) {
        if let Some(hour) = text.trim().parse::<u32>().ok().filter(|hour| *hour <= 24) {
            self.skip_hours |= 1 << (hour % 24);
        }
    }

    /// `<day>Saturday</day>`.
    pub(super) fn day(&mut self, text: &str) {
        const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
        let day = text.trim().to_ascii_lowercase();
        if let Some(index) = DAYS.iter().position(|name| day.starts_with(name)) {
            self.skip_days |= 1 << index;
        }
    }

    /// The shortest time between two changes: of two statements the longer one, so that neither is broken.
    pub(super) fn update_period_minutes(&self) -> Option<u32> {
        let syndication = self.period_minutes.map(|period| (period / self.frequency.unwrap_or(1)).max(1));
        self.ttl_minutes.max(syndication)
    }
}

/// A positive number; a fraction is cut off, zero says nothing.
fn number(text: &str) -> Option<u32> {
    let text = text.trim();
    let whole = text.split(['.', ',']).next()?;
    whole.parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_of_two_periods_holds() {
        let mut schedule = Schedule::default();
        assert_eq!(schedule.update_period_minutes(), None);
        schedule.period("Daily");
        schedule.frequency("4");
        assert_eq!(schedule.update_period_minutes(), Some(360));
        schedule.ttl("60");
        assert_eq!(schedule.update_period_minutes(), Some(360));
        schedule.ttl("720.0");
        assert_eq!(schedule.update_period_minutes(), Some(720));
    }

    #[test]
    fn nonsense_says_nothing() {
        let mut schedule = Schedule::default();
        schedule.period("sometimes");
        schedule.ttl("0");
        schedule.ttl("-5");
        schedule.ttl("soon");
        schedule.hour("25");
        schedule.day("Caturday");
        assert_eq!((schedule.update_period_minutes(), schedule.skip_hours, schedule.skip_days), (None, 0, 0));
        schedule.period("hourly");
        schedule.frequency("9999");
        assert_eq!(schedule.update_period_minutes(), Some(1));
    }

    #[test]
    fn hours_and_days_become_bits() {
        let mut schedule = Schedule::default();
        schedule.hour("24");
        schedule.hour(" 3 ");
        schedule.day("Monday");
        schedule.day("SUN");
        assert_eq!((schedule.skip_hours, schedule.skip_days), (0b1001, 0b100_0001));
    }
}
