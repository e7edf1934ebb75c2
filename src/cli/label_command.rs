//! `feedwarden label`: labels of sources, one by one.

use clap::{Args, Subcommand};
use hyper::Method;
use serde_json::{Value, json};

use super::client::{ApiClient, Done, read};
use super::confirm::ask_first;
use super::error::CliError;
use super::listing::{list_all, paging};
use super::sanitize::plain;
use super::source_arguments::Paging;
use super::source_selection::{ConfirmationArguments, Selection, SourceResult, list_ids, select_named};
use super::table::{Cell, Column};
use super::{Exit, complain, print};
use crate::api::views::{LabelView, Page, SourceView, WebhookView};
use crate::model::SourceId;

const COLUMNS: &[Column] = &[Column::name("LABEL"), Column::number("SOURCES")];
/// Requests in flight together.
const AT_ONCE: usize = 4;

#[derive(Debug, Subcommand)]
pub(super) enum LabelCommand {
    /// List labels with their number of sources
    List(Paging),
    /// Add a label to sources
    Add(LabelSources),
    /// Remove a label from sources, or with --all from every source
    Remove(RemoveLabelArguments),
    /// Rename a label at every source and webhook that has it
    Rename(RenameLabelArguments),
}

#[derive(Args, Debug)]
pub(super) struct LabelSources {
    /// Name of the label
    label: String,
    /// Sources: id, URL, or a part of URL or title that only one source has
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<String>,
}

#[derive(Args, Debug)]
pub(super) struct RemoveLabelArguments {
    /// Name of the label
    label: String,
    /// Sources: id, URL, or a part of URL or title that only one source has
    #[arg(value_name = "SOURCE", required_unless_present = "all")]
    sources: Vec<String>,
    /// Every source that has the label
    #[arg(long, conflicts_with = "sources")]
    all: bool,
    #[command(flatten)]
    confirmation: ConfirmationArguments,
}

#[derive(Args, Debug)]
pub(super) struct RenameLabelArguments {
    /// Current name
    #[arg(value_name = "OLD")]
    old: String,
    /// New name; if a source has both labels, the old one is removed
    #[arg(value_name = "NEW")]
    new: String,
}

pub(super) async fn label(client: &ApiClient, command: LabelCommand) -> Done {
    match command {
        LabelCommand::List(some) => list_all(client, "/labels", &[], &paging(&some), COLUMNS, row).await,
        LabelCommand::Add(add) => {
            let selection = select_named(client, &add.sources).await?;
            change(client, &selection, &json!({ "add_labels": [add.label] })).await
        }
        LabelCommand::Remove(remove) => {
            let selection = match remove.all {
                true => with_label(client, &remove.label).await?,
                false => select_named(client, &remove.sources).await?,
            };
            if remove.all {
                let question =
                    format!("Remove the label {} from {} sources?", plain(&remove.label), selection.ids.len());
                ask_first(&question, remove.confirmation.yes)?;
            }
            change(client, &selection, &json!({ "remove_labels": [remove.label] })).await
        }
        LabelCommand::Rename(rename) => rename_label(client, &rename).await,
    }
}

async fn with_label(client: &ApiClient, label: &str) -> Result<Selection, CliError> {
    let ids = list_ids(client, &[("label", label.trim())]).await?;
    match ids.is_empty() {
        true => Err(CliError::NotFound(format!(
            "no source has the label {}; `feedwarden label list` lists them",
            label.escape_debug()
        ))),
        false => Ok(Selection::of(ids)),
    }
}

async fn change(client: &ApiClient, selection: &Selection, body: &Value) -> Done {
    let request = async |id: SourceId| -> SourceResult {
        let value = client.send(Method::PATCH, &format!("/sources/{id}"), body).await?;
        Ok((value, Exit::Success))
    };
    selection.for_each(client, AT_ONCE, request, labels_of).await
}

fn labels_of(id: SourceId, value: Value) -> Result<String, CliError> {
    let source: SourceView = read(value)?;
    Ok(match source.labels.is_empty() {
        true => format!("source {id} has no labels\n"),
        false => format!("source {id} has the labels {}\n", plain(&source.labels.join(", "))),
    })
}

/// Webhooks with the label are disabled meanwhile: their deliveries go on afterwards where they stopped, so that no post
/// is left out because its source has the one name and the webhook the other.
async fn rename_label(client: &ApiClient, rename: &RenameLabelArguments) -> Done {
    let selection = with_label(client, &rename.old).await?;
    let webhooks: Page<WebhookView> = read(client.get("/webhooks?limit=1000").await?)?;
    let webhooks: Vec<&WebhookView> =
        webhooks.items.iter().filter(|webhook| webhook.label.as_deref() == Some(rename.old.trim())).collect();
    for webhook in webhooks.iter().filter(|webhook| webhook.enabled) {
        let body = json!({ "reason": format!("its label {} is being renamed", rename.old.trim()) });
        client.send(Method::POST, &format!("/webhooks/{}/disable", webhook.id), &body).await?;
    }
    let body = json!({ "rename_label": { "from": rename.old, "to": rename.new } });
    let exit = change(client, &selection, &body).await?;
    if exit != Exit::Success && !webhooks.is_empty() {
        complain(&"the webhooks with the label are disabled until all sources are renamed; repeat the command");
        return Ok(exit);
    }
    for webhook in webhooks {
        let path = format!("/webhooks/{}", webhook.id);
        client.send(Method::PATCH, &path, &json!({ "label": rename.new.trim() })).await?;
        if webhook.enabled
            || webhook.disabled_reason.as_deref().is_some_and(|reason| reason.ends_with(" is being renamed"))
        {
            client.post(&format!("{path}/enable")).await?;
        }
        if !client.is_json {
            print(&format!("webhook {} has the label {}\n", webhook.id, plain(rename.new.trim())));
        }
    }
    Ok(exit)
}

fn row(label: &LabelView) -> Vec<Cell> {
    vec![Cell::new(&label.label), Cell::new(label.sources)]
}
