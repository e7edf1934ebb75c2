//! The dashboard in headless Chromium, which `tests/with-browser` provides, and its requests without a browser.

mod accessibility;
mod browser;
mod forms;
mod keyboard;
mod live;
mod pages;
mod sessions;
mod visit;
mod world;

use visit::Visit;
use world::DashboardWorld;
