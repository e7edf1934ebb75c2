//! What all actors of the pipeline share: store, clock, settings, and the addresses of the other actors.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix::Addr;
use parking_lot::{Mutex, RwLock};
use slog::Logger;

use super::PipelineSettings;
use super::admission::AdmissionControl;
use super::events::PipelineEvents;
use super::faults::Faults;
use super::fetch::FetchActor;
use super::fleet::Fleet;
use super::full_text::FullTexts;
use super::host::RequestLog;
use super::messages::ForcePoll;
use super::poll_hours::PollHours;
use super::scheduler::{ForcedPoll, SchedulerActor};
use super::settling::{FailureTrackerActor, LockedSources, PostSinkActor};
use super::statistics::Statistics;
use super::store_watch::StoreWatch;
use super::timeline::Timeline;
use super::trials::Trials;
use super::websub::WebSub;
use crate::clock::Clock;
use crate::dice::Dice;
use crate::fetch::Fetcher;
use crate::model::{SourceId, Timestamp};
use crate::rules::Policy;
use crate::rules::cleanup::DailyBound;
use crate::rules::interval::Scale;
use crate::sources::TypeSettings;
use crate::store::Store;

/// What a pipeline is made of.
#[derive(Clone)]
pub struct Parts {
    /// Store of sources, posts and hosts.
    pub store: Arc<dyn Store>,
    /// Clock of the pipeline.
    pub clock: Arc<dyn Clock>,
    pub dice: Arc<dyn Dice>,
    pub fetcher: Fetcher,
    /// Settings of source types.
    pub type_settings: TypeSettings,
    /// Parameters of the rules.
    pub policy: Policy,
    /// Settings of the actors.
    pub settings: PipelineSettings,
    /// The node that this process is, if it shares its store with others.
    pub fleet: Fleet,
    /// Parent of the loggers of the actors.
    pub log: Logger,
}

pub(super) struct PipelineContext {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) dice: Arc<dyn Dice>,
    pub(super) type_settings: TypeSettings,
    policy: RwLock<Arc<Policy>>,
    pub(super) settings: PipelineSettings,
    pub(super) log: Logger,
    pub(super) timeline: Timeline,
    pub(super) fleet: Fleet,
    pub(super) cleaning: Mutex<DailyBound>,
    pub(super) statistics: Arc<Statistics>,
    pub(super) events: PipelineEvents,
    pub(super) admission: Arc<AdmissionControl>,
    pub(super) store_watch: StoreWatch,
    pub(super) locked_sources: LockedSources,
    pub(super) faults: Faults,
    pub(super) poll_hours: PollHours,
    pub(super) trials: Trials,
    pub(super) full_texts: FullTexts,
    pub(super) websub: WebSub,
    pub(super) requests: RequestLog,
    pub(super) post_sink: Addr<PostSinkActor>,
    pub(super) failure_tracker: Addr<FailureTrackerActor>,
    pub(super) scheduler: Addr<SchedulerActor>,
    pub(super) fetchers: Vec<Addr<FetchActor>>,
    pub(super) fetcher_next: AtomicUsize,
    /// Number of hosts that have sources, counted up to what an outage needs.
    hosts_polled: AtomicUsize,
}

/// Addresses of actors that do not run yet.
pub(super) struct Addresses {
    pub(super) post_sink: Addr<PostSinkActor>,
    pub(super) failure_tracker: Addr<FailureTrackerActor>,
    pub(super) scheduler: Addr<SchedulerActor>,
    pub(super) fetchers: Vec<Addr<FetchActor>>,
}

impl PipelineContext {
    pub(super) fn new(parts: Parts, addresses: Addresses) -> PipelineContext {
        let admission = Arc::new(AdmissionControl::new(parts.settings.fetch.concurrency));
        PipelineContext {
            timeline: Timeline::new(parts.clock.clone(), parts.log.clone()),
            cleaning: Mutex::default(),
            store_watch: StoreWatch::new(admission.clone(), parts.clock.clone(), parts.log.clone()),
            locked_sources: LockedSources::default(),
            faults: Faults::new(parts.settings.faults.clone()),
            poll_hours: PollHours::default(),
            trials: Trials::default(),
            full_texts: FullTexts::default(),
            websub: WebSub::new(parts.settings.websub.is_some()),
            requests: RequestLog::default(),
            store: parts.store,
            clock: parts.clock,
            dice: parts.dice,
            type_settings: parts.type_settings,
            policy: RwLock::new(Arc::new(parts.policy)),
            settings: parts.settings,
            fleet: parts.fleet,
            log: parts.log,
            statistics: Arc::default(),
            events: PipelineEvents::default(),
            admission,
            post_sink: addresses.post_sink,
            failure_tracker: addresses.failure_tracker,
            scheduler: addresses.scheduler,
            fetchers: addresses.fetchers,
            fetcher_next: AtomicUsize::new(0),
            hosts_polled: AtomicUsize::new(0),
        }
    }

    /// Start of this process, by the present clock. An earlier process that was killed could not store its last request.
    pub(super) fn started_at(&self) -> Timestamp {
        self.timeline.started_at()
    }

    pub(super) fn policy(&self) -> Arc<Policy> {
        self.policy.read().clone()
    }

    /// Follows another policy, with the scale of intervals in force until the scheduler has computed it anew.
    pub(super) fn set_policy(&self, mut policy: Policy) {
        let mut present = self.policy.write();
        if let (Some(new), Some(old)) = (&mut policy.adaptive, &present.adaptive) {
            new.scale = new.scale.or(old.scale);
        }
        *present = Arc::new(policy);
    }

    /// Takes another scale of adaptive intervals from now on.
    pub(super) fn set_scale(&self, scale: Scale) {
        let mut present = self.policy.write();
        if let Some(adaptive) = &mut Arc::make_mut(&mut *present).adaptive {
            adaptive.scale = Some(scale);
        }
    }

    /// Forces the next poll of this source past holds and `Retry-After`.
    pub(super) fn force(&self, source: SourceId) {
        let forced = ForcedPoll::new(source, self.clock.now(), self.scheduler.clone().recipient());
        self.scheduler.do_send(ForcePoll(forced));
    }

    /// Number of hosts that have sources, counted up to what an outage needs.
    pub(super) fn hosts_polled(&self) -> usize {
        self.hosts_polled.load(Ordering::Relaxed)
    }

    pub(super) fn note_hosts_polled(&self, count: usize) {
        self.hosts_polled.store(count, Ordering::Relaxed);
    }

    /// The next fetcher in turn.
    pub(super) fn fetcher(&self) -> &Addr<FetchActor> {
        let index = self.fetcher_next.fetch_add(1, Ordering::Relaxed) % self.fetchers.len();
        &self.fetchers[index]
    }
}
