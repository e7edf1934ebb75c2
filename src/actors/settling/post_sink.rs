//! The post sink: settles polls that were answered, and removes old posts.

use std::sync::Arc;
use std::time::Duration;

use actix::fut::WrapFuture;
use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, ResponseFuture, SpawnHandle};
use slog::{Logger, error, info, o};

use super::batcher::{FinishedPoll, SettleBatcher, write};
use super::outcome::{PollResult, identify};
use crate::actors::context::PipelineContext;
use crate::actors::messages::{CleanUp, PollSucceeded};
use crate::model::Cleaned;
use crate::rules::cleanup::cutoffs;

/// How long a batch waits for polls in flight: a transaction costs as much as twenty polls in it.
const GATHER: Duration = Duration::from_millis(5);
/// Rows of each table that one step of cleaning removes.
const CLEAN_ROWS: u32 = 1000;
/// The most steps in one tick; the rest waits for the next tick.
const CLEAN_STEPS_MAX: usize = 50;
/// The longest time that the polls of a tick wait for its cleaning.
const CLEAN_WITHIN: Duration = Duration::from_secs(5);

pub(in crate::actors) struct PostSinkActor {
    context: Arc<PipelineContext>,
    batcher: SettleBatcher,
    /// Set while a batch waits for more polls.
    gathering: Option<SpawnHandle>,
    log: Logger,
}

impl PostSinkActor {
    /// Name in fault rules.
    const NAME: &'static str = "post-sink";

    pub(in crate::actors) fn new(context: Arc<PipelineContext>) -> PostSinkActor {
        let log = context.log.new(o!("actor" => "post sink"));
        PostSinkActor { context, batcher: SettleBatcher::default(), gathering: None, log }
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

    fn handle(&mut self, PollSucceeded { poll, mut fetched }: PollSucceeded, ctx: &mut Context<PostSinkActor>) {
        if self.context.faults.inject(PostSinkActor::NAME, "PollSucceeded", ctx) {
            return;
        }
        identify(poll.source.settings.source_type, &mut fetched);
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
        let (context, log) = (self.context.clone(), self.log.clone());
        Box::pin(async move {
            // A step that runs out of time is rolled back as a whole.
            let _ = tokio::time::timeout(CLEAN_WITHIN, clean(&context, &log)).await;
        })
    }
}

/// Cleans in small steps, so that other writes to the store do not wait long (s901–s904).
async fn clean(context: &PipelineContext, log: &Logger) {
    let cutoffs = cutoffs(&context.policy(), context.clock.now());
    let mut total = Cleaned::default();
    for _ in 0..CLEAN_STEPS_MAX {
        match context.store_watch.retry_while_unavailable(|| context.store.clean(cutoffs, CLEAN_ROWS)).await {
            Ok(step) => {
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
