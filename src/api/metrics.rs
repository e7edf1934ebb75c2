//! The counters in Prometheus' text format. `docs/operations.md` names them all; labels have a few fixed values each.

use std::fmt;
use std::time::Duration;

use actix_web::{HttpResponse, web};
use tokio::sync::Mutex;

use super::Api;
use super::views::{TreeNode, TreeView};
use crate::actors::{ACTORS, BUCKET_SECONDS, HistogramView, HostCounts, Latencies, SchedulerStatus, StatisticsView};
use crate::clock::Stopwatch;
use crate::model::{FailureKind, SourceCounts, Timestamp};
use crate::service::WebhookFigures;
use crate::telemetry::DroppedRecords;

/// Counting all sources means looking at all of them, so the count is this old at the most.
const COUNTS_AGE_MAX: Duration = Duration::from_secs(60);

/// The last count of sources, and when it was made.
pub(super) type CountsCache = Mutex<Option<(Timestamp, SourceCounts)>>;

/// Everything that is told.
struct Metrics {
    done: StatisticsView,
    latencies: Latencies,
    scheduler: Option<SchedulerStatus>,
    lag: Duration,
    hosts: HostCounts,
    sources: Option<SourceCounts>,
    store_seconds: Option<f64>,
    is_store_up: bool,
    is_ready: bool,
    webhooks: Option<WebhookFigures>,
    log_drops: DroppedRecords,
    mailboxes: Vec<(String, usize)>,
    uptime: Duration,
}

pub(super) async fn metrics(api: web::Data<Api>) -> HttpResponse {
    let text = collect(&api).await.to_string();
    HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(text)
}

async fn collect(api: &Api) -> Metrics {
    let now = api.service.now();
    let watch = Stopwatch::start();
    let store_seconds = api.service.ping_store().await.then(|| watch.elapsed().as_secs_f64());
    let is_store_up = store_seconds.is_some() && api.pipeline().store_trouble().is_none();
    let scheduler = api.pipeline().scheduler_status().await;
    let lag = scheduler.as_ref().and_then(|status| status.oldest_due_at).map_or(Duration::ZERO, |at| now.since(at));
    // A scheduler that does not answer is waited for once: whoever scrapes does not wait long either.
    let is_ready = api.service.not_ready_because(scheduler.as_ref()).await.is_empty();
    let statistics = api.pipeline().statistics();
    let mut mailboxes = Vec::new();
    if let Some(tree) = api.pipeline().tree(0) {
        note_mailboxes(&TreeView::from(&tree).root, &mut mailboxes);
    }
    Metrics {
        done: statistics.view(),
        latencies: statistics.latencies(),
        scheduler,
        lag,
        hosts: api.pipeline().host_counts(),
        sources: count_sources(api, now).await,
        store_seconds,
        is_store_up,
        is_ready,
        webhooks: api.service.webhook_figures().await.ok(),
        log_drops: api.log.dropped(),
        mailboxes,
        uptime: now.since(api.service.started_at()),
    }
}

/// Those who ask while it is counted wait for the same count.
async fn count_sources(api: &Api, now: Timestamp) -> Option<SourceCounts> {
    let mut cache = api.counts.lock().await;
    if let Some((at, counts)) = *cache
        && now.since(at) < COUNTS_AGE_MAX
    {
        return Some(counts);
    }
    let counts = api.service.count_sources().await.ok()?;
    *cache = Some((now, counts));
    Some(counts)
}

fn note_mailboxes(node: &TreeNode, mailboxes: &mut Vec<(String, usize)>) {
    if let Some(depth) = node.mailbox_depth {
        mailboxes.push((node.name.clone(), depth));
    }
    node.children.iter().for_each(|child| note_mailboxes(child, mailboxes));
}

impl fmt::Display for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut page = Page(formatter);
        page.polls(&self.done)?;
        page.one("new_posts_total", "counter", "Posts that were not known before.", self.done.new_posts)?;
        page.one("wire_bytes_total", "counter", "Bytes of body that crossed the wire.", self.done.wire_bytes)?;
        page.one("deferred_total", "counter", "Sources sent back by a held or silent host.", self.done.deferred)?;
        page.one("superseded_total", "counter", "Polls whose source changed meanwhile.", self.done.superseded)?;
        page.one("crashes_total", "counter", "Crashes of actors.", self.done.crashes)?;
        page.head("restarts_total", "counter", "Actors started again, by sort.")?;
        for (actor, count) in ACTORS.iter().zip(self.done.restarts_by_actor) {
            page.line("restarts_total", &format!("{{actor=\"{actor}\"}}"), count)?;
        }
        page.histogram("fetch_duration_seconds", "A poll's requests together.", &self.latencies.fetching)?;
        page.histogram("parse_duration_seconds", "Reading an answer.", &self.latencies.reading)?;
        page.histogram("settle_duration_seconds", "Writing a group of polls.", &self.latencies.settling)?;
        page.scheduler(self)?;
        page.head("hosts", "gauge", "Hosts that are there, by state.")?;
        let HostCounts { active, held, open } = self.hosts;
        for (state, count) in [("active", active), ("held", held), ("open", open)] {
            page.line("hosts", &format!("{{state=\"{state}\"}}"), count)?;
        }
        page.sources(self.sources)?;
        page.webhooks(&self.done, self.webhooks.as_ref())?;
        page.head("mailbox_depth", "gauge", "Messages that wait, by actor; hosts are left out.")?;
        for (actor, depth) in &self.mailboxes {
            page.line("mailbox_depth", &format!("{{actor=\"{actor}\"}}"), depth)?;
        }
        if let Some(seconds) = self.store_seconds {
            page.one("store_ping_seconds", "gauge", "What a question to the store takes now.", seconds)?;
        }
        page.one("store_up", "gauge", "Whether the store can be used.", u8::from(self.is_store_up))?;
        page.one("ready", "gauge", "Whether it does its work, as /readyz says.", u8::from(self.is_ready))?;
        page.head("log_dropped_total", "counter", "Log records that were lost, by reason.")?;
        page.line("log_dropped_total", "{reason=\"queue_full\"}", self.log_drops.queue_full)?;
        page.line("log_dropped_total", "{reason=\"write_failed\"}", self.log_drops.write_failed)?;
        page.one("uptime_seconds", "gauge", "Time since the start.", self.uptime.as_secs())?;
        page.head("build_info", "gauge", "Which build this is.")?;
        page.line("build_info", concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"}"), 1)
    }
}

/// A page of metrics being written.
struct Page<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Page<'_, '_> {
    fn head(&mut self, name: &str, kind: &str, help: &str) -> fmt::Result {
        writeln!(self.0, "# HELP feedwarden_{name} {help}\n# TYPE feedwarden_{name} {kind}")
    }

    fn line(&mut self, name: &str, labels: &str, value: impl fmt::Display) -> fmt::Result {
        writeln!(self.0, "feedwarden_{name}{labels} {value}")
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl fmt::Display) -> fmt::Result {
        self.head(name, kind, help)?;
        self.line(name, "", value)
    }

    fn polls(&mut self, done: &StatisticsView) -> fmt::Result {
        self.head("polls_total", "counter", "Settled polls, by outcome.")?;
        self.line("polls_total", "{outcome=\"read\"}", done.read)?;
        self.line("polls_total", "{outcome=\"unchanged\"}", done.unchanged)?;
        for (kind, count) in FailureKind::ALL.into_iter().zip(done.failed) {
            self.line("polls_total", &format!("{{outcome=\"{kind}\"}}"), count)?;
        }
        let help = "When a publisher last answered as it should; 0 if none has since the start.";
        let last = done.last_success_at.map_or(0, Timestamp::as_seconds);
        self.one("last_success_timestamp_seconds", "gauge", help, last)
    }

    fn scheduler(&mut self, metrics: &Metrics) -> fmt::Result {
        let Some(status) = &metrics.scheduler else { return Ok(()) };
        self.one("scheduled", "gauge", "Sources with a time to be polled at.", status.scheduled)?;
        self.one(
            "due_backlog",
            "gauge",
            "Sources that are due and wait: for their host, or for the end of a pause.",
            status.waiting,
        )?;
        self.one("under_way", "gauge", "Sources under way.", status.under_way)?;
        self.one("due_lag_seconds", "gauge", "How long the oldest due source waits.", metrics.lag.as_secs_f64())?;
        self.one("paused", "gauge", "Whether a person paused polling.", u8::from(status.paused_since.is_some()))?;
        let last_tick = status.last_tick_at.map_or(0, Timestamp::as_seconds);
        self.one("last_tick_timestamp_seconds", "gauge", "The last tick of the scheduler.", last_tick)
    }

    fn sources(&mut self, counts: Option<SourceCounts>) -> fmt::Result {
        let Some(counts) = counts else { return Ok(()) };
        let SourceCounts { total, disabled, resting, backing_off } = counts;
        let healthy = total.saturating_sub(disabled + resting + backing_off);
        self.head("sources", "gauge", "Sources by state, at most a minute old.")?;
        let states = [("healthy", healthy), ("backing_off", backing_off), ("resting", resting), ("disabled", disabled)];
        states.iter().try_for_each(|(state, count)| self.line("sources", &format!("{{state=\"{state}\"}}"), count))
    }

    fn webhooks(&mut self, done: &StatisticsView, figures: Option<&WebhookFigures>) -> fmt::Result {
        self.head("webhook_deliveries_total", "counter", "Deliveries to webhooks, by outcome.")?;
        self.line("webhook_deliveries_total", "{outcome=\"taken\"}", done.deliveries_taken)?;
        self.line("webhook_deliveries_total", "{outcome=\"failed\"}", done.deliveries_failed)?;
        self.one("webhook_posts_total", "counter", "Posts that webhooks took.", done.delivered_posts)?;
        let Some(WebhookFigures { working, failing, disabled, lag }) = figures else { return Ok(()) };
        self.head("webhooks", "gauge", "Webhooks by state.")?;
        for (state, count) in [("working", working), ("failing", failing), ("disabled", disabled)] {
            self.line("webhooks", &format!("{{state=\"{state}\"}}"), count)?;
        }
        let help = "How long the oldest post waits that an enabled webhook has not been through.";
        self.one("webhook_lag_seconds", "gauge", help, lag.as_secs_f64())
    }

    fn histogram(&mut self, name: &str, help: &str, view: &HistogramView) -> fmt::Result {
        self.head(name, "histogram", help)?;
        let total = view.cumulative[BUCKET_SECONDS.len()];
        for (end, count) in BUCKET_SECONDS.iter().zip(view.cumulative) {
            self.line(&format!("{name}_bucket"), &format!("{{le=\"{end}\"}}"), count)?;
        }
        self.line(&format!("{name}_bucket"), "{le=\"+Inf\"}", total)?;
        self.line(&format!("{name}_sum"), "", view.sum_seconds)?;
        self.line(&format!("{name}_count"), "", total)
    }
}
