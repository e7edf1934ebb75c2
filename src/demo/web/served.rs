//! Which entries a site has served, and in which version.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::model::Timestamp;

/// A version of an entry: 0 as it was published, one more with each change of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryVersion {
    pub number: u64,
    pub version: u32,
}

/// An entry of which a version was sent whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedEntry {
    /// Its number at its site, which no habit changes.
    pub number: u64,
    /// The newest version that was sent.
    pub version: u32,
    /// When that was sent last; not known of entries that never changed.
    pub served_at: Option<Timestamp>,
    /// Whether it is dated before the start of the web.
    pub is_backlog: bool,
}

/// All entries that a site has served. Entries that never change take no space of their own.
#[derive(Debug, Default)]
pub(super) struct ServedVersions {
    /// In order and apart.
    numbers: Vec<Range<u64>>,
    /// Newest version and last time of those that changed.
    changed: BTreeMap<u64, (u32, Timestamp)>,
}

impl ServedVersions {
    /// Remembers the entries of a document that was sent whole.
    pub(super) fn note(&mut self, entries: &[EntryVersion], now: Timestamp) {
        for entry in entries {
            if !self.numbers.iter().rev().any(|range| range.contains(&entry.number)) {
                self.note_number(entry.number);
            }
            let newest = self.changed.get(&entry.number).map_or(0, |(version, _)| *version);
            // Answers can end in another order than they began.
            if entry.version > 0 && entry.version >= newest {
                self.changed.insert(entry.number, (entry.version, now));
            }
        }
    }

    /// Number, newest version and time of each entry.
    pub(super) fn all(&self) -> impl Iterator<Item = (EntryVersion, Option<Timestamp>)> {
        self.numbers.iter().cloned().flatten().map(|number| match self.changed.get(&number) {
            Some((version, at)) => (EntryVersion { number, version: *version }, Some(*at)),
            None => (EntryVersion { number, version: 0 }, None),
        })
    }

    fn note_number(&mut self, number: u64) {
        let first = self.numbers.partition_point(|range| range.end < number);
        let behind = self.numbers.partition_point(|range| range.start <= number + 1);
        let union = |all: Range<u64>, range: &Range<u64>| all.start.min(range.start)..all.end.max(range.end);
        let merged = self.numbers[first..behind].iter().fold(number..number + 1, union);
        self.numbers.splice(first..behind, [merged]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(served: &mut ServedVersions, entries: &[(u64, u32)], seconds: i64) {
        let entries: Vec<EntryVersion> =
            entries.iter().map(|(number, version)| EntryVersion { number: *number, version: *version }).collect();
        served.note(&entries, Timestamp::from_seconds(seconds));
    }

    #[test]
    fn what_was_served_is_counted_once_in_whatever_order_answers_end() {
        let numbers = |served: &ServedVersions| served.all().map(|(entry, _)| entry.number).collect::<Vec<_>>();
        let mut served = ServedVersions::default();
        for entries in [&[(5, 0)][..], &[(2, 0)], &[(5, 0)], &[], &[(9, 0), (8, 0)]] {
            note(&mut served, entries, 0);
        }
        assert_eq!(numbers(&served), [2, 5, 8, 9]);
        note(&mut served, &[(4, 0), (3, 0)], 0);
        assert_eq!((numbers(&served), served.numbers.len()), (vec![2, 3, 4, 5, 8, 9], 2));
    }

    #[test]
    fn the_newest_version_counts_with_the_last_time_it_was_served() {
        let mut served = ServedVersions::default();
        note(&mut served, &[(0, 0), (1, 2)], 10);
        note(&mut served, &[(0, 1), (1, 2)], 20);
        note(&mut served, &[(0, 0), (1, 1)], 30);
        let found: Vec<_> = served.all().map(|(entry, at)| (entry.version, at.map(Timestamp::as_seconds))).collect();
        assert_eq!(found, [(1, Some(20)), (2, Some(20))]);
    }
}
