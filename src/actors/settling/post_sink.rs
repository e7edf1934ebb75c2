//! The post sink: settles polls that were answered, and removes old posts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix::fut::WrapFuture;
use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, ResponseFuture, SpawnHandle};
use slog::{Logger, debug, error, info, o, warn};

use super::batcher::{FinishedPoll, SettleBatcher, write};
use super::outcome::PollResult;
use super::silence::note_silences;
use crate::actors::context::PipelineContext;
use crate::actors::messages::{CleanUp, PollSucceeded};
use crate::actors::store_watch::retry_while_unavailable;
use crate::model::{Cleaned, Shard};
use crate::rules::cleanup::{cutoffs, history_bounds, hours_since};
use crate::store::StoreError;

/// How long a batch waits for polls in flight: a transaction costs as much as twenty polls in it.
const GATHER: Duration = Duration::from_millis(5);
/// Rows of each table that one step of cleaning removes.
const CLEAN_ROWS: u32 = 1000;
/// Polls that one step removes from the history: their rows are small and lie side by side.
const HISTORY_ROWS: u32 = 5000;
/// The most steps in one tick; the rest waits for the next tick.
const CLEAN_STEPS_MAX: usize = 50;
/// Time between two looks for silent sources.
const SILENCES_EVERY: Duration = Duration::from_secs(15 * 60);
/// The longest time that the polls of a tick wait for its cleaning.
const CLEAN_WITHIN: Duration = Duration::from_secs(5);

pub(in crate::actors) struct PostSinkActor {
    context: Arc<PipelineContext>,
    batcher: SettleBatcher,
    /// Set while a batch waits for more polls.
    gathering: Option<SpawnHandle>,
    /// Size of the write-ahead log at the last warning about it; 0 without one.
    wal_bytes_warned: Arc<AtomicU64>,
    /// When silent sources were last looked for, in seconds of the monotonic clock; 0 if never.
    silences_noted_at: Arc<AtomicU64>,
    log: Logger,
}

impl PostSinkActor {
    /// Name in fault rules.
    const NAME: &'static str = "post-sink";

    pub(in crate::actors) fn new(context: Arc<PipelineContext>) -> PostSinkActor {
        let log = context.log.new(o!("actor" => "post-sink"));
        let (batcher, wal_bytes_warned) = (SettleBatcher::default(), Arc::default());
        PostSinkActor { context, batcher, gathering: None, wal_bytes_warned, silences_noted_at: Arc::default(), log }
    }

    /// Writes the next batch, perhaps a moment later.
    fn write(&mut self, ctx: &mut Context<PostSinkActor>) {
        if !self.batcher.is_worth_waiting(self.context.admission.under_way()) {
            return self.write_now(ctx);
        }
        if self.gathering.is_none() {
            self.gathering = Some(ctx.run_later(GATHER, PostSinkActor::write_now));
        }
    }

    fn write_now(&mut self, ctx: &mut Context<PostSinkActor>) {
        if let Some(gathering) = self.gathering.take() {
            ctx.cancel_future(gathering);
        }
        let Some(batch) = self.batcher.begin() else { return };
        // A task of its own: it goes on if the actor crashes meanwhile.
        let writing = actix_rt::spawn(write(self.context.clone(), self.log.clone(), batch));
        ctx.spawn(writing.into_actor(self).map(|_, sink, ctx| {
            sink.batcher.end();
            sink.write(ctx);
        }));
    }
}

impl Actor for PostSinkActor {
    type Context = Context<PostSinkActor>;
}

impl Handler<PollSucceeded> for PostSinkActor {
    type Result = ();

    fn handle(&mut self, PollSucceeded { poll, fetched }: PollSucceeded, ctx: &mut Context<PostSinkActor>) {
        if self.context.faults.inject(PostSinkActor::NAME, "PollSucceeded", ctx) {
            return;
        }
        self.batcher.push(FinishedPoll { poll, result: PollResult::Answered(fetched) });
        self.write(ctx);
    }
}

impl Handler<CleanUp> for PostSinkActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: CleanUp, ctx: &mut Context<PostSinkActor>) -> ResponseFuture<()> {
        if self.context.faults.inject(PostSinkActor::NAME, "CleanUp", ctx) {
            return Box::pin(std::future::ready(()));
        }
        let (context, log, warned) = (self.context.clone(), self.log.clone(), self.wal_bytes_warned.clone());
        let silences = self.silences_noted_at.clone();
        Box::pin(async move {
            // A step that runs out of time is rolled back as a whole.
            let _ = tokio::time::timeout(CLEAN_WITHIN, clean(&context, &log)).await;
            if context.fleet.owns(Shard::COMMON) && is_silence_due(&context, &silences) {
                let _ = tokio::time::timeout(CLEAN_WITHIN, note_silences(&context, &log)).await;
            }
            let _ = tokio::time::timeout(CLEAN_WITHIN, tend_history(&context, &log)).await;
            let _ = tokio::time::timeout(CLEAN_WITHIN, tend(&context, &log, &warned)).await;
        })
    }
}

/// Whether it is time to look for silent sources, which reads all of them.
fn is_silence_due(context: &PipelineContext, noted_at: &AtomicU64) -> bool {
    let (now, last) = (context.clock.monotonic().as_secs().max(1), noted_at.load(Ordering::Relaxed));
    let is_due = last == 0 || now >= last + SILENCES_EVERY.as_secs();
    if is_due {
        noted_at.store(now, Ordering::Relaxed);
    }
    is_due
}

/// Number of rows that the clean-up may still remove today.
async fn rows_left(context: &PipelineContext) -> Result<u64, StoreError> {
    let monotonic = context.clock.monotonic();
    if let Some(left) = context.cleaning.lock().left(monotonic) {
        return Ok(left);
    }
    // Counting takes a while, so only days that remove many posts do it, once.
    let posts = retry_while_unavailable(|| context.store.count_posts()).await?;
    let mut cleaning = context.cleaning.lock();
    cleaning.note_stored(posts, context.policy().article_age_max);
    Ok(cleaning.left(monotonic).unwrap_or(0))
}

/// Cleans in small steps, so that other writes to the store do not wait long (s901–s904).
async fn clean(context: &PipelineContext, log: &Logger) {
    let PipelineContext { store, store_watch, timeline, cleaning, .. } = context;
    if let Err(cause) = timeline.read_trust(&**store, store_watch).await {
        return error!(log, "clean-up failed"; "error" => %cause);
    }
    timeline.note_trusted(&**store).await;
    // One node cleans for all.
    if !context.fleet.owns(Shard::COMMON) {
        return;
    }
    if let Err(cause) = context.fleet.clean().await {
        error!(log, "clean-up failed"; "error" => %cause);
    }
    let cutoffs = cutoffs(&context.policy(), timeline.ages_at(context.clock.now()));
    let mut total = Cleaned::default();
    for _ in 0..CLEAN_STEPS_MAX {
        let rows = match rows_left(context).await {
            Ok(left) => u32::try_from(left).unwrap_or(CLEAN_ROWS).min(CLEAN_ROWS),
            Err(cause) => {
                error!(log, "clean-up failed"; "error" => %cause);
                return;
            }
        };
        if rows == 0 {
            if cleaning.lock().tell_once() {
                warn!(log, "clean-up bounded"; "removed" => cleaning.lock().removed(),
                    "reason" => "the clean-up removes no more than three days' worth of posts in a day");
            }
            break;
        }
        // Not by the store watch: the end of our time for it would look like the end of an outage.
        match retry_while_unavailable(|| store.clean(cutoffs, rows)).await {
            Ok(step) => {
                cleaning.lock().note_removed(step.articles + step.posts);
                total.articles += step.articles;
                total.posts += step.posts;
                total.hashes += step.hashes;
                total.more = step.more;
            }
            Err(cause) => {
                error!(log, "clean-up failed"; "error" => %cause);
                return;
            }
        }
        if !total.more {
            break;
        }
    }
    if total.articles + total.posts + total.hashes > 0 {
        info!(log, "cleaned up"; "articles" => total.articles, "posts" => total.posts, "hashes" => total.hashes,
            "more" => total.more);
    }
}

/// Stores the sums of polls by hour, and removes old polls from the history.
async fn tend_history(context: &PipelineContext, log: &Logger) {
    let PipelineContext { store, clock, poll_hours, timeline, .. } = context;
    let tending = async {
        poll_hours.store(&**store, clock.now()).await?;
        if !context.fleet.owns(Shard::COMMON) {
            return Ok(0);
        }
        let now = timeline.ages_at(clock.now());
        store.clean_poll_hours(hours_since(now)).await?;
        let bounds = history_bounds(&context.policy().history, now);
        let mut removed = 0;
        for _ in 0..CLEAN_STEPS_MAX {
            let step = store.clean_polls(bounds, HISTORY_ROWS).await?;
            removed += step;
            if step < u64::from(HISTORY_ROWS) {
                break;
            }
        }
        Ok::<u64, StoreError>(removed)
    };
    match tending.await {
        Ok(0) => {}
        Ok(removed) => debug!(log, "history cleaned up"; "polls" => removed),
        // The parts that cannot do without the store report it.
        Err(cause) if cause.is_passing() => {}
        Err(cause) => error!(log, "clean-up failed"; "error" => %cause),
    }
}

/// Gives free space of the store back, and warns of a write-ahead log that cannot be emptied: once, and again each time
/// that it has doubled.
async fn tend(context: &PipelineContext, log: &Logger, warned: &AtomicU64) {
    let upkeep = match context.store.tend().await {
        Ok(upkeep) => upkeep,
        // The parts that cannot do without the store report it.
        Err(cause) if cause.is_passing() => return,
        Err(cause) => return error!(log, "upkeep of the store failed"; "error" => %cause),
    };
    if upkeep.freed_bytes > 0 {
        debug!(log, "store shrunk"; "bytes" => upkeep.freed_bytes);
    }
    let last = warned.load(Ordering::Relaxed);
    if !upkeep.is_wal_held {
        if last > 0 {
            info!(log, "write-ahead log emptied"; "bytes" => upkeep.wal_bytes);
        }
        warned.store(0, Ordering::Relaxed);
    } else if last == 0 || upkeep.wal_bytes >= 2 * last {
        warn!(log, "write-ahead log grows"; "bytes" => upkeep.wal_bytes,
            "reason" => "a reader of the database file, such as a backup or an sqlite3 shell, has not ended its transaction");
        warned.store(upkeep.wal_bytes, Ordering::Relaxed);
    }
}
