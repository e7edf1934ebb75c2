//! The server of a listener: threads, limits and middleware.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use actix_http::{HttpService, error::DispatchError};
use actix_server::{GracefulShutdownSignal, Server};
use actix_service::{IntoServiceFactory, ServiceFactory, ServiceFactoryExt, fn_service, map_config};
use actix_web::dev::{AppConfig, ServerHandle};
use actix_web::middleware::from_fn;
use actix_web::{App, Error, web};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use super::connection::{Connection, Patience};
use super::forwarding::forward;
use super::guard::{self, Peer};
use super::headers::add_headers;
use super::local::LocalHandlers;
use super::problem::Problem;
use super::request_metrics::measure;
use super::site::{MountedSite, problems_as_pages};
use super::{Api, routes};

/// Threads of each listener.
const WORKERS: usize = 2;
/// Time limit for the head of the first request, and for closing.
const CLIENT_WITHIN: Duration = Duration::from_secs(10);
/// Send buffer per connection in bytes; the system's default is some megabytes.
const SEND_BUFFER_BYTES: usize = 128 * 1024;
/// Bytes for head and framing of a request, in addition to the largest body.
const OVERHEAD_BYTES: usize = 1024 * 1024;

pub(super) enum Listener {
    Socket(UnixListener),
    Tcp(TcpListener),
}

/// Starts the server; needs the thread of an actix system.
pub(super) fn serve(api: web::Data<Api>, listener: Listener, site: MountedSite) -> io::Result<ServerHandle> {
    let patience = Patience {
        // Longer than the slowest response, for which the client is not responsible.
        within: api.limits.answer_within + api.limits.answer_within / 4,
        bytes: api.limits.import_bytes.max(api.limits.body_bytes) + OVERHEAD_BYTES,
    };
    let server = Server::build()
        .workers(WORKERS)
        .max_concurrent_connections(api.limits.connections.div_ceil(WORKERS))
        // No response takes longer; closing the listeners has a shorter limit.
        .shutdown_timeout(api.limits.answer_within.as_secs().max(1))
        .disable_signals();
    let ending = server.graceful_shutdown_signal();
    let server = match listener {
        Listener::Socket(listener) => server.listen_uds("admin socket", listener, move || {
            let connect = move |stream: UnixStream| {
                let uid = stream.peer_cred().ok().map(|peer| peer.uid());
                std::future::ready(Ok((Connection::new(stream, Peer::Socket { uid }, patience), None)))
            };
            fn_service(connect).and_then(http(api.clone(), site, ending.clone()))
        })?,
        Listener::Tcp(listener) => server.listen("tcp", listener, move || {
            let connect = move |stream: TcpStream| {
                // Failures are harmless: the connection is slower or uses more memory.
                let _ = stream.set_nodelay(true);
                let _ = rustix::net::sockopt::set_socket_send_buffer_size(&stream, SEND_BUFFER_BYTES);
                let address = stream.peer_addr().ok();
                let peer = Peer::Tcp { address: address.map(|address| address.ip()) };
                std::future::ready(Ok((Connection::new(stream, peer, patience), address)))
            };
            fn_service(connect).and_then(http(api.clone(), site, ending.clone()))
        })?,
    };
    let server = server.run();
    let handle = server.handle();
    actix_rt::spawn(server);
    Ok(handle)
}

/// HTTP/1.1 on a socket or TCP connection.
fn http<S: AsyncRead + AsyncWrite + Unpin + 'static>(
    api: web::Data<Api>,
    site: MountedSite,
    ending: GracefulShutdownSignal,
) -> impl ServiceFactory<
    (Connection<S>, Option<SocketAddr>),
    Config = (),
    Response = (),
    Error = DispatchError,
    InitError = (),
> {
    let client_within = CLIENT_WITHIN.min(api.limits.answer_within);
    let app = App::new()
        .app_data(api)
        .app_data(site)
        .app_data(LocalHandlers::default())
        .wrap(from_fn(forward))
        .wrap(from_fn(guard::guard))
        .wrap(from_fn(problems_as_pages))
        .wrap(from_fn(add_headers))
        .wrap(from_fn(measure))
        .configure(routes::mount)
        .configure(site.mount)
        .default_service(web::to(async || Problem::not_found("there is nothing at this path").answer()));
    let app = app.into_factory().map_err(|error: Error| error.error_response());
    HttpService::build()
        .graceful_shutdown_signal(move || {
            let ending = ending.clone();
            async move { ending.notified().await }
        })
        .client_request_timeout(client_within)
        .client_disconnect_timeout(client_within)
        .on_connect_ext(|connection: &Connection<S>, extensions| {
            extensions.insert(connection.peer);
        })
        .h1(map_config(app, |()| AppConfig::default()))
}
