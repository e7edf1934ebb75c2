//! Pure decisions: facts, `now` and the dice go in; a decision with its reason comes out.
//!
//! Uses `model` only. No I/O, no clock, no randomness, no logging; total over every input.

pub mod backfill;
pub mod backoff;
pub mod breaker;
pub mod budget;
pub mod change;
pub mod classify;
pub mod cleanup;
pub mod delay;
pub mod due;
mod entry_match;
pub mod events;
pub mod failure;
pub mod filter;
pub mod fleet;
pub mod full_text;
pub mod hold;
pub mod host_key;
pub mod identity;
pub mod interval;
pub mod jitter;
pub mod moved;
pub mod outage;
mod policy;
pub mod publishing;
mod publishing_pattern;
pub mod push;
pub mod push_signature;
pub mod reading;
pub mod robots;
pub mod same_url;
pub mod shown_url;
pub mod spread;
pub mod status;
pub mod stored_times;
pub mod subscription;
pub mod success;
pub mod time_trust;
pub mod turn;
pub mod watermark;
pub mod webhook;

#[cfg(test)]
mod laws;

pub use policy::{
    AdaptivePolicy, BreakerPolicy, Delays, HistoryPolicy, OnEdit, OutagePolicy, Policy, PostPolicy, RestRule, Rests,
    hours, minutes,
};
