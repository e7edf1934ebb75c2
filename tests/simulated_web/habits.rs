//! One test for each habit: what a site serves over time.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use feedwarden::demo::web::EntryHabit::{self, *};
use feedwarden::demo::web::{Habits, Publishing, WebSettings};
use feedwarden::fetch::{Answer, Document};
use feedwarden::model::Timestamp;

use super::{NOW, Visitor};

const HOUR: Duration = Duration::from_secs(3600);
/// How many sites have the habit: enough for all formats.
const SITES: usize = 6;
const POLLS: usize = 12;

/// An entry as it was read.
#[derive(Clone, Debug, PartialEq)]
struct Read {
    id: Option<String>,
    url: String,
    body: String,
    published: Option<Timestamp>,
    updated: Option<Timestamp>,
}

/// The documents that a site serves, one an hour, each with its entries by number, in the order of the document.
type History = Vec<Vec<(u64, Read)>>;

fn number_of(url: &str) -> u64 {
    let number = url.split_once("/entry/").unwrap().1;
    number.split('?').next().unwrap().parse().unwrap()
}

async fn document(visitor: &Visitor, site: usize) -> (String, Vec<(u64, Read)>) {
    let Answer::Read(reading) = visitor.poll(site).await.answer else { panic!("not read") };
    let Document::Feed { format, notes, .. } = &reading.document else { panic!("{:?}", reading.document) };
    assert!(notes.is_empty(), "{notes:?}");
    let read = |post: &feedwarden::model::NewPost| {
        let content = post.content();
        let url = content.url.clone().unwrap();
        let body = content.body().into_owned();
        let entry =
            Read { id: content.guid.clone(), url, body, published: post.published_at(), updated: content.updated_at };
        (number_of(&entry.url), entry)
    };
    (format!("{format:?}"), reading.entries.iter().map(read).collect())
}

/// Polls sites with these habits each hour, while each publishes an entry at every second request.
async fn histories(habits: &[EntryHabit]) -> Vec<(String, History)> {
    let visitor = Visitor::to(WebSettings {
        sites: SITES,
        habits: vec![Habits::of(habits)],
        publishing: Publishing::EveryRequests(2),
        entries: 20..=20,
        ..WebSettings::default()
    });
    let mut histories = Vec::new();
    for site in 0..SITES {
        let mut history = Vec::new();
        let mut formats = HashSet::new();
        for _ in 0..POLLS {
            let (format, read) = document(&visitor, site).await;
            formats.insert(format);
            history.push(read);
            visitor.clock.advance(HOUR);
        }
        assert_eq!(formats.len(), 1);
        let newest: BTreeMap<u64, &Read> = history.iter().flatten().map(|(number, entry)| (*number, entry)).collect();
        let bodies: Vec<&str> = newest.values().map(|entry| entry.body.as_str()).collect();
        assert_eq!(visitor.web.served_entries_of(site), bodies, "the newest versions were served");
        assert_eq!(newest.len(), 1 + POLLS / 2);
        histories.push((formats.into_iter().next().unwrap(), history));
    }
    histories
}

/// How often an entry differs from its last appearance in this respect.
fn changes<T: PartialEq>(history: &History, of: impl Fn(&Read) -> T) -> usize {
    let mut last = BTreeMap::new();
    let mut changes = 0;
    for (number, entry) in history.iter().flatten() {
        let value = of(entry);
        changes += usize::from(last.get(number).is_some_and(|last| *last != value));
        last.insert(*number, value);
    }
    changes
}

/// Asserts what a habit changes about entries, over all sites: ids, URLs, bodies, dates of publication.
async fn check_changes(habit: EntryHabit, wanted: [bool; 4]) -> Vec<(String, History)> {
    let histories = histories(&[habit]).await;
    let changed = |of: fn(&Read) -> String| histories.iter().any(|(_, history)| changes(history, of) > 0);
    let found = [
        changed(|entry| format!("{:?}", entry.id)),
        changed(|entry| entry.url.clone()),
        changed(|entry| entry.body.clone()),
        changed(|entry| format!("{:?}", entry.published)),
    ];
    assert_eq!(found, wanted, "{habit:?}");
    histories
}

fn numbers(document: &[(u64, Read)]) -> Vec<u64> {
    document.iter().map(|(number, _)| *number).collect()
}

#[tokio::test]
async fn without_habits_nothing_changes_and_the_newest_comes_first() {
    for (_, history) in histories(&[]).await {
        assert_eq!(changes(&history, Read::clone), 0);
        assert!(history.iter().all(|document| numbers(document).is_sorted_by(|one, next| one > next)));
    }
}

#[tokio::test]
async fn equal_bodies_are_equal_and_everything_else_differs() {
    for (_, history) in check_changes(EqualBodies, [false; 4]).await {
        let last = history.last().unwrap();
        assert!(last.iter().all(|(_, entry)| entry.body == "Comments"));
        assert_eq!(last.iter().map(|(_, entry)| &entry.url).collect::<HashSet<_>>().len(), last.len());
    }
}

#[tokio::test]
async fn edits_change_bodies_of_the_newest_or_of_old_entries_and_dates_only_if_they_are_dated() {
    for (habit, is_newest, is_dated) in [
        (EditsNewest, true, false),
        (EditsNewestDated, true, true),
        (EditsOld, false, false),
        (EditsOldDated, false, true),
    ] {
        // RSS has no other date than that of publication.
        for (format, history) in check_changes(habit, [false, false, true, is_dated]).await {
            let is_rss = format.contains("Rss");
            assert_eq!(changes(&history, |entry| entry.published) > 0, is_dated && is_rss, "{habit:?} {format}");
            if !is_rss {
                assert_eq!(changes(&history, |entry| entry.updated) > 0, is_dated, "{habit:?} {format}");
            }
            for (before, after) in history.iter().zip(&history[1..]) {
                let before: BTreeMap<u64, &Read> = before.iter().map(|(number, entry)| (*number, entry)).collect();
                let newest = *before.keys().max().unwrap();
                let edited: Vec<u64> = after
                    .iter()
                    .filter(|(number, entry)| before.get(number).is_some_and(|known| known.body != entry.body))
                    .map(|(number, _)| *number)
                    .collect();
                assert!(
                    edited.len() <= 1 && edited.iter().all(|number| (*number == newest) == is_newest),
                    "{edited:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn late_entries_are_older_than_entries_served_before_and_never_older_than_the_first() {
    for (_, history) in check_changes(LateEntries, [false; 4]).await {
        let mut late = 0;
        for (before, after) in history.iter().zip(&history[1..]) {
            let newest = before.iter().filter_map(|(_, entry)| entry.published).max().unwrap();
            let known: BTreeSet<u64> = numbers(before).into_iter().collect();
            let new = after.iter().filter(|(number, _)| !known.contains(number));
            late += new.filter(|(_, entry)| entry.published < Some(newest)).count();
            assert!(after.iter().all(|(_, entry)| entry.published >= Some(NOW)));
            assert!(after.is_sorted_by(|(_, one), (_, next)| one.published >= next.published), "by date");
        }
        assert!(late >= 2, "{late}");
    }
}

#[tokio::test]
async fn votes_change_the_order_and_nothing_else() {
    for (_, history) in check_changes(VotesOrder, [false; 4]).await {
        let sorted = |document: &Vec<(u64, Read)>| numbers(document).is_sorted_by(|one, next| one > next);
        assert!(history.iter().filter(|document| !sorted(document)).count() > POLLS / 2);
        assert!(history.iter().zip(&history[1..]).all(|(before, after)| before.len() <= after.len()));
    }
}

#[tokio::test]
async fn rotated_ids_leave_urls_and_dates_and_rotated_addresses_leave_dates() {
    check_changes(RotatedIds, [true, false, false, false]).await;
    check_changes(RotatedAddresses, [true, true, false, false]).await;
}

#[tokio::test]
async fn links_change_between_http_and_https_and_are_the_ids_or_there_are_none() {
    for (_, history) in check_changes(HttpsLinks, [true, true, false, false]).await {
        let entries = || history.iter().flatten().map(|(_, entry)| entry);
        for scheme in ["http://", "https://"] {
            assert!(entries().any(|entry| entry.url.starts_with(scheme)), "{scheme}");
        }
        assert!(entries().all(|entry| entry.id.as_ref().is_none_or(|id| *id == entry.url)));
    }
}

#[tokio::test]
async fn tracking_parameters_come_and_go() {
    for (_, history) in check_changes(TrackingParameters, [true, true, false, false]).await {
        let tracked =
            |document: &&Vec<(u64, Read)>| document.iter().all(|(_, entry)| entry.url.contains("?utm_source="));
        let count = history.iter().filter(tracked).count();
        assert!((1..POLLS).contains(&count), "{count} of {POLLS}");
    }
}

#[tokio::test]
async fn comment_counters_change_every_recent_body_at_every_poll() {
    for (_, history) in check_changes(CommentCounters, [false, false, true, false]).await {
        for (before, after) in history.iter().zip(&history[1..]) {
            let newest = before.iter().max_by_key(|(number, _)| *number).unwrap();
            let now = after.iter().find(|(number, _)| *number == newest.0).unwrap();
            assert_ne!(newest.1.body, now.1.body);
            assert!(now.1.body.ends_with(" comments."));
        }
    }
}

#[tokio::test]
async fn undated_entries_and_zero_dates_are_read_without_dates() {
    for habits in [&[Undated][..], &[ZeroDates], &[Undated, EditsOld], &[ZeroDates, EditsNewestDated]] {
        for (_, history) in histories(habits).await {
            assert!(history.iter().flatten().all(|(_, entry)| entry.published.is_none()), "{habits:?}");
        }
    }
}

#[tokio::test]
async fn entries_leave_and_return_and_the_newest_two_stay() {
    for (_, history) in check_changes(LeaveAndReturn, [false; 4]).await {
        let mut gone = BTreeSet::new();
        let (mut left, mut returned) = (0, 0);
        for (before, after) in history.iter().zip(&history[1..]) {
            let (before, after): (BTreeSet<u64>, BTreeSet<u64>) =
                (numbers(before).into_iter().collect(), numbers(after).into_iter().collect());
            left += before.difference(&after).count();
            returned += after.intersection(&gone).count();
            gone.extend(before.difference(&after));
            gone.retain(|number| !after.contains(number));
            assert!(after.len() >= before.len().min(2));
        }
        assert!(left > 0 && returned > 0, "{left} left, {returned} returned");
    }
}

#[tokio::test]
async fn truncated_and_full_documents_alternate() {
    for (_, history) in check_changes(TruncatedDocuments, [false; 4]).await {
        let lengths: Vec<usize> = history.iter().map(Vec::len).collect();
        assert!(lengths.iter().skip(1).step_by(2).all(|length| *length == 2), "{lengths:?}");
        assert!(lengths.iter().step_by(2).is_sorted() && lengths[POLLS - 2] == POLLS / 2, "{lengths:?}");
    }
}

#[tokio::test]
async fn duplicate_ids_are_shared_by_two_entries() {
    for (_, history) in check_changes(DuplicateIds, [false; 4]).await {
        let last = history.last().unwrap();
        let ids: HashSet<_> = last.iter().map(|(_, entry)| entry.id.clone().unwrap()).collect();
        assert_eq!(ids.len(), last.len().div_ceil(2));
    }
}

#[tokio::test]
async fn a_calm_site_shows_everything_and_changes_nothing() {
    let habits = [LeaveAndReturn, TruncatedDocuments, CommentCounters, EditsNewest, HttpsLinks];
    let visitor = Visitor::to(WebSettings {
        habits: vec![Habits::of(&habits)],
        publishing: Publishing::EveryRequests(2),
        ..WebSettings::default()
    });
    for _ in 0..9 {
        document(&visitor, 0).await;
    }
    visitor.web.calm(0);
    let (_, calm) = document(&visitor, 0).await;
    assert_eq!(numbers(&calm), [4, 3, 2, 1, 0], "nor does it publish by itself");
    for _ in 0..3 {
        assert_eq!(document(&visitor, 0).await.1, calm);
    }
}

#[tokio::test]
async fn habits_act_at_a_share_of_requests_and_the_same_seed_repeats_them() {
    let story = async |habit_chance, seed| {
        let habits = vec![Habits::of(&[EditsNewest])];
        let visitor = Visitor::to(WebSettings { seed, habits, habit_chance, ..WebSettings::default() });
        let mut bodies = Vec::new();
        for _ in 0..40 {
            bodies.push(document(&visitor, 0).await.1[0].1.body.clone());
        }
        bodies.iter().zip(&bodies[1..]).map(|(one, next)| one != next).collect::<Vec<bool>>()
    };
    let some = story(0.5, 1).await;
    let count = some.iter().filter(|is_changed| **is_changed).count();
    assert!((8..32).contains(&count), "{count}");
    assert_eq!(some, story(0.5, 1).await);
    assert_ne!(some, story(0.5, 2).await);
    assert!(story(1.0, 1).await.into_iter().all(|is_changed| is_changed));
    assert!(!story(0.0, 1).await.into_iter().any(|is_changed| is_changed));
}
