//! Connections to the server: a bounded pool, time limits, TLS.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime, Timeouts};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use secrecy::ExposeSecret;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_postgres::config::SslMode;
use tokio_postgres::{AsyncMessage, NoTls, Notification};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::super::rows::{Columns, required};
use super::super::settings::{PostgresSettings, Tls};
use super::super::statement::Statement;
use super::super::{Result, StoreError};
use super::session::Lease;
use super::values;

/// The oldest server that the statements are tested on.
const SERVER_VERSION_MIN: i64 = 150_000;

/// Data that the server's machine has not acknowledged for this long means that the connection is dead.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(15);
/// A connection without traffic is tried after this time, and then again and again.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(15);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(5);
const KEEPALIVE_TRIES: u32 = 3;

static SERVER: Statement = Statement::new(include_str!("../../../sql/postgres/server.sql"));

/// How long a session may stand still in a transaction: one of a frozen process must not keep its locks.
const IDLE_IN_TRANSACTION_MAX: Duration = Duration::from_secs(5);

/// Announcements that wait to be read; more of them are dropped, and counted as missed.
const NOTIFICATIONS_MAX: usize = 4096;

/// Parameters of a connection.
fn config(settings: &PostgresSettings, options: &str) -> Result<tokio_postgres::Config> {
    let mut config: tokio_postgres::Config =
        settings.url.expose_secret().parse().map_err(|error: tokio_postgres::Error| {
            StoreError::Unusable(format!("database.url: {}", values::text(&error)))
        })?;
    if config.get_application_name().is_none() {
        config.application_name("feedwarden");
    }
    config.connect_timeout(settings.connect_timeout);
    // What the URL says holds.
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(UNACKNOWLEDGED_MAX);
    }
    if config.get_keepalives_interval().is_none() && config.get_keepalives_retries().is_none() {
        config.keepalives_idle(KEEPALIVE_AFTER);
        config.keepalives_interval(KEEPALIVE_EVERY).keepalives_retries(KEEPALIVE_TRIES);
    }
    let asked = config.get_options().unwrap_or_default();
    let limit = settings.statement_timeout.as_millis();
    let lock_limit = settings.lock_timeout.as_millis();
    let idle_limit = settings.statement_timeout.min(IDLE_IN_TRANSACTION_MAX).as_millis();
    config.options(format!(
        "{asked} -c statement_timeout={limit} -c lock_timeout={lock_limit} \
         -c idle_in_transaction_session_timeout={idle_limit} -c TimeZone=UTC {options}"
    ));
    config.ssl_mode(match settings.tls {
        Tls::Disable => SslMode::Disable,
        Tls::Require => SslMode::Require,
    });
    Ok(config)
}

/// A pool that connects on demand.
pub(super) fn pool(settings: &PostgresSettings, size: usize) -> Result<Pool> {
    pool_with(settings, size, "")
}

/// The same with further parameters of the server.
pub(super) fn pool_with(settings: &PostgresSettings, size: usize, options: &str) -> Result<Pool> {
    let config = config(settings, options)?;
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = match settings.tls {
        Tls::Disable => Manager::from_config(config, NoTls, recycling),
        Tls::Require => {
            Manager::from_config(config, MakeRustlsConnect::new(tls(settings.tls_ca_file.as_deref())?), recycling)
        }
    };
    let timeout = Some(settings.connect_timeout);
    Pool::builder(manager)
        .max_size(size.max(1))
        .timeouts(Timeouts { wait: timeout, create: timeout, recycle: timeout })
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|error| StoreError::Internal(error.to_string()))
}

/// A connection that receives announcements, until the receiver ends.
pub(super) async fn listener(
    settings: &PostgresSettings,
) -> Result<(tokio_postgres::Client, mpsc::Receiver<Notification>)> {
    let config = config(settings, "")?;
    let connecting = async {
        match settings.tls {
            Tls::Disable => {
                let (client, connection) = config.connect(NoTls).await.map_err(values::error)?;
                Ok((client, notifications(connection)))
            }
            Tls::Require => {
                let tls = MakeRustlsConnect::new(tls(settings.tls_ca_file.as_deref())?);
                let (client, connection) = config.connect(tls).await.map_err(values::error)?;
                Ok((client, notifications(connection)))
            }
        }
    };
    match tokio::time::timeout(settings.connect_timeout, connecting).await {
        Ok(connected) => connected,
        Err(_) => Err(StoreError::Unavailable("the server did not accept a connection in time".into())),
    }
}

/// Drives a connection. The receiver ends with the connection, and when it is full.
fn notifications<S, T>(mut connection: tokio_postgres::Connection<S, T>) -> mpsc::Receiver<Notification>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(NOTIFICATIONS_MAX);
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message
                && sender.try_send(notification).is_err()
            {
                break;
            }
        }
    });
    receiver
}

/// Rejects servers on which the two engines would behave differently.
pub(super) async fn check_server(lease: &Lease) -> Result<()> {
    let read = |row: &mut values::RowColumns<'_>| {
        let (number, version) = (required(row.integer()?)?, required(row.text()?)?);
        Ok((number, version, required(row.text()?)?, required(row.text()?)?, row.flag()?))
    };
    let (number, version, encoding, product, is_standby) = required(values::one(lease, &SERVER, &[], read).await?)?;
    if !product.starts_with("PostgreSQL") {
        return Err(StoreError::Unusable(format!(
            "the server is {product}, which lacks what nodes need to work together (LISTEN, advisory locks): use PostgreSQL"
        )));
    }
    if is_standby {
        return Err(StoreError::Unusable(
            "the server is a standby that takes no writes: connect to its primary (with several hosts in database.url, add \
             target_session_attrs=read-write)"
                .into(),
        ));
    }
    if number < SERVER_VERSION_MIN {
        return Err(StoreError::Unusable(format!("the server is PostgreSQL {version}; 15 or newer is needed")));
    }
    if encoding != "UTF8" {
        return Err(StoreError::Unusable(format!(
            "its encoding is {encoding}, and posts are in every script: create it with ENCODING 'UTF8'"
        )));
    }
    Ok(())
}

fn tls(authorities: Option<&Path>) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(path) => {
            let unreadable = |error: rustls::pki_types::pem::Error| {
                StoreError::Unusable(format!("database.postgres.tls-ca-file {}: {error}", path.display()))
            };
            for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
                roots.add(certificate.map_err(unreadable)?).map_err(|error| {
                    StoreError::Unusable(format!("database.postgres.tls-ca-file {}: {error}", path.display()))
                })?;
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
        }
    }
    if roots.is_empty() {
        return Err(StoreError::Unusable(
            "no certificate authority is known to check the server with: set database.postgres.tls-ca-file".into(),
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::Internal(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
