//! Simulated web and demo, without the internet and deterministic.
//!
//! [`web`] is the simulated web. The rest is `feedwarden demo`: the pipeline polls that web with a fast clock
//! and a temporary store (`world`), and crashes are injected. `scene` is the data of
//! a frame, [`render`] formats it as lines, `screen` handles the terminal. At the
//! end `audit` compares the store with the served entries. `fleet` is `feedwarden demo --nodes N`: several processes on
//! one PostgreSQL, some of which are killed.

mod audit;
mod counts;
mod event_log;
mod fleet;
mod host_outages;
mod quit_key;
mod render;
mod scene;
mod screen;
mod settings;
mod show;
mod stop_signals;
mod styled_line;
mod summary;
pub mod web;
mod world;

pub use counts::{HostsByState, SourcesByState};
pub use event_log::{DemoEvent, DemoEventKind};
pub use fleet::{
    FleetDemoEvent, FleetDemoEventKind, FleetDemoNode, FleetDemoPhase, FleetDemoScene, FleetDemoSettings,
    FleetDemoSummary, NodeProcessState, render_fleet, run_fleet,
};
pub use render::{Size, render};
pub use scene::{Phase, Scene, WebLoad};
pub(crate) use screen::Screen;
pub use settings::DemoSettings;
pub use show::{DemoOutput, run};
pub(crate) use stop_signals::StopSignals;
pub use summary::DemoSummary;
pub use world::DemoError;
