//! The table of hosts: their actors, and what must outlive an actor, which is the permit for one request at a time and
//! the state of the host.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use actix::Addr;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::HostActor;
use crate::actors::context::PipelineContext;
use crate::actors::messages::PollSource;
use crate::actors::poll::Poll;
use crate::model::{HostKey, HostState, Timestamp};
use crate::store::StoreError;
use crate::supervision::Group;

/// Capacity of a host's mailbox. It binds no sender: the scheduler bounds the polls on their way to a host.
const MAILBOX_CAPACITY: usize = 16;

/// A host, kept while polls of it are in flight and a while longer.
pub(in crate::actors) struct HostEntry {
    /// None for sources that have no host.
    pub(in crate::actors) key: Option<HostKey>,
    /// Held by the poll that makes a request, until the poll is settled.
    pub(super) request_permit: Arc<Semaphore>,
    state: Mutex<Option<HostState>>,
    /// Polls at this host.
    present: AtomicUsize,
}

/// Numbers of hosts in the table, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounts {
    /// Hosts that take requests.
    pub available: usize,
    /// Hosts that are held.
    pub held: usize,
    /// Hosts with an open breaker.
    pub breaker_open: usize,
}

/// A poll at a host. It keeps the host in the table.
pub(in crate::actors) struct Presence(Arc<HostEntry>);

/// Clones share the same table.
#[derive(Clone)]
pub(in crate::actors) struct HostTable(Arc<HostTableState>);

struct HostTableState {
    hosts: Mutex<HashMap<Option<HostKey>, KnownHost>>,
    group: Group,
}

struct KnownHost {
    host_entry: Arc<HostEntry>,
    address: Option<Addr<HostActor>>,
    used_at: Timestamp,
}

impl HostTable {
    /// The actors of the hosts join this group.
    pub(in crate::actors) fn new(group: Group) -> HostTable {
        HostTable(Arc::new(HostTableState { hosts: Mutex::default(), group }))
    }

    /// Adds entries for hosts that have none, with their states from the store.
    pub(in crate::actors) async fn open(
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
            hosts.entry(key.clone()).or_insert_with(|| KnownHost {
                host_entry: Arc::new(HostEntry::new(key, state)),
                address: None,
                used_at: now,
            });
        }
        Ok(())
    }

    /// Sends a poll to a host that has an entry. If that is impossible the poll is dropped, and so returns as lost.
    pub(in crate::actors) fn send(&self, key: &Option<HostKey>, mut poll: Box<Poll>, context: &Arc<PipelineContext>) {
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

    /// Keeps a host that has an entry in the table, for requests outside of polls.
    pub(super) fn enter(&self, key: &Option<HostKey>, now: Timestamp) -> Option<(Arc<HostEntry>, Presence)> {
        let mut hosts = self.0.hosts.lock();
        let entry = hosts.get_mut(key)?;
        entry.used_at = now;
        Some((entry.host_entry.clone(), Presence::at(&entry.host_entry)))
    }

    pub(in crate::actors) fn state(&self, key: &HostKey) -> Option<HostState> {
        self.0.hosts.lock().get(&Some(key.clone())).and_then(|entry| entry.host_entry.state())
    }

    /// Adds an entry for a host that has none, with this state from the store.
    pub(in crate::actors) fn open_with(&self, key: &HostKey, known: Option<HostState>, now: Timestamp) {
        let state = known.unwrap_or_else(|| HostState::new(key.clone()));
        let key = Some(key.clone());
        self.0.hosts.lock().entry(key.clone()).or_insert_with(|| KnownHost {
            host_entry: Arc::new(HostEntry::new(key, Some(state))),
            address: None,
            used_at: now,
        });
    }

    /// Changes the state of a host that has an entry, and returns it.
    pub(in crate::actors) fn change(&self, key: &HostKey, change: impl FnOnce(&mut HostState)) -> Option<HostState> {
        let host_entry = self.0.hosts.lock().get(&Some(key.clone())).map(|entry| entry.host_entry.clone());
        host_entry.and_then(|host_entry| host_entry.change(change))
    }

    pub(in crate::actors) fn counts(&self, now: Timestamp) -> HostCounts {
        let mut counts = HostCounts::default();
        for state in self.0.hosts.lock().values().filter_map(|entry| entry.host_entry.state()) {
            if state.breaker.open_until.is_some_and(|until| until > now) {
                counts.breaker_open += 1;
            } else if state.held_until.is_some_and(|until| until > now) {
                counts.held += 1;
            } else {
                counts.available += 1;
            }
        }
        counts
    }

    pub(in crate::actors) fn len(&self) -> usize {
        self.0.hosts.lock().len()
    }

    /// Removes hosts that have no polls and got none since this moment. Their actors end with the last address.
    pub(in crate::actors) fn forget_idle(&self, since: Timestamp) {
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

/// The table for the actors in it, which must not keep it alive.
#[derive(Clone)]
pub(super) struct WeakHostTable(Weak<HostTableState>);

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

    /// None for sources without a host.
    pub(in crate::actors) fn state(&self) -> Option<HostState> {
        self.state.lock().clone()
    }

    /// Changes the state, and returns it.
    pub(in crate::actors) fn change(&self, change: impl FnOnce(&mut HostState)) -> Option<HostState> {
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
