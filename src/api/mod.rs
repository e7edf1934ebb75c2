//! The listeners: one set of handlers for the admin socket and for TCP.
//!
//! Reads come from the store and from the pipeline's handle, changes go through the handle. No request waits for an actor
//! without a bound, and the listeners have threads of their own. `docs/api.md` is the operator's view.

mod admission;
mod connection;
mod endpoint;
pub mod feeds;
mod guard;
mod handlers;
mod headers;
mod health;
mod input;
mod metrics;
mod openapi;
mod problem;
mod rate;
mod routes;
mod server;
pub mod settings;
mod socket;
pub mod tokens;
pub mod views;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::web;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, join_all};
use tokio::sync::Semaphore;

use crate::actors::PipelineHandle;
use crate::service::Service;
use crate::telemetry::LogHandle;

pub use admission::{Admission, Rules};
pub use openapi::document as openapi_document;
pub use problem::{ProblemView, TYPE_PREFIX};
pub use socket::SocketError;

use server::{Listener, serve};
use settings::{ApiSettings, Limits};
use socket::{AdminSocket, SocketLock};
use tokens::TokenError;
use views::{ConfigurationRow, Reloaded};

/// Where everything is.
pub const BASE: &str = "/api/v1";

/// Grace period for open connections at shutdown.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

/// Why the listeners cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// There is no socket.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// There is no listener.
    #[error("cannot listen on {address}: {source} (api.listen)")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// Tokens could not be checked.
    #[error("api.jwt-public-key-file: {0}")]
    Token(#[from] TokenError),
    /// The system refuses threads.
    #[error("cannot open the listeners: {0}")]
    System(#[from] std::io::Error),
}

/// How the configuration is shown and read anew; only the daemon knows it.
pub struct ConfigHandle {
    /// Every key in force, with nothing secret in it.
    pub effective: Box<dyn Fn() -> Vec<ConfigurationRow> + Send + Sync>,
    /// Reads it anew, or says everything that is wrong with it and changes nothing.
    pub reload: Box<dyn Fn() -> Result<Reloaded, Vec<String>> + Send + Sync>,
}

/// Sockets that are bound and do not serve yet.
pub struct Listeners {
    socket: AdminSocket,
    tcp: Option<TcpListener>,
    admission: Admission,
    settings: ApiSettings,
}

/// The running server.
pub struct ApiServer {
    servers: Vec<ServerHandle>,
    /// The ends of those that let nobody in any more.
    ends: Vec<LocalBoxFuture<'static, ()>>,
    _lock: SocketLock,
    /// The admin socket.
    pub socket: PathBuf,
    /// Where TCP is listened on, if it is.
    pub listen: Option<SocketAddr>,
}

/// What every handler has.
pub(crate) struct Api {
    service: Service,
    log: LogHandle,
    configuration: Arc<ConfigHandle>,
    limits: Limits,
    admission: Admission,
    rate: rate::Rate,
    streams: Arc<Semaphore>,
    counts: metrics::CountsCache,
}

impl Api {
    fn pipeline(&self) -> &PipelineHandle {
        self.service.pipeline()
    }
}

impl Listeners {
    /// Takes the socket and the listener, before anything else is done: a second daemon ends here.
    pub fn take(settings: &ApiSettings) -> Result<Listeners, ApiError> {
        let admission = Admission::new(settings)?;
        let tcp = settings
            .listen
            .map(|address| TcpListener::bind(address).map_err(|source| ApiError::Listen { address, source }));
        let tcp = tcp.transpose()?;
        Ok(Listeners { socket: socket::open(&settings.socket)?, tcp, admission, settings: settings.clone() })
    }

    /// Whom the TCP listener lets in, to be changed while it is open.
    pub fn admission(&self) -> Admission {
        self.admission.clone()
    }

    /// Lets people in; on the thread of an actix system.
    pub fn open(self, service: Service, log: LogHandle, configuration: ConfigHandle) -> Result<ApiServer, ApiError> {
        let configuration = Arc::new(configuration);
        let api = || {
            web::Data::new(Api {
                service: service.clone(),
                log: log.clone(),
                configuration: configuration.clone(),
                limits: self.settings.limits.clone(),
                admission: self.admission.clone(),
                rate: rate::Rate::default(),
                streams: Arc::new(Semaphore::new(self.settings.limits.streams)),
                counts: metrics::CountsCache::default(),
            })
        };
        let listen = self.tcp.as_ref().and_then(|listener| listener.local_addr().ok());
        let mut servers = vec![serve(api(), Listener::Socket(self.socket.listener))?];
        if let Some(tcp) = self.tcp {
            servers.push(serve(api(), Listener::Tcp(tcp))?);
        }
        Ok(ApiServer { servers, ends: Vec::new(), _lock: self.socket.lock, socket: self.settings.socket, listen })
    }
}

impl ApiServer {
    /// Accepts no more connections. Open ones may stay until the server stops.
    pub fn shut(&mut self) {
        self.ends.extend(self.servers.drain(..).map(|server| server.stop(true).boxed_local()));
    }

    /// Shuts them if they are not, and waits a little for those who are in.
    pub async fn close(mut self) {
        self.shut();
        // Who is not done by then is let go of with the process.
        let _ = tokio::time::timeout(LEAVE_WITHIN, join_all(self.ends.drain(..))).await;
    }
}
