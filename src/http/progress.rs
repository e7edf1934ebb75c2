//! Progress of a request, kept outside of its future so that a timeout can report it.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use url::Url;

use super::failure::timed_out;
use super::memory::MemoryShare;
use super::reply::{Headers, Hop};
use super::request::without_credentials;
use crate::model::{FailureReport, RateLimit};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RequestStage {
    #[default]
    Resolving,
    Connecting(SocketAddr),
    Securing,
    Waiting,
    Reading {
        bytes: usize,
    },
    /// The bodies in flight use up the memory for them.
    WaitingForMemory,
}

impl fmt::Display for RequestStage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestStage::Resolving => write!(formatter, "looking up the name"),
            RequestStage::Connecting(address) => write!(formatter, "connecting to {address}"),
            RequestStage::Securing => write!(formatter, "in the TLS handshake"),
            RequestStage::Waiting => write!(formatter, "waiting for the answer"),
            RequestStage::Reading { .. } => write!(formatter, "reading the body"),
            RequestStage::WaitingForMemory => {
                write!(
                    formatter,
                    "waiting: the bodies in flight use up the memory for them (http.memory-max-megabytes)"
                )
            }
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct RequestProgress {
    pub(super) stage: RequestStage,
    pub(super) hops: Vec<Hop>,
    /// The headers of the last answer.
    pub(super) headers: Headers,
    /// The rate limit that the last answer states.
    pub(super) rate_limit: Option<RateLimit>,
    /// Set once the status is known to be an error, whatever happens to the body.
    pub(super) refusal: Option<FailureReport>,
    /// Body of an error response.
    pub(super) body: Vec<u8>,
    /// The part of the budget that the body holds, once it is read.
    pub(super) memory: Option<MemoryShare>,
}

impl RequestProgress {
    /// Begins the next hop.
    pub(super) fn depart(&mut self, url: &Url) {
        self.stage = RequestStage::Resolving;
        self.headers = Headers::default();
        self.rate_limit = None;
        self.hops.push(Hop { url: without_credentials(url), address: None, status: None });
    }

    /// Updates the current hop.
    pub(super) fn note(&mut self, note: impl FnOnce(&mut Hop)) {
        if let Some(hop) = self.hops.last_mut() {
            note(hop);
        }
    }

    pub(super) fn too_late(&self, deadline: Duration) -> FailureReport {
        let seconds = deadline.as_secs_f64();
        let error = match self.stage {
            RequestStage::Reading { bytes } => {
                format!("timed out after {seconds} s reading the body ({bytes} bytes so far)")
            }
            RequestStage::Resolving => format!("DNS: timed out after {seconds} s looking up the name"),
            stage => format!("timed out after {seconds} s {stage}"),
        };
        timed_out(error, self.stage)
    }
}
