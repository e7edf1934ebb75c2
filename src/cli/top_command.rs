//! `feedwarden top`: a live view, updated every second.

use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;

use super::client::{ApiClient, Done, read};
use super::daemon_command::posts_today;
use super::error::CliError;
use super::output_style::{OutputStyle, state_style};
use super::post_command::source_name;
use super::sanitize::{cut, plain};
use super::status_words::status_words;
use super::table::{Cell, Column, Table};
use super::times::seconds;
use super::{Exit, print_some};
use crate::api::views::{Page, PostView, SourceView, StatusView};
use crate::demo::{Screen, StopSignals};

const TROUBLED: &[Column] = &[
    Column::number("BACKING OFF"),
    Column::number("FAILED").leaves(2),
    Column::url("SOURCE"),
    Column::text("ERROR").leaves(1),
];

const NEWEST: &[Column] =
    &[Column::word("NEWEST POSTS").leaves(1), Column::text("SOURCE").leaves(2), Column::name("TITLE")];

#[derive(Args, Debug)]
pub(super) struct TopArguments {
    /// Time between updates, such as 5 (seconds), 5s or 1m; at most an hour
    #[arg(long, value_name = "DURATION", default_value = "1", value_parser = seconds)]
    interval: u64,
    /// Number of updates [default: run until q or Ctrl-C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

struct Snapshot {
    status: StatusView,
    troubled: Vec<SourceView>,
    posts: Vec<PostView>,
    posts_today: Option<u64>,
}

/// Draws until `q` or a signal; on a terminal over the previous output.
pub(super) async fn top(client: &ApiClient, top: &TopArguments) -> Done {
    let mut stop = StopSignals::listen().map_err(|error| CliError::Failed(error.to_string()))?;
    let mut ticks = tokio::time::interval(Duration::from_secs(top.interval.clamp(1, 3600)));
    let mut before: Option<StatusView> = None;
    let mut screen = None;
    let mut left = top.count;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stop.next() => return Ok(Exit::Success),
        }
        if client.is_json {
            if let Some(exit) = print_some(&format!("{}\n", client.get("/status").await?)) {
                return Ok(exit);
            }
        } else {
            let snapshot = tokio::select! {
                snapshot = take_snapshot(client) => snapshot?,
                () = stop.next() => return Ok(Exit::Success),
            };
            // Clear the terminal only when there is something to show, so that an error stays readable.
            if screen.is_none() && std::io::stdout().is_terminal() {
                let entered = Screen::enter().map_err(|error| CliError::Failed(error.to_string()))?;
                stop.add_quit_key(&entered);
                screen = Some(entered);
            }
            let text = draw(&snapshot, before.as_ref(), OutputStyle::of_output());
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
            before = Some(snapshot.status);
        }
        left = left.map(|left| left - 1);
        if left == Some(0) {
            return Ok(Exit::Success);
        }
    }
}

async fn take_snapshot(client: &ApiClient) -> Result<Snapshot, CliError> {
    let status = read(client.get("/status").await?)?;
    let posts_today = posts_today(client).await;
    let troubled: Page<SourceView> = read(client.get("/sources?state=backing_off&limit=5").await?)?;
    let posts: Page<PostView> = read(client.get("/posts?order=newest&limit=20").await?)?;
    Ok(Snapshot { status, troubled: troubled.items, posts: posts.items, posts_today })
}

fn draw(snapshot: &Snapshot, before: Option<&StatusView>, style: OutputStyle) -> String {
    let mut text = status_words(&snapshot.status, snapshot.posts_today, style);
    let rate = before.map(|before| {
        let seconds = snapshot.status.now.since(before.now).as_secs_f64().max(0.001);
        let polls = snapshot.status.statistics.polls.saturating_sub(before.statistics.polls);
        format!("{:.1} polls per second", polls as f64 / seconds)
    });
    text += &format!("\n{}", style.headline(rate.as_deref().unwrap_or("polls per second: measuring")));
    if !snapshot.troubled.is_empty() {
        let mut table = Table::new(TROUBLED);
        for source in &snapshot.troubled {
            table.row(vec![
                Cell::styled(source.id, state_style(&source.state)),
                Cell::new(source.consecutive_failures),
                Cell::new(source.title.as_ref().or(source.feed_title.as_ref()).unwrap_or(&source.url)),
                Cell::maybe(source.last_error.as_ref()),
            ]);
        }
        text += &format!("\n{}", table.render(style, true));
    }
    let mut table = Table::new(NEWEST);
    for post in &snapshot.posts {
        table.row(vec![
            Cell::time(post.created_at),
            Cell::new(source_name(post)),
            Cell::new(cut(&plain(&post.title), 200)),
        ]);
    }
    text += &format!("\n{}", table.render(style, true));
    text
}
