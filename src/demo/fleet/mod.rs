//! `feedwarden demo --nodes N`: several daemons share one PostgreSQL and poll the simulated web, by the real clock. Some
//! are killed or suspended on purpose.
//!
//! - `settings`: the size of the demo, the web and the configuration of a node
//! - `temporary_postgres`: a server on a Unix socket, removed at the end
//! - `node_process`: a node as a child process
//! - `world`: all of these together
//! - `disturbances`: which node is killed or suspended when
//! - `poll_requests`: has sources polled more often than their interval
//! - `observer`: what happens in the fleet, from its tables
//! - `scene`, `render`: the live view
//! - `show`: runs the demo; `summary`: its result, with checks

mod disturbances;
mod node_process;
mod observer;
mod poll_requests;
mod render;
mod scene;
mod settings;
mod show;
mod summary;
mod temporary_postgres;
mod world;

pub use node_process::NodeProcessState;
pub use observer::{FleetDemoEvent, FleetDemoEventKind};
pub use render::render_fleet;
pub use scene::{FleetDemoNode, FleetDemoPhase, FleetDemoScene};
pub use settings::FleetDemoSettings;
pub use show::run_fleet;
pub use summary::FleetDemoSummary;
pub(super) use temporary_postgres::POSTGRES_VERSION_MIN;
