//! A little world to show, test and measure Feedwarden in, without the internet and the same on every machine.
//!
//! [`web`] is the little web. The rest is the show (`feedwarden demo`): the real pipeline polls that web by a fast clock
//! from a temporary store (`world`), crashes are injected on purpose, and whoever watches sees it live. `scene` is what
//! there is to see, [`render`] makes lines of it and knows no terminal, `screen` knows the terminal and nothing else. At the
//! end `audit` compares the store with what the web served.

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
