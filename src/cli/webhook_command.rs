//! `feedwarden webhook`: adds, lists, shows, changes, tests and removes webhooks.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, Subcommand};
use hyper::Method;
use serde_json::{Map, Value, json};

use super::Exit;
use super::client::{ApiClient, Done, read};
use super::confirm::{ask_first, can_ask};
use super::error::CliError;
use super::events_command::event_types;
use super::output_style::{OutputStyle, facts, state_style};
use super::sanitize::plain;
use super::source_selection::ConfirmationArguments;
use super::table::{Cell, Column, Table};
use super::times::second;
use crate::api::views::{Page, WebhookTest, WebhookView};
use crate::model::DeliveryFormat;

const COLUMNS: &[Column] = &[
    Column::number("ID"),
    Column::word("STATE").leaves(1),
    Column::text("LABEL").leaves(2),
    Column::word("LAST DELIVERED").leaves(3),
    Column::number("FAILURES").leaves(4),
    Column::url("URL"),
];

#[derive(Debug, Subcommand)]
pub(super) enum WebhookCommand {
    /// List webhooks
    List,
    /// Add a webhook for events
    Add(AddWebhookArguments),
    /// Show a webhook with its state
    Show(WebhookArgument),
    /// Change a webhook, or give it a new secret
    Edit(EditWebhookArguments),
    /// Enable a webhook; deliveries continue where they stopped
    Enable(WebhookArgument),
    /// Disable a webhook
    Disable(DisableWebhookArguments),
    /// Begin the rotation of the secret: a new one signs beside the present one
    Rotate(RotateWebhookArguments),
    /// End the rotation of the secret: the new one alone signs
    EndRotation(WebhookArgument),
    /// Send a signed test delivery to a webhook
    Test(WebhookArgument),
    /// Remove a webhook; asks first on a terminal
    Remove(RemoveWebhookArguments),
}

#[derive(Args, Debug)]
pub(super) struct WebhookArgument {
    /// Id of the webhook
    id: i64,
}

#[derive(Args, Debug)]
pub(super) struct RemoveWebhookArguments {
    #[command(flatten)]
    named: WebhookArgument,
    #[command(flatten)]
    confirmation: ConfirmationArguments,
}

#[derive(Args, Debug)]
pub(super) struct AddWebhookArguments {
    /// URL to send events to
    #[arg(value_name = "URL")]
    place: String,
    /// Only posts of sources with this label
    #[arg(long)]
    label: Option<String>,
    /// Format of deliveries [default: standard]
    #[arg(long, value_parser = formats())]
    format: Option<String>,
    /// Type of events to send; may be given several times [default: post.created and post.updated]
    #[arg(long = "event", value_name = "TYPE", value_parser = event_types())]
    events: Vec<String>,
    /// File with the secret that signs deliveries, or the access token for matrix and ntfy [default: generate one and
    /// show it once]
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("change").required(true).multiple(true)
    .args(["place", "label", "no_label", "format", "events", "secret_file", "new_secret"]))]
pub(super) struct EditWebhookArguments {
    /// Id of the webhook
    id: i64,
    /// New URL
    #[arg(long = "move-to", value_name = "URL")]
    place: Option<String>,
    /// Only posts of sources with this label
    #[arg(long)]
    label: Option<String>,
    /// Send events of all sources
    #[arg(long, conflicts_with = "label")]
    no_label: bool,
    /// New format of deliveries
    #[arg(long, value_parser = formats())]
    format: Option<String>,
    /// Type of events to send; may be given several times, and replaces the present types
    #[arg(long = "event", value_name = "TYPE", value_parser = event_types())]
    events: Vec<String>,
    /// File with a new secret
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Generate a new secret and show it once
    #[arg(long, conflicts_with = "secret_file")]
    new_secret: bool,
}

#[derive(Args, Debug)]
pub(super) struct RotateWebhookArguments {
    #[command(flatten)]
    named: WebhookArgument,
    /// File with the new secret [default: generate one and show it once]
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct DisableWebhookArguments {
    #[command(flatten)]
    named: WebhookArgument,
    /// Reason to record
    #[arg(long)]
    reason: Option<String>,
}

pub(super) async fn webhook(client: &ApiClient, command: WebhookCommand) -> Done {
    match command {
        WebhookCommand::List => {
            // One page holds all webhooks.
            let value = client.get("/webhooks?limit=1000").await?;
            client.show(value, |all: Page<WebhookView>| table(&all.items))
        }
        WebhookCommand::Add(add) => {
            let mut body = json!({ "url": add.place, "label": add.label, "format": add.format, "events": add.events });
            if let Some(file) = &add.secret_file {
                body["secret"] = json!(secret(file)?);
            }
            client.show(client.send(Method::POST, "/webhooks", &body).await?, one)
        }
        WebhookCommand::Show(named) => client.show(client.get(&path(&named, "")).await?, one),
        WebhookCommand::Edit(edit) => {
            let (path, body) = (path(&WebhookArgument { id: edit.id }, ""), changes(&edit)?);
            client.show(client.send(Method::PATCH, &path, &body).await?, one)
        }
        WebhookCommand::Enable(named) => client.show(client.post(&path(&named, "/enable")).await?, told),
        WebhookCommand::Disable(disable) => {
            let (path, body) = (path(&disable.named, "/disable"), json!({ "reason": disable.reason }));
            client.show(client.send(Method::POST, &path, &body).await?, told)
        }
        WebhookCommand::Rotate(RotateWebhookArguments { named, secret_file }) => {
            let body = json!({ "secret": secret_file.as_deref().map(secret).transpose()? });
            client.show(client.send(Method::POST, &path(&named, "/rotate"), &body).await?, one)
        }
        WebhookCommand::EndRotation(named) => client.show(client.post(&path(&named, "/end-rotation")).await?, one),
        WebhookCommand::Test(named) => test(client, &named).await,
        WebhookCommand::Remove(RemoveWebhookArguments { named, confirmation }) => {
            if can_ask() && !confirmation.yes {
                let webhook: WebhookView = read(client.get(&path(&named, "")).await?)?;
                ask_first(&format!("Remove webhook {}, {}?", named.id, plain(&webhook.url)), confirmation.yes)?;
            }
            client.remove(&path(&named, ""), None, &format!("webhook {} is removed\n", named.id)).await
        }
    }
}

fn formats() -> clap::builder::PossibleValuesParser {
    DeliveryFormat::ALL.map(DeliveryFormat::name).into()
}

/// Exits with a failure if the webhook did not accept the test.
async fn test(client: &ApiClient, named: &WebhookArgument) -> Done {
    let value = client.post(&path(named, "/test")).await?;
    let is_taken = read::<WebhookTest>(value.clone())?.is_taken;
    let shown = client.show(value, |test: WebhookTest| match test.error {
        None => format!("webhook {} took a test delivery\n", named.id),
        Some(error) => format!("delivery to webhook {} failed: {}\n", named.id, plain(&error)),
    })?;
    Ok(if is_taken { shown } else { Exit::Failure })
}

fn path(named: &WebhookArgument, what: &str) -> String {
    format!("/webhooks/{}{what}", named.id)
}

fn changes(edit: &EditWebhookArguments) -> Result<Value, CliError> {
    let mut body = Map::new();
    if let Some(place) = &edit.place {
        body.insert("url".into(), json!(place));
    }
    if edit.label.is_some() || edit.no_label {
        body.insert("label".into(), json!(edit.label));
    }
    if let Some(format) = &edit.format {
        body.insert("format".into(), json!(format));
    }
    if !edit.events.is_empty() {
        body.insert("events".into(), json!(edit.events));
    }
    if edit.secret_file.is_some() || edit.new_secret {
        body.insert("secret".into(), json!(edit.secret_file.as_deref().map(secret).transpose()?));
    }
    Ok(Value::Object(body))
}

/// The secret in a file, without its line end.
fn secret(file: &Path) -> Result<String, CliError> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text.trim_end_matches(['\r', '\n']).to_owned()),
        Err(error) => Err(CliError::Failed(format!("{} cannot be read: {error}", file.display()))),
    }
}

fn state(webhook: &WebhookView) -> &'static str {
    match (webhook.enabled, webhook.failures) {
        (false, _) => "disabled",
        (true, 0) => "working",
        (true, _) => "failing",
    }
}

fn table(all: &[WebhookView]) -> String {
    let mut table = Table::new(COLUMNS);
    for webhook in all {
        let state = state(webhook);
        table.row(vec![
            Cell::new(webhook.id),
            Cell::styled(state, state_style(state)),
            Cell::maybe(webhook.label.as_ref()),
            Cell::maybe_time(webhook.last_delivered_at),
            Cell::new(webhook.failures),
            Cell::new(&webhook.url),
        ]);
    }
    table.render(OutputStyle::of_output(), true)
}

fn told(webhook: WebhookView) -> String {
    let reason = webhook.disabled_reason.as_ref().map(|reason| format!(": {}", plain(reason))).unwrap_or_default();
    format!("webhook {} is {}{reason}\n", webhook.id, if webhook.enabled { "enabled" } else { "disabled" })
}

fn one(webhook: WebhookView) -> String {
    let state = state(&webhook).to_owned();
    let made = webhook.secret.map(|secret| format!("{secret} (keep it: it is not shown again)"));
    facts(
        OutputStyle::of_output(),
        &[
            ("webhook", Some(webhook.id.to_string())),
            ("url", Some(webhook.url)),
            ("label", webhook.label),
            ("format", Some(webhook.format.to_string())),
            ("events", Some(webhook.events.iter().map(|event| event.name()).collect::<Vec<_>>().join(", "))),
            ("state", Some(state)),
            ("disabled", webhook.disabled_reason),
            ("last change", Some(webhook.last_change_number.to_string())),
            ("failures", (webhook.failures > 0).then(|| format!("{} in a row", webhook.failures))),
            ("last error", webhook.last_error),
            ("next try", webhook.retry_at.map(second)),
            ("delivered", webhook.last_delivered_at.map(second)),
            ("rotation", webhook.rotated_at.map(|at| format!("two secrets sign since {}", second(at)))),
            ("added", Some(second(webhook.created_at))),
            ("secret", made),
        ],
    )
}
