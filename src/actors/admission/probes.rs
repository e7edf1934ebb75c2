//! Requests that are made during an outage of our own network, to find out whether it is over.
//!
//! An admission wakes as many waiting requests as it admits, not all of them: with 100,000 silent hosts there are as many.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::model::HostKey;

#[derive(Default)]
pub(super) struct Probes {
    /// Whether the next request to any host is admitted.
    is_admitted: bool,
    /// Number of requests to admit to hosts that are not known to be silent, for sources whose last poll succeeded and
    /// for others. They are counted apart, so that a healthy host waits neither for a probe nor for dead ones (p31).
    fresh_healthy: usize,
    fresh_other: usize,
    /// Such requests that are under way, and whether their source is healthy. Each that fails admits two more, so that
    /// hosts that are not known to be silent are soon all asked once, and not all at once.
    fresh_under_way: HashMap<HostKey, bool>,
    silent: HashSet<HostKey>,
    waiting: WaitingRequests,
    /// Duration of the last outage.
    lasted: Duration,
}

/// Order in which waiting requests are admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ProbeClass {
    /// To a host that is not known to be silent, for a source whose last poll succeeded.
    FreshHealthy,
    FreshOther,
    Silent,
}

/// Requests that wait for admission and were not woken yet, first come, first served within a class.
#[derive(Default)]
struct WaitingRequests {
    queue: BTreeMap<(ProbeClass, u64), Arc<Notify>>,
    next_ticket: u64,
}

/// A request that waits for admission as a probe. If it ends without being admitted, what woke it wakes the next one.
pub(super) struct ProbeWait<'a> {
    probes: &'a Mutex<Probes>,
    host: Option<&'a HostKey>,
    is_healthy: bool,
    class: ProbeClass,
    ticket: u64,
    woken: Arc<Notify>,
    is_over: bool,
}

impl Probes {
    pub(super) fn begin_outage(&mut self, silent: &[HostKey], fresh_healthy: usize, fresh_other: usize) {
        let (silent, waiting) = (silent.iter().cloned().collect(), std::mem::take(&mut self.waiting));
        *self = Probes { fresh_healthy, fresh_other, silent, waiting, ..Probes::default() };
    }

    pub(super) fn end_outage(&mut self, lasted: Duration) {
        *self = Probes { lasted, waiting: std::mem::take(&mut self.waiting), ..Probes::default() };
    }

    /// Duration of the last outage.
    pub(super) fn lasted(&self) -> Duration {
        self.lasted
    }

    /// Notes that this host does not answer either.
    pub(super) fn note_silent(&mut self, host: &HostKey) {
        self.silent.insert(host.clone());
        let Some(is_healthy) = self.fresh_under_way.remove(host) else { return };
        let left = if is_healthy { &mut self.fresh_healthy } else { &mut self.fresh_other };
        *left = left.saturating_add(2);
        let class = if is_healthy { ProbeClass::FreshHealthy } else { ProbeClass::FreshOther };
        (0..2).for_each(|_| self.waiting.wake_first_of(class));
    }

    /// Admits one request to any host.
    pub(super) fn admit_one(&mut self) {
        self.is_admitted = true;
        self.waiting.wake_first();
    }

    /// Takes an admission for this request, if there is one.
    fn take(&mut self, host: Option<&HostKey>, is_healthy: bool) -> bool {
        let class = self.class(host, is_healthy);
        let left = if is_healthy { &mut self.fresh_healthy } else { &mut self.fresh_other };
        if class != ProbeClass::Silent && *left > 0 {
            *left -= 1;
            self.silent.extend(host.cloned());
            self.fresh_under_way.extend(host.cloned().map(|host| (host, is_healthy)));
            return true;
        }
        let is_its_turn = class != ProbeClass::Silent || !self.waiting.has_fresh();
        is_its_turn && std::mem::take(&mut self.is_admitted)
    }

    fn class(&self, host: Option<&HostKey>, is_healthy: bool) -> ProbeClass {
        match host.is_some_and(|host| !self.silent.contains(host)) {
            true if is_healthy => ProbeClass::FreshHealthy,
            true => ProbeClass::FreshOther,
            false => ProbeClass::Silent,
        }
    }

    /// Wakes the requests that may take what is still admitted.
    fn wake_for_admissions(&mut self) {
        if self.fresh_healthy > 0 {
            self.waiting.wake_first_of(ProbeClass::FreshHealthy);
        }
        if self.fresh_other > 0 {
            self.waiting.wake_first_of(ProbeClass::FreshOther);
        }
        if self.is_admitted {
            self.waiting.wake_first();
        }
    }
}

impl WaitingRequests {
    fn has_fresh(&self) -> bool {
        self.queue.first_key_value().is_some_and(|((class, _), _)| *class != ProbeClass::Silent)
    }

    fn wake_first(&mut self) {
        if let Some((_, woken)) = self.queue.pop_first() {
            woken.notify_one();
        }
    }

    fn wake_first_of(&mut self, class: ProbeClass) {
        let first = self.queue.range((class, 0)..=(class, u64::MAX)).next().map(|(key, _)| *key);
        if let Some(woken) = first.and_then(|key| self.queue.remove(&key)) {
            woken.notify_one();
        }
    }
}

impl<'a> ProbeWait<'a> {
    /// None if the request is admitted at once.
    pub(super) fn begin(
        probes: &'a Mutex<Probes>,
        host: Option<&'a HostKey>,
        is_healthy: bool,
    ) -> Option<ProbeWait<'a>> {
        let mut locked = probes.lock();
        if locked.take(host, is_healthy) {
            return None;
        }
        let (class, ticket) = (locked.class(host, is_healthy), locked.waiting.next_ticket);
        locked.waiting.next_ticket += 1;
        let woken = Arc::new(Notify::new());
        locked.waiting.queue.insert((class, ticket), woken.clone());
        Some(ProbeWait { probes, host, is_healthy, class, ticket, woken, is_over: false })
    }

    /// Waits until the request is admitted.
    pub(super) async fn admitted(&mut self) {
        loop {
            self.woken.notified().await;
            let mut probes = self.probes.lock();
            if probes.take(self.host, self.is_healthy) {
                self.is_over = true;
                return;
            }
            // Its host has been silent meanwhile, or a request that did not have to wait was quicker.
            self.class = probes.class(self.host, self.is_healthy);
            probes.waiting.queue.insert((self.class, self.ticket), self.woken.clone());
            probes.wake_for_admissions();
        }
    }
}

impl Drop for ProbeWait<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut probes = self.probes.lock();
        let was_woken = probes.waiting.queue.remove(&(self.class, self.ticket)).is_none();
        if was_woken {
            probes.wake_for_admissions();
        }
    }
}
