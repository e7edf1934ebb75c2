//! Turns what publishers serve into values: bytes go in, entries, texts and dates come out.
//!
//! Everything here is a pure function over bytes that nobody has vouched for: no network, clock, log or randomness, no
//! recursion over the input, and a bound on everything that grows with it.

pub mod charset;
mod control;
pub mod date;
pub(crate) mod entity;
pub mod feed;
mod namespace;
pub mod robots;
pub mod text;
pub mod website;
pub mod x_api;
pub(crate) mod xml;
