//! The time in which requests may be sent, for a process that has this right for a limited time only: as the node of a
//! fleet, while its lease lasts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;

type Monotonic = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Clones share the same times. Without a limit at first.
#[derive(Clone)]
pub struct SendWindow(Arc<WindowState>);

struct WindowState {
    monotonic: Monotonic,
    /// Microseconds of the monotonic clock from which on no request is begun.
    dial_until: AtomicU64,
    /// The same for requests under way, which are cut then.
    cut_at: AtomicU64,
    /// Changes when all requests under way are cut at once.
    cuts: watch::Sender<u64>,
}

impl SendWindow {
    /// The clock must go on while the machine is suspended.
    pub fn new(monotonic: impl Fn() -> Duration + Send + Sync + 'static) -> SendWindow {
        let (dial_until, cut_at) = (AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX));
        let cuts = watch::Sender::default();
        SendWindow(Arc::new(WindowState { monotonic: Arc::new(monotonic), dial_until, cut_at, cuts }))
    }

    pub fn set(&self, dial_until: Duration, cut_at: Duration) {
        self.0.dial_until.store(micros(dial_until), Ordering::Release);
        self.0.cut_at.store(micros(cut_at), Ordering::Release);
    }

    /// Closes the window, and cuts the requests under way at once.
    pub fn close(&self) {
        self.set(Duration::ZERO, Duration::ZERO);
        self.0.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Waits until the requests that are under way now are cut by [`SendWindow::close`].
    pub(super) async fn closed(&self) {
        let mut cuts = self.0.cuts.subscribe();
        // The sender lives as long as `self`.
        let _ = cuts.changed().await;
    }

    /// Whether a request may be begun now.
    pub fn is_open(&self) -> bool {
        micros((self.0.monotonic)()) < self.0.dial_until.load(Ordering::Acquire)
    }

    /// Time left for requests under way; none without a limit.
    pub(super) fn left(&self) -> Option<Duration> {
        let cut_at = self.0.cut_at.load(Ordering::Acquire);
        let left = || Duration::from_micros(cut_at.saturating_sub(micros((self.0.monotonic)())));
        (cut_at != u64::MAX).then(left)
    }
}

impl Default for SendWindow {
    fn default() -> SendWindow {
        SendWindow::new(|| Duration::ZERO)
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    #[test]
    fn p28_a_window_ends_by_the_clock_it_was_given() {
        let now = Arc::new(Mutex::new(Duration::from_secs(100)));
        let clock = now.clone();
        let window = SendWindow::new(move || *clock.lock());
        assert!(window.is_open());
        assert_eq!(window.left(), None);
        window.set(Duration::from_secs(110), Duration::from_secs(125));
        assert!(window.is_open());
        *now.lock() = Duration::from_secs(110);
        assert!(!window.is_open());
        assert_eq!(window.left(), Some(Duration::from_secs(15)));
        *now.lock() = Duration::from_secs(300);
        assert_eq!(window.left(), Some(Duration::ZERO));
    }
}
