//! `feedwarden source`: adds, lists, shows, changes, polls and explains sources.

use hyper::Method;
use serde_json::{Value, json};

use super::backfill_command::backfill;
use super::client::{ApiClient, Done, query, read};
use super::error::CliError;
use super::hints::{HintFor, hints};
use super::listing::{list_all, paging};
use super::new_source::{add, failed};
use super::progress::Progress;
use super::source_access::source_access;
use super::source_arguments::{
    EditSourceArguments, ListSourcesArguments, PollSourceArguments, SourceArgument, SourceCommand, SourceTargets,
};
use super::source_selection::{SourceAction, SourceResult, select_named};
use super::source_words::{COLUMNS, explanation, history, one, polled, row, standing};
use super::{Exit, complain};
use crate::api::views::{Page, PollAnswer, PollRecord, SourceView};
use crate::model::SourceId;

/// Requests that change sources, in flight together.
const CHANGES_AT_ONCE: usize = 4;
/// Polls that are waited for together. More of them would take the connections of other clients.
const POLLS_AT_ONCE: usize = 16;
/// Maximum time that the daemon waits for a poll, in seconds.
const WAIT_MAX: u64 = 50;

pub(super) async fn source(client: &ApiClient, command: SourceCommand) -> Done {
    match command {
        SourceCommand::Add(arguments) => add(client, &arguments).await,
        SourceCommand::List(list) => list_some(client, &list).await,
        SourceCommand::Show(named) => show(client, &named).await,
        SourceCommand::Edit(edit) => change(client, &edit).await,
        SourceCommand::Enable(targets) => {
            tell(client, &targets, SourceAction::Harmless("Enable"), Method::POST, "enable", None).await
        }
        SourceCommand::Disable(disable) => {
            let body = json!({ "reason": disable.reason });
            tell(client, &disable.targets, SourceAction::Suspend("Disable"), Method::POST, "disable", Some(body)).await
        }
        SourceCommand::Rest(rest) => {
            let body = json!({ "reason": rest.reason });
            tell(client, &rest.targets, SourceAction::Suspend("Rest"), Method::PATCH, "feed-disable", Some(body)).await
        }
        SourceCommand::Wake(targets) => {
            tell(client, &targets, SourceAction::Harmless("Wake"), Method::PATCH, "feed-enable", None).await
        }
        SourceCommand::Reset(targets) => {
            tell(client, &targets, SourceAction::Harmless("Reset the failures of"), Method::POST, "reset", None).await
        }
        SourceCommand::Remove(targets) => remove(client, &targets).await,
        SourceCommand::Poll(poll) => poll_now(client, &poll).await,
        SourceCommand::Backfill(arguments) => backfill(client, &arguments).await,
        SourceCommand::Access(access) => source_access(client, &access).await,
        SourceCommand::Explain(named) => {
            let id = client.source(&named.source).await?;
            let value = client.get(&format!("/sources/{id}/explain")).await?;
            let source = match client.is_json {
                true => None,
                false => Some(read::<SourceView>(client.get(&format!("/sources/{id}")).await?)?),
            };
            client.show(value, |explained| explanation(explained, source.as_ref()))
        }
        SourceCommand::History(named) => {
            let id = client.source(&named.source).await?;
            client.show(client.get(&format!("/sources/{id}/history")).await?, |polls: Page<PollRecord>| {
                history(&polls.items)
            })
        }
    }
}

async fn list_some(client: &ApiClient, list: &ListSourcesArguments) -> Done {
    let filters = [
        ("state", list.state.as_deref()),
        ("host", list.host.as_deref()),
        ("type", list.source_type.as_deref()),
        ("label", list.label.as_deref()),
        ("failure", list.failure.as_deref()),
        ("text", list.text.as_deref()),
    ];
    let filters: Vec<(&str, &str)> = filters.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    list_all(client, "/sources", &filters, &paging(&list.paging), COLUMNS, |source: &SourceView| row(source)).await
}

async fn show(client: &ApiClient, named: &SourceArgument) -> Done {
    let id = client.source(&named.source).await?;
    client.show(client.get(&format!("/sources/{id}")).await?, |source: SourceView| one(&source))
}

async fn change(client: &ApiClient, edit: &EditSourceArguments) -> Done {
    let body = changes(edit)?;
    let selection = select_named(client, &edit.sources).await?;
    if !selection.is_single && edit.place.is_some() {
        return Err(CliError::Usage("--move-to is for one source".into()));
    }
    check_version(edit.if_version, selection.is_single)?;
    if edit.enabled == Some(false) {
        selection.confirm(client, SourceAction::Suspend("Disable"), &edit.confirmation).await?;
    }
    let request = async |id: SourceId| -> SourceResult {
        let answer = client.send_if(Method::PATCH, &format!("/sources/{id}"), Some(&body), edit.if_version).await;
        Ok((answer?, Exit::Success))
    };
    let words = |id, value| match selection.is_single {
        true => Ok(one(&read::<SourceView>(value)?)),
        false => Ok(format!("source {id} is changed\n")),
    };
    selection.for_each(client, CHANGES_AT_ONCE, request, words).await
}

/// The body of the request that an edit means.
fn changes(edit: &EditSourceArguments) -> Result<Value, CliError> {
    let mut body = edit.settings.body();
    if let Some(place) = &edit.place {
        body.insert("url".into(), json!(place));
    }
    if let Some(enabled) = edit.enabled {
        body.insert("enabled".into(), json!(enabled));
    }
    for (name, labels) in [("add_labels", &edit.add_label), ("remove_labels", &edit.remove_label)] {
        if !labels.is_empty() {
            body.insert(name.into(), json!(labels));
        }
    }
    for (name, nothing) in edit.unset_fields() {
        if body.insert(name.into(), nothing).is_some() {
            return Err(CliError::Usage(format!("{name}: set it or unset it, not both")));
        }
    }
    match body.is_empty() {
        true => Err(CliError::Usage("say what to change; `feedwarden source edit --help` lists it".into())),
        false => Ok(Value::Object(body)),
    }
}

fn check_version(version: Option<i64>, is_single: bool) -> Result<(), CliError> {
    match version {
        Some(_) if !is_single => Err(CliError::Usage("--if-version is for one source, named by itself".into())),
        _ => Ok(()),
    }
}

async fn tell(
    client: &ApiClient,
    targets: &SourceTargets,
    action: SourceAction,
    method: Method,
    what: &str,
    body: Option<Value>,
) -> Done {
    let selection = targets.selector.select(client).await?;
    check_version(targets.if_version, selection.is_single)?;
    selection.confirm(client, action, &targets.selector.confirmation).await?;
    let request = async |id: SourceId| -> SourceResult {
        let path = format!("/sources/{id}/{what}");
        let answer = client.send_if(method.clone(), &path, body.as_ref(), targets.if_version).await;
        Ok((answer?, Exit::Success))
    };
    let words = |_, value| Ok(standing(&read::<SourceView>(value)?));
    selection.for_each(client, CHANGES_AT_ONCE, request, words).await
}

async fn remove(client: &ApiClient, targets: &SourceTargets) -> Done {
    let selection = targets.selector.select(client).await?;
    check_version(targets.if_version, selection.is_single)?;
    selection.confirm(client, SourceAction::Remove, &targets.selector.confirmation).await?;
    let request = async |id: SourceId| -> SourceResult {
        let path = format!("/sources/{id}");
        client.send_if(Method::DELETE, &path, None, targets.if_version).await?;
        // The response has no body.
        Ok((json!({ "removed": path }), Exit::Success))
    };
    let words = |id, _| Ok(format!("source {id} and its posts are removed\n"));
    selection.for_each(client, CHANGES_AT_ONCE, request, words).await
}

async fn poll_now(client: &ApiClient, poll: &PollSourceArguments) -> Done {
    if poll.wait > WAIT_MAX {
        return Err(CliError::Usage(format!("--wait: at most {WAIT_MAX} seconds")));
    }
    let selection = poll.selector.select(client).await?;
    selection.confirm(client, SourceAction::Harmless("Poll"), &poll.selector.confirmation).await?;
    let (wait, force) = (poll.wait.to_string(), poll.force.to_string());
    let options = query(&[("wait", &wait), ("force", &force)]);
    let progress = Progress::new();
    if selection.is_single {
        progress.say("polling …");
    }
    let request = async |id: SourceId| -> SourceResult {
        let answer = client.post(&format!("/sources/{id}/poll?{options}")).await;
        if selection.is_single {
            progress.clear();
        }
        let value = answer?;
        let exit = match read(value.clone())? {
            PollAnswer::Done { poll } if poll.error.is_some() => Exit::Failure,
            _ => Exit::Success,
        };
        Ok((value, exit))
    };
    let words = |id, value| {
        let answer: PollAnswer = read(value)?;
        if let PollAnswer::Done { poll } = &answer
            && poll.error.is_some()
        {
            hints(&failed(poll), HintFor::Source(id)).iter().for_each(|hint| complain(hint));
        }
        let text = polled(&answer);
        Ok(match selection.is_single {
            true => text,
            false => format!("source {id}: {}\n", text.lines().next().unwrap_or_default()),
        })
    };
    selection.for_each(client, POLLS_AT_ONCE, request, words).await
}
