//! Keeps the intervals that follow from how often sources publish within the budget of requests (`rules::budget`).

use std::time::Duration;

use actix::fut::WrapFuture;
use actix::{ActorFutureExt, AsyncContext, Context};
use slog::{debug, error, info, warn};

use super::SchedulerActor;
use crate::model::Source;
use crate::rules::AdaptivePolicy;
use crate::rules::budget::{Demand, Demands};
use crate::rules::interval::Scale;

/// Time between two counts of the sources of all nodes, by the monotonic clock.
const COUNT_EVERY: Duration = Duration::from_secs(600);

/// What the scheduler knows about the budget beside the sources on its schedule.
#[derive(Default)]
pub(super) struct RequestBudget {
    /// Sources of all nodes that are not disabled; none if they are not counted.
    sources: Option<u64>,
    /// When they were counted.
    counted_at: Option<Duration>,
    is_counting: bool,
    /// Whether the budget cannot be kept, which was logged.
    is_exceeded: bool,
}

impl SchedulerActor {
    /// Computes the scale again. A source follows it from its next poll on, so that no change makes many due at once.
    pub(super) fn follow_budget(&mut self) {
        let policy = self.context.policy();
        // Without sources any scale would do, and the first ones that are read would follow it.
        let has_sources = self.index.demands().sources() > 0;
        let Some(adaptive) = policy.adaptive.as_ref().filter(|_| has_sources) else { return };
        let share = self.share(self.index.len());
        let scale = self.index.demands().scale(adaptive, policy.interval, share);
        self.set_scale(adaptive, scale);
        let exceeded = self.index.demands().missed(adaptive, policy.interval, scale);
        self.note_exceeded(adaptive, scale, exceeded.filter(|requests| *requests > scale.budget_per_hour));
    }

    /// Takes a first scale from the first sources that are read, so that their times follow it, too.
    pub(super) fn begin_budget(&mut self, sources: &[Source]) {
        let policy = self.context.policy();
        let Some(adaptive) = policy.adaptive.as_ref().filter(|adaptive| adaptive.scale.is_none()) else { return };
        let mut demands = Demands::default();
        sources.iter().for_each(|source| demands.add(Demand::of(source)));
        let scale = demands.scale(adaptive, policy.interval, self.share(sources.len()));
        if demands.sources() > 0 {
            self.set_scale(adaptive, scale);
        }
    }

    /// Counts the sources of all nodes, if the share of this one in the budget depends on it and the last count is old.
    pub(super) fn count_all_sources(&mut self, ctx: &mut Context<SchedulerActor>) {
        let now = self.context.clock.monotonic();
        let is_counted = self.budget.counted_at.is_some_and(|at| now.saturating_sub(at) < COUNT_EVERY);
        let is_needed = !self.is_loaded || self.context.fleet.is_shared();
        let has_budget = self.context.policy().adaptive.as_ref().is_some_and(|one| one.requests_per_hour.is_some());
        if is_counted || !is_needed || !has_budget || self.budget.is_counting {
            return;
        }
        self.budget.is_counting = true;
        let context = self.context.clone();
        let counting = async move { context.store.count_sources().await };
        ctx.spawn(counting.into_actor(self).map(move |counted, scheduler, _| {
            scheduler.budget.is_counting = false;
            match counted {
                Ok(counts) => {
                    scheduler.budget.sources = Some(counts.total.saturating_sub(counts.disabled));
                    scheduler.budget.counted_at = Some(now);
                    scheduler.follow_budget();
                }
                // The next tick counts again.
                Err(cause) => error!(scheduler.log, "sources not counted"; "error" => %cause),
            }
        }));
    }

    /// The share of these sources in the budget: by their number among those of all nodes, and while sources are being
    /// read among those that will be there.
    fn share(&self, sources: usize) -> f64 {
        let is_all = self.is_loaded && !self.context.fleet.is_shared();
        match self.budget.sources.filter(|_| !is_all) {
            Some(all) => (sources as f64 / (all.max(1)) as f64).min(1.0),
            None => 1.0,
        }
    }

    fn set_scale(&self, adaptive: &AdaptivePolicy, scale: Scale) {
        if adaptive.scale.is_none_or(|present| present.differs_from(scale)) {
            debug!(self.log, "intervals scaled"; "budget_per_hour" => scale.budget_per_hour.round(),
                "sources" => self.index.demands().sources());
            self.context.set_scale(scale);
        }
    }

    /// Says once that the sources make more requests than the budget allows.
    fn note_exceeded(&mut self, adaptive: &AdaptivePolicy, scale: Scale, requests: Option<f64>) {
        let requests = requests.filter(|_| self.is_loaded && adaptive.requests_per_hour.is_some());
        match requests {
            Some(requests) if !self.budget.is_exceeded => warn!(self.log, "budget of requests exceeded";
                "requests_per_hour" => requests.round(), "budget_per_hour" => scale.budget_per_hour.round(),
                "reason" => "source.interval-max-minutes, and the default interval of sources that have not been read, \
                    need more requests than source.requests-per-hour allows"),
            None if self.budget.is_exceeded => info!(self.log, "budget of requests kept";
                "budget_per_hour" => scale.budget_per_hour.round()),
            _ => {}
        }
        self.budget.is_exceeded = requests.is_some();
    }
}
