//! What is due when, in order: so that finding what is due costs what is due, not what exists.
//!
//! A source is scheduled for a moment; or due, in the line of its host; or out, with its host. Plain data, no actor.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::messages::ScheduleState;
use crate::model::{HostKey, SourceId, Timestamp};

/// How many sources a host has at once: the one that is being asked for and the one after it.
const OUT_PER_HOST_MAX: u32 = 2;

/// All sources that are polled at all.
#[derive(Default)]
pub(super) struct DueIndex {
    sources: HashMap<SourceId, Entry>,
    scheduled: BTreeSet<(Timestamp, SourceId)>,
    hosts: Hosts,
    lines: HashMap<HostNumber, Line>,
    /// Lines that have somebody waiting and room at their host.
    ready: BTreeSet<(Timestamp, HostNumber)>,
    waiting: usize,
    out: HashSet<SourceId>,
}

/// Small, because there may be millions of them.
#[derive(Clone, Copy)]
struct Entry {
    at: Timestamp,
    host: HostNumber,
    state: ScheduleState,
}

type HostNumber = u32;

/// Gives hosts numbers, so that a source's entry stays small.
#[derive(Default)]
struct Hosts {
    numbers: HashMap<Option<HostKey>, HostNumber>,
    /// How many sources each of them has, by its number.
    sources: Vec<u32>,
}

/// Those who wait for one host.
#[derive(Default)]
struct Line {
    waiting: BTreeSet<(Timestamp, SourceId)>,
    out: u32,
}

impl DueIndex {
    /// Schedules a source, wherever it was before.
    pub(super) fn schedule(&mut self, id: SourceId, host: Option<HostKey>, at: Timestamp) {
        self.remove(id);
        let host = self.hosts.number(host);
        self.hosts.sources[host as usize] += 1;
        self.sources.insert(id, Entry { at, host, state: ScheduleState::Scheduled });
        self.scheduled.insert((at, id));
    }

    /// Schedules a source that is known already; false if it is not.
    pub(super) fn reschedule(&mut self, id: SourceId, at: Timestamp) -> bool {
        let Some(host) = self.sources.get(&id).map(|entry| entry.host) else { return false };
        self.leave(id);
        self.sources.insert(id, Entry { at, host, state: ScheduleState::Scheduled });
        self.scheduled.insert((at, id));
        true
    }

    /// Notes that a source that is out is at this host, which may be another one than it was: it can have moved.
    pub(super) fn rehost(&mut self, id: SourceId, host: Option<HostKey>) {
        let host = self.hosts.number(host);
        let Some(entry) = self.sources.get(&id).copied().filter(|entry| entry.state == ScheduleState::UnderWay) else {
            return;
        };
        if entry.host == host {
            return;
        }
        self.leave(id);
        self.hosts.sources[entry.host as usize] -= 1;
        self.hosts.sources[host as usize] += 1;
        self.sources.insert(id, Entry { host, ..entry });
        self.out.insert(id);
        self.touch_line(host, |line| {
            line.out += 1;
            true
        });
    }

    /// Forgets a source.
    pub(super) fn remove(&mut self, id: SourceId) {
        self.leave(id);
        if let Some(entry) = self.sources.remove(&id) {
            self.hosts.sources[entry.host as usize] -= 1;
        }
    }

    /// Whether a source shares its host with others.
    pub(super) fn has_siblings(&self, id: SourceId) -> bool {
        self.sources.get(&id).is_some_and(|entry| self.hosts.sources[entry.host as usize] > 1)
    }

    /// How many hosts have sources, counted up to a bound.
    pub(super) fn hosts_up_to(&self, most: usize) -> usize {
        self.hosts.sources.iter().filter(|sources| **sources > 0).take(most).count()
    }

    /// Whether a source is with its host.
    pub(super) fn is_out(&self, id: SourceId) -> bool {
        self.out.contains(&id)
    }

    /// When a source is or was due, and where it is.
    pub(super) fn find(&self, id: SourceId) -> Option<(Timestamp, ScheduleState)> {
        self.sources.get(&id).map(|entry| (entry.at, entry.state))
    }

    /// Those who are with their hosts.
    pub(super) fn out(&self) -> impl Iterator<Item = SourceId> + '_ {
        self.out.iter().copied()
    }

    /// Moves what is due by now into the lines; returns how many that were.
    pub(super) fn fall_due(&mut self, now: Timestamp) -> usize {
        let mut count = 0;
        while let Some((at, id)) = self.scheduled.first().copied().filter(|(at, _)| *at <= now) {
            self.scheduled.pop_first();
            let Some(entry) = self.sources.get_mut(&id) else { continue };
            entry.state = ScheduleState::Waiting;
            let host = entry.host;
            self.touch_line(host, |line| line.waiting.insert((at, id)));
            self.waiting += 1;
            count += 1;
        }
        count
    }

    /// Takes the next sources to hand out, at most so many: those that waited longest, of hosts that have room.
    pub(super) fn take_ready(&mut self, limit: usize) -> Vec<(SourceId, Timestamp)> {
        let mut taken = Vec::new();
        while taken.len() < limit {
            let Some(&(_, host)) = self.ready.first() else { break };
            let next = self.lines.get(&host).and_then(|line| line.waiting.first().copied());
            let Some((at, id)) = next else { break };
            self.touch_line(host, |line| {
                line.waiting.pop_first();
                line.out += 1;
                true
            });
            self.waiting -= 1;
            self.out.insert(id);
            if let Some(entry) = self.sources.get_mut(&id) {
                entry.state = ScheduleState::UnderWay;
            }
            taken.push((id, at));
        }
        taken
    }

    /// Puts the sources that wait for a host back on the schedule, each for a moment of its own; a source without such a
    /// moment keeps waiting.
    pub(super) fn clear_line(
        &mut self,
        host: &Option<HostKey>,
        mut when: impl FnMut(SourceId, Timestamp) -> Option<Timestamp>,
    ) {
        if let Some(number) = self.hosts.numbers.get(host).copied() {
            self.clear(number, &mut when);
        }
    }

    /// Puts all sources that wait for a host back on the schedule, each for a moment of its own.
    pub(super) fn clear_lines(&mut self, mut when: impl FnMut(Timestamp) -> Timestamp) {
        for number in self.lines.keys().copied().collect::<Vec<_>>() {
            self.clear(number, &mut |_, due_at| Some(when(due_at)));
        }
    }

    /// When the next source falls due.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        self.scheduled.first().map(|(at, _)| *at)
    }

    /// Whether anybody could be handed out.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether only a few could be handed out, while others wait for a host that is being asked: they may join soon.
    pub(super) fn has_few_ready(&self, few: usize) -> bool {
        self.ready.len() < few && self.waiting > self.ready.len() && !self.out.is_empty()
    }

    /// When the source that waits longest fell due.
    pub(super) fn oldest_waiting(&self) -> Option<Timestamp> {
        self.lines.values().filter_map(|line| line.waiting.first()).map(|(at, _)| *at).min()
    }

    /// How many are scheduled, waiting and out.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        (self.scheduled.len(), self.waiting, self.out.len())
    }

    /// Whether there is nothing left in it.
    pub(super) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    fn clear(&mut self, host: HostNumber, when: &mut impl FnMut(SourceId, Timestamp) -> Option<Timestamp>) {
        let waiting = match self.lines.get(&host) {
            Some(line) => line.waiting.clone(),
            None => return,
        };
        for (at, id) in waiting {
            if let Some(at) = when(id, at) {
                self.reschedule(id, at);
            }
        }
    }

    /// Takes a source out of wherever it is.
    fn leave(&mut self, id: SourceId) {
        let Some(Entry { at, host, state }) = self.sources.get(&id).copied() else { return };
        match state {
            ScheduleState::Scheduled => {
                self.scheduled.remove(&(at, id));
            }
            ScheduleState::Waiting => {
                self.touch_line(host, |line| line.waiting.remove(&(at, id)));
                self.waiting -= 1;
            }
            ScheduleState::UnderWay => {
                self.out.remove(&id);
                self.touch_line(host, |line| {
                    line.out = line.out.saturating_sub(1);
                    true
                });
            }
        }
    }

    /// Changes a line and keeps `ready` true to it. A line with nobody in it goes.
    fn touch_line(&mut self, host: HostNumber, change: impl FnOnce(&mut Line) -> bool) {
        let line = self.lines.entry(host).or_default();
        if let Some((at, _)) = line.waiting.first() {
            self.ready.remove(&(*at, host));
        }
        change(line);
        match line.waiting.first() {
            Some((at, _)) if line.out < OUT_PER_HOST_MAX => {
                self.ready.insert((*at, host));
            }
            None if line.out == 0 => {
                self.lines.remove(&host);
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
mod tests;
