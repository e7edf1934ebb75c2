//! Reads sources into the schedule: all of them at the start, page by page; changed ones later.

use std::collections::HashSet;
use std::sync::Arc;

use actix::fut::WrapFuture;
use actix::{ActorFutureExt, AsyncContext, Context};
use slog::{error, info, warn};

use super::SchedulerActor;
use crate::actors::context::PipelineContext;
use crate::actors::messages::ScheduleState;
use crate::actors::topology::Scope;
use crate::model::{HostKey, Settled, Settlement, Shard, SlotCursor, Source, SourceId, Timestamp};
use crate::rules::budget::Demand;
use crate::rules::due::{self, NextPoll, Wait};
use crate::rules::interval::interval;
use crate::rules::jitter::{jittered_last_polled, wants_jitter};
use crate::rules::shown_url::shown_url;
use crate::rules::spread::spread;
use crate::rules::stored_times::correct_source;
use crate::sources::{host_shard, kind};
use crate::store::StoreError;

/// Sources that are read at once.
const PAGE: u32 = 1000;

/// What the schedule needs of a source.
struct DueSource {
    id: SourceId,
    host: Option<HostKey>,
    shard: Shard,
    demand: Demand,
    next: NextPoll,
}

/// Where the loading of shards has come to: ranges of slots that are left, the next one last.
struct LoadPlace {
    ranges: Vec<(SlotCursor, u16)>,
    /// Whether other rules are the reason: sources that they make due at once are spread (p19).
    spreads: bool,
}

impl LoadPlace {
    /// Before the first source of these shards, which are in order. Neighbours are read together.
    fn new(mut shards: Vec<Shard>, spreads: bool) -> LoadPlace {
        shards.sort_unstable();
        let mut ranges: Vec<(SlotCursor, u16)> = Vec::new();
        for shard in shards {
            match ranges.last_mut() {
                Some((_, last)) if last.checked_add(1) == Some(SlotCursor::before(shard).slot) => {
                    *last = shard.last_slot();
                }
                _ => ranges.push((SlotCursor::before(shard), shard.last_slot())),
            }
        }
        ranges.reverse();
        LoadPlace { ranges, spreads }
    }

    /// The next page: behind this place, up to this slot.
    fn next(&self) -> Option<(SlotCursor, u16)> {
        self.ranges.last().copied()
    }

    /// Behind a page that ended here; none at the end of a range.
    fn behind(mut self, last: Option<SlotCursor>) -> LoadPlace {
        if let (Some((_, last_slot)), Some(last)) = (self.ranges.pop(), last) {
            self.ranges.push((last, last_slot));
        }
        self
    }
}

/// When a source is polled next, in this scope. The hosts themselves know whether they are held.
pub(super) fn next_poll(source: &Source, scope: Scope, context: &PipelineContext) -> NextPoll {
    let (now, policy) = (context.clock.now(), context.policy());
    let polled_already = source.state.last_polled.is_some_and(|polled| polled >= context.started_at());
    if scope != (Scope::Once { ignores_due_times: true }) || polled_already {
        return due::next_poll(source, None, &policy, now);
    }
    // A request sets aside the waits of the source itself, and no wait that its publisher asked for.
    let mut wanted = source.clone();
    wanted.state.poll_requested_at = Some(context.started_at());
    due::next_poll(&wanted, None, &policy, now)
}

pub(super) fn host_of(source: &Source, context: &PipelineContext) -> Option<HostKey> {
    kind(source.settings.source_type).host(&source.settings.url, &context.type_settings)
}

impl SchedulerActor {
    /// Reads all sources of this node, while everything else goes on.
    pub(super) fn load(&mut self, ctx: &mut Context<SchedulerActor>) {
        self.load_shards(self.context.fleet.shards(), ctx);
    }

    /// Reads all sources again, because the rules have changed.
    pub(super) fn load_by_other_rules(&mut self, ctx: &mut Context<SchedulerActor>) {
        self.count_all_sources(ctx);
        self.follow_budget();
        self.loads += 1;
        self.load_page(LoadPlace::new(self.context.fleet.shards(), true), 0, ctx);
    }

    /// Reads the sources of these shards.
    pub(super) fn load_shards(&mut self, shards: Vec<Shard>, ctx: &mut Context<SchedulerActor>) {
        self.count_all_sources(ctx);
        self.loads += 1;
        self.load_page(LoadPlace::new(shards, false), 0, ctx);
    }

    /// Takes the sources of shards that another node has from now on off the schedule. Polls in flight end by
    /// themselves.
    pub(super) fn leave_shards(&mut self, shards: &[Shard]) {
        if shards.is_empty() {
            return;
        }
        let settings = &self.context.type_settings;
        let gone = self.index.remove_hosts(|host| shards.contains(&host_shard(host, settings)));
        gone.into_iter().for_each(|id| self.end_forced(id));
    }

    fn load_page(&mut self, place: LoadPlace, count: usize, ctx: &mut Context<SchedulerActor>) {
        let Some((after, last_slot)) = place.next() else { return self.finish_loading(count, ctx) };
        let (context, scope) = (self.context.clone(), self.scope);
        let reading = async move {
            let moves = context.timeline.until_moved().await;
            (read_page(&context, scope, after, last_slot).await, moves)
        };
        ctx.spawn(reading.into_actor(self).map(move |(page, moves), scheduler, ctx| match page {
            Ok(_) if scheduler.has_stepped_since(moves) => scheduler.load_page(place, count, ctx),
            Ok((page, last)) => {
                let count = count + page.len();
                scheduler.begin_budget(&page);
                let due = page.iter().map(|source| due_source(source, scheduler.scope, &scheduler.context)).collect();
                scheduler.update(due, place.spreads, ctx);
                scheduler.follow_budget();
                scheduler.follow_quarantine(ctx);
                scheduler.load_page(place.behind(last), count, ctx);
            }
            Err(cause) => {
                error!(scheduler.log, "sources not read"; "error" => %cause);
                scheduler.loading_error = Some(cause.to_string());
                let again = scheduler.context.clock.now() + scheduler.context.settings.scheduler.tick;
                let waiting = scheduler.context.clock.until(again).into_actor(scheduler);
                ctx.spawn(waiting.map(move |(), scheduler, ctx| scheduler.load_page(place, count, ctx)));
            }
        }));
    }

    /// Whether the clock was set since this number of moves: rows that were read then may have times of the clock from
    /// before, and are read again.
    pub(super) fn has_stepped_since(&self, moves: u64) -> bool {
        self.context.timeline.moves_begun() != moves
    }

    /// All sources have been read.
    fn finish_loading(&mut self, count: usize, ctx: &mut Context<SchedulerActor>) {
        (self.is_loaded, self.loading_error) = (true, None);
        self.loads -= 1;
        self.follow_budget();
        self.follow_quarantine(ctx);
        info!(self.log, "sources loaded"; "count" => count, "scheduled" => self.index.counts().0);
        if count == 0 && self.scope == Scope::Daemon && !self.context.fleet.is_shared() {
            info!(self.log, "no sources"; "reason" => "nothing is polled until there are some: `feedwarden source add URL` \
                adds one, `feedwarden import FILE` the sources of an OPML file");
        }
        if self.loads == 0 {
            self.changed.extend(self.changed_while_loading.drain());
        }
        self.refresh(ctx);
        self.check_due(ctx);
    }

    /// Puts sources that were read on the schedule.
    fn update(&mut self, sources: Vec<DueSource>, spreads: bool, ctx: &mut Context<SchedulerActor>) {
        for DueSource { id, host, shard, demand, next } in sources {
            if self.index.is_in_flight(id) {
                continue;
            }
            match next.at() {
                _ if !self.context.fleet.owns(shard) => self.forget([id]),
                Some(at) if self.scope == Scope::Daemon || at <= self.context.clock.now() => {
                    let at = if spreads { self.spread_over(id, next, at) } else { at };
                    self.index.schedule(id, host, demand, at);
                }
                _ => self.index.remove(id),
            }
        }
        self.wake(ctx);
    }

    /// A later time for a source that was not due, and is due at once because its interval has become shorter (p19).
    fn spread_over(&self, id: SourceId, next: NextPoll, at: Timestamp) -> Timestamp {
        let now = self.context.clock.now();
        let is_interval = matches!(next, NextPoll::At { because: Wait::Adaptive(_) | Wait::Backoff(_), .. });
        match self.index.find(id) {
            Some((was_at, ScheduleState::Scheduled)) if is_interval && at <= now && was_at > now => {
                spread(now, at, self.context.policy().spread, self.context.dice.roll()).min(was_at)
            }
            _ => at,
        }
    }

    /// Removes sources that are no longer in the store. A poll of one that is still in flight comes back to nothing.
    pub(super) fn forget(&mut self, gone: impl IntoIterator<Item = SourceId>) {
        for id in gone {
            self.index.remove(id);
            self.end_forced(id);
        }
    }

    /// Reads changed sources again, one batch after the other: of two readings of one source the later one counts.
    pub(super) fn refresh(&mut self, ctx: &mut Context<SchedulerActor>) {
        if self.is_refreshing || self.changed.is_empty() {
            return;
        }
        self.is_refreshing = true;
        let ids: Vec<SourceId> = self.changed.drain().collect();
        if self.loads > 0 {
            // A page that was read before the change may be put on the schedule after it.
            self.changed_while_loading.extend(&ids);
        }
        let (context, scope, again) = (self.context.clone(), self.scope, ids.clone());
        let reading = async move {
            let moves = context.timeline.until_moved().await;
            let mut found =
                context.store_watch.retry_while_unavailable(|| context.store.sources_to_poll(ids.clone())).await?;
            correct(&context, found.iter_mut().map(|ready| &mut ready.source)).await?;
            let known: Vec<_> = found.into_iter().map(|ready| due_source(&ready.source, scope, &context)).collect();
            let there: HashSet<SourceId> = known.iter().map(|known| known.id).collect();
            let gone: Vec<SourceId> = ids.into_iter().filter(|id| !there.contains(id)).collect();
            Ok::<_, StoreError>((known, gone, moves))
        };
        ctx.spawn(reading.into_actor(self).map(move |read, scheduler, ctx| {
            scheduler.is_refreshing = false;
            match read {
                Ok((.., moves)) if scheduler.has_stepped_since(moves) => scheduler.changed.extend(again),
                Ok((known, gone, _)) => {
                    scheduler.forget(gone);
                    scheduler.update(known, false, ctx);
                }
                Err(cause) => {
                    error!(scheduler.log, "changed sources not read"; "error" => %cause);
                    // The next tick reads them again.
                    scheduler.changed.extend(again);
                    return;
                }
            }
            scheduler.follow_quarantine(ctx);
            scheduler.refresh(ctx);
        }));
    }
}

async fn read_page(
    context: &Arc<PipelineContext>,
    scope: Scope,
    after: SlotCursor,
    last_slot: u16,
) -> Result<(Vec<Source>, Option<SlotCursor>), StoreError> {
    let reading = || context.store.sources_in_slots(after, last_slot, PAGE);
    let (mut sources, last) = context.store_watch.retry_while_unavailable(reading).await?;
    if scope == Scope::Daemon {
        jitter(context, &mut sources).await?;
    }
    correct(context, sources.iter_mut()).await?;
    Ok((sources, last))
}

fn due_source(source: &Source, scope: Scope, context: &PipelineContext) -> DueSource {
    let (host, shard) = (host_of(source, context), Shard::of_source(&source.settings));
    DueSource { id: source.id, host, shard, demand: Demand::of(source), next: next_poll(source, scope, context) }
}

/// Spreads sources that existed at the start and have never been polled over an interval, once (s507). Sources that
/// were added since are due at once (s508), also for a scheduler that was started again.
async fn jitter(context: &PipelineContext, sources: &mut [Source]) -> Result<(), StoreError> {
    let is_new = |source: &&mut Source| {
        source.state.enabled && wants_jitter(&source.state) && source.created_at < context.started_at()
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
    store_states(context, jittered, now).await
}

/// Corrects times in the future that a clock that was ahead has stored, once for each source: the corrected row is
/// stored.
pub(super) async fn correct<'a>(
    context: &PipelineContext,
    sources: impl Iterator<Item = &'a mut Source>,
) -> Result<(), StoreError> {
    let (now, policy, step) = (context.clock.now(), context.policy(), context.timeline.last_step());
    let corrected: Vec<&mut Source> =
        sources.filter_map(|source| correct_source(source, &policy, now, step).then_some(source)).collect();
    let Some(first) = corrected.first() else { return Ok(()) };
    warn!(context.log, "stored times corrected"; "sources" => corrected.len(), "first_source_id" => first.id.0,
        "url" => shown_url(&first.settings.url),
        "reason" => "they were in the future: the clock was ahead when they were stored; the sources are due now, \
            unless a step of the clock says when they were polled");
    store_states(context, corrected, now).await
}

/// Stores the states of sources. A source that was changed meanwhile is taken as it is stored.
async fn store_states(context: &PipelineContext, sources: Vec<&mut Source>, now: Timestamp) -> Result<(), StoreError> {
    let settlement = |source: &&mut Source| {
        let claim = context.fleet.claim(Shard::of_source(&source.settings)).and_then(|claim| claim.owned());
        Settlement { claim, ..Settlement::of_state(source, now) }
    };
    let answers = context
        .store_watch
        .retry_while_unavailable(|| context.store.settle(sources.iter().map(settlement).collect()))
        .await?;
    for (source, settled) in sources.into_iter().zip(answers) {
        match settled {
            Settled::Written { version, .. } => source.version = version,
            Settled::Stale(fresh) => *source = *fresh,
            Settled::Gone => source.state.enabled = false,
            // It is spread by what was rolled for it, and stored with its first poll.
            Settled::Locked | Settled::Fenced => {}
        }
    }
    Ok(())
}
