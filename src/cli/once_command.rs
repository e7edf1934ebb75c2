//! `feedwarden run --once`: polls due sources once and prints a summary.

use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::{Value, json};

use super::arguments::Run;
use super::progress::Progress;
use super::{Exit, complain, exit_of, print};
use crate::config::Loaded;
use crate::daemon::{Once, OnceSummary, run_once};
use crate::model::{Backlog, FailureKind, SourceSettings};
use crate::opml::{self, Outline};
use crate::telemetry::LogStream;

pub(super) fn once(arguments: &Run, loaded: Loaded) -> Exit {
    let Loaded { mut settings, file, notices, .. } = loaded;
    let progress = Progress::new();
    settings.log.stream = LogStream::Error;
    if progress.is_shown() && settings.log.file.is_none() {
        // With a progress bar, log only errors, so that records do not interrupt the progress bar.
        settings.log.level = slog::Level::Error;
    }
    let backlog = arguments.backlog.as_deref().and_then(|name| name.parse().ok());
    let add = match arguments.opml.as_deref().map(|path| read_list(path, backlog)).transpose() {
        Ok(sources) => sources.unwrap_or_default(),
        Err(complaint) => {
            complain(&complaint);
            return Exit::Usage;
        }
    };
    let once = Once { add, ignores_due_times: arguments.all };
    let ended = actix_rt::System::new().block_on(run_once(settings, file, notices, once, |done| {
        let words = format!("{} new posts, {} failed", done.new_posts, done.failed_total());
        progress.draw(done.settled() + done.deferred, done.due, &words);
    }));
    progress.clear();
    match ended {
        Ok(summary) => {
            let text = if arguments.json { format!("{:#}\n", for_programs(&summary)) } else { for_people(&summary) };
            match print(&text) {
                Exit::Success if summary.is_interrupted => {
                    complain(&"a signal ended the round before its time");
                    Exit::Failure
                }
                exit => exit,
            }
        }
        Err(error) => {
            complain(&error);
            exit_of(&error)
        }
    }
}

/// Reads an OPML list; reports unusable entries and returns the rest.
fn read_list(path: &Path, backlog: Option<Backlog>) -> Result<Vec<(SourceSettings, Vec<String>)>, String> {
    let name = path.display();
    let unreadable = |error: &dyn std::fmt::Display| format!("{name}: {error}");
    let bytes: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).map_err(|error| unreadable(&error))?))
    };
    let mut sources = Vec::new();
    for outline in opml::Reader::new(bytes).map_err(|error| unreadable(&error))? {
        match outline {
            Ok(Outline { feed_url, title, labels, .. }) => {
                let settings = SourceSettings { title, backlog, ..SourceSettings::new(opml::SOURCE_TYPE, feed_url) };
                sources.push((settings, labels));
            }
            Err(bad) => complain(&format_args!("{name}: {bad}")),
        }
    }
    Ok(sources)
}

fn kinds(summary: &OnceSummary) -> impl Iterator<Item = (FailureKind, u64)> {
    FailureKind::ALL.into_iter().zip(summary.done.failed).filter(|(_, count)| *count > 0)
}

fn for_people(summary: &OnceSummary) -> String {
    let mut text = String::new();
    write_for_people(&mut text, summary).expect("a String takes every write");
    text
}

fn write_for_people(text: &mut String, summary: &OnceSummary) -> std::fmt::Result {
    let (done, import) = (&summary.done, summary.import);
    if import.added + import.duplicates > 0 {
        writeln!(text, "imported    {} new sources, {} duplicates", import.added, import.duplicates)?;
    }
    writeln!(text, "polled      {} of {} due sources", done.settled(), done.due)?;
    writeln!(text, "new posts   {}", done.new_posts)?;
    writeln!(text, "unchanged   {}", done.unchanged)?;
    let by_kind: Vec<String> = kinds(summary).map(|(kind, count)| format!("{kind} {count}")).collect();
    match by_kind.is_empty() {
        true => writeln!(text, "failed      0")?,
        false => writeln!(text, "failed      {} ({})", done.failed_total(), by_kind.join(", "))?,
    }
    if done.deferred > 0 {
        writeln!(text, "postponed   {} (their hosts are held or have an open breaker)", done.deferred)?;
    }
    writeln!(text, "elapsed     {:.1} s", summary.elapsed.as_secs_f64())
}

fn for_programs(summary: &OnceSummary) -> Value {
    let done = &summary.done;
    let failed_by_kind: serde_json::Map<String, Value> =
        kinds(summary).map(|(kind, count)| (kind.name().to_owned(), json!(count))).collect();
    json!({
        "imported": summary.import.added,
        "duplicates": summary.import.duplicates,
        "due": done.due,
        "polled": done.settled(),
        "read": done.read,
        "unchanged": done.unchanged,
        "failed": done.failed_total(),
        "failed_by_kind": failed_by_kind,
        "deferred": done.deferred,
        "new_posts": done.new_posts,
        "wire_bytes": done.wire_bytes,
        "elapsed_ms": u64::try_from(summary.elapsed.as_millis()).unwrap_or(u64::MAX),
        "is_interrupted": summary.is_interrupted,
    })
}
