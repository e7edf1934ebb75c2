//! The integration tests, one area a file.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod borders;
mod commands;
mod config;
mod daemon;
mod feeds;
mod http;
mod pages;
mod store;
mod telemetry;
