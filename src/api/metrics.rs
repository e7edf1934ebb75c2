//! Metrics in Prometheus' text format. `docs/operations.md` lists them; labels have few fixed values.

use std::fmt;
use std::time::Duration;

use actix_web::{HttpResponse, web};
use tokio::sync::Mutex;

use super::Api;
use super::health::ailments;
use crate::actors::control::{
    ACTORS, BUCKET_SECONDS, HistogramView, HostCounts, Latencies, StatisticsView, TreeNode, WEBHOOKS_MAX,
};
use crate::actors::messages::SchedulerStatus;
use crate::clock::Stopwatch;
use crate::model::{FailureKind, SourceCounts, Timestamp, Webhook};
use crate::store::StoreError;
use crate::telemetry::DroppedRecords;

/// Maximum age of the count of sources, because counting reads all of them.
const COUNTS_AGE_MAX: Duration = Duration::from_secs(60);

/// Last count of sources, and its time.
pub(super) type CountsCache = Mutex<Option<(Timestamp, SourceCounts)>>;

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

struct WebhookFigures {
    working: usize,
    failing: usize,
    disabled: usize,
    /// Age of the oldest post that an enabled webhook has not received.
    lag: Duration,
}

pub(super) async fn metrics(api: web::Data<Api>) -> HttpResponse {
    let text = collect(&api).await.to_string();
    HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(text)
}

async fn collect(api: &Api) -> Metrics {
    let now = api.handle.clock().now();
    let watch = Stopwatch::start();
    let store_seconds = api.handle.store().ping().await.is_ok().then(|| watch.elapsed().as_secs_f64());
    let is_store_up = store_seconds.is_some() && api.handle.store_trouble().is_none();
    let scheduler = api.handle.scheduler_status().await;
    let lag = scheduler.as_ref().and_then(|status| status.oldest_due_at).map_or(Duration::ZERO, |at| now.since(at));
    // Waits once for a scheduler that does not answer, because the scraper has a timeout.
    let is_ready = ailments(api, scheduler.as_ref()).await.is_empty();
    let statistics = api.handle.statistics();
    let mut mailboxes = Vec::new();
    if let Some(tree) = api.handle.tree_view(0) {
        note_mailboxes(&tree.root, &mut mailboxes);
    }
    Metrics {
        done: statistics.view(),
        latencies: statistics.latencies(),
        scheduler,
        lag,
        hosts: api.handle.host_counts(),
        sources: count_sources(api, now).await,
        store_seconds,
        is_store_up,
        is_ready,
        webhooks: look_at_webhooks(api, now).await.ok(),
        log_drops: api.log.dropped(),
        mailboxes,
        uptime: now.since(api.started_at),
    }
}

/// Concurrent callers wait for the same count.
async fn count_sources(api: &Api, now: Timestamp) -> Option<SourceCounts> {
    let mut cache = api.counts.lock().await;
    if let Some((at, counts)) = *cache
        && now.since(at) < COUNTS_AGE_MAX
    {
        return Some(counts);
    }
    let counts = api.handle.store().count_sources().await.ok()?;
    *cache = Some((now, counts));
    Some(counts)
}

async fn look_at_webhooks(api: &Api, now: Timestamp) -> Result<WebhookFigures, StoreError> {
    let store = api.handle.store();
    let all = store.list_webhooks(None, WEBHOOKS_MAX).await?;
    let enabled: Vec<&Webhook> = all.iter().filter(|webhook| webhook.enabled).collect();
    let failing = enabled.iter().filter(|webhook| webhook.progress.failures > 0).count();
    let waiting = match enabled.iter().map(|webhook| webhook.progress.last_post).min() {
        Some(reached) => store.list_posts(None, Some(reached), 1).await?.pop(),
        None => None,
    };
    Ok(WebhookFigures {
        working: enabled.len() - failing,
        failing,
        disabled: all.len() - enabled.len(),
        lag: waiting.map_or(Duration::ZERO, |post| now.since(post.created_at)),
    })
}

fn note_mailboxes(node: &TreeNode, mailboxes: &mut Vec<(String, usize)>) {
    if let Some(depth) = node.mailbox_depth {
        mailboxes.push((node.name.clone(), depth));
    }
    node.children.iter().for_each(|child| note_mailboxes(child, mailboxes));
}

impl fmt::Display for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut page = MetricsWriter(formatter);
        page.polls(&self.done)?;
        page.one("new_posts_total", "counter", "New posts.", self.done.new_posts)?;
        page.one("wire_bytes_total", "counter", "Body bytes received.", self.done.wire_bytes)?;
        page.one(
            "deferred_total",
            "counter",
            "Due sources postponed by a held host or an open breaker.",
            self.done.deferred,
        )?;
        page.one(
            "superseded_total",
            "counter",
            "Polls whose source changed before they were stored.",
            self.done.superseded,
        )?;
        page.one("crashes_total", "counter", "Crashes of actors.", self.done.crashes)?;
        page.head("restarts_total", "counter", "Restarts of actors, by actor.")?;
        for (actor, count) in ACTORS.iter().zip(self.done.restarts_by_actor) {
            page.line("restarts_total", &format!("{{actor=\"{actor}\"}}"), count)?;
        }
        page.histogram("fetch_duration_seconds", "Duration of all requests of a poll.", &self.latencies.fetching)?;
        page.histogram("parse_duration_seconds", "Duration of parsing a response.", &self.latencies.reading)?;
        page.histogram("settle_duration_seconds", "Duration of storing a batch of polls.", &self.latencies.settling)?;
        page.scheduler(self)?;
        page.head("hosts", "gauge", "Recently polled hosts, by state.")?;
        let HostCounts { active, held, open } = self.hosts;
        for (state, count) in [("available", active), ("held", held), ("breaker_open", open)] {
            page.line("hosts", &format!("{{state=\"{state}\"}}"), count)?;
        }
        page.sources(self.sources)?;
        page.webhooks(&self.done, self.webhooks.as_ref())?;
        page.head("mailbox_depth", "gauge", "Messages in mailboxes, by actor; without hosts.")?;
        for (actor, depth) in &self.mailboxes {
            page.line("mailbox_depth", &format!("{{actor=\"{actor}\"}}"), depth)?;
        }
        if let Some(seconds) = self.store_seconds {
            page.one("store_ping_seconds", "gauge", "Response time of the database.", seconds)?;
        }
        page.one("store_up", "gauge", "Whether the database answers and accepts writes.", u8::from(self.is_store_up))?;
        page.one("ready", "gauge", "Whether /readyz answers 200.", u8::from(self.is_ready))?;
        page.head("log_dropped_total", "counter", "Lost log records, by reason.")?;
        page.line("log_dropped_total", "{reason=\"queue_full\"}", self.log_drops.queue_full)?;
        page.line("log_dropped_total", "{reason=\"write_failed\"}", self.log_drops.write_failed)?;
        page.one("uptime_seconds", "gauge", "Time since the start.", self.uptime.as_secs())?;
        page.head("build_info", "gauge", "Version of the program.")?;
        page.line("build_info", concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"}"), 1)
    }
}

struct MetricsWriter<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl MetricsWriter<'_, '_> {
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
        let help = "Time of the last successful poll; 0 if there was none since the start.";
        let last = done.last_success_at.map_or(0, Timestamp::as_seconds);
        self.one("last_success_timestamp_seconds", "gauge", help, last)
    }

    fn scheduler(&mut self, metrics: &Metrics) -> fmt::Result {
        let Some(status) = &metrics.scheduler else { return Ok(()) };
        self.one("scheduled", "gauge", "Sources with a scheduled poll.", status.scheduled)?;
        self.one(
            "due_backlog",
            "gauge",
            "Due sources that wait for their host or for the end of a pause.",
            status.waiting,
        )?;
        self.one("under_way", "gauge", "Polls in flight.", status.under_way)?;
        self.one("due_lag_seconds", "gauge", "Waiting time of the oldest due source.", metrics.lag.as_secs_f64())?;
        self.one("paused", "gauge", "Whether an operator paused polling.", u8::from(status.paused_since.is_some()))?;
        let last_tick = status.last_tick_at.map_or(0, Timestamp::as_seconds);
        self.one("last_tick_timestamp_seconds", "gauge", "Time of the last tick of the scheduler.", last_tick)
    }

    fn sources(&mut self, counts: Option<SourceCounts>) -> fmt::Result {
        let Some(counts) = counts else { return Ok(()) };
        let SourceCounts { total, disabled, resting, backing_off } = counts;
        let active = total.saturating_sub(disabled + resting + backing_off);
        self.head("sources", "gauge", "Sources by state, at most a minute old.")?;
        let states = [("active", active), ("backing_off", backing_off), ("resting", resting), ("disabled", disabled)];
        states.iter().try_for_each(|(state, count)| self.line("sources", &format!("{{state=\"{state}\"}}"), count))
    }

    fn webhooks(&mut self, done: &StatisticsView, figures: Option<&WebhookFigures>) -> fmt::Result {
        self.head("webhook_deliveries_total", "counter", "Deliveries to webhooks, by outcome.")?;
        self.line("webhook_deliveries_total", "{outcome=\"taken\"}", done.deliveries_taken)?;
        self.line("webhook_deliveries_total", "{outcome=\"failed\"}", done.deliveries_failed)?;
        self.one("webhook_posts_total", "counter", "Posts accepted by webhooks.", done.delivered_posts)?;
        let Some(WebhookFigures { working, failing, disabled, lag }) = figures else { return Ok(()) };
        self.head("webhooks", "gauge", "Webhooks by state.")?;
        for (state, count) in [("working", working), ("failing", failing), ("disabled", disabled)] {
            self.line("webhooks", &format!("{{state=\"{state}\"}}"), count)?;
        }
        let help = "Age of the oldest post that an enabled webhook has not received.";
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
