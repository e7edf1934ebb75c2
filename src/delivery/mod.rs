//! Delivers events to other programs: messages, formats and transports.
//!
//! Uses `model`, `parse`, `http`, `sinks` and `clock`. A transport sends messages to one kind of receiver, chosen by the scheme of
//! the receiver's URL. When it sends, what it sends and what follows from a failure is decided by `actors/deliveries`.

mod chat;
mod message;
mod post;
mod signature;
mod sink;
mod webhook;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::clock::Clock;
use crate::http::Client;
use crate::model::{FailureCause, FailureReport, PostSource, SourceId, StreamEvent, WebhookId, WebhookTarget};
use crate::sinks::{SinkSettings, is_sink};

pub use message::{EventData, EventMessage};
pub use post::SentPost;
pub use signature::{STANDARD_PREFIX, new_standard_secret, standard_key};
use sink::SinkTransport;
use webhook::WebhookTransport;

/// Events for one receiver, in order.
#[derive(Clone, Debug)]
pub struct Batch {
    pub receiver: WebhookId,
    pub events: Vec<StreamEvent>,
    /// The sources of these events that still exist.
    pub sources: HashMap<SourceId, PostSource>,
    /// Time limit of one request or one write.
    pub timeout: Duration,
    /// Largest body of a delivery with several events.
    pub body_bytes_max: usize,
    /// Whether it is a test, which has no events.
    pub is_test: bool,
}

impl Batch {
    /// The messages of the batch; that of a test.
    pub fn messages<'a>(&'a self, clock: &dyn Clock) -> Vec<EventMessage<'a>> {
        if self.is_test {
            return vec![EventMessage::test(clock.now())];
        }
        let source = |event: &StreamEvent| event.source_id().and_then(|id| self.sources.get(&id));
        self.events.iter().map(|event| EventMessage::new(event, source(event))).collect()
    }
}

/// What became of a batch.
#[derive(Clone, Debug, Default)]
pub struct Delivered {
    /// Events that the receiver has accepted: the first ones of the batch. With a failure, those before it; without one,
    /// at least one, unless it was a test.
    pub taken: usize,
    pub failure: Option<FailureReport>,
}

/// A way to deliver events, for all receivers of its kind. It may keep connections, by receiver.
#[async_trait]
pub trait DeliveryTransport: Send + Sync {
    /// Sends the events in their order until one is not accepted, each within the time limit of the batch. An event counts
    /// as taken once the receiver has confirmed that it has it: what was not confirmed is sent again.
    async fn deliver(&self, target: &WebhookTarget, batch: &Batch) -> Delivered;
}

/// All transports.
#[derive(Clone)]
pub struct Transports {
    webhooks: Arc<dyn DeliveryTransport>,
    sinks: Arc<dyn DeliveryTransport>,
}

impl Transports {
    pub fn new(client: Client, sinks: SinkSettings, clock: Arc<dyn Clock>) -> Transports {
        let sinks = Arc::new(SinkTransport::new(sinks, clock.clone()));
        Transports { webhooks: Arc::new(WebhookTransport::new(client, clock)), sinks }
    }

    /// Delivers by the transport of the receiver's URL.
    pub async fn deliver(&self, target: &WebhookTarget, batch: &Batch) -> Delivered {
        let scheme = target.url.split_once(':').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
        let transport = match scheme.as_str() {
            "http" | "https" => &self.webhooks,
            _ if is_sink(&target.url) => &self.sinks,
            _ => {
                let error = format!("no transport for URLs that begin with {scheme}:");
                let failure = FailureReport { cause: FailureCause::Internal, error, retry_after: None };
                return Delivered { taken: 0, failure: Some(failure) };
            }
        };
        transport.deliver(target, batch).await
    }
}
