//! The pipeline: a scheduler, an actor for each host, a fetch pool, a post sink, a failure tracker, full texts,
//! webhooks and subscriptions at hubs (WebSub).
//!
//! Actors send each other messages and decide by `rules`; their state can be rebuilt from the store. A source that is
//! handed out travels as an `InFlightPoll`, which always returns to the scheduler, so that no crash loses a source.

mod actor_kind;
mod admission;
mod archive;
mod context;
mod deliveries;
mod environment;
mod events;
mod faults;
mod fetch;
mod fleet;
mod full_text;
mod handle;
mod host;
mod in_flight;
pub mod messages;
mod poll;
mod poll_hours;
mod scheduler;
mod settings;
mod settling;
mod side_work;
mod statistics;
mod store_watch;
mod timeline;
mod topology;
mod trials;
mod websub;

pub use crate::http::MemoryUse;
pub use actor_kind::ActorKind;
pub use admission::PollingBlockers;
pub use archive::ArchivePage;
pub use context::Parts;
pub use deliveries::WEBHOOKS_MAX;
pub use events::{PipelineEvent, PipelineEvents};
pub use faults::{Fault, FaultAction, FaultSettings, NotAFault};
pub use fleet::{
    Fleet, FleetAnswer, FleetCallError, FleetError, FleetRequest, FleetView, IncomingCall, NodeReport, NodeSettings,
};
pub use handle::PipelineHandle;
pub use host::HostCounts;
pub use messages::{ScheduleState, ScheduledSource, SchedulerStatus};
pub use settings::{FetchSettings, FleetSettings, PipelineSettings, SchedulerSettings, WebSubSettings};
pub use statistics::{Statistics, StatisticsView};
pub use topology::{Pipeline, Scope};
pub use trials::Trial;
pub use websub::{change_push_state, forget_pushes};
