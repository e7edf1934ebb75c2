//! What a site has published, and what of it was served.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::entry_view::DocumentStyle;
use super::habits::{EntryHabit, Habits};
use super::prose::{Prose, spread};
use super::render::{self, FeedSyntax};
use super::served::{EntryVersion, ServedEntry, ServedVersions};
use super::settings::{Publishing, WebSettings};
use super::site_behaviour::SiteBehaviour;
use crate::dice::{Dice, SeededDice};
use crate::model::Timestamp;

/// How many entries, from the newest on, are changed after their publication. Older ones stay as they are, so that the
/// last version of an entry is served often enough before the entry leaves the feed.
const CHANGING: usize = 5;
/// Keeps the dice of habits apart from the dice of publications.
const HABIT_SALT: u64 = 0x6861_6269_7473;

/// An entry; its text follows from its number and its version.
#[derive(Clone, Copy, Debug)]
pub(super) struct PublishedEntry {
    pub(super) number: u64,
    pub(super) published: Timestamp,
    pub(super) version: u32,
    /// When its last change was dated, if that was dated.
    pub(super) updated: Option<Timestamp>,
}

/// What never changes about a site.
#[derive(Clone, Debug)]
pub(super) struct SiteForm {
    pub(super) site: usize,
    /// Without a slash at the end.
    pub(super) home: String,
    pub(super) format: FeedSyntax,
    pub(super) has_etag: bool,
    /// Whether its ETag is a weak one.
    pub(super) is_weak: bool,
    pub(super) has_last_modified: bool,
    /// How many entries it shows.
    pub(super) window: usize,
    pub(super) habits: Habits,
}

/// What a site has published.
#[derive(Debug)]
pub(super) struct SiteContent {
    pub(super) form: SiteForm,
    pub(super) behaviour: SiteBehaviour,
    /// How often it was asked for, whatever came of it.
    pub(super) requests: u64,
    /// Whether a client that was redirected has not arrived yet.
    pub(super) awaits_hop: bool,
    /// The entries shown, oldest first; their numbers have no gaps.
    shown: VecDeque<PublishedEntry>,
    next_number: u64,
    /// Grows with every change of the document.
    version: u64,
    /// Whole seconds, later with every version, so that conditional requests by date miss nothing.
    modified: Timestamp,
    first_asked: Option<Timestamp>,
    /// How many entries time has made.
    made_by_time: u32,
    /// How often its habits have acted; ids, links and order of the entries follow from it.
    round: u64,
    /// Whether habits have ended: nothing changes or appears by itself any more, and no entry is hidden.
    is_calm: bool,
    document: Option<Arc<ServedDocument>>,
    served: ServedVersions,
}

/// A document as it is sent.
#[derive(Debug)]
pub(super) struct ServedDocument {
    pub(super) content_type: &'static str,
    pub(super) encoding: Option<&'static str>,
    pub(super) body: Vec<u8>,
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
    /// The entries in it.
    pub(super) entries: Arc<[EntryVersion]>,
}

impl SiteContent {
    pub(super) fn new(form: SiteForm, behaviour: SiteBehaviour, settings: &WebSettings, now: Timestamp) -> SiteContent {
        let mut content = SiteContent {
            form,
            behaviour,
            requests: 0,
            awaits_hop: false,
            shown: VecDeque::new(),
            next_number: 0,
            version: 0,
            modified: Timestamp::from_seconds(now.as_seconds()),
            first_asked: None,
            made_by_time: 0,
            round: 0,
            is_calm: false,
            document: None,
            served: ServedVersions::default(),
        };
        for hours in (1..=settings.backlog as u64).rev() {
            content.show(now - Duration::from_secs(hours * 3600));
        }
        content
    }

    /// Publishes so many entries.
    pub(super) fn publish(&mut self, count: usize, now: Timestamp) {
        if count == 0 {
            return;
        }
        for _ in 0..count {
            self.show(now);
        }
        self.change(now);
    }

    /// Gives the site another behaviour.
    pub(super) fn set_behaviour(&mut self, behaviour: SiteBehaviour, now: Timestamp) {
        self.behaviour = behaviour;
        self.change(now);
    }

    /// Ends the habits of the site, and shows all entries that it has.
    pub(super) fn calm(&mut self, now: Timestamp) {
        self.is_calm = true;
        self.change(now);
    }

    /// Publishes due entries at a request, and lets habits act. The first request creates the first entries.
    pub(super) fn publish_due(&mut self, settings: &WebSettings, now: Timestamp) {
        let Some(first_asked) = self.first_asked else {
            self.first_asked = Some(now);
            // A page without an article would be no page.
            let least = usize::from(self.behaviour == SiteBehaviour::Website && self.shown.is_empty());
            self.publish(settings.first_entries.min(self.form.window).max(least), now);
            return;
        };
        self.act_on_habits(settings, now);
        let count = match settings.publishing {
            _ if self.is_calm => 0,
            _ if self.behaviour == SiteBehaviour::Busy => 1,
            Publishing::Never => 0,
            Publishing::EveryRequests(requests) => u32::from(self.requests.is_multiple_of(u64::from(requests.max(1)))),
            Publishing::Every(period) => {
                let periods = now.since(first_asked).as_micros() / period.as_micros().max(1);
                let due = u32::try_from(periods).unwrap_or(u32::MAX);
                let count = due.saturating_sub(self.made_by_time);
                self.made_by_time = due;
                // What would have come and gone unseen is not made.
                count.min(self.form.window as u32)
            }
            Publishing::Chance(chance) => u32::from(self.fate(settings.seed) < chance),
        };
        self.publish(count as usize, now);
    }

    /// A number from 0 to 1 that follows from the seed, the site and how often it was asked.
    pub(super) fn fate(&self, seed: u64) -> f64 {
        SeededDice::new(spread(spread(seed, self.form.site as u64), self.requests)).roll()
    }

    /// The document as it is now.
    pub(super) fn document(&mut self, seed: u64, prose: &Prose) -> Arc<ServedDocument> {
        if let Some(document) = &self.document {
            return Arc::clone(document);
        }
        let is_page = self.behaviour == SiteBehaviour::Website;
        let entries: Vec<PublishedEntry> = match is_page {
            true => self.shown.back().copied().into_iter().collect(),
            false => self.listed(),
        };
        let content = DocumentStyle { form: &self.form, behaviour: self.behaviour, round: self.round, seed, prose };
        let (content_type, text) = render::render(&content, &entries);
        let (encoding, mut body) = match self.behaviour {
            SiteBehaviour::Gzip => (Some("gzip"), render::gzip(text.as_bytes())),
            _ => (None, text.into_bytes()),
        };
        // It is kept for as long as nothing is published.
        body.shrink_to_fit();
        let weak = if self.form.is_weak { "W/" } else { "" };
        let validates = self.behaviour != SiteBehaviour::NoValidators;
        let document = Arc::new(ServedDocument {
            content_type,
            encoding,
            body,
            etag: (validates && self.form.has_etag)
                .then(|| format!("{weak}\"{seed:x}-{}-{}\"", self.form.site, self.version)),
            last_modified: (validates && self.form.has_last_modified).then(|| render::http_date(self.modified)),
            entries: entries
                .iter()
                .map(|entry| EntryVersion { number: entry.number, version: entry.version })
                .collect(),
        });
        self.document = Some(Arc::clone(&document));
        document
    }

    /// Remembers that these entries were served whole.
    pub(super) fn note_served(&mut self, entries: &[EntryVersion], now: Timestamp) {
        self.served.note(entries, now);
    }

    /// All entries that were served whole.
    pub(super) fn served(&self, settings: &WebSettings) -> impl Iterator<Item = ServedEntry> {
        let habits = self.form.habits;
        let is_dated = !habits.has(EntryHabit::Undated) && !habits.has(EntryHabit::ZeroDates);
        let backlog = if is_dated { settings.backlog as u64 } else { 0 };
        self.served.all().map(move |(EntryVersion { number, version }, served_at)| ServedEntry {
            number,
            version,
            served_at,
            is_backlog: number < backlog,
        })
    }

    fn show(&mut self, now: Timestamp) {
        let number = self.next_number;
        let is_late = self.form.habits.has(EntryHabit::LateEntries) && !number.is_multiple_of(2);
        let published = match self.first_asked.filter(|_| is_late) {
            Some(first_asked) => first_asked + now.since(first_asked) / 2,
            None => now,
        };
        self.shown.push_back(PublishedEntry { number, published, version: 0, updated: None });
        self.next_number += 1;
        while self.shown.len() > self.form.window {
            self.shown.pop_front();
        }
    }

    /// The entries of the feed in the order of the document: by date, the newest first, unless readers vote.
    fn listed(&self) -> Vec<PublishedEntry> {
        let habits = self.form.habits;
        let mut entries: Vec<PublishedEntry> = self.shown.iter().rev().copied().collect();
        if !self.is_calm && habits.has(EntryHabit::TruncatedDocuments) && !self.round.is_multiple_of(2) {
            entries.truncate(2);
        }
        if !self.is_calm && habits.has(EntryHabit::LeaveAndReturn) {
            let mut place = 0;
            entries.retain(|entry| {
                place += 1;
                place <= 2 || !spread(self.round, entry.number).is_multiple_of(3)
            });
        }
        match habits.has(EntryHabit::VotesOrder) {
            true => entries.sort_by_key(|entry| spread(self.round.wrapping_add(1), entry.number)),
            false => entries.sort_by_key(|entry| std::cmp::Reverse(entry.published)),
        }
        entries
    }

    /// Changes what habits change, at a share of requests.
    fn act_on_habits(&mut self, settings: &WebSettings, now: Timestamp) {
        let habits = self.form.habits;
        if self.is_calm || !habits.change_documents() {
            return;
        }
        let dice = SeededDice::new(spread(spread(settings.seed ^ HABIT_SALT, self.form.site as u64), self.requests));
        if dice.roll() >= settings.habit_chance {
            return;
        }
        self.round += 1;
        let changing = self.shown.len().min(CHANGING);
        let old = 1 + (dice.roll() * changing.saturating_sub(1) as f64) as usize;
        let edits = [
            (EntryHabit::EditsNewest, 0, false),
            (EntryHabit::EditsNewestDated, 0, true),
            (EntryHabit::EditsOld, old, false),
            (EntryHabit::EditsOldDated, old, true),
        ];
        for (_, place, is_dated) in edits.into_iter().filter(|(habit, ..)| habits.has(*habit)) {
            if let Some(entry) = self.shown.iter_mut().rev().nth(place) {
                entry.version += 1;
                entry.updated = if is_dated { Some(now) } else { entry.updated };
            }
        }
        if habits.has(EntryHabit::CommentCounters) {
            self.shown.iter_mut().rev().take(CHANGING).for_each(|entry| entry.version += 1);
        }
        self.change(now);
    }

    fn change(&mut self, now: Timestamp) {
        self.version += 1;
        self.modified = Timestamp::from_seconds(now.as_seconds().max(self.modified.as_seconds() + 1));
        self.document = None;
    }
}

impl ServedDocument {
    /// Whether these validators match the document.
    pub(super) fn is_known(&self, if_none_match: Option<&str>, if_modified_since: Option<&str>) -> bool {
        match (if_none_match, if_modified_since) {
            // If-None-Match wins (RFC 9110, 13.2.2).
            (Some(tags), _) => self.etag.as_deref().is_some_and(|etag| tags.split(',').any(|tag| tag.trim() == etag)),
            (None, Some(date)) => self.last_modified.as_deref() == Some(date),
            (None, None) => false,
        }
    }
}
