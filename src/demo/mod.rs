//! Simulated web and demo, without the internet and deterministic.
//!
//! [`web`] is the simulated web. The rest is `feedwarden demo`: the pipeline polls that web with a fast clock
//! and a temporary store (`world`), and crashes are injected. `scene` is the data of
//! a frame, [`render`] formats it as lines, `screen` handles the terminal. At the
//! end `audit` compares the store with the served entries.

mod audit;
mod census;
mod chronicle;
mod director;
mod render;
mod scene;
mod screen;
mod settings;
mod show;
mod summary;
pub mod web;
mod world;

pub use census::{HostCensus, SourceCensus};
pub use chronicle::{Event, EventKind};
pub use render::{Size, render};
pub use scene::{Manners, Phase, Scene};
pub(crate) use screen::Screen;
pub use settings::DemoSettings;
pub use show::{Stage, run};
pub use summary::Summary;
pub use world::DemoError;
