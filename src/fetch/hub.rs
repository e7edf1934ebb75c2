//! Requests to hubs (WebSub): what is asked, and what the answer means.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::Url;
use url::form_urlencoded::Serializer;

use super::Fetcher;
use crate::http::{Failure, Method, Request};
use crate::model::{FailureReport, RateLimit, SourceProxy};

/// Whatever a hub answers, no more than this of it is read.
const ANSWER_BYTES_MAX: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubMode {
    Subscribe,
    Unsubscribe,
}

/// One request to a hub.
#[derive(Clone, Debug)]
pub struct HubRequest {
    pub url: Url,
    pub mode: HubMode,
    pub topic: String,
    /// Anyone who knows it can write to the callback.
    pub callback: SecretString,
    /// What pushes are to be signed with.
    pub secret: SecretString,
    /// How long the subscription should last.
    pub lease: Duration,
    pub proxy: Option<SourceProxy>,
    /// How much of the deadline earlier hops took.
    pub time_used: Duration,
}

/// What a hub said.
#[derive(Clone, Debug)]
pub enum HubAnswer {
    /// 2xx: it verifies the request, now or later.
    Accepted,
    /// 307 or 308: the same request is to be sent there.
    Redirected(Url),
    /// Anything else, or nothing.
    Refused(FailureReport),
}

impl HubMode {
    pub const fn name(self) -> &'static str {
        match self {
            HubMode::Subscribe => "subscribe",
            HubMode::Unsubscribe => "unsubscribe",
        }
    }
}

impl Fetcher {
    /// Sends a request to a hub, and returns its answer with its status and rate limit. Redirects are handed back: the
    /// next host has to be asked when it is its turn.
    pub async fn ask_hub(&self, hub: &HubRequest) -> (HubAnswer, Option<u16>, Option<RateLimit>) {
        let mut request = Request::new(hub.url.as_str());
        request.method = Method::PostForm(form(hub));
        request.cut_at_bytes = Some(ANSWER_BYTES_MAX);
        request.proxy = hub.proxy.clone();
        request.time_used = hub.time_used;
        match self.client.send(&request).await {
            Ok(reply) => (HubAnswer::Accepted, reply.hops.last().and_then(|hop| hop.status), reply.rate_limit),
            Err(failure) => {
                let (status, rate_limit) = (failure.hops.last().and_then(|hop| hop.status), failure.rate_limit);
                (answer(failure, status, &hub.url), status, rate_limit)
            }
        }
    }
}

/// The head of the answer counts: what follows it, or does not, changes nothing.
fn answer(failure: Failure, status: Option<u16>, url: &Url) -> HubAnswer {
    match status {
        Some(200..=299) => HubAnswer::Accepted,
        Some(307 | 308) => {
            let target = failure.headers.get("location").and_then(|location| url.join(location.trim()).ok());
            let is_safe = |target: &Url| match (url.scheme(), target.scheme()) {
                ("https", scheme) => scheme == "https",
                (_, scheme) => matches!(scheme, "http" | "https"),
            };
            target.filter(is_safe).map_or(HubAnswer::Refused(failure.report), HubAnswer::Redirected)
        }
        _ => HubAnswer::Refused(failure.report),
    }
}

fn form(hub: &HubRequest) -> SecretString {
    let mut form = Serializer::new(String::new());
    form.append_pair("hub.mode", hub.mode.name())
        .append_pair("hub.topic", &hub.topic)
        .append_pair("hub.callback", hub.callback.expose_secret());
    if hub.mode == HubMode::Subscribe {
        form.append_pair("hub.lease_seconds", &hub.lease.as_secs().to_string())
            .append_pair("hub.secret", hub.secret.expose_secret());
    }
    form.finish().into()
}
