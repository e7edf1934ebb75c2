//! Listeners on loopback for the dashboard, opened when a user asks for one and open until the daemon ends.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use actix_web::dev::ServerHandle;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

/// Listeners of one daemon; further ports are refused.
const LISTENERS_MAX: usize = 4;

/// Asks the thread of the actix system, which alone can start a server.
#[derive(Clone)]
pub(super) struct LoopbackOpener(mpsc::Sender<OpenRequest>);

/// Servers that are open, so that they can be closed with the others.
pub(super) type LoopbackServers = Arc<Mutex<Vec<ServerHandle>>>;

struct OpenRequest {
    /// 0 takes any port, the one of an open listener first.
    port: u16,
    answer: oneshot::Sender<io::Result<SocketAddr>>,
}

impl LoopbackOpener {
    /// The opener, and the task that serves it, for the thread of the actix system.
    pub(super) fn new(
        serve: impl Fn(&LoopbackOpener, TcpListener) -> io::Result<ServerHandle> + 'static,
    ) -> (LoopbackOpener, LoopbackServers, impl Future<Output = ()> + 'static) {
        let (sender, mut receiver) = mpsc::channel::<OpenRequest>(8);
        let (opener, servers) = (LoopbackOpener(sender), LoopbackServers::default());
        let (weak, open_servers) = (opener.0.downgrade(), servers.clone());
        let task = async move {
            let mut addresses: Vec<SocketAddr> = Vec::new();
            while let Some(request) = receiver.recv().await {
                let known = addresses.iter().find(|address| request.port == 0 || address.port() == request.port);
                let opened = match (known, weak.upgrade()) {
                    (Some(address), _) => Ok(*address),
                    (None, None) => break,
                    (None, _) if addresses.len() >= LISTENERS_MAX => {
                        Err(io::Error::other(format!("{LISTENERS_MAX} ports are open already; use one of them")))
                    }
                    (None, Some(sender)) => open(request.port, |listener| serve(&LoopbackOpener(sender), listener))
                        .map(|(address, server)| {
                            addresses.push(address);
                            open_servers.lock().push(server);
                            address
                        }),
                };
                let _ = request.answer.send(opened);
            }
        };
        (opener, servers, task)
    }

    /// The address of a listener on loopback.
    pub(super) async fn open(&self, port: u16) -> io::Result<SocketAddr> {
        let (answer, answered) = oneshot::channel();
        let ended = || io::Error::other("the daemon is ending");
        self.0.send(OpenRequest { port, answer }).await.map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }
}

fn open(
    port: u16,
    serve: impl FnOnce(TcpListener) -> io::Result<ServerHandle>,
) -> io::Result<(SocketAddr, ServerHandle)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let address = listener.local_addr()?;
    Ok((address, serve(listener)?))
}
