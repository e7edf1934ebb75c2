//! The dialled stream: plain or TLS, remembering the first byte it received.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// The first byte received, which identifies a TLS server that got a plain HTTP request.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstByte(Arc<AtomicU16>);

impl FirstByte {
    const SEEN: u16 = 0x100;
    /// A TLS alert or handshake record.
    const TLS_RECORDS: [u16; 2] = [Self::SEEN | 0x15, Self::SEEN | 0x16];

    pub(super) fn is_tls(&self) -> bool {
        Self::TLS_RECORDS.contains(&self.0.load(Ordering::Relaxed))
    }

    fn note(&self, received: &[u8]) {
        if let Some(first) = received.first()
            && self.0.load(Ordering::Relaxed) == 0
        {
            self.0.store(Self::SEEN | u16::from(*first), Ordering::Relaxed);
        }
    }
}

/// A connection to a publisher.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream, FirstByte),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    pub(super) fn plain(stream: TcpStream) -> Stream {
        Stream::Plain(stream, FirstByte::default())
    }

    pub(super) fn first_byte(&self) -> FirstByte {
        match self {
            Stream::Plain(_, first_byte) => first_byte.clone(),
            Stream::Tls(_) => FirstByte::default(),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream, first_byte) => {
                let before = buffer.filled().len();
                let result = Pin::new(stream).poll_read(context, buffer);
                first_byte.note(&buffer.filled()[before..]);
                result
            }
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream, _) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream, _) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream, _) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
