//! Which hosts have an actor, and what must outlive it: the gate that lets one request through at a time, and what is
//! known of the host.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use actix::Addr;
use tokio::sync::Semaphore;

use super::host::HostActor;
use super::messages::PollSource;
use super::poll::Poll;
use super::surroundings::Surroundings;
use crate::model::{HostKey, HostState, Timestamp};
use crate::store::StoreError;
use crate::supervision::Group;

/// How many messages wait for a host before a sender is told that it is full. Nobody relies on it: what is on its way to
/// a host is bounded by the scheduler.
const MAILBOX_CAPACITY: usize = 16;

/// A host as long as anybody has to do with it.
pub(super) struct Seat {
    /// None for sources that have no host.
    pub(super) key: Option<HostKey>,
    /// Held by the poll that asks, until it is settled.
    pub(super) gate: Arc<Semaphore>,
    state: Mutex<Option<HostState>>,
    present: AtomicUsize,
}

/// How many hosts are there, by state. Those that nobody had to do with for a while are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounts {
    /// Asked when their turn comes.
    pub active: usize,
    /// Left alone because they asked for it.
    pub held: usize,
    /// Left alone because they do not answer.
    pub open: usize,
}

/// One poll at a host. While there is one, the host stays.
pub(super) struct Presence(Arc<Seat>);

/// The hosts that are there. Clones are the same table.
#[derive(Clone)]
pub(super) struct HostTable(Arc<Inner>);

struct Inner {
    hosts: Mutex<HashMap<Option<HostKey>, Entry>>,
    group: Group,
}

struct Entry {
    seat: Arc<Seat>,
    address: Option<Addr<HostActor>>,
    used_at: Timestamp,
}

impl HostTable {
    /// An empty table; the actors join this group.
    pub(super) fn new(group: Group) -> HostTable {
        HostTable(Arc::new(Inner { hosts: Mutex::default(), group }))
    }

    /// Makes sure that these hosts have a seat, with what the store knows of them.
    pub(super) async fn open(&self, keys: HashSet<Option<HostKey>>, around: &Surroundings) -> Result<(), StoreError> {
        let missing: Vec<Option<HostKey>> = {
            let hosts = self.lock();
            keys.into_iter().filter(|key| !hosts.contains_key(key)).collect()
        };
        if missing.is_empty() {
            return Ok(());
        }
        let named: Vec<HostKey> = missing.iter().flatten().cloned().collect();
        let known = match named.is_empty() {
            true => Vec::new(),
            false => around.store_watch.insist(|| around.store.hosts(named.clone())).await?,
        };
        let mut known: HashMap<HostKey, HostState> =
            known.into_iter().map(|state| (state.host.clone(), state)).collect();
        let now = around.clock.now();
        let mut hosts = self.lock();
        for key in missing {
            let state = key.as_ref().map(|key| known.remove(key).unwrap_or_else(|| HostState::new(key.clone())));
            hosts.entry(key.clone()).or_insert_with(|| Entry {
                seat: Arc::new(Seat::new(key, state)),
                address: None,
                used_at: now,
            });
        }
        Ok(())
    }

    /// Hands a poll to a host that has a seat. Where that cannot be, the poll is dropped and so goes back as lost.
    pub(super) fn send(&self, key: &Option<HostKey>, mut poll: Box<Poll>, around: &Arc<Surroundings>) {
        let mut hosts = self.lock();
        let Some(entry) = hosts.get_mut(key) else { return };
        entry.used_at = around.clock.now();
        let address = match &entry.address {
            Some(address) if address.connected() => address.clone(),
            _ => match self.start(&entry.seat, around) {
                Some(address) => entry.address.insert(address).clone(),
                None => return,
            },
        };
        poll.presence = Some(Presence::at(&entry.seat));
        drop(hosts);
        address.do_send(PollSource(poll));
    }

    /// What is known of a host that is there.
    pub(super) fn state(&self, key: &HostKey) -> Option<HostState> {
        self.lock().get(&Some(key.clone())).and_then(|entry| entry.seat.state())
    }

    /// Makes sure that a host has a seat, with what the store knows of it.
    pub(super) fn open_with(&self, key: &HostKey, known: Option<HostState>, now: Timestamp) {
        let state = known.unwrap_or_else(|| HostState::new(key.clone()));
        let key = Some(key.clone());
        self.lock().entry(key.clone()).or_insert_with(|| Entry {
            seat: Arc::new(Seat::new(key, Some(state))),
            address: None,
            used_at: now,
        });
    }

    /// Changes what is known of a host that is there, and returns it.
    pub(super) fn change(&self, key: &HostKey, change: impl FnOnce(&mut HostState)) -> Option<HostState> {
        let seat = self.lock().get(&Some(key.clone())).map(|entry| entry.seat.clone());
        seat.and_then(|seat| seat.change(change))
    }

    /// How many hosts are there, by state.
    pub(super) fn counts(&self, now: Timestamp) -> HostCounts {
        let mut counts = HostCounts::default();
        for state in self.lock().values().filter_map(|entry| entry.seat.state()) {
            if state.breaker.open_until.is_some_and(|until| until > now) {
                counts.open += 1;
            } else if state.held_until.is_some_and(|until| until > now) {
                counts.held += 1;
            } else {
                counts.active += 1;
            }
        }
        counts
    }

    /// How many hosts are there.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Lets go of hosts that nobody has had anything to do with since this moment. Without an address, their actors leave.
    pub(super) fn forget_idle(&self, since: Timestamp) {
        self.lock().retain(|_, entry| entry.used_at >= since || entry.seat.present.load(Ordering::Acquire) > 0);
    }

    fn start(&self, seat: &Arc<Seat>, around: &Arc<Surroundings>) -> Option<Addr<HostActor>> {
        let name = seat.key.as_ref().map_or("(no host)", HostKey::as_str).to_owned();
        let (seat, around, table) = (seat.clone(), around.clone(), Arc::downgrade(&self.0));
        let factory = move || HostActor::new(seat.clone(), around.clone(), WeakHostTable(table.clone()));
        self.0.group.start(&name, MAILBOX_CAPACITY, factory).ok()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Option<HostKey>, Entry>> {
        // A crash while the lock was held leaves the table usable: it must not spread.
        self.0.hosts.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The table as the hosts in it see it.
#[derive(Clone)]
pub(super) struct WeakHostTable(Weak<Inner>);

impl WeakHostTable {
    pub(super) fn get(&self) -> Option<HostTable> {
        self.0.upgrade().map(HostTable)
    }
}

impl Seat {
    fn new(key: Option<HostKey>, state: Option<HostState>) -> Seat {
        Seat { key, gate: Arc::new(Semaphore::new(1)), state: Mutex::new(state), present: AtomicUsize::new(0) }
    }

    /// What is known of the host; nothing if there is none.
    pub(super) fn state(&self) -> Option<HostState> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Changes what is known, and returns it.
    pub(super) fn change(&self, change: impl FnOnce(&mut HostState)) -> Option<HostState> {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        state.as_mut().map(|state| {
            change(state);
            state.clone()
        })
    }
}

impl Presence {
    fn at(seat: &Arc<Seat>) -> Presence {
        seat.present.fetch_add(1, Ordering::AcqRel);
        Presence(seat.clone())
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.present.fetch_sub(1, Ordering::AcqRel);
    }
}
