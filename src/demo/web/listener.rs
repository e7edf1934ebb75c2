//! Listeners of the simulated web: binds all addresses to one port, opens and closes them.
//!
//! A closed listener is a bound socket that does not listen: connections are refused, and the port stays reserved. A
//! mute one has a full queue, so that connection attempts time out, as if the network were down.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::{Arc, mpsc as answers};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, mpsc};

use super::conversation;
use super::web_state::WebState;

/// How many connections wait to be accepted, for each host.
const BACKLOG: u32 = 128;
/// How many ports are tried until one is free on all addresses.
const PORTS_TRIED_MAX: usize = 32;
/// After an accept that failed, most likely because this process has too many open files.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(20);

/// How often, and how long apart, an address is bound again that another web holds.
const BIND_TRIES_MAX: usize = 200;
const BIND_PAUSE: Duration = Duration::from_millis(10);
/// After so long without a reaction a mute listener is full.
const FULL_AFTER: Duration = Duration::from_millis(50);

/// How a listener is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    Open,
    Shut,
    Mute,
}

/// What a listener is told.
pub(super) struct Order {
    pub(super) reaction: Reaction,
    /// Where to say how it went.
    pub(super) done: answers::SyncSender<io::Result<()>>,
}

pub(super) enum HostListener {
    Open(TcpListener),
    Shut(TcpSocket),
    /// With what fills it.
    Mute {
        _listener: TcpListener,
        _filling: Vec<TcpStream>,
    },
}

/// Binds all addresses to this port; with 0, to one that is free on all of them.
pub(super) fn bind_all(addresses: &[Ipv4Addr], port: u16) -> io::Result<(u16, Vec<TcpSocket>)> {
    let mut tried = 0;
    loop {
        tried += 1;
        match try_bind_all(addresses, port) {
            Err(error) if port == 0 && error.kind() == io::ErrorKind::AddrInUse && tried < PORTS_TRIED_MAX => {}
            outcome => return outcome,
        }
    }
}

fn try_bind_all(addresses: &[Ipv4Addr], port: u16) -> io::Result<(u16, Vec<TcpSocket>)> {
    let (mut port, mut sockets) = (port, Vec::with_capacity(addresses.len()));
    for address in addresses {
        // A free port is only found without reusing addresses: others may have bound it and not listen yet.
        let socket = bind(SocketAddrV4::new(*address, port), port != 0)?;
        port = socket.local_addr()?.port();
        sockets.push(socket);
    }
    Ok((port, sockets))
}

fn bind(address: SocketAddrV4, reuse: bool) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(reuse)?;
    socket.bind(SocketAddr::V4(address))?;
    // From here on always, and inherited by connections: what is left of them must not keep us from binding again.
    socket.set_reuseaddr(true)?;
    Ok(socket)
}

/// Binds an address that was ours a moment ago. Another web that looks for a free port may hold it for a moment.
async fn bind_again(address: SocketAddrV4) -> io::Result<TcpSocket> {
    for _ in 0..BIND_TRIES_MAX {
        match bind(address, true) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => tokio::time::sleep(BIND_PAUSE).await,
            bound => return bound,
        }
    }
    bind(address, true)
}

impl HostListener {
    /// The same listener the other way. Where that fails, the listener is lost.
    pub(super) async fn turned(self, address: SocketAddrV4, reaction: Reaction) -> io::Result<HostListener> {
        let socket = match (self, reaction) {
            (listener @ HostListener::Open(_), Reaction::Open) | (listener @ HostListener::Shut(_), Reaction::Shut) => {
                return Ok(listener);
            }
            (listener @ HostListener::Mute { .. }, Reaction::Mute) => return Ok(listener),
            (HostListener::Shut(socket), _) => socket,
            (listener, _) => {
                drop(listener);
                bind_again(address).await?
            }
        };
        match reaction {
            Reaction::Open => socket.listen(BACKLOG).map(HostListener::Open),
            Reaction::Shut => Ok(HostListener::Shut(socket)),
            Reaction::Mute => {
                let listener = socket.listen(1)?;
                let mut filling = Vec::new();
                while let Ok(stream) = tokio::time::timeout(FULL_AFTER, TcpStream::connect(address)).await {
                    filling.push(stream?);
                }
                Ok(HostListener::Mute { _listener: listener, _filling: filling })
            }
        }
    }

    async fn accept(&self) -> io::Result<TcpStream> {
        match self {
            HostListener::Open(listener) => listener.accept().await.map(|(stream, _)| stream),
            HostListener::Shut(_) | HostListener::Mute { .. } => std::future::pending().await,
        }
    }
}

/// Accepts clients and executes commands until the web ends.
pub(super) async fn keep(
    web_state: Arc<WebState>,
    host: usize,
    mut listener: HostListener,
    mut orders: mpsc::Receiver<Order>,
    places: Arc<Semaphore>,
) {
    loop {
        tokio::select! {
            biased;
            order = orders.recv() => {
                let Some(order) = order else { return };
                let (turned, outcome) = match listener.turned(web_state.hosts[host].address, order.reaction).await {
                    Ok(listener) => (Some(listener), Ok(())),
                    Err(error) => (None, Err(error)),
                };
                // Ignore a dropped handle.
                let _ = order.done.send(outcome);
                let Some(turned) = turned else { return };
                listener = turned;
            }
            accepted = listener.accept() => match accepted {
                Ok(stream) => {
                    tokio::spawn(conversation::hold(Arc::clone(&web_state), host, stream, Arc::clone(&places)));
                }
                Err(_) => tokio::time::sleep(PAUSE_AFTER_FAILURE).await,
            },
        }
    }
}
