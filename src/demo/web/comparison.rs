//! What a store should have of a site: each entry once, in the newest version that was served.
//!
//! Entries are identified by their numbers, which every post names (`entry_view`), never by their texts.

use std::collections::BTreeMap;
use std::time::Duration;

use super::served::ServedEntry;
use crate::model::{ContentHash, Post, PostContent, TextOrigin};

/// Changes of a post that are always stored.
const REVISIONS_AT_ONCE: u32 = 8;
/// Further changes are stored once in this time.
const REVISION_PAUSE: Duration = Duration::from_secs(86_400);
/// Changes after which a post stays as it is.
const REVISIONS_MAX: u32 = 100;

/// What a store has of a site. Entries are given by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteComparison {
    /// Entries that were served and are to be stored: those not older than the web.
    pub served: Vec<u64>,
    /// Those that are stored exactly once.
    pub stored_once: Vec<u64>,
    pub missing: Vec<u64>,
    pub doubled: Vec<u64>,
    /// Those of which an older version is stored than was served, though the bound on revisions allows the newest.
    pub outdated: Vec<u64>,
    /// Titles of posts that no served entry explains, or whose body no version of the entry has.
    pub unknown: Vec<String>,
    /// Where full text is wanted: those whose post has neither the text of its page nor the reason why it has not.
    pub without_page: Vec<u64>,
    /// Where full text is wanted: how many posts have the text of their page.
    pub with_page: usize,
}

/// The text of the page of an entry; none if the page has no article.
pub(super) type PageText<'a> = &'a dyn Fn(u64) -> Option<String>;

impl SiteComparison {
    /// Whether each entry is stored once, in its newest version, and nothing else.
    pub fn is_exact(&self) -> bool {
        let complaints = [&self.missing, &self.doubled, &self.outdated, &self.without_page];
        complaints.iter().all(|numbers| numbers.is_empty()) && self.unknown.is_empty()
    }
}

/// Compares the served entries of a site with its posts, which have the texts of their pages if `page_of` says so.
pub(super) fn compare(
    served: &[ServedEntry],
    posts: &[Post],
    number_of: impl Fn(&PostContent) -> Option<u64>,
    body_of: impl Fn(u64, u32) -> String,
    page_of: Option<PageText<'_>>,
) -> SiteComparison {
    let mut comparison = SiteComparison::default();
    let mut by_number = BTreeMap::<u64, Vec<&Post>>::new();
    for post in posts {
        match number_of(&post.content) {
            Some(number) => by_number.entry(number).or_default().push(post),
            None => comparison.unknown.push(post.content.title.clone()),
        }
    }
    for entry in served.iter().filter(|entry| !entry.is_backlog) {
        let number = entry.number;
        comparison.served.push(number);
        match by_number.remove(&number).as_deref() {
            None => comparison.missing.push(number),
            Some([post]) => {
                comparison.stored_once.push(number);
                if let Some(page_of) = page_of {
                    match post.content.text_origin {
                        TextOrigin::Article if page_of(number).is_some_and(|text| text == post.content.body()) => {
                            comparison.with_page += 1;
                        }
                        TextOrigin::Feed if post.content.full_text_error.is_some() => {}
                        _ => comparison.without_page.push(number),
                    }
                }
                match stored_version(post, entry, |version| body_of(number, version)) {
                    None => comparison.unknown.push(post.content.title.clone()),
                    Some(version) if version < entry.version && !may_lag(post, entry) => {
                        comparison.outdated.push(number);
                    }
                    Some(_) => {}
                }
            }
            Some(_) => comparison.doubled.push(number),
        }
    }
    comparison.unknown.extend(by_number.into_values().flatten().map(|post| post.content.title.clone()));
    comparison
}

/// The newest served version that the post was made of. Its text may be that of the page, its hash is the feed's.
fn stored_version(post: &Post, entry: &ServedEntry, body_of: impl Fn(u32) -> String) -> Option<u32> {
    let has_feed_text = post.content.text_origin != TextOrigin::Article;
    let is_it = |version: &u32| {
        let body = body_of(*version);
        ContentHash::of(&body) == post.content_hash && (!has_feed_text || body == post.content.body())
    };
    (0..=entry.version).rev().find(is_it)
}

/// Whether the bound on revisions allows the post to stay behind what was served.
fn may_lag(post: &Post, entry: &ServedEntry) -> bool {
    let is_recent = || post.changed_at.zip(entry.served_at).is_some_and(|(changed, at)| changed + REVISION_PAUSE > at);
    post.revision >= REVISIONS_MAX || post.revision >= REVISIONS_AT_ONCE && is_recent()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ContentHash, PostId, SourceId, Timestamp};

    const DAY: i64 = 86_400;

    fn served(number: u64, version: u32) -> ServedEntry {
        ServedEntry { number, version, served_at: Some(Timestamp::from_seconds(10 * DAY)), is_backlog: false }
    }

    /// A post whose title is the number of its entry.
    fn post(number: u64, version: u32, revision: u32, changed_at: Option<i64>) -> Post {
        let body = format!("{number} {version}");
        Post {
            id: PostId(1),
            source_id: SourceId(1),
            content_hash: ContentHash::of(&body),
            content: PostContent { title: number.to_string(), text: body, ..PostContent::default() },
            published_at: None,
            created_at: Timestamp::EPOCH,
            changed_at: changed_at.map(Timestamp::from_seconds),
            revision,
            change_number: 1,
            is_backfill: false,
        }
    }

    fn compared(served: &[ServedEntry], posts: &[Post]) -> SiteComparison {
        let body_of = |number, version| format!("{number} {version}");
        compare(served, posts, |content| content.title.parse().ok(), body_of, None)
    }

    #[test]
    fn where_full_text_is_wanted_a_post_has_the_text_of_its_page_or_the_reason_why_not() {
        let check = |origin: TextOrigin, text: &str, error: Option<&str>, is_exact: bool| {
            let mut posted = post(1, 0, 0, None);
            posted.content.text_origin = origin;
            posted.content.text = text.into();
            posted.content.full_text_error = error.map(Into::into);
            let page_of = |number: u64| Some(format!("page {number}"));
            let body_of = |number, version| format!("{number} {version}");
            let number_of = |content: &PostContent| content.title.parse().ok();
            let found = compare(&[served(1, 0)], &[posted], number_of, body_of, Some(&page_of));
            assert_eq!(found.is_exact(), is_exact, "{origin:?} {text} {error:?}: {found:?}");
        };
        check(TextOrigin::Article, "page 1", None, true);
        check(TextOrigin::Article, "page 2", None, false);
        check(TextOrigin::Feed, "1 0", Some("gone"), true);
        check(TextOrigin::Feed, "1 0", None, false);
        check(TextOrigin::FeedPending, "1 0", None, false);
    }

    #[test]
    fn each_served_entry_is_wanted_once_and_nothing_else() {
        let (one, two) = (post(1, 0, 0, None), post(2, 0, 0, None));
        let both = [served(1, 0), served(2, 0)];
        assert!(compared(&both, &[one.clone(), two.clone()]).is_exact());
        assert!(compared(&[], &[]).is_exact());
        assert_eq!(compared(&both, std::slice::from_ref(&two)).missing, [1]);
        assert_eq!(compared(&both, &[one.clone(), two.clone(), one.clone()]).doubled, [1]);
        assert_eq!(compared(&both[..1], &[one.clone(), two.clone()]).unknown, ["2"]);
        let mut nameless = one.clone();
        nameless.content.title = "?".into();
        assert_eq!(compared(&both[..1], &[one, nameless]).unknown, ["?"]);
    }

    #[test]
    fn an_entry_older_than_the_web_is_not_wanted() {
        let backlog = ServedEntry { is_backlog: true, ..served(1, 0) };
        assert!(compared(std::slice::from_ref(&backlog), &[]).is_exact());
        assert_eq!(compared(&[backlog], &[post(1, 0, 0, None)]).unknown, ["1"]);
    }

    #[test]
    fn the_newest_version_is_wanted_unless_the_post_has_changed_too_often() {
        let check = |posted: Post, is_exact: bool| {
            let found = compared(&[served(1, 9)], std::slice::from_ref(&posted));
            assert_eq!(found.is_exact(), is_exact, "{posted:?} {found:?}");
            assert_eq!(found.outdated.is_empty(), is_exact);
        };
        check(post(1, 9, 9, None), true);
        check(post(1, 8, 7, Some(10 * DAY)), false);
        check(post(1, 8, 8, Some(10 * DAY)), true);
        check(post(1, 8, 8, Some(9 * DAY + 1)), true);
        check(post(1, 8, 8, Some(9 * DAY)), false);
        check(post(1, 8, 100, Some(DAY)), true);
        assert_eq!(compared(&[served(1, 9)], &[post(1, 10, 1, None)]).unknown, ["1"], "never served");
    }
}
