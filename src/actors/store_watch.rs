//! Patience with a store that is away: everybody tries again, nobody asks publishers for what could not be kept, and the
//! log says it once.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use slog::{Logger, error, info};

use super::traffic::Traffic;
use crate::clock::Clock;
use crate::model::Timestamp;
use crate::store::StoreError;

/// The wait before the second try; it doubles with every further one.
const RETRY_FIRST: Duration = Duration::from_millis(250);
/// The longest wait between two tries.
const RETRY_MAX: Duration = Duration::from_secs(30);

/// Knows whether the store is there.
pub(super) struct StoreWatch {
    away_since: Mutex<Option<Timestamp>>,
    traffic: Arc<Traffic>,
    clock: Arc<dyn Clock>,
    log: Logger,
}

impl StoreWatch {
    pub(super) fn new(traffic: Arc<Traffic>, clock: Arc<dyn Clock>, log: Logger) -> StoreWatch {
        StoreWatch { away_since: Mutex::default(), traffic, clock, log }
    }

    /// Carries out a verb of the store, again and again while the store is away. What no patience can help is handed back.
    pub(super) async fn insist<T, F>(&self, mut verb: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut wait = RETRY_FIRST;
        loop {
            match verb().await {
                Ok(value) => {
                    self.is_there();
                    return Ok(value);
                }
                Err(error) if error.is_passing() => self.is_away(&error, wait),
                Err(error) => return Err(error),
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(RETRY_MAX);
        }
    }

    fn is_away(&self, error: &StoreError, wait: Duration) {
        let mut since = self.away_since.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if since.is_none() {
            *since = Some(self.clock.now());
            self.traffic.switch(|lights| lights.is_store_down = true);
            error!(self.log, "store unavailable"; "error" => %error, "retry_seconds_max" => RETRY_MAX.as_secs());
        } else {
            slog::debug!(self.log, "store still unavailable"; "error" => %error, "retry_ms" => wait.as_millis() as u64);
        }
    }

    fn is_there(&self) {
        let mut away_since = self.away_since.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(since) = away_since.take() {
            self.traffic.switch(|lights| lights.is_store_down = false);
            info!(self.log, "store available again"; "away_seconds" => self.clock.now().since(since).as_secs());
        }
    }
}
