//! `feedwarden user`: users and their X keys.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};
use hyper::Method;
use serde_json::json;

use super::client::{ApiClient, Done, query, read};
use super::confirm::{ask_first, can_ask};
use super::error::CliError;
use super::listing::{list_all, paging};
use super::output_style::{OutputStyle, facts};
use super::podcast_command::podcast_added;
use super::sanitize::plain;
use super::secret_file::read_secret;
use super::source_arguments::Paging;
use super::source_selection::ConfirmationArguments;
use super::table::{Cell, Column};
use super::times::second;
use crate::api::views::{KeyView, Page, PodcastView, UserView};
use crate::model::UserId;

const COLUMNS: &[Column] =
    &[Column::number("ID"), Column::name("NAME"), Column::word("ADDED").leaves(2), Column::word("X KEY").leaves(1)];

#[derive(Debug, Subcommand)]
pub(super) enum UserCommand {
    /// List users
    List(Paging),
    /// Add a user, optionally with an X key and a podcast
    Add(AddUserArguments),
    /// Show a user
    Show(UserArgument),
    /// Rename a user
    Rename(Rename),
    /// Remove a user and their keys, unless the user owns podcasts; asks first on a terminal
    Remove(RemoveUserArguments),
    /// Set, replace or remove a user's X key
    Key(UserKeyArguments),
}

#[derive(Args, Debug)]
pub(super) struct UserArgument {
    /// Id or name of the user
    user: String,
}

#[derive(Args, Debug)]
pub(super) struct RemoveUserArguments {
    #[command(flatten)]
    named: UserArgument,
    #[command(flatten)]
    confirmation: ConfirmationArguments,
}

#[derive(Args, Debug)]
pub(super) struct AddUserArguments {
    /// Name of the user
    name: String,
    /// File with an X key: a bearer token, or the JSON of an OAuth 2.0 token; - reads standard input
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Also add a podcast with this title, owned by the user
    #[arg(long, value_name = "TITLE")]
    podcast: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct Rename {
    /// Id or name of the user
    user: String,
    /// New name
    name: String,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("what").required(true).args(["key_file", "remove"]))]
pub(super) struct UserKeyArguments {
    /// Id or name of the user
    user: String,
    /// File with an X key: a bearer token, or the JSON of an OAuth 2.0 token; - reads standard input
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Remove the key
    #[arg(long)]
    remove: bool,
}

pub(super) async fn user(client: &ApiClient, command: UserCommand) -> Done {
    match command {
        UserCommand::List(some) => list_all(client, "/users", &[], &paging(&some), COLUMNS, row).await,
        UserCommand::Add(add) => add_one(client, &add).await,
        UserCommand::Show(named) => {
            let id = find(client, &named.user).await?;
            client.show(client.get(&format!("/users/{id}")).await?, |user: UserView| one(&user))
        }
        UserCommand::Rename(rename) => {
            let path = format!("/users/{}", find(client, &rename.user).await?);
            let value = client.send(Method::PATCH, &path, &json!({ "name": rename.name })).await?;
            client.show(value, |user: UserView| one(&user))
        }
        UserCommand::Remove(RemoveUserArguments { named, confirmation }) => {
            let id = find(client, &named.user).await?;
            if can_ask() && !confirmation.yes {
                let user: UserView = read(client.get(&format!("/users/{id}")).await?)?;
                ask_first(&format!("Remove user {id}, {}, and their keys?", plain(&user.name)), confirmation.yes)?;
            }
            client.remove(&format!("/users/{id}"), None, &format!("user {id} is removed\n")).await
        }
        UserCommand::Key(key) => change_key(client, &key).await,
    }
}

/// Finds a user by id or name.
pub(super) async fn find(client: &ApiClient, name: &str) -> Result<UserId, CliError> {
    if let Ok(id) = name.parse::<i64>() {
        return Ok(UserId(id));
    }
    let found: Page<UserView> = read(client.get(&format!("/users?{}", query(&[("name", name)]))).await?)?;
    let missing = || CliError::NotFound(format!("there is no user {}", name.escape_debug()));
    found.items.first().map(|user| user.id).ok_or_else(missing)
}

/// If the key or the podcast cannot be added, removes the user again.
async fn add_one(client: &ApiClient, add: &AddUserArguments) -> Done {
    let key = add.key_file.as_deref().map(read_secret).transpose()?;
    let user: UserView = read(client.send(Method::POST, "/users", &json!({ "name": add.name })).await?)?;
    let path = format!("/users/{}", user.id);
    match equip(client, add, &user, key).await {
        Ok(podcast) => client.show(client.get(&path).await?, |user: UserView| added(&user, podcast.as_ref())),
        Err(refusal) => {
            client.send_if(Method::DELETE, &path, None, None).await?;
            Err(refusal)
        }
    }
}

/// Adds the podcast last, because the owner of a podcast cannot be removed.
async fn equip(
    client: &ApiClient,
    add: &AddUserArguments,
    user: &UserView,
    key: Option<String>,
) -> Result<Option<PodcastView>, CliError> {
    if let Some(key) = key {
        put_key(client, user.id, &key).await?;
    }
    let Some(title) = &add.podcast else { return Ok(None) };
    let body = json!({ "user_id": user.id, "title": title });
    client.send(Method::POST, "/podcasts", &body).await.and_then(read).map(Some)
}

async fn change_key(client: &ApiClient, key: &UserKeyArguments) -> Done {
    let id = find(client, &key.user).await?;
    match &key.key_file {
        Some(path) => {
            let value = put_key(client, id, &read_secret(path)?).await?;
            client.show(value, |_: KeyView| {
                format!("the X key of user {id} is stored; it is used from the next poll on\n")
            })
        }
        None => {
            let said = format!("the X key of user {id} is removed\n");
            client.remove(&format!("/users/{id}/keys/x"), None, &said).await
        }
    }
}

async fn put_key(client: &ApiClient, id: UserId, key: &str) -> Result<serde_json::Value, CliError> {
    client.send(Method::PUT, &format!("/users/{id}/keys/x"), &json!({ "key": key.trim() })).await
}

fn row(user: &UserView) -> Vec<Cell> {
    vec![Cell::new(user.id), Cell::new(&user.name), Cell::time(user.created_at), Cell::maybe_time(user.x_key_at)]
}

fn one(user: &UserView) -> String {
    let key = user.x_key_at.map_or_else(|| "none".to_owned(), |since| format!("since {}", second(since)));
    facts(
        OutputStyle::of_output(),
        &[
            ("user", Some(user.id.to_string())),
            ("name", Some(user.name.clone())),
            ("added", Some(second(user.created_at))),
            ("x key", Some(key)),
        ],
    )
}

fn added(user: &UserView, podcast: Option<&PodcastView>) -> String {
    let key = if user.x_key_at.is_some() { ", with an X key" } else { "" };
    let podcast = podcast.map(podcast_added);
    format!("user {} is added: {}{key}\n{}", user.id, plain(&user.name), podcast.unwrap_or_default())
}
