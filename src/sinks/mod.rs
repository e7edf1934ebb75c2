//! Receivers of events other than webhooks: files, Redis streams, NATS JetStream, AMQP. A batch counts as delivered when
//! the file or the server has stored it; after an error any part of it may be there, and the whole batch is sent again.
//!
//! Transports know neither store nor actors: batches, time and time limits are handed in.

mod address;
mod amqp;
mod dial;
mod directory;
mod file;
mod nats;
mod options;
mod redis_stream;

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;

use directory::Directory;

use crate::model::{FailureCause, FailureReport, Timestamp};

pub use address::{Address, AddressError, Broker, Secret};
pub use amqp::AmqpAddress;
pub use file::FileAddress;
pub use nats::NatsAddress;
pub use redis_stream::RedisAddress;

/// One event as receivers get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkMessage {
    /// The same when the event is sent again, and different for every other event of this installation.
    pub id: String,
    /// Position in the stream of events.
    pub number: i64,
    pub event_type: &'static str,
    /// What the event is about, such as `source-12`; events with one key belong together.
    pub key: String,
    /// JSON on one line.
    pub payload: String,
}

/// What sinks need besides their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinkSettings {
    /// The directory for files; without one there are no sinks that are files.
    pub directory: Option<PathBuf>,
    /// PEM file of additional certificate authorities.
    pub authorities: Option<PathBuf>,
}

#[async_trait]
trait SinkConnection: Send {
    /// Sends the messages in their order, and returns when all of them are stored.
    async fn deliver(&mut self, messages: &[SinkMessage], now: Timestamp) -> Result<(), FailureReport>;

    /// Whether a delivery could succeed now; leaves nothing behind at the receiver.
    async fn check(&mut self) -> Result<(), FailureReport>;
}

/// A receiver with its connection, which is kept between batches and made anew after an error.
pub struct Sink {
    address: Address,
    settings: SinkSettings,
    /// Taken out while it is used, so that it is dropped with work that fails.
    transport: Option<Box<dyn SinkConnection>>,
}

impl Sink {
    pub fn new(address: Address, settings: SinkSettings) -> Sink {
        Sink { address, settings, transport: None }
    }

    /// Sends the messages in their order, and returns when all of them are stored, or at the time limit.
    pub async fn deliver(
        &mut self,
        messages: &[SinkMessage],
        now: Timestamp,
        time_limit: Duration,
    ) -> Result<(), FailureReport> {
        let delivery = async {
            if let Some(mut kept) = self.transport.take() {
                match kept.deliver(messages, now).await {
                    Ok(()) => return Ok(kept),
                    // The server may have closed it long ago.
                    Err(report) if report.cause == FailureCause::Connection => {}
                    Err(report) => return Err(report),
                }
            }
            let mut transport = connect(&self.address, &self.settings).await?;
            transport.deliver(messages, now).await?;
            Ok(transport)
        };
        self.transport = Some(within(time_limit, delivery).await?);
        Ok(())
    }

    /// Whether a delivery could succeed now: connects, logs in, and looks for the receiving stream or exchange.
    pub async fn check(&mut self, time_limit: Duration) -> Result<(), FailureReport> {
        self.transport = None;
        let check = async {
            let mut transport = connect(&self.address, &self.settings).await?;
            transport.check().await?;
            Ok(transport)
        };
        self.transport = Some(within(time_limit, check).await?);
        Ok(())
    }
}

async fn connect(address: &Address, settings: &SinkSettings) -> Result<Box<dyn SinkConnection>, FailureReport> {
    Ok(match address {
        Address::File(address) => Box::new(file::FileTransport::new(address, settings)?),
        Address::Redis(address) => Box::new(redis_stream::RedisTransport::connect(address, settings).await?),
        Address::Nats(address) => Box::new(nats::NatsTransport::connect(address, settings).await?),
        Address::Amqp(address) => Box::new(amqp::AmqpTransport::connect(address, settings).await?),
    })
}

async fn within<T>(
    time_limit: Duration,
    work: impl Future<Output = Result<T, FailureReport>>,
) -> Result<T, FailureReport> {
    match tokio::time::timeout(time_limit, work).await {
        Ok(result) => result,
        Err(_) => {
            let error = format!("no confirmation within {} s", time_limit.as_secs_f64());
            Err(failure(FailureCause::Stalled, error))
        }
    }
}

fn failure(cause: FailureCause, error: impl Into<String>) -> FailureReport {
    FailureReport { cause, error: error.into(), retry_after: None }
}

/// Whether a file may be written: its directory is there, below the configured one, and reached without links.
pub fn check_file(address: &FileAddress, settings: &SinkSettings) -> Result<(), String> {
    Directory::of_file(file::root(settings)?, &address.path).map(drop)
}

/// Whether a URL is for a sink, and not for a webhook.
pub fn is_sink(url: &str) -> bool {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    matches!(scheme.as_str(), "file" | "redis" | "rediss" | "nats" | "tls" | "amqp" | "amqps")
}

/// The subject or routing key of an event: `{type}` stands for its type.
fn with_type(pattern: &str, event_type: &str) -> String {
    pattern.replace("{type}", event_type)
}
