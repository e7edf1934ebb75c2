//! A TCP proxy between one node and PostgreSQL, which passes, freezes, delays or resets what goes through it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::unix;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// What happens to bytes in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    Open,
    /// Bytes and new connections wait; nothing is lost.
    Frozen,
    /// Every piece waits this long.
    Delayed(Duration),
    /// Connections are closed, and new ones too.
    Closed,
}

/// Runs until it is dropped.
pub(super) struct Proxy {
    pub(super) port: u16,
    passage: watch::Sender<Passage>,
    /// Socket of the server that new connections lead to.
    server: Arc<Mutex<PathBuf>>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Proxy {
    pub(super) async fn start(server: PathBuf) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (passage, watched) = watch::channel(Passage::Open);
        let server = Arc::new(Mutex::new(server));
        let accepting = tokio::spawn(accept(listener, watched, server.clone()));
        Proxy { port, passage, server, accepting }
    }

    pub(super) fn set(&self, passage: Passage) {
        self.passage.send_replace(passage);
    }

    /// Leads new connections to another server and closes those to the old one.
    pub(super) fn switch(&self, server: PathBuf) {
        *self.server.lock() = server;
        self.set(Passage::Closed);
        self.set(Passage::Open);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.set(Passage::Closed);
    }
}

async fn accept(listener: TcpListener, passage: watch::Receiver<Passage>, server: Arc<Mutex<PathBuf>>) {
    loop {
        let Ok((node, _)) = listener.accept().await else { return };
        let (passage, server) = (passage.clone(), server.clone());
        tokio::spawn(async move {
            // A connection that breaks is what the tests are about.
            let _ = connect(node, passage, server).await;
        });
    }
}

async fn connect(
    node: TcpStream,
    mut passage: watch::Receiver<Passage>,
    server: Arc<Mutex<PathBuf>>,
) -> io::Result<()> {
    node.set_nodelay(true)?;
    if let Ok(state) = passage.wait_for(|passage| *passage != Passage::Frozen).await
        && *state == Passage::Closed
    {
        return Ok(());
    }
    let path = server.lock().clone();
    let (from_server, to_server) = UnixStream::connect(&path).await?.into_split();
    let (from_node, to_node) = node.into_split();
    let has_changed = {
        let (mut passage, server) = (passage.clone(), server.clone());
        async move {
            loop {
                let is_closed = *passage.borrow_and_update() == Passage::Closed;
                if is_closed || *server.lock() != path || passage.changed().await.is_err() {
                    return;
                }
            }
        }
    };
    tokio::select! {
        _ = has_changed => Ok(()),
        end = carry_to_server(from_node, to_server, passage.clone()) => end,
        end = carry_to_node(from_server, to_node, passage) => end,
    }
}

async fn carry_to_server(
    mut from: OwnedReadHalf,
    mut to: unix::OwnedWriteHalf,
    mut passage: watch::Receiver<Passage>,
) -> io::Result<()> {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let length = from.read(&mut bytes).await?;
        wait(&mut passage).await;
        if length == 0 {
            return Ok(());
        }
        to.write_all(&bytes[..length]).await?;
    }
}

async fn carry_to_node(
    mut from: unix::OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut passage: watch::Receiver<Passage>,
) -> io::Result<()> {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let length = from.read(&mut bytes).await?;
        wait(&mut passage).await;
        if length == 0 {
            return Ok(());
        }
        to.write_all(&bytes[..length]).await?;
    }
}

/// Waits as long as bytes have to.
async fn wait(passage: &mut watch::Receiver<Passage>) {
    let delay = match passage.wait_for(|passage| *passage != Passage::Frozen).await.as_deref() {
        Ok(Passage::Delayed(delay)) => *delay,
        _ => Duration::ZERO,
    };
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
}
