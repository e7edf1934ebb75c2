//! The addresses of a little web: binding them all to one port, opening them and shutting them.
//!
//! A shut door is a bound socket that does not listen: connections are refused, and nobody else can take the place. A mute
//! one is so full of connections that it no longer reacts: whoever connects hears nothing, as from a network that is away.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::{Arc, mpsc as answers};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, mpsc};

use super::conversation;
use super::town::Town;

/// How many connections wait to be accepted, for each host.
const BACKLOG: u32 = 128;
/// How many ports are tried until one is free on all addresses.
const PORTS_TRIED_MAX: usize = 32;
/// After an accept that failed, most likely because this process has too many open files.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(20);

/// After so long without a reaction a mute door is full.
const FULL_AFTER: Duration = Duration::from_millis(50);

/// How a door is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Open,
    Shut,
    Mute,
}

/// What a door is told.
pub(super) struct Order {
    pub(super) way: Way,
    /// Where to say how it went.
    pub(super) done: answers::SyncSender<io::Result<()>>,
}

pub(super) enum Door {
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

impl Door {
    /// The same door the other way. Where that fails, the door is lost.
    pub(super) async fn turned(self, address: SocketAddrV4, way: Way) -> io::Result<Door> {
        let socket = match (self, way) {
            (door @ Door::Open(_), Way::Open) | (door @ Door::Shut(_), Way::Shut) => return Ok(door),
            (door @ Door::Mute { .. }, Way::Mute) => return Ok(door),
            (Door::Shut(socket), _) => socket,
            (door, _) => {
                drop(door);
                bind(address, true)?
            }
        };
        match way {
            Way::Open => socket.listen(BACKLOG).map(Door::Open),
            Way::Shut => Ok(Door::Shut(socket)),
            Way::Mute => {
                let listener = socket.listen(1)?;
                let mut filling = Vec::new();
                while let Ok(stream) = tokio::time::timeout(FULL_AFTER, TcpStream::connect(address)).await {
                    filling.push(stream?);
                }
                Ok(Door::Mute { _listener: listener, _filling: filling })
            }
        }
    }

    async fn accept(&self) -> io::Result<TcpStream> {
        match self {
            Door::Open(listener) => listener.accept().await.map(|(stream, _)| stream),
            Door::Shut(_) | Door::Mute { .. } => std::future::pending().await,
        }
    }
}

/// Lets clients in and follows orders until the web ends.
pub(super) async fn keep(
    town: Arc<Town>,
    host: usize,
    mut door: Door,
    mut orders: mpsc::Receiver<Order>,
    places: Arc<Semaphore>,
) {
    loop {
        tokio::select! {
            biased;
            order = orders.recv() => {
                let Some(order) = order else { return };
                let (turned, outcome) = match door.turned(town.hosts[host].address, order.way).await {
                    Ok(door) => (Some(door), Ok(())),
                    Err(error) => (None, Err(error)),
                };
                // Nobody waits any more if the handle is gone.
                let _ = order.done.send(outcome);
                let Some(turned) = turned else { return };
                door = turned;
            }
            accepted = door.accept() => match accepted {
                Ok(stream) => {
                    tokio::spawn(conversation::hold(Arc::clone(&town), host, stream, Arc::clone(&places)));
                }
                Err(_) => tokio::time::sleep(PAUSE_AFTER_FAILURE).await,
            },
        }
    }
}
