//! What a site has published, and what of it was served.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::prose::{Prose, spread};
use super::render::{self, FeedSyntax};
use super::settings::{Publishing, WebSettings};
use super::site_behaviour::SiteBehaviour;
use crate::dice::{Dice, SeededDice};
use crate::model::Timestamp;

/// An entry; its text follows from its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct PublishedEntry {
    pub(super) number: u64,
    pub(super) published: Timestamp,
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
    document: Option<Arc<ServedDocument>>,
    /// The numbers of all entries that were served whole, in order and apart.
    served: Vec<Range<u64>>,
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
    pub(super) numbers: Range<u64>,
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
            document: None,
            served: Vec::new(),
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

    /// Publishes due entries at a request. The first request creates the first entries.
    pub(super) fn publish_due(&mut self, settings: &WebSettings, now: Timestamp) {
        let Some(first_asked) = self.first_asked else {
            self.first_asked = Some(now);
            // A page without an article would be no page.
            let least = usize::from(self.behaviour == SiteBehaviour::Website && self.shown.is_empty());
            self.publish(settings.first_entries.min(self.form.window).max(least), now);
            return;
        };
        if self.behaviour == SiteBehaviour::Busy {
            return self.publish(1, now);
        }
        let count = match settings.publishing {
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
            false => self.shown.iter().rev().copied().collect(),
        };
        let (content_type, text) = render::render(&self.form, self.behaviour, &entries, seed, prose);
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
            numbers: match (entries.last(), entries.first()) {
                (Some(oldest), Some(newest)) => oldest.number..newest.number + 1,
                _ => 0..0,
            },
        });
        self.document = Some(Arc::clone(&document));
        document
    }

    /// Remembers that these entries were served whole.
    pub(super) fn note_served(&mut self, numbers: &Range<u64>) {
        if numbers.is_empty() {
            return;
        }
        let first = self.served.partition_point(|range| range.end < numbers.start);
        let behind = self.served.partition_point(|range| range.start <= numbers.end);
        let union = |all: Range<u64>, range: &Range<u64>| all.start.min(range.start)..all.end.max(range.end);
        let merged = self.served[first..behind].iter().fold(numbers.clone(), union);
        self.served.splice(first..behind, [merged]);
    }

    /// The numbers of all entries that were served whole.
    pub(super) fn served(&self) -> impl Iterator<Item = u64> {
        self.served.iter().cloned().flatten()
    }

    fn show(&mut self, published: Timestamp) {
        self.shown.push_back(PublishedEntry { number: self.next_number, published });
        self.next_number += 1;
        while self.shown.len() > self.form.window {
            self.shown.pop_front();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_served_is_counted_once_in_whatever_order_answers_end() {
        let form = SiteForm {
            site: 0,
            home: String::new(),
            format: FeedSyntax::Rss,
            has_etag: true,
            is_weak: false,
            has_last_modified: true,
            window: 3,
        };
        let mut content = SiteContent::new(form, SiteBehaviour::Healthy, &WebSettings::default(), Timestamp::EPOCH);
        let served = |content: &SiteContent| content.served().collect::<Vec<_>>();
        for numbers in [5..6, 2..3, 5..6, 0..0, 8..10] {
            content.note_served(&numbers);
        }
        assert_eq!(served(&content), [2, 5, 8, 9]);
        content.note_served(&(3..5));
        assert_eq!((served(&content), content.served.len()), (vec![2, 3, 4, 5, 8, 9], 2));
        content.note_served(&(0..20));
        assert_eq!(content.served.len(), 1);
    }
}
