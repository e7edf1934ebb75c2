//! Endpoints for scheduler, tree, counters, configuration, log level and faults.

use std::time::Duration;

use actix_web::http::Method;
use actix_web::{HttpResponse, web};
use serde_json::json;

use super::super::Api;
use super::super::endpoint::Endpoint;
use super::super::guard::CallerService;
use super::super::input::{JsonBody, Parameters};
use super::super::overview::overview;
use super::super::problem::Problem;
use super::super::views::{
    ConfigurationRow, FaultsChange, FaultsView, LogLevel, PollHourView, PollHoursQuery, QuarantineView, Reloaded,
    SchedulerView, StatisticsReport, StatusProblem, StatusView, StoreCountsView, TreeQuery, TreeView,
};
use super::HandlerResult;
use crate::actors::{Fault, SchedulerStatus};
use crate::model::{AuditedChange, FailureKind};
use crate::service::{Overview, WebhookFigures};
use crate::telemetry::level_name;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/status", "Get the status of the daemon", status)
            .answers::<StatusView>(200, "Current status"),
        Endpoint::new(Method::GET, "/quarantine", "List rows of the database that cannot be read", quarantine)
            .answers::<QuarantineView>(200, "Rows that are skipped"),
        Endpoint::new(Method::GET, "/scheduler", "Get the status of the scheduler", scheduler)
            .answers::<SchedulerView>(200, "Current status"),
        Endpoint::new(Method::POST, "/scheduler/pause", "Pause all polling; survives a restart", pause)
            .answers::<SchedulerView>(200, "Polling paused"),
        Endpoint::new(Method::POST, "/scheduler/resume", "Resume polling", resume)
            .answers::<SchedulerView>(200, "Polling resumed"),
        Endpoint::new(Method::GET, "/tree", "Get the supervision tree", tree)
            .query::<TreeQuery>()
            .answers::<TreeView>(200, "Supervision tree"),
        Endpoint::new(Method::GET, "/statistics", "Get counters since the start", statistics)
            .answers::<StatisticsReport>(200, "Counters since the start"),
        Endpoint::new(
            Method::GET,
            "/statistics/hours",
            "List numbers of polls, failures and new posts by hour and outcome, of all nodes",
            statistics_hours,
        )
        .query::<PollHoursQuery>()
        .answers::<Vec<PollHourView>>(200, "Hours in order; those without polls are omitted"),
        Endpoint::new(
            Method::GET,
            "/configuration",
            "Get the effective configuration, with secrets masked",
            configuration,
        )
        .answers::<Vec<ConfigurationRow>>(200, "Every key with its value and origin"),
        Endpoint::new(Method::POST, "/configuration/reload", "Reload the configuration", reload)
            .answers::<Reloaded>(200, "Changed keys")
            .refuses(400, "Invalid configuration; nothing changed"),
        Endpoint::new(Method::GET, "/log-level", "Get the log level", log_level)
            .answers::<LogLevel>(200, "Current level"),
        Endpoint::new(Method::PUT, "/log-level", "Change the log level", set_log_level)
            .body::<LogLevel>()
            .answers::<LogLevel>(200, "Current level"),
        Endpoint::new(Method::GET, "/faults", "Get the injected faults", faults)
            .answers::<FaultsView>(200, "Injected faults")
            .refuses(404, "Fault injection is not enabled"),
        Endpoint::new(Method::PUT, "/faults", "Change the injected faults", set_faults)
            .body::<FaultsChange>()
            .answers::<FaultsView>(200, "Injected faults")
            .refuses(404, "Fault injection is not enabled"),
    ]
}

/// Default number of hosts in the tree.
const HOSTS_DEFAULT: usize = 50;
const HOSTS_MAX: usize = 1000;
const RULES_MAX: usize = 100;
/// What `GET /statistics/hours` covers.
const HOURS_DEFAULT: Duration = Duration::from_secs(7 * 86_400);

/// The most rows of the quarantine that are listed.
const QUARANTINED_MAX: usize = 1000;

async fn status(api: web::Data<Api>) -> HandlerResult {
    let about = api.service.about_store();
    let quarantined = api.service.quarantined_rows(0);
    let scheduler = api.pipeline().scheduler_status().await;
    let not_ready_because = api.service.not_ready_because(scheduler.as_ref()).await;
    let counts = overview(&api).await;
    Ok(HttpResponse::Ok().json(StatusView {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: api.service.started_at(),
        now: api.service.now(),
        is_ready: not_ready_because.is_empty(),
        not_ready_because,
        problems: problems(&api, counts.as_ref(), scheduler.as_ref()),
        store_counts: counts.as_ref().map(StoreCountsView::from),
        database_engine: about.engine.to_owned(),
        schema_version: about.schema_version,
        store_trouble: api.service.store_trouble().await,
        ages_judged_at: api.pipeline().ages_judged_at(),
        held_up_by: api.service.blockers().await,
        not_loaded_because: scheduler.as_ref().and_then(|status| status.not_loaded_because.clone()),
        quarantined_sources: quarantined.sources,
        quarantined_rows: quarantined.total,
        locked_sources: api.pipeline().locked_sources(),
        http_memory_bytes: api.pipeline().memory().used as u64,
        scheduler: scheduler.map(scheduler_view),
        statistics: counters(&api),
    }))
}

/// Conditions that need a person, those that stop most first.
fn problems(api: &Api, counts: Option<&Overview>, scheduler: Option<&SchedulerStatus>) -> Vec<StatusProblem> {
    let hosts = api.pipeline().host_counts();
    let unauthorized = counts.and_then(|counts| {
        let found = counts.failing.iter().find(|(kind, _)| *kind == FailureKind::Unauthorized);
        found.map(|(_, count)| *count)
    });
    let webhooks = counts.map(|counts| counts.webhooks);
    let of_webhooks = |count: fn(&WebhookFigures) -> usize| webhooks.as_ref().map_or(0, count) as u64;
    let is_paused = scheduler.is_some_and(|status| status.paused_since.is_some());
    let is_disk_low = counts.is_some_and(Overview::is_disk_low);
    let found: [(&str, u64, &str, &str); 11] = [
        ("paused", is_paused.into(), "polling is paused", ""),
        ("low_disk_space", is_disk_low.into(), "less than 1 GB is left on the disk of the database", ""),
        ("untrusted_clock", api.pipeline().ages_judged_at().is_some().into(), "the clock is not trusted", ""),
        (
            "quarantined_rows",
            api.service.quarantined_rows(0).total as u64,
            "row of the database cannot be read",
            "rows of the database cannot be read",
        ),
        (
            "locked_sources",
            api.pipeline().locked_sources() as u64,
            "source waits for a lock in the database",
            "sources wait for locks in the database",
        ),
        (
            "unauthorized_sources",
            unauthorized.unwrap_or(0),
            "source fails because its login or key is missing or refused",
            "sources fail because their login or key is missing or refused",
        ),
        (
            "disabled_sources",
            counts.map_or(0, |counts| counts.sources.disabled),
            "source is disabled",
            "sources are disabled",
        ),
        ("failing_webhooks", of_webhooks(|figures| figures.failing), "webhook fails", "webhooks fail"),
        ("disabled_webhooks", of_webhooks(|figures| figures.disabled), "webhook is disabled", "webhooks are disabled"),
        ("held_hosts", hosts.held as u64, "host is held", "hosts are held"),
        ("open_breakers", hosts.breaker_open as u64, "host does not answer", "hosts do not answer"),
    ];
    let words = |count: u64, one: &str, many: &str| match (count, many) {
        (_, "") => one.to_owned(),
        (1, _) => format!("1 {one}"),
        _ => format!("{count} {many}"),
    };
    let problem = |(kind, count, one, many): (&str, u64, &str, &str)| StatusProblem {
        kind: kind.to_owned(),
        count,
        detail: words(count, one, many),
    };
    found.into_iter().filter(|(_, count, ..)| *count > 0).map(problem).collect()
}

async fn quarantine(api: web::Data<Api>) -> HandlerResult {
    let found = api.service.quarantined_rows(QUARANTINED_MAX);
    let rows = found.rows.into_iter().map(Into::into).collect();
    Ok(HttpResponse::Ok().json(QuarantineView { total: found.total, rows }))
}

async fn statistics_hours(api: web::Data<Api>, Parameters(query): Parameters<PollHoursQuery>) -> HandlerResult {
    let since = query.since.unwrap_or_else(|| api.service.now() - HOURS_DEFAULT);
    let hours = api.service.poll_hours(since).await?;
    Ok(HttpResponse::Ok().json(hours.into_iter().map(PollHourView::from).collect::<Vec<_>>()))
}

async fn scheduler(api: web::Data<Api>) -> HandlerResult {
    Ok(HttpResponse::Ok().json(of_scheduler(&api).await?))
}

async fn pause(api: web::Data<Api>, CallerService(service): CallerService) -> HandlerResult {
    let nodes_pending = service.pause_polling().await?;
    Ok(HttpResponse::Ok().json(SchedulerView { nodes_pending, ..of_scheduler(&api).await? }))
}

async fn resume(api: web::Data<Api>, CallerService(service): CallerService) -> HandlerResult {
    let nodes_pending = service.resume_polling().await?;
    Ok(HttpResponse::Ok().json(SchedulerView { nodes_pending, ..of_scheduler(&api).await? }))
}

async fn tree(api: web::Data<Api>, Parameters(query): Parameters<TreeQuery>) -> HandlerResult {
    let hosts = query.hosts.unwrap_or(HOSTS_DEFAULT);
    if hosts > HOSTS_MAX {
        return Err(Problem::invalid(format!("write a number from 0 to {HOSTS_MAX}")).at("hosts"));
    }
    let tree = api.pipeline().tree(hosts).ok_or_else(|| Problem::unavailable("the supervision tree is not running"))?;
    if !query.backtraces {
        return Ok(HttpResponse::Ok().json(TreeView::from(&tree)));
    }
    // Names are read from the program's file, so it runs on a blocking thread.
    let view = web::block(move || TreeView::with_backtraces(&tree)).await;
    Ok(HttpResponse::Ok().json(view.map_err(Problem::internal)?))
}

async fn statistics(api: web::Data<Api>) -> HandlerResult {
    Ok(HttpResponse::Ok().json(counters(&api)))
}

async fn configuration(api: web::Data<Api>) -> HandlerResult {
    Ok(HttpResponse::Ok().json((api.configuration.effective)()))
}

async fn reload(api: web::Data<Api>, CallerService(service): CallerService) -> HandlerResult {
    let configuration = api.configuration.clone();
    // Reads files, so it runs on a blocking thread.
    let read = web::block(move || (configuration.reload)()).await;
    match read.map_err(Problem::internal)? {
        Ok(reloaded) => {
            service.note_reload(&reloaded.changed, &reloaded.needs_restart).await;
            Ok(HttpResponse::Ok().json(reloaded))
        }
        Err(mistakes) => {
            let problem = Problem::invalid(format!("nothing changed: {}", mistakes.join("; ")));
            Err(problem.with(json!({ "mistakes": mistakes })))
        }
    }
}

async fn log_level(api: web::Data<Api>) -> HandlerResult {
    Ok(HttpResponse::Ok().json(LogLevel { level: level_name(api.log.level()).to_owned() }))
}

async fn set_log_level(
    api: web::Data<Api>,
    CallerService(service): CallerService,
    JsonBody(body): JsonBody<LogLevel>,
) -> HandlerResult {
    use slog::Level;
    let all = [Level::Critical, Level::Error, Level::Warning, Level::Info, Level::Debug, Level::Trace];
    let Some(level) = all.into_iter().find(|level| level_name(*level) == body.level) else {
        let names: Vec<&str> = all.into_iter().map(level_name).collect();
        return Err(Problem::invalid(format!("write one of {}", names.join(", "))).at("level"));
    };
    let change = AuditedChange::new("log.level", "daemon", None).before("level", level_name(api.log.level()));
    api.log.set_level(level);
    service.note_change(change.after("level", level_name(level))).await;
    log_level(api).await
}

async fn faults(api: web::Data<Api>) -> HandlerResult {
    let (is_enabled, rules) = api.pipeline().fault_rules().ok_or_else(no_faults)?;
    let rules = rules.iter().map(Fault::to_string).collect();
    Ok(HttpResponse::Ok().json(FaultsView { is_enabled, rules, struck: api.pipeline().faults() }))
}

async fn set_faults(
    api: web::Data<Api>,
    CallerService(service): CallerService,
    JsonBody(body): JsonBody<FaultsChange>,
) -> HandlerResult {
    let rules = body.rules.map(|rules| rules.iter().take(RULES_MAX).map(|rule| rule.parse::<Fault>()).collect());
    let rules: Option<Result<Vec<Fault>, _>> = rules;
    let rules = rules.transpose().map_err(|error| Problem::invalid(error).at("rules"))?;
    let names: Option<Vec<String>> = rules.as_ref().map(|rules| rules.iter().map(Fault::to_string).collect());
    if !api.pipeline().set_faults(body.is_enabled, rules) {
        return Err(no_faults());
    }
    let change = AuditedChange::new("faults.edit", "daemon", None).after("is_enabled", body.is_enabled);
    service.note_change(change.after("rules", names.as_deref())).await;
    faults(api).await
}

fn no_faults() -> Problem {
    Problem::not_found("the configuration allows for no faults (faults.enabled)")
}

async fn of_scheduler(api: &Api) -> Result<SchedulerView, Problem> {
    let status = api.pipeline().scheduler_status().await;
    status.map(scheduler_view).ok_or_else(|| Problem::unavailable("the scheduler does not answer"))
}

fn scheduler_view(status: SchedulerStatus) -> SchedulerView {
    SchedulerView {
        is_loaded: status.is_loaded,
        is_paused: status.paused_since.is_some(),
        paused_since: status.paused_since,
        scheduled: status.scheduled,
        waiting: status.waiting,
        under_way: status.under_way,
        oldest_due_at: status.oldest_due_at,
        last_tick_at: status.last_tick_at,
        nodes_pending: Vec::new(),
    }
}

fn counters(api: &Api) -> StatisticsReport {
    let view = api.pipeline().statistics().view();
    let dropped = api.log.dropped();
    let failed = FailureKind::ALL.iter().zip(view.failed).map(|(kind, count)| (kind.to_string(), count));
    StatisticsReport {
        polls: view.settled(),
        read: view.read,
        unchanged: view.unchanged,
        failed: failed.collect(),
        deferred: view.deferred,
        new_posts: view.new_posts,
        wire_bytes: view.wire_bytes,
        superseded: view.superseded,
        due: view.due,
        crashes: view.crashes,
        restarts: view.restarts,
        faults: api.pipeline().faults(),
        hosts: api.pipeline().hosts(),
        under_way: api.pipeline().under_way(),
        log_records_dropped: dropped.queue_full + dropped.write_failed,
    }
}
