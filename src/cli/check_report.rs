//! Report of `feedwarden check`, as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};
use url::Url;

use super::check_robots::RobotsVerdict;
use super::hints::{FailedPoll, HintFor, hints};
use super::sanitize::{cut, plain_lines};
use super::times::{localized, second};
use crate::fetch::{Document, Reading, Trace};
use crate::model::{EntryCounts, Severity, Source};
use crate::rules::classify::Classified;
use crate::rules::due::NextPoll;
use crate::rules::failure::FailureStep;
use crate::rules::filter::EntryDecision;
use crate::rules::shown_url::shown_url;

/// Maximum number of entries in the text report.
const SHOWN_ENTRIES_MAX: usize = 20;

/// Kind of a failure, its consequence and its message.
pub(super) type CheckedFailure = (Classified, FailureStep, String);

/// One poll and its consequences.
pub(super) struct Report {
    /// The source after the poll.
    pub(super) source: Source,
    /// Verdicts of robots.txt for each page of a redirect chain.
    pub(super) robots: Vec<RobotsVerdict>,
    pub(super) trace: Trace,
    pub(super) reading: Option<Box<Reading>>,
    /// Decision for each entry.
    pub(super) entries: Vec<EntryDecision>,
    pub(super) counts: EntryCounts,
    pub(super) step: Option<CheckedFailure>,
    pub(super) next: NextPoll,
}

impl Report {
    pub(super) fn would_work(&self) -> bool {
        self.step.is_none()
    }

    pub(super) fn for_people(&self) -> String {
        let mut text = String::new();
        self.write_for_people(&mut text).expect("a String takes every write");
        plain_lines(&text)
    }

    fn write_for_people(&self, text: &mut String) -> std::fmt::Result {
        for said in &self.robots {
            writeln!(text, "robots     {} on {}: {}", said.robots, said.page, said.reason)?;
        }
        for hop in &self.trace.hops {
            let address = hop.address.map_or_else(|| "(no address)".to_owned(), |address| address.to_string());
            let status = hop.status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
            writeln!(text, "asked      {} at {address}: {status}", hop.url)?;
        }
        if let Some(limit) = self.trace.rate_limit {
            let left = if limit.is_used_up { "no requests left" } else { "requests left not stated" };
            writeln!(text, "limit      {left}, reset at {}", second(limit.resets_at))?;
        }
        if let Some(url) = &self.trace.moved_to {
            writeln!(text, "moved      permanently to {url}")?;
        }
        if let Some(reading) = &self.reading {
            self.write_reading(text, reading)?;
        }
        for feed in &self.trace.linked_feeds {
            writeln!(text, "links to   {} {}", feed.url, feed.title.as_deref().unwrap_or_default())?;
        }
        if let Some((classified, step, error)) = &self.step {
            writeln!(text, "failed     {error}")?;
            writeln!(text, "kind       {}, {}: {}", classified.kind, classified.class, classified.reason)?;
            writeln!(text, "then       {}", localized(&step.to_string()))?;
            let poll = FailedPoll {
                kind: Some(classified.kind),
                status: self.trace.hops.last().and_then(|hop| hop.status),
                error,
                has_linked_feeds: !self.trace.linked_feeds.is_empty(),
            };
            for hint in hints(&poll, HintFor::NewSource(&shown_url(&self.source.settings.url))) {
                writeln!(text, "try        {hint}")?;
            }
        }
        writeln!(text, "next       {}", localized(&self.next.to_string()))?;
        writeln!(text, "{}", if self.would_work() { "This source would work." } else { "This source would not work." })
    }

    fn write_reading(&self, text: &mut String, reading: &Reading) -> std::fmt::Result {
        let (kind, charset, title) = describe(&reading.document);
        let Trace { body_bytes, wire_bytes, .. } = self.trace;
        writeln!(text, "read       {kind} in {charset}, {body_bytes} bytes ({wire_bytes} on the wire)")?;
        if let Some(title) = title {
            writeln!(text, "title      {title}")?;
        }
        if let Document::Feed { notes, .. } = &reading.document {
            for note in notes {
                writeln!(text, "repaired   {note}")?;
            }
        }
        let validators = [("ETag", &reading.validators.etag), ("Last-Modified", &reading.validators.last_modified)];
        for (name, value) in validators {
            if let Some(value) = value {
                writeln!(text, "validator  {name}: {value}")?;
            }
        }
        if let Some(until) = reading.hints.fresh_until {
            writeln!(text, "fresh      until {}", second(until))?;
        }
        if let Some(minutes) = reading.hints.update_period_minutes {
            writeln!(text, "changes    no faster than every {minutes} min, as the feed says")?;
        }
        if let (Document::Page { .. }, [page]) = (&reading.document, &reading.entries[..]) {
            for (name, value) in [("author", &page.content().author), ("byline", &page.content().byline)] {
                if let Some(value) = value {
                    writeln!(text, "{name}     {value}")?;
                }
            }
        }
        writeln!(text, "entries    {}", self.counts)?;
        for (entry, post) in self.entries.iter().zip(&reading.entries).take(SHOWN_ENTRIES_MAX) {
            let date = post.published_at().map_or_else(|| "undated".to_owned(), second);
            let title = cut(&post.content().title, 60);
            writeln!(text, "  {date:<23}  {title}  ({entry})")?;
        }
        match self.entries.len().checked_sub(SHOWN_ENTRIES_MAX + 1) {
            Some(more) => writeln!(text, "  and {} more", more + 1),
            None => Ok(()),
        }
    }

    pub(super) fn for_programs(&self) -> Value {
        let hops = self.trace.hops.iter().map(|hop| {
            json!({ "url": hop.url.as_str(), "address": hop.address.map(|address| address.to_string()), "status": hop.status })
        });
        let robots = self.robots.iter().map(|said| {
            json!({
                "url": said.robots.as_str(), "page": said.page.as_str(),
                "allowed": said.is_allowed, "reason": said.reason,
            })
        });
        let asked = self.trace.hops.first().map(|hop| &hop.url).or(self.robots.first().map(|said| &said.page));
        json!({
            "ok": self.would_work(),
            // The URL of the request, without the credentials of the argument.
            "url": asked.map(Url::as_str),
            "type": self.source.settings.source_type.name(),
            "robots": robots.collect::<Vec<_>>(),
            "hops": hops.collect::<Vec<_>>(),
            "rate_limit": self.trace.rate_limit
                .map(|limit| json!({ "is_used_up": limit.is_used_up, "resets_at": limit.resets_at })),
            "moved_to": self.trace.moved_to.as_ref().map(Url::as_str),
            "body_bytes": self.trace.body_bytes,
            "wire_bytes": self.trace.wire_bytes,
            "linked_feeds": self.trace.linked_feeds.iter()
                .map(|feed| json!({ "url": feed.url, "title": feed.title }))
                .collect::<Vec<_>>(),
            "document": self.reading.as_deref().map(|reading| self.document_for_programs(reading)),
            "failure": self.step.as_ref().map(|(classified, step, error)| json!({
                "error": error,
                "error_type": classified.kind.name(),
                "failure_type": classified.class.name(),
                "level": if classified.severity == Severity::Warn { "warn" } else { "error" },
                "reason": classified.reason,
                "decision": step.to_string(),
            })),
            "next_poll_at": self.next.at(),
            "next_poll_reason": self.next.to_string(),
        })
    }

    fn document_for_programs(&self, reading: &Reading) -> Value {
        let (format, charset, title) = describe(&reading.document);
        let entries = self.entries.iter().zip(&reading.entries).map(|(entry, post)| {
            let text = post.content();
            json!({
                "guid": text.guid,
                "title": text.title,
                "url": text.url,
                "author": text.author,
                "byline": text.byline,
                "published": post.published_at(),
                "content_hash": post.content_hash().to_string(),
                "stored": matches!(entry, EntryDecision::Kept(_)),
                "reason": entry.to_string(),
            })
        });
        json!({
            "format": format,
            "charset": charset,
            "title": title,
            "etag": reading.validators.etag,
            "last_modified": reading.validators.last_modified,
            "fresh_until": reading.hints.fresh_until,
            "update_period_minutes": reading.hints.update_period_minutes,
            "counts": self.counts,
            "entries": entries.collect::<Vec<_>>(),
        })
    }
}

fn describe(document: &Document) -> (String, &'static str, Option<&str>) {
    match document {
        Document::Feed { format, charset, title, .. } => (format.to_string(), charset, title.as_deref()),
        Document::Page { charset, title } => ("a web page".to_owned(), charset, title.as_deref()),
        Document::Account { what, name, .. } => ((*what).to_owned(), "UTF-8", Some(name)),
    }
}
