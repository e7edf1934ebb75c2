//! The report of `feedwarden store check`, for people and for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use super::sanitize::plain;
use crate::store::{CheckReport, SecretCounts, StoreProblem};

pub(super) fn for_people(report: &CheckReport) -> String {
    let mut text = String::new();
    write_for_people(&mut text, report).expect("a String takes every write");
    text
}

fn write_for_people(text: &mut String, report: &CheckReport) -> std::fmt::Result {
    let version = report.schema_version.map_or_else(|| "none".to_owned(), |version| version.to_string());
    writeln!(text, "engine     {}, schema version {version}", report.engine)?;
    write!(text, "size       {} bytes", report.bytes)?;
    if report.free_bytes > 0 || report.wal_bytes > 0 {
        write!(text, ", {} of them free; write-ahead log {} bytes", report.free_bytes, report.wal_bytes)?;
    }
    writeln!(text)?;
    if !report.can_shrink {
        writeln!(text, "           the file does not shrink by itself; `feedwarden store compact` changes that")?;
    }
    for (table, count) in &report.counts {
        writeln!(text, "rows       {table}: {count}")?;
    }
    for (table, counts) in report.secrets.iter().flat_map(|secrets| &secrets.0) {
        let SecretCounts { current, previous, closed, .. } = counts;
        writeln!(
            text,
            "secrets    {}: {current} of the current key, {previous} of the previous key, {closed} unreadable",
            table.name()
        )?;
    }
    for problem in &report.problems {
        writeln!(text, "problem    {}", describe(problem))?;
    }
    let more = report.problem_count - report.problems.len() as u64;
    if more > 0 {
        writeln!(text, "           and {more} more")?;
    }
    match report.problem_count {
        0 => writeln!(text, "ok"),
        1 => writeln!(text, "1 problem"),
        count => writeln!(text, "{count} problems"),
    }
}

fn describe(problem: &StoreProblem) -> String {
    let StoreProblem { kind, table, row, column, reason } = problem;
    let kind: &str = kind.into();
    let place: Vec<String> = [
        table.map(str::to_owned),
        row.as_ref().map(|row| format!("row {row}")),
        column.map(|column| format!("column {column}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let place = if place.is_empty() { String::new() } else { format!(" {}", place.join(" ")) };
    plain(&format!("{kind}{place}: {reason}"))
}

pub(super) fn for_programs(report: &CheckReport) -> Value {
    let counts: serde_json::Map<String, Value> =
        report.counts.iter().map(|(table, count)| ((*table).to_owned(), json!(count))).collect();
    let secrets: serde_json::Map<String, Value> = report
        .secrets
        .iter()
        .flat_map(|secrets| &secrets.0)
        .map(|(table, SecretCounts { current, previous, closed, .. })| {
            (table.name().to_owned(), json!({ "current": current, "previous": previous, "unreadable": closed }))
        })
        .collect();
    let problem = |problem: &StoreProblem| {
        let kind: &str = problem.kind.into();
        json!({
            "kind": kind,
            "table": problem.table,
            "row": problem.row,
            "column": problem.column,
            "reason": problem.reason,
        })
    };
    json!({
        "ok": report.problem_count == 0,
        "engine": report.engine,
        "schema_version": report.schema_version,
        "known_schema_version": report.known_schema_version,
        "bytes": report.bytes,
        "free_bytes": report.free_bytes,
        "wal_bytes": report.wal_bytes,
        "can_shrink": report.can_shrink,
        "paused_since": report.paused_since.map(|since| since.to_string()),
        "counts": counts,
        "secrets": secrets,
        "problem_count": report.problem_count,
        "problems": report.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}
