//! What becomes of the entries of one reading: new posts, edits, entries under another id, and what was skipped.

use std::fmt;
use std::time::Duration;

use super::entry_match::{Match, Matcher};
use super::filter::{EntryDecision, EntryFilter, Kept, Known, LastDocument, Skipped};
use super::stored_times::is_unknown;
use super::{OnEdit, Policy, PostPolicy, hours, watermark};
use crate::model::{
    Backlog, ContentHash, DocumentKeys, EntryCounts, EntryKey, KnownEntries, KnownPost, LastSeen, NewPost, PostContent,
    PostEdit, RenamedPost, Source, Timestamp, Watermark,
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

/// Decides about the entries of a document, of which the store knows this. `ages_at` is the time that ages are judged
/// by.
pub fn decide(
    source: &Source,
    watermark: Watermark,
    posts: &[NewPost],
    known: &KnownEntries,
    policy: &Policy,
    ages_at: Timestamp,
    now: Timestamp,
) -> ReadingDecision {
    let filter = EntryFilter::of(source, watermark, policy, ages_at, now);
    let last_document = known.document.as_ref().filter(|_| !filter.is_first);
    let bodies_repeat = source.state.bodies_repeat || bodies_repeat(posts);
    let mut matcher = Matcher::new(posts, known, &filter, bodies_repeat);
    let mut decision = ReadingDecision { bodies_repeat, ..ReadingDecision::default() };
    let mut kept = Vec::with_capacity(posts.len());
    for (place, post) in posts.iter().enumerate() {
        let entry = match matcher.find(post) {
            Match::Listed => EntryDecision::Known(Known::Listed),
            Match::Reused(found) => {
                let entry = filter.decide(post.published_at(), LastDocument::Lacked);
                if matches!(entry, EntryDecision::Kept(_)) {
                    decision.rename(found, None);
                }
                entry
            }
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
            kept.push((place, bounded(post, &policy.posts).with_revision(revision.map_or(0, |revision| revision + 1))));
        }
        decision.entries.push(entry);
    }
    decision.posts = from_oldest_to_newest(posts, kept);
    decision.counts = counts(&decision.entries);
    if watermark == Watermark::Published {
        let document = DocumentKeys::new(decision.looked_at(posts).map(NewPost::key));
        decision.is_gap = is_gap(&decision.entries, last_document, &filter);
        decision.document = Some(document).filter(|document| known.document.as_ref() != Some(document));
    }
    decision
}

impl ReadingDecision {
    /// The watermark after this reading. It moves over every entry that was looked at, stored or not, and not over what
    /// the age limit left out.
    pub fn watermark(
        &self,
        kind: Watermark,
        last_seen: Option<LastSeen>,
        posts: &[NewPost],
        newest_number: Option<u64>,
        now: Timestamp,
    ) -> Option<LastSeen> {
        let published = self.looked_at(posts).filter_map(NewPost::published_at);
        let number_of = |post: &NewPost| post.content().guid.as_ref()?.parse().ok();
        let newest_number = match self.counts.too_old {
            0 => newest_number,
            _ => self.looked_at(posts).filter_map(number_of).max(),
        };
        watermark::after_reading(kind, last_seen, published, newest_number, now)
    }

    /// The entries without those that the age limit left out.
    fn looked_at<'a>(&'a self, posts: &'a [NewPost]) -> impl Iterator<Item = &'a NewPost> {
        let is_left_out = |decision: &EntryDecision| *decision == EntryDecision::Skipped(Skipped::TooOld);
        posts.iter().zip(&self.entries).filter(move |(_, decision)| !is_left_out(decision)).map(|(post, _)| post)
    }

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
            self.edits.push(PostEdit { id, post: bounded(post.clone(), policy), revisions_max: policy.revisions_max });
        }
        entry
    }

    fn rename(&mut self, found: &KnownPost, key: Option<EntryKey>) {
        let KnownPost { id, content_hash, key: old_key, .. } = *found;
        self.renamed.push(RenamedPost { id, content_hash, old_key, key });
    }
}

/// Whether entries with different keys share a body.
fn bodies_repeat(posts: &[NewPost]) -> bool {
    let mut contents: Vec<(ContentHash, EntryKey)> =
        posts.iter().map(|post| (post.content_hash(), post.key())).collect();
    contents.sort_unstable();
    contents.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1)
}

/// Whether an entry becomes a post in spite of the age limit: its age then counts from when it was stored, or the next
/// clean-up would remove it.
fn is_exempt_from_age(entry: EntryDecision, filter: &EntryFilter) -> bool {
    entry == EntryDecision::Kept(Kept::Backlog) && filter.backlog == Backlog::All
}

/// Whether another change of a post is stored: some at once, then one a day, up to a bound. Feeds whose texts contain
/// counters would otherwise be written for ever.
fn takes_revision(found: &KnownPost, now: Timestamp) -> bool {
    let is_over = |changed: Timestamp| is_unknown(changed, now) || changed + REVISION_PAUSE <= now;
    found.revision < REVISIONS_AT_ONCE || found.revision < REVISIONS_MAX && found.changed_at.is_none_or(is_over)
}

/// The post within the bounds of what is stored.
fn bounded(post: NewPost, policy: &PostPolicy) -> NewPost {
    let content = post.content();
    let drops_html = !policy.keeps_html && content.html.is_some();
    if content.bytes() <= policy.bytes_max && !drops_html {
        return post;
    }
    post.with_content(|content| bound_content(content, policy))
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
#[path = "reading_tests/mod.rs"]
mod tests;
