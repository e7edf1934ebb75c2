//! Bounds on what is stored of an entry, and the sentence about all of them.

use super::super::*;
use super::reader::{NOW, PlayedEntry, ReadSource, minutes_from_now};
use crate::model::TextOrigin;

#[test]
fn a_text_with_a_counter_is_not_written_for_ever() {
    let mut reader = ReadSource::new();
    let mut updates = 0;
    for poll in 0..2000 {
        let item = PlayedEntry { published: Some(NOW), ..PlayedEntry::new(1, &format!("{poll} comments")) };
        updates += reader.read(&[item], minutes_from_now(60 * poll)).counts.updated;
    }
    // Eight at once, then one a day: 2,000 hours are 83 days.
    assert!((80..=REVISIONS_MAX.into()).contains(&updates), "{updates}");
    for poll in 2000..6000 {
        let item = PlayedEntry { published: Some(NOW), ..PlayedEntry::new(1, &format!("{poll} comments")) };
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
    let cut = bounded(post.clone(), &policy);
    assert_eq!(cut.content().html, None);
    assert!(cut.content().text.len() <= 100 && cut.content().text.ends_with("ä […]"), "{:?}", cut.content().text);
    assert_eq!(cut.content_hash(), post.content_hash(), "the entry is recognised by the next poll");
    let without_html = PostPolicy { keeps_html: false, ..PostPolicy::default() };
    assert_eq!(bounded(post.clone(), &without_html).content().html, None);
    assert_eq!(bounded(post.clone(), &PostPolicy::default()), post);
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
