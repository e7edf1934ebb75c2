//! `feedwarden source`: adds, lists, shows, changes, polls and explains sources.

use hyper::Method;
use serde_json::{Value, json};

use super::backfill_command::backfill;
use super::client::{ApiClient, Done, query, read};
use super::error::CliError;
use super::listing::{list_all, paging};
use super::podcast_command::only_podcast;
use super::progress::Progress;
use super::source_access::{read_access, source_access};
use super::source_arguments::{
    AddSourceArguments, EditSourceArguments, ListSourcesArguments, PollSourceArguments, SourceArgument, SourceCommand,
    SourceTarget,
};
use super::source_words::{COLUMNS, added, explanation, history, one, polled, row, standing};
use super::{Exit, complain};
use crate::api::views::{CreatedSource, Page, PollAnswer, PollRecord, SourceView};
use crate::sources::{detect_type, owner_key};

pub(super) async fn source(client: &ApiClient, command: SourceCommand) -> Done {
    match command {
        SourceCommand::Add(add) => add_one(client, &add).await,
        SourceCommand::List(list) => list_some(client, &list).await,
        SourceCommand::Show(named) => show(client, &named).await,
        SourceCommand::Edit(edit) => change(client, &edit).await,
        SourceCommand::Enable(target) => tell(client, &target, Method::POST, "enable", None).await,
        SourceCommand::Disable(disable) => {
            let body = json!({ "reason": disable.reason });
            tell(client, &disable.target, Method::POST, "disable", Some(body)).await
        }
        SourceCommand::Rest(rest) => {
            let body = json!({ "reason": rest.reason });
            tell(client, &rest.target, Method::PATCH, "feed-disable", Some(body)).await
        }
        SourceCommand::Wake(target) => tell(client, &target, Method::PATCH, "feed-enable", None).await,
        SourceCommand::Reset(target) => tell(client, &target, Method::POST, "reset", None).await,
        SourceCommand::Remove(target) => remove(client, &target).await,
        SourceCommand::Poll(poll) => poll_now(client, &poll).await,
        SourceCommand::Backfill(arguments) => backfill(client, &arguments).await,
        SourceCommand::Access(access) => source_access(client, &access).await,
        SourceCommand::Explain(named) => {
            let id = client.source(&named.source).await?;
            client.show(client.get(&format!("/sources/{id}/explain")).await?, explanation)
        }
        SourceCommand::History(named) => {
            let id = client.source(&named.source).await?;
            client.show(client.get(&format!("/sources/{id}/history")).await?, |polls: Page<PollRecord>| {
                history(&polls.items)
            })
        }
    }
}

async fn add_one(client: &ApiClient, add: &AddSourceArguments) -> Done {
    let mut body = add.settings.body();
    body.insert("url".into(), json!(add.place));
    let source_type = match &add.settings.source_type {
        Some(name) => name.parse().ok(),
        None => detect_type(&add.place).ok(),
    };
    if source_type.is_some_and(|source_type| owner_key(source_type).is_some()) && add.settings.podcast.is_none() {
        body.insert("podcast_id".into(), json!(only_podcast(client).await?));
    }
    if let Some(access) = read_access(&add.access)? {
        body.insert("access".into(), access);
    }
    body.insert("first_poll".into(), json!(!add.unseen));
    body.insert("anyway".into(), json!(add.anyway));
    // A host that does not respond takes long to time out, so show what the command waits for.
    let progress = Progress::new();
    if !add.unseen {
        progress.say("fetching it once …");
    }
    let answer = client.send(Method::POST, "/sources", &Value::Object(body)).await;
    progress.clear();
    match answer {
        Ok(value) => {
            let created: CreatedSource = read(value.clone())?;
            let shown = client.show(value, |created: CreatedSource| added(&created))?;
            if let Some(PollAnswer::Requested { .. }) = created.first_poll {
                complain(&format_args!(
                    "note: the source has not been polled yet; `feedwarden source history {}` shows the first poll",
                    created.source.id
                ));
            }
            Ok(shown)
        }
        Err(CliError::Problem(problem)) if problem.status == 422 => {
            let context = problem.context.clone().unwrap_or_default();
            let feeds: Vec<String> =
                serde_json::from_value(context["poll"]["linked_feeds"].clone()).unwrap_or_default();
            Err(CliError::Offer { refusal: Box::new(CliError::Problem(problem)), feeds })
        }
        Err(refusal) => Err(refusal),
    }
}

async fn list_some(client: &ApiClient, list: &ListSourcesArguments) -> Done {
    let filters = [
        ("state", list.state.as_deref()),
        ("host", list.host.as_deref()),
        ("type", list.source_type.as_deref()),
        ("label", list.label.as_deref()),
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
    let mut body = edit.settings.body();
    if let Some(place) = &edit.place {
        body.insert("url".into(), json!(place));
    }
    if let Some(enabled) = edit.enabled {
        body.insert("enabled".into(), json!(enabled));
    }
    for (name, nothing) in edit.unset_fields() {
        if body.insert(name.into(), nothing).is_some() {
            return Err(CliError::Usage(format!("{name}: set it or unset it, not both")));
        }
    }
    if body.is_empty() {
        return Err(CliError::Usage("say what to change; `feedwarden source edit --help` lists it".into()));
    }
    let body = Value::Object(body);
    let path = format!("/sources/{}", client.source(&edit.target.source).await?);
    let value = client.send_if(Method::PATCH, &path, Some(&body), edit.target.if_version).await?;
    client.show(value, |source: SourceView| one(&source))
}

async fn tell(client: &ApiClient, target: &SourceTarget, method: Method, what: &str, body: Option<Value>) -> Done {
    let id = client.source(&target.source).await?;
    let path = format!("/sources/{id}/{what}");
    let value = client.send_if(method, &path, body.as_ref(), target.if_version).await?;
    client.show(value, |source: SourceView| standing(&source))
}

async fn remove(client: &ApiClient, target: &SourceTarget) -> Done {
    let id = client.source(&target.source).await?;
    let said = format!("source {id} and its posts are removed\n");
    client.remove(&format!("/sources/{id}"), target.if_version, &said).await
}

async fn poll_now(client: &ApiClient, poll: &PollSourceArguments) -> Done {
    let id = client.source(&poll.source).await?;
    let (wait, force) = (poll.wait.to_string(), poll.force.to_string());
    let progress = Progress::new();
    progress.say("polling …");
    let value = client.post(&format!("/sources/{id}/poll?{}", query(&[("wait", &wait), ("force", &force)]))).await;
    progress.clear();
    let value = value?;
    let answer: PollAnswer = read(value.clone())?;
    match client.show(value, |answer: PollAnswer| polled(&answer))? {
        Exit::Success if matches!(&answer, PollAnswer::Done { poll } if poll.error.is_some()) => Ok(Exit::Failure),
        exit => Ok(exit),
    }
}
