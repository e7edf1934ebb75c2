//! `feedwarden status` as text: first whether the daemon works, then what it has, then what needs a person.

use super::daemon_command::of_scheduler;
use super::output_style::{OutputStyle, facts};
use super::table::span;
use super::times::{localized, second};
use crate::api::views::{StatisticsReport, StatusProblem, StatusView, StoreCountsView};

/// `posts_today` counts from midnight where the reader is.
pub(super) fn status_words(status: &StatusView, posts_today: Option<u64>, style: OutputStyle) -> String {
    let title = format!(
        "feedwarden {}, up {} since {}",
        status.version,
        span(status.now.since(status.started_at).as_secs()),
        second(status.started_at)
    );
    let mut lines: Vec<(&str, Option<String>)> = Vec::new();
    match status.is_ready {
        true => lines.push(("ready", Some("yes".to_owned()))),
        false => lines.extend(status.not_ready_because.iter().map(|reason| ("NOT READY", Some(localized(reason))))),
    }
    lines.push(("SUSPENDED", (!status.held_up_by.is_empty()).then(|| localized(&status.held_up_by.join("; ")))));
    lines.extend(status.problems.iter().map(|problem| ("PROBLEM", Some(with_command(problem)))));
    lines.extend([
        ("CLOCK", status.ages_judged_at.map(|at| format!("not trusted; ages are judged at {}", second(at)))),
        ("NOT LOADED", status.not_loaded_because.clone()),
        ("sources", status.store_counts.as_ref().map(sources)),
        ("posts", status.store_counts.as_ref().map(|counts| posts(counts, posts_today))),
        ("oldest due", Some(oldest_due(status))),
        ("scheduler", Some(status.scheduler.as_ref().map_or_else(|| "does not answer".to_owned(), of_scheduler))),
        ("store", Some(store(status))),
    ]);
    lines.extend(since_start(&status.statistics));
    style.headline(&title) + &facts(style, &lines)
}

/// The problem, and the command that shows more or ends it.
fn with_command(problem: &StatusProblem) -> String {
    let command = match problem.kind.as_str() {
        "paused" => "resume",
        "quarantined_rows" => "quarantine",
        "unauthorized_sources" => "source list --failure unauthorized",
        "disabled_sources" => "source list --state disabled",
        "failing_webhooks" | "disabled_webhooks" => "webhook list",
        "held_hosts" | "open_breakers" => "host list",
        _ => return problem.detail.clone(),
    };
    format!("{}: `feedwarden {command}`", problem.detail)
}

fn sources(counts: &StoreCountsView) -> String {
    if counts.sources == 0 {
        return "none yet: `feedwarden source add URL` adds one".to_owned();
    }
    let state = |name: &str| {
        let count = counts.sources_by_state.get(name).copied().unwrap_or(0);
        (count > 0).then(|| format!("{count} {name}"))
    };
    let states: Vec<String> = ["active", "backing_off", "resting", "disabled"].into_iter().filter_map(state).collect();
    let kinds: Vec<String> = counts.failing_by_kind.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let failing = if kinds.is_empty() { String::new() } else { format!("; failing: {}", kinds.join(", ")) };
    format!("{}: {}{failing}", counts.sources, states.join(", "))
}

fn posts(counts: &StoreCountsView, posts_today: Option<u64>) -> String {
    match posts_today {
        Some(today) => format!("{} stored, {today} of them today", counts.posts),
        None => format!("{} stored, {} of them in the last 24 hours", counts.posts, counts.posts_last_day),
    }
}

fn oldest_due(status: &StatusView) -> String {
    match status.scheduler.as_ref().and_then(|scheduler| scheduler.oldest_due_at) {
        Some(since) => format!("since {}, for {}", second(since), span(status.now.since(since).as_secs())),
        None => "no source waits".to_owned(),
    }
}

fn store(status: &StatusView) -> String {
    let trouble = status.store_trouble.as_ref().map(|trouble| format!("NOT USABLE: {trouble}"));
    let state = trouble.as_deref().unwrap_or("reachable");
    format!("{}, schema {}, {state}", status.database_engine, status.schema_version)
}

/// Counters since the start.
fn since_start(statistics: &StatisticsReport) -> [(&'static str, Option<String>); 7] {
    [
        ("polls", Some(polls(statistics))),
        ("new posts", Some(format!("{} since the start", statistics.new_posts))),
        ("received", Some(format!("{} KB", statistics.wire_bytes.div_ceil(1000)))),
        ("hosts", Some(format!("{} with an actor, {} polls in flight", statistics.hosts, statistics.under_way))),
        ("crashes", Some(format!("{}, {} restarts", statistics.crashes, statistics.restarts))),
        ("faults", (statistics.faults > 0).then(|| format!("{} injected", statistics.faults))),
        ("log", Some(format!("{} records lost", statistics.log_records_dropped))),
    ]
}

fn polls(statistics: &StatisticsReport) -> String {
    let failed: u64 = statistics.failed.values().sum();
    let kinds =
        statistics.failed.iter().filter(|(_, count)| **count > 0).map(|(kind, count)| format!("{kind} {count}"));
    let kinds: Vec<String> = kinds.collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    format!(
        "{}: {} read, {} unchanged, {failed} failed{kinds}",
        statistics.polls, statistics.read, statistics.unchanged
    )
}
