//! How the scheduler learns of sources: all of them at its start, page by page; some of them when they changed.

use std::collections::HashSet;
use std::sync::Arc;

use actix::fut::WrapFuture;
use actix::{ActorFutureExt, AsyncContext, Context};
use slog::error;

use super::context::PipelineContext;
use super::scheduler::SchedulerActor;
use super::topology::Scope;
use crate::model::{HostKey, Settled, Settlement, Source, SourceId};
use crate::rules::due::{self, NextPoll, interval};
use crate::rules::jitter::{jittered_last_polled, wants_jitter};
use crate::sources::kind;
use crate::store::StoreError;

/// How many sources are read at once.
const PAGE: u32 = 1000;

/// A source, as far as the scheduler cares.
pub(super) struct Scheduled {
    pub(super) id: SourceId,
    pub(super) host: Option<HostKey>,
    pub(super) next: NextPoll,
}

/// When a source is polled next, in this scope. Holds of hosts are for the hosts to know.
pub(super) fn next_poll(source: &Source, scope: Scope, context: &PipelineContext) -> NextPoll {
    let (now, policy) = (context.clock.now(), context.policy());
    let polled_already = source.state.last_polled.is_some_and(|polled| polled >= context.started_at);
    if scope != (Scope::Once { ignores_due_times: true }) || polled_already {
        return due::next_poll(source, None, &policy, now);
    }
    // A wish sets aside what the source itself would wait for, and nothing that a publisher asked for.
    let mut wanted = source.clone();
    wanted.state.poll_requested_at = Some(context.started_at);
    due::next_poll(&wanted, None, &policy, now)
}

/// The host that is asked for a source.
pub(super) fn host_of(source: &Source, context: &PipelineContext) -> Option<HostKey> {
    kind(source.settings.source_type).host(&source.settings.url, &context.type_settings)
}

impl SchedulerActor {
    /// Reads all sources, beside everything else.
    pub(super) fn load(&mut self, ctx: &mut Context<SchedulerActor>) {
        self.load_page(None, 0, ctx);
    }

    fn load_page(&mut self, after: Option<SourceId>, count: usize, ctx: &mut Context<SchedulerActor>) {
        let (context, scope) = (self.context.clone(), self.scope);
        let reading = async move { read_page(&context, scope, after).await };
        ctx.spawn(reading.into_actor(self).map(move |page, scheduler, ctx| match page {
            Ok(page) => match page.last().map(|last| last.id) {
                None => scheduler.loaded(count, ctx),
                last => {
                    let count = count + page.len();
                    scheduler.learn(page, ctx);
                    scheduler.load_page(last, count, ctx);
                }
            },
            Err(cause) => {
                error!(scheduler.log, "sources not read"; "error" => %cause);
                let again = scheduler.context.clock.now() + scheduler.context.settings.scheduler.tick;
                let waiting = scheduler.context.clock.until(again).into_actor(scheduler);
                ctx.spawn(waiting.map(move |(), scheduler, ctx| scheduler.load_page(after, count, ctx)));
            }
        }));
    }

    /// Reads changed sources anew, one batch after the other: of two readings of one source the later one counts.
    pub(super) fn refresh(&mut self, ctx: &mut Context<SchedulerActor>) {
        if self.is_refreshing || self.changed.is_empty() {
            return;
        }
        self.is_refreshing = true;
        let ids: Vec<SourceId> = self.changed.drain().collect();
        if !self.is_loaded {
            // A page that was read before the change may be learned after it.
            self.changed_while_loading.extend(&ids);
        }
        let (context, scope) = (self.context.clone(), self.scope);
        let reading = async move {
            let found =
                context.store_watch.retry_while_unavailable(|| context.store.sources_to_poll(ids.clone())).await?;
            let known: Vec<_> = found.into_iter().map(|ready| scheduled(&ready.source, scope, &context)).collect();
            let there: HashSet<SourceId> = known.iter().map(|known| known.id).collect();
            let gone: Vec<SourceId> = ids.into_iter().filter(|id| !there.contains(id)).collect();
            Ok::<_, StoreError>((known, gone))
        };
        ctx.spawn(reading.into_actor(self).map(|read, scheduler, ctx| {
            scheduler.is_refreshing = false;
            match read {
                Ok((known, gone)) => {
                    scheduler.forget(gone);
                    scheduler.learn(known, ctx);
                }
                Err(cause) => error!(scheduler.log, "changed sources not read"; "error" => %cause),
            }
            scheduler.refresh(ctx);
        }));
    }
}

async fn read_page(
    context: &Arc<PipelineContext>,
    scope: Scope,
    after: Option<SourceId>,
) -> Result<Vec<Scheduled>, StoreError> {
    let mut sources = context.store_watch.retry_while_unavailable(|| context.store.list_sources(after, PAGE)).await?;
    if scope == Scope::Daemon {
        jitter(context, &mut sources).await?;
    }
    Ok(sources.iter().map(|source| scheduled(source, scope, context)).collect())
}

fn scheduled(source: &Source, scope: Scope, context: &PipelineContext) -> Scheduled {
    Scheduled { id: source.id, host: host_of(source, context), next: next_poll(source, scope, context) }
}

/// Sources that were there at the start and have never been polled are spread over an interval, once (s507). Those that
/// were added since are due at once (s508), also for a scheduler that was started again.
async fn jitter(context: &PipelineContext, sources: &mut [Source]) -> Result<(), StoreError> {
    let is_new = |source: &&mut Source| {
        source.state.enabled && wants_jitter(&source.state) && source.created_at < context.started_at
    };
    let mut jittered: Vec<&mut Source> = sources.iter_mut().filter(is_new).collect();
    if jittered.is_empty() {
        return Ok(());
    }
    let (now, policy) = (context.clock.now(), context.policy());
    for source in &mut jittered {
        let polled = jittered_last_polled(now, interval(source, &policy), context.dice.roll());
        source.state.last_polled = Some(polled);
    }
    let settlement = |source: &&mut Source| Settlement {
        source_id: source.id,
        version: source.version,
        state: source.state.clone(),
        posts: Vec::new(),
        left_out: Vec::new(),
        host: None,
        settled_at: now,
    };
    let answers = context
        .store_watch
        .retry_while_unavailable(|| context.store.settle(jittered.iter().map(settlement).collect()))
        .await?;
    for (source, settled) in jittered.into_iter().zip(answers) {
        match settled {
            Settled::Written { version, .. } => source.version = version,
            Settled::Stale(fresh) => *source = *fresh,
            Settled::Gone => source.state.enabled = false,
        }
    }
    Ok(())
}
