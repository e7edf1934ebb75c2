//! What becomes of entries: the table of identities, dates and gaps.

mod bounds;
mod laws;
mod reader;

use reader::{NOW, PlayedEntry, ReadSource, minutes_from_now};

use super::*;
use crate::model::Backlog;

/// Reads these documents, half an hour apart from ten hours on, and expects these bodies in the end.
fn check(documents: &[Vec<PlayedEntry>], bodies: &[&str]) -> ReadSource {
    let mut reader = ReadSource::new();
    for (place, document) in documents.iter().enumerate() {
        reader.read(document, minutes_from_now(600 + 30 * place as i64));
    }
    assert_eq!(reader.bodies(), bodies);
    reader
}

#[test]
fn s603_known_entries_are_not_stored_again() {
    let document = vec![PlayedEntry::new(2, "two"), PlayedEntry::new(1, "one")];
    check(&[document.clone(), document], &["one", "two"]);
}

#[test]
fn s609_an_entry_whose_text_changed_updates_its_post_whatever_its_date_says() {
    let before = vec![PlayedEntry::new(2, "two"), PlayedEntry::new(1, "one")];
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
        let mut reader = ReadSource::new();
        reader.policy.posts.on_edit = on_edit;
        reader.read(&[PlayedEntry::new(1, "one")], minutes_from_now(600));
        let counts = reader.read(&[PlayedEntry::new(1, "edited")], minutes_from_now(630)).counts;
        assert_eq!(
            (reader.bodies(), counts.edits_ignored),
            (expected.iter().map(ToString::to_string).collect(), edits)
        );
        let again = reader.read(&[PlayedEntry::new(1, "edited")], minutes_from_now(660)).counts;
        assert_eq!((again.new, again.updated), (0, 0));
    }
}

#[test]
fn s610_an_entry_that_appears_late_is_stored() {
    let newer = vec![PlayedEntry::new(5, "five"), PlayedEntry::new(1, "one")];
    let with_late = vec![PlayedEntry::new(5, "five"), PlayedEntry::new(3, "three"), PlayedEntry::new(1, "one")];
    let mut reader = check(&[newer, with_late.clone()], &["one", "five", "three"]);
    assert_eq!(reader.read(&with_late, minutes_from_now(700)).counts.known, 3);
}

#[test]
fn s610_an_entry_older_than_the_source_does_not_appear_late() {
    let mut old = PlayedEntry::new(3, "old");
    old.published = Some(NOW - hours(2));
    check(&[vec![PlayedEntry::new(5, "five")], vec![PlayedEntry::new(5, "five"), old]], &["five"]);
}

#[test]
fn s611_entries_of_one_document_with_one_body_are_all_stored_then_and_later() {
    let comments =
        |numbers: &[u32]| numbers.iter().map(|number| PlayedEntry::new(*number, "Comments")).collect::<Vec<_>>();
    let reader = check(&[comments(&[3, 2, 1]), comments(&[4, 3, 2]), comments(&[5, 4, 3])], &["Comments"; 5]);
    assert!(reader.source.state.bodies_repeat);
}

#[test]
fn s612_the_same_entry_under_another_id_is_not_stored_again() {
    let original = PlayedEntry::new(1, "one");
    let rotated = PlayedEntry { id: Some("other".into()), ..original.clone() };
    let https = PlayedEntry {
        id: Some("https://a.example/1".into()),
        url: Some("https://www.a.example/1/".into()),
        ..original.clone()
    };
    let tracked =
        PlayedEntry { id: Some("t".into()), url: Some("http://a.example/1?utm_source=rss".into()), ..original.clone() };
    for variant in [rotated, https, tracked] {
        let reader = check(&[vec![original.clone()], vec![variant.clone()], vec![variant.clone()]], &["one"]);
        // The post has the new key: an edit under the new id is an edit.
        let mut reader = reader;
        reader.read(&[PlayedEntry { body: "edited".into(), ..variant }], minutes_from_now(900));
        assert_eq!(reader.bodies(), ["edited"]);
    }
}

#[test]
fn s612_an_entry_whose_id_and_text_changed_is_known_by_its_url_and_date() {
    let original = PlayedEntry::new(1, "one");
    let edited = PlayedEntry { id: Some("other".into()), body: "edited".into(), ..original.clone() };
    let reader = check(&[vec![original.clone()], vec![edited.clone()], vec![edited.clone()]], &["edited"]);
    assert_eq!(reader.posts[0].revision, 1);
    // Feeds that show one entry at a time, with the address of the site: the next entry has another date.
    let next = PlayedEntry { published: Some(minutes_from_now(9)), ..edited.clone() };
    check(&[vec![original.clone()], vec![next]], &["one", "edited"]);
    // Two entries at one address, which are told apart by their ids alone.
    let twin = PlayedEntry { id: Some("twin".into()), body: "twin".into(), ..edited.clone() };
    check(&[vec![original.clone()], vec![edited.clone(), twin]], &["one", "twin", "edited"]);
    // While its entry is still there, a post belongs to it.
    check(&[vec![original.clone()], vec![edited, original]], &["one", "edited"]);
}

#[test]
fn an_id_that_is_given_to_a_later_entry_makes_a_new_post() {
    let first = PlayedEntry { id: Some("same".into()), title: "Spring".into(), ..PlayedEntry::new(1, "one") };
    let second = PlayedEntry { id: Some("same".into()), title: "Summer".into(), ..PlayedEntry::new(2, "two") };
    check(&[vec![first.clone()], vec![second.clone()], vec![second.clone()]], &["one", "two"]);
    // An edit leaves at least one of address, title and date as it was.
    for edited in [
        PlayedEntry { url: first.url.clone(), ..second.clone() },
        PlayedEntry { title: first.title.clone(), ..second.clone() },
        PlayedEntry { published: first.published, ..second },
    ] {
        check(&[vec![first.clone()], vec![edited]], &["two"]);
    }
}

#[test]
fn s612_where_bodies_repeat_a_rotated_id_is_known_by_url_or_date() {
    let first = [PlayedEntry::new(2, "Comments"), PlayedEntry::new(1, "Comments")];
    let rotated = first.clone().map(|item| PlayedEntry { id: item.id.map(|id| id + " rotated"), ..item });
    check(&[first.to_vec(), rotated.to_vec()], &["Comments"; 2]);
}

#[test]
fn s611_where_bodies_repeat_two_entries_of_one_day_are_two_although_the_first_left_the_document() {
    let day = Some(minutes_from_now(0));
    let comments = |numbers: &[u32]| -> Vec<PlayedEntry> {
        numbers.iter().map(|number| PlayedEntry { published: day, ..PlayedEntry::new(*number, "Comments") }).collect()
    };
    check(&[comments(&[2, 1]), comments(&[3, 2]), comments(&[4, 3])], &["Comments"; 4]);
}

#[test]
fn s612_under_another_id_an_entry_is_known_by_its_url_before_its_date() {
    let first = [3, 2, 1]
        .map(|number| PlayedEntry { published: Some(minutes_from_now(0)), ..PlayedEntry::new(number, "Comments") });
    let rotated = first.clone().map(|item| PlayedEntry { id: item.id.map(|id| id + " rotated"), ..item });
    let mut reader = check(&[first.to_vec(), rotated.to_vec()], &["Comments"; 3]);
    let edited = rotated.map(|item| PlayedEntry { body: item.url.clone().unwrap_or_default(), ..item });
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
        vec![PlayedEntry { id: Some(url.clone()), url: Some(url), ..PlayedEntry::new(1, body) }]
    };
    check(&[permalink("http", "one"), permalink("https", "edited")], &["edited"]);
}

#[test]
fn s611_where_bodies_repeat_fragments_of_one_page_are_different_entries() {
    let change = |number: u32| PlayedEntry {
        url: Some(format!("http://a.example/changes#v{number}")),
        ..PlayedEntry::new(number, "Fixes")
    };
    check(&[vec![change(2), change(1)], vec![change(3), change(2)], vec![change(4), change(3)]], &["Fixes"; 4]);
}

#[test]
fn s801_the_same_body_in_two_polls_is_stored_once() {
    let again =
        PlayedEntry { id: Some("b".into()), url: Some("http://a.example/b".into()), ..PlayedEntry::new(9, "same") };
    check(&[vec![PlayedEntry::new(1, "same")], vec![again.clone()], vec![again]], &["same"]);
}

#[test]
fn s904_an_entry_whose_post_was_removed_is_not_stored_again_edited_or_not() {
    let mut reader = check(&[vec![PlayedEntry::new(1, "one")]], &["one"]);
    reader.clean("one");
    for body in ["one", "edited"] {
        let decision = reader.read(&[PlayedEntry::new(1, body)], minutes_from_now(700));
        assert_eq!(decision.entries, [EntryDecision::Known(Known::Removed)]);
    }
    let renamed = PlayedEntry { id: Some("other".into()), ..PlayedEntry::new(1, "one") };
    assert_eq!(reader.read(&[renamed], minutes_from_now(730)).entries, [EntryDecision::Known(Known::Renamed)]);
    assert!(reader.posts.is_empty());
}

#[test]
fn s806_what_the_first_reading_skipped_stays_out() {
    let mut old = PlayedEntry::new(1, "old");
    old.published = Some(NOW - hours(5));
    let mut reader = ReadSource::new();
    let first = reader.read(&[old.clone()], minutes_from_now(10));
    assert_eq!(first.counts.to_string(), "1 entry: 0 new, 1 skipped (older than the source; --backlog keeps them)");
    let second = reader.read(&[PlayedEntry::new(20, "new"), old], minutes_from_now(30));
    assert_eq!(second.counts.to_string(), "2 entries: 1 new, 1 skipped (seen before)");
    assert_eq!(reader.bodies(), ["new"]);
}

#[test]
fn a_backlog_that_is_wanted_is_stored_from_the_oldest_to_the_newest() {
    let old =
        |age| PlayedEntry { published: Some(NOW - hours(age)), ..PlayedEntry::new(age, &format!("{age} hours old")) };
    let mut reader = ReadSource::new();
    reader.source.settings.backlog = Some(Backlog::Keep);
    reader.read(&[old(2), old(30), old(5), old(24 * 9)], minutes_from_now(1));
    assert_eq!(reader.bodies(), ["30 hours old", "5 hours old", "2 hours old"]);
    let mut reader = ReadSource::new();
    reader.source.settings.backlog = Some(Backlog::All);
    let posts = reader.read(&[old(2), old(24 * 900)], minutes_from_now(1)).posts;
    assert_eq!(reader.bodies(), ["21600 hours old", "2 hours old"]);
    assert!(posts.iter().all(NewPost::is_backfill), "their age counts from when they were stored");
}

#[test]
fn posts_are_numbered_from_the_oldest_to_the_newest_whatever_the_order_of_the_document() {
    let items: Vec<PlayedEntry> = (1..=4).map(|number| PlayedEntry::new(number, &number.to_string())).collect();
    let newest_first: Vec<PlayedEntry> = items.iter().rev().cloned().collect();
    let by_votes = vec![items[2].clone(), items[0].clone(), items[3].clone(), items[1].clone()];
    for document in [items.clone(), newest_first, by_votes] {
        check(&[document], &["1", "2", "3", "4"]);
    }
    let undated = |number: u32| PlayedEntry { published: None, ..PlayedEntry::new(number, &number.to_string()) };
    check(&[vec![undated(3), undated(2), undated(1)]], &["1", "2", "3"]);
}

#[test]
fn a_gap_is_a_reading_in_which_nothing_is_known() {
    let mut reader = check(&[vec![PlayedEntry::new(2, "two"), PlayedEntry::new(1, "one")]], &["one", "two"]);
    assert!(!reader.read(&[PlayedEntry::new(3, "three"), PlayedEntry::new(2, "two")], minutes_from_now(700)).is_gap);
    assert!(reader.read(&[PlayedEntry::new(9, "nine"), PlayedEntry::new(8, "eight")], minutes_from_now(730)).is_gap);
    assert!(!reader.read(&[], minutes_from_now(760)).is_gap);
    assert!(!reader.read(&[PlayedEntry::new(10, "ten")], minutes_from_now(790)).is_gap, "the last document was empty");
    assert_eq!(reader.source.state.gaps, 1);
}

#[test]
fn posts_of_an_earlier_version_get_their_keys_by_url_or_content_and_are_neither_doubled_nor_lost() {
    let mut reader = check(
        &[vec![PlayedEntry::new(3, "three"), PlayedEntry::new(2, "two"), PlayedEntry::new(1, "one")]],
        &["one", "two", "three"],
    );
    reader.forget_keys();
    let edited = PlayedEntry::new(3, "three, edited");
    let moved = PlayedEntry { url: Some("http://a.example/moved".into()), ..PlayedEntry::new(2, "two") };
    let document = [PlayedEntry::new(4, "four"), edited, moved, PlayedEntry::new(1, "one")];
    reader.read(&document, minutes_from_now(700));
    assert_eq!(reader.bodies(), ["one", "two", "three, edited", "four"]);
    assert!(reader.posts.iter().all(|stored| stored.key.is_some()));
    assert_eq!(reader.read(&document, minutes_from_now(730)).counts.known, 4);
}

#[test]
fn a_page_is_identified_by_its_content_alone() {
    let mut reader = ReadSource::new();
    reader.kind = Watermark::None;
    let page = |body: &str| [PlayedEntry { id: None, published: None, ..PlayedEntry::new(1, body) }];
    for body in ["one", "two", "one"] {
        reader.read(&page(body), minutes_from_now(1));
    }
    assert_eq!(reader.bodies(), ["one", "two"]);
    reader.forget_keys();
    reader.read(&page("three"), minutes_from_now(2));
    reader.read(&page("two"), minutes_from_now(3));
    assert_eq!(reader.bodies(), ["one", "two", "three"], "a changed page is a new post, also after an upgrade");
}
