//! The dashboard in headless Chromium, which `tests/with-browser` provides, and its requests without a browser.

mod accessibility;
mod browser;
mod daemon;
mod forms;
mod hostile;
mod keyboard;
mod live;
mod one_source;
mod pages;
mod pictures;
mod sessions;
mod source_lists;
mod visit;
mod world;

use visit::Visit;
use world::DashboardWorld;
