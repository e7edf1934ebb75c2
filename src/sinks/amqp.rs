//! An exchange of AMQP 0-9-1 (RabbitMQ): persistent, mandatory messages with confirmations. A message that no queue takes
//! comes back, which is an error.

use std::collections::BTreeSet;
use std::sync::Arc;

use amqprs::callbacks::{ChannelCallback, ConnectionCallback};
use amqprs::channel::{BasicPublishArguments, Channel, ConfirmSelectArguments, ExchangeDeclareArguments};
use amqprs::connection::{Connection, OpenConnectionArguments};
use amqprs::error::Error;
use amqprs::security::SecurityCredentials;
use amqprs::tls::TlsAdaptor;
use amqprs::{Ack, BasicProperties, Cancel, Close, CloseChannel, Nack, Return};
use async_trait::async_trait;
use secrecy::ExposeSecret;
use tokio::sync::watch;
use url::Url;

use super::address::{decoded, name};
use super::dial::trust;
use super::options::Options;
use super::{AddressError, Broker, SinkConnection, SinkMessage, SinkSettings, failure, with_type};
use crate::model::{FailureCause, FailureReport, Timestamp};

/// `amqp://[USER:PASSWORD@]HOST[:PORT][/VHOST]?exchange=NAME&routing-key=KEY`, or `amqps:` with TLS.
#[derive(Clone, Debug)]
pub struct AmqpAddress {
    pub broker: Broker,
    pub virtual_host: String,
    /// Empty for the default exchange, whose routing keys are names of queues.
    pub exchange: String,
    /// `{type}` stands for the type of the event.
    pub routing_key: String,
}

impl AmqpAddress {
    pub(super) fn new(broker: Broker, url: &Url, options: &mut Options) -> Result<AmqpAddress, AddressError> {
        let virtual_host = match decoded("the virtual host", url.path().strip_prefix('/').unwrap_or_default())? {
            empty if empty.is_empty() => "/".to_owned(),
            virtual_host => virtual_host,
        };
        let routing_key = options.take("routing-key").filter(|key| !key.is_empty());
        let exchange = match &routing_key {
            None => options.required("exchange", "amqp://HOST?exchange=feeds, or give routing-key=QUEUE")?,
            Some(_) => options.take("exchange").unwrap_or_default(),
        };
        // Room for the type in place of its stand-in.
        let routing_key = name("the routing key", routing_key.unwrap_or_else(|| "{type}".to_owned()))?;
        if routing_key.len() > 200 {
            return Err(AddressError::Part { what: "the routing key", why: "it is longer than 200 bytes" });
        }
        Ok(AmqpAddress { broker, virtual_host, exchange: name("the exchange", exchange)?, routing_key })
    }
}

/// What the server has said about the messages of one channel.
#[derive(Default)]
struct Answers {
    /// Sent and not confirmed.
    open: BTreeSet<u64>,
    failure: Option<String>,
}

pub(super) struct AmqpTransport {
    address: AmqpAddress,
    // Dropped in this order.
    channel: Channel,
    connection: Connection,
    answers: Arc<watch::Sender<Answers>>,
    sent: u64,
}

impl AmqpTransport {
    pub(super) async fn connect(
        address: &AmqpAddress,
        settings: &SinkSettings,
    ) -> Result<AmqpTransport, FailureReport> {
        let Broker { tls, host, port, user, password } = &address.broker;
        let user = user.as_deref().unwrap_or("guest");
        let password = password.as_ref().map_or("guest", |password| password.expose_secret());
        let mut arguments = OpenConnectionArguments::default();
        let dialled = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        arguments
            .host(&dialled)
            .port(*port)
            .virtual_host(&address.virtual_host)
            .credentials(SecurityCredentials::new_plain(user, password))
            .connection_name("feedwarden");
        if *tls {
            arguments.tls_adaptor(TlsAdaptor::new(Arc::new(trust(settings)?).into(), host.clone()));
        }
        let refused = |error: Error| in_words(&address.broker, &error);
        let opened = Connection::open(&arguments).await;
        let connection = opened.map_err(|error| not_opened(address, &error))?;
        let answers = Arc::new(watch::Sender::new(Answers::default()));
        connection.register_callback(BrokerListener(answers.clone())).await.map_err(refused)?;
        let channel = connection.open_channel(None).await.map_err(refused)?;
        channel.register_callback(BrokerListener(answers.clone())).await.map_err(refused)?;
        channel.confirm_select(ConfirmSelectArguments::new(false)).await.map_err(refused)?;
        Ok(AmqpTransport { address: address.clone(), channel, connection, answers, sent: 0 })
    }

    async fn publish(&mut self, messages: &[SinkMessage]) -> Result<(), FailureReport> {
        for message in messages {
            self.sent += 1;
            let sent = self.sent;
            self.answers.send_modify(|answers| {
                answers.open.insert(sent);
            });
            let mut properties = BasicProperties::default();
            properties
                .with_content_type("application/json")
                .with_persistence(true)
                .with_message_id(&message.id)
                .with_message_type(message.event_type)
                .with_correlation_id(&message.key)
                .with_app_id("feedwarden");
            let routing_key = with_type(&self.address.routing_key, message.event_type);
            let mut arguments = BasicPublishArguments::new(&self.address.exchange, &routing_key);
            arguments.mandatory(true);
            let sending = self.channel.basic_publish(properties, message.payload.clone().into_bytes(), arguments);
            sending.await.map_err(|error| in_words(&self.address.broker, &error))?;
        }
        let mut heard = self.answers.subscribe();
        let answers = heard.wait_for(|answers| answers.open.is_empty() || answers.failure.is_some()).await;
        match answers.ok().and_then(|answers| answers.failure.clone()) {
            None => Ok(()),
            Some(error) => Err(failure(FailureCause::Other, error)),
        }
    }

    /// What `work` gives, or an error when the server reports one or the connection is lost before.
    async fn while_connected<T>(
        connection: Connection,
        answers: Arc<watch::Sender<Answers>>,
        broker: &Broker,
        work: impl Future<Output = Result<T, FailureReport>>,
    ) -> Result<T, FailureReport> {
        let mut heard = answers.subscribe();
        let result = tokio::select! {
            biased;
            result = work => result,
            Ok(answers) = heard.wait_for(|answers| answers.failure.is_some()) => {
                Err(failure(FailureCause::Other, answers.failure.clone().unwrap_or_default()))
            }
            _ = connection.listen_network_io_failure() => {
                Err(failure(FailureCause::Connection, "the connection was lost"))
            }
        };
        result.map_err(|report| {
            // What the server said about its reason is better than the error that followed from it.
            let error = answers.borrow().failure.clone().unwrap_or(report.error);
            failure(report.cause, format!("AMQP at {}: {error}", broker.shown()))
        })
    }
}

#[async_trait]
impl SinkConnection for AmqpTransport {
    async fn deliver(&mut self, messages: &[SinkMessage], _: Timestamp) -> Result<(), FailureReport> {
        let (connection, answers, broker) =
            (self.connection.clone(), self.answers.clone(), self.address.broker.clone());
        AmqpTransport::while_connected(connection, answers, &broker, self.publish(messages)).await
    }

    async fn check(&mut self) -> Result<(), FailureReport> {
        let (connection, answers, broker) =
            (self.connection.clone(), self.answers.clone(), self.address.broker.clone());
        let exchange = self.address.exchange.clone();
        let look = async {
            // The default exchange is always there and may not be declared.
            if exchange.is_empty() {
                return Ok(());
            }
            let arguments = ExchangeDeclareArguments::new(&exchange, "topic").passive(true).finish();
            let declared = self.channel.exchange_declare(arguments).await;
            declared.map_err(|error| failure(FailureCause::Other, error.to_string()))
        };
        AmqpTransport::while_connected(connection, answers, &broker, look).await
    }
}

/// Hears what the server says without being asked.
struct BrokerListener(Arc<watch::Sender<Answers>>);

impl BrokerListener {
    fn confirm(&self, tag: u64, is_multiple: bool) {
        self.0.send_modify(|answers| match is_multiple {
            true => answers.open = answers.open.split_off(&(tag + 1)),
            false => {
                answers.open.remove(&tag);
            }
        });
    }

    fn fail(&self, error: String) {
        self.0.send_modify(|answers| {
            answers.failure.get_or_insert(error);
        });
    }
}

#[async_trait]
impl ConnectionCallback for BrokerListener {
    async fn close(&mut self, _: &Connection, close: Close) -> Result<(), Error> {
        self.fail(format!("the server closed the connection: {} ({})", close.reply_text(), close.reply_code()));
        Ok(())
    }

    async fn blocked(&mut self, _: &Connection, reason: String) {
        self.fail(format!("the server takes no messages: {reason}"));
    }

    async fn unblocked(&mut self, _: &Connection) {}

    async fn secret_updated(&mut self, _: &Connection) {}
}

#[async_trait]
impl ChannelCallback for BrokerListener {
    async fn close(&mut self, _: &Channel, close: CloseChannel) -> Result<(), Error> {
        self.fail(format!("{} ({})", close.reply_text(), close.reply_code()));
        Ok(())
    }

    async fn cancel(&mut self, _: &Channel, _: Cancel) -> Result<(), Error> {
        Ok(())
    }

    async fn flow(&mut self, _: &Channel, active: bool) -> Result<bool, Error> {
        Ok(active)
    }

    async fn publish_ack(&mut self, _: &Channel, ack: Ack) {
        self.confirm(ack.delivery_tag(), ack.mutiple());
    }

    async fn publish_nack(&mut self, _: &Channel, nack: Nack) {
        self.fail(format!("the server could not store message {} of this connection", nack.delivery_tag()));
    }

    async fn publish_return(&mut self, _: &Channel, returned: Return, _: BasicProperties, _: Vec<u8>) {
        self.fail(format!(
            "no queue takes messages of the exchange {:?} with the routing key {:?} ({}); bind a queue to it",
            returned.exchange(),
            returned.routing_key(),
            returned.reply_text()
        ));
    }
}

/// Servers may end the connection without a word if they do not accept a login, and RabbitMQ does.
fn not_opened(address: &AmqpAddress, error: &Error) -> FailureReport {
    let text = error.to_string();
    if !["reset by peer", "peer shutdown", "Broken pipe"].iter().any(|end| text.contains(end)) {
        return in_words(&address.broker, error);
    }
    let error = format!(
        "AMQP at {}: the server ended the connection during the login, as a rule because user or password is wrong, or \
         because the user may not use the virtual host {:?}; the log of the server says which",
        address.broker.shown(),
        address.virtual_host
    );
    failure(FailureCause::Credentials, error)
}

fn in_words(broker: &Broker, error: &Error) -> FailureReport {
    let text = error.to_string();
    let cause = match error {
        _ if text.contains("ACCESS_REFUSED") || text.contains("403") => FailureCause::Credentials,
        Error::NetworkError(_) => FailureCause::Connection,
        _ => FailureCause::Other,
    };
    failure(cause, format!("AMQP at {}: {text}", broker.shown()))
}
