//! The page of metrics, in the OpenMetrics text format for clients that accept it and in Prometheus' older one for
//! others. `docs/operations.md` lists all metrics; labels have a few fixed values each.

use std::collections::HashSet;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use actix_web::http::header::ACCEPT;
use actix_web::{HttpRequest, HttpResponse, web};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use strum::VariantArray;
use tokio::sync::Mutex;

use super::Api;
use super::views::{TreeNode, TreeView};
use crate::actors::{FleetView, MemoryUse, SchedulerStatus};
use crate::clock::Stopwatch;
use crate::model::{SourceCounts, SubscriptionState, Timestamp};
use crate::service::WebhookFigures;
use crate::telemetry::ProcessFigures;

/// The media type of OpenMetrics.
const OPEN_METRICS: &str = "application/openmetrics-text";
/// Counting all sources means looking at all of them, so the count is this old at the most.
const COUNTS_AGE_MAX: Duration = Duration::from_secs(60);

/// Last count of sources, and its time.
pub(super) type CountsCache = Mutex<Option<(Duration, SourceCounts)>>;

pub(super) async fn metrics(api: web::Data<Api>, request: HttpRequest) -> HttpResponse {
    let now = api.service.now();
    let mut registry = Registry::default();
    add_process(&mut registry, &api);
    let page = registry.sub_registry_with_prefix("feedwarden");
    api.pipeline().statistics().register(page);
    let last_success = api.pipeline().statistics().view().last_success_at.map_or(0, Timestamp::as_seconds);
    let help = "Time of the last successful poll; 0 if there was none since the start";
    gauge(page, "last_success_timestamp_seconds", help, last_success);

    let scheduler = api.pipeline().scheduler_status().await;
    // A scheduler that does not answer is waited for once: a scrape has little time.
    let is_ready = api.service.not_ready_because(scheduler.as_ref()).await.is_empty();
    gauge(page, "ready", "Whether /readyz answers 200", i64::from(is_ready));
    if let Some(status) = &scheduler {
        add_scheduler(page, status, now);
    }
    let hosts = api.pipeline().host_counts();
    let hosts = [("available", hosts.available), ("held", hosts.held), ("breaker_open", hosts.breaker_open)];
    gauges(page, "hosts", "Recently polled hosts, by state", "state", hosts);
    if let Some(SourceCounts { total, disabled, resting, backing_off }) = count_sources(&api).await {
        let active = total.saturating_sub(disabled + resting + backing_off);
        let states = [("active", active), ("backing_off", backing_off), ("resting", resting), ("disabled", disabled)];
        gauges(page, "sources", "Sources by state, at most a minute old", "state", states);
    }
    let quarantined = api.service.quarantined_rows(0);
    gauge(page, "quarantined_sources", "Sources whose rows cannot be read", quarantined.sources as i64);
    gauge(page, "quarantined_rows", "Rows of all tables that cannot be read", quarantined.total as i64);
    let help = "Sources whose last poll waits because another session of the database locks their row";
    gauge(page, "locked_sources", help, api.pipeline().locked_sources() as i64);
    if let Ok(figures) = api.service.webhook_figures().await {
        add_webhooks(page, figures);
    }
    if let Ok(counts) = api.service.count_subscriptions().await {
        let count = |state| counts.iter().find(|(one, _)| *one == state).map_or(0, |(_, count)| *count);
        let states = SubscriptionState::VARIANTS.iter().map(|state| (state.name(), count(*state)));
        gauges(page, "websub_subscriptions", "Subscriptions at hubs, by state", "state", states);
    }
    add_memory(page, api.pipeline().memory());
    add_store(page, &api).await;
    add_daemon(page, &api);
    if let Some(fleet) = api.pipeline().fleet().view() {
        add_fleet(page, &fleet);
    }
    page.register("api_refused", "Refused requests over TCP, by reason", api.refusals.counts.clone());
    api.requests.register(page);

    let mut text = String::new();
    encode(&mut text, &registry).expect("a string takes all that is written to it");
    let accepted = request.headers().get(ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    let (content_type, text) = match accepted.contains(OPEN_METRICS) {
        true => (format!("{OPEN_METRICS}; version=1.0.0; charset=utf-8"), text),
        false => ("text/plain; version=0.0.4; charset=utf-8".to_owned(), prometheus_text(&text)),
    };
    HttpResponse::Ok().content_type(content_type).body(text)
}

/// The same page in Prometheus' older text format, whose comments name a counter as its samples do.
fn prometheus_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let (counters, lines): (HashSet<&str>, _) = (
        open_metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect(),
        open_metrics.lines().filter(|line| *line != "# EOF"),
    );
    for line in lines {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some(keyword), Some(name), Some(rest)) if counters.contains(name) => {
                text.push_str(&format!("# {keyword} {name}_total {rest}\n"));
            }
            _ => text.extend([line, "\n"]),
        }
    }
    text
}

fn add_scheduler(page: &mut Registry, status: &SchedulerStatus, now: Timestamp) {
    let help = "Due sources that wait for their host or for the end of a pause";
    let lag = status.oldest_due_at.map_or(Duration::ZERO, |at| now.since(at));
    let last_tick = status.last_tick_at.map_or(0, Timestamp::as_seconds);
    gauge(page, "scheduled", "Sources with a scheduled poll", status.scheduled as i64);
    gauge(page, "due_backlog", help, status.waiting as i64);
    gauge(page, "under_way", "Polls in flight", status.under_way as i64);
    page.register("due_lag_seconds", "Waiting time of the oldest due source", ConstGauge::new(lag.as_secs_f64()));
    gauge(page, "paused", "Whether an operator paused polling", i64::from(status.paused_since.is_some()));
    gauge(page, "last_tick_timestamp_seconds", "Time of the last tick of the scheduler", last_tick);
}

/// Requests that come while the sources are counted wait for the same count.
async fn count_sources(api: &Api) -> Option<SourceCounts> {
    let now = api.service.uptime();
    let mut cache = api.counts.lock().await;
    if let Some((at, counts)) = *cache
        && now.saturating_sub(at) < COUNTS_AGE_MAX
    {
        return Some(counts);
    }
    let counts = api.service.count_sources().await.ok()?;
    *cache = Some((now, counts));
    Some(counts)
}

fn add_webhooks(page: &mut Registry, figures: WebhookFigures) {
    let WebhookFigures { working, failing, disabled, lag } = figures;
    let states = [("working", working), ("failing", failing), ("disabled", disabled)];
    gauges(page, "webhooks", "Webhooks by state", "state", states);
    let help = "Age of the oldest post that an enabled webhook has not received";
    page.register("webhook_lag_seconds", help, ConstGauge::new(lag.as_secs_f64()));
}

fn add_memory(page: &mut Registry, memory: MemoryUse) {
    let MemoryUse { used, max, waits, refusals } = memory;
    let bytes = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    gauge(page, "http_memory_bytes", "Memory of the bodies in flight", bytes(used));
    gauge(page, "http_memory_max_bytes", "Memory that the bodies in flight may use", bytes(max));
    let ends = Family::<[(&str, &str); 1], Counter>::default();
    ends.get_or_create(&[("outcome", "waited")]).inc_by(waits);
    ends.get_or_create(&[("outcome", "refused")]).inc_by(refusals);
    page.register("http_memory_shortages", "Bodies that waited for memory or were refused", ends);
}

async fn add_store(page: &mut Registry, api: &Api) {
    let watch = Stopwatch::start();
    let seconds = api.service.ping_store().await.then(|| watch.elapsed().as_secs_f64());
    let is_up = seconds.is_some() && api.service.store_trouble().await.is_none();
    if let Some(seconds) = seconds {
        page.register("store_ping_seconds", "Response time of the database", ConstGauge::new(seconds));
    }
    gauge(page, "store_up", "Whether the database answers and accepts writes", i64::from(is_up));
}

fn add_fleet(page: &mut Registry, fleet: &FleetView) {
    gauge(page, "fleet_nodes", "Live nodes of the fleet", fleet.live_nodes as i64);
    gauge(page, "fleet_shards", "Shards of this node", fleet.shards as i64);
    gauge(page, "fleet_shards_draining", "Shards that this node is about to release", fleet.shards_draining as i64);
    gauge(
        page,
        "fleet_free_shards",
        "Shards without a live owner, whose sources are not polled",
        fleet.free_shards as i64,
    );
    gauge(page, "fleet_quiet", "Whether no node polls for a while after a failover", i64::from(fleet.is_quiet));
    gauge(page, "fleet_may_send", "Whether this node may send requests", i64::from(fleet.may_send));
    let left = fleet.lease_left.unwrap_or_default().as_secs_f64();
    page.register("fleet_lease_left_seconds", "Time that is left of the lease of this node", ConstGauge::new(left));
    let help = "How far the clock of this machine is ahead of the database's";
    page.register("fleet_clock_offset_seconds", help, ConstGauge::new(fleet.clock_offset));
    let counter = |page: &mut Registry, name: &str, help: &str, value: u64| {
        let counter: Counter = Counter::default();
        counter.inc_by(value);
        page.register(name, help, counter);
    };
    counter(page, "fleet_shards_taken", "Shards that this node has taken", fleet.taken);
    counter(page, "fleet_shards_lost", "Shards that this node has lost", fleet.lost);
    counter(page, "fleet_shards_released", "Shards that this node has released", fleet.released);
    counter(page, "fleet_nodes_expired", "Nodes that this node has declared ended", fleet.expired_nodes);
    counter(page, "fleet_renewals", "Renewals of the lease", fleet.renewals);
    counter(page, "fleet_renewals_failed", "Renewals of the lease that failed", fleet.failed_renewals);
    counter(page, "fleet_turns_borrowed", "Requests of this node to hosts of other nodes", fleet.borrowed_turns);
    counter(page, "fleet_turns_lent", "Requests of other nodes to hosts of this node", fleet.lent_turns);
}

/// The metrics that every process has by convention, without a prefix of ours.
fn add_process(root: &mut Registry, api: &Api) {
    let ProcessFigures { cpu, resident_bytes, virtual_bytes, open_fds, max_fds } = ProcessFigures::read();
    let seconds = Counter::<f64, AtomicU64>::default();
    seconds.inc_by(cpu.as_secs_f64());
    root.register("process_cpu_seconds", "Processor time in user and system mode", seconds);
    let started_at = api.started_at.as_micros() as f64 / 1e6;
    root.register("process_start_time_seconds", "Time of the start of the daemon", ConstGauge::new(started_at));
    for (name, help, value) in [
        ("process_resident_memory_bytes", "Resident memory", resident_bytes),
        ("process_virtual_memory_bytes", "Virtual memory", virtual_bytes),
        ("process_open_fds", "Open file descriptors", open_fds),
        ("process_max_fds", "Limit of open file descriptors", max_fds),
    ] {
        if let Some(value) = value {
            gauge(root, name, help, i64::try_from(value).unwrap_or(i64::MAX));
        }
    }
}

fn add_daemon(page: &mut Registry, api: &Api) {
    if let Some(tree) = api.pipeline().tree(0) {
        let mut depths = Vec::new();
        collect_mailbox_depths(TreeView::from(&tree).root, &mut depths);
        gauges(page, "mailbox_depth", "Messages in mailboxes, by actor; without hosts", "actor", depths);
    }
    let dropped = api.log.dropped();
    let drops = Family::<[(&str, &str); 1], Counter>::default();
    drops.get_or_create(&[("reason", "queue_full")]).inc_by(dropped.queue_full);
    drops.get_or_create(&[("reason", "write_failed")]).inc_by(dropped.write_failed);
    page.register("log_dropped", "Lost log records, by reason", drops);
    let is_trusted = api.pipeline().ages_judged_at().is_none();
    gauge(page, "clock_trusted", "Whether ages are judged by the present time", i64::from(is_trusted));
    gauge(page, "uptime_seconds", "Time since the start", api.service.uptime().as_secs() as i64);
    gauges(page, "build_info", "Version of the program", "version", [(env!("CARGO_PKG_VERSION"), 1_u64)]);
}

fn collect_mailbox_depths(node: TreeNode, depths: &mut Vec<(String, usize)>) {
    if let Some(depth) = node.mailbox_depth {
        depths.push((node.name, depth));
    }
    node.children.into_iter().for_each(|child| collect_mailbox_depths(child, depths));
}

fn gauge(page: &mut Registry, name: &str, help: &str, value: i64) {
    page.register(name, help, ConstGauge::new(value));
}

/// A gauge for each value of a label.
fn gauges<V: Into<String>, N: TryInto<i64>>(
    page: &mut Registry,
    name: &str,
    help: &str,
    label: &'static str,
    values: impl IntoIterator<Item = (V, N)>,
) {
    let family = Family::<[(&'static str, String); 1], Gauge>::default();
    for (value, number) in values {
        family.get_or_create(&[(label, value.into())]).set(number.try_into().unwrap_or(i64::MAX));
    }
    page.register(name, help, family);
}
