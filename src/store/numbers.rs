//! Numbers of posts after a restore. Ids and change numbers come from one sequence, which readers remember: a store
//! that is an older copy of the one that was used last must not issue the numbers of lost posts again.

use std::fmt;

use crate::model::Timestamp;

/// Numbers that are reserved at once; a crash skips at most as many.
pub(super) const RESERVE: i64 = 1_000;
/// The least jump if it is unknown which numbers were issued.
const JUMP_MIN: i64 = 1_000_000;
/// The most posts per second that are stored and changed over a longer time.
const NUMBERS_PER_SECOND_MAX: i64 = 1_000;

/// Numbers that are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberJump {
    /// The highest number that the store has issued.
    pub from: i64,
    /// The next number is above this one.
    pub to: i64,
    pub reason: JumpReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JumpReason {
    /// The process ended without closing the store.
    Crash,
    /// The store is a backup, or was moved here.
    Restored,
    /// Higher numbers were issued here than the store knows.
    OlderCopy,
}

impl JumpReason {
    /// Whether readers may have seen posts that the store has lost.
    pub const fn is_restore(self) -> bool {
        !matches!(self, JumpReason::Crash)
    }
}

impl fmt::Display for JumpReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            JumpReason::Crash => "the last process did not close the store",
            JumpReason::Restored => "the store was restored from a backup, or moved here",
            JumpReason::OlderCopy => "the store is an older copy of the one that was used here last",
        })
    }
}

/// What a store knows of its numbers when it is opened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NumberFacts {
    /// The highest number that it has issued.
    pub(super) issued: i64,
    /// Whether it is known where it was used before.
    pub(super) is_identified: bool,
    /// Whether it was used here, under the same identity, and not anywhere else as far as is known.
    pub(super) is_here: bool,
    /// Whether it is a backup that was never used.
    pub(super) is_backup: bool,
    /// The highest number that may have been issued here, and whether the last process closed the store.
    pub(super) mark: Option<(i64, bool)>,
    /// The last poll that is stored.
    pub(super) last_polled: Option<Timestamp>,
}

/// The numbers to skip, if any.
pub(super) fn jump(facts: NumberFacts, now: Timestamp) -> Option<NumberJump> {
    let NumberFacts { issued, mark, .. } = facts;
    let marked = mark.map_or(0, |(number, _)| number);
    let skip = |to: i64, reason| (to > issued).then_some(NumberJump { from: issued, to, reason });
    if !facts.is_identified && issued == 0 {
        // A new store.
        return None;
    }
    if facts.is_backup || (facts.is_identified && !facts.is_here) {
        return skip((issued + unknown(facts.last_polled, now)).max(marked), JumpReason::Restored);
    }
    let is_crash = mark.is_some_and(|(_, is_closed)| !is_closed) && marked - issued <= RESERVE;
    skip(marked, if is_crash { JumpReason::Crash } else { JumpReason::OlderCopy })
}

/// More numbers than can have been issued since the last stored poll.
fn unknown(last_polled: Option<Timestamp>, now: Timestamp) -> i64 {
    let seconds = last_polled.map_or(0, |polled| i64::try_from(now.since(polled).as_secs()).unwrap_or(i64::MAX));
    // A clock that is centuries ahead must not use up the numbers.
    seconds.saturating_mul(NUMBERS_PER_SECOND_MAX).clamp(JUMP_MIN, i64::MAX >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn check(facts: NumberFacts, expected: Option<(i64, JumpReason)>) {
        let found = jump(facts, NOW);
        assert_eq!(found.map(|jump| (jump.to, jump.reason)), expected, "{facts:?}");
        assert!(found.is_none_or(|jump| jump.from == facts.issued && jump.to > jump.from));
    }

    #[test]
    fn a_store_in_its_place_goes_on_with_the_next_number() {
        let here = NumberFacts { issued: 70, is_identified: true, is_here: true, ..NumberFacts::default() };
        check(NumberFacts { mark: Some((70, true)), ..here }, None);
        check(here, None);
        check(NumberFacts::default(), None);
        // A file that was removed and begun anew beside the mark of the old one.
        check(NumberFacts { mark: Some((500, true)), ..NumberFacts::default() }, None);
        // An earlier version stored no identity.
        check(NumberFacts { issued: 70, ..NumberFacts::default() }, None);
    }

    #[test]
    fn what_may_have_been_issued_here_is_skipped() {
        let here = NumberFacts { issued: 70, is_identified: true, is_here: true, ..NumberFacts::default() };
        check(NumberFacts { mark: Some((1_070, false)), ..here }, Some((1_070, JumpReason::Crash)));
        check(NumberFacts { mark: Some((1_071, false)), ..here }, Some((1_071, JumpReason::OlderCopy)));
        check(NumberFacts { mark: Some((71, true)), ..here }, Some((71, JumpReason::OlderCopy)));
        let old = NumberFacts { issued: 70, mark: Some((90, true)), ..NumberFacts::default() };
        check(old, Some((90, JumpReason::OlderCopy)));
    }

    #[test]
    fn a_store_from_elsewhere_jumps_over_what_it_could_have_missed() {
        let moved = NumberFacts { issued: 70, is_identified: true, ..NumberFacts::default() };
        check(moved, Some((1_000_070, JumpReason::Restored)));
        check(NumberFacts { mark: Some((2_000_000, true)), ..moved }, Some((2_000_000, JumpReason::Restored)));
        let backup = NumberFacts { is_here: true, is_backup: true, ..moved };
        check(backup, Some((1_000_070, JumpReason::Restored)));
        let day_ago = Some(Timestamp::from_seconds(1_800_000_000 - 86_400));
        check(NumberFacts { last_polled: day_ago, ..backup }, Some((86_400_070, JumpReason::Restored)));
        let ahead = Some(Timestamp::from_seconds(1_900_000_000));
        check(NumberFacts { last_polled: ahead, ..backup }, Some((1_000_070, JumpReason::Restored)));
        check(NumberFacts { issued: 0, ..backup }, Some((1_000_000, JumpReason::Restored)));
    }
}
