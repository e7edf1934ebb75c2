//! The lights that every host looks at before it is asked, and the bounded number of polls under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

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
    /// Whether a probe may be made during an outage, until somebody makes it.
    is_probe_admitted: AtomicBool,
    probe_admitted: Notify,
    slots: Arc<Semaphore>,
    slots_total: usize,
}

impl Traffic {
    /// Green lights, and this many slots.
    pub(super) fn new(slots: usize) -> Traffic {
        let slots = slots.max(1);
        Traffic {
            lights: watch::Sender::default(),
            is_probe_admitted: AtomicBool::new(false),
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

    /// Lets one of those who wait for the end of an outage through, to see whether it is over. One at a time.
    pub(super) fn admit_probe(&self) {
        self.is_probe_admitted.store(true, Ordering::Release);
        self.probe_admitted.notify_one();
    }

    /// Turns the lights green again after an outage. A probe that nobody has made is not needed any more.
    pub(super) fn end_outage(&self) {
        self.is_probe_admitted.store(false, Ordering::Release);
        self.switch(|lights| lights.is_outage = false);
    }

    /// Waits until somebody may be asked. Draining does not hold those who have begun: what was begun is to end.
    pub(super) async fn pass(&self, has_begun: bool) -> Passed {
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
                    if self.is_probe_admitted.swap(false, Ordering::AcqRel) {
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

    /// How many polls hold one of the slots.
    pub(super) fn under_way(&self) -> usize {
        self.slots_total - self.slots.available_permits()
    }

    /// Waits for one of the slots. Whoever holds it is under way until it is dropped.
    pub(super) async fn slot(&self) -> OwnedSemaphorePermit {
        self.slots.clone().acquire_owned().await.expect("the semaphore is never closed")
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
        let mut waiting = Box::pin(traffic.pass(false));
        assert!((&mut waiting).now_or_never().is_none());
        traffic.switch(|lights| lights.is_store_down = false);
        assert_eq!(waiting.await, Passed::Green);
    }

    #[tokio::test]
    async fn p31_an_outage_lets_one_probe_through_and_tells_the_others_when_it_is_over() {
        let traffic = Traffic::new(1);
        traffic.switch(|lights| lights.is_outage = true);
        let mut first = Box::pin(traffic.pass(false));
        let mut second = Box::pin(traffic.pass(false));
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        traffic.admit_probe();
        traffic.admit_probe();
        assert_eq!((&mut first).now_or_never(), Some(Passed::AsProbe));
        assert_eq!((&mut second).now_or_never(), None, "one at a time");
        traffic.switch(|lights| lights.is_outage = false);
        assert_eq!(second.await, Passed::AfterOutage);
    }

    #[tokio::test]
    async fn draining_holds_those_who_have_not_begun_and_nobody_else() {
        let traffic = Traffic::new(1);
        traffic.switch(|lights| lights.is_draining = true);
        assert_eq!(traffic.pass(true).now_or_never(), Some(Passed::Green));
        assert_eq!(traffic.pass(false).now_or_never(), None);
    }
}
