//! The pipeline: a scheduler that knows what is due, an actor for each host that is asked, a pool that fetches, a sink
//! that stores what was found, and a tracker of what failed.
//!
//! Actors speak to each other by message and decide by asking `rules`; what they know can be rebuilt from the store. A
//! source that is handed out travels as an `InFlightPoll`, which comes back to the scheduler whatever happens to it,
//! so that a crash anywhere loses no source.

mod actor_kind;
mod admission;
mod context;
pub mod control;
mod due_index;
mod environment;
mod events;
mod failure_tracker;
mod faults;
mod fetch;
mod history;
mod host;
mod host_table;
mod in_flight;
mod loading;
pub mod messages;
mod outcome;
mod poll;
mod post_sink;
mod record;
mod scheduler;
mod settings;
mod settle_batcher;
mod statistics;
mod store_watch;
mod topology;
mod webhooks;

pub use actor_kind::ActorKind;
pub use context::Parts;
pub use control::PipelineHandle;
pub use events::{PipelineEvent, PipelineEvents};
pub use faults::{Fault, FaultAction, FaultSettings, NotAFault};
pub use settings::{FetchSettings, PipelineSettings, SchedulerSettings};
pub use statistics::{Statistics, StatisticsView};
pub use topology::{Pipeline, Scope};
