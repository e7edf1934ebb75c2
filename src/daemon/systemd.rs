//! Notifies the service manager (`Type=notify`): ready, alive, stopping. Does nothing without one.

use std::time::Duration;

use sd_notify::NotifyState;
use slog::{Logger, warn};

use crate::actors::PipelineHandle;

/// Tolerated delay of a tick.
const TICK_GRACE: Duration = Duration::from_secs(30);

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

    pub(super) fn ready(&self) {
        self.tell(&[NotifyState::Ready, NotifyState::Status("polling")]);
    }

    pub(super) fn stopping(&self) {
        self.tell(&[NotifyState::Stopping, NotifyState::Status("waiting for polls in flight")]);
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

async fn is_ticking(handle: &PipelineHandle, tick: Duration) -> bool {
    let Some(status) = handle.scheduler_status().await else { return false };
    let oldest = handle.clock().now() - (tick + TICK_GRACE);
    status.last_tick_at.is_some_and(|at| at >= oldest)
}
