//! Has sources polled more often than the shortest interval, which is a minute: by requests such as `feedwarden source
//! poll` makes. Nodes obey pause, hold and breaker of the host as with any other poll.

use std::time::Duration;

use serde_json::json;

use crate::clock::{Clock, SystemClock};
use crate::dice::{Dice, SeededDice};
use crate::model::{NodeId, Receiver, Shard, SourceId};
use crate::rules::change::{Change, apply};
use crate::rules::due::is_requested;
use crate::store::{self, Store};

/// Requests that are made at once after a delay.
const AT_ONCE_MAX: usize = 50;

/// Sender of the messages of the demo.
const NO_NODE: NodeId = NodeId(0);

/// Requests polls of all sources in turn.
pub(super) struct PollRequests {
    sources: Vec<SourceId>,
    per_second: f64,
    made: usize,
}

impl PollRequests {
    pub(super) fn new(mut sources: Vec<SourceId>, per_second: f64, seed: u64) -> PollRequests {
        let dice = SeededDice::new(seed);
        // Sources of a host do not follow each other.
        for index in (1..sources.len()).rev() {
            sources.swap(index, ((dice.roll() * (index + 1) as f64) as usize).min(index));
        }
        PollRequests { sources, per_second, made: 0 }
    }

    /// Requests what is due by now.
    pub(super) async fn make(&mut self, elapsed: Duration, store: &dyn Store) -> store::Result<()> {
        let wanted = (elapsed.as_secs_f64() * self.per_second) as usize;
        let count = wanted.saturating_sub(self.made).min(AT_ONCE_MAX).min(self.sources.len());
        let turns = self.made..self.made + count;
        let ids: Vec<SourceId> = turns.map(|turn| self.sources[turn % self.sources.len()]).collect();
        self.made = wanted.max(self.made);
        request_polls(store, &ids).await
    }
}

/// Requests polls of sources, unless a request waits or the source rests or is disabled.
pub(super) async fn request_polls(store: &dyn Store, ids: &[SourceId]) -> store::Result<()> {
    let mut messages = Vec::new();
    for id in ids {
        let Some(mut source) = store.source(*id).await? else { continue };
        if source.state.enabled && source.state.rest.is_none() && !is_requested(&source) {
            let now = SystemClock.now();
            let shard = Shard::of_source(&source.settings);
            apply(&mut source, Change::Poll, now);
            // A concurrent change means that it was polled.
            store.save_source(source, now).await?;
            // A node would write this message in the transaction of the change; the demo is no node.
            messages.push((Receiver::Shard(shard), json!({ "sources_changed": [id.0] }).to_string()));
        }
    }
    match store.fleet() {
        Some(fleet) if !messages.is_empty() => fleet.send_messages(NO_NODE, messages).await,
        _ => Ok(()),
    }
}
