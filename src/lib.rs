//! Feedwarden polls feeds, websites and X accounts politely, knows a dead source from a flaky one, and never loses or
//! doubles a post.
//!
//! The rooms, from the inside out; `ARCHITECTURE.md` is the map, and a test keeps the borders between them:
//!
//! - [`model`] — nouns.
//! - [`rules`] — pure decisions about them.
//! - [`parse`] — what publishers serve, turned into values.
//! - [`http`] — one vetted, bounded, conditional GET.
//! - [`fetch`] — what polls are made of: requests for documents and robots.txt.
//! - [`sources`] — the source types, each in one file: how it is found, asked and read.
//! - [`opml`] — lists of sources, from and for other readers.
//! - [`store`] — where they are kept, in SQLite or PostgreSQL.
//! - [`supervision`] — actors that crash and are started again.
//! - [`actors`] — the pipeline.
//! - [`service`] — the use cases: what API, command line and import ask for.
//! - [`telemetry`] — the log.
//! - [`config`] — fills the settings that each room owns.
//! - [`api`] — the HTTP API: the admin socket and TCP.
//! - [`cli`], [`daemon`] — the command line and the process.
//! - [`demo`] — the daemon at work on a little web on loopback, for showing, testing and measuring the rest.

pub mod actors;
pub mod api;
pub mod cli;
pub mod clock;
pub mod config;
pub mod daemon;
pub mod demo;
pub mod dice;
pub mod fetch;
pub mod http;
pub mod model;
pub mod opml;
pub mod parse;
pub mod rules;
pub mod service;
pub mod sources;
pub mod store;
pub mod supervision;
pub mod telemetry;
