//! Laws over whole histories of a feed.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;

use super::reader::{PlayedEntry, ReadSource, minutes_from_now};

/// What a publisher does between two polls.
#[derive(Clone, Debug)]
enum PublisherAction {
    Publish { late: bool, shared_body: bool },
    Edit { which: usize, bumps_date: bool },
    RotateId { which: usize },
    UseHttps { which: usize },
    Poll,
}

/// What happened to an entry since the last poll.
#[derive(Clone, Copy, Default)]
struct Touched {
    is_new: bool,
    has_other_id: bool,
    has_other_date: bool,
}

fn steps() -> impl Strategy<Value = Vec<PublisherAction>> {
    let step = prop_oneof![
        4 => (any::<bool>(), any::<bool>()).prop_map(|(late, shared_body)| PublisherAction::Publish { late, shared_body }),
        2 => (0usize..30, any::<bool>()).prop_map(|(which, bumps_date)| PublisherAction::Edit { which, bumps_date }),
        1 => (0usize..30).prop_map(|which| PublisherAction::RotateId { which }),
        1 => (0usize..30).prop_map(|which| PublisherAction::UseHttps { which }),
        4 => Just(PublisherAction::Poll),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any order of entries, any split of a history into polls, any mixture of edits, rotated ids and equal bodies: each
    /// entry is stored exactly once, in its newest version.
    #[test]
    fn every_entry_is_stored_exactly_once_in_its_newest_version(steps in steps(), order in any::<u64>()) {
        let mut reader = ReadSource::new();
        // What the publisher has, by number of the entry; and what happened to an entry since the last poll.
        let mut items: BTreeMap<u32, PlayedEntry> = BTreeMap::new();
        let mut touched: HashMap<u32, Touched> = HashMap::new();
        let mut minute = 0;
        for step in steps.iter().chain([&PublisherAction::Poll]) {
            minute += 1;
            let pick = |which: usize, items: &BTreeMap<u32, PlayedEntry>| items.keys().nth(which % items.len().max(1)).copied();
            match step {
                PublisherAction::Publish { late, shared_body } => {
                    let number = items.len() as u32 + 1;
                    let body = if *shared_body { "Comments".to_owned() } else { format!("body {number}") };
                    let age = if *late { 50 } else { 0 };
                    let published = Some(minutes_from_now(minute - age + 50));
                    items.insert(number, PlayedEntry { published, ..PlayedEntry::new(number, &body) });
                    touched.insert(number, Touched { is_new: true, ..Touched::default() });
                }
                // Between two polls, the id may change with the text, but not with text and date: that is another entry.
                PublisherAction::Edit { which, bumps_date } => if let Some(number) = pick(*which, &items) {
                    let touched = touched.entry(number).or_default();
                    if touched.has_other_id && *bumps_date && !touched.is_new {
                        continue;
                    }
                    touched.has_other_date |= *bumps_date;
                    let item = items.get_mut(&number).unwrap();
                    item.body = format!("edit {minute} of {number}");
                    if *bumps_date {
                        item.published = Some(minutes_from_now(minute + 50));
                    }
                },
                PublisherAction::RotateId { which } => if let Some(number) = pick(*which, &items) {
                    let touched = touched.entry(number).or_default();
                    if touched.has_other_date && !touched.is_new {
                        continue;
                    }
                    touched.has_other_id = true;
                    items.get_mut(&number).unwrap().id = Some(format!("rotated {minute} {number}"));
                },
                PublisherAction::UseHttps { which } => if let Some(number) = pick(*which, &items) {
                    let item = items.get_mut(&number).unwrap();
                    item.url = item.url.as_ref().map(|url| url.replace("http://", "https://"));
                },
                PublisherAction::Poll => {
                    let mut document: Vec<PlayedEntry> = items.values().cloned().collect();
                    let length = document.len().max(1);
                    document.rotate_left(order as usize % length);
                    if order % 2 == 0 {
                        document.reverse();
                    }
                    let decision = reader.read(&document, minutes_from_now(minute + 100));
                    touched.clear();
                    let mut stored = reader.bodies();
                    let mut wanted: Vec<String> = items.values().map(|item| item.body.clone()).collect();
                    stored.sort();
                    wanted.sort();
                    prop_assert_eq!(stored, wanted, "{:?}", decision.entries);
                }
            }
        }
    }
}
