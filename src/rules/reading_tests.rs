//! What becomes of entries: the table of identities, dates, gaps, bounds; and laws over whole histories.

use std::collections::{BTreeMap, HashMap, HashSet};

use proptest::prelude::*;

use super::*;
use crate::model::{Backlog, NewSource, PostContent, PostId, SourceId, SourceSettings, SourceType, TextOrigin};
use crate::rules::success::{ReadAnswer, SourceAnswer, after_success};
use crate::rules::{identity, watermark};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn minutes_from_now(minutes: i64) -> Timestamp {
    Timestamp::from_seconds(1_800_000_000 + minutes * 60)
}

/// An entry as a publisher has it.
#[derive(Clone, Debug, Default)]
struct Item {
    id: Option<String>,
    url: Option<String>,
    body: String,
    published: Option<Timestamp>,
}

impl Item {
    fn new(number: u32, body: &str) -> Item {
        Item {
            id: Some(format!("id {number}")),
            url: Some(format!("http://a.example/{number}")),
            body: body.into(),
            published: Some(minutes_from_now(i64::from(number))),
        }
    }
}

/// The rules with a store in memory, as the pipeline uses them.
struct Reader {
    source: Source,
    policy: Policy,
    kind: Watermark,
    posts: Vec<StoredPost>,
    removed: Vec<StoredPost>,
    document: Option<DocumentKeys>,
    next_id: i64,
}

#[derive(Clone, Debug)]
struct StoredPost {
    id: PostId,
    key: Option<EntryKey>,
    post: NewPost,
    revision: u32,
    changed_at: Option<Timestamp>,
}

impl Reader {
    fn new() -> Reader {
        let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
        Reader {
            source: Source::fresh(SourceId(1), NewSource { settings, created_at: NOW - hours(1) }),
            policy: Policy::default(),
            kind: Watermark::Published,
            posts: Vec::new(),
            removed: Vec::new(),
            document: None,
            next_id: 0,
        }
    }

    fn read(&mut self, items: &[Item], now: Timestamp) -> ReadingDecision {
        let mut posts: Vec<NewPost> = items.iter().map(as_post).collect();
        if self.kind != Watermark::None {
            let keys = identity::keys(&posts);
            posts = posts.into_iter().zip(keys).map(|(post, key)| post.with_key(key)).collect();
        }
        let known = self.known(&posts);
        let decision = decide(&self.source, self.kind, &posts, &known, &self.policy, now);
        self.apply(&decision, &posts, now);
        decision
    }

    fn known(&self, posts: &[NewPost]) -> KnownEntries {
        let keys: HashSet<EntryKey> = posts.iter().map(NewPost::key).collect();
        let as_known = |stored: &StoredPost, is_removed: bool| KnownPost {
            id: (!is_removed).then_some(stored.id),
            key: stored.key,
            content_hash: stored.post.content_hash(),
            url: stored.post.content().url.clone().filter(|_| !is_removed),
            published_at: stored.post.published_at().filter(|_| !is_removed),
            revision: stored.revision,
            changed_at: stored.changed_at,
        };
        let all: Vec<KnownPost> = self
            .posts
            .iter()
            .rev()
            .map(|stored| as_known(stored, false))
            .chain(self.removed.iter().map(|stored| as_known(stored, true)))
            .collect();
        let is_by_key = |post: &KnownPost| post.key.is_some_and(|key| keys.contains(&key));
        let by_key: Vec<KnownPost> = all.iter().filter(|post| is_by_key(post)).cloned().collect();
        let met: HashSet<EntryKey> = by_key.iter().filter_map(|post| post.key).collect();
        let unknown: HashSet<ContentHash> =
            posts.iter().filter(|post| !met.contains(&post.key())).map(NewPost::content_hash).collect();
        let is_other =
            |post: &KnownPost| unknown.contains(&post.content_hash) || post.key.is_none() && !unknown.is_empty();
        let others = all.iter().filter(|post| is_other(post)).cloned().collect();
        KnownEntries { document: self.document.clone(), by_key, others }
    }

    fn apply(&mut self, decision: &ReadingDecision, posts: &[NewPost], now: Timestamp) {
        for renamed in &decision.renamed {
            let list = if renamed.id.is_some() { &mut self.posts } else { &mut self.removed };
            let is_meant = |stored: &&mut StoredPost| match renamed.id {
                Some(id) => stored.id == id,
                None => stored.key == renamed.old_key && stored.post.content_hash() == renamed.content_hash,
            };
            list.iter_mut().find(is_meant).expect("a known post is renamed").key = renamed.key;
        }
        for edit in &decision.edits {
            let stored = self.posts.iter_mut().find(|stored| stored.id == edit.id).expect("a stored post is edited");
            stored.post = edit.post.clone();
            stored.revision += 1;
            stored.changed_at = Some(now);
        }
        for post in &decision.posts {
            assert!(self.posts.iter().all(|stored| stored.key != Some(post.key())), "a key is stored once");
            self.next_id += 1;
            self.posts.push(StoredPost {
                id: PostId(self.next_id),
                key: Some(post.key()),
                post: post.clone(),
                revision: post.revision(),
                changed_at: None,
            });
        }
        if let Some(document) = &decision.document {
            self.document = Some(document.clone());
        }
        let published = posts.iter().filter_map(NewPost::published_at);
        let last_seen = watermark::after_reading(self.kind, self.source.state.last_seen, published, None, now);
        let answer = ReadAnswer {
            last_seen,
            bodies_repeat: decision.bodies_repeat,
            is_gap: decision.is_gap,
            ..ReadAnswer::default()
        };
        self.source.state = after_success(&self.source.state, SourceAnswer::Read(answer), now);
    }

    fn bodies(&self) -> Vec<String> {
        self.posts.iter().map(|stored| stored.post.content().text.clone()).collect()
    }

    /// Removes a post, as the clean-up does.
    fn clean(&mut self, body: &str) {
        let place = self.posts.iter().position(|stored| stored.post.content().text == body).expect("a post");
        self.removed.push(self.posts.remove(place));
    }

    /// Forgets the keys of all posts and the last document, as after an upgrade.
    fn forget_keys(&mut self) {
        self.posts.iter_mut().for_each(|stored| stored.key = None);
        self.document = None;
    }
}

fn as_post(item: &Item) -> NewPost {
    let content = PostContent {
        guid: item.id.clone(),
        url: item.url.clone(),
        title: "Title".into(),
        text: item.body.clone(),
        ..PostContent::default()
    };
    NewPost::new(content, item.published)
}

/// Reads these documents, half an hour apart from ten hours on, and expects these bodies in the end.
fn check(documents: &[Vec<Item>], bodies: &[&str]) -> Reader {
    let mut reader = Reader::new();
    for (place, document) in documents.iter().enumerate() {
        reader.read(document, minutes_from_now(600 + 30 * place as i64));
    }
    assert_eq!(reader.bodies(), bodies);
    reader
}

#[test]
fn s603_known_entries_are_not_stored_again() {
    let document = vec![Item::new(2, "two"), Item::new(1, "one")];
    check(&[document.clone(), document], &["one", "two"]);
}

#[test]
fn s609_an_entry_whose_text_changed_updates_its_post_whatever_its_date_says() {
    let before = vec![Item::new(2, "two"), Item::new(1, "one")];
    for (number, published) in [(1, 1), (1, 9), (2, 2), (2, 9)] {
        let mut after = before.clone();
        let edited = after.iter_mut().find(|item| item.id == Some(format!("id {number}"))).unwrap();
        edited.body = "edited".into();
        edited.published = Some(minutes_from_now(published));
        let expected = if number == 1 { ["edited", "two"] } else { ["one", "edited"] };
        let reader = check(&[before.clone(), after.clone(), after], &expected);
        assert_eq!(reader.posts.iter().map(|stored| stored.revision).sum::<u32>(), 1);
    }
}

#[test]
fn s609_an_edit_is_kept_out_or_becomes_another_post_as_configured() {
    for (on_edit, expected, edits) in [(OnEdit::Keep, vec!["one"], 1), (OnEdit::New, vec!["one", "edited"], 0)] {
        let mut reader = Reader::new();
        reader.policy.posts.on_edit = on_edit;
        reader.read(&[Item::new(1, "one")], minutes_from_now(600));
        let counts = reader.read(&[Item::new(1, "edited")], minutes_from_now(630)).counts;
        assert_eq!(
            (reader.bodies(), counts.edits_ignored),
            (expected.iter().map(ToString::to_string).collect(), edits)
        );
        let again = reader.read(&[Item::new(1, "edited")], minutes_from_now(660)).counts;
        assert_eq!((again.new, again.updated), (0, 0));
    }
}

#[test]
fn s610_an_entry_that_appears_late_is_stored() {
    let newer = vec![Item::new(5, "five"), Item::new(1, "one")];
    let with_late = vec![Item::new(5, "five"), Item::new(3, "three"), Item::new(1, "one")];
    let mut reader = check(&[newer, with_late.clone()], &["one", "five", "three"]);
    assert_eq!(reader.read(&with_late, minutes_from_now(700)).counts.known, 3);
}

#[test]
fn s610_an_entry_older_than_the_source_does_not_appear_late() {
    let mut old = Item::new(3, "old");
    old.published = Some(NOW - hours(2));
    check(&[vec![Item::new(5, "five")], vec![Item::new(5, "five"), old]], &["five"]);
}

#[test]
fn s611_entries_of_one_document_with_one_body_are_all_stored_then_and_later() {
    let comments = |numbers: &[u32]| numbers.iter().map(|number| Item::new(*number, "Comments")).collect::<Vec<_>>();
    let reader = check(&[comments(&[3, 2, 1]), comments(&[4, 3, 2]), comments(&[5, 4, 3])], &["Comments"; 5]);
    assert!(reader.source.state.bodies_repeat);
}

#[test]
fn s612_the_same_entry_under_another_id_is_not_stored_again() {
    let original = Item::new(1, "one");
    let rotated = Item { id: Some("other".into()), ..original.clone() };
    let https = Item {
        id: Some("https://a.example/1".into()),
        url: Some("https://www.a.example/1/".into()),
        ..original.clone()
    };
    let tracked =
        Item { id: Some("t".into()), url: Some("http://a.example/1?utm_source=rss".into()), ..original.clone() };
    for variant in [rotated, https, tracked] {
        let reader = check(&[vec![original.clone()], vec![variant.clone()], vec![variant.clone()]], &["one"]);
        // The post has the new key: an edit under the new id is an edit.
        let mut reader = reader;
        reader.read(&[Item { body: "edited".into(), ..variant }], minutes_from_now(900));
        assert_eq!(reader.bodies(), ["edited"]);
    }
}

#[test]
fn s612_where_bodies_repeat_a_rotated_id_is_known_by_url_or_date() {
    let first = [Item::new(2, "Comments"), Item::new(1, "Comments")];
    let rotated = first.clone().map(|item| Item { id: item.id.map(|id| id + " rotated"), ..item });
    check(&[first.to_vec(), rotated.to_vec()], &["Comments"; 2]);
}

#[test]
fn s611_where_bodies_repeat_two_entries_of_one_day_are_two_although_the_first_left_the_document() {
    let day = Some(minutes_from_now(0));
    let comments = |numbers: &[u32]| -> Vec<Item> {
        numbers.iter().map(|number| Item { published: day, ..Item::new(*number, "Comments") }).collect()
    };
    check(&[comments(&[2, 1]), comments(&[3, 2]), comments(&[4, 3])], &["Comments"; 4]);
}

#[test]
fn s612_under_another_id_an_entry_is_known_by_its_url_before_its_date() {
    let first = [3, 2, 1].map(|number| Item { published: Some(minutes_from_now(0)), ..Item::new(number, "Comments") });
    let rotated = first.clone().map(|item| Item { id: item.id.map(|id| id + " rotated"), ..item });
    let mut reader = check(&[first.to_vec(), rotated.to_vec()], &["Comments"; 3]);
    let edited = rotated.map(|item| Item { body: item.url.clone().unwrap_or_default(), ..item });
    reader.read(&edited, minutes_from_now(900));
    for stored in &reader.posts {
        assert_eq!(stored.post.content().url.as_deref(), Some(stored.post.content().text.as_str()));
    }
    assert_eq!(reader.bodies(), [1, 2, 3].map(|number| format!("http://a.example/{number}")), "each in its place");
}

#[test]
fn s612_an_id_that_moves_to_https_while_its_entry_is_edited_is_the_same() {
    let permalink = |scheme: &str, body: &str| {
        let url = format!("{scheme}://a.example/1");
        vec![Item { id: Some(url.clone()), url: Some(url), ..Item::new(1, body) }]
    };
    check(&[permalink("http", "one"), permalink("https", "edited")], &["edited"]);
}

#[test]
fn s611_where_bodies_repeat_fragments_of_one_page_are_different_entries() {
    let change =
        |number: u32| Item { url: Some(format!("http://a.example/changes#v{number}")), ..Item::new(number, "Fixes") };
    check(&[vec![change(2), change(1)], vec![change(3), change(2)], vec![change(4), change(3)]], &["Fixes"; 4]);
}

#[test]
fn s801_the_same_body_in_two_polls_is_stored_once() {
    let again = Item { id: Some("b".into()), url: Some("http://a.example/b".into()), ..Item::new(9, "same") };
    check(&[vec![Item::new(1, "same")], vec![again.clone()], vec![again]], &["same"]);
}

#[test]
fn s904_an_entry_whose_post_was_removed_is_not_stored_again_edited_or_not() {
    let mut reader = check(&[vec![Item::new(1, "one")]], &["one"]);
    reader.clean("one");
    for body in ["one", "edited"] {
        let decision = reader.read(&[Item::new(1, body)], minutes_from_now(700));
        assert_eq!(decision.entries, [EntryDecision::Known(Known::Removed)]);
    }
    let renamed = Item { id: Some("other".into()), ..Item::new(1, "one") };
    assert_eq!(reader.read(&[renamed], minutes_from_now(730)).entries, [EntryDecision::Known(Known::Renamed)]);
    assert!(reader.posts.is_empty());
}

#[test]
fn s806_what_the_first_reading_skipped_stays_out() {
    let mut old = Item::new(1, "old");
    old.published = Some(NOW - hours(5));
    let mut reader = Reader::new();
    let first = reader.read(&[old.clone()], minutes_from_now(10));
    assert_eq!(first.counts.to_string(), "1 entry: 0 new, 1 skipped (older than the source; --backlog keeps them)");
    let second = reader.read(&[Item::new(20, "new"), old], minutes_from_now(30));
    assert_eq!(second.counts.to_string(), "2 entries: 1 new, 1 skipped (seen before)");
    assert_eq!(reader.bodies(), ["new"]);
}

#[test]
fn a_backlog_that_is_wanted_is_stored_from_the_oldest_to_the_newest() {
    let old = |age| Item { published: Some(NOW - hours(age)), ..Item::new(age, &format!("{age} hours old")) };
    let mut reader = Reader::new();
    reader.source.settings.backlog = Some(Backlog::Keep);
    reader.read(&[old(2), old(30), old(5), old(24 * 9)], minutes_from_now(1));
    assert_eq!(reader.bodies(), ["30 hours old", "5 hours old", "2 hours old"]);
    let mut reader = Reader::new();
    reader.source.settings.backlog = Some(Backlog::All);
    let posts = reader.read(&[old(2), old(24 * 900)], minutes_from_now(1)).posts;
    assert_eq!(reader.bodies(), ["21600 hours old", "2 hours old"]);
    assert!(posts.iter().all(NewPost::is_backfill), "their age counts from when they were stored");
}

#[test]
fn posts_are_numbered_from_the_oldest_to_the_newest_whatever_the_order_of_the_document() {
    let items: Vec<Item> = (1..=4).map(|number| Item::new(number, &number.to_string())).collect();
    let newest_first: Vec<Item> = items.iter().rev().cloned().collect();
    let by_votes = vec![items[2].clone(), items[0].clone(), items[3].clone(), items[1].clone()];
    for document in [items.clone(), newest_first, by_votes] {
        check(&[document], &["1", "2", "3", "4"]);
    }
    let undated = |number: u32| Item { published: None, ..Item::new(number, &number.to_string()) };
    check(&[vec![undated(3), undated(2), undated(1)]], &["1", "2", "3"]);
}

#[test]
fn a_gap_is_a_reading_in_which_nothing_is_known() {
    let mut reader = check(&[vec![Item::new(2, "two"), Item::new(1, "one")]], &["one", "two"]);
    assert!(!reader.read(&[Item::new(3, "three"), Item::new(2, "two")], minutes_from_now(700)).is_gap);
    assert!(reader.read(&[Item::new(9, "nine"), Item::new(8, "eight")], minutes_from_now(730)).is_gap);
    assert!(!reader.read(&[], minutes_from_now(760)).is_gap);
    assert!(!reader.read(&[Item::new(10, "ten")], minutes_from_now(790)).is_gap, "the last document was empty");
    assert_eq!(reader.source.state.gaps, 1);
}

#[test]
fn posts_of_an_earlier_version_get_their_keys_by_url_or_content_and_are_neither_doubled_nor_lost() {
    let mut reader =
        check(&[vec![Item::new(3, "three"), Item::new(2, "two"), Item::new(1, "one")]], &["one", "two", "three"]);
    reader.forget_keys();
    let edited = Item::new(3, "three, edited");
    let moved = Item { url: Some("http://a.example/moved".into()), ..Item::new(2, "two") };
    let document = [Item::new(4, "four"), edited, moved, Item::new(1, "one")];
    reader.read(&document, minutes_from_now(700));
    assert_eq!(reader.bodies(), ["one", "two", "three, edited", "four"]);
    assert!(reader.posts.iter().all(|stored| stored.key.is_some()));
    assert_eq!(reader.read(&document, minutes_from_now(730)).counts.known, 4);
}

#[test]
fn a_page_is_identified_by_its_content_alone() {
    let mut reader = Reader::new();
    reader.kind = Watermark::None;
    let page = |body: &str| [Item { id: None, published: None, ..Item::new(1, body) }];
    for body in ["one", "two", "one"] {
        reader.read(&page(body), minutes_from_now(1));
    }
    assert_eq!(reader.bodies(), ["one", "two"]);
    reader.forget_keys();
    reader.read(&page("three"), minutes_from_now(2));
    reader.read(&page("two"), minutes_from_now(3));
    assert_eq!(reader.bodies(), ["one", "two", "three"], "a changed page is a new post, also after an upgrade");
}

#[test]
fn a_text_with_a_counter_is_not_written_for_ever() {
    let mut reader = Reader::new();
    let mut updates = 0;
    for poll in 0..2000 {
        let item = Item { published: Some(NOW), ..Item::new(1, &format!("{poll} comments")) };
        updates += reader.read(&[item], minutes_from_now(60 * poll)).counts.updated;
    }
    // Eight at once, then one a day: 2,000 hours are 83 days.
    assert!((80..=REVISIONS_MAX.into()).contains(&updates), "{updates}");
    for poll in 2000..6000 {
        let item = Item { published: Some(NOW), ..Item::new(1, &format!("{poll} comments")) };
        updates += reader.read(&[item], minutes_from_now(60 * poll)).counts.updated;
    }
    assert_eq!(updates, u64::from(REVISIONS_MAX));
    assert_eq!(reader.posts.len(), 1);
}

#[test]
fn a_post_over_the_limit_loses_its_html_and_is_cut_with_a_mark() {
    let policy = PostPolicy { bytes_max: 100, ..PostPolicy::default() };
    let content = PostContent {
        text: "ä".repeat(80),
        html: Some("<p>".into()),
        text_origin: TextOrigin::Feed,
        ..PostContent::default()
    };
    let post = NewPost::new(content, None);
    let cut = bounded(&post, &policy);
    assert_eq!(cut.content().html, None);
    assert!(cut.content().text.len() <= 100 && cut.content().text.ends_with("ä […]"), "{:?}", cut.content().text);
    assert_eq!(cut.content_hash(), post.content_hash(), "the entry is recognised by the next poll");
    let without_html = PostPolicy { keeps_html: false, ..PostPolicy::default() };
    assert_eq!(bounded(&post, &without_html).content().html, None);
    assert_eq!(bounded(&post, &PostPolicy::default()), post);
}

#[test]
fn the_sentence_counts_every_entry() {
    let counts = EntryCounts {
        seen: 9,
        new: 2,
        late: 1,
        updated: 1,
        known: 3,
        before_source: 1,
        too_old: 1,
        seen_before: 1,
        blank: 2,
        edits_ignored: 1,
    };
    assert_eq!(
        counts.to_string(),
        "11 entries: 2 new (1 late), 1 updated, 3 known (1 with an ignored change), 5 skipped (1 older than the source; \
         --backlog keeps them; 1 older than source.max-article-age-days; --backlog=all keeps them; 1 seen before; 2 blank)"
    );
    assert_eq!(EntryCounts::default().to_string(), "0 entries: 0 new");
}

/// What a publisher does between two polls.
#[derive(Clone, Debug)]
enum Step {
    Publish { late: bool, shared_body: bool },
    Edit { which: usize, bumps_date: bool },
    RotateId { which: usize },
    UseHttps { which: usize },
    Poll,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (any::<bool>(), any::<bool>()).prop_map(|(late, shared_body)| Step::Publish { late, shared_body }),
        2 => (0usize..30, any::<bool>()).prop_map(|(which, bumps_date)| Step::Edit { which, bumps_date }),
        1 => (0usize..30).prop_map(|which| Step::RotateId { which }),
        1 => (0usize..30).prop_map(|which| Step::UseHttps { which }),
        4 => Just(Step::Poll),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any order of entries, any split of a history into polls, any mixture of edits, rotated ids and equal bodies: each
    /// entry is stored exactly once, in its newest version.
    #[test]
    fn every_entry_is_stored_exactly_once_in_its_newest_version(steps in steps(), order in any::<u64>()) {
        let mut reader = Reader::new();
        // What the publisher has, by number of the entry; and what happened to an entry since the last poll.
        let mut items: BTreeMap<u32, Item> = BTreeMap::new();
        let mut touched: HashMap<u32, bool> = HashMap::new();
        let mut minute = 0;
        for step in steps.iter().chain([&Step::Poll]) {
            minute += 1;
            let pick = |which: usize, items: &BTreeMap<u32, Item>| items.keys().nth(which % items.len().max(1)).copied();
            match step {
                Step::Publish { late, shared_body } => {
                    let number = items.len() as u32 + 1;
                    let body = if *shared_body { "Comments".to_owned() } else { format!("body {number}") };
                    let age = if *late { 50 } else { 0 };
                    let published = Some(minutes_from_now(minute - age + 50));
                    items.insert(number, Item { published, ..Item::new(number, &body) });
                    touched.insert(number, true);
                }
                // An entry that changed its id and its text between two polls is another one, and so is one whose text
                // is that of others by the time it has another id.
                Step::Edit { which, bumps_date } => if let Some(number) = pick(*which, &items) && !touched.contains_key(&number) {
                    let item = items.get_mut(&number).unwrap();
                    item.body = format!("edit {minute} of {number}");
                    if *bumps_date {
                        item.published = Some(minutes_from_now(minute + 50));
                    }
                    touched.insert(number, true);
                },
                Step::RotateId { which } => if let Some(number) = pick(*which, &items) && !touched.contains_key(&number) {
                    items.get_mut(&number).unwrap().id = Some(format!("rotated {minute} {number}"));
                    touched.insert(number, true);
                },
                Step::UseHttps { which } => if let Some(number) = pick(*which, &items) && !touched.contains_key(&number) {
                    let item = items.get_mut(&number).unwrap();
                    item.url = item.url.as_ref().map(|url| url.replace("http://", "https://"));
                    touched.insert(number, true);
                },
                Step::Poll => {
                    let mut document: Vec<Item> = items.values().cloned().collect();
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
