//! Parsers for documents of publishers: bytes in; entries, texts and dates out.
//!
//! Everything here is a pure function over untrusted bytes: no network, clock, log or randomness, no
//! recursion over the input, and a bound on everything that grows with it.

pub mod charset;
mod control;
pub mod date;
pub(crate) mod entity;
pub mod feed;
pub mod html;
pub mod link_header;
mod namespace;
pub mod robots;
pub mod safe_html;
pub mod text;
pub mod website;
pub mod x_api;
pub(crate) mod xml;
