//! The listeners: a real pipeline against the simulated web, asked over a real socket and over TCP.

mod abuse;
mod access;
mod audit;
mod canonical_urls;
mod client;
mod events;
mod explain;
mod feeds;
mod forced;
mod hosts;
mod keys;
mod listeners;
mod metrics;
mod monitoring;
mod openapi;
mod people;
mod posts;
mod problems;
mod process;
mod proxies;
mod secrets;
mod sinks;
mod source_rests;
mod source_updates;
mod sources;
mod stalling;
mod stream_end;
mod webhooks;
mod world;

pub(crate) use client::{Answer, ask};
pub(crate) use world::{ApiWorld, SECRET};
