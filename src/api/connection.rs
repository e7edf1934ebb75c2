//! A connection that is closed when its client stalls.
//!
//! The HTTP layer limits only the head of the first request. A client that never reads its response, that leaves a
//! second head or a body incomplete, or that sends a byte at a time would keep its connection for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::guard::Peer;
use crate::clock::Stopwatch;

/// Minimum rate, in bytes per second, of a client that sends but does not read.
const BYTES_PER_SECOND_MIN: usize = 1024;

/// Limits for a client between two bytes that it reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Maximum time without reading; data that the client sends prolongs it.
    pub(super) within: Duration,
    /// Maximum number of bytes that the client may send meanwhile.
    pub(super) bytes: usize,
}

/// A stream whose timer restarts whenever its client reads.
pub(super) struct Connection<S> {
    stream: S,
    pub(super) peer: Peer,
    patience: Patience,
    since: Stopwatch,
    /// Bytes received since then.
    received: usize,
    /// Whether data waits to be read by the client.
    is_blocked: bool,
    alarm: Pin<Box<Sleep>>,
}

impl<S> Connection<S> {
    pub(super) fn new(stream: S, peer: Peer, patience: Patience) -> Connection<S> {
        let alarm = Box::pin(sleep(patience.within));
        Connection { stream, peer, patience, since: Stopwatch::start(), received: 0, is_blocked: false, alarm }
    }

    /// Fails when the limit is exceeded; otherwise registers a wake-up for that time.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.received > self.patience.bytes {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the client sends without end"));
        }
        let within = self.patience.within;
        // Sending prolongs the limit, but not while a response is waiting to be read.
        let earned = if self.is_blocked { 0 } else { self.received / BYTES_PER_SECOND_MIN };
        while self.alarm.as_mut().poll(context).is_ready() {
            let left = (within + Duration::from_secs(earned as u64)).saturating_sub(self.since.elapsed());
            if left.is_zero() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the client stalls"));
            }
            self.alarm.set(sleep(left.min(within)));
        }
        Ok(())
    }

    fn note_sent(&mut self, sent: Poll<io::Result<usize>>, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.is_blocked = sent.is_pending();
        match &sent {
            Poll::Ready(Ok(1..)) => (self.since, self.received) = (Stopwatch::start(), 0),
            Poll::Ready(_) => {}
            Poll::Pending => self.check(context)?,
        }
        sent
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.received += buffer.filled().len() - before;
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note_sent(sent, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note_sent(sent, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const WITHIN: Duration = Duration::from_millis(400);

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test);
    }

    fn connection<S>(stream: S) -> Connection<S> {
        Connection::new(stream, Peer::Socket { uid: None }, Patience { within: WITHIN, bytes: 100_000 })
    }

    #[test]
    fn a_client_that_takes_nothing_is_let_go_of() {
        run(async {
            let (ours, _theirs) = duplex(16);
            let error = connection(ours).write_all(&[0; 100]).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn a_client_that_sends_nothing_or_a_byte_at_a_time_is_let_go_of() {
        run(async {
            let (ours, mut theirs) = duplex(16);
            let mut ours = connection(ours);
            let sending = async {
                while theirs.write_all(b"x").await.is_ok() {
                    sleep(WITHIN / 10).await;
                }
            };
            let reading = async {
                let error = ours.read_to_end(&mut Vec::new()).await.unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::TimedOut);
                drop(ours);
            };
            futures_util::join!(sending, reading);
        });
    }

    #[test]
    fn a_client_that_takes_a_little_now_and_then_is_kept() {
        run(async {
            let (ours, mut theirs) = duplex(16);
            let mut ours = connection(ours);
            let watch = Stopwatch::start();
            let taking = async {
                for _ in 0..25 {
                    sleep(WITHIN / 10).await;
                    theirs.read_exact(&mut [0; 8]).await.unwrap();
                }
            };
            let (sent, ()) = futures_util::join!(ours.write_all(&[0; 200]), taking);
            sent.unwrap();
            assert!(watch.elapsed() > 2 * WITHIN);
        });
    }

    #[test]
    fn a_client_that_sends_much_is_given_time_but_not_without_end() {
        run(async {
            let (ours, mut theirs) = duplex(4096);
            let mut ours = connection(ours);
            let watch = Stopwatch::start();
            let sending = async {
                // 8 KiB earn eight seconds.
                theirs.write_all(&[0; 8192]).await.unwrap();
                sleep(2 * WITHIN).await;
                while theirs.write_all(&[0; 4096]).await.is_ok() {}
            };
            let reading = async {
                let error = ours.read_to_end(&mut Vec::new()).await.unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
                drop(ours);
            };
            futures_util::join!(sending, reading);
            assert!(watch.elapsed() >= 2 * WITHIN);
        });
    }
}
