//! Retries while the store is unavailable: away, full, damaged. Meanwhile no requests are made, since their answers could
//! not be stored, and one log record says so. A write that fails for any caller, such as the API, counts.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use slog::{Logger, debug, error, info};
use tokio::sync::Notify;

use super::admission::AdmissionControl;
use crate::clock::Clock;
use crate::model::Timestamp;
use crate::store::{Store, StoreError};

/// The wait before the second try; it doubles with every further one.
const RETRY_FIRST: Duration = Duration::from_millis(250);
/// The longest wait between two tries.
const RETRY_MAX: Duration = Duration::from_secs(30);
/// Tries of a call that waits for a lock of another session. A lock on some rows does not suspend requests.
const LOCKED_TRIES_MAX: u32 = 3;

pub(super) struct StoreWatch {
    outage: Mutex<Option<StoreOutage>>,
    /// Notified when a call succeeds that the store refused before.
    recovered: Notify,
    admission: Arc<AdmissionControl>,
    clock: Arc<dyn Clock>,
    log: Logger,
}

/// The store is unavailable.
struct StoreOutage {
    since: Timestamp,
    /// Calls that are being retried.
    retrying: usize,
    error: String,
}

/// A call that is being retried.
struct RetryingCall<'a>(&'a StoreWatch);

impl StoreWatch {
    pub(super) fn new(admission: Arc<AdmissionControl>, clock: Arc<dyn Clock>, log: Logger) -> StoreWatch {
        StoreWatch { outage: Mutex::default(), recovered: Notify::new(), admission, clock, log }
    }

    /// Error of the store while it is unavailable.
    pub(super) fn trouble(&self) -> Option<String> {
        self.outage.lock().as_ref().map(|outage| outage.error.clone())
    }

    /// Calls the store, again and again while it is unavailable. Errors of single rows are returned; those of locked rows
    /// after a few tries.
    ///
    /// The store is available again when no call is being retried: a store that is full or locked still lets others
    /// read.
    pub(super) async fn retry_while_unavailable<T, F>(&self, mut call: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut wait = RETRY_FIRST;
        let mut retrying = None;
        let mut locked_tries = 0;
        loop {
            match call().await {
                Ok(value) => {
                    if retrying.take().is_some() {
                        self.recovered.notify_waiters();
                    }
                    return Ok(value);
                }
                Err(StoreError::Locked(_)) if locked_tries < LOCKED_TRIES_MAX => locked_tries += 1,
                Err(error) if error.stops_store() => {
                    retrying = Some(retrying.unwrap_or_else(|| self.begin_retrying(&error)));
                    debug!(self.log, "store still unavailable"; "error" => %error, "retry_ms" => wait.as_millis() as u64);
                }
                Err(error) => return Err(error),
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.recovered.notified() => {}
            }
            wait = (wait * 2).min(RETRY_MAX);
        }
    }

    /// Retries a write of its own while the writes of others fail, without end.
    pub(super) async fn follow_health(&self, store: &dyn Store) {
        let mut trouble = store.health().watch();
        while trouble.wait_for(Option::is_some).await.is_ok() {
            if let Err(error) = self.retry_while_unavailable(|| store.probe()).await {
                debug!(self.log, "store still unavailable"; "error" => %error, "retry_ms" => RETRY_MAX.as_millis() as u64);
                tokio::time::sleep(RETRY_MAX).await;
            }
        }
    }

    fn begin_retrying(&self, error: &StoreError) -> RetryingCall<'_> {
        let mut outage = self.outage.lock();
        if let Some(outage) = outage.as_mut() {
            outage.retrying += 1;
        } else {
            *outage = Some(StoreOutage { since: self.clock.now(), retrying: 1, error: error.to_string() });
            self.admission.switch(|blockers| blockers.is_store_down = true);
            error!(self.log, "store unavailable"; "error" => %error, "retry_seconds_max" => RETRY_MAX.as_secs());
        }
        RetryingCall(self)
    }
}

impl Drop for RetryingCall<'_> {
    /// The call has succeeded, or its caller stopped waiting.
    fn drop(&mut self) {
        let mut outage = self.0.outage.lock();
        let Some(StoreOutage { since, retrying, .. }) = outage.as_mut() else { return };
        *retrying -= 1;
        if *retrying == 0 {
            let away_seconds = self.0.clock.now().since(*since).as_secs();
            *outage = None;
            self.0.admission.switch(|blockers| blockers.is_store_down = false);
            info!(self.0.log, "store available again"; "unavailable_seconds" => away_seconds);
        }
    }
}

/// Calls the store, again and again while it is unavailable. For parts of the pipeline that
/// no poll waits for: their calls do not suspend requests, and their success does not mean that polls can be written.
pub(super) async fn retry_while_unavailable<T, F>(mut call: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut wait = RETRY_FIRST;
    let mut locked_tries = 0;
    loop {
        match call().await {
            Err(StoreError::Locked(_)) if locked_tries < LOCKED_TRIES_MAX => locked_tries += 1,
            Err(error) if error.stops_store() => {}
            done => return done,
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(RETRY_MAX);
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
    async fn a_store_that_refuses_writes_is_unavailable_although_it_lets_others_read() {
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
        assert!(is_down(&admission) && watch.trouble().unwrap().contains("full"), "reads succeed");
        is_full.store(false, Ordering::SeqCst);
        first.await.unwrap();
        assert!(is_down(&admission), "the second call has not succeeded yet");
        assert!(matches!((&mut second).now_or_never(), Some(Ok(()))), "and is retried as soon as the first has");
        assert!(!is_down(&admission) && watch.trouble().is_none());
    }

    #[tokio::test]
    async fn a_locked_row_is_tried_a_few_times_and_suspends_nothing() {
        let (watch, admission) = watch();
        let mut tries = 0;
        let locked = watch.retry_while_unavailable(|| {
            tries += 1;
            async { Err::<(), _>(StoreError::Locked("row".into())) }
        });
        assert!(matches!(locked.await, Err(StoreError::Locked(_))));
        assert!(tries == 4 && !is_down(&admission), "{tries}");
    }

    #[tokio::test]
    async fn a_damaged_store_is_unavailable_like_one_that_is_away() {
        let (watch, admission) = watch();
        let mut damaged =
            Box::pin(watch.retry_while_unavailable(|| async { Err::<(), _>(StoreError::Corrupt("page 7".into())) }));
        assert!((&mut damaged).now_or_never().is_none() && is_down(&admission));
    }

    #[tokio::test]
    async fn a_call_that_is_dropped_is_retried_no_more() {
        let (watch, admission) = watch();
        let mut refused =
            Box::pin(watch.retry_while_unavailable(|| async { Err::<(), _>(StoreError::Unavailable("away".into())) }));
        assert!((&mut refused).now_or_never().is_none() && is_down(&admission));
        drop(refused);
        assert!(!is_down(&admission));
    }
}
