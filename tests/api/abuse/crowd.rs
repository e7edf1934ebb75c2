//! Clients that connect and then hold their place: slow readers of streams, and requests that never become whole.

use std::time::Duration;

use feedwarden::api::tokens::TokenScope;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinHandle;

use super::Listeners;

/// A connection, whatever it is made of.
trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

/// Readers of streams at each listener: half of them never read, half a byte at a time.
const READERS: usize = 100;
/// Requests of each sort that never become whole, at each listener.
const HALVES: usize = 20;

/// Those who hold a place until this is dropped.
pub(super) struct Crowd {
    _silent: Vec<Box<dyn Stream>>,
    slow: Vec<JoinHandle<()>>,
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.slow.iter().for_each(JoinHandle::abort);
    }
}

/// Lets them all in, and waits until each reader has a stream.
pub(super) async fn gather(listeners: &Listeners) -> Crowd {
    let (mut silent, mut slow): (Vec<Box<dyn Stream>>, _) = (Vec::new(), Vec::new());
    for number in 0..2 * READERS {
        // Programs behind one address have a rate for each of their tokens.
        let token = listeners.token(&format!("reader {}", number / 20), TokenScope::Read, 0);
        let mut stream: Box<dyn Stream> =
            if number % 2 == 0 { Box::new(listeners.socket().await) } else { Box::new(listeners.tcp().await) };
        let request =
            format!("GET /api/v1/posts/stream?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {token}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 200", "reader {number} has a stream");
        match number % 4 < 2 {
            true => silent.push(stream),
            false => slow.push(actix_rt::spawn(async move {
                while stream.read_u8().await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            })),
        }
    }
    let token = listeners.token("half", TokenScope::Write, 0);
    let halves = [
        String::new(),
        "GET /api/v1/sta".to_owned(),
        format!("POST /api/v1/sources HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {token}\r\nX-Endless: 1\r\n"),
        format!(
            "POST /api/v1/sources HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {token}\r\n\
             Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
        ),
        format!(
            "POST /api/v1/opml HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {token}\r\n\
             Content-Type: text/x-opml\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n<opml>\r\n"
        ),
    ];
    for half in halves.iter().cycle().take(halves.len() * HALVES) {
        for mut stream in [Box::new(listeners.socket().await) as Box<dyn Stream>, Box::new(listeners.tcp().await)] {
            stream.write_all(half.as_bytes()).await.unwrap();
            silent.push(stream);
        }
    }
    Crowd { _silent: silent, slow }
}
