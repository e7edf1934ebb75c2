//! HTTP/1.1 over a connected stream: sends a request, receives the head, then the body in chunks.
//!
//! hyper handles interim responses, bodies that end with the connection and repeated equal
//! lengths, and reports truncation; this file limits it and drives it without a separate task, so that
//! dropping a request closes its connection at once.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;

use super::stream::Stream;

/// Real responses have fewer than a hundred headers; some firewalls send more.
const HEADERS_MAX: usize = 256;
/// Covers the 64 KB of cookies and policies of some responses.
const HEAD_BYTES_MAX: usize = 128 * 1024;

/// The most of a response that a connection buffers.
pub(super) const READ_BUFFER_BYTES_MAX: usize = 2 * HEAD_BYTES_MAX;

pub(super) struct HttpConnection {
    sender: SendRequest<String>,
    connection: Pin<Box<Connection<TokioIo<Stream>, String>>>,
    ended: bool,
    pub(super) address: Option<SocketAddr>,
}

impl HttpConnection {
    pub(super) async fn open(stream: Stream, address: Option<SocketAddr>) -> Result<HttpConnection, hyper::Error> {
        let (sender, connection) = Builder::new()
            .title_case_headers(true)
            .allow_spaces_after_header_name_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .ignore_invalid_headers_in_responses(true)
            .max_headers(HEADERS_MAX)
            .max_header_size(HEAD_BYTES_MAX)
            .max_buf_size(READ_BUFFER_BYTES_MAX)
            .handshake(TokioIo::new(stream))
            .await?;
        Ok(HttpConnection { sender, connection: Box::pin(connection), ended: false, address })
    }

    pub(super) async fn ask(
        &mut self,
        request: hyper::Request<String>,
    ) -> Result<hyper::Response<Incoming>, hyper::Error> {
        let answer = self.sender.send_request(request);
        drive(&mut self.connection, &mut self.ended, answer).await
    }

    /// None at the end of the body.
    pub(super) async fn piece(&mut self, body: &mut Incoming) -> Option<Result<Bytes, hyper::Error>> {
        let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context));
        match drive(&mut self.connection, &mut self.ended, frame).await? {
            // Ignore trailers.
            Ok(frame) => Some(Ok(frame.into_data().unwrap_or_default())),
            Err(error) => Some(Err(error)),
        }
    }

    /// Whether the connection is open and idle. Never waits.
    pub(super) fn is_idle(&mut self) -> bool {
        let mut context = Context::from_waker(std::task::Waker::noop());
        if !self.ended && self.connection.as_mut().poll(&mut context).is_ready() {
            self.ended = true;
        }
        !self.ended && self.sender.is_ready()
    }
}

/// Waits for the future while keeping the connection moving.
async fn drive<F: Future>(
    connection: &mut Pin<Box<Connection<TokioIo<Stream>, String>>>,
    ended: &mut bool,
    future: F,
) -> F::Output {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(output);
        }
        // The awaited request or body also gets the connection's error.
        if !*ended && connection.as_mut().poll(context).is_ready() {
            *ended = true;
        }
        future.as_mut().poll(context)
    })
    .await
}
