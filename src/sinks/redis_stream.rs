//! A stream of Redis or a server that speaks its protocol: XADD in a transaction for each batch.

use std::pin::Pin;

use async_trait::async_trait;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ErrorKind, RedisConnectionInfo, RedisError};
use secrecy::ExposeSecret;
use url::Url;

use super::address::name;
use super::dial::dial;
use super::options::Options;
use super::{AddressError, Broker, SinkConnection, SinkMessage, SinkSettings, failure};
use crate::model::{FailureCause, FailureReport, Timestamp};

/// A refused batch has an error for each of its entries.
const ERROR_CHARS_MAX: usize = 300;

/// `redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE]?stream=NAME&maxlen=N`, or `rediss:` with TLS.
#[derive(Clone, Debug)]
pub struct RedisAddress {
    pub broker: Broker,
    pub database: u16,
    pub stream: String,
    /// Old entries are removed from the stream when it is about this long.
    pub length_max: Option<u64>,
}

impl RedisAddress {
    pub(super) fn new(broker: Broker, url: &Url, options: &mut Options) -> Result<RedisAddress, AddressError> {
        let database = match url.path().trim_matches('/') {
            "" => Ok(0),
            text => text.parse(),
        };
        let database =
            database.map_err(|_| AddressError::Part { what: "the database", why: "it is no number from 0 on" })?;
        let stream = name("the name of the stream", options.required("stream", "redis://HOST?stream=feeds")?)?;
        Ok(RedisAddress { broker, database, stream, length_max: options.number("maxlen", 1)? })
    }
}

pub(super) struct RedisTransport {
    connection: MultiplexedConnection,
    /// Moves bytes while an answer is awaited; ends when the connection is lost.
    driver: Pin<Box<dyn Future<Output = ()> + Send>>,
    address: RedisAddress,
}

impl RedisTransport {
    pub(super) async fn connect(
        address: &RedisAddress,
        settings: &SinkSettings,
    ) -> Result<RedisTransport, FailureReport> {
        let Broker { user, password, .. } = &address.broker;
        let mut login = RedisConnectionInfo::default().set_db(address.database.into()).set_skip_set_lib_name();
        if let Some(user) = user {
            login = login.set_username(user);
        }
        if let Some(password) = password {
            login = login.set_password(password.expose_secret());
        }
        let stream = dial("Redis", &address.broker, settings).await?;
        // The caller has one time limit around everything.
        let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let connected = MultiplexedConnection::new_with_config(&login, stream, config).await;
        let (connection, driver) = connected.map_err(|error| in_words(&address.broker, &error))?;
        let mut transport = RedisTransport { connection, driver: Box::pin(driver), address: address.clone() };
        // Redis closes a connection that sends much without a login, and does not say why.
        transport.check().await?;
        Ok(transport)
    }

    async fn ask<T>(&mut self, query: impl Future<Output = Result<T, RedisError>>) -> Result<T, FailureReport> {
        let broker = &self.address.broker;
        tokio::select! {
            biased;
            answer = query => answer.map_err(|error| in_words(broker, &error)),
            () = &mut self.driver => {
                let error = format!("Redis at {}: the connection was lost", broker.shown());
                Err(failure(FailureCause::Connection, error))
            }
        }
    }
}

#[async_trait]
impl SinkConnection for RedisTransport {
    async fn deliver(&mut self, messages: &[SinkMessage], _: Timestamp) -> Result<(), FailureReport> {
        // A transaction is written out: `atomic` of the crate computes a wrong index when MULTI itself is refused.
        let mut batch = redis::pipe();
        batch.cmd("MULTI").ignore();
        for message in messages {
            let command = batch.cmd("XADD").arg(&self.address.stream);
            if let Some(length_max) = self.address.length_max {
                command.arg("MAXLEN").arg("~").arg(length_max);
            }
            command.arg("*").arg("id").arg(&message.id).arg("number").arg(message.number);
            command.arg("type").arg(message.event_type).arg("key").arg(&message.key);
            command.arg("event").arg(&message.payload).ignore();
        }
        batch.cmd("EXEC");
        let mut connection = self.connection.clone();
        let (ids,): (Vec<String>,) = self.ask(batch.query_async(&mut connection)).await?;
        if ids.len() != messages.len() {
            let error = format!("the server confirmed {} of {} entries", ids.len(), messages.len());
            return Err(failure(FailureCause::Other, error));
        }
        Ok(())
    }

    async fn check(&mut self) -> Result<(), FailureReport> {
        let mut connection = self.connection.clone();
        let kind: String = self.ask(redis::cmd("TYPE").arg(&self.address.stream).query_async(&mut connection)).await?;
        match kind.as_str() {
            "stream" | "none" => Ok(()),
            other => {
                let error =
                    format!("the key {:?} is no stream but a {other}; choose another name", self.address.stream);
                Err(failure(FailureCause::Other, error))
            }
        }
    }
}

fn in_words(broker: &Broker, error: &RedisError) -> FailureReport {
    let cause = match error.code() {
        Some("NOAUTH" | "WRONGPASS" | "NOPERM") => FailureCause::Credentials,
        _ if error.kind() == ErrorKind::AuthenticationFailed => FailureCause::Credentials,
        _ if error.is_io_error() || error.is_connection_dropped() => FailureCause::Connection,
        _ => FailureCause::Other,
    };
    let text: String = error.to_string().chars().take(ERROR_CHARS_MAX).collect();
    failure(cause, format!("Redis at {}: {text}", broker.shown()))
}
