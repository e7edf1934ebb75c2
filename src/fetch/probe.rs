//! The neutral probe of an outage: asks a URL of the operator's choice whether anything answers there (p31).

use std::time::Duration;

use url::Url;

use super::Fetcher;
use crate::http::Request;
use crate::model::{FailureCause, FailureReport};

/// Longest time that a probe takes.
const PROBE_WITHIN: Duration = Duration::from_secs(10);
/// The answer itself says nothing, so that little of it is read.
const BODY_BYTES_MAX: usize = 1024;

impl Fetcher {
    /// Whether the URL answers: any HTTP response will do, also an error or a redirect, which is not followed.
    pub async fn probe(&self, url: &Url) -> Result<(), FailureReport> {
        let request = Request {
            follows: false,
            cut_at_bytes: Some(BODY_BYTES_MAX),
            is_operators: true,
            ..Request::new(url.as_str())
        };
        match tokio::time::timeout(PROBE_WITHIN, self.client().send(&request)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(failure)) if failure.hops.last().is_some_and(|hop| hop.status.is_some()) => Ok(()),
            Ok(Err(failure)) => Err(failure.report),
            Err(_) => Err(FailureReport {
                cause: FailureCause::Unreachable,
                error: format!("no response within {} s", PROBE_WITHIN.as_secs()),
                retry_after: None,
            }),
        }
    }
}
