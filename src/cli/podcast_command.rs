//! `feedwarden podcast`: podcasts and their owners.

use clap::{ArgGroup, Args, Subcommand};
use hyper::Method;
use serde_json::{Value, json};

use super::client::{ApiClient, Done, read};
use super::confirm::{ask_first, can_ask};
use super::error::CliError;
use super::listing::{list_all, paging};
use super::output_style::{OutputStyle, facts};
use super::sanitize::plain;
use super::source_arguments::Paging;
use super::source_selection::ConfirmationArguments;
use super::table::{Cell, Column};
use super::times::second;
use super::user_command::find as find_user;
use crate::api::views::{Page, PodcastView, UserView};
use crate::model::{PodcastId, UserId};

const COLUMNS: &[Column] =
    &[Column::number("ID"), Column::number("USER").leaves(1), Column::word("ADDED").leaves(2), Column::name("TITLE")];

#[derive(Debug, Subcommand)]
pub(super) enum PodcastCommand {
    /// List podcasts
    List(ListPodcastsArguments),
    /// Add a podcast
    Add(AddPodcastArguments),
    /// Show a podcast
    Show(PodcastArgument),
    /// Change the title or owner of a podcast
    Edit(EditPodcastArguments),
    /// Remove a podcast, unless it has sources or articles; asks first on a terminal
    Remove(RemovePodcastArguments),
}

#[derive(Args, Debug)]
pub(super) struct PodcastArgument {
    /// Id of the podcast
    podcast: i64,
}

#[derive(Args, Debug)]
pub(super) struct RemovePodcastArguments {
    #[command(flatten)]
    named: PodcastArgument,
    #[command(flatten)]
    confirmation: ConfirmationArguments,
}

#[derive(Args, Debug)]
pub(super) struct ListPodcastsArguments {
    /// Only podcasts of this user, by id or name
    #[arg(long)]
    user: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Args, Debug)]
pub(super) struct AddPodcastArguments {
    /// Title
    title: String,
    /// Id or name of the owner [default: the only user]
    #[arg(long)]
    user: Option<String>,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("what").required(true).multiple(true).args(["title", "user"]))]
pub(super) struct EditPodcastArguments {
    /// Id of the podcast
    podcast: i64,
    /// Title
    #[arg(long)]
    title: Option<String>,
    /// Id or name of the new owner, whose X key is used from the next poll
    #[arg(long)]
    user: Option<String>,
}

pub(super) async fn podcast(client: &ApiClient, command: PodcastCommand) -> Done {
    match command {
        PodcastCommand::List(list) => {
            let user = match &list.user {
                Some(name) => Some(find_user(client, name).await?.to_string()),
                None => None,
            };
            let filters: Vec<(&str, &str)> = user.iter().map(|id| ("user_id", id.as_str())).collect();
            list_all(client, "/podcasts", &filters, &paging(&list.paging), COLUMNS, row).await
        }
        PodcastCommand::Add(add) => {
            let owner = match &add.user {
                Some(name) => find_user(client, name).await?,
                None => only_user(client).await?,
            };
            let body = json!({ "user_id": owner, "title": add.title });
            client.show(client.send(Method::POST, "/podcasts", &body).await?, |podcast: PodcastView| {
                podcast_added(&podcast)
            })
        }
        PodcastCommand::Show(named) => client.show(client.get(&path(named.podcast)).await?, one),
        PodcastCommand::Edit(edit) => {
            let mut body = json!({ "title": edit.title });
            if let Some(name) = &edit.user {
                body["user_id"] = json!(find_user(client, name).await?);
            }
            client.show(client.send(Method::PATCH, &path(edit.podcast), &body).await?, one)
        }
        PodcastCommand::Remove(RemovePodcastArguments { named, confirmation }) => {
            if can_ask() && !confirmation.yes {
                let podcast: PodcastView = read(client.get(&path(named.podcast)).await?)?;
                let question = format!("Remove podcast {}, {}?", podcast.id, plain(&podcast.title));
                ask_first(&question, confirmation.yes)?;
            }
            let said = format!("podcast {} is removed\n", named.podcast);
            client.remove(&path(named.podcast), None, &said).await
        }
    }
}

/// The only podcast, if there is one; an error if there are several.
pub(super) async fn only_podcast(client: &ApiClient) -> Result<Option<PodcastId>, CliError> {
    let found: Page<PodcastView> = read(two(client, "/podcasts").await?)?;
    match found.items.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.id)),
        _ => Err(CliError::Usage(
            "there are several podcasts; select one with --podcast ID (`feedwarden podcast list`)".into(),
        )),
    }
}

async fn only_user(client: &ApiClient) -> Result<UserId, CliError> {
    let found: Page<UserView> = read(two(client, "/users").await?)?;
    match found.items.as_slice() {
        [] => Err(CliError::NotFound("there is no user yet; `feedwarden user add NAME` adds one".into())),
        [one] => Ok(one.id),
        _ => Err(CliError::Usage(
            "there are several users; select the owner with --user (`feedwarden user list`)".into(),
        )),
    }
}

/// Fetches two items, enough to distinguish one from several.
async fn two(client: &ApiClient, path: &str) -> Result<Value, CliError> {
    client.get(&format!("{path}?limit=2")).await
}

fn path(podcast: i64) -> String {
    format!("/podcasts/{podcast}")
}

fn row(podcast: &PodcastView) -> Vec<Cell> {
    vec![Cell::new(podcast.id), Cell::new(podcast.user_id), Cell::time(podcast.created_at), Cell::new(&podcast.title)]
}

pub(super) fn podcast_added(podcast: &PodcastView) -> String {
    format!("podcast {} is added: {}\n", podcast.id, plain(&podcast.title))
}

fn one(podcast: PodcastView) -> String {
    facts(
        OutputStyle::of_output(),
        &[
            ("podcast", Some(podcast.id.to_string())),
            ("title", Some(podcast.title)),
            ("user", Some(podcast.user_id.to_string())),
            ("added", Some(second(podcast.created_at))),
        ],
    )
}
