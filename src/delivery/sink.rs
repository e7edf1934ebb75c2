//! Delivers events to files and brokers: one connection for each receiver, kept between batches.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use secrecy::ExposeSecret;

use super::{Batch, Delivered, DeliveryTransport, EventMessage};
use crate::clock::Clock;
use crate::model::{DeliveryFormat, FailureCause, FailureReport, WebhookId, WebhookTarget};
use crate::sinks::{Address, Sink, SinkMessage, SinkSettings};

pub(super) struct SinkTransport {
    settings: SinkSettings,
    clock: Arc<dyn Clock>,
    /// Sinks that are not at work, with their connections.
    kept: Mutex<HashMap<WebhookId, KeptSink>>,
}

struct KeptSink {
    url: String,
    password: String,
    sink: Sink,
}

impl SinkTransport {
    pub(super) fn new(settings: SinkSettings, clock: Arc<dyn Clock>) -> SinkTransport {
        SinkTransport { settings, clock, kept: Mutex::default() }
    }

    /// The sink of a receiver; a new one if there is none, or if its address was changed.
    fn sink(&self, target: &WebhookTarget, batch: &Batch) -> Result<KeptSink, FailureReport> {
        let secret = &target.secrets.current;
        // A test has a connection of its own, so that it does not wait for a delivery.
        let kept = if batch.is_test { None } else { self.kept.lock().remove(&batch.receiver) };
        if let Some(kept) = kept.filter(|kept| kept.url == target.url && kept.password == secret.expose_secret()) {
            return Ok(kept);
        }
        let password = (!secret.expose_secret().is_empty()).then_some(secret);
        let address = Address::new(&target.url, password).map_err(|error| {
            let cause = FailureCause::Internal;
            FailureReport { cause, error: error.to_string(), retry_after: None }
        })?;
        let sink = Sink::new(address, self.settings.clone());
        Ok(KeptSink { url: target.url.clone(), password: secret.expose_secret().to_owned(), sink })
    }
}

#[async_trait]
impl DeliveryTransport for SinkTransport {
    async fn deliver(&self, target: &WebhookTarget, batch: &Batch) -> Delivered {
        let mut kept = match self.sink(target, batch) {
            Ok(kept) => kept,
            Err(failure) => return Delivered { taken: 0, failure: Some(failure) },
        };
        if batch.is_test {
            return Delivered { taken: 0, failure: kept.sink.check(batch.timeout).await.err() };
        }
        let mut messages = Vec::new();
        let mut bytes = 0;
        for message in batch.messages(&*self.clock) {
            let message = written(&message, target.format);
            bytes += message.payload.len();
            if bytes > batch.body_bytes_max && !messages.is_empty() {
                break;
            }
            messages.push(message);
        }
        let sent = kept.sink.deliver(&messages, self.clock.now(), batch.timeout).await;
        self.kept.lock().insert(batch.receiver, kept);
        match sent {
            Ok(()) => Delivered { taken: messages.len(), failure: None },
            Err(failure) => Delivered { taken: 0, failure: Some(failure) },
        }
    }
}

fn written(message: &EventMessage<'_>, format: DeliveryFormat) -> SinkMessage {
    let payload = match format {
        DeliveryFormat::CloudEvents => message.to_cloud_event().to_string(),
        _ => message.to_json(),
    };
    let data = &message.data;
    let of_source = data.source_id.map(|id| format!("source-{id}"));
    let key = of_source.or_else(|| data.host.map(|host| format!("host-{host}"))).unwrap_or_else(|| "daemon".to_owned());
    SinkMessage { id: message.id(), number: data.number, event_type: message.event_type, key, payload }
}
