//! Admission control: the conditions that suspend requests, and the bounded number of polls in flight.

mod probes;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::model::HostKey;
use probes::{ProbeWait, Probes};

/// Conditions that suspend all requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PollingBlockers {
    /// The daemon is ending.
    pub is_draining: bool,
    /// Answers could not be stored.
    pub is_store_down: bool,
    /// Our own network is down (p31).
    pub is_outage: bool,
    /// This node of a fleet has not renewed its lease in time (p28).
    pub is_lease_over: bool,
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
    slots: Arc<Semaphore>,
    slots_total: usize,
}

impl AdmissionControl {
    /// Bounds the polls in flight to this number.
    pub(super) fn new(slots: usize) -> AdmissionControl {
        let slots = slots.max(1);
        AdmissionControl {
            blockers: watch::Sender::default(),
            probes: Mutex::default(),
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

    /// Suspends requests for an outage, except for some requests to hosts that are not among the silent ones: for sources
    /// whose last poll succeeded, and for others.
    pub(super) fn begin_outage(&self, silent: &[HostKey], fresh_healthy: usize, fresh_other: usize) {
        self.probes.lock().begin_outage(silent, fresh_healthy, fresh_other);
        self.switch(|blockers| blockers.is_outage = true);
    }

    /// Notes that this host does not answer either.
    pub(super) fn note_silent(&self, host: &HostKey) {
        self.probes.lock().note_silent(host);
    }

    /// Admits one request as a probe, to find out whether the outage is over. A host that is not known to be silent
    /// comes first.
    pub(super) fn admit_probe(&self) {
        self.probes.lock().admit_one();
    }

    /// Resumes requests after an outage of this duration.
    pub(super) fn end_outage(&self, lasted: Duration) {
        self.probes.lock().end_outage(lasted);
        self.switch(|blockers| blockers.is_outage = false);
    }

    /// Window over which the requests that waited for the end of an outage are spread: never longer than the outage was
    /// (p19, p31).
    pub(super) fn spread_after_outage(&self, spread: Duration) -> Duration {
        spread.min(self.probes.lock().lasted())
    }

    /// Waits until a request to this host is admitted; the last poll of a healthy source succeeded. Draining does not
    /// delay a poll that has begun, so that it can end.
    pub(super) async fn admit(&self, host: Option<&HostKey>, is_healthy: bool, has_begun: bool) -> Admission {
        let mut blockers = self.blockers.subscribe();
        let mut saw_outage = false;
        loop {
            let mut now = *blockers.borrow_and_update();
            now.is_draining &= !has_begun;
            match now {
                PollingBlockers {
                    is_draining: false,
                    is_store_down: false,
                    is_outage: false,
                    is_lease_over: false,
                } => {
                    return if saw_outage { Admission::AfterOutage } else { Admission::Open };
                }
                PollingBlockers { is_draining: false, is_store_down: false, is_outage: true, is_lease_over: false } => {
                    saw_outage = true;
                    let Some(mut waiting) = ProbeWait::begin(&self.probes, host, is_healthy) else {
                        return Admission::AsProbe;
                    };
                    tokio::select! {
                        () = waiting.admitted() => return Admission::AsProbe,
                        _ = blockers.changed() => {}
                    }
                }
                // The sender lives as long as `self`, so this ends with a change.
                _ => drop(blockers.changed().await),
            }
        }
    }

    /// Whether requests are not suspended now. Draining does not delay a poll that has begun.
    pub(super) fn is_open(&self, has_begun: bool) -> bool {
        let PollingBlockers { is_draining, is_store_down, is_outage, is_lease_over } = *self.blockers.borrow();
        !(is_store_down || is_outage || is_lease_over || (is_draining && !has_begun))
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Context;

    use futures_util::FutureExt;
    use futures_util::future::LocalBoxFuture;
    use futures_util::task::{ArcWake, waker};

    use super::*;

    #[tokio::test]
    async fn a_store_that_is_down_suspends_requests_until_it_is_back() {
        let admission = AdmissionControl::new(1);
        admission.switch(|blockers| blockers.is_store_down = true);
        let mut waiting = Box::pin(admission.admit(None, false, false));
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
        admission.begin_outage(&[host(1)], 0, 0);
        let (silent, other, last) = (host(1), host(2), host(3));
        let mut first = Box::pin(admission.admit(Some(&silent), true, false));
        let mut second = Box::pin(admission.admit(Some(&other), false, false));
        let mut third = Box::pin(admission.admit(Some(&last), false, false));
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        assert!((&mut third).now_or_never().is_none());
        admission.admit_probe();
        admission.admit_probe();
        assert_eq!((&mut first).now_or_never(), None, "one that may answer comes first");
        assert_eq!((&mut second).now_or_never(), Some(Admission::AsProbe));
        assert_eq!((&mut third).now_or_never(), None, "one at a time");
        drop(third);
        admission.admit_probe();
        assert_eq!((&mut first).now_or_never(), Some(Admission::AsProbe), "no other waits");
        let mut third = Box::pin(admission.admit(Some(&last), false, false));
        assert!((&mut third).now_or_never().is_none());
        admission.end_outage(Duration::from_secs(7));
        assert_eq!(third.await, Admission::AfterOutage);
        assert_eq!(admission.spread_after_outage(Duration::from_secs(600)), Duration::from_secs(7));
        assert_eq!(admission.spread_after_outage(Duration::from_secs(6)), Duration::from_secs(6));
    }

    #[tokio::test]
    async fn p31_a_host_that_was_not_silent_need_not_wait_for_the_next_probe() {
        let admission = AdmissionControl::new(1);
        admission.begin_outage(&[host(1)], 2, 2);
        let pass = async |number, is_healthy| admission.admit(Some(&host(number)), is_healthy, false).now_or_never();
        assert_eq!(pass(1, true).await, None, "it is known to be silent");
        assert_eq!(pass(2, false).await, Some(Admission::AsProbe));
        assert_eq!(pass(2, false).await, None, "once");
        assert_eq!(pass(3, false).await, Some(Admission::AsProbe));
        assert_eq!(pass(4, false).await, None, "as many as may");
        assert_eq!(pass(4, true).await, Some(Admission::AsProbe), "healthy ones are counted apart");
        admission.note_silent(&host(5));
        assert_eq!(pass(5, true).await, None, "it is known to be silent");
        assert_eq!(pass(6, true).await, Some(Admission::AsProbe));
        assert_eq!(pass(7, true).await, None, "as many as may");
        admission.note_silent(&host(6));
        assert_eq!(pass(7, true).await, Some(Admission::AsProbe), "one that failed admits two more");
        assert_eq!(pass(8, false).await, None, "healthy ones are counted apart");
        assert_eq!(pass(8, true).await, Some(Admission::AsProbe));
        assert_eq!(pass(9, true).await, None, "as many as may");
    }

    /// Counts how often a request that waits is woken.
    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl ArcWake for Wakes {
        fn wake_by_ref(wakes: &Arc<Wakes>) {
            wakes.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn p31_an_admission_wakes_as_many_requests_as_it_admits() {
        const HOSTS: u64 = 1000;
        let admission = AdmissionControl::new(1);
        admission.begin_outage(&[], 1, 0);
        let hosts: Vec<HostKey> = (0..HOSTS).map(host).collect();
        let wakes = Arc::<Wakes>::default();
        let waker = waker(wakes.clone());
        let mut context = Context::from_waker(&waker);
        let admit = |host| admission.admit(Some(host), true, false).boxed_local();
        let mut requests: Vec<_> = hosts.iter().map(admit).collect();
        let admitted = |requests: &mut Vec<LocalBoxFuture<'_, Admission>>, context: &mut Context<'_>| {
            let before = requests.len();
            requests.retain_mut(|request| request.poll_unpin(context).is_pending());
            before - requests.len()
        };
        assert_eq!(admitted(&mut requests, &mut context), 1);
        assert_eq!(wakes.0.load(Ordering::SeqCst), 0);
        admission.note_silent(&hosts[0]);
        assert_eq!(wakes.0.swap(0, Ordering::SeqCst), 2);
        // Its place goes to the next one.
        drop(requests.remove(0));
        assert_eq!(wakes.0.swap(0, Ordering::SeqCst), 1);
        assert_eq!(admitted(&mut requests, &mut context), 2);
        admission.admit_probe();
        assert_eq!(wakes.0.swap(0, Ordering::SeqCst), 1);
        assert_eq!(admitted(&mut requests, &mut context), 1);
    }

    #[tokio::test]
    async fn draining_delays_only_polls_that_have_not_begun() {
        let admission = AdmissionControl::new(1);
        admission.switch(|blockers| blockers.is_draining = true);
        assert_eq!(admission.admit(None, true, true).now_or_never(), Some(Admission::Open));
        assert_eq!(admission.admit(None, true, false).now_or_never(), None);
    }
}
