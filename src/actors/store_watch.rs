//! Patience with a store that is away: everybody tries again, nobody asks publishers for what could not be kept, and the
//! log says it once.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use slog::{Logger, debug, error, info};
use tokio::sync::Notify;

use super::admission::AdmissionControl;
use crate::clock::Clock;
use crate::model::Timestamp;
use crate::store::StoreError;

/// The wait before the second try; it doubles with every further one.
const RETRY_FIRST: Duration = Duration::from_millis(250);
/// The longest wait between two tries.
const RETRY_MAX: Duration = Duration::from_secs(30);

/// Knows whether the store is there.
pub(super) struct StoreWatch {
    away: Mutex<Option<Away>>,
    /// Somebody who was refused is not any more.
    hope: Notify,
    admission: Arc<AdmissionControl>,
    clock: Arc<dyn Clock>,
    log: Logger,
}

/// Since when the store is away, and for how many.
struct Away {
    since: Timestamp,
    refused: usize,
    error: String,
}

/// Somebody whom the store refuses.
struct Refused<'a>(&'a StoreWatch);

impl StoreWatch {
    pub(super) fn new(admission: Arc<AdmissionControl>, clock: Arc<dyn Clock>, log: Logger) -> StoreWatch {
        StoreWatch { away: Mutex::default(), hope: Notify::new(), admission, clock, log }
    }

    /// What the store says to those it refuses, while it does.
    pub(super) fn trouble(&self) -> Option<String> {
        self.away().as_ref().map(|away| away.error.clone())
    }

    /// Carries out a verb of the store, again and again while the store is away. What no patience can help is handed back.
    ///
    /// The store is back when nobody is refused any more: one that is full or locked still lets everybody read.
    pub(super) async fn retry_while_unavailable<T, F>(&self, mut verb: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut wait = RETRY_FIRST;
        let mut refused = None;
        loop {
            match verb().await {
                Ok(value) => {
                    if refused.take().is_some() {
                        self.hope.notify_waiters();
                    }
                    return Ok(value);
                }
                Err(error) if error.is_passing() => {
                    refused = Some(refused.unwrap_or_else(|| self.refuse(&error)));
                    debug!(self.log, "store still unavailable"; "error" => %error, "retry_ms" => wait.as_millis() as u64);
                }
                Err(error) => return Err(error),
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.hope.notified() => {}
            }
            wait = (wait * 2).min(RETRY_MAX);
        }
    }

    fn refuse(&self, error: &StoreError) -> Refused<'_> {
        let mut away = self.away();
        if let Some(away) = away.as_mut() {
            away.refused += 1;
        } else {
            *away = Some(Away { since: self.clock.now(), refused: 1, error: error.to_string() });
            self.admission.switch(|blockers| blockers.is_store_down = true);
            error!(self.log, "store unavailable"; "error" => %error, "retry_seconds_max" => RETRY_MAX.as_secs());
        }
        Refused(self)
    }

    fn away(&self) -> MutexGuard<'_, Option<Away>> {
        self.away.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Refused<'_> {
    /// It was served in the end, or gave up.
    fn drop(&mut self) {
        let mut away = self.0.away();
        let Some(Away { since, refused, .. }) = away.as_mut() else { return };
        *refused -= 1;
        if *refused == 0 {
            let away_seconds = self.0.clock.now().since(*since).as_secs();
            *away = None;
            self.0.admission.switch(|blockers| blockers.is_store_down = false);
            info!(self.0.log, "store available again"; "unavailable_seconds" => away_seconds);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures_util::FutureExt;

    use super::*;
    use crate::clock::SystemClock;

    fn watch() -> (StoreWatch, Arc<AdmissionControl>) {
        let admission = Arc::new(AdmissionControl::new(1));
        let log = Logger::root(slog::Discard, slog::o!());
        (StoreWatch::new(admission.clone(), Arc::new(SystemClock), log), admission)
    }

    fn is_down(admission: &AdmissionControl) -> bool {
        admission.watch().borrow().is_store_down
    }

    #[tokio::test]
    async fn a_store_that_lets_others_read_is_still_away_for_whoever_it_refuses() {
        let (watch, admission) = watch();
        let is_full = AtomicBool::new(true);
        let write = || async {
            match is_full.load(Ordering::SeqCst) {
                true => Err(StoreError::Unavailable("full".into())),
                false => Ok(()),
            }
        };
        let mut first = Box::pin(watch.retry_while_unavailable(write));
        let mut second = Box::pin(watch.retry_while_unavailable(write));
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        watch.retry_while_unavailable(|| async { Ok(()) }).await.unwrap();
        assert!(is_down(&admission) && watch.trouble().unwrap().contains("full"), "who reads is not refused");
        is_full.store(false, Ordering::SeqCst);
        first.await.unwrap();
        assert!(is_down(&admission), "the second has not been served yet");
        assert!(matches!((&mut second).now_or_never(), Some(Ok(()))), "and is tried as soon as the first was");
        assert!(!is_down(&admission) && watch.trouble().is_none());
    }

    #[tokio::test]
    async fn who_gives_up_is_refused_no_more() {
        let (watch, admission) = watch();
        let mut refused =
            Box::pin(watch.retry_while_unavailable(|| async { Err::<(), _>(StoreError::Unavailable("away".into())) }));
        assert!((&mut refused).now_or_never().is_none() && is_down(&admission));
        drop(refused);
        assert!(!is_down(&admission));
    }
}
