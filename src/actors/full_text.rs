//! Fetches the pages of entries (full text), after their polls are settled: a post is stored with the text of its feed
//! and gets the text of its page as a change.
//!
//! The queue is in the store, so a crash or a kill loses no page; the attempt under way is counted and repeated. Pages
//! of different hosts are fetched side by side, those of one host one at a time, each at the turn of its host. No other
//! actor waits for this one.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::fut::WrapFuture;
use actix::{Actor, AsyncContext, Context};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use slog::{debug, error, info, warn};
use tokio::sync::Notify;

use super::context::PipelineContext;
use super::host::{DocumentFetcher, NoTurn};
use super::side_work::while_working;
use super::store_watch::retry_while_unavailable;
use crate::fetch::{Answer, Fetched, Task};
use crate::model::{
    FetchedPage, HostKey, PageEnd, PostId, QuarantinedRow, QueuedPage, RowKey, Shard, SourceAccess, SourceId,
    TextOrigin, Timestamp,
};
use crate::rules::full_text::{after_failure, after_reading, no_attempt_left, queue_bounds, retry_at};
use crate::rules::shown_url::shown_url;
use crate::sources::article_task;
use crate::store::StoreError;

/// Hosts whose pages are fetched, or waited for, at once.
const HOSTS_MAX: usize = 32;
/// Time between two checks for pages that other nodes queued, and for the end of a pause of polling.
const CHECK_EVERY: Duration = Duration::from_secs(15);

pub(super) struct FullTextActor(FullTextWorker);

/// What the other actors see of the work on full texts.
#[derive(Default)]
pub(super) struct FullTexts {
    queued: Notify,
    under_way: AtomicUsize,
}

/// A page whose requests have begun.
struct PageUnderWay<'a>(&'a FullTexts);

impl FullTexts {
    /// Pages were queued.
    pub(super) fn wake(&self) {
        self.queued.notify_one();
    }

    /// Number of pages whose requests have begun and whose end is not stored.
    pub(super) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Acquire)
    }

    fn begin(&self) -> PageUnderWay<'_> {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        PageUnderWay(self)
    }
}

impl Drop for PageUnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

impl FullTextActor {
    /// Name in fault rules.
    const NAME: &'static str = "full-text";

    pub(super) fn new(documents: DocumentFetcher) -> FullTextActor {
        FullTextActor(FullTextWorker { documents })
    }
}

impl Actor for FullTextActor {
    type Context = Context<FullTextActor>;

    fn started(&mut self, ctx: &mut Context<FullTextActor>) {
        let worker = self.0.clone();
        ctx.spawn(async move { worker.run().await }.into_actor(self));
    }
}

#[derive(Clone)]
struct FullTextWorker {
    documents: DocumentFetcher,
}

impl FullTextWorker {
    /// Fetches pages as they fall due, without end.
    async fn run(&self) {
        let context = self.context();
        let mut under_way = FuturesUnordered::new();
        let mut hosts = HashSet::<HostKey>::new();
        self.correct().await;
        loop {
            let now = context.clock.now();
            let mut wake_at = now + CHECK_EVERY;
            let mut ended = Vec::new();
            let due = while_working(&mut under_way, &mut ended, self.hosts()).await;
            for host in ended {
                hosts.remove(&host);
            }
            for (host, due_at) in due {
                if hosts.contains(&host) {
                    continue;
                }
                if due_at > now {
                    wake_at = wake_at.min(due_at);
                    break;
                }
                if hosts.len() >= HOSTS_MAX {
                    break;
                }
                hosts.insert(host.clone());
                under_way.push(self.work_on(host));
            }
            tokio::select! {
                Some(host) = under_way.next(), if !under_way.is_empty() => {
                    hosts.remove(&host);
                }
                () = context.full_texts.queued.notified() => {}
                () = context.clock.until(wake_at) => {}
            }
        }
    }

    /// Makes pages due that a clock that was ahead has queued.
    async fn correct(&self) {
        let PipelineContext { store, clock, .. } = &**self.context();
        let (now, due_max, queued_max) = queue_bounds(clock.now());
        if let Err(cause) = retry_while_unavailable(|| store.correct_full_texts(now, due_max, queued_max)).await {
            error!(self.documents.log, "full texts not read"; "error" => %cause);
        }
    }

    /// Hosts of queued pages, those that are due first; none while polling is paused.
    async fn hosts(&self) -> Vec<(HostKey, Timestamp)> {
        let (store, shards) = (&self.context().store, self.context().fleet.shards());
        let read = async {
            if retry_while_unavailable(|| store.paused_since()).await?.is_some() {
                return Ok(Vec::new());
            }
            // Hosts under way may come first.
            retry_while_unavailable(|| store.full_text_hosts(&shards, 2 * HOSTS_MAX as u32)).await
        };
        read.await.unwrap_or_else(|cause: StoreError| {
            error!(self.documents.log, "full texts not read"; "error" => %cause);
            Vec::new()
        })
    }

    /// Fetches one page of a host.
    async fn work_on(&self, host: HostKey) -> HostKey {
        if let Err(cause) = self.next_page(&host).await {
            error!(self.documents.log, "full text not stored"; "host" => host.as_str(), "error" => %cause);
            // The same error would follow at once.
            self.context().clock.until(self.context().clock.now() + CHECK_EVERY).await;
        }
        host
    }

    async fn next_page(&self, host: &HostKey) -> Result<(), StoreError> {
        // Held until the page is stored: meanwhile no other node fetches pages of this host.
        let Some(_claim) = self.context().fleet.claim(Shard::of_host(Some(host))) else { return Ok(()) };
        let PipelineContext { store, clock, .. } = &**self.context();
        let page = match retry_while_unavailable(|| store.next_full_text(host, clock.now())).await {
            Ok(Some(page)) => page,
            Ok(None) => return Ok(()),
            Err(StoreError::BadRow(row)) => return self.drop_unreadable(*row).await,
            Err(other) => return Err(other),
        };
        if page.post.content.text_origin != TextOrigin::FeedPending {
            // An edit made the page needless: the end of the attempt only takes it out of the queue.
            return self.finish(&page, PageEnd::GivenUp { error: String::new() }).await;
        }
        if let Some(error) = no_attempt_left(&page, clock.now()) {
            return self.finish(&page, PageEnd::GivenUp { error }).await;
        }
        let Some(task) = self.task(&page).await? else { return Ok(()) };
        let turn = match self.documents.turn(&task).await {
            Ok(turn) => turn,
            Err(no_turn) => return self.defer(host, no_turn).await,
        };
        let _under_way = self.context().full_texts.begin();
        let retry_at = retry_at(page.attempts, &self.context().policy().posts, clock.now());
        if !retry_while_unavailable(|| store.begin_full_text(&page, retry_at)).await? {
            return Ok(());
        }
        if self.context().faults.inject_into_work(FullTextActor::NAME, "Fetch").await {
            return Ok(());
        }
        let end = match self.documents.fetch(turn, task).await {
            Ok(fetched) => self.end_of(&page, fetched),
            Err(NoTurn { host, until, because }) => {
                let host = host.map(|host| host.to_string()).unwrap_or_default();
                PageEnd::Retry { error: format!("the page leads to {host}, no request before {until}: {because}") }
            }
        };
        if self.context().faults.inject_into_work(FullTextActor::NAME, "Fetched").await {
            return Ok(());
        }
        self.finish(&page, end).await
    }

    /// A post that cannot be read must not keep the other pages of its host waiting.
    async fn drop_unreadable(&self, row: QuarantinedRow) -> Result<(), StoreError> {
        let RowKey::Id(id) = row.key else { return Err(StoreError::BadRow(Box::new(row))) };
        warn!(self.documents.log, "full text dropped"; "post_id" => id, "error" => row.to_string());
        let store = &self.context().store;
        retry_while_unavailable(|| store.drop_full_text(PostId(id))).await
    }

    /// The request for a page; none if the source is gone.
    async fn task(&self, page: &QueuedPage) -> Result<Option<Task>, StoreError> {
        let (store, post) = (&self.context().store, &page.post);
        let read = retry_while_unavailable(|| store.sources_to_poll(vec![post.source_id])).await?;
        let Some(ready) = read.into_iter().next() else { return Ok(None) };
        // A login that cannot be read is missed by the page's server, which says so.
        let access = ready.access.unwrap_or_else(|_| SourceAccess::default());
        let url = post.content.url.as_deref().unwrap_or_default();
        Ok(Some(article_task(&ready.source.settings, access, url)))
    }

    fn end_of(&self, page: &QueuedPage, fetched: Fetched) -> PageEnd {
        self.context().statistics.count_wire_bytes(fetched.trace.wire_bytes);
        let entry = &page.post.content;
        match fetched.answer {
            Answer::Read(reading) => match reading.entries.first() {
                Some(article) => after_reading(entry, article.content().clone(), &self.context().policy().posts),
                None => PageEnd::GivenUp { error: "the page holds no article text".to_owned() },
            },
            Answer::Failed(report) => after_failure(page.attempts + 1, &report),
            Answer::NotModified { .. } | Answer::PendingRedirect(_) => {
                PageEnd::Retry { error: "the server answered a request that was not made".to_owned() }
            }
        }
    }

    /// The host takes no requests: its pages wait, and no attempt is counted.
    async fn defer(&self, host: &HostKey, no_turn: NoTurn) -> Result<(), StoreError> {
        let NoTurn { until, because, .. } = no_turn;
        debug!(self.documents.log, "full texts deferred"; "host" => host.as_str(), "until" => %until,
            "reason" => because);
        let store = &self.context().store;
        retry_while_unavailable(|| store.defer_full_texts(host, until)).await
    }

    async fn finish(&self, page: &QueuedPage, end: PageEnd) -> Result<(), StoreError> {
        let PipelineContext { store, clock, statistics, events, .. } = &**self.context();
        let post = &page.post;
        let fetched = FetchedPage { post_id: post.id, content_hash: post.content_hash, end, at: clock.now() };
        if !retry_while_unavailable(|| store.finish_full_text(fetched.clone())).await? {
            return Ok(());
        }
        let url = shown_url(post.content.url.as_deref().unwrap_or_default());
        let log = &self.documents.log;
        statistics.count_full_text(&fetched.end);
        match fetched.end {
            PageEnd::Article { text, .. } => {
                debug!(log, "full text stored"; "source_id" => post.source_id.0, "post_id" => post.id.0, "url" => url,
                    "characters" => text.chars().count());
                self.note_page(post.source_id, None).await;
                events.note_arrival();
            }
            PageEnd::Retry { error } => {
                let retry_at = retry_at(page.attempts, &self.context().policy().posts, clock.now());
                info!(log, "full text failed"; "source_id" => post.source_id.0, "post_id" => post.id.0, "url" => url,
                    "error" => &error, "attempts" => page.attempts + 1, "retry_at" => retry_at.to_string());
                self.note_page(post.source_id, Some(error)).await;
            }
            PageEnd::GivenUp { error } => {
                info!(log, "full text given up"; "source_id" => post.source_id.0, "post_id" => post.id.0, "url" => url,
                    "error" => &error);
                self.note_page(post.source_id, Some(error)).await;
                events.note_arrival();
            }
        }
        Ok(())
    }

    /// Notes the attempt in the history of the source; the post has it in any case.
    async fn note_page(&self, source: SourceId, error: Option<String>) {
        if self.context().policy().history.is_kept()
            && let Err(cause) = self.context().store.note_page(source, error).await
        {
            debug!(self.documents.log, "full text not noted"; "source_id" => source.0, "error" => %cause);
        }
    }

    fn context(&self) -> &Arc<PipelineContext> {
        &self.documents.context
    }
}
