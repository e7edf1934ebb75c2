//! What the service manager is told (`Type=notify`): ready, alive, stopping. Without one, nobody is told anything.

use std::time::Duration;

use sd_notify::NotifyState;
use slog::{Logger, warn};

use crate::actors::PipelineHandle;

/// A tick may be late by this much before the scheduler counts as stuck.
const TICK_GRACE: Duration = Duration::from_secs(30);

/// The service manager.
pub(super) struct Service {
    /// How often it wants a sign of life, if it wants any.
    watchdog: Option<Duration>,
    log: Logger,
}

impl Service {
    /// The one that started this process, as its environment says.
    pub(super) fn from_environment(log: Logger) -> Service {
        let mut microseconds = 0;
        let is_wanted = sd_notify::watchdog_enabled(false, &mut microseconds) && microseconds > 0;
        Service { watchdog: is_wanted.then(|| Duration::from_micros(microseconds)), log }
    }

    /// Everything has been started.
    pub(super) fn ready(&self) {
        self.tell(&[NotifyState::Ready, NotifyState::Status("polling")]);
    }

    /// The process is ending.
    pub(super) fn stopping(&self) {
        self.tell(&[NotifyState::Stopping, NotifyState::Status("waiting for polls in flight")]);
    }

    /// Gives signs of life, as long as the scheduler really ticks. Never ends.
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

    /// A service manager that does not listen is no reason to stop.
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
