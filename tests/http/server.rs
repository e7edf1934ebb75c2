//! A server that does exactly what it is told, in order, for each connection in turn.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::{HandshakeKind, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// What a server does next. At the end of the acts the connection is closed in good order.
#[derive(Clone)]
pub(crate) enum Act {
    /// Reads a request up to its empty line.
    Read,
    /// Sends these bytes at once.
    Send(Vec<u8>),
    /// Sends these bytes one by one, with this pause between them, until the client hangs up.
    Drip(Vec<u8>, Duration),
    /// Says nothing until the client hangs up.
    Mute,
    Reset,
    /// Shakes hands as a TLS server.
    Secure(Arc<ServerConfig>),
    /// Starts over with a new connection.
    NextConnection,
}

pub(crate) fn send(bytes: impl AsRef<[u8]>) -> Act {
    Act::Send(bytes.as_ref().to_vec())
}

/// A whole answer of 200 with this body.
pub(crate) fn ok(body: &str) -> Act {
    send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

/// Reads a request, then sends these bytes, then closes.
pub(crate) fn answer(bytes: impl AsRef<[u8]>) -> Vec<Act> {
    vec![Act::Read, send(bytes)]
}

/// Each answer on a connection of its own.
pub(crate) fn answers(texts: &[String]) -> Vec<Act> {
    let mut acts = Vec::new();
    for text in texts {
        acts.extend([Act::Read, send(text), Act::NextConnection]);
    }
    acts
}

/// An address on loopback without a listener.
pub(crate) fn unused_address() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// What a server was asked so far.
#[derive(Default)]
struct Heard {
    /// The heads of the requests, as they came.
    requests: Vec<String>,
    /// TLS handshakes that resumed a session.
    resumed: usize,
}

/// The server and what it has been asked.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    heard: Arc<Mutex<Heard>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn play(acts: Vec<Act>) -> Server {
        Server::play_at("127.0.0.1:0", acts).await
    }

    pub(crate) async fn play_at(address: &str, acts: Vec<Act>) -> Server {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Heard::default()));
        let hears = Arc::clone(&heard);
        let task = tokio::spawn(async move {
            let mut acts = acts.into_iter().peekable();
            while acts.peek().is_some() {
                let Ok((stream, _)) = listener.accept().await else { return };
                let this_connection: Vec<Act> =
                    acts.by_ref().take_while(|act| !matches!(act, Act::NextConnection)).collect();
                perform(stream, this_connection, &hears).await;
            }
        });
        Server { address, heard, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The heads of the requests so far, as they came.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.heard.lock().unwrap().requests.clone()
    }

    /// The number of TLS handshakes that resumed a session.
    pub(crate) fn resumed(&self) -> usize {
        self.heard.lock().unwrap().resumed
    }
}

async fn perform(stream: TcpStream, acts: Vec<Act>, heard: &Mutex<Heard>) {
    let mut acts = acts.into_iter();
    if acts.as_slice().first().is_some_and(|act| matches!(act, Act::Secure(_))) {
        let Some(Act::Secure(configuration)) = acts.next() else { unreachable!("just seen") };
        // A client that does not trust us ends the handshake: that is what the test is about.
        if let Ok(stream) = TlsAcceptor::from(configuration).accept(stream).await {
            if stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed) {
                heard.lock().unwrap().resumed += 1;
            }
            let _ = converse(stream, acts, heard).await;
        }
        return;
    }
    // An error means that the client hung up in the middle of an act.
    if let Ok((stream, true)) = converse(stream, acts, heard).await {
        stream.set_zero_linger().unwrap();
    }
}

/// Plays the acts; true if the connection is to be reset.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    acts: impl Iterator<Item = Act>,
    heard: &Mutex<Heard>,
) -> std::io::Result<(S, bool)> {
    for act in acts {
        match act {
            Act::Read => {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await?);
                }
                // One character for each byte, so that tests can compare bytes outside ASCII.
                heard.lock().unwrap().requests.push(head.iter().map(|byte| char::from(*byte)).collect());
            }
            Act::Send(bytes) => {
                stream.write_all(&bytes).await?;
                stream.flush().await?;
            }
            Act::Drip(bytes, pause) => {
                for byte in bytes {
                    stream.write_all(&[byte]).await?;
                    stream.flush().await?;
                    tokio::time::sleep(pause).await;
                }
            }
            Act::Mute => while stream.read(&mut [0; 1024]).await? > 0 {},
            Act::Reset => return Ok((stream, true)),
            Act::Secure(_) | Act::NextConnection => unreachable!("taken care of by the caller"),
        }
    }
    stream.shutdown().await?;
    // Closing with unread bytes in the socket would reset it: let the client hang up first.
    while stream.read(&mut [0; 1024]).await? > 0 {}
    Ok((stream, false))
}
