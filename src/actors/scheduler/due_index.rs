//! The schedule, ordered by time: finding the due sources costs as much as there are due ones, not all.
//!
//! A source is scheduled for a moment, or due and waiting in the queue of its host, or in flight. Plain data, no actor.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::actors::messages::ScheduleState;
use crate::model::{HostKey, HostQueueStatus, SourceId, Timestamp};
use crate::rules::budget::{Demand, Demands};

/// Sources that a host gets at once: the one that is being asked for and the next one.
const IN_FLIGHT_PER_HOST_MAX: u32 = 2;

/// All sources that are polled.
#[derive(Default)]
pub(super) struct DueIndex {
    sources: HashMap<SourceId, IndexedSource>,
    demands: Demands,
    scheduled: BTreeSet<(Timestamp, SourceId)>,
    hosts: Hosts,
    queues: HashMap<HostNumber, HostQueue>,
    /// Queues with waiting sources whose host has room, by the time at which their first source fell due.
    ready: BTreeSet<(Timestamp, HostNumber)>,
    waiting: usize,
    in_flight: HashSet<SourceId>,
    /// Those in flight that do not occupy their host.
    away_from_host: HashSet<SourceId>,
}

/// A source in the index. Small, because there may be millions of them.
#[derive(Clone, Copy)]
struct IndexedSource {
    at: Timestamp,
    host: HostNumber,
    demand: Demand,
    state: ScheduleState,
}

type HostNumber = u32;

/// Numbers for hosts, which keep the entry of a source small.
#[derive(Default)]
struct Hosts {
    numbers: HashMap<Option<HostKey>, HostNumber>,
    /// Number of sources of each host.
    sources: Vec<u32>,
}

/// Due sources of one host.
#[derive(Default)]
struct HostQueue {
    waiting: BTreeSet<(Timestamp, SourceId)>,
    in_flight: u32,
}

impl DueIndex {
    /// Schedules a source, whether or not it is in the index.
    pub(super) fn schedule(&mut self, id: SourceId, host: Option<HostKey>, demand: Demand, at: Timestamp) {
        self.remove(id);
        let host = self.hosts.number(host);
        self.hosts.sources[host as usize] += 1;
        self.demands.add(demand);
        self.sources.insert(id, IndexedSource { at, host, demand, state: ScheduleState::Scheduled });
        self.scheduled.insert((at, id));
    }

    /// Schedules a source that is in the index; returns false if it is not.
    pub(super) fn reschedule(&mut self, id: SourceId, at: Timestamp) -> bool {
        let Some(entry) = self.sources.get(&id).copied() else { return false };
        self.detach(id);
        self.sources.insert(id, IndexedSource { at, state: ScheduleState::Scheduled, ..entry });
        self.scheduled.insert((at, id));
        true
    }

    /// Notes what a source in the index takes of the budget of requests.
    pub(super) fn set_demand(&mut self, id: SourceId, demand: Demand) {
        if let Some(entry) = self.sources.get_mut(&id) {
            self.demands.remove(entry.demand);
            self.demands.add(demand);
            entry.demand = demand;
        }
    }

    /// Numbers of sources by what they take of the budget.
    pub(super) fn demands(&self) -> &Demands {
        &self.demands
    }

    pub(super) fn len(&self) -> usize {
        self.sources.len()
    }

    /// Moves a source in flight to another host, if its URL has changed since it was scheduled.
    pub(super) fn move_to_host(&mut self, id: SourceId, host: Option<HostKey>) {
        let host = self.hosts.number(host);
        let Some(entry) = self.sources.get(&id).copied().filter(|entry| entry.state == ScheduleState::InFlight) else {
            return;
        };
        if entry.host == host {
            return;
        }
        self.detach(id);
        self.hosts.sources[entry.host as usize] -= 1;
        self.hosts.sources[host as usize] += 1;
        self.sources.insert(id, IndexedSource { host, ..entry });
        self.in_flight.insert(id);
        self.change_queue(host, |queue| {
            queue.in_flight += 1;
            true
        });
    }

    pub(super) fn remove(&mut self, id: SourceId) {
        self.detach(id);
        if let Some(entry) = self.sources.remove(&id) {
            self.demands.remove(entry.demand);
            self.hosts.sources[entry.host as usize] -= 1;
        }
    }

    /// Removes the sources of these hosts, except those in flight; returns what was removed.
    pub(super) fn remove_hosts(&mut self, is_gone: impl Fn(Option<&HostKey>) -> bool) -> Vec<SourceId> {
        let numbers: HashSet<HostNumber> =
            self.hosts.numbers.iter().filter(|(host, _)| is_gone(host.as_ref())).map(|(_, number)| *number).collect();
        let is_removed =
            |entry: &IndexedSource| numbers.contains(&entry.host) && entry.state != ScheduleState::InFlight;
        let gone: Vec<SourceId> =
            self.sources.iter().filter(|(_, entry)| is_removed(entry)).map(|(id, _)| *id).collect();
        gone.iter().for_each(|id| self.remove(*id));
        gone
    }

    /// Whether the host of a source has other sources, too.
    pub(super) fn shares_host(&self, id: SourceId) -> bool {
        self.sources.get(&id).is_some_and(|entry| self.hosts.sources[entry.host as usize] > 1)
    }

    /// Number of hosts that have sources, counted up to a bound.
    pub(super) fn hosts_up_to(&self, most: usize) -> usize {
        self.hosts.sources.iter().filter(|sources| **sources > 0).take(most).count()
    }

    pub(super) fn is_in_flight(&self, id: SourceId) -> bool {
        self.in_flight.contains(&id)
    }

    /// A source in flight does not occupy its host any more.
    pub(super) fn leave_host(&mut self, id: SourceId) {
        let Some(entry) = self.sources.get(&id).filter(|entry| entry.state == ScheduleState::InFlight) else { return };
        let host = entry.host;
        if self.away_from_host.insert(id) {
            self.change_queue(host, |queue| {
                queue.in_flight = queue.in_flight.saturating_sub(1);
                true
            });
        }
    }

    /// When a source is or was due, and its state.
    pub(super) fn find(&self, id: SourceId) -> Option<(Timestamp, ScheduleState)> {
        self.sources.get(&id).map(|entry| (entry.at, entry.state))
    }

    pub(super) fn in_flight(&self) -> impl Iterator<Item = SourceId> + '_ {
        self.in_flight.iter().copied()
    }

    /// Moves the sources that are due by now into the queues of their hosts; returns their number.
    pub(super) fn fall_due(&mut self, now: Timestamp) -> usize {
        let mut count = 0;
        while let Some((at, id)) = self.scheduled.first().copied().filter(|(at, _)| *at <= now) {
            self.scheduled.pop_first();
            let Some(entry) = self.sources.get_mut(&id) else { continue };
            entry.state = ScheduleState::Waiting;
            let host = entry.host;
            self.change_queue(host, |queue| queue.waiting.insert((at, id)));
            self.waiting += 1;
            count += 1;
        }
        count
    }

    /// Takes up to `limit` sources to hand out: those that waited longest, of hosts that have room.
    pub(super) fn take_ready(&mut self, limit: usize) -> Vec<(SourceId, Timestamp)> {
        let mut taken = Vec::new();
        while taken.len() < limit {
            let Some(&(_, host)) = self.ready.first() else { break };
            let next = self.queues.get(&host).and_then(|queue| queue.waiting.first().copied());
            let Some((at, id)) = next else { break };
            self.change_queue(host, |queue| {
                queue.waiting.pop_first();
                queue.in_flight += 1;
                true
            });
            self.waiting -= 1;
            self.in_flight.insert(id);
            if let Some(entry) = self.sources.get_mut(&id) {
                entry.state = ScheduleState::InFlight;
            }
            taken.push((id, at));
        }
        taken
    }

    /// Reschedules the sources that wait for a host, each for the moment that `when` returns for it and the time at
    /// which it fell due. A source for which `when` returns none keeps waiting.
    pub(super) fn reschedule_waiting(
        &mut self,
        host: &Option<HostKey>,
        mut when: impl FnMut(SourceId, Timestamp) -> Option<Timestamp>,
    ) {
        if let Some(number) = self.hosts.numbers.get(host).copied() {
            self.reschedule_queue(number, &mut when);
        }
    }

    /// Reschedules the waiting sources of all hosts.
    pub(super) fn reschedule_all_waiting(&mut self, mut when: impl FnMut(Timestamp) -> Timestamp) {
        for number in self.queues.keys().copied().collect::<Vec<_>>() {
            self.reschedule_queue(number, &mut |_, due_at| Some(when(due_at)));
        }
    }

    /// Time at which the next source falls due.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        self.scheduled.first().map(|(at, _)| *at)
    }

    /// Whether a source could be handed out.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether only a few sources could be handed out while others wait for a busy host and may join soon.
    pub(super) fn has_few_ready(&self, few: usize) -> bool {
        self.ready.len() < few && self.waiting > self.ready.len() && !self.in_flight.is_empty()
    }

    /// Time at which the source that waits longest fell due.
    pub(super) fn oldest_waiting_at(&self) -> Option<Timestamp> {
        self.queues.values().filter_map(|queue| queue.waiting.first()).map(|(at, _)| *at).min()
    }

    /// Time at which the source fell due that waits longest although its host has room, whether or not `fall_due` has
    /// moved it into the queue of its host.
    pub(super) fn oldest_ready_at(&self) -> Option<Timestamp> {
        let ready = self.ready.first().map(|(at, _)| *at);
        [ready, self.next_at()].into_iter().flatten().min()
    }

    /// Numbers of sources that are scheduled, waiting and in flight.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        (self.scheduled.len(), self.waiting, self.in_flight.len())
    }

    /// What the index has of a host.
    pub(super) fn queue_of(&self, host: &Option<HostKey>) -> HostQueueStatus {
        let Some(number) = self.hosts.numbers.get(host) else { return HostQueueStatus::default() };
        let is_there = |id: &SourceId| self.sources.get(id).is_some_and(|entry| entry.host == *number);
        let mut in_flight: Vec<SourceId> = self.in_flight.iter().copied().filter(is_there).collect();
        in_flight.sort_unstable();
        HostQueueStatus {
            sources: self.hosts.sources[*number as usize] as usize,
            waiting: self.queues.get(number).map_or(0, |queue| queue.waiting.len()),
            in_flight,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    fn reschedule_queue(&mut self, host: HostNumber, when: &mut impl FnMut(SourceId, Timestamp) -> Option<Timestamp>) {
        let waiting = match self.queues.get(&host) {
            Some(queue) => queue.waiting.clone(),
            None => return,
        };
        for (at, id) in waiting {
            if let Some(at) = when(id, at) {
                self.reschedule(id, at);
            }
        }
    }

    /// Takes a source out of the schedule, its queue or the set in flight.
    fn detach(&mut self, id: SourceId) {
        let Some(IndexedSource { at, host, state, .. }) = self.sources.get(&id).copied() else { return };
        match state {
            ScheduleState::Scheduled => {
                self.scheduled.remove(&(at, id));
            }
            ScheduleState::Waiting => {
                self.change_queue(host, |queue| queue.waiting.remove(&(at, id)));
                self.waiting -= 1;
            }
            ScheduleState::InFlight => {
                self.in_flight.remove(&id);
                if self.away_from_host.remove(&id) {
                    return;
                }
                self.change_queue(host, |queue| {
                    queue.in_flight = queue.in_flight.saturating_sub(1);
                    true
                });
            }
        }
    }

    /// Changes a queue and updates `ready`. Removes a queue that has become empty.
    fn change_queue(&mut self, host: HostNumber, change: impl FnOnce(&mut HostQueue) -> bool) {
        let queue = self.queues.entry(host).or_default();
        if let Some((at, _)) = queue.waiting.first() {
            self.ready.remove(&(*at, host));
        }
        change(queue);
        match queue.waiting.first() {
            Some((at, _)) if queue.in_flight < IN_FLIGHT_PER_HOST_MAX => {
                self.ready.insert((*at, host));
            }
            None if queue.in_flight == 0 => {
                self.queues.remove(&host);
            }
            _ => {}
        }
    }
}

impl Hosts {
    fn number(&mut self, host: Option<HostKey>) -> HostNumber {
        let next = HostNumber::try_from(self.numbers.len()).expect("there are fewer hosts than that");
        let number = *self.numbers.entry(host).or_insert(next);
        if number == next {
            self.sources.push(0);
        }
        number
    }
}

#[cfg(test)]
#[path = "due_index_tests.rs"]
mod tests;
