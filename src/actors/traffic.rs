//! The lights that every host looks at before it is asked, and the bounded number of polls under way.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

use crate::model::HostKey;

/// When nobody is asked anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lights {
    /// The daemon is ending.
    pub(super) is_draining: bool,
    /// What is found could not be kept.
    pub(super) is_store_down: bool,
    /// Our own network is down (p31).
    pub(super) is_outage: bool,
}

/// How somebody got past the lights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// They were green, or turned green.
    Green,
    /// They were red because of an outage, which is over: whoever waited for that comes back spread out (p19).
    AfterOutage,
    /// They are red because of an outage, and this is the one probe.
    AsProbe,
}

/// The lights, and the slots for polls under way.
pub(super) struct Traffic {
    lights: watch::Sender<Lights>,
    probes: Mutex<Probes>,
    probe_admitted: Notify,
    slots: Arc<Semaphore>,
    slots_total: usize,
}

/// Which requests are made during an outage of our own, to see whether it is over.
#[derive(Default)]
struct Probes {
    /// Whether a poll of any host may go, until one does.
    is_admitted: bool,
    /// How many polls of hosts that are not known to be silent may go at once: a host that is well is not kept waiting by
    /// those that are not (p31).
    fresh: usize,
    /// The hosts that are known to be silent.
    silent: HashSet<HostKey>,
    /// How long the last outage lasted.
    lasted: Duration,
}

impl Traffic {
    /// Green lights, and this many slots.
    pub(super) fn new(slots: usize) -> Traffic {
        let slots = slots.max(1);
        Traffic {
            lights: watch::Sender::default(),
            probes: Mutex::default(),
            probe_admitted: Notify::new(),
            slots: Arc::new(Semaphore::new(slots)),
            slots_total: slots,
        }
    }

    /// Changes the lights.
    pub(super) fn switch(&self, change: impl FnOnce(&mut Lights)) {
        self.lights.send_if_modified(|lights| {
            let before = *lights;
            change(lights);
            *lights != before
        });
    }

    /// The lights as they are, and as they will be.
    pub(super) fn watch(&self) -> watch::Receiver<Lights> {
        self.lights.subscribe()
    }

    /// Turns the lights red for an outage. So many hosts may be tried at once that are not among these.
    pub(super) fn begin_outage(&self, silent: &[HostKey], fresh: usize) {
        let silent = silent.iter().cloned().collect();
        *self.probes() = Probes { is_admitted: false, fresh, silent, lasted: Duration::ZERO };
        self.switch(|lights| lights.is_outage = true);
    }

    /// Lets one of those who wait for the end of an outage through, to see whether it is over. One at a time.
    pub(super) fn admit_probe(&self) {
        self.probes().is_admitted = true;
        self.probe_admitted.notify_one();
    }

    /// Turns the lights green again after an outage that lasted so long. A probe that was not made is not needed any more.
    pub(super) fn end_outage(&self, lasted: Duration) {
        *self.probes() = Probes { lasted, ..Probes::default() };
        self.switch(|lights| lights.is_outage = false);
    }

    /// What waited for the end of an outage comes back over this long: never longer than the outage was (p19, p31).
    pub(super) fn spread_after_outage(&self, spread: Duration) -> Duration {
        spread.min(self.probes().lasted)
    }

    /// Waits until this host may be asked. Draining does not hold those who have begun: what was begun is to end.
    pub(super) async fn pass(&self, host: Option<&HostKey>, has_begun: bool) -> Passed {
        let mut lights = self.lights.subscribe();
        let mut saw_outage = false;
        loop {
            let mut now = *lights.borrow_and_update();
            now.is_draining &= !has_begun;
            match now {
                Lights { is_draining: false, is_store_down: false, is_outage: false } => {
                    return if saw_outage { Passed::AfterOutage } else { Passed::Green };
                }
                Lights { is_draining: false, is_store_down: false, is_outage: true } => {
                    saw_outage = true;
                    if self.probes().take(host) {
                        return Passed::AsProbe;
                    }
                    tokio::select! {
                        // Admitted before this wait began, it is over at once.
                        () = self.probe_admitted.notified() => {}
                        _ = lights.changed() => {}
                    }
                }
                // The sender lives as long as `self`, so this ends with a change.
                _ => drop(lights.changed().await),
            }
        }
    }

    fn probes(&self) -> MutexGuard<'_, Probes> {
        self.probes.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// How many polls hold one of the slots.
    pub(super) fn under_way(&self) -> usize {
        self.slots_total - self.slots.available_permits()
    }

    /// Waits for one of the slots. Whoever holds it is under way until it is dropped.
    pub(super) async fn slot(&self) -> OwnedSemaphorePermit {
        self.slots.clone().acquire_owned().await.expect("the semaphore is never closed")
    }
}

impl Probes {
    /// Whether this host may be asked as a probe, which uses that up.
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
    async fn red_lights_hold_everybody_until_they_are_green() {
        let traffic = Traffic::new(1);
        traffic.switch(|lights| lights.is_store_down = true);
        let mut waiting = Box::pin(traffic.pass(None, false));
        assert!((&mut waiting).now_or_never().is_none());
        traffic.switch(|lights| lights.is_store_down = false);
        assert_eq!(waiting.await, Passed::Green);
    }

    fn host(number: u64) -> HostKey {
        HostKey::from_canonical(&format!("{number}.example"))
    }

    #[tokio::test]
    async fn p31_an_outage_lets_one_probe_through_and_tells_the_others_when_it_is_over() {
        let traffic = Traffic::new(1);
        traffic.begin_outage(&[host(1)], 0);
        let (one, other) = (host(1), host(2));
        let mut first = Box::pin(traffic.pass(Some(&one), false));
        let mut second = Box::pin(traffic.pass(Some(&other), false));
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        traffic.admit_probe();
        traffic.admit_probe();
        assert_eq!((&mut first).now_or_never(), Some(Passed::AsProbe));
        assert_eq!((&mut second).now_or_never(), None, "one at a time");
        traffic.end_outage(Duration::from_secs(7));
        assert_eq!(second.await, Passed::AfterOutage);
        assert_eq!(traffic.spread_after_outage(Duration::from_secs(600)), Duration::from_secs(7));
        assert_eq!(traffic.spread_after_outage(Duration::from_secs(6)), Duration::from_secs(6));
    }

    #[tokio::test]
    async fn p31_a_host_that_was_not_silent_need_not_wait_for_the_next_probe() {
        let traffic = Traffic::new(1);
        traffic.begin_outage(&[host(1)], 2);
        let pass = async |number| traffic.pass(Some(&host(number)), false).now_or_never();
        assert_eq!(pass(1).await, None, "it is known to be silent");
        assert_eq!(pass(2).await, Some(Passed::AsProbe));
        assert_eq!(pass(2).await, None, "once");
        assert_eq!(pass(3).await, Some(Passed::AsProbe));
        assert_eq!(pass(4).await, None, "as many as may");
    }

    #[tokio::test]
    async fn draining_holds_those_who_have_not_begun_and_nobody_else() {
        let traffic = Traffic::new(1);
        traffic.switch(|lights| lights.is_draining = true);
        assert_eq!(traffic.pass(None, true).now_or_never(), Some(Passed::Green));
        assert_eq!(traffic.pass(None, false).now_or_never(), None);
    }
}
