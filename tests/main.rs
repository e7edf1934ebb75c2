//! The integration tests, one area a file.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod api;
mod backup;
mod borders;
mod cli;
mod commands;
mod config;
mod daemon;
mod demo;
mod endurance;
mod feeds;
mod fetch;
mod fleets;
mod fuzz;
mod http;
mod once;
mod opml;
mod pages;
mod pipeline;
mod requirements;
mod robots;
mod simulated_web;
mod store;
mod supervision;
mod telemetry;
mod time_lapse;
mod x;

/// A program of `tests/children`, for what needs a process of its own.
fn child(name: &str) -> std::path::PathBuf {
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(built.exists(), "{} is not built: run `cargo test` without picking targets", built.display());
    built
}
