//! A subject of NATS that a stream of JetStream stores.

use std::time::Duration;

use async_nats::jetstream::context::{ContextBuilder, GetStreamByNameErrorKind, PublishError, PublishErrorKind};
use async_nats::jetstream::{Context, message::PublishMessage};
use async_nats::{ConnectError, ConnectErrorKind, ConnectOptions, Event, ServerAddr};
use async_trait::async_trait;
use secrecy::ExposeSecret;
use tokio::sync::watch;
use url::Url;

use super::address::name;
use super::dial::trust;
use super::options::Options;
use super::{AddressError, Broker, SinkConnection, SinkMessage, SinkSettings, failure, with_type};
use crate::model::{FailureCause, FailureReport, Timestamp};

/// Longer than any time limit of a caller, whose limit counts.
const NO_LIMIT: Duration = Duration::from_secs(3600);

/// `nats://[USER:PASSWORD@]HOST[:PORT]?subject=NAME`, or `tls:` with TLS; a login without a password is a token.
#[derive(Clone, Debug)]
pub struct NatsAddress {
    pub broker: Broker,
    /// `{type}` stands for the type of the event.
    pub subject: String,
}

impl NatsAddress {
    pub(super) fn new(broker: Broker, url: &Url, options: &mut Options) -> Result<NatsAddress, AddressError> {
        if !url.path().trim_matches('/').is_empty() {
            return Err(AddressError::Part { what: "the path", why: "NATS has none; write nats://HOST?subject=feeds" });
        }
        let subject = name("the subject", options.required("subject", "nats://HOST?subject=feeds")?)?;
        let is_usable = subject.split('.').all(|token| !token.is_empty() && !token.contains([' ', '*', '>']));
        if !is_usable || subject.starts_with('$') {
            let why = "write names with dots between them, without spaces and wildcards, such as feeds.{type}";
            return Err(AddressError::Part { what: "the subject", why });
        }
        Ok(NatsAddress { broker, subject })
    }
}

pub(super) struct NatsTransport {
    stream: Context,
    address: NatsAddress,
    /// Turns true when the connection is lost.
    lost: watch::Receiver<bool>,
}

impl NatsTransport {
    pub(super) async fn connect(
        address: &NatsAddress,
        settings: &SinkSettings,
    ) -> Result<NatsTransport, FailureReport> {
        let Broker { tls, user, password, .. } = &address.broker;
        let (losing, lost) = watch::channel(false);
        let mut options = ConnectOptions::new()
            .name("feedwarden")
            .ignore_discovered_servers()
            .max_reconnects(1)
            .connection_timeout(NO_LIMIT)
            .request_timeout(None)
            .event_callback(move |event| {
                let losing = losing.clone();
                async move {
                    if matches!(event, Event::Disconnected | Event::Closed) {
                        let _ = losing.send(true);
                    }
                }
            });
        match (user, password) {
            (Some(user), Some(password)) => {
                options = options.user_and_password(user.clone(), password.expose_secret().to_owned());
            }
            (None, Some(token)) => options = options.token(token.expose_secret().to_owned()),
            (Some(user), None) => options = options.user_and_password(user.clone(), String::new()),
            (None, None) => {}
        }
        if *tls {
            options = options.require_tls(true).tls_client_config(trust(settings)?);
        }
        let server = format!("{}://{}", if *tls { "tls" } else { "nats" }, address.broker.shown());
        let server = server.parse::<ServerAddr>().map_err(|error| failure(FailureCause::Other, error.to_string()))?;
        let client = options.connect(server).await.map_err(|error| refused(&address.broker, &error))?;
        let stream = ContextBuilder::new().timeout(NO_LIMIT).build(client);
        Ok(NatsTransport { stream, address: address.clone(), lost })
    }

    async fn publish(&self, messages: &[SinkMessage]) -> Result<(), FailureReport> {
        let mut confirmations = Vec::with_capacity(messages.len());
        for message in messages {
            let subject = with_type(&self.address.subject, message.event_type);
            let publish = PublishMessage::build()
                .payload(message.payload.clone().into())
                // Another installation may write to another subject of the same stream.
                .message_id(format!("{subject}/{}", message.id))
                .header("Feedwarden-Number", message.number.to_string())
                .header("Feedwarden-Type", message.event_type)
                .header("Feedwarden-Key", message.key.as_str());
            let sent = self.stream.send_publish(subject, publish).await;
            confirmations.push((message.number, sent.map_err(|error| self.in_words(message.number, &error))?));
        }
        for (number, confirmation) in confirmations {
            confirmation.await.map_err(|error| self.in_words(number, &error))?;
        }
        Ok(())
    }

    /// What `work` gives, or an error when the connection is lost before.
    async fn while_connected<T>(
        &self,
        work: impl Future<Output = Result<T, FailureReport>>,
    ) -> Result<T, FailureReport> {
        let mut lost = self.lost.clone();
        tokio::select! {
            result = work => result,
            _ = lost.wait_for(|is_lost| *is_lost) => {
                let error = format!("NATS at {}: the connection was lost", self.address.broker.shown());
                Err(failure(FailureCause::Connection, error))
            }
        }
    }

    fn in_words(&self, number: i64, error: &PublishError) -> FailureReport {
        let broker = self.address.broker.shown();
        match error.kind() {
            PublishErrorKind::StreamNotFound => failure(FailureCause::Other, self.no_stream()),
            PublishErrorKind::MaxPayloadExceeded => {
                let error = format!("NATS at {broker}: event {number} is too large, raise max_payload: {error}");
                failure(FailureCause::Other, error)
            }
            PublishErrorKind::BrokenPipe => {
                failure(FailureCause::Connection, format!("NATS at {broker}: the connection was lost"))
            }
            _ => failure(FailureCause::Other, format!("NATS at {broker}: event {number} was refused: {error}")),
        }
    }

    fn no_stream(&self) -> String {
        let subject = with_type(&self.address.subject, "*.*");
        format!(
            "NATS at {}: no stream of JetStream stores the subject {subject}; make one: \
             nats stream add FEEDWARDEN --subjects '{subject}' --defaults",
            self.address.broker.shown()
        )
    }
}

#[async_trait]
impl SinkConnection for NatsTransport {
    async fn deliver(&mut self, messages: &[SinkMessage], _: Timestamp) -> Result<(), FailureReport> {
        self.while_connected(self.publish(messages)).await
    }

    async fn check(&mut self) -> Result<(), FailureReport> {
        let subject = with_type(&self.address.subject, "post.created");
        let found = async {
            self.stream.stream_by_subject(subject).await.map_err(|error| match error.kind() {
                GetStreamByNameErrorKind::NotFound => failure(FailureCause::Other, self.no_stream()),
                _ => failure(FailureCause::Other, format!("NATS at {}: {error}", self.address.broker.shown())),
            })
        };
        self.while_connected(found).await.map(drop)
    }
}

fn refused(broker: &Broker, error: &ConnectError) -> FailureReport {
    let cause = match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => FailureCause::Credentials,
        ConnectErrorKind::Dns => FailureCause::Dns,
        _ => FailureCause::Connection,
    };
    failure(cause, format!("NATS at {}: {error}", broker.shown()))
}
