//! What makes each entry of a document itself, across polls (`docs/decisions.md`, "Identity of an entry").

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::same_url;
use crate::model::{ContentHash, EntryKey, NewPost};

/// The keys of the entries of a document: its id, if no other entry has it; else its URL, if no other entry has it;
/// else both together; else title and time; else the body.
///
/// Entries that are the same in id, URL and body count as one, so that an entry that is listed twice keeps its id.
pub fn keys(posts: &[NewPost]) -> Vec<EntryKey> {
    keys_by_id(posts).unwrap_or_else(|| keys_by_facts(posts))
}

/// Whether a value is in a list more than once.
pub(super) fn has_repeated<T: Ord>(mut values: Vec<T>) -> bool {
    values.sort_unstable();
    values.windows(2).any(|pair| pair[0] == pair[1])
}

/// The key of an entry that its service numbers.
pub fn of_number(number: u64) -> EntryKey {
    of_id(&number.to_string())
}

fn of_id(id: &str) -> EntryKey {
    EntryKey::of("id", &[id.as_bytes()])
}

/// The usual case: every entry has an id of its own. Equal ids have equal keys.
fn keys_by_id(posts: &[NewPost]) -> Option<Vec<EntryKey>> {
    let keys: Vec<EntryKey> = posts.iter().map(|post| id(post).map(|id| of_id(&id))).collect::<Option<_>>()?;
    Some(keys).filter(|keys| !has_repeated(keys.clone()))
}

fn keys_by_facts(posts: &[NewPost]) -> Vec<EntryKey> {
    let facts: Vec<EntryFacts<'_>> = posts.iter().map(EntryFacts::of).collect();
    let mut met = HashSet::with_capacity(facts.len());
    let mut distinct = Vec::with_capacity(facts.len());
    for facts in &facts {
        if met.insert((facts.id.as_deref(), facts.url.as_deref(), facts.hash)) {
            distinct.push(facts);
        }
    }
    let ids = Occurrences::of(distinct.iter().map(|facts| facts.id.as_deref()));
    let urls = Occurrences::of(distinct.iter().map(|facts| facts.url.as_deref()));
    let pairs = Occurrences::of(distinct.iter().map(|facts| facts.id.as_deref().zip(facts.url.as_deref())));
    let headings = Occurrences::of(distinct.iter().map(|facts| facts.heading));
    let key = |facts: &EntryFacts<'_>| {
        let (id, url) = (facts.id.as_deref(), facts.url.as_deref());
        if let Some(id) = ids.only(id) {
            of_id(id)
        } else if let Some(url) = urls.only(url) {
            EntryKey::of("url", &[url.as_bytes()])
        } else if let Some((id, url)) = pairs.only(id.zip(url)) {
            EntryKey::of("id and url", &[id.as_bytes(), url.as_bytes()])
        } else if let Some((title, micros)) = headings.only(facts.heading) {
            EntryKey::of("title and time", &[title.as_bytes(), &micros.to_be_bytes()])
        } else {
            EntryKey::of_body(facts.hash)
        }
    };
    facts.iter().map(key).collect()
}

/// The id of an entry. One that is a URL is compared like one: sites that move to https change all their ids.
fn id(post: &NewPost) -> Option<Cow<'_, str>> {
    let id = post.content().guid.as_deref().map(str::trim).filter(|id| !id.is_empty())?;
    let is_url = id.starts_with("http://") || id.starts_with("https://");
    Some(if is_url { same_url::identity(id) } else { Cow::Borrowed(id) }).filter(|id| !id.is_empty())
}

/// What can identify an entry.
struct EntryFacts<'a> {
    id: Option<Cow<'a, str>>,
    url: Option<Cow<'a, str>>,
    heading: Option<(&'a str, i64)>,
    hash: ContentHash,
}

impl<'a> EntryFacts<'a> {
    fn of(post: &'a NewPost) -> EntryFacts<'a> {
        let content = post.content();
        EntryFacts {
            id: id(post),
            url: content.url.as_deref().map(same_url::identity).filter(|url| !url.is_empty()),
            heading: post.published_at().map(|moment| (content.title.as_str(), moment.as_micros())),
            hash: post.content_hash(),
        }
    }
}

/// How many entries have each value.
struct Occurrences<T>(HashMap<T, usize>);

impl<T: Copy + Eq + Hash> Occurrences<T> {
    fn of(values: impl Iterator<Item = Option<T>>) -> Occurrences<T> {
        let mut counts = HashMap::new();
        for value in values.flatten() {
            *counts.entry(value).or_default() += 1;
        }
        Occurrences(counts)
    }

    /// The value, if one entry has it.
    fn only(&self, value: Option<T>) -> Option<T> {
        value.filter(|value| self.0.get(value) == Some(&1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{PostContent, Timestamp};

    fn post(id: Option<&str>, url: Option<&str>, title: &str, body: &str, published: Option<i64>) -> NewPost {
        let content = PostContent {
            guid: id.map(Into::into),
            url: url.map(Into::into),
            title: title.into(),
            text: body.into(),
            ..PostContent::default()
        };
        NewPost::new(content, published.map(Timestamp::from_seconds))
    }

    #[test]
    fn an_id_of_its_own_identifies_an_entry_whatever_else_changes() {
        let before =
            [post(Some("1"), Some("http://a.example/x"), "a", "a", Some(1)), post(Some("2"), None, "b", "b", None)];
        let after =
            [post(Some("2"), None, "B", "B!", Some(9)), post(Some(" 1 "), Some("http://b.example/"), "A", "A!", None)];
        let (before, after) = (keys(&before), keys(&after));
        assert_eq!((before[0], before[1]), (after[1], after[0]));
        assert_ne!(before[0], before[1]);
    }

    #[test]
    fn s611_entries_with_one_body_have_different_keys() {
        let posts = [1, 2, 3].map(|number| post(Some(&number.to_string()), None, "Same", "Comments", None));
        assert_eq!(keys(&posts).into_iter().collect::<HashSet<_>>().len(), 3);
        let posts =
            [1, 2, 3].map(|number| post(None, Some(&format!("http://a.example/{number}")), "Same", "Same", None));
        assert_eq!(keys(&posts).into_iter().collect::<HashSet<_>>().len(), 3);
    }

    #[test]
    fn s612_without_an_id_the_url_identifies_an_entry_also_with_https_and_tracking() {
        let key = |url| keys(&[post(None, Some(url), "a", url, None)])[0];
        let plain = key("http://a.example/1");
        assert_eq!(plain, key("https://www.a.example/1/?utm_source=rss"));
        assert_ne!(plain, key("http://a.example/2"));
    }

    #[test]
    fn s612_an_id_that_is_a_url_stays_the_same_with_https_and_tracking() {
        let key = |id: &str| keys(&[post(Some(id), None, "a", id, None)])[0];
        let plain = key("http://a.example/?p=1");
        for (id, is_same) in [
            ("https://a.example/?p=1", true),
            ("https://www.a.example/?p=1&utm_source=rss", true),
            ("https://a.example/?p=2", false),
            ("urn:a.example/?p=1", false),
        ] {
            assert_eq!(key(id) == plain, is_same, "{id}");
        }
        let both = ["http://a.example/1", "https://a.example/1"];
        let both = both.map(|url| post(Some(url), Some(&format!("{url}?{}", url.len())), url, url, None));
        assert_ne!(keys(&both)[0], keys(&both)[1], "two entries of one document stay two");
    }

    #[test]
    fn an_id_that_two_entries_share_is_not_enough() {
        let shared = [
            post(Some("x"), Some("http://a.example/1"), "a", "a", None),
            post(Some("x"), Some("http://a.example/2"), "b", "b", None),
        ];
        let found = keys(&shared);
        assert_ne!(found[0], found[1]);
        assert_eq!(found[0], keys(&[post(None, Some("http://a.example/1"), "", "", None)])[0], "its URL identifies it");
        let crossed = [
            post(Some("x"), Some("http://a.example/1"), "a", "a", None),
            post(Some("x"), Some("http://a.example/2"), "b", "b", None),
            post(Some("y"), Some("http://a.example/1"), "c", "c", None),
            post(Some("y"), Some("http://a.example/2"), "d", "d", None),
        ];
        assert_eq!(keys(&crossed).into_iter().collect::<HashSet<_>>().len(), 4, "id and URL together");
    }

    #[test]
    fn entries_with_everything_shared_are_told_apart_by_heading_and_then_by_body() {
        let home = Some("http://a.example/");
        let headings = [post(Some("x"), home, "a", "1", Some(1)), post(Some("x"), home, "b", "2", Some(1))];
        assert_ne!(keys(&headings)[0], keys(&headings)[1]);
        let bodies = [post(Some("x"), home, "a", "1", Some(1)), post(Some("x"), home, "a", "2", Some(1))];
        assert_ne!(keys(&bodies)[0], keys(&bodies)[1]);
        assert_eq!(keys(&bodies)[1], EntryKey::of_body(ContentHash::of("2")));
    }

    #[test]
    fn an_entry_that_is_listed_twice_keeps_its_id() {
        let once = post(Some("x"), Some("http://a.example/1"), "a", "a", None);
        let other = post(Some("y"), Some("http://a.example/2"), "b", "b", None);
        let twice = [once.clone(), other.clone(), once.clone()];
        let found = keys(&twice);
        assert_eq!(found[0], found[2]);
        assert_eq!(found[..2], keys(&[once, other]));
    }
}
