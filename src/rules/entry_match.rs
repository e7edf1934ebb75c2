//! Which post an entry of a document belongs to, among those that the store knows (`docs/decisions.md`, "Identity of an
//! entry").

use std::collections::{HashMap, HashSet};

use super::filter::EntryFilter;
use super::identity::has_repeated;
use super::same_url;
use crate::model::{EntryKey, KnownEntries, KnownPost, NewPost};

/// What the store knows of an entry.
pub(super) enum Match<'a> {
    Unknown,
    /// An earlier entry of the document has the same key.
    Listed,
    Same(&'a KnownPost),
    Edited(&'a KnownPost),
    /// The post with its key is that of another entry.
    Reused(&'a KnownPost),
}

/// Finds the posts of entries. Each post belongs to one entry.
pub(super) struct Matcher<'a> {
    by_key: HashMap<EntryKey, &'a KnownPost>,
    others: Vec<&'a KnownPost>,
    /// Keys of all entries of the document, where posts that left it are to be found: a post with one of them has not.
    document: HashSet<EntryKey>,
    /// How many entries of the document have a URL, where posts are to be found by them.
    own_urls: HashMap<String, usize>,
    /// Keys of the entries so far, where entries of the document share one.
    met: Option<HashSet<EntryKey>>,
    bodies_repeat: bool,
    is_page: bool,
}

impl<'a> Matcher<'a> {
    pub(super) fn new(
        posts: &[NewPost],
        known: &'a KnownEntries,
        filter: &EntryFilter,
        bodies_repeat: bool,
    ) -> Matcher<'a> {
        let (mut own_urls, mut document) = (HashMap::new(), HashSet::new());
        if !known.others.is_empty() {
            for url in posts.iter().filter_map(url_of) {
                *own_urls.entry(url).or_default() += 1;
            }
            document.extend(posts.iter().map(NewPost::key));
        }
        Matcher {
            by_key: known.by_key.iter().filter_map(|post| Some((post.key?, post))).collect(),
            others: known.others.iter().collect(),
            document,
            own_urls,
            met: has_repeated(posts.iter().map(NewPost::key).collect()).then(HashSet::new),
            bodies_repeat,
            is_page: filter.is_page,
        }
    }

    pub(super) fn find(&mut self, post: &NewPost) -> Match<'a> {
        if self.met.as_mut().is_some_and(|met| !met.insert(post.key())) {
            return Match::Listed;
        }
        let hash = post.content_hash();
        if let Some(found) = self.by_key.get(&post.key()) {
            return match found.content_hash == hash {
                true => Match::Same(found),
                false if is_another_entry(found, post) => Match::Reused(found),
                false => Match::Edited(found),
            };
        }
        if self.others.is_empty() {
            return Match::Unknown;
        }
        if let Some(found) = self.take_without_key(post) {
            return if found.content_hash == hash { Match::Same(found) } else { Match::Edited(found) };
        }
        if let Some(found) = self.take_with_content(post) {
            return Match::Same(found);
        }
        self.take_with_address(post).map_or(Match::Unknown, Match::Edited)
    }

    pub(super) fn known_revision(&self, post: &NewPost) -> Option<u32> {
        self.by_key.get(&post.key()).map(|found| found.revision)
    }

    /// The post of an earlier version of the program, which stored no keys: the one with the entry's URL, if no other
    /// entry has that.
    fn take_without_key(&mut self, post: &NewPost) -> Option<&'a KnownPost> {
        let url = url_of(post).filter(|url| !self.is_page && self.own_urls.get(url) == Some(&1))?;
        let is_same_url = |found: &&KnownPost| {
            found.key.is_none() && found.url.as_deref().is_some_and(|known| same_url::identity(known) == url)
        };
        let same_content = |found: &&KnownPost| is_same_url(found) && found.content_hash == post.content_hash();
        let place = self.others.iter().position(same_content);
        let place = place.or_else(|| self.others.iter().position(is_same_url))?;
        Some(self.others.remove(place))
    }

    /// The post with the same content that left the document: the same entry under another id, or the same content
    /// again. A post with the same URL goes before one with the same date. Where bodies repeat, the URLs have to agree,
    /// or the dates if a URL is missing: what was published on one day need not be one entry.
    fn take_with_content(&mut self, post: &NewPost) -> Option<&'a KnownPost> {
        let has_left = |found: &KnownPost| {
            found.content_hash == post.content_hash() && found.key.is_none_or(|key| !self.document.contains(&key))
        };
        let has_its_url = |found: &KnownPost| {
            let urls = found.url.as_deref().zip(post.content().url.as_deref());
            // Where bodies repeat, fragments may be all that tells the entries of one page apart.
            urls.map(|(one, other)| match self.bodies_repeat {
                true => same_url::identity(one) == same_url::identity(other),
                false => same_url::is_same(one, other),
            })
        };
        let has_its_date =
            |found: &KnownPost| found.published_at.is_some() && found.published_at == post.published_at();
        // The entry with the URL of the post is its new version, so this one is another entry.
        let is_at_another = |found: &KnownPost| {
            found.url.as_deref().is_some_and(|url| self.own_urls.contains_key(same_url::identity(url).as_ref()))
        };
        let place_of =
            |is_it: &dyn Fn(&KnownPost) -> bool| self.others.iter().position(|found| has_left(found) && is_it(found));
        let place = place_of(&|found| has_its_url(found) == Some(true))
            .or_else(|| {
                place_of(&|found| has_its_date(found) && !(self.bodies_repeat && has_its_url(found) == Some(false)))
            })
            .or_else(|| place_of(&|found| !self.bodies_repeat && !is_at_another(found)))?;
        Some(self.others.remove(place))
    }

    /// The post that left the document and has the same date and URL, if no other post that left and no other entry has
    /// them: the same entry, edited and under another id.
    fn take_with_address(&mut self, post: &NewPost) -> Option<&'a KnownPost> {
        let url = url_of(post).filter(|url| !self.is_page && self.own_urls.get(url) == Some(&1))?;
        let date = post.published_at()?;
        let is_it = |found: &&KnownPost| {
            found.id.is_some()
                && found.published_at == Some(date)
                && found.key.is_some_and(|key| !self.document.contains(&key))
                && found.url.as_deref().is_some_and(|known| same_url::identity(known) == url)
        };
        let place = self.others.iter().position(is_it)?;
        let is_only = !self.others[place + 1..].iter().any(is_it);
        is_only.then(|| self.others.remove(place))
    }
}

/// Whether an id now belongs to another entry: one with another URL and title, published later.
fn is_another_entry(found: &KnownPost, post: &NewPost) -> bool {
    let content = post.content();
    let urls = found.url.as_deref().zip(content.url.as_deref());
    let titles = found.title.as_deref().filter(|title| !title.is_empty()).zip(Some(content.title.as_str()));
    let dates = found.published_at.zip(post.published_at());
    urls.is_some_and(|(known, new)| same_url::identity(known) != same_url::identity(new))
        && titles.is_some_and(|(known, new)| !new.is_empty() && known != new)
        && dates.is_some_and(|(known, new)| known < new)
}

fn url_of(post: &NewPost) -> Option<String> {
    post.content().url.as_deref().map(|url| same_url::identity(url).into_owned())
}
