//! The integration tests, one area a file.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod api;
mod backup;
mod borders;
mod cli;
mod commands;
mod config;
mod daemon;
mod dashboard;
mod dashboard_pages;
mod dashboard_views;
mod demo;
mod endurance;
mod feeds;
mod fetch;
mod first_run;
mod fleets;
mod fuzz;
mod http;
mod intervals;
mod once;
mod opml;
mod pages;
mod pipeline;
mod requirements;
mod robots;
mod simulated_web;
mod sinks;
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

/// Runs a command in this directory, and keeps it away from the directories of the user who runs the tests.
fn in_directory<'a>(
    command: &'a mut std::process::Command,
    directory: &std::path::Path,
) -> &'a mut std::process::Command {
    for variable in [
        "HOME",
        "XDG_STATE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR",
        "RUNTIME_DIRECTORY",
        "STATE_DIRECTORY",
        "FEEDWARDEN_CONFIG",
    ] {
        command.env_remove(variable);
    }
    command.current_dir(directory)
}
