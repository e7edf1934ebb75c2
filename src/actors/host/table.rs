//! The table of hosts: their actors, and what must outlive an actor, which is the permit for one request at a time and
//! the state of the host.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use actix::Addr;
use parking_lot::Mutex;
use slog::warn;
use tokio::sync::Semaphore;

use super::HostActor;
use crate::actors::context::PipelineContext;
use crate::actors::messages::PollSource;
use crate::actors::poll::Poll;
use crate::model::{ClockStep, HostKey, HostState, Timestamp};
use crate::rules::stored_times::{asked_at_most, correct_host};
use crate::store::StoreError;
use crate::supervision::Group;

/// Capacity of a host's mailbox. It binds no sender: the scheduler bounds the polls on their way to a host.
const MAILBOX_CAPACITY: usize = 16;
/// Hosts whose times are corrected in one transaction.
const CORRECTED_AT_ONCE: u32 = 500;
/// The most such transactions at the start; hosts beyond them are corrected when they are needed.
const CORRECTIONS_MAX: usize = 2000;

/// Idle hosts that are remembered because they take no requests; about 2 MB.
const CLOSED_MAX: usize = 10_000;

/// A host, kept while polls of it are in flight and a while longer.
pub(in crate::actors) struct HostEntry {
    /// None for sources that have no host.
    pub(in crate::actors) key: Option<HostKey>,
    /// Held by the poll that makes a request, until the poll is settled.
    pub(super) request_permit: Arc<Semaphore>,
    state: Mutex<Option<HostState>>,
    /// Polls at this host.
    present: AtomicUsize,
    /// Whether the table has no longer this entry, and may have another one of the host.
    is_forgotten: AtomicBool,
}

/// Numbers of hosts in the table and of remembered idle ones that take no requests, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounts {
    /// Hosts that take requests.
    pub available: usize,
    /// Hosts that are held.
    pub held: usize,
    /// Hosts with an open breaker.
    pub breaker_open: usize,
}

/// A poll at a host, or what may have to change its state later. It keeps the host in the table.
pub(in crate::actors) struct Presence(Arc<HostEntry>);

/// Clones share the same table.
#[derive(Clone)]
pub(in crate::actors) struct HostTable(Arc<HostTableState>);

struct HostTableState {
    hosts: Mutex<HashMap<Option<HostKey>, KnownHost>>,
    /// Idle hosts without an entry that took no requests when they lost it, to be listed. Locked after `hosts`, whose
    /// entries are newer.
    closed: Mutex<HashMap<HostKey, HostState>>,
    group: Group,
}

struct KnownHost {
    host_entry: Arc<HostEntry>,
    address: Option<Addr<HostActor>>,
    /// By the monotonic clock.
    used_at: Duration,
}

impl HostTable {
    /// The actors of the hosts join this group.
    pub(in crate::actors) fn new(group: Group) -> HostTable {
        HostTable(Arc::new(HostTableState { hosts: Mutex::default(), closed: Mutex::default(), group }))
    }

    /// Adds entries for hosts that have none, with their states from the store.
    pub(in crate::actors) async fn open(
        &self,
        keys: HashSet<Option<HostKey>>,
        context: &PipelineContext,
    ) -> Result<(), StoreError> {
        loop {
            // A state that is read while waits are moved with a step of the clock could move twice, or never.
            let moves = context.timeline.until_moved().await;
            let missing: Vec<Option<HostKey>> = {
                let hosts = self.0.hosts.lock();
                keys.iter().filter(|key| !hosts.contains_key(*key)).cloned().collect()
            };
            if missing.is_empty() {
                return Ok(());
            }
            let named: Vec<HostKey> = missing.iter().flatten().cloned().collect();
            let known = match named.is_empty() {
                true => Vec::new(),
                false => context.store_watch.retry_while_unavailable(|| context.store.hosts(named.clone())).await?,
            };
            let (known, _) = correct(known, context).await?;
            if self.insert(missing, known, moves, context) {
                return Ok(());
            }
        }
    }

    /// Adds entries with these states; false if a step of the clock has begun to move waits since they were read.
    fn insert(
        &self,
        missing: Vec<Option<HostKey>>,
        known: Vec<HostState>,
        moves: u64,
        context: &PipelineContext,
    ) -> bool {
        let mut known: HashMap<HostKey, HostState> =
            known.into_iter().map(|state| (state.host.clone(), state)).collect();
        let now = context.clock.monotonic();
        let mut hosts = self.0.hosts.lock();
        if context.timeline.moves_begun() != moves {
            return false;
        }
        for key in missing {
            let state = key.as_ref().map(|key| known.remove(key).unwrap_or_else(|| HostState::new(key.clone())));
            hosts.entry(key.clone()).or_insert_with(|| KnownHost {
                host_entry: Arc::new(HostEntry::new(key, state)),
                address: None,
                used_at: now,
            });
        }
        true
    }

    /// Sends a poll to a host that has an entry. If that is impossible the poll is dropped, and so returns as lost.
    pub(in crate::actors) fn send(&self, key: &Option<HostKey>, mut poll: Box<Poll>, context: &Arc<PipelineContext>) {
        let mut hosts = self.0.hosts.lock();
        let Some(entry) = hosts.get_mut(key) else { return };
        entry.used_at = context.clock.monotonic();
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
    pub(in crate::actors) fn enter(&self, key: &Option<HostKey>, now: Duration) -> Option<(Arc<HostEntry>, Presence)> {
        let mut hosts = self.0.hosts.lock();
        let entry = hosts.get_mut(key)?;
        entry.used_at = now;
        Some((entry.host_entry.clone(), Presence::at(&entry.host_entry)))
    }

    pub(in crate::actors) fn state(&self, key: &HostKey) -> Option<HostState> {
        self.0.hosts.lock().get(&Some(key.clone())).and_then(|entry| entry.host_entry.state())
    }

    /// Adds an entry for a host that has none, with this state from the store.
    pub(in crate::actors) fn open_with(&self, key: &HostKey, known: Option<HostState>, now: Duration) {
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
        let hosts = self.0.hosts.lock();
        let closed = self.0.closed.lock();
        let idle =
            closed.values().filter(|state| is_closed(state, now) && !hosts.contains_key(&Some(state.host.clone())));
        for state in hosts.values().filter_map(|entry| entry.host_entry.state()).chain(idle.cloned()) {
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

    /// Hosts that are held, have an open breaker or have left requests unanswered, in any order: those in the table, and
    /// idle ones that take no requests.
    pub(in crate::actors) fn troubled(&self, now: Timestamp) -> Vec<HostState> {
        let hosts = self.0.hosts.lock();
        let troubled = |known: &KnownHost| {
            let state = known.host_entry.state.lock();
            state.as_ref().filter(|state| state.breaker.failures > 0 || is_closed(state, now)).cloned()
        };
        let closed = self.0.closed.lock();
        let idle =
            closed.values().filter(|state| is_closed(state, now) && !hosts.contains_key(&Some(state.host.clone())));
        hosts.values().filter_map(troubled).chain(idle.cloned()).collect()
    }

    pub(in crate::actors) fn len(&self) -> usize {
        self.0.hosts.lock().len()
    }

    /// Removes hosts that have no polls and got none since this moment. Their actors end with the last address. Remembers
    /// some of those that take no requests now.
    pub(in crate::actors) fn forget_idle(&self, since: Duration, now: Timestamp) {
        let mut hosts = self.0.hosts.lock();
        let mut closed = self.0.closed.lock();
        closed.retain(|_, state| is_closed(state, now));
        hosts.retain(|_, entry| {
            if entry.used_at >= since || entry.host_entry.present.load(Ordering::Acquire) > 0 {
                return true;
            }
            if let Some(state) = entry.host_entry.state.lock().as_ref() {
                closed.remove(&state.host);
                if is_closed(state, now) && closed.len() < CLOSED_MAX {
                    closed.insert(state.host.clone(), state.clone());
                }
            }
            false
        });
    }

    /// Removes hosts that another node has from now on. What this node knows of them gets old.
    pub(in crate::actors) fn forget_hosts(&self, is_gone: impl Fn(Option<&HostKey>) -> bool) {
        let mut hosts = self.0.hosts.lock();
        self.0.closed.lock().retain(|host, _| !is_gone(Some(host)));
        hosts.retain(|host, known| {
            let is_gone = is_gone(host.as_ref());
            known.host_entry.is_forgotten.store(is_gone, Ordering::Release);
            !is_gone
        });
    }

    /// Moves the times of all hosts with a step of the clock, so that no pause, hold or breaker gets shorter or longer.
    /// Returns their entries.
    pub(in crate::actors) fn follow(&self, step: ClockStep, now: Timestamp) -> Vec<Arc<HostEntry>> {
        let entries: Vec<_> = self.0.hosts.lock().values().map(|known| known.host_entry.clone()).collect();
        for state in self.0.closed.lock().values_mut() {
            state.held_until = state.held_until.map(|until| step.moved(until));
            state.breaker.open_until = state.breaker.open_until.map(|until| step.moved(until));
        }
        for host_entry in &entries {
            host_entry.change(|state| {
                // A request since the step has noted the new time.
                let is_new = |at: Timestamp| (step.to..=now).contains(&at);
                state.last_asked_at = state.last_asked_at.map(|at| if is_new(at) { at } else { step.moved(at) });
                state.held_until = state.held_until.map(|until| step.moved(until));
                state.breaker.open_until = state.breaker.open_until.map(|until| step.moved(until));
            });
        }
        entries
    }

    fn start(&self, host_entry: &Arc<HostEntry>, context: &Arc<PipelineContext>) -> Option<Addr<HostActor>> {
        let name = host_entry.key.as_ref().map_or("(no host)", HostKey::as_str).to_owned();
        let (host_entry, context, table) = (host_entry.clone(), context.clone(), Arc::downgrade(&self.0));
        let factory = move || HostActor::new(host_entry.clone(), context.clone(), WeakHostTable(table.clone()));
        self.0.group.start(&name, MAILBOX_CAPACITY, factory).ok()
    }
}

/// Whether a hold or the breaker keeps requests from the host.
fn is_closed(state: &HostState, now: Timestamp) -> bool {
    [state.held_until, state.breaker.open_until].into_iter().flatten().any(|until| until > now)
}

/// Corrects the times of all hosts that were asked in the future. At the start, before any poll: the waits of such hosts
/// count from now on.
pub(in crate::actors) async fn correct_all(context: &PipelineContext) -> Result<(), StoreError> {
    let latest = asked_at_most(context.clock.now());
    for _ in 0..CORRECTIONS_MAX {
        let reading = || context.store.hosts_asked_after(latest, CORRECTED_AT_ONCE);
        let ahead = context.store_watch.retry_while_unavailable(reading).await?;
        // Corrected hosts are not among the next ones.
        let (corrected, is_stored) = correct(ahead, context).await?;
        if corrected.is_empty() || !is_stored {
            break;
        }
    }
    Ok(())
}

/// Corrects times in the future that a clock that was ahead has stored, and stores them. Returns whether they are
/// stored; if another session locks a row, they are stored with the next poll of each host.
async fn correct(mut known: Vec<HostState>, context: &PipelineContext) -> Result<(Vec<HostState>, bool), StoreError> {
    let (now, policy, step) = (context.clock.now(), context.policy(), context.timeline.last_step());
    let corrected: Vec<HostState> =
        known.iter_mut().filter_map(|host| correct_host(host, &policy, now, step).then(|| host.clone())).collect();
    if let Some(first) = corrected.first() {
        warn!(context.log, "stored times of hosts corrected"; "hosts" => corrected.len(),
            "first_host" => first.host.as_str(),
            "reason" => "they were in the future: the clock was ahead when they were stored");
        let storing = || context.store.correct_hosts(corrected.clone());
        match context.store_watch.retry_while_unavailable(storing).await {
            Err(StoreError::Locked(error)) => {
                warn!(context.log, "stored times of hosts not corrected"; "error" => error);
                return Ok((known, false));
            }
            done => done?,
        }
    }
    Ok((known, true))
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
            is_forgotten: AtomicBool::new(false),
        }
    }

    /// Whether another entry may have the turns of the host by now.
    pub(super) fn is_forgotten(&self) -> bool {
        self.is_forgotten.load(Ordering::Acquire)
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
    pub(in crate::actors) fn at(host_entry: &Arc<HostEntry>) -> Presence {
        host_entry.present.fetch_add(1, Ordering::AcqRel);
        Presence(host_entry.clone())
    }

    pub(in crate::actors) fn host_entry(&self) -> &HostEntry {
        &self.0
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.present.fetch_sub(1, Ordering::AcqRel);
    }
}
