//! The pipeline against the simulated web: real sockets, real stores, a stopped clock.

mod backfill;
mod backlog;
mod basics;
mod breaker;
mod cleanup;
mod clock_steps;
mod coming_back;
mod conditional;
mod counting;
mod entries;
mod failures;
mod full_text;
mod future_times;
mod habits;
mod hosts;
mod locks;
mod logins;
mod long_outage;
mod outage;
mod pause;
pub(crate) mod publisher;
mod quarantine;
mod rate_limits;
mod records;
mod redirects;
mod robots;
mod store_faults;
mod store_health;
mod store_refusals;
mod webhooks;
mod websites;
mod world;
mod x;

pub(crate) use records::{Records, collecting_logger};
pub(crate) use webhooks::Receiver;
pub(crate) use world::{World, run};
