//! Jobs: one action on many sources. A job first collects the sources, so that a user sees how many there are, and
//! starts when the user says so. Jobs are in memory: a restart ends them, and what they did so far stays done.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::{LabelPatch, PollRequest, RequestedPoll, Result, Service, ServiceError, SourceFilter, SourcePatch};
use crate::model::{SourceId, Timestamp};

/// Jobs that are kept; the oldest finished ones are forgotten.
const JOBS_MAX: usize = 50;
/// Jobs that collect, wait to be started or run at the same time.
const ACTIVE_MAX: usize = 10;
/// Errors that a job keeps; more are counted only.
const ERRORS_MAX: usize = 20;
/// The most sources of a job.
const SOURCES_MAX: usize = 1_000_000;
/// Sources that a job changes at the same time.
const AT_ONCE: usize = 4;

/// What a job does with each source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobAction {
    Poll,
    Enable,
    Disable { reason: Option<String> },
    Rest { reason: String },
    Wake,
    AddLabel(String),
    RemoveLabel(String),
    Remove,
}

/// Which sources a job changes.
#[derive(Clone, Debug)]
pub enum JobSelection {
    Ids(Vec<SourceId>),
    Matching(SourceFilter),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Its sources are being collected.
    Collecting,
    /// Waits to be started.
    Ready,
    Running,
    Done,
    /// Stopped by a user; what was done stays done.
    Cancelled,
    /// Its sources could not be collected.
    Failed,
}

impl JobState {
    pub fn name(self) -> &'static str {
        match self {
            JobState::Collecting => "collecting",
            JobState::Ready => "ready",
            JobState::Running => "running",
            JobState::Done => "done",
            JobState::Cancelled => "cancelled",
            JobState::Failed => "failed",
        }
    }

    fn is_active(self) -> bool {
        matches!(self, JobState::Collecting | JobState::Ready | JobState::Running)
    }
}

/// A job as it is now.
#[derive(Clone, Debug)]
pub struct SourceJob {
    pub id: u64,
    pub action: JobAction,
    pub state: JobState,
    pub who: String,
    pub created_at: Timestamp,
    /// Sources that were looked at while collecting.
    pub examined: usize,
    pub sources: Arc<Vec<SourceId>>,
    /// Whether more sources match than a job may have.
    pub is_cut: bool,
    /// Sources that are dealt with, failures included.
    pub done: usize,
    pub failed: usize,
    /// The first failures.
    pub errors: Vec<(Option<SourceId>, String)>,
}

/// All jobs of a daemon.
#[derive(Default)]
pub(super) struct Jobs(Mutex<BTreeMap<u64, SourceJob>>);

impl Jobs {
    fn update(&self, id: u64, change: impl FnOnce(&mut SourceJob)) {
        if let Some(job) = self.0.lock().get_mut(&id) {
            change(job);
        }
    }

    fn add(&self, mut job: SourceJob) -> Result<SourceJob> {
        let mut jobs = self.0.lock();
        if jobs.values().filter(|job| job.state.is_active()).count() >= ACTIVE_MAX {
            let text = format!("{ACTIVE_MAX} jobs are open already; start, cancel or await one of them first");
            return Err(ServiceError::Refused(text));
        }
        while jobs.len() >= JOBS_MAX {
            let Some(oldest) = jobs.values().find(|job| !job.state.is_active()).map(|job| job.id) else { break };
            jobs.remove(&oldest);
        }
        job.id = jobs.last_key_value().map_or(1, |(id, _)| id + 1);
        jobs.insert(job.id, job.clone());
        Ok(job)
    }
}

impl Service {
    /// Newest first.
    pub fn jobs(&self) -> Vec<SourceJob> {
        self.jobs.0.lock().values().rev().cloned().collect()
    }

    pub fn job(&self, id: u64) -> Result<SourceJob> {
        self.jobs.0.lock().get(&id).cloned().ok_or_else(|| ServiceError::not_found("job", id))
    }

    /// Begins to collect the sources of a job; [`Service::start_job`] then changes them.
    pub fn add_job(&self, selection: JobSelection, action: JobAction) -> Result<SourceJob> {
        valid(&action)?;
        let (sources, state) = match &selection {
            JobSelection::Ids(ids) if ids.is_empty() => return Err(ServiceError::invalid("ids", "choose a source")),
            JobSelection::Ids(ids) => (ids.clone(), JobState::Ready),
            JobSelection::Matching(_) => (Vec::new(), JobState::Collecting),
        };
        let job = self.jobs.add(SourceJob {
            id: 0,
            action,
            state,
            who: self.actor.who.clone(),
            created_at: self.now(),
            examined: sources.len(),
            sources: Arc::new(sources),
            is_cut: false,
            done: 0,
            failed: 0,
            errors: Vec::new(),
        })?;
        if let JobSelection::Matching(filter) = selection {
            let (service, id) = (self.clone(), job.id);
            tokio::spawn(async move { service.collect(id, &filter).await });
        }
        Ok(job)
    }

    /// Starts a job whose sources are collected. It runs on the thread of the caller, which needs a local set of tasks, as
    /// the threads of the listeners have.
    pub fn start_job(&self, id: u64) -> Result<SourceJob> {
        self.job(id)?;
        let mut started = None;
        self.jobs.update(id, |job| {
            if job.state == JobState::Ready {
                job.state = JobState::Running;
                started = Some(job.clone());
            }
        });
        let Some(job) = started else {
            return Err(ServiceError::Refused(format!("job {id} is {}, not ready", self.job(id)?.state.name())));
        };
        let service = self.clone();
        tokio::task::spawn_local(async move { service.run_job(job.id, job.sources, job.action).await });
        self.job(id)
    }

    /// Stops a job before its next source.
    pub fn cancel_job(&self, id: u64) -> Result<SourceJob> {
        self.job(id)?;
        self.jobs.update(id, |job| {
            if job.state.is_active() {
                job.state = JobState::Cancelled;
            }
        });
        self.job(id)
    }

    async fn collect(&self, id: u64, filter: &SourceFilter) {
        let progress = |examined| self.jobs.update(id, |job| job.examined = examined);
        let found = self.collect_source_ids(filter, SOURCES_MAX, progress).await;
        self.jobs.update(id, |job| match found {
            _ if job.state != JobState::Collecting => {}
            Ok(found) => {
                (job.state, job.examined) = (JobState::Ready, found.examined);
                (job.sources, job.is_cut) = (Arc::new(found.ids), !found.is_complete);
            }
            Err(error) => {
                job.state = JobState::Failed;
                job.errors.push((None, error.to_string()));
            }
        });
    }

    async fn run_job(&self, id: u64, sources: Arc<Vec<SourceId>>, action: JobAction) {
        let next = Arc::new(AtomicUsize::new(0));
        let mut workers = JoinSet::new();
        for _ in 0..AT_ONCE {
            let (service, sources, action, next) = (self.clone(), sources.clone(), action.clone(), next.clone());
            workers.spawn_local(async move {
                while let Some(source) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if !service.job(id).is_ok_and(|job| job.state == JobState::Running) {
                        break;
                    }
                    let outcome = service.act(*source, &action).await;
                    service.jobs.update(id, |job| note(job, *source, outcome));
                }
            });
        }
        workers.join_all().await;
        self.jobs.update(id, |job| {
            if job.state == JobState::Running {
                job.state = JobState::Done;
            }
        });
    }

    async fn act(&self, id: SourceId, action: &JobAction) -> Result<()> {
        let labels = |labels: LabelPatch| SourcePatch { labels, ..SourcePatch::default() };
        match action {
            JobAction::Poll => match self.poll_source(id, PollRequest::default()).await? {
                RequestedPoll::Refused { reason } => Err(ServiceError::Refused(reason)),
                RequestedPoll::Done(_) | RequestedPoll::Scheduled(_) => Ok(()),
            },
            JobAction::Enable => self.enable_source(id, None).await.map(drop),
            JobAction::Disable { reason } => self.disable_source(id, None, reason.clone()).await.map(drop),
            JobAction::Rest { reason } => self.rest_source(id, None, reason).await.map(drop),
            JobAction::Wake => self.wake_source(id, None).await.map(drop),
            JobAction::AddLabel(label) => {
                let patch = labels(LabelPatch { add: vec![label.clone()], ..LabelPatch::default() });
                self.patch_source(id, None, &patch).await.map(drop)
            }
            JobAction::RemoveLabel(label) => {
                let patch = labels(LabelPatch { remove: vec![label.clone()], ..LabelPatch::default() });
                self.patch_source(id, None, &patch).await.map(drop)
            }
            JobAction::Remove => self.remove_source(id, None).await,
        }
    }
}

fn note(job: &mut SourceJob, source: SourceId, outcome: Result<()>) {
    job.done += 1;
    if let Err(error) = outcome {
        job.failed += 1;
        if job.errors.len() < ERRORS_MAX {
            job.errors.push((Some(source), error.to_string()));
        }
    }
}

fn valid(action: &JobAction) -> Result<()> {
    let missing = |field: &str, text: &str| Err(ServiceError::invalid(field, text));
    match action {
        JobAction::Rest { reason } if reason.trim().is_empty() => missing("reason", "a rest needs a reason"),
        JobAction::AddLabel(label) | JobAction::RemoveLabel(label) if label.trim().is_empty() => {
            missing("label", "write a label")
        }
        _ => Ok(()),
    }
}
