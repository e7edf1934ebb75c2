//! Notifies the service manager (`Type=notify`): starting, ready, alive, stopping. Does nothing without one.

use std::time::Duration;

use sd_notify::NotifyState;
use slog::{Logger, warn};

use crate::actors::PipelineHandle;
use crate::clock::Stopwatch;

/// Tolerated delay of a tick.
const TICK_GRACE: Duration = Duration::from_secs(30);
/// Interval of requests for more time while the daemon starts.
const EXTEND_EVERY: Duration = Duration::from_secs(3);
/// Time that each of them asks for, so that a process that stands still is ended.
const EXTEND_BY: Duration = Duration::from_secs(30);
/// After this time no more is asked for: a start that takes longer hangs.
const START_WITHIN: Duration = Duration::from_secs(4 * 3600);

pub(super) struct Systemd {
    /// Interval of the watchdog, if enabled.
    watchdog: Option<Duration>,
    log: Logger,
}

impl Systemd {
    pub(super) fn from_environment(log: Logger) -> Systemd {
        let mut microseconds = 0;
        let is_wanted = sd_notify::watchdog_enabled(false, &mut microseconds) && microseconds > 0;
        Systemd { watchdog: is_wanted.then(|| Duration::from_micros(microseconds)), log }
    }

    /// Runs the part of the start that can take long, such as migrations of a large database, and meanwhile asks for
    /// more time than the service manager allows (`TimeoutStartSec`).
    pub(super) async fn extend_start<T>(&self, starting: impl Future<Output = T>) -> T {
        let mut starting = std::pin::pin!(starting);
        let since = Stopwatch::start();
        while since.elapsed() < START_WITHIN {
            self.tell(&[extension(EXTEND_BY), NotifyState::Status("opening the database")]);
            tokio::select! {
                started = &mut starting => return started,
                () = tokio::time::sleep(EXTEND_EVERY) => {}
            }
        }
        warn!(self.log, "start takes too long"; "seconds" => START_WITHIN.as_secs(),
            "reason" => "the database is not open; the service manager is not asked for more time");
        starting.await
    }

    pub(super) fn ready(&self) {
        self.tell(&[NotifyState::Ready, NotifyState::Status("polling")]);
    }

    /// `within`: the longest time that an orderly stop takes.
    pub(super) fn stopping(&self, within: Duration) {
        let status = NotifyState::Status("waiting for polls in flight");
        self.tell(&[NotifyState::Stopping, extension(within), status]);
    }

    /// Notifies the watchdog as long as the scheduler ticks. Never returns.
    pub(super) async fn feed_watchdog(&self, handle: &PipelineHandle, tick: Duration) {
        let Some(interval) = self.watchdog else { return std::future::pending().await };
        loop {
            if is_ticking(handle, tick).await {
                self.tell(&[NotifyState::Watchdog]);
            } else {
                warn!(self.log, "watchdog not notified"; "reason" => "the scheduler does not tick");
            }
            tokio::time::sleep(interval / 3).await;
        }
    }

    /// Errors are logged and ignored.
    fn tell(&self, state: &[NotifyState<'_>]) {
        if let Err(error) = sd_notify::notify(false, state) {
            warn!(self.log, "service manager not notified"; "error" => %error);
        }
    }
}

/// Asks for this much time from now on; the service manager never shortens its own limit.
fn extension(by: Duration) -> NotifyState<'static> {
    NotifyState::ExtendTimeoutUsec(u32::try_from(by.as_micros()).unwrap_or(u32::MAX))
}

async fn is_ticking(handle: &PipelineHandle, tick: Duration) -> bool {
    let Some(status) = handle.scheduler_status().await else { return false };
    status.since_last_tick.is_some_and(|passed| passed <= tick + TICK_GRACE)
}
