//! Whether the time is right enough to judge ages by: to remove what is old, and to leave out what is too old.
//!
//! Both lose data for good if the clock is ahead. So ages are judged by a time that goes with the monotonic clock, from
//! the newest time that is known to have been right. A time that is further ahead is not trusted until it is confirmed:
//! by the clocks of publishers (`Date`), or by a day without objection. What publishers said before a step of the clock
//! counts, too: a step to the time that they have is no reason for doubt. A clock that is behind only removes later, so
//! ages follow it at once; but it is not trusted either, and does not replace the newest known time.

use std::fmt;
use std::time::Duration;

use crate::model::{HostKey, Timestamp};

use super::hours;

/// A time that is ahead by no more than this is trusted: a downtime, or a clock that was corrected.
const AHEAD_MAX: Duration = hours(24);
/// A publisher's clock that differs by no more than this agrees: as much as is trusted without one. With less, a clock
/// that is trusted while it runs on would not be after a restart.
const AGREES_WITHIN: Duration = AHEAD_MAX;
/// Publishers that have to agree, unless fewer are polled.
const WITNESSES: usize = 2;
/// The most publishers whose clocks are remembered, the latest ones.
const WITNESSES_MAX: usize = 8;
/// Without objection, a time is trusted after this long.
const UNOPPOSED: Duration = hours(24);

/// The time that ages are judged by, and what is known about the present time.
#[derive(Clone, Debug)]
pub struct TimeTrust {
    /// A time that was trusted, and the monotonic time of that moment.
    known: KnownTime,
    /// Monotonic time since which the present time is far from the known one.
    doubted_since: Option<Duration>,
    /// The clocks of hosts; the latest last.
    witnesses: Vec<(HostKey, KnownTime)>,
    /// Number of hosts that have to agree.
    witnesses_needed: usize,
}

/// A time, and the monotonic time at which it was.
#[derive(Clone, Copy, Debug)]
struct KnownTime {
    time: Timestamp,
    monotonic: Duration,
}

/// Loss or return of trust. Each has one log record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustStep {
    /// The time is ahead by this much of what is known.
    Lost {
        ahead: Duration,
    },
    /// The time is behind by this much.
    Behind {
        behind: Duration,
    },
    Regained(Confirmation),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// The clocks of this many publishers agree.
    Publishers(usize),
    /// A day has passed and no publisher's clock objected.
    Unopposed,
    /// The clock was set right.
    Corrected,
}

impl KnownTime {
    /// What this time has become.
    fn at(self, monotonic: Duration) -> Timestamp {
        self.time + monotonic.saturating_sub(self.monotonic)
    }
}

impl TimeTrust {
    /// Trust at the start of a process, if the store knows this time as the newest one that was trusted.
    pub fn new(newest_stored: Option<Timestamp>, now: Timestamp, monotonic: Duration) -> TimeTrust {
        TimeTrust {
            known: KnownTime { time: newest_stored.unwrap_or(now), monotonic },
            doubted_since: None,
            witnesses: Vec::new(),
            witnesses_needed: WITNESSES,
        }
    }

    /// The time to judge ages by: the present time, or the one that it should be if the present one is ahead of that.
    pub fn ages_at(&self, now: Timestamp, monotonic: Duration) -> Timestamp {
        let expected = self.known.at(monotonic);
        if now > expected + AHEAD_MAX { expected } else { now }
    }

    /// The newest time that is trusted, for the store: the present one, unless it is far ahead of what it should be, or
    /// behind that while publishers do not agree with it.
    pub fn newest_trusted(&self, now: Timestamp, monotonic: Duration) -> Timestamp {
        let expected = self.known.at(monotonic);
        if now < expected && !self.is_confirmed(now, monotonic) { expected } else { self.ages_at(now, monotonic) }
    }

    pub fn is_lost(&self, now: Timestamp, monotonic: Duration) -> bool {
        self.ages_at(now, monotonic) != now
    }

    /// Checks the present time. Called at each tick and after a step of the clock.
    pub fn check(&mut self, now: Timestamp, monotonic: Duration) -> Option<TrustStep> {
        let expected = self.known.at(monotonic);
        if now <= expected + AHEAD_MAX && expected <= now + AHEAD_MAX {
            let was_doubted = self.doubted_since.take().is_some();
            return was_doubted.then_some(TrustStep::Regained(Confirmation::Corrected));
        }
        if self.is_confirmed(now, monotonic) {
            return self.confirm_by_publishers(now, monotonic);
        }
        let Some(since) = self.doubted_since else {
            self.doubted_since = Some(monotonic);
            return Some(match now > expected {
                true => TrustStep::Lost { ahead: now.since(expected) },
                false => TrustStep::Behind { behind: expected.since(now) },
            });
        };
        let (agreeing, opposed) = self.count(now, monotonic);
        let is_over = monotonic.saturating_sub(since) >= UNOPPOSED && opposed <= agreeing;
        is_over.then(|| self.confirm(now, monotonic, Confirmation::Unopposed))
    }

    /// Notes the clock of a publisher, which may end a doubt.
    pub fn hear(
        &mut self,
        host: &HostKey,
        date: Timestamp,
        hosts_polled: usize,
        now: Timestamp,
        monotonic: Duration,
    ) -> Option<TrustStep> {
        self.witnesses.retain(|(known, _)| known != host);
        if self.witnesses.len() >= WITNESSES_MAX {
            self.witnesses.remove(0);
        }
        self.witnesses.push((host.clone(), KnownTime { time: date, monotonic }));
        self.witnesses_needed = WITNESSES.min(hosts_polled.max(1));
        (self.doubted_since.is_some() && self.is_confirmed(now, monotonic))
            .then(|| self.confirm_by_publishers(now, monotonic))
            .flatten()
    }

    fn is_confirmed(&self, now: Timestamp, monotonic: Duration) -> bool {
        let (agreeing, opposed) = self.count(now, monotonic);
        agreeing >= self.witnesses_needed && agreeing > opposed
    }

    /// Numbers of publishers whose clocks agree with this time and do not.
    fn count(&self, now: Timestamp, monotonic: Duration) -> (usize, usize) {
        let agrees = |time: Timestamp| time.since(now).max(now.since(time)) <= AGREES_WITHIN;
        let agreeing = self.witnesses.iter().filter(|(_, clock)| agrees(clock.at(monotonic))).count();
        (agreeing, self.witnesses.len() - agreeing)
    }

    /// None if the time was not in doubt.
    fn confirm_by_publishers(&mut self, now: Timestamp, monotonic: Duration) -> Option<TrustStep> {
        let (agreeing, _) = self.count(now, monotonic);
        let was_doubted = self.doubted_since.is_some();
        let step = self.confirm(now, monotonic, Confirmation::Publishers(agreeing));
        was_doubted.then_some(step)
    }

    fn confirm(&mut self, now: Timestamp, monotonic: Duration, by: Confirmation) -> TrustStep {
        (self.known, self.doubted_since) = (KnownTime { time: now, monotonic }, None);
        TrustStep::Regained(by)
    }
}

impl fmt::Display for TrustStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrustStep::Lost { ahead } => write!(
                formatter,
                "the clock is {} h ahead of the newest stored time: ages are judged by the time that it should be, \
                 until publishers' clocks agree or a day has passed without objection",
                ahead.as_secs() / 3600
            ),
            TrustStep::Behind { behind } => write!(
                formatter,
                "the clock is {} h behind the newest stored time: old posts are removed later, until it is set right, \
                 publishers' clocks agree or a day has passed without objection",
                behind.as_secs() / 3600
            ),
            TrustStep::Regained(Confirmation::Publishers(count)) => {
                write!(formatter, "the clocks of {count} publishers agree")
            }
            TrustStep::Regained(Confirmation::Unopposed) => {
                write!(formatter, "a day has passed, and no publisher's clock objected")
            }
            TrustStep::Regained(Confirmation::Corrected) => write!(formatter, "the clock was set right"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
    const DAYS_30: Duration = hours(30 * 24);

    fn host(number: usize) -> HostKey {
        HostKey::from_canonical(&format!("{number}.example"))
    }

    /// A clock that jumped ahead by thirty days, at the monotonic time zero.
    fn jumped() -> (TimeTrust, Timestamp) {
        let mut trust = TimeTrust::new(None, NOW, Duration::ZERO);
        assert_eq!(trust.check(NOW, Duration::ZERO), None);
        let ahead = NOW + DAYS_30;
        assert_eq!(trust.check(ahead, Duration::ZERO), Some(TrustStep::Lost { ahead: DAYS_30 }));
        (trust, ahead)
    }

    #[test]
    fn time_that_passes_is_trusted_and_so_is_a_short_downtime() {
        let mut trust = TimeTrust::new(None, NOW, Duration::ZERO);
        for passed in [hours(1), DAYS_30, hours(9_999)] {
            assert_eq!(trust.check(NOW + passed, passed), None);
            assert_eq!(trust.ages_at(NOW + passed, passed), NOW + passed);
        }
        let short = TimeTrust::new(Some(NOW - hours(24)), NOW, hours(5));
        assert_eq!(short.ages_at(NOW, hours(5)), NOW);
    }

    #[test]
    fn ages_are_judged_by_the_time_that_it_should_be_while_the_clock_is_ahead() {
        let (mut trust, ahead) = jumped();
        assert_eq!(trust.ages_at(ahead + hours(5), hours(5)), NOW + hours(5));
        assert_eq!(trust.check(ahead + hours(5), hours(5)), None, "one record");
        assert_eq!(trust.check(NOW + hours(6), hours(6)), Some(TrustStep::Regained(Confirmation::Corrected)));
        assert_eq!(trust.ages_at(NOW + hours(6), hours(6)), NOW + hours(6));
    }

    #[test]
    fn a_start_long_after_the_newest_stored_time_is_a_jump() {
        let mut trust = TimeTrust::new(Some(NOW - DAYS_30), NOW, hours(99));
        assert_eq!(trust.check(NOW, hours(99)), Some(TrustStep::Lost { ahead: DAYS_30 }));
        assert_eq!(trust.ages_at(NOW + hours(1), hours(100)), NOW - DAYS_30 + hours(1));
    }

    #[test]
    fn two_publishers_confirm_the_time_or_the_only_one() {
        let (mut trust, ahead) = jumped();
        assert_eq!(trust.hear(&host(1), ahead - hours(1), 9, ahead, Duration::ZERO), None);
        assert_eq!(trust.hear(&host(1), ahead, 9, ahead, Duration::ZERO), None, "the same one");
        let confirmed = trust.hear(&host(2), ahead, 9, ahead, Duration::ZERO);
        assert_eq!(confirmed, Some(TrustStep::Regained(Confirmation::Publishers(2))));
        assert_eq!(trust.ages_at(ahead, Duration::ZERO), ahead);
        let (mut trust, ahead) = jumped();
        assert!(trust.hear(&host(1), ahead, 1, ahead, Duration::ZERO).is_some());
    }

    #[test]
    fn an_error_of_the_clock_that_is_trusted_can_be_confirmed_too() {
        let (mut trust, ahead) = jumped();
        let date = ahead - AHEAD_MAX;
        assert!(trust.hear(&host(1), date, 1, ahead, Duration::ZERO).is_some());
        let (mut trust, ahead) = jumped();
        let date = ahead - AHEAD_MAX - Duration::from_secs(1);
        assert!(trust.hear(&host(1), date, 1, ahead, Duration::ZERO).is_none());
    }

    #[test]
    fn publishers_that_object_keep_the_time_in_doubt_for_ever() {
        let (mut trust, ahead) = jumped();
        assert_eq!(trust.hear(&host(1), NOW, 2, ahead, Duration::ZERO), None);
        assert_eq!(trust.hear(&host(2), NOW, 2, ahead, Duration::ZERO), None);
        assert_eq!(trust.check(ahead + DAYS_30, DAYS_30), None);
        assert_eq!(trust.ages_at(ahead + DAYS_30, DAYS_30), NOW + DAYS_30);
        // The clock is set, to a time that is wrong as well.
        let other = ahead + DAYS_30 + hours(99);
        assert_eq!(trust.check(other, DAYS_30), None);
        assert!(trust.is_lost(other, DAYS_30));
    }

    #[test]
    fn a_day_without_objection_confirms_the_time() {
        let (mut trust, ahead) = jumped();
        assert_eq!(trust.check(ahead + hours(23), hours(23)), None);
        let confirmed = trust.check(ahead + hours(24), hours(24));
        assert_eq!(confirmed, Some(TrustStep::Regained(Confirmation::Unopposed)));
    }

    #[test]
    fn ages_follow_a_clock_that_is_behind_at_once_and_the_newest_known_time_does_not() {
        let behind = NOW - DAYS_30;
        let mut trust = TimeTrust::new(Some(NOW), behind, Duration::ZERO);
        assert_eq!(trust.check(behind, Duration::ZERO), Some(TrustStep::Behind { behind: DAYS_30 }));
        assert_eq!(trust.check(behind + hours(1), hours(1)), None, "one record");
        assert_eq!(trust.ages_at(behind + hours(1), hours(1)), behind + hours(1));
        assert_eq!(trust.newest_trusted(behind + hours(1), hours(1)), NOW + hours(1));
        let slightly = NOW - hours(2);
        assert_eq!(trust.newest_trusted(slightly, Duration::ZERO), NOW, "two hours behind is behind");
        // It was right before and is again.
        assert_eq!(trust.check(NOW + hours(2), hours(2)), Some(TrustStep::Regained(Confirmation::Corrected)));
        assert_eq!(trust.newest_trusted(NOW + hours(3), hours(2)), NOW + hours(3));
    }

    #[test]
    fn a_clock_that_is_behind_is_right_if_publishers_agree() {
        let behind = NOW - DAYS_30;
        let mut trust = TimeTrust::new(Some(NOW), behind, Duration::ZERO);
        assert!(trust.check(behind, Duration::ZERO).is_some());
        assert!(trust.hear(&host(1), behind, 1, behind, Duration::ZERO).is_some());
        assert_eq!(trust.newest_trusted(behind, Duration::ZERO), behind);
        // It is the time from which the next jump is measured.
        assert!(trust.is_lost(NOW, Duration::ZERO));
    }

    #[test]
    fn a_step_ahead_to_the_time_of_publishers_is_no_reason_for_doubt() {
        // An empty store and a clock without a battery; publishers are polled before the time is set.
        let mut trust = TimeTrust::new(None, Timestamp::EPOCH, Duration::ZERO);
        assert_eq!(trust.hear(&host(1), NOW, 9, Timestamp::EPOCH, Duration::ZERO), None);
        assert_eq!(trust.hear(&host(2), NOW, 9, Timestamp::EPOCH, Duration::ZERO), None);
        assert_eq!(trust.check(NOW + hours(2), hours(2)), None);
        assert_eq!(trust.newest_trusted(NOW + hours(2), hours(2)), NOW + hours(2));
        assert!(trust.check(NOW + DAYS_30, hours(2)).is_some(), "their time goes with the monotonic clock");
    }
}
