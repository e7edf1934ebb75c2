//! Admission control: the conditions that suspend requests, and the bounded number of polls in flight.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

use crate::model::HostKey;

/// Conditions that suspend all requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PollingBlockers {
    /// The daemon is ending.
    pub is_draining: bool,
    /// Answers could not be stored.
    pub is_store_down: bool,
    /// Our own network is down (p31).
    pub is_outage: bool,
}

/// How a request was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// Requests are not suspended, or no longer.
    Open,
    /// The request waited for the end of an outage: such requests are spread over time (p19).
    AfterOutage,
    /// An outage suspends requests, and this one is a probe.
    AsProbe,
}

/// Suspends and admits requests, and bounds the polls in flight.
pub(super) struct AdmissionControl {
    blockers: watch::Sender<PollingBlockers>,
    probes: Mutex<Probes>,
    probe_admitted: Notify,
    slots: Arc<Semaphore>,
    slots_total: usize,
}

/// Requests that are made during an outage of our own network, to find out whether it is over.
#[derive(Default)]
struct Probes {
    /// Whether the next request to any host is admitted.
    is_admitted: bool,
    /// Number of requests to admit to hosts that are not known to be silent: a healthy host need not wait for a probe
    /// (p31).
    fresh: usize,
    silent: HashSet<HostKey>,
    /// Duration of the last outage.
    lasted: Duration,
}

impl AdmissionControl {
    /// Bounds the polls in flight to this number.
    pub(super) fn new(slots: usize) -> AdmissionControl {
        let slots = slots.max(1);
        AdmissionControl {
            blockers: watch::Sender::default(),
            probes: Mutex::default(),
            probe_admitted: Notify::new(),
            slots: Arc::new(Semaphore::new(slots)),
            slots_total: slots,
        }
    }

    pub(super) fn switch(&self, change: impl FnOnce(&mut PollingBlockers)) {
        self.blockers.send_if_modified(|blockers| {
            let before = *blockers;
            change(blockers);
            *blockers != before
        });
    }

    pub(super) fn watch(&self) -> watch::Receiver<PollingBlockers> {
        self.blockers.subscribe()
    }

    /// Suspends requests for an outage, except for `fresh` requests to hosts that are not among the silent ones.
    pub(super) fn begin_outage(&self, silent: &[HostKey], fresh: usize) {
        let silent = silent.iter().cloned().collect();
        *self.probes.lock() = Probes { is_admitted: false, fresh, silent, lasted: Duration::ZERO };
        self.switch(|blockers| blockers.is_outage = true);
    }

    /// Admits one request as a probe, to find out whether the outage is over.
    pub(super) fn admit_probe(&self) {
        self.probes.lock().is_admitted = true;
        self.probe_admitted.notify_one();
    }

    /// Resumes requests after an outage of this duration.
    pub(super) fn end_outage(&self, lasted: Duration) {
        *self.probes.lock() = Probes { lasted, ..Probes::default() };
        self.switch(|blockers| blockers.is_outage = false);
    }

    /// Window over which the requests that waited for the end of an outage are spread: never longer than the outage was
    /// (p19, p31).
    pub(super) fn spread_after_outage(&self, spread: Duration) -> Duration {
        spread.min(self.probes.lock().lasted)
    }

    /// Waits until a request to this host is admitted. Draining does not delay a poll that has begun, so that it can
    /// end.
    pub(super) async fn admit(&self, host: Option<&HostKey>, has_begun: bool) -> Admission {
        let mut blockers = self.blockers.subscribe();
        let mut saw_outage = false;
        loop {
            let mut now = *blockers.borrow_and_update();
            now.is_draining &= !has_begun;
            match now {
                PollingBlockers { is_draining: false, is_store_down: false, is_outage: false } => {
                    return if saw_outage { Admission::AfterOutage } else { Admission::Open };
                }
                PollingBlockers { is_draining: false, is_store_down: false, is_outage: true } => {
                    saw_outage = true;
                    if self.probes.lock().take(host) {
                        return Admission::AsProbe;
                    }
                    tokio::select! {
                        // Admitted before this wait began, it is over at once.
                        () = self.probe_admitted.notified() => {}
                        _ = blockers.changed() => {}
                    }
                }
                // The sender lives as long as `self`, so this ends with a change.
                _ => drop(blockers.changed().await),
            }
        }
    }

    /// Number of polls that hold a slot.
    pub(super) fn under_way(&self) -> usize {
        self.slots_total - self.slots.available_permits()
    }

    /// Waits for a slot, which is free again when the permit is dropped.
    pub(super) async fn slot(&self) -> OwnedSemaphorePermit {
        self.slots.clone().acquire_owned().await.expect("the semaphore is never closed")
    }
}

impl Probes {
    /// Takes the admission of a probe for this host, if there is one.
    fn take(&mut self, host: Option<&HostKey>) -> bool {
        if let Some(host) = host
            && self.fresh > 0
            && self.silent.insert(host.clone())
        {
            self.fresh -= 1;
            return true;
        }
        std::mem::take(&mut self.is_admitted)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_store_that_is_down_suspends_requests_until_it_is_back() {
        let admission = AdmissionControl::new(1);
        admission.switch(|blockers| blockers.is_store_down = true);
        let mut waiting = Box::pin(admission.admit(None, false));
        assert!((&mut waiting).now_or_never().is_none());
        admission.switch(|blockers| blockers.is_store_down = false);
        assert_eq!(waiting.await, Admission::Open);
    }

    fn host(number: u64) -> HostKey {
        HostKey::from_canonical(&format!("{number}.example"))
    }

    #[tokio::test]
    async fn p31_an_outage_lets_one_probe_through_and_tells_the_others_when_it_is_over() {
        let admission = AdmissionControl::new(1);
        admission.begin_outage(&[host(1)], 0);
        let (one, other) = (host(1), host(2));
        let mut first = Box::pin(admission.admit(Some(&one), false));
        let mut second = Box::pin(admission.admit(Some(&other), false));
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        admission.admit_probe();
        admission.admit_probe();
        assert_eq!((&mut first).now_or_never(), Some(Admission::AsProbe));
        assert_eq!((&mut second).now_or_never(), None, "one at a time");
        admission.end_outage(Duration::from_secs(7));
        assert_eq!(second.await, Admission::AfterOutage);
        assert_eq!(admission.spread_after_outage(Duration::from_secs(600)), Duration::from_secs(7));
        assert_eq!(admission.spread_after_outage(Duration::from_secs(6)), Duration::from_secs(6));
    }

    #[tokio::test]
    async fn p31_a_host_that_was_not_silent_need_not_wait_for_the_next_probe() {
        let admission = AdmissionControl::new(1);
        admission.begin_outage(&[host(1)], 2);
        let pass = async |number| admission.admit(Some(&host(number)), false).now_or_never();
        assert_eq!(pass(1).await, None, "it is known to be silent");
        assert_eq!(pass(2).await, Some(Admission::AsProbe));
        assert_eq!(pass(2).await, None, "once");
        assert_eq!(pass(3).await, Some(Admission::AsProbe));
        assert_eq!(pass(4).await, None, "as many as may");
    }

    #[tokio::test]
    async fn draining_delays_only_polls_that_have_not_begun() {
        let admission = AdmissionControl::new(1);
        admission.switch(|blockers| blockers.is_draining = true);
        assert_eq!(admission.admit(None, true).now_or_never(), Some(Admission::Open));
        assert_eq!(admission.admit(None, false).now_or_never(), None);
    }
}
