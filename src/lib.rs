//! Feedwarden polls feeds, websites and X accounts, distinguishes dead sources from flaky ones, and stores every post
//! exactly once.
//!
//! The modules, from the inside out; `ARCHITECTURE.md` describes them, and a test checks the borders between them:
//!
//! - [`model`] — data types.
//! - [`rules`] — pure decisions.
//! - [`parse`] — parsers for feeds, pages, robots.txt and X responses.
//! - [`http`] — one vetted, bounded, conditional request.
//! - [`fetch`] — requests for documents and robots.txt, deliveries to webhooks.
//! - [`sinks`] — receivers of events beside webhooks: files and brokers.
//! - [`sources`] — the source types, one file each.
//! - [`opml`] — lists of sources of other feed readers.
//! - [`store`] — the database, SQLite or PostgreSQL.
//! - [`supervision`] — restarts crashed actors.
//! - [`actors`] — the pipeline.
//! - [`service`] — the use cases: what API, command line and import ask for.
//! - [`telemetry`] — the log.
//! - [`config`] — fills the settings structs of the other modules.
//! - [`api`] — the HTTP API on the admin socket and on TCP.
//! - [`dashboard`] — pages for a browser, on the listeners of the API.
//! - [`cli`], [`daemon`] — the command line and the process.
//! - [`demo`] — the daemon on a simulated web, for the demo, tests and benchmarks.

pub mod actors;
pub mod api;
pub mod cli;
pub mod clock;
pub mod config;
pub mod daemon;
pub mod dashboard;
pub mod delivery;
pub mod demo;
pub mod dice;
pub mod fetch;
pub mod http;
pub mod model;
pub mod opml;
pub mod parse;
pub mod rules;
pub mod service;
pub mod sinks;
pub mod sources;
pub mod store;
pub mod supervision;
pub mod telemetry;
