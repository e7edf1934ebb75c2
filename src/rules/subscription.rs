//! Subscriptions at hubs (WebSub): when a hub is asked, what follows from its answers, and which requests to a callback
//! are confirmed.

use std::time::Duration;

use super::stored_times::is_unknown;
use super::{hours, minutes};
use crate::model::{Subscription, SubscriptionState, Timestamp};

/// The lease that hubs are asked for.
pub const LEASE_WANTED: Duration = hours(10 * 24);
/// A hub that says nothing, or more than this, has given this lease.
const LEASE_MAX: Duration = hours(30 * 24);
const LEASE_MIN: Duration = minutes(5);
/// Time for the hub to verify a request that it has taken.
const VERIFY_WITHIN: Duration = hours(1);
/// Wait after the first refusal of all hubs of a feed; quadrupled with each further one.
const RETRY_FIRST: Duration = minutes(5);
const RETRY_MAX: Duration = hours(24);
/// Requests to end a subscription before it is left to end with its lease.
const LEAVE_ATTEMPTS_MAX: u32 = 4;
const ERROR_CHARS_MAX: usize = 300;

/// What to do about a subscription that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionStep {
    Subscribe,
    Unsubscribe,
    /// Nothing is left to be told to the hub.
    Remove,
    /// It is not due yet.
    Wait,
}

/// What a request of a hub to a callback asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    pub mode: String,
    pub topic: Option<String>,
    pub lease_seconds: Option<u64>,
    /// Why a subscription is denied.
    pub reason: Option<String>,
}

/// The answer to a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerificationVerdict {
    /// The subscription is active from now on.
    Subscribed,
    /// The subscription is over.
    Unsubscribed,
    Denied,
    /// It is not what was asked for, and nothing changes.
    Refused(&'static str),
}

/// What is due now.
pub fn step(subscription: &Subscription, now: Timestamp) -> SubscriptionStep {
    if due_at(subscription, now) > now {
        return SubscriptionStep::Wait;
    }
    match subscription.state {
        SubscriptionState::Leaving => {
            let is_over = subscription.lease_end().is_none_or(|end| end <= now);
            let is_known = subscription.verified_at.is_some() || subscription.asked_at.is_some();
            let may_be_active = is_known && (!is_over || subscription.asked_at.is_some());
            match may_be_active && subscription.attempts < LEAVE_ATTEMPTS_MAX && subscription.secret.is_some() {
                true => SubscriptionStep::Unsubscribe,
                false => SubscriptionStep::Remove,
            }
        }
        _ if subscription.secret.is_none() => SubscriptionStep::Remove,
        _ => SubscriptionStep::Subscribe,
    }
}

/// When a subscription is due. A time that is further ahead than any wait, or that follows from a verification in the
/// future, was written by a clock that was ahead.
pub fn due_at(subscription: &Subscription, now: Timestamp) -> Timestamp {
    let is_wrong = subscription.next_attempt_at > now + LEASE_MAX
        || subscription.verified_at.is_some_and(|at| is_unknown(at, now))
        || subscription.asked_at.is_some_and(|at| is_unknown(at, now));
    if is_wrong { now } else { subscription.next_attempt_at }
}

/// Times that only a clock that was ahead has written: attempts after the first, events after the second.
pub fn unknown_times(now: Timestamp) -> (Timestamp, Timestamp) {
    (now + LEASE_MAX, now + minutes(1))
}

/// Whether the lease of an active subscription is over, so that no pushes can be expected.
pub fn has_lapsed(subscription: &Subscription, now: Timestamp) -> bool {
    subscription.state == SubscriptionState::Active && subscription.lease_end().is_none_or(|end| end <= now)
}

/// Notes that the hub is about to be asked. If the process ends before the answer, it is asked again.
pub fn begin(subscription: &mut Subscription, now: Timestamp) {
    if has_lapsed(subscription, now) {
        subscription.state = SubscriptionState::Waiting;
    }
    subscription.asked_at = Some(now);
    subscription.attempts = subscription.attempts.saturating_add(1);
    subscription.next_attempt_at = now + VERIFY_WITHIN;
}

/// Notes that the hub has taken a request and will verify it, unless it has done so already, or has denied it.
pub fn accepted(subscription: &mut Subscription) {
    if subscription.asked_at.is_none() {
        return;
    }
    subscription.last_error = None;
    if matches!(subscription.state, SubscriptionState::Waiting | SubscriptionState::Denied) {
        subscription.state = SubscriptionState::Requested;
    }
}

/// Notes that a hub has refused a request, or did not verify it in time: the next of these hubs is tried, after the last
/// one the first again, later. `dice` is in 0.0..1.0.
pub fn refused(subscription: &mut Subscription, error: &str, hubs: &[String], now: Timestamp, dice: f64) {
    subscription.last_error = Some(error.chars().take(ERROR_CHARS_MAX).collect());
    subscription.asked_at = None;
    let is_kept = match subscription.state {
        // The hub goes on pushing until the lease ends.
        SubscriptionState::Active => !has_lapsed(subscription, now),
        SubscriptionState::Leaving => true,
        _ => false,
    };
    let mut rounds = subscription.attempts;
    if !is_kept {
        subscription.state = SubscriptionState::Waiting;
        let place = hubs.iter().position(|hub| *hub == subscription.hub);
        let next = hubs.get(place.map_or(0, |place| place + 1)).or(hubs.first());
        let is_last = place.is_none_or(|place| place + 1 >= hubs.len());
        if let Some(next) = next {
            subscription.hub.clone_from(next);
        }
        if !is_last {
            subscription.next_attempt_at = now;
            return;
        }
        rounds = subscription.attempts / u32::try_from(hubs.len().max(1)).unwrap_or(1);
    }
    let wait = RETRY_FIRST.saturating_mul(4_u32.saturating_pow(rounds.saturating_sub(1).min(8))).min(RETRY_MAX);
    subscription.next_attempt_at = now + wait.mul_f64(0.75 + dice / 2.0);
}

/// Whether the hub had its time to verify a request and did not.
pub fn is_unverified(subscription: &Subscription, now: Timestamp) -> bool {
    subscription.asked_at.is_some() && due_at(subscription, now) <= now && subscription.attempts > 0
}

/// The error of a request that was not verified.
pub fn unverified() -> String {
    format!("the hub did not verify the request within {} minutes", VERIFY_WITHIN.as_secs() / 60)
}

/// Ends a subscription: the hub is to be told.
pub fn leave(subscription: &mut Subscription, now: Timestamp) {
    subscription.state = SubscriptionState::Leaving;
    subscription.attempts = 0;
    subscription.next_attempt_at = now;
}

/// Decides about a request of a hub to a callback, and changes the subscription accordingly.
pub fn verify(subscription: &mut Subscription, asked: &Verification, now: Timestamp) -> VerificationVerdict {
    if asked.topic.as_deref().is_some_and(|topic| topic != subscription.topic) {
        return VerificationVerdict::Refused("it is about another topic");
    }
    let is_leaving = subscription.state == SubscriptionState::Leaving;
    match asked.mode.as_str() {
        // A hub may deny a subscription at any time.
        "denied" if is_leaving => VerificationVerdict::Unsubscribed,
        "denied" => {
            subscription.state = SubscriptionState::Denied;
            subscription.asked_at = None;
            let reason = asked.reason.as_deref().unwrap_or("it gave no reason");
            let error = format!("the hub denied the subscription: {reason}");
            subscription.last_error = Some(error.chars().take(ERROR_CHARS_MAX).collect());
            subscription.next_attempt_at = now + RETRY_MAX;
            VerificationVerdict::Denied
        }
        _ if asked.topic.is_none() => VerificationVerdict::Refused("it names no topic"),
        "subscribe" if is_leaving || subscription.asked_at.is_none() => {
            VerificationVerdict::Refused("no subscription was asked for")
        }
        "subscribe" => {
            let lease = asked.lease_seconds.map_or(LEASE_WANTED, Duration::from_secs).clamp(LEASE_MIN, LEASE_MAX);
            subscription.state = SubscriptionState::Active;
            subscription.asked_at = None;
            subscription.verified_at = Some(now);
            subscription.lease = Some(lease);
            subscription.attempts = 0;
            subscription.last_error = None;
            // A third of the lease is left for attempts that fail.
            subscription.next_attempt_at = now + lease / 3 * 2;
            VerificationVerdict::Subscribed
        }
        "unsubscribe" if is_leaving => VerificationVerdict::Unsubscribed,
        "unsubscribe" => VerificationVerdict::Refused("the subscription is wanted"),
        _ => VerificationVerdict::Refused("its hub.mode is none of subscribe, unsubscribe and denied"),
    }
}

#[cfg(test)]
#[path = "subscription_tests.rs"]
mod tests;
