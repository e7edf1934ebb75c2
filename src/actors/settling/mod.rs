//! Settling: writes what finished polls leave behind, many of them in one transaction.
//!
//! - `post_sink`: the actor for polls that were answered; removes old posts, too
//! - `failure_tracker`: the actor for polls that failed; recognises outages of our own network
//! - `reversal`: failures that an outage explains and that are taken back
//! - `outcome`: the rules, applied to a finished poll
//! - `batcher`: gathers finished polls and writes them
//! - `locked`: polls that wait because other sessions of the database lock their rows
//! - `record`: log record, counters and event of a settled poll

mod batcher;
mod failure_tracker;
mod locked;
mod outcome;
mod post_sink;
mod record;
mod reversal;
mod silence;

pub(super) use failure_tracker::FailureTrackerActor;
pub(super) use locked::LockedSources;
pub(super) use post_sink::PostSinkActor;
