//! One request to a hub, at the turn of its host, and of those that it redirects to.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use secrecy::SecretString;
use url::Url;

use super::WebSubWorker;
use crate::actors::fetch::{RequestResult, RequestSpan, panicked};
use crate::actors::host::{HostTurn, NoTurn};
use crate::clock::Stopwatch;
use crate::fetch::{HubAnswer, HubMode, HubRequest};
use crate::model::{Source, Subscription};
use crate::rules::subscription::LEASE_WANTED;
use crate::sources::hub_task;

const REDIRECTS_MAX: usize = 5;

impl WebSubWorker {
    /// Waits for the turn of the hub.
    pub(super) async fn turn(&self, subscription: &Subscription, source: Option<&Source>) -> Result<HostTurn, NoTurn> {
        self.documents.turn(&hub_task(source.map(|source| &source.settings), &subscription.hub)).await
    }

    /// Sends a request to the hub, and where that leads; an error says why the hub did not take it.
    pub(super) async fn ask(
        &self,
        turn: HostTurn,
        subscription: &Subscription,
        mode: HubMode,
        source: Option<&Source>,
    ) -> Result<(), String> {
        let settings = source.map(|source| &source.settings);
        let secret = subscription.secret.clone().unwrap_or_else(|| SecretString::from(String::new()));
        let mut request = HubRequest {
            url: Url::parse(&subscription.hub).map_err(|error| format!("the hub is no URL: {error}"))?,
            mode,
            topic: subscription.topic.clone(),
            callback: subscription.callback().into(),
            secret,
            lease: LEASE_WANTED,
            proxy: settings.and_then(|settings| settings.proxy.clone()),
            time_used: std::time::Duration::ZERO,
        };
        let mut turn = turn;
        for _ in 0..=REDIRECTS_MAX {
            match self.send(turn, &mut request).await {
                HubAnswer::Accepted => return Ok(()),
                HubAnswer::Refused(report) => return Err(report.error),
                HubAnswer::Redirected(target) => {
                    let next = self.documents.next_turn(&hub_task(settings, target.as_str())).await;
                    request.url = target;
                    turn = next.map_err(|NoTurn { until, because, .. }| {
                        format!("the hub redirects to a host that takes no requests before {until}: {because}")
                    })?;
                }
            }
        }
        Err(format!("the hub redirects more than {REDIRECTS_MAX} times"))
    }

    async fn send(&self, turn: HostTurn, request: &mut HubRequest) -> HubAnswer {
        let context = self.context();
        let (watch, span) = (Stopwatch::start(), RequestSpan::begin(turn.host_entry(), context));
        let asked = AssertUnwindSafe(self.documents.fetcher.ask_hub(request)).catch_unwind().await;
        request.time_used += watch.elapsed();
        let (answer, status, rate_limit) = asked.unwrap_or_else(|_| (HubAnswer::Refused(panicked()), None, None));
        let failure = if let HubAnswer::Refused(report) = &answer { Some(report) } else { None };
        span.finish(self.documents.purpose, None, RequestResult::of_answer(status, failure), context);
        self.documents.end(turn, failure, rate_limit).await;
        answer
    }
}
