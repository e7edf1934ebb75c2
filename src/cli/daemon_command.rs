//! `feedwarden status`, `quarantine`, `tree`, `pause`, `resume`, `reload` and `log-level`.

use std::collections::BTreeMap;

use clap::Args;
use hyper::Method;
use serde_json::json;

use super::client::{ApiClient, Done, read};
use super::complain;
use super::output_style::{OutputStyle, TextStyle, state_style};
use super::status_words::status_words;
use super::table::{Cell, Column, Table, span};
use super::times::{second, start_of_today};
use crate::api::views::{
    FleetReport, LogLevel, PostCount, QuarantineView, Reloaded, SchedulerView, StatusView, TreeNode, TreeView,
};

const RELOAD: &str = "/configuration/reload";

const ACTORS: &[Column] = &[
    Column::name("NAME"),
    Column::word("KIND").leaves(6),
    Column::word("STATE").leaves(1),
    Column::number("RESTARTS").leaves(2),
    Column::number("MAILBOX").leaves(4),
    Column::number("UP").leaves(5),
    Column::text("LAST CRASH").leaves(3),
];

const BAD_ROWS: &[Column] = &[
    Column::name("TABLE"),
    Column::name("KEY"),
    Column::word("COLUMN"),
    Column::text("VALUE").leaves(2),
    Column::text("REASON").leaves(1),
    Column::text("URL").leaves(3),
];

const THREADS: &[Column] =
    &[Column::name("THREAD"), Column::word("STATE").leaves(1), Column::number("REPLACED").leaves(2)];

#[derive(Args, Debug)]
pub(super) struct TreeArguments {
    /// Maximum number of hosts to show
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=1000))]
    hosts: u32,
}

#[derive(Args, Debug)]
pub(super) struct ReloadArguments {
    /// Reload the configuration of every node of the fleet, each from its own file
    #[arg(long)]
    all: bool,
}

#[derive(Args, Debug)]
pub(super) struct Level {
    /// New minimum level [default: print the current level]
    #[arg(value_parser = ["critical", "error", "warn", "info", "debug", "trace"])]
    level: Option<String>,
}

pub(super) async fn status(client: &ApiClient) -> Done {
    let answer = client.get("/status").await?;
    let posts_today = if client.is_json { None } else { posts_today(client).await };
    client.show(answer, |status: StatusView| status_words(&status, posts_today, OutputStyle::of_output()))
}

/// Posts stored since midnight, if the daemon can count them. It does not know the reader's time zone.
pub(super) async fn posts_today(client: &ApiClient) -> Option<u64> {
    let counted = client.get(&format!("/posts/count?since={}", start_of_today())).await.ok()?;
    read::<PostCount>(counted).ok().map(|counted| counted.posts)
}

pub(super) async fn quarantine(client: &ApiClient) -> Done {
    client.show(client.get("/quarantine").await?, |found: QuarantineView| {
        if found.rows.is_empty() {
            return "all rows can be read\n".to_owned();
        }
        let mut table = Table::new(BAD_ROWS);
        for row in &found.rows {
            table.row(vec![
                Cell::new(&row.table),
                Cell::new(&row.key),
                Cell::new(&row.column),
                Cell::new(&row.value),
                Cell::new(&row.reason),
                row.url.as_ref().map_or_else(Cell::default, Cell::new),
            ]);
        }
        let hidden = found.total.saturating_sub(found.rows.len());
        let more = if hidden > 0 { format!("and {hidden} more\n") } else { String::new() };
        table.render(OutputStyle::of_output(), true)
            + &more
            + "\nCorrect the values in the database, or remove the rows (`feedwarden source remove ID`). Corrected rows are \
               read again within a tick of the scheduler.\n"
    })
}

pub(super) async fn tree(client: &ApiClient, tree: &TreeArguments) -> Done {
    client.show(client.get(&format!("/tree?hosts={}", tree.hosts)).await?, draw)
}

pub(super) async fn pause(client: &ApiClient) -> Done {
    client.show(client.post("/scheduler/pause").await?, told)
}

pub(super) async fn resume(client: &ApiClient) -> Done {
    client.show(client.post("/scheduler/resume").await?, told)
}

pub(super) async fn reload(client: &ApiClient, arguments: &ReloadArguments) -> Done {
    if !arguments.all {
        return client.show(client.post(RELOAD).await?, reloaded);
    }
    let fleet: FleetReport = read(client.get("/fleet").await?)?;
    let names = fleet.nodes.iter().filter(|node| node.ended_at.is_none()).map(|node| node.name.clone());
    let (mut answers, mut failed) = (serde_json::Map::new(), None);
    for name in names {
        match client.post_to(&name, RELOAD).await {
            Ok(answer) => drop(answers.insert(name, answer)),
            // The others follow all the same.
            Err(error) => {
                complain(&format_args!("node {name}: {error}"));
                failed = Some(error);
            }
        }
    }
    match failed {
        Some(error) => Err(error),
        None if answers.is_empty() => client.show(client.post(RELOAD).await?, reloaded),
        None => client.show(answers.into(), |answers: BTreeMap<String, Reloaded>| {
            let lines = answers.into_iter().map(|(node, done)| format!("node {node}: {}", reloaded(done)));
            lines.collect()
        }),
    }
}

fn reloaded(done: Reloaded) -> String {
    let mut text = match done.changed.as_slice() {
        [] => "no changed key applies at once\n".to_owned(),
        keys => format!("changed: {}\n", keys.join(", ")),
    };
    if !done.needs_restart.is_empty() {
        text += &format!("applies after a restart: {}\n", done.needs_restart.join(", "));
    }
    text
}

pub(super) async fn log_level(client: &ApiClient, level: &Level) -> Done {
    let value = match &level.level {
        Some(level) => client.send(Method::PUT, "/log-level", &json!({ "level": level })).await?,
        None => client.get("/log-level").await?,
    };
    client.show(value, |level: LogLevel| format!("{}\n", level.level))
}

fn told(scheduler: SchedulerView) -> String {
    let pending = match scheduler.nodes_pending.as_slice() {
        [] => String::new(),
        nodes => format!("not followed yet by node {}; it does with its next renewal\n", nodes.join(", ")),
    };
    format!("scheduler {}\n{pending}", of_scheduler(&scheduler))
}

pub(super) fn of_scheduler(scheduler: &SchedulerView) -> String {
    let state = match (scheduler.paused_since, scheduler.is_loaded) {
        (Some(since), _) => format!("PAUSED since {}", second(since)),
        (None, true) => "running".to_owned(),
        (None, false) => "reading sources".to_owned(),
    };
    let SchedulerView { scheduled, waiting, under_way, .. } = scheduler;
    let what = if scheduler.is_paused { "waiting for the end of the pause" } else { "waiting for their host" };
    format!("{state}: {scheduled} scheduled, {waiting} {what}, {under_way} in flight")
}

fn draw(tree: TreeView) -> String {
    let mut table = Table::new(ACTORS);
    add(&mut table, &tree.root, 0);
    let mut threads = Table::new(THREADS);
    for thread in &tree.threads {
        threads.row(vec![Cell::new(&thread.name), Cell::new(&thread.state), Cell::new(thread.replaced)]);
    }
    let style = OutputStyle::of_output();
    format!("{}\n{}", table.render(style, true), threads.render(style, true))
}

fn add(table: &mut Table, node: &TreeNode, depth: usize) {
    let mailbox = node.mailbox_depth.zip(node.mailbox_capacity).map(|(depth, capacity)| format!("{depth}/{capacity}"));
    let indent = "  ".repeat(depth);
    table.row(vec![
        Cell::new(format!("{indent}{}", node.name)),
        Cell::new(&node.kind),
        Cell::styled(&node.state, state_style(&node.state)),
        Cell::new(node.restarts),
        mailbox.map_or_else(Cell::default, Cell::new),
        node.uptime_seconds.map_or_else(Cell::default, |seconds| Cell::new(span(seconds))),
        node.last_crash.as_ref().map_or_else(Cell::default, |crash| Cell::styled(&crash.message, TextStyle::Bad)),
    ]);
    for child in &node.children {
        add(table, child, depth + 1);
    }
    let hidden = node.children_total.saturating_sub(node.children.len());
    if hidden > 0 {
        table.row(vec![Cell::styled(format!("{indent}  … {hidden} more"), TextStyle::Dim)]);
    }
}
