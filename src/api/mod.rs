//! The HTTP API: one set of handlers for the admin socket and for TCP.
//!
//! Handlers read from the store and the pipeline's handle, and change through the handle. Every wait for an actor has a
//! time limit, and the listeners have their own threads. `docs/api.md` documents the API.

mod access_rules;
pub mod authorization;
mod callbacks;
mod client_address;
mod connection;
mod endpoint;
pub mod feeds;
mod forwarding;
mod guard;
mod handlers;
mod headers;
mod health;
mod host_names;
mod input;
mod local;
mod loopback;
mod metrics;
mod openapi;
mod overview;
mod problem;
mod rate;
mod refusals;
mod request_metrics;
mod routes;
mod server;
mod sessions;
pub mod settings;
mod site;
mod socket;
pub mod tokens;
pub mod views;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::web;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, join_all};
use tokio::sync::Semaphore;

use crate::actors::PipelineHandle;
use crate::model::Timestamp;
use crate::service::Service;
use crate::telemetry::LogHandle;

pub use access_rules::{AccessRules, SharedAccessRules};
pub use forwarding::answer_calls;
pub(crate) use guard::Browser;
pub(crate) use local::LocalApi;
pub use openapi::document as openapi_document;
pub(crate) use problem::Problem;
pub use problem::{ProblemView, TYPE_PREFIX};
pub(crate) use sessions::cookie_name;
pub use site::{MountedSite, SITE};
pub use socket::SocketError;

use loopback::{LoopbackOpener, LoopbackServers};
use server::{Listener, serve};
use sessions::Sessions;
use settings::{ApiLimits, ApiSettings};
use socket::{AdminSocket, SocketLock};
use tokens::TokenError;
use views::{ConfigurationRow, Reloaded};

pub const BASE: &str = "/api/v1";

/// Grace period for open connections at shutdown.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error("cannot listen on {address}: {source} (api.listen)")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("cannot listen on {address}: {source} (websub.listen)")]
    Callbacks { address: SocketAddr, source: std::io::Error },
    #[error("api.jwt-public-key-file: {0}")]
    Token(#[from] TokenError),
    #[error("cannot open the listeners: {0}")]
    System(#[from] std::io::Error),
}

/// Access to the configuration, which only the daemon knows.
pub struct ConfigHandle {
    /// All effective keys, without secrets.
    pub effective: Box<dyn Fn() -> Vec<ConfigurationRow> + Send + Sync>,
    /// Reloads the configuration, or returns all errors and changes nothing.
    pub reload: Box<dyn Fn() -> Result<Reloaded, Vec<String>> + Send + Sync>,
}

pub struct Listeners {
    socket: AdminSocket,
    tcp: Option<TcpListener>,
    access_rules: SharedAccessRules,
    settings: ApiSettings,
}

pub struct ApiServer {
    servers: Vec<ServerHandle>,
    loopback: LoopbackServers,
    /// Handles of closed listeners.
    ends: Vec<LocalBoxFuture<'static, ()>>,
    _lock: SocketLock,
    pub socket: PathBuf,
    pub listen: Option<SocketAddr>,
}

pub(crate) struct Api {
    service: Service,
    log: LogHandle,
    configuration: Arc<ConfigHandle>,
    limits: ApiLimits,
    access_rules: SharedAccessRules,
    rate: rate::Rate,
    refusals: Arc<refusals::Refusals>,
    requests: Arc<request_metrics::RequestMetrics>,
    /// Start of the daemon by the clock of that time; a step of the clock does not change it.
    started_at: Timestamp,
    readiness: health::ReadinessCheck,
    streams: Arc<Semaphore>,
    counts: metrics::CountsCache,
    overview: overview::OverviewCache,
    sessions: Arc<Sessions>,
    loopback: LoopbackOpener,
}

impl Api {
    fn pipeline(&self) -> &PipelineHandle {
        self.service.pipeline()
    }

    /// A number that changes with every settled poll, crash, restart and change by a user.
    fn activity(&self) -> u64 {
        let view = self.pipeline().statistics().view();
        view.settled() + view.crashes + view.restarts + self.service.changes()
    }
}

impl Listeners {
    /// Binds the socket and the listener first, so that a second daemon fails here.
    pub fn take(settings: &ApiSettings) -> Result<Listeners, ApiError> {
        let access_rules = SharedAccessRules::new(settings)?;
        let tcp = settings
            .listen
            .map(|address| TcpListener::bind(address).map_err(|source| ApiError::Listen { address, source }));
        let tcp = tcp.transpose()?;
        Ok(Listeners { socket: socket::open(&settings.socket)?, tcp, access_rules, settings: settings.clone() })
    }

    pub fn access_rules(&self) -> SharedAccessRules {
        self.access_rules.clone()
    }

    /// Starts serving; needs the thread of an actix system.
    pub fn open(
        self,
        service: Service,
        log: LogHandle,
        configuration: ConfigHandle,
        site: MountedSite,
    ) -> Result<ApiServer, ApiError> {
        let configuration = Arc::new(configuration);
        let refusals = Arc::new(refusals::Refusals::default());
        let requests = Arc::new(request_metrics::RequestMetrics::default());
        let sessions = Arc::new(Sessions::default());
        let started_at = service.started_at();
        let (settings, access_rules) = (self.settings.clone(), self.access_rules.clone());
        let api = move |loopback: &LoopbackOpener| {
            web::Data::new(Api {
                service: service.clone(),
                log: log.clone(),
                configuration: configuration.clone(),
                limits: settings.limits.clone(),
                access_rules: access_rules.clone(),
                rate: rate::Rate::default(),
                refusals: refusals.clone(),
                requests: requests.clone(),
                started_at,
                readiness: health::ReadinessCheck::default(),
                streams: Arc::new(Semaphore::new(settings.limits.streams)),
                counts: metrics::CountsCache::default(),
                overview: overview::OverviewCache::default(),
                sessions: sessions.clone(),
                loopback: loopback.clone(),
            })
        };
        let api = Rc::new(api);
        let of_loopback = api.clone();
        let (opener, loopback, opening) =
            LoopbackOpener::new(move |opener, listener| serve(of_loopback(opener), Listener::Tcp(listener), site));
        actix_rt::spawn(opening);
        let listen = self.tcp.as_ref().and_then(|listener| listener.local_addr().ok());
        let mut servers = vec![serve(api(&opener), Listener::Socket(self.socket.listener), site)?];
        if let Some(tcp) = self.tcp {
            servers.push(serve(api(&opener), Listener::Tcp(tcp), site)?);
        }
        let (ends, socket) = (Vec::new(), self.settings.socket);
        Ok(ApiServer { servers, loopback, ends, _lock: self.socket.lock, socket, listen })
    }
}

/// The listener for hubs.
pub struct CallbackListener(TcpListener);

/// The running listener for hubs.
pub struct CallbackServer {
    server: ServerHandle,
    pub listen: Option<SocketAddr>,
}

impl CallbackListener {
    pub fn take(address: SocketAddr) -> Result<CallbackListener, ApiError> {
        TcpListener::bind(address).map(CallbackListener).map_err(|source| ApiError::Callbacks { address, source })
    }

    /// Starts serving the callbacks under this URL; needs the thread of an actix system.
    pub fn open(self, service: Service, public_url: &str) -> Result<CallbackServer, ApiError> {
        let listen = self.0.local_addr().ok();
        Ok(CallbackServer { server: callbacks::serve(service, public_url, self.0)?, listen })
    }
}

impl CallbackServer {
    /// Closes the listener, and waits shortly for open connections.
    pub async fn close(self) {
        let _ = tokio::time::timeout(LEAVE_WITHIN, self.server.stop(true)).await;
    }
}

impl ApiServer {
    /// Accepts no more connections. Open ones may stay until the server stops.
    pub fn shut(&mut self) {
        let servers = self.servers.drain(..).chain(std::mem::take(&mut *self.loopback.lock()));
        self.ends.extend(servers.map(|server| server.stop(true).boxed_local()));
    }

    /// Closes the listeners, and waits shortly for open connections.
    pub async fn close(mut self) {
        self.shut();
        // Remaining connections end with the process.
        let _ = tokio::time::timeout(LEAVE_WITHIN, join_all(self.ends.drain(..))).await;
    }
}
