//! Polls whose rows other sessions of the database lock. They wait here, one attempt at a time, while all others are
//! settled. Each keeps its slot, which bounds their number, and leaves its host to other sources.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::Message;
use parking_lot::Mutex;
use slog::{Logger, info, warn};
use tokio::sync::Semaphore;

use super::batcher::{FinishedPoll, PollKey, StoredFailure, WrittenBatch, poll_key, write_batch};
use super::outcome::PollResult;
use crate::actors::context::PipelineContext;
use crate::actors::messages::PollHeldByLock;
use crate::model::{SourceId, Timestamp};
use crate::rules::shown_url::shown_url;

/// The wait before the second attempt; it doubles with every further one.
const RETRY_FIRST: Duration = Duration::from_millis(100);
/// The longest wait between two attempts.
const RETRY_MAX: Duration = Duration::from_secs(15);
/// Attempts after which the lock is logged: others lock rows for a moment all the time.
const LOGGED_AFTER: u32 = 3;

/// Sources whose last poll cannot be stored because their rows are locked.
pub(in crate::actors) struct LockedSources {
    since: Mutex<BTreeMap<SourceId, Timestamp>>,
    /// An attempt may wait for the lock, with a connection that others need.
    turn: Semaphore,
}

/// A source that waits.
struct Waiting<'a>(&'a LockedSources, SourceId);

/// To the failure tracker: a failed poll waits no longer for its row. `stored` is the failure that was counted, if it was.
#[derive(Message)]
#[rtype(result = "()")]
pub(in crate::actors) struct LockedFailureSettled {
    pub(super) key: PollKey,
    pub(super) stored: Option<StoredFailure>,
}

impl Default for LockedSources {
    fn default() -> LockedSources {
        LockedSources { since: Mutex::default(), turn: Semaphore::new(1) }
    }
}

impl LockedSources {
    pub(in crate::actors) fn count(&self) -> usize {
        self.since.lock().len()
    }

    /// Since when the poll of this source waits for its row.
    pub(in crate::actors) fn since(&self, id: SourceId) -> Option<Timestamp> {
        self.since.lock().get(&id).copied()
    }

    fn begin(&self, id: SourceId, now: Timestamp) -> Waiting<'_> {
        self.since.lock().insert(id, now);
        Waiting(self, id)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.since.lock().remove(&self.1);
    }
}

/// Settles a poll as soon as its row is free.
pub(super) fn settle_when_free(context: &Arc<PipelineContext>, log: &Logger, finished: FinishedPoll) {
    let (context, log) = (context.clone(), log.clone());
    // A task of its own: it goes on if the actor crashes meanwhile.
    actix_rt::spawn(async move { settle(&context, &log, finished).await });
}

async fn settle(context: &Arc<PipelineContext>, log: &Logger, mut finished: FinishedPoll) {
    let (id, url) = (finished.poll.source.id, shown_url(&finished.poll.source.settings.url));
    let (key, is_failure) = (poll_key(&finished.poll), matches!(finished.result, PollResult::Failed { .. }));
    let since = context.clock.now();
    let _waiting = context.locked_sources.begin(id, since);
    if let Some(permit) = finished.poll.permit.as_mut() {
        permit.leave_host();
    }
    context.scheduler.do_send(PollHeldByLock(id));
    let (mut attempts, mut wait) = (1, RETRY_FIRST);
    let mut stored = loop {
        tokio::time::sleep(wait).await;
        let turn = context.locked_sources.turn.acquire().await;
        let WrittenBatch { stored, mut locked } = write_batch(context, log, vec![finished]).await;
        drop(turn);
        let Some(again) = locked.pop() else { break stored };
        finished = again;
        attempts += 1;
        if attempts == LOGGED_AFTER {
            warn!(log, "source row locked"; "source_id" => id.0, "url" => &url,
                "retry_seconds_max" => RETRY_MAX.as_secs(),
                "reason" => "another session of the database holds a lock on the row; end its transaction");
        }
        wait = (wait * 2).min(RETRY_MAX);
    };
    if is_failure {
        // An outage that was recognised meanwhile may explain it.
        context.failure_tracker.do_send(LockedFailureSettled { key, stored: stored.pop() });
    }
    if attempts >= LOGGED_AFTER {
        info!(log, "source row free again"; "source_id" => id.0, "url" => &url,
            "locked_seconds" => context.clock.now().since(since).as_secs());
    }
}
