//! Which hosts have an actor, and what must outlive it: the permit that lets one request through at a time, and what is
//! known of the host.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use actix::Addr;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::context::PipelineContext;
use super::host::HostActor;
use super::messages::PollSource;
use super::poll::Poll;
use crate::model::{HostKey, HostState, Timestamp};
use crate::store::StoreError;
use crate::supervision::Group;

/// How many messages wait for a host before a sender is told that it is full. Nobody relies on it: what is on its way to
/// a host is bounded by the scheduler.
const MAILBOX_CAPACITY: usize = 16;

/// A host as long as anybody has to do with it.
pub(super) struct HostEntry {
    /// None for sources that have no host.
    pub(super) key: Option<HostKey>,
    /// Held by the poll that asks, until it is settled.
    pub(super) request_permit: Arc<Semaphore>,
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
pub(super) struct Presence(Arc<HostEntry>);

/// The hosts that are there. Clones are the same table.
#[derive(Clone)]
pub(super) struct HostTable(Arc<Inner>);

struct Inner {
    hosts: Mutex<HashMap<Option<HostKey>, Entry>>,
    group: Group,
}

struct Entry {
    host_entry: Arc<HostEntry>,
    address: Option<Addr<HostActor>>,
    used_at: Timestamp,
}

impl HostTable {
    /// An empty table; the actors join this group.
    pub(super) fn new(group: Group) -> HostTable {
        HostTable(Arc::new(Inner { hosts: Mutex::default(), group }))
    }

    /// Makes sure that these hosts have an entry, with what the store knows of them.
    pub(super) async fn open(
        &self,
        keys: HashSet<Option<HostKey>>,
        context: &PipelineContext,
    ) -> Result<(), StoreError> {
        let missing: Vec<Option<HostKey>> = {
            let hosts = self.0.hosts.lock();
            keys.into_iter().filter(|key| !hosts.contains_key(key)).collect()
        };
        if missing.is_empty() {
            return Ok(());
        }
        let named: Vec<HostKey> = missing.iter().flatten().cloned().collect();
        let known = match named.is_empty() {
            true => Vec::new(),
            false => context.store_watch.retry_while_unavailable(|| context.store.hosts(named.clone())).await?,
        };
        let mut known: HashMap<HostKey, HostState> =
            known.into_iter().map(|state| (state.host.clone(), state)).collect();
        let now = context.clock.now();
        let mut hosts = self.0.hosts.lock();
        for key in missing {
            let state = key.as_ref().map(|key| known.remove(key).unwrap_or_else(|| HostState::new(key.clone())));
            hosts.entry(key.clone()).or_insert_with(|| Entry {
                host_entry: Arc::new(HostEntry::new(key, state)),
                address: None,
                used_at: now,
            });
        }
        Ok(())
    }

    /// Hands a poll to a host that has an entry. Where that cannot be, the poll is dropped and so goes back as lost.
    pub(super) fn send(&self, key: &Option<HostKey>, mut poll: Box<Poll>, context: &Arc<PipelineContext>) {
        let mut hosts = self.0.hosts.lock();
        let Some(entry) = hosts.get_mut(key) else { return };
        entry.used_at = context.clock.now();
        let address = match &entry.address {
            Some(address) if address.connected() => address.clone(),
            _ => match self.start(&entry.host_entry, context) {
                Some(address) => entry.address.insert(address).clone(),
                None => return,
            },
        };
        poll.presence = Some(Presence::at(&entry.host_entry));
        drop(hosts);
        address.do_send(PollSource(poll));
    }

    /// What is known of a host that is there.
    pub(super) fn state(&self, key: &HostKey) -> Option<HostState> {
        self.0.hosts.lock().get(&Some(key.clone())).and_then(|entry| entry.host_entry.state())
    }

    /// Makes sure that a host has an entry, with what the store knows of it.
    pub(super) fn open_with(&self, key: &HostKey, known: Option<HostState>, now: Timestamp) {
        let state = known.unwrap_or_else(|| HostState::new(key.clone()));
        let key = Some(key.clone());
        self.0.hosts.lock().entry(key.clone()).or_insert_with(|| Entry {
            host_entry: Arc::new(HostEntry::new(key, Some(state))),
            address: None,
            used_at: now,
        });
    }

    /// Changes what is known of a host that is there, and returns it.
    pub(super) fn change(&self, key: &HostKey, change: impl FnOnce(&mut HostState)) -> Option<HostState> {
        let host_entry = self.0.hosts.lock().get(&Some(key.clone())).map(|entry| entry.host_entry.clone());
        host_entry.and_then(|host_entry| host_entry.change(change))
    }

    /// How many hosts are there, by state.
    pub(super) fn counts(&self, now: Timestamp) -> HostCounts {
        let mut counts = HostCounts::default();
        for state in self.0.hosts.lock().values().filter_map(|entry| entry.host_entry.state()) {
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
        self.0.hosts.lock().len()
    }

    /// Lets go of hosts that nobody has had anything to do with since this moment. Without an address, their actors leave.
    pub(super) fn forget_idle(&self, since: Timestamp) {
        self.0
            .hosts
            .lock()
            .retain(|_, entry| entry.used_at >= since || entry.host_entry.present.load(Ordering::Acquire) > 0);
    }

    fn start(&self, host_entry: &Arc<HostEntry>, context: &Arc<PipelineContext>) -> Option<Addr<HostActor>> {
        let name = host_entry.key.as_ref().map_or("(no host)", HostKey::as_str).to_owned();
        let (host_entry, context, table) = (host_entry.clone(), context.clone(), Arc::downgrade(&self.0));
        let factory = move || HostActor::new(host_entry.clone(), context.clone(), WeakHostTable(table.clone()));
        self.0.group.start(&name, MAILBOX_CAPACITY, factory).ok()
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

impl HostEntry {
    fn new(key: Option<HostKey>, state: Option<HostState>) -> HostEntry {
        HostEntry {
            key,
            request_permit: Arc::new(Semaphore::new(1)),
            state: Mutex::new(state),
            present: AtomicUsize::new(0),
        }
    }

    /// What is known of the host; nothing if there is none.
    pub(super) fn state(&self) -> Option<HostState> {
        self.state.lock().clone()
    }

    /// Changes what is known, and returns it.
    pub(super) fn change(&self, change: impl FnOnce(&mut HostState)) -> Option<HostState> {
        let mut state = self.state.lock();
        state.as_mut().map(|state| {
            change(state);
            state.clone()
        })
    }
}

impl Presence {
    fn at(host_entry: &Arc<HostEntry>) -> Presence {
        host_entry.present.fetch_add(1, Ordering::AcqRel);
        Presence(host_entry.clone())
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.present.fetch_sub(1, Ordering::AcqRel);
    }
}
