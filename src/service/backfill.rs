//! Backfill: posts from the older pages that a feed links to (RFC 5005, JSON Feed), or that WordPress numbers.

use std::collections::HashSet;
use std::time::Duration;

use slog::info;

use super::audit::of_source;
use super::{Result, Service, ServiceError};
use crate::actors::ArchivePage;
use crate::clock::Stopwatch;
use crate::fetch::{Document, Reading};
use crate::model::{
    EntryCounts, EntryQuery, Settled, Settlement, Source, SourceAccess, SourceId, SourceToPoll, Watermark,
    check_web_url,
};
use crate::rules::backfill::{decide, is_repeated, wordpress_page};
use crate::rules::full_text::want_pages;
use crate::rules::identity;
use crate::rules::shown_url::shown_url;
use crate::sources::{archive_task, kind};

/// The most pages that one backfill reads.
pub const BACKFILL_PAGES_MAX: u32 = 1000;
/// After this time no further page is requested; the report says where to continue.
const BACKFILL_WITHIN: Duration = Duration::from_secs(25);
/// Time limit for one page, with the wait for the turn of its host.
const PAGE_WITHIN: Duration = Duration::from_secs(50);
/// How often a page is computed again because its source was changed meanwhile.
const ROUNDS_MAX: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackfillRequest {
    /// The most pages to read, the feed itself included.
    pub pages: u32,
    /// Whether pages are numbered as WordPress does where the feed links to none.
    pub wordpress: bool,
    /// First page, instead of the feed itself: where an earlier backfill ended.
    pub from: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackfillReport {
    pub pages: u32,
    pub posts: u64,
    /// What became of the entries of all pages.
    pub counts: EntryCounts,
    pub end: BackfillEnd,
    /// First page that was not read.
    pub next_url: Option<String>,
}

/// Why a backfill ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackfillEnd {
    /// The last page links to no older one.
    NoOlderPage,
    PageLimit,
    /// The last page links to one that was read before.
    Repeated,
    /// The time of one request is over.
    OutOfTime,
    Failed(String),
}

impl Service {
    /// Reads older pages of a feed and stores their entries as posts of a backfill.
    pub async fn backfill_source(&self, id: SourceId, request: BackfillRequest) -> Result<BackfillReport> {
        if !(1..=BACKFILL_PAGES_MAX).contains(&request.pages) {
            return Err(ServiceError::invalid("pages", format!("write a number from 1 to {BACKFILL_PAGES_MAX}")));
        }
        if let Some(Err(error)) = request.from.as_deref().map(check_web_url) {
            return Err(ServiceError::invalid("from", error));
        }
        let found = self.store.sources_to_poll(vec![id]).await?.into_iter().next();
        let SourceToPoll { source, access } = found.ok_or_else(|| ServiceError::not_found("source", id.0))?;
        if kind(source.settings.source_type).watermark() != Watermark::Published {
            return Err(ServiceError::Refused("only feeds have pages of older entries".to_owned()));
        }
        if self.store.paused_since().await?.is_some() {
            return Err(ServiceError::Refused("polling is paused".to_owned()));
        }
        let access = access.map_err(|error| ServiceError::Refused(format!("its login cannot be read: {error}")))?;
        let report = self.read_pages(&source, &access, &request).await?;
        info!(self.pipeline.log(), "source backfilled"; "source_id" => id.0,
            "url" => shown_url(&source.settings.url), "pages" => report.pages, "new_posts" => report.posts,
            "reason" => report.end.to_string());
        let change = of_source("source.backfill", &source).after("pages", report.pages);
        self.note_change(change.after("new_posts", report.posts as usize)).await;
        Ok(report)
    }

    async fn read_pages(
        &self,
        source: &Source,
        access: &SourceAccess,
        request: &BackfillRequest,
    ) -> Result<BackfillReport> {
        let watch = Stopwatch::start();
        let mut url = request.from.clone().unwrap_or_else(|| source.settings.url.clone());
        let mut report = BackfillReport {
            pages: 0,
            posts: 0,
            counts: EntryCounts::default(),
            end: BackfillEnd::NoOlderPage,
            next_url: None,
        };
        let mut read = HashSet::new();
        loop {
            let task = archive_task(&source.settings, access.clone(), &url);
            let reading = match self.pipeline.fetch_archive_page(task, PAGE_WITHIN).await {
                ArchivePage::Read(reading) => reading,
                // WordPress has no page behind the last one.
                ArchivePage::Failed { status: Some(404), .. } if request.wordpress && report.pages > 0 => {
                    return Ok(report);
                }
                ArchivePage::Failed { error, .. } => {
                    report.end = BackfillEnd::Failed(error);
                    report.next_url = Some(url);
                    return Ok(report);
                }
            };
            let next = next_page(&url, &reading, request.wordpress);
            let is_empty = reading.entries.is_empty();
            self.store_page(source.id, *reading, &mut report).await?;
            report.pages += 1;
            read.insert(url);
            // A numbered page without entries is behind the last one.
            let Some(next) = next.filter(|_| !is_empty) else { return Ok(report) };
            report.end = match () {
                () if is_repeated(&next, &read) => BackfillEnd::Repeated,
                () if report.pages >= request.pages => BackfillEnd::PageLimit,
                () if watch.elapsed() >= BACKFILL_WITHIN => BackfillEnd::OutOfTime,
                () => {
                    url = next;
                    continue;
                }
            };
            report.next_url = Some(next);
            return Ok(report);
        }
    }

    /// Stores what is new in a page, on the current version of the source.
    async fn store_page(&self, id: SourceId, mut reading: Reading, report: &mut BackfillReport) -> Result<()> {
        let keys = identity::keys(&reading.entries);
        for (post, key) in reading.entries.iter_mut().zip(keys) {
            *post = post.clone().with_key(key);
        }
        for _ in 0..ROUNDS_MAX {
            let mut source = self.source(id).await?;
            let entries = reading.entries.iter().map(|post| (post.key(), post.content_hash())).collect();
            let query = EntryQuery { source_id: id, entries };
            let known = self.store.known_entries(vec![query]).await?.pop().unwrap_or_default();
            let now = self.now();
            let decision = decide(&source, &reading.entries, &known, &self.pipeline.policy(), now);
            let (counts, mut posts) = (decision.counts, decision.posts);
            let mut new_posts = 0;
            if !posts.is_empty() {
                source.state.bodies_repeat |= decision.bodies_repeat;
                let mode = source.settings.full_text.unwrap_or(self.pipeline.policy().posts.full_text);
                let pages = want_pages(mode, &mut posts, &mut []);
                let settlement = Settlement { posts, pages, ..Settlement::of_state(&source, now) };
                match self.store.settle(vec![settlement]).await?.pop() {
                    Some(Settled::Written { new_posts: ids, .. }) => new_posts = ids.len() as u64,
                    Some(Settled::Stale(_)) => continue,
                    Some(Settled::Locked) => {
                        let text = "another session of the database locks the row of the source; try again later";
                        return Err(ServiceError::Refused(text.to_owned()));
                    }
                    Some(Settled::Gone | Settled::Fenced) | None => {
                        return Err(ServiceError::not_found("source", id.0));
                    }
                }
                self.pipeline.note_new_posts();
            }
            report.posts += new_posts;
            report.counts.add(&counts);
            report.counts.blank += reading.blank as u64;
            return Ok(());
        }
        Err(ServiceError::Refused("the source is changed all the time; try again later".to_owned()))
    }
}

fn next_page(url: &str, reading: &Reading, wordpress: bool) -> Option<String> {
    let Document::Feed { next_archive, .. } = &reading.document else { return None };
    next_archive.clone().or_else(|| wordpress.then(|| wordpress_page(url)).flatten())
}

impl std::fmt::Display for BackfillEnd {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BackfillEnd::NoOlderPage => formatter.write_str("the last page links to no older one"),
            BackfillEnd::PageLimit => formatter.write_str("the number of pages is reached"),
            BackfillEnd::Repeated => formatter.write_str("the last page links to one that was read before"),
            BackfillEnd::OutOfTime => formatter.write_str("the time of one request is over"),
            BackfillEnd::Failed(error) => write!(formatter, "the next page failed: {error}"),
        }
    }
}
