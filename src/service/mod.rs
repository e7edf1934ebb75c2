//! The use cases: what a user or program can ask of the daemon, whatever the way in (API, command line, import).
//!
//! Each function reads from top to bottom: validate, read, decide by `rules`, write on the version that was read,
//! notify the scheduler. Nothing here knows HTTP, JSON or an actor: the pipeline is reached through its handle alone.

mod access;
mod accounts;
mod articles;
mod audit;
mod backfill;
mod canonical;
mod events;
mod explanation;
mod fleet;
mod health;
mod history;
mod host_activity;
mod host_robots;
mod hosts;
mod jobs;
mod overview;
mod pausing;
mod polls;
mod posts;
mod quarantine;
mod queries;
mod readiness;
mod sinks;
mod sort_cache;
mod sorted_sources;
mod source_settings;
mod sources;
mod webhooks;
mod websub;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::actors::PipelineHandle;
use crate::clock::Clock;
use crate::model::{Actor, HostKey, SettledPoll, SourceId, Timestamp, UserId};
use crate::store::{Store, StoreError};

pub use crate::rules::subscription::Verification;
pub use audit::{own_record, own_user, user_of};
pub use backfill::{BACKFILL_PAGES_MAX, BackfillEnd, BackfillReport, BackfillRequest};
pub use events::{EventFilter, FoundEvents};
pub use explanation::{SourceExplanation, WaitTerm};
pub use host_activity::HOST_REQUESTS_MAX;
pub use hosts::{HoldEnd, HostCondition, HostStatus};
pub use jobs::{JobAction, JobSelection, JobState, SourceJob};
pub use overview::{Overview, SilentSource, SilentSources};
pub use polls::{Outlook, PollRequest, RequestedPoll};
pub use posts::{FoundPosts, PostFilter};
pub use quarantine::QuarantinedRows;
pub use queries::{FoundSources, SourceDetails, SourceFilter};
pub use sorted_sources::{
    COLLECTED_MAX, CollectedIds, SORT_EXAMINED_MAX, SORTED_MAX, SortedSources, SourceSort, SourceSortKey,
};
pub use source_settings::{LabelPatch, NewSourceRequest, SourcePatch};
pub use sources::{AddedSource, FirstPoll, ImportedList, add_sources, import_change};
pub use webhooks::{NewWebhookRequest, WebhookFigures, WebhookPatch};
pub use websub::{CallbackAnswer, PushCheck, PushOutcome};

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("there is no {what} {id}")]
    NotFound { what: &'static str, id: String },
    /// A field is wrong. The text never repeats a value that may be secret.
    #[error("{detail}")]
    Invalid { field: String, detail: String },
    /// The source does not have the version that the client named.
    #[error("the source was changed meanwhile; it has version {version} now")]
    Conflict { version: i64 },
    #[error("source {0} has the same URL and type")]
    Duplicate(SourceId),
    #[error("source {0} has neither a login nor headers")]
    NoAccess(SourceId),
    #[error("user {0} has no X key")]
    NoKey(UserId),
    #[error("unknown host: {0}")]
    UnknownHost(HostKey),
    #[error("not a host name")]
    NoHostName,
    #[error("no source has this label")]
    UnknownLabel,
    /// A name that must be unique is taken.
    #[error("{detail}")]
    Taken { field: &'static str, detail: String },
    #[error("{0}")]
    Refused(String),
    /// A new source was tried and not kept, because it cannot be read.
    #[error("{detail}")]
    DoesNotWork { field: &'static str, detail: String, poll: Option<Box<SettledPoll>> },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ServiceError {
    fn not_found(what: &'static str, id: impl fmt::Display) -> ServiceError {
        ServiceError::NotFound { what, id: id.to_string() }
    }

    fn invalid(field: impl Into<String>, detail: impl fmt::Display) -> ServiceError {
        ServiceError::Invalid { field: field.into(), detail: detail.to_string() }
    }

    /// The same error with the name of its field inside another one.
    fn within(self, outer: &str) -> ServiceError {
        match self {
            ServiceError::Invalid { field, detail } => {
                ServiceError::Invalid { field: format!("{outer}{field}"), detail }
            }
            other => other,
        }
    }
}

/// The result of a use case.
pub type Result<T> = std::result::Result<T, ServiceError>;

/// The use cases of one daemon. Clones share everything.
#[derive(Clone)]
pub struct Service {
    /// With connections of its own.
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    pipeline: PipelineHandle,
    /// Held while polling is being paused or resumed, so that store and scheduler end in the same state.
    pausing: Arc<tokio::sync::Mutex<()>>,
    /// When this daemon began to serve, by the monotonic clock.
    started: Duration,
    /// Who the changes are recorded for.
    actor: Arc<Actor>,
    /// Number of changes by users and programs since the start.
    changes: Arc<AtomicU64>,
    jobs: Arc<jobs::Jobs>,
    sort_cache: Arc<sort_cache::SortCache>,
}

impl Service {
    /// Changes are recorded as those of this actor, unless [`Service::acting_for`] names another one.
    pub fn new(pipeline: PipelineHandle, actor: Actor) -> Service {
        let (store, clock) = (pipeline.store(), pipeline.clock().clone());
        let store = store.for_api().unwrap_or_else(|| store.clone());
        let (started, actor) = (clock.monotonic(), Arc::new(actor));
        Service {
            started,
            store,
            clock,
            pipeline,
            pausing: Arc::default(),
            actor,
            changes: Arc::default(),
            jobs: Arc::default(),
            sort_cache: Arc::default(),
        }
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// When this daemon began to serve, by the present clock.
    pub fn started_at(&self) -> Timestamp {
        self.now() - self.uptime()
    }

    /// Time since this daemon began to serve.
    pub fn uptime(&self) -> Duration {
        self.clock.monotonic().saturating_sub(self.started)
    }

    /// What only actors know: counters, events, the supervision tree, injected faults.
    pub fn pipeline(&self) -> &PipelineHandle {
        &self.pipeline
    }
}
