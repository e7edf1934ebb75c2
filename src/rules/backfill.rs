//! Backfill: which entries of a page of older entries become posts, and where the next page is.

use std::collections::HashSet;

use super::Policy;
use super::reading::{self, ReadingDecision};
use crate::model::{Backlog, EntryCounts, EntryKey, KnownEntries, NewPost, Source, Timestamp, Watermark};

/// The parameter that numbers the pages of a WordPress feed.
const WORDPRESS_PAGE: &str = "paged";

/// What is stored of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BackfillDecision {
    pub posts: Vec<NewPost>,
    pub counts: EntryCounts,
    /// Whether entries with different keys share a body.
    pub bodies_repeat: bool,
}

/// Decides about the entries of a page, of which the store knows this. Entries are recognised as in a poll; unknown ones
/// become posts whatever their date. Known posts stay as they are: a page of the archive may be older than the feed.
pub fn decide(
    source: &Source,
    entries: &[NewPost],
    known: &KnownEntries,
    policy: &Policy,
    now: Timestamp,
) -> BackfillDecision {
    let mut unread = source.clone();
    unread.settings.backlog = Some(Backlog::All);
    unread.state.last_read_at = None;
    let ReadingDecision { mut posts, mut counts, bodies_repeat, edits, .. } =
        reading::decide(&unread, Watermark::Published, entries, known, policy, now, now);
    // Another version of a known entry, which `source.on-edit` may want as a post of its own.
    let keys: HashSet<EntryKey> = known.by_key.iter().filter_map(|found| found.key).collect();
    let is_known = |post: &NewPost| keys.contains(&post.key());
    let versions = edits.len() + posts.iter().filter(|post| is_known(post)).count();
    posts.retain(|post| !is_known(post));
    counts.new = posts.len() as u64;
    counts.known += versions as u64;
    counts.edits_ignored += versions as u64;
    counts.updated = 0;
    BackfillDecision { posts: posts.into_iter().map(NewPost::in_backfill).collect(), counts, bodies_repeat }
}

/// The next page of a WordPress feed.
pub fn wordpress_page(url: &str) -> Option<String> {
    let mut url = url::Url::parse(url).ok()?;
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let current = pairs.iter().find(|(name, _)| name == WORDPRESS_PAGE).map_or(Some(1), |(_, page)| page.parse().ok());
    let next = current.and_then(|page: u32| page.checked_add(1))?;
    let others = pairs.iter().filter(|(name, _)| name != WORDPRESS_PAGE);
    url.query_pairs_mut().clear().extend_pairs(others).append_pair(WORDPRESS_PAGE, &next.to_string());
    Some(url.into())
}

/// Whether a page was read already: archives that link in a circle would never end.
pub fn is_repeated(url: &str, read: &HashSet<String>) -> bool {
    read.contains(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ContentHash, KnownPost, NewSource, PostContent, PostId, SourceId, SourceSettings, SourceType};
    use crate::rules::{OnEdit, PostPolicy};

    #[test]
    fn the_pages_of_wordpress_are_numbered() {
        let check = |url, next: Option<&str>| assert_eq!(wordpress_page(url).as_deref(), next, "{url}");
        check("https://a.example/feed/", Some("https://a.example/feed/?paged=2"));
        check("https://a.example/?feed=rss2", Some("https://a.example/?feed=rss2&paged=2"));
        check("https://a.example/feed/?paged=9&x=1", Some("https://a.example/feed/?x=1&paged=10"));
        check("https://a.example/feed/?paged=x", None);
        check("no url", None);
    }

    #[test]
    fn entries_of_any_age_become_posts_of_a_backfill() {
        let now = Timestamp::from_seconds(1_800_000_000);
        let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
        let mut source = Source::fresh(SourceId(1), NewSource { settings, created_at: now });
        source.state.last_read_at = Some(now);
        let content = |text: &str| PostContent { text: text.into(), ..PostContent::default() };
        let entries = [NewPost::new(content("old"), Some(Timestamp::from_seconds(1_000_000_000)))];
        let decision = decide(&source, &entries, &KnownEntries::default(), &Policy::default(), now);
        assert_eq!((decision.posts.len(), decision.counts.new), (1, 1));
        assert!(decision.posts[0].is_backfill());
    }

    #[test]
    fn another_version_of_a_known_entry_is_not_stored_whatever_happens_to_edits() {
        let now = Timestamp::from_seconds(1_800_000_000);
        let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
        let source = Source::fresh(SourceId(1), NewSource { settings, created_at: now });
        let entry = NewPost::new(PostContent { text: "another version".into(), ..PostContent::default() }, None);
        let known = KnownPost {
            id: Some(PostId(1)),
            key: Some(entry.key()),
            content_hash: ContentHash::of("stored version"),
            url: None,
            published_at: None,
            title: None,
            revision: 0,
            changed_at: None,
        };
        let known = KnownEntries { by_key: vec![known], ..KnownEntries::default() };
        for on_edit in [OnEdit::Update, OnEdit::Keep, OnEdit::New] {
            let policy = Policy { posts: PostPolicy { on_edit, ..PostPolicy::default() }, ..Policy::default() };
            let BackfillDecision { posts, counts, .. } =
                decide(&source, std::slice::from_ref(&entry), &known, &policy, now);
            assert_eq!((posts.len(), counts.new, counts.known, counts.edits_ignored), (0, 0, 1, 1), "{on_edit:?}");
        }
    }
}
