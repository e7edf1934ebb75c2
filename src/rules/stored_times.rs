//! Stored times that lie in the future, which a clock that was ahead has written.
//!
//! What happened at such a time happened at an unknown time: its source is due now. If a step of the clock explains the
//! time, it is known after all: it moves with the clock. The caller stores the corrected row, so that each row is
//! corrected once: a time that is only cut to now at each use would move along with now, and the wait would last until
//! the true time has reached the wrong one.

use std::time::Duration;

use crate::model::{ClockStep, HostState, MovedPolls, Rest, RestCause, Source, SourceState, Timestamp, Validators};

use super::{Policy, hours, minutes};

/// A time no further ahead than this is taken as it is: the clocks of two machines differ.
const TOLERANCE: Duration = minutes(1);
/// From this error of the clock on, entries may have been left out for their age: the next poll reads the whole
/// document again.
const AGE_ERROR_MAX: Duration = hours(24);

/// Whether a stored time of something that happened lies in the future, so that the time is unknown.
pub fn is_unknown(happened_at: Timestamp, now: Timestamp) -> bool {
    happened_at > now + TOLERANCE
}

/// Corrects the times of a source; returns whether there were any in the future.
pub fn correct_source(source: &mut Source, policy: &Policy, now: Timestamp, step: Option<ClockStep>) -> bool {
    let correction = Correction { now, step };
    let before = source.state.clone();
    let SourceState { last_polled, hints, validators, rest, moved, .. } = &mut source.state;
    if let Some(polled) = before.last_polled.filter(|polled| is_unknown(*polled, now)) {
        let known = correction.explained(polled);
        let retry_after = hints.retry_after;
        hints.retry_after = retry_after.and_then(|until| correction.end(until, polled, policy.retry_after_max));
        hints.fresh_until = hints.fresh_until.filter(|_| known.is_some()).map(|until| correction.moved(until));
        *last_polled = known;
        if polled > now + AGE_ERROR_MAX {
            *validators = Validators::default();
        }
    }
    match rest.take_if(|rest| is_unknown(rest.since, now)) {
        // If the failures go on, the next poll starts the rest again.
        Some(Rest { since, cause: RestCause::Failures(_) }) if correction.explained(since).is_none() => {}
        Some(unknown) => *rest = Some(Rest { since: correction.at_most_now(unknown.since), ..unknown }),
        None => {}
    }
    if let Some(moved) = moved {
        moved.last_at = correction.at_most_now(moved.last_at);
    }
    let state = &mut source.state;
    for moment in [
        &mut state.poll_requested_at,
        &mut state.first_polled_at,
        &mut state.last_success_at,
        &mut state.last_read_at,
        &mut state.last_gap_at,
        &mut state.push.pushed_at,
    ] {
        *moment = moment.map(|moment| correction.at_most_now(moment));
    }
    if before.poll_requested_at <= before.last_polled {
        // The request was granted by that poll, and still is when the time of the poll has moved.
        state.poll_requested_at = state.poll_requested_at.min(state.last_polled);
    }
    source.state != before
}

/// Polls whose times move with a step back, if the clock was not set before since this time: otherwise the step would
/// make the waits that count from them longer. Times that lie in the future after the step are corrected when their rows
/// are read.
pub fn moved_polls(step: ClockStep, continuous_since: Timestamp) -> Option<MovedPolls> {
    step.is_back().then(|| MovedPolls {
        since: continuous_since,
        until: step.to + TOLERANCE,
        drops_validators: step.size() > AGE_ERROR_MAX,
    })
}

/// Corrects the times of a host; returns whether there were any in the future.
///
/// A host whose last request is unknown gets a pause from now on (p28). A hold or an open breaker lasts no longer than
/// its ceiling.
pub fn correct_host(host: &mut HostState, policy: &Policy, now: Timestamp, step: Option<ClockStep>) -> bool {
    let correction = Correction { now, step };
    let before = (host.last_asked_at, host.held_until, host.breaker.open_until);
    let breaker_max = policy.breaker.pause_max.max(policy.breaker.pause_first);
    let at_most = |until: Option<Timestamp>, ceiling| until.map(|until| until.min(now + ceiling));
    if let Some(asked) = host.last_asked_at.filter(|asked| is_unknown(*asked, now)) {
        let end = |until: Option<Timestamp>, ceiling| until.and_then(|until| correction.end(until, asked, ceiling));
        host.held_until = end(host.held_until, policy.retry_after_max);
        host.breaker.open_until = end(host.breaker.open_until, breaker_max);
        host.last_asked_at = Some(correction.at_most_now(asked));
    }
    host.held_until = at_most(host.held_until, policy.retry_after_max);
    host.breaker.open_until = at_most(host.breaker.open_until, breaker_max);
    before != (host.last_asked_at, host.held_until, host.breaker.open_until)
}

/// A host that was asked after this time was asked in the future.
pub fn asked_at_most(now: Timestamp) -> Timestamp {
    now + TOLERANCE
}

/// A retry that lies further ahead than the longest wait was planned by a clock that was ahead: it is due now.
pub fn corrected_retry(retry_at: Timestamp, wait_max: Duration, now: Timestamp) -> Timestamp {
    if retry_at > now + wait_max + TOLERANCE { now } else { retry_at }
}

struct Correction {
    now: Timestamp,
    /// The last step of the clock, if this process has seen one.
    step: Option<ClockStep>,
}

impl Correction {
    /// The time by the present clock, if a step back explains that it lies in the future.
    fn explained(&self, moment: Timestamp) -> Option<Timestamp> {
        let step = self.step.filter(|step| step.is_back() && moment <= step.from + TOLERANCE)?;
        Some(step.moved(moment)).filter(|moved| !is_unknown(*moved, self.now))
    }

    fn moved(&self, moment: Timestamp) -> Timestamp {
        self.step.map_or(moment, |step| step.moved(moment))
    }

    fn at_most_now(&self, moment: Timestamp) -> Timestamp {
        if is_unknown(moment, self.now) { self.explained(moment).unwrap_or(self.now) } else { moment }
    }

    /// The end of a wait that was written at an unknown time. The wait is as long as it was then, from now on, so that
    /// it is never shorter (p10). An end beyond what could be written now is unknown, too, and over.
    fn end(&self, until: Timestamp, written_at: Timestamp, ceiling: Duration) -> Option<Timestamp> {
        if self.explained(written_at).is_some() {
            return Some(self.moved(until));
        }
        (until <= self.now + ceiling).then(|| until.min(self.now + until.since(written_at)))
    }
}

#[cfg(test)]
#[path = "stored_times_tests.rs"]
mod tests;
