//! What becomes of the entries of one reading: new posts, edits, entries under another id, and what was skipped.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::Duration;

use super::filter::{EntryDecision, EntryFilter, Kept, Known, LastDocument, Skipped};
use super::{OnEdit, Policy, PostPolicy, hours, same_url};
use crate::model::{
    Backlog, ContentHash, DocumentKeys, EntryCounts, EntryKey, KnownEntries, KnownPost, NewPost, PostContent, PostEdit,
    RenamedPost, Source, Timestamp, Watermark,
};

/// Changes of a post that are stored at once.
const REVISIONS_AT_ONCE: u32 = 8;
/// The pause between two further changes of a post.
const REVISION_PAUSE: Duration = hours(24);
/// Changes of a post after which it stays as it is.
const REVISIONS_MAX: u32 = 100;

/// What stands at the end of a text that was cut.
const CUT_MARK: &str = " […]";

/// What becomes of a reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadingDecision {
    /// Decision about each entry, in the order of the document.
    pub entries: Vec<EntryDecision>,
    /// Posts to add, from the oldest to the newest.
    pub posts: Vec<NewPost>,
    pub edits: Vec<PostEdit>,
    pub renamed: Vec<RenamedPost>,
    /// Keys of removed posts whose entries are still in the feed.
    pub still_seen: Vec<EntryKey>,
    /// Keys of the document, if they are not those of the last one.
    pub document: Option<DocumentKeys>,
    pub counts: EntryCounts,
    /// Whether entries with different keys share a body.
    pub bodies_repeat: bool,
    /// Whether nothing in the document was known although the feed was read before.
    pub is_gap: bool,
}

/// Decides about the entries of a document, of which the store knows this.
pub fn decide(
    source: &Source,
    watermark: Watermark,
    posts: &[NewPost],
    known: &KnownEntries,
    policy: &Policy,
    now: Timestamp,
) -> ReadingDecision {
    let filter = EntryFilter::of(source, watermark, policy, now);
    let document = DocumentKeys::new(posts.iter().map(NewPost::key));
    let last_document = known.document.as_ref().filter(|_| !filter.is_first);
    let bodies_repeat = source.state.bodies_repeat || bodies_repeat(posts);
    let mut matcher = Matcher::new(posts, known, &filter, bodies_repeat);
    let mut decision = ReadingDecision { bodies_repeat, ..ReadingDecision::default() };
    let mut kept = Vec::new();
    for (place, post) in posts.iter().enumerate() {
        let entry = match matcher.find(post) {
            Match::Listed => EntryDecision::Known(Known::Listed),
            Match::Unknown => {
                let stood = match last_document {
                    Some(keys) if keys.contains(post.key()) => LastDocument::Had,
                    Some(keys) if !keys.is_cut() => LastDocument::Lacked,
                    _ => LastDocument::Unknown,
                };
                filter.decide(post.published_at(), stood)
            }
            Match::Same(found) => decision.note_same(found, post),
            Match::Edited(found) => decision.note_edit(found, post, &policy.posts, now),
        };
        if matches!(entry, EntryDecision::Kept(_)) {
            let revision = matcher.known_revision(post).filter(|_| entry == EntryDecision::Kept(Kept::Edited));
            let post = if is_exempt_from_age(entry, &filter) { post.clone().in_backfill() } else { post.clone() };
            kept.push((
                place,
                bounded(&post, &policy.posts).with_revision(revision.map_or(0, |revision| revision + 1)),
            ));
        }
        decision.entries.push(entry);
    }
    decision.posts = from_oldest_to_newest(posts, kept);
    decision.counts = counts(&decision.entries);
    if watermark == Watermark::Published {
        decision.is_gap = is_gap(&decision.entries, last_document, &filter);
        decision.document = Some(document).filter(|document| known.document.as_ref() != Some(document));
    }
    decision
}

impl ReadingDecision {
    /// An entry whose content is that of a known post.
    fn note_same(&mut self, found: &KnownPost, post: &NewPost) -> EntryDecision {
        if found.key != Some(post.key()) {
            self.rename(found, Some(post.key()));
            return EntryDecision::Known(Known::Renamed);
        }
        if found.id.is_none() {
            self.still_seen.push(post.key());
            return EntryDecision::Known(Known::Removed);
        }
        EntryDecision::Known(Known::Unchanged)
    }

    /// An entry whose content is not that of its post.
    fn note_edit(&mut self, found: &KnownPost, post: &NewPost, policy: &PostPolicy, now: Timestamp) -> EntryDecision {
        let Some(id) = found.id else {
            self.still_seen.push(post.key());
            return EntryDecision::Known(Known::Removed);
        };
        let entry = match policy.on_edit {
            OnEdit::Keep => EntryDecision::Known(Known::EditIgnored),
            _ if !takes_revision(found, now) => EntryDecision::Known(Known::EditsLimited),
            OnEdit::Update => EntryDecision::Updated,
            OnEdit::New => EntryDecision::Kept(Kept::Edited),
        };
        match entry {
            EntryDecision::Kept(_) => self.rename(found, None),
            _ if found.key != Some(post.key()) => self.rename(found, Some(post.key())),
            _ => {}
        }
        if entry == EntryDecision::Updated {
            self.edits.push(PostEdit { id, post: bounded(post, policy) });
        }
        entry
    }

    fn rename(&mut self, found: &KnownPost, key: Option<EntryKey>) {
        let KnownPost { id, content_hash, key: old_key, .. } = *found;
        self.renamed.push(RenamedPost { id, content_hash, old_key, key });
    }
}

/// What the store knows of an entry.
enum Match<'a> {
    Unknown,
    /// An earlier entry of the document has the same key.
    Listed,
    Same(&'a KnownPost),
    Edited(&'a KnownPost),
}

/// Finds the posts of entries. Each post belongs to one entry.
struct Matcher<'a> {
    by_key: HashMap<EntryKey, &'a KnownPost>,
    others: Vec<&'a KnownPost>,
    /// Keys of all entries of the document: a post with one of them has not left it.
    document: HashSet<EntryKey>,
    /// URLs that one entry of the document has, where posts without a key are to be found by them.
    own_urls: HashMap<String, usize>,
    met: HashSet<EntryKey>,
    bodies_repeat: bool,
    is_page: bool,
}

impl<'a> Matcher<'a> {
    fn new(posts: &[NewPost], known: &'a KnownEntries, filter: &EntryFilter, bodies_repeat: bool) -> Matcher<'a> {
        let mut own_urls = HashMap::new();
        if known.others.iter().any(|post| post.key.is_none()) {
            for url in posts.iter().filter_map(url_of) {
                *own_urls.entry(url).or_default() += 1;
            }
        }
        Matcher {
            by_key: known.by_key.iter().filter_map(|post| Some((post.key?, post))).collect(),
            others: known.others.iter().collect(),
            document: posts.iter().map(NewPost::key).collect(),
            own_urls,
            met: HashSet::with_capacity(posts.len()),
            bodies_repeat,
            is_page: filter.is_page,
        }
    }

    fn find(&mut self, post: &NewPost) -> Match<'a> {
        if !self.met.insert(post.key()) {
            return Match::Listed;
        }
        let hash = post.content_hash();
        if let Some(found) = self.by_key.get(&post.key()) {
            return if found.content_hash == hash { Match::Same(found) } else { Match::Edited(found) };
        }
        if let Some(found) = self.take_without_key(post) {
            return if found.content_hash == hash { Match::Same(found) } else { Match::Edited(found) };
        }
        self.take_with_content(post).map_or(Match::Unknown, Match::Same)
    }

    fn known_revision(&self, post: &NewPost) -> Option<u32> {
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
        let place_of =
            |is_it: &dyn Fn(&KnownPost) -> bool| self.others.iter().position(|found| has_left(found) && is_it(found));
        let place = place_of(&|found| has_its_url(found) == Some(true))
            .or_else(|| {
                place_of(&|found| has_its_date(found) && !(self.bodies_repeat && has_its_url(found) == Some(false)))
            })
            .or_else(|| place_of(&|_| !self.bodies_repeat))?;
        Some(self.others.remove(place))
    }
}

fn url_of(post: &NewPost) -> Option<String> {
    post.content().url.as_deref().map(|url| same_url::identity(url).into_owned())
}

/// Whether entries with different keys share a body.
fn bodies_repeat(posts: &[NewPost]) -> bool {
    let mut keys = HashMap::<ContentHash, EntryKey>::with_capacity(posts.len());
    posts.iter().any(|post| *keys.entry(post.content_hash()).or_insert(post.key()) != post.key())
}

/// Whether an entry becomes a post in spite of the age limit: its age then counts from when it was stored, or the next
/// clean-up would remove it.
fn is_exempt_from_age(entry: EntryDecision, filter: &EntryFilter) -> bool {
    entry == EntryDecision::Kept(Kept::Backlog) && filter.backlog == Backlog::All
}

/// Whether another change of a post is stored: some at once, then one a day, up to a bound. Feeds whose texts contain
/// counters would otherwise be written for ever.
fn takes_revision(found: &KnownPost, now: Timestamp) -> bool {
    found.revision < REVISIONS_AT_ONCE
        || found.revision < REVISIONS_MAX && found.changed_at.is_none_or(|changed| changed + REVISION_PAUSE <= now)
}

/// The post within the bounds of what is stored.
fn bounded(post: &NewPost, policy: &PostPolicy) -> NewPost {
    let content = post.content();
    let drops_html = !policy.keeps_html && content.html.is_some();
    if content.bytes() <= policy.bytes_max && !drops_html {
        return post.clone();
    }
    post.clone().with_content(|content| bound_content(content, policy))
}

/// Cuts content to the bounds of what is stored.
pub(super) fn bound_content(content: &mut PostContent, policy: &PostPolicy) {
    if !policy.keeps_html || content.bytes() > policy.bytes_max {
        content.html = None;
    }
    for text in [content.summary.as_mut(), Some(&mut content.text), Some(&mut content.title)].into_iter().flatten() {
        cut(text, policy.bytes_max);
    }
}

fn cut(text: &mut String, bytes_max: usize) {
    if text.len() > bytes_max {
        let room = bytes_max.saturating_sub(CUT_MARK.len());
        let end = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push_str(CUT_MARK);
    }
}

/// Orders posts from the oldest to the newest. Documents begin with the newest entry, unless their dates say
/// otherwise; an entry without a date stays beside its neighbour.
fn from_oldest_to_newest(document: &[NewPost], kept: Vec<(usize, NewPost)>) -> Vec<NewPost> {
    let dates: Vec<Timestamp> = document.iter().filter_map(NewPost::published_at).collect();
    let begins_with_oldest = dates.first() < dates.last() && dates.is_sorted();
    let mut ordered = kept;
    if !begins_with_oldest {
        ordered.reverse();
    }
    let mut neighbour = Timestamp::EPOCH;
    let mut dated: Vec<(Timestamp, NewPost)> = Vec::with_capacity(ordered.len());
    for (_, post) in ordered {
        neighbour = post.published_at().unwrap_or(neighbour);
        dated.push((neighbour, post));
    }
    dated.sort_by_key(|(date, _)| *date);
    dated.into_iter().map(|(_, post)| post).collect()
}

fn counts(entries: &[EntryDecision]) -> EntryCounts {
    let mut counts = EntryCounts { seen: entries.len() as u64, ..EntryCounts::default() };
    for entry in entries {
        match entry {
            EntryDecision::Kept(kept) => {
                counts.new += 1;
                counts.late += u64::from(*kept == Kept::Late);
            }
            EntryDecision::Updated => counts.updated += 1,
            EntryDecision::Known(known) => {
                counts.known += 1;
                counts.edits_ignored += u64::from(matches!(known, Known::EditIgnored | Known::EditsLimited));
            }
            EntryDecision::Skipped(Skipped::Seen) => counts.seen_before += 1,
            EntryDecision::Skipped(Skipped::TooOld) => counts.too_old += 1,
            EntryDecision::Skipped(Skipped::BeforeSource) => counts.before_source += 1,
        }
    }
    counts
}

/// Whether entries may have come and gone between two readings.
fn is_gap(entries: &[EntryDecision], last_document: Option<&DocumentKeys>, filter: &EntryFilter) -> bool {
    let had_entries = match last_document {
        Some(keys) => !keys.is_empty(),
        None => filter.last_seen.is_some(),
    };
    let is_known = |entry: &EntryDecision| {
        matches!(entry, EntryDecision::Known(_) | EntryDecision::Updated | EntryDecision::Skipped(Skipped::Seen))
    };
    !filter.is_first && had_entries && !entries.is_empty() && !entries.iter().any(is_known)
}

/// What became of the entries, in a sentence: `10 entries: 0 new, 10 skipped (older than the source; --backlog keeps
/// them)`.
impl fmt::Display for EntryCounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EntryCounts { seen, new, late, updated, known, before_source, too_old, seen_before, blank, edits_ignored } =
            *self;
        let entries = seen + blank;
        write!(formatter, "{entries} {}: {new} new", if entries == 1 { "entry" } else { "entries" })?;
        if late > 0 {
            write!(formatter, " ({late} late)")?;
        }
        if updated > 0 {
            write!(formatter, ", {updated} updated")?;
        }
        if known > 0 {
            write!(formatter, ", {known} known")?;
        }
        if edits_ignored > 0 {
            write!(formatter, " ({edits_ignored} with an ignored change)")?;
        }
        let reasons = [
            (before_source, "older than the source; --backlog keeps them"),
            (too_old, "older than source.max-article-age-days; --backlog=all keeps them"),
            (seen_before, "seen before"),
            (blank, "blank"),
        ];
        let reasons: Vec<_> = reasons.into_iter().filter(|(count, _)| *count > 0).collect();
        let skipped: u64 = reasons.iter().map(|(count, _)| count).sum();
        match reasons[..] {
            [] => Ok(()),
            [(_, reason)] => write!(formatter, ", {skipped} skipped ({reason})"),
            _ => {
                let reasons: Vec<String> = reasons.iter().map(|(count, reason)| format!("{count} {reason}")).collect();
                write!(formatter, ", {skipped} skipped ({})", reasons.join("; "))
            }
        }
    }
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
