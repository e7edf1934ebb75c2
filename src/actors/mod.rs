//! The pipeline: a scheduler, an actor for each host, a fetch pool, a post sink, a failure tracker and webhooks.
//!
//! Actors send each other messages and decide by `rules`; their state can be rebuilt from the store. A source that is
//! handed out travels as an `InFlightPoll`, which always returns to the scheduler, so that no crash loses a source.

mod admission;
mod context;
pub mod control;
mod environment;
mod faults;
mod fetch;
mod histogram;
mod history;
mod host;
mod in_flight;
pub mod messages;
mod poll;
mod scheduler;
mod settings;
mod settling;
mod statistics;
mod store_watch;
mod topology;
mod webhooks;

pub use context::Parts;
pub use control::PipelineHandle;
pub use faults::{Fault, FaultAction, FaultSettings, NotAFault};
pub use settings::{FetchSettings, PipelineSettings, SchedulerSettings};
pub use statistics::{PipelineEvent, Statistics, StatisticsView};
pub use topology::{Pipeline, Scope};
