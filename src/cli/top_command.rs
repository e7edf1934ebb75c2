//! `feedwarden top`: the daemon at work, drawn anew every second.

use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;

use super::client::{Client, Done, read, until_interrupted};
use super::daemon_command::in_words;
use super::error::CliError;
use super::output_style::{Paper, state_ink};
use super::sanitize::{cut, plain};
use super::table::{Cell, Column, Table, minute};
use super::{Exit, print_some};
use crate::api::views::{Page, PostView, SourceView, StatusView};
use crate::demo::Screen;

const TROUBLED: &[Column] = &[
    Column::number("BACKS OFF"),
    Column::number("FAILED").leaves(2),
    Column::url("URL"),
    Column::text("WHY").leaves(1),
];

const NEWEST: &[Column] =
    &[Column::word("NEWEST POSTS").leaves(1), Column::number("SOURCE").leaves(2), Column::name("TITLE")];

/// How often, and for how long.
#[derive(Args, Debug)]
pub(super) struct Top {
    /// Look again after so many seconds
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,
    /// End after so many looks; without it, Ctrl-C does
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

/// What is seen at one moment.
struct Look {
    status: StatusView,
    troubled: Vec<SourceView>,
    posts: Vec<PostView>,
}

/// Draws until Ctrl-C, on a terminal over what was there before.
pub(super) async fn top(client: &Client, top: &Top) -> Done {
    until_interrupted(watch(client, top)).await
}

async fn watch(client: &Client, top: &Top) -> Done {
    let mut looks = tokio::time::interval(Duration::from_secs(top.interval));
    let mut before: Option<StatusView> = None;
    let mut screen = None;
    let mut left = top.count;
    loop {
        looks.tick().await;
        if client.is_json {
            if let Some(exit) = print_some(&format!("{}\n", client.get("/status").await?)) {
                return Ok(exit);
            }
        } else {
            let look = look(client).await?;
            // The terminal is taken when there is something to show, so that an error stays readable.
            if screen.is_none() && std::io::stdout().is_terminal() {
                screen = Some(Screen::enter().map_err(|error| CliError::Failed(error.to_string()))?);
            }
            let text = draw(&look, before.as_ref(), Paper::of_output());
            match &screen {
                Some(screen) => {
                    let lines: Vec<String> = text.lines().take(screen.size().rows).map(str::to_owned).collect();
                    screen.draw(&lines).map_err(|error| CliError::Failed(error.to_string()))?;
                }
                None => {
                    if let Some(exit) = print_some(&format!("{text}\n")) {
                        return Ok(exit);
                    }
                }
            }
            before = Some(look.status);
        }
        left = left.map(|left| left - 1);
        if left == Some(0) {
            return Ok(Exit::Success);
        }
    }
}

async fn look(client: &Client) -> Result<Look, CliError> {
    let status = read(client.get("/status").await?)?;
    let troubled: Page<SourceView> = read(client.get("/sources?state=backing_off&limit=5").await?)?;
    let posts: Page<PostView> = read(client.get("/posts?order=newest&limit=20").await?)?;
    Ok(Look { status, troubled: troubled.items, posts: posts.items })
}

fn draw(look: &Look, before: Option<&StatusView>, paper: Paper) -> String {
    let mut text = in_words(&look.status, paper);
    let rate = before.map(|before| {
        let seconds = look.status.now.since(before.now).as_secs_f64().max(0.001);
        let polls = look.status.statistics.polls.saturating_sub(before.statistics.polls);
        format!("{:.1} polls a second", polls as f64 / seconds)
    });
    text += &format!("\n{}", paper.headline(rate.as_deref().unwrap_or("polls a second: wait a moment")));
    if !look.troubled.is_empty() {
        let mut table = Table::new(TROUBLED);
        for source in &look.troubled {
            table.row(vec![
                Cell::inked(source.id, state_ink(&source.state)),
                Cell::new(source.consecutive_failures),
                Cell::new(&source.url),
                Cell::maybe(source.last_error.as_ref()),
            ]);
        }
        text += &format!("\n{}", table.render(paper, true));
    }
    let mut table = Table::new(NEWEST);
    for post in &look.posts {
        table.row(vec![
            Cell::new(minute(post.created_at)),
            Cell::new(post.source_id),
            Cell::new(cut(&plain(&post.title), 200)),
        ]);
    }
    text += &format!("\n{}", table.render(paper, true));
    text
}
