//! Commands for several sources: which ones, whether to ask first, and the result of each.
//!
//! The client sends one request for each source, so every source succeeds or fails by itself (docs/decisions.md).

use std::collections::HashSet;
use std::time::Duration;

use clap::Args;
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::{Value, json};

use super::client::{ApiClient, Done, query, read};
use super::confirm::{ask_first, can_ask};
use super::error::CliError;
use super::progress::Progress;
use super::source_names::{described, find_source};
use super::{Exit, complain, print, print_some};
use crate::api::views::{Page, PostCount, SourceView};
use crate::model::SourceId;

/// Sources on a page of a selection.
const PAGE: &str = "1000";
/// Sources whose posts are counted one by one for the question; each takes a request.
const COUNTED_MAX: usize = 100;
/// Delay after a 429, and maximum number of retries for one source.
const COME_BACK_AFTER: Duration = Duration::from_secs(1);
const TOO_FAST_MAX: usize = 60;
/// From this many sources on, a progress bar is shown.
const PROGRESS_FROM: usize = 10;

/// Sources by name, or all that a filter selects.
#[derive(Args, Debug)]
pub(super) struct SourceSelector {
    /// Sources: id, URL, or a part of URL or title that only one source has
    #[arg(value_name = "SOURCE", required_unless_present_any = ["label", "state", "host", "all"],
        conflicts_with_all = ["label", "state", "host", "all"])]
    pub(super) sources: Vec<String>,
    /// All sources with this label
    #[arg(long, value_name = "LABEL")]
    pub(super) label: Option<String>,
    /// All sources in this state
    #[arg(long, value_parser = ["active", "backing_off", "resting", "disabled"])]
    pub(super) state: Option<String>,
    /// All sources at this host
    #[arg(long)]
    pub(super) host: Option<String>,
    /// All sources
    #[arg(long, conflicts_with_all = ["label", "state", "host"])]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) confirmation: ConfirmationArguments,
}

#[derive(Args, Debug, Default)]
pub(super) struct ConfirmationArguments {
    /// Do not ask for confirmation; without a terminal there is no question
    #[arg(long, short)]
    pub(super) yes: bool,
}

/// The sources of a command.
pub(super) struct Selection {
    pub(super) ids: Vec<SourceId>,
    /// Whether one source was named, so that the command prints its answer alone.
    pub(super) is_single: bool,
    is_all: bool,
    /// The only source in words, if it was looked up.
    description: Option<String>,
}

/// What a command does, for its question.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceAction {
    /// Asks always.
    Remove,
    /// Asks for several sources.
    Suspend(&'static str),
    /// Asks for `--all` only.
    Harmless(&'static str),
}

/// Result for one source: the answer, and the exit code that it means.
pub(super) type SourceResult = Result<(Value, Exit), CliError>;

impl SourceSelector {
    /// Finds the sources. A name that no source or several sources have ends the command before it changes anything.
    pub(super) async fn select(&self, client: &ApiClient) -> Result<Selection, CliError> {
        if self.sources.is_empty() {
            return self.select_by_filter(client).await;
        }
        select_named(client, &self.sources).await
    }

    async fn select_by_filter(&self, client: &ApiClient) -> Result<Selection, CliError> {
        let filters = [("label", &self.label), ("state", &self.state), ("host", &self.host)];
        let filters: Vec<(&str, &str)> =
            filters.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))).collect();
        let ids = list_ids(client, &filters).await?;
        if ids.is_empty() {
            let options: Vec<String> = filters.iter().map(|(name, value)| format!("--{name} {value}")).collect();
            let what = if self.all { "there are no sources".to_owned() } else { options.join(" ") };
            let text = if self.all { what } else { format!("no source matches {}", what.escape_debug()) };
            return Err(CliError::NotFound(text));
        }
        Ok(Selection { ids, is_single: false, is_all: self.all, description: None })
    }
}

/// Ids of all sources that match these filters.
pub(super) async fn list_ids(client: &ApiClient, filters: &[(&str, &str)]) -> Result<Vec<SourceId>, CliError> {
    let (mut ids, mut cursor) = (Vec::new(), None::<String>);
    let progress = Progress::new();
    loop {
        let mut pairs = filters.to_vec();
        pairs.push(("limit", PAGE));
        pairs.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page: Page<SourceView> = read(client.get_patiently(&format!("/sources?{}", query(&pairs))).await?)?;
        ids.extend(page.items.iter().map(|source| source.id));
        cursor = page.next_cursor;
        if cursor.is_none() {
            progress.clear();
            return Ok(ids);
        }
        progress.say(&format!("looking, {} found …", ids.len()));
    }
}

pub(super) async fn select_named(client: &ApiClient, names: &[String]) -> Result<Selection, CliError> {
    let (mut ids, mut seen, mut description, mut wrong) = (Vec::new(), HashSet::new(), None, Vec::new());
    for name in names {
        match find_source(client, name).await {
            Ok(named) => {
                if let Some(source) = &named.found_by_part {
                    complain(&format_args!("{} is source {}", name.escape_debug(), described(source)));
                    description = Some(described(source));
                }
                if seen.insert(named.id) {
                    ids.push(named.id);
                }
            }
            Err(error @ (CliError::NotFound(_) | CliError::Usage(_))) if names.len() > 1 => wrong.push(error),
            Err(error) => return Err(error),
        }
    }
    if let Some(last) = wrong.pop() {
        wrong.iter().for_each(|error| complain(error));
        return Err(last.and_then_said("nothing was changed"));
    }
    let is_single = names.len() == 1;
    Ok(Selection { ids, is_single, is_all: false, description: description.filter(|_| is_single) })
}

impl Selection {
    /// These sources, found by something other than their names.
    pub(super) fn of(ids: Vec<SourceId>) -> Selection {
        Selection { ids, is_single: false, is_all: false, description: None }
    }

    /// Asks a person on a terminal, if the action calls for it.
    pub(super) async fn confirm(
        &self,
        client: &ApiClient,
        action: SourceAction,
        confirmation: &ConfirmationArguments,
    ) -> Result<(), CliError> {
        let is_asked = match action {
            SourceAction::Remove => true,
            SourceAction::Suspend(_) => self.ids.len() > 1 || self.is_all,
            SourceAction::Harmless(_) => self.is_all,
        };
        if !is_asked || confirmation.yes || !can_ask() {
            return Ok(());
        }
        let count = self.ids.len();
        let many = if count == 1 { "1 source".to_owned() } else { format!("{count} sources") };
        let question = match action {
            SourceAction::Remove => self.removal(client).await?,
            SourceAction::Suspend(verb) | SourceAction::Harmless(verb) => format!("{verb} {many}?"),
        };
        ask_first(&question, false)
    }

    async fn removal(&self, client: &ApiClient) -> Result<String, CliError> {
        let posts = self.count_posts(client).await?;
        let posts = |whose: &str| match posts {
            Some(1) => format!("{whose} 1 post"),
            Some(count) => format!("{whose} {count} posts"),
            None => format!("all {whose} posts"),
        };
        match (self.ids.as_slice(), &self.description) {
            ([_], Some(described)) => Ok(format!("Remove source {described} and {}?", posts("its"))),
            ([id], None) => {
                let source: SourceView = read(client.get(&format!("/sources/{id}")).await?)?;
                Ok(format!("Remove source {} and {}?", described(&source), posts("its")))
            }
            (ids, _) => Ok(format!("Remove {} sources and {}?", ids.len(), posts("their"))),
        }
    }

    /// None if there are too many sources to count.
    async fn count_posts(&self, client: &ApiClient) -> Result<Option<u64>, CliError> {
        if self.is_all {
            return Ok(Some(read::<PostCount>(client.get("/posts/count").await?)?.posts));
        }
        if self.ids.len() > COUNTED_MAX {
            return Ok(None);
        }
        let mut posts = 0;
        for id in &self.ids {
            match client.get_patiently(&format!("/posts/count?source_id={id}")).await {
                Ok(count) => posts += read::<PostCount>(count)?.posts,
                // Said with the result of this source.
                Err(CliError::Problem(problem)) if problem.status == 404 && !self.is_single => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(posts))
    }

    /// Sends a request for each source, at most `at_once` at a time, and prints the results in order. The exit code is
    /// the worst of all.
    pub(super) async fn for_each(
        &self,
        client: &ApiClient,
        at_once: usize,
        request: impl AsyncFn(SourceId) -> SourceResult,
        words: impl Fn(SourceId, Value) -> Result<String, CliError>,
    ) -> Done {
        if let ([id], true) = (self.ids.as_slice(), self.is_single) {
            let (value, exit) = request(*id).await?;
            let text = if client.is_json { format!("{value:#}\n") } else { words(*id, value)? };
            return Ok(worse(print(&text), exit));
        }
        let (progress, total) = (Progress::new(), self.ids.len());
        let is_long = total >= PROGRESS_FROM;
        let mut results = stream::iter(self.ids.iter().copied())
            .map(|id| {
                let request = &request;
                async move { (id, patiently(request, id).await) }
            })
            .buffered(at_once);
        let (mut exit, mut done, mut failed) = (Exit::Success, 0_usize, 0_usize);
        if is_long {
            progress.draw(0, total as u64, "sources");
        }
        while let Some((id, result)) = results.next().await {
            done += 1;
            let (text, complaint, one_exit) = said(client.is_json, id, result, &words);
            failed += usize::from(one_exit != Exit::Success);
            exit = worse(exit, one_exit);
            if is_long {
                progress.clear();
            }
            if let Some(complaint) = complaint {
                complain(&complaint);
            }
            if let Some(end) = print_some(&text) {
                // The reader of the output is gone; the rest is done all the same.
                exit = worse(exit, end);
            }
            if is_long && done < total {
                progress.draw(done as u64, total as u64, "sources");
            }
        }
        if failed > 0 {
            complain(&format_args!("{} of {total} sources failed", failed));
        }
        Ok(exit)
    }
}

/// Repeats a request that was refused because there were too many.
async fn patiently(request: &impl AsyncFn(SourceId) -> SourceResult, id: SourceId) -> SourceResult {
    for _ in 0..TOO_FAST_MAX {
        match request(id).await {
            Err(CliError::Problem(problem)) if problem.status == 429 => tokio::time::sleep(COME_BACK_AFTER).await,
            result => return result,
        }
    }
    request(id).await
}

/// What to print about one of several sources: for standard output, for standard error, and the exit code.
fn said(
    is_json: bool,
    id: SourceId,
    result: SourceResult,
    words: impl Fn(SourceId, Value) -> Result<String, CliError>,
) -> (String, Option<String>, Exit) {
    match result {
        Ok((value, exit)) if is_json => {
            let line = json!({ "source_id": id, "ok": exit == Exit::Success, "result": value });
            (format!("{line}\n"), None, exit)
        }
        Ok((value, exit)) => match words(id, value) {
            Ok(text) => (text, None, exit),
            Err(error) => (String::new(), Some(format!("source {id}: {error}")), error.exit()),
        },
        Err(error) => {
            let line = json!({ "source_id": id, "ok": false, "problem": error.problem() });
            let text = if is_json { format!("{line}\n") } else { String::new() };
            let complaint = (!is_json).then(|| format!("source {id}: {error}"));
            (text, complaint, error.exit())
        }
    }
}

/// The worse of two exit codes: no daemon, failure, refusal, conflict, not found, usage.
pub(super) fn worse(one: Exit, other: Exit) -> Exit {
    let rank = |exit: Exit| match exit {
        Exit::Success => 0,
        Exit::Usage => 1,
        Exit::NotFound => 2,
        Exit::Conflict => 3,
        Exit::Refused => 4,
        Exit::Failure => 5,
        Exit::Unreachable => 6,
        Exit::Escalated => 7,
    };
    if rank(other) > rank(one) { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_result_decides_the_exit_code() {
        for (one, other, wanted) in [
            (Exit::Success, Exit::NotFound, Exit::NotFound),
            (Exit::Failure, Exit::NotFound, Exit::Failure),
            (Exit::Refused, Exit::Conflict, Exit::Refused),
            (Exit::Failure, Exit::Unreachable, Exit::Unreachable),
            (Exit::Success, Exit::Success, Exit::Success),
        ] {
            assert_eq!(worse(one, other), wanted);
            assert_eq!(worse(other, one), wanted);
        }
    }
}
