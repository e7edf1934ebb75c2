//! Connections to brokers, with TLS where the address asks for it.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{Broker, SinkSettings, failure};
use crate::http::tls;
use crate::model::{FailureCause, FailureReport};

pub(super) trait BrokerStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> BrokerStream for T {}

/// A connection to the broker, encrypted if its address says so.
pub(super) async fn dial(
    protocol: &str,
    broker: &Broker,
    settings: &SinkSettings,
) -> Result<Box<dyn BrokerStream>, FailureReport> {
    let in_words = |error: &dyn std::fmt::Display| {
        failure(FailureCause::Connection, format!("{protocol} at {}: {error}", broker.shown()))
    };
    let stream = TcpStream::connect((broker.host.as_str(), broker.port)).await.map_err(|error| in_words(&error))?;
    stream.set_nodelay(true).map_err(|error| in_words(&error))?;
    if !broker.tls {
        return Ok(Box::new(stream));
    }
    let server = ServerName::try_from(broker.host.clone()).map_err(|error| in_words(&error))?;
    let connector = TlsConnector::from(Arc::new(trust(settings)?));
    Ok(Box::new(connector.connect(server, stream).await.map_err(|error| in_words(&error))?))
}

/// What certificates of brokers have to be signed by.
pub(super) fn trust(settings: &SinkSettings) -> Result<ClientConfig, FailureReport> {
    let trust = tls::configuration(settings.authorities.as_deref(), 1);
    let mut trust = (*trust.map_err(|error| failure(FailureCause::Other, error))?).clone();
    trust.alpn_protocols.clear();
    Ok(trust)
}
