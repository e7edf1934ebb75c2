//! Requests to servers of others, each to a vetted address and within bounds. May use `model`; never sees `rules` or
//! `actors`.
//!
//! [`Client::send`] resolves a name (`resolve`), refuses addresses that are not public (`address`), dials the address
//! it checked (`dial`, `proxy`, `tls`), speaks HTTP/1.1 (`outgoing`, `wire`), follows redirects (`redirect`) or hands
//! them over (`pending_redirect`), undoes the encoding within bounds (`body`, `decode`), and says what the headers mean
//! (`headers`, `rate_limit`) or what went wrong (`failure`).

mod address;
mod body;
mod client;
mod decode;
mod dial;
mod embedded;
mod failure;
mod headers;
mod memory;
mod outgoing;
mod pending_redirect;
mod pool;
mod progress;
mod proxy;
mod rate_limit;
mod redirect;
mod reply;
mod request;
mod resolve;
mod resolver_files;
mod send_window;
mod settings;
mod stream;
pub(crate) mod tls;
mod tls_sessions;
mod wire;

pub use client::Client;
pub use embedded::NAT64_PREFIX_LENGTHS;
pub use headers::Caching;
pub use memory::{MemoryShare, MemoryUse};
pub use outgoing::header_problem;
pub use pending_redirect::PendingRedirect;
pub use reply::{Content, Failure, Headers, Hop, Redirect, Reply};
pub(crate) use request::percent_decoded;
pub use request::{Credentials, Method, Request};
pub use resolve::{Resolve, ResolveError, ResolverNotice, SystemResolver};
pub use resolver_files::ResolverSettings;
pub use send_window::SendWindow;
pub use settings::{HttpSettings, SetupError};
