//! Time of the next poll of a source: the latest of all its waits.

use std::fmt;

use crate::model::{FailureKind, HostState, Rest, RestCause, Source, Timestamp};

use super::backoff::{BackoffReason, backoff, rate_limit_pause};
use super::interval::{AdaptiveInterval, adaptive_wait, interval};
use super::push;
use super::stored_times::is_unknown;
use super::{Policy, hours, minutes};

/// Time of the next poll of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextPoll {
    /// Not until a person changes the source.
    Never(Never),
    /// At this moment or later.
    At {
        /// Time of the poll.
        at: Timestamp,
        /// The longest wait.
        because: Wait,
    },
}

/// Why a source is not polled at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Never {
    /// The source is disabled.
    Disabled,
    /// A person put the source to rest.
    Resting,
}

/// Reason for a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// No wait: the source has never been polled.
    NeverPolled,
    /// No wait: a clock that was ahead has stored the last poll.
    Unknown,
    /// No wait: a person asked for a poll.
    Requested,
    /// A short wait: the last poll was lost to a fault of our own, and is made again.
    Repeated,
    /// Jitter of the first poll.
    Spread,
    /// The interval that follows from how often the source publishes.
    Adaptive(AdaptiveInterval),
    /// The interval of the source, with backoff after failures.
    Backoff(BackoffReason),
    /// A short wait: a hub has pushed a change since the last poll.
    Pushed,
    /// The interval is stretched: pushes have told of what the last polls found.
    Stretched,
    /// A 429 that states no wait.
    RateLimited,
    /// A rest after a run of this kind.
    Rest(FailureKind),
    /// A rest because this kind was reported.
    Reported(FailureKind),
    /// `Retry-After` or the reset of a rate limit; true where it was cut to the ceiling.
    RetryAfter(bool),
    /// The answer is still fresh; true where that was cut to the ceiling.
    Fresh(bool),
    /// The feed says that it changes no faster.
    UpdatePeriod,
    /// The host is held.
    HostHeld,
    /// The feed asks not to be polled in that hour or on that day.
    Skipped,
}

/// One wait of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// End of the wait.
    pub until: Timestamp,
    /// Reason for the wait.
    pub wait: Wait,
}

/// When a source is polled next.
pub fn next_poll(source: &Source, host: Option<&HostState>, policy: &Policy, now: Timestamp) -> NextPoll {
    if let Some(never) = never(source) {
        return NextPoll::Never(never);
    }
    let latest =
        terms(source, host, policy, now).reduce(|one, other| if other.until > one.until { other } else { one });
    let Some(Term { until, wait }) = latest else {
        // Due since it was added; a clock that was ahead may have stored a moment in the future.
        let because = if source.state.first_polled_at.is_some() { Wait::Unknown } else { Wait::NeverPolled };
        return NextPoll::At { at: source.created_at.min(now), because };
    };
    match after_skipped(source, until) {
        at if at > until => NextPoll::At { at, because: Wait::Skipped },
        at => NextPoll::At { at, because: wait },
    }
}

/// All waits of a source; `next_poll` takes the latest of them.
pub fn terms<'a>(
    source: &'a Source,
    host: Option<&'a HostState>,
    policy: &'a Policy,
    now: Timestamp,
) -> impl Iterator<Item = Term> + use<'a> {
    let own = if is_requested(source) { [None; 6] } else { own_terms(source, policy, now) };
    let requested = source.state.poll_requested_at.filter(|_| is_requested(source));
    let wait = if is_repeated(source) { Wait::Repeated } else { Wait::Requested };
    let requested = requested.map(|until| Term { until: if is_unknown(until, now) { now } else { until }, wait });
    let asked = [retry_after_term(source, policy, now), requested];
    let held = host.and_then(|host| host.held_until).map(|until| Term { until, wait: Wait::HostHeld });
    own.into_iter().chain(asked).chain([held]).flatten()
}

/// Whether a source rests now: until a person ends the rest, or until its cooldown is over.
pub fn is_resting(source: &Source, policy: &Policy, now: Timestamp) -> bool {
    source.state.rest.as_ref().is_some_and(|rest| {
        rest.cause.is_open_ended() || rest_until(rest, policy, now).is_some_and(|until| until > now)
    })
}

/// The end of the cooldown of a rest; none if only a person ends it, or if runs of its kind no longer start rests.
pub fn rest_until(rest: &Rest, policy: &Policy, now: Timestamp) -> Option<Timestamp> {
    let rule = match rest.cause {
        RestCause::Person(_) => None,
        RestCause::Reported(kind) => policy.rests.for_kind(kind),
        // A rest of a kind whose rests were switched off meanwhile is over.
        RestCause::Failures(kind) => policy.rests.for_kind(kind).filter(|rule| rule.after > 0),
    };
    let cooldown = rule?.cooldown;
    match &rest.cause {
        // A rest that began at an unknown time is over; what a person reported is believed to be of now.
        RestCause::Failures(_) if is_unknown(rest.since, now) => None,
        _ if is_unknown(rest.since, now) => Some(now + cooldown),
        _ => Some(rest.since + cooldown),
    }
}

impl NextPoll {
    /// Time of the poll, if there is one.
    pub fn at(self) -> Option<Timestamp> {
        match self {
            NextPoll::Never(_) => None,
            NextPoll::At { at, .. } => Some(at),
        }
    }

    /// Whether the source is due.
    pub fn is_due(self, now: Timestamp) -> bool {
        self.at().is_some_and(|at| at <= now)
    }
}

fn never(source: &Source) -> Option<Never> {
    if !source.state.enabled {
        return Some(Never::Disabled);
    }
    source.state.rest.as_ref()?.cause.is_open_ended().then_some(Never::Resting)
}

/// Whether a poll is requested that has not been made. A request sets aside the waits of the source itself, but neither
/// `Retry-After` nor the waits of its host (p20).
pub fn is_requested(source: &Source) -> bool {
    source.state.poll_requested_at.is_some_and(|asked| source.state.last_polled.is_none_or(|polled| polled < asked))
}

/// Whether the request follows from a fault of our own.
fn is_repeated(source: &Source) -> bool {
    source.state.failures.last.as_ref().is_some_and(|last| last.kind == FailureKind::Internal)
}

fn own_terms(source: &Source, policy: &Policy, now: Timestamp) -> [Option<Term>; 6] {
    let state = &source.state;
    let Some(last_polled) = last_polled(source, now) else {
        return [rest_term(source, policy, now), None, None, None, None, None];
    };
    if let Some(until) = push::due_at(source, now) {
        let pushed = Term { until, wait: Wait::Pushed };
        return [Some(pushed), rest_term(source, policy, now), None, None, None, None];
    }
    let ceiling = source.settings.max_backoff_hours.map_or(policy.max_backoff, hours);
    let term = |pause, wait| Term { until: last_polled + pause, wait };
    // The moment that jitter stored is no poll.
    let is_polled = state.polled_at().is_some();
    let is_active = is_polled && state.failures.consecutive == 0;
    let own = match is_active.then(|| adaptive_wait(source, policy, last_polled)).flatten() {
        Some((wait, adaptive)) => term(wait, Wait::Adaptive(adaptive)),
        None => {
            let backoff = backoff(interval(source, policy), state.failures.consecutive, ceiling);
            term(backoff.delay, if is_polled { Wait::Backoff(backoff.reason) } else { Wait::Spread })
        }
    };
    let rate_limited = state.hints.retry_after.is_none().then(|| rate_limit_pause(&state.failures, ceiling)).flatten();
    let stretched = push::stretched(source, own.until.since(last_polled)).filter(|_| state.failures.consecutive == 0);
    let period = state.hints.update_period_minutes.map(|period| minutes(period).min(policy.freshness_max));
    [
        Some(own),
        rate_limited.map(|pause| term(pause, Wait::RateLimited)),
        rest_term(source, policy, now),
        state.hints.fresh_until.map(|until| {
            let ceiling = last_polled + policy.freshness_max;
            Term { until: until.min(ceiling), wait: Wait::Fresh(until > ceiling) }
        }),
        period.map(|pause| term(pause, Wait::UpdatePeriod)),
        stretched.map(|pause| term(pause, Wait::Stretched)),
    ]
}

fn rest_term(source: &Source, policy: &Policy, now: Timestamp) -> Option<Term> {
    let rest = source.state.rest.as_ref()?;
    let wait = match rest.cause {
        RestCause::Failures(kind) => Wait::Rest(kind),
        RestCause::Reported(kind) => Wait::Reported(kind),
        RestCause::Person(_) => return None,
    };
    rest_until(rest, policy, now).map(|until| Term { until, wait })
}

/// The last poll, if its time is known: a clock that was ahead must not delay its sources once it is right again.
fn last_polled(source: &Source, now: Timestamp) -> Option<Timestamp> {
    source.state.last_polled.filter(|polled| !is_unknown(*polled, now))
}

fn retry_after_term(source: &Source, policy: &Policy, now: Timestamp) -> Option<Term> {
    let until = source.state.hints.retry_after?;
    let ceiling = match last_polled(source, now) {
        Some(last_polled) => last_polled + policy.retry_after_max,
        // Further ahead than could be written now: by a clock that was ahead.
        None if until > now + policy.retry_after_max => return None,
        None => until,
    };
    Some(Term { until: until.min(ceiling), wait: Wait::RetryAfter(until > ceiling) })
}

/// Moves a moment out of the hours and days in which the feed asks not to be polled (p14), unless these are all hours.
fn after_skipped(source: &Source, at: Timestamp) -> Timestamp {
    let hints = &source.state.hints;
    if (hints.skip_hours == 0 && hints.skip_days == 0) || is_requested(source) || push::due_at(source, at).is_some() {
        return at;
    }
    const HOURS_PER_WEEK: i64 = 7 * 24;
    let is_skipped = |hour: i64| {
        let day = (hour.div_euclid(24) + 3).rem_euclid(7); // 1970 began on a Thursday.
        hints.skip_hours >> hour.rem_euclid(24) & 1 == 1 || hints.skip_days >> day & 1 == 1
    };
    let hour = at.as_seconds().div_euclid(3600);
    match (hour..=hour + HOURS_PER_WEEK).find(|hour| !is_skipped(*hour)) {
        Some(open) if open > hour => Timestamp::from_seconds(open * 3600),
        _ => at,
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = |cut: &bool| if *cut { ", cut to the configured ceiling" } else { "" };
        match self {
            Wait::NeverPolled => write!(formatter, "it has never been polled"),
            Wait::Unknown => write!(formatter, "the time of its last poll is unknown: the clock was ahead then"),
            Wait::Requested => write!(formatter, "an operator requested it"),
            Wait::Repeated => write!(formatter, "the last poll was lost to an internal fault and is repeated"),
            Wait::Spread => write!(formatter, "first polls are spread over time"),
            Wait::Adaptive(interval) => interval.fmt(formatter),
            Wait::Backoff(reason) => reason.fmt(formatter),
            Wait::Pushed => write!(formatter, "a hub pushed a change (WebSub)"),
            Wait::Stretched => {
                write!(formatter, "its hub has pushed what the last polls found, so the interval is stretched (WebSub)")
            }
            Wait::RateLimited => write!(formatter, "the publisher asked for fewer requests (429)"),
            Wait::Rest(kind) => write!(formatter, "it rests after a run of {kind}"),
            Wait::Reported(kind) => write!(formatter, "it rests because {kind} was reported (feed-disable)"),
            Wait::RetryAfter(is_cut) => {
                write!(formatter, "the publisher asked for this wait (Retry-After or rate limit){}", cut(is_cut))
            }
            Wait::Fresh(is_cut) => write!(formatter, "the last answer is still fresh{}", cut(is_cut)),
            Wait::UpdatePeriod => write!(formatter, "the feed says that it changes no faster"),
            Wait::HostHeld => write!(formatter, "its host is held"),
            Wait::Skipped => write!(formatter, "the feed asks not to be polled in that hour or on that day"),
        }
    }
}

impl fmt::Display for Never {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Never::Disabled => "it is disabled until an operator enables it",
            Never::Resting => "it rests until an operator ends the rest",
        })
    }
}

impl fmt::Display for NextPoll {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NextPoll::Never(never) => write!(formatter, "not polled: {never}"),
            NextPoll::At { because: because @ (Wait::NeverPolled | Wait::Unknown | Wait::Requested), .. } => {
                write!(formatter, "due at once: {because}")
            }
            NextPoll::At { at, because } => write!(formatter, "next poll at {at}: {because}"),
        }
    }
}

#[cfg(test)]
#[path = "due_tests.rs"]
mod tests;
