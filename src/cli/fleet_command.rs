//! `feedwarden fleet`.

use std::collections::HashSet;

use super::client::{ApiClient, Done};
use super::output_style::{OutputStyle, TextStyle};
use super::table::{Cell, Column, Table, span};
use crate::api::views::{FleetReport, NodeView};

const NODES: &[Column] = &[
    Column::name("NODE"),
    Column::word("STATE"),
    Column::number("SHARDS"),
    Column::number("SOURCES"),
    Column::number("POLLS/S").leaves(4),
    Column::number("LAG").leaves(3),
    Column::number("LEASE").leaves(5),
    Column::number("CLOCK").leaves(6),
    Column::word("VERSION").leaves(7),
    Column::word("SETTINGS").leaves(2),
];

pub(super) async fn fleet(client: &ApiClient) -> Done {
    client.show(client.get("/fleet").await?, |fleet: FleetReport| in_words(&fleet, OutputStyle::of_output()))
}

fn in_words(fleet: &FleetReport, style: OutputStyle) -> String {
    if !fleet.is_shared {
        return "This daemon has its database to itself (SQLite). Nodes share a PostgreSQL database: docs/fleet.md\n"
            .to_owned();
    }
    let mut table = Table::new(NODES);
    // Of nodes that have ended, the last run under each name that is not live.
    let mut shown = HashSet::new();
    for node in &fleet.nodes {
        if shown.insert(&node.name) || node.ended_at.is_none() {
            table.row(row(node));
        }
    }
    let mut text = table.render(style, true);
    let totals = &fleet.totals;
    text += &format!(
        "\n{} live, {} sources, {:.1} polls/s; lease {} s\n",
        count(totals.nodes, "node"),
        totals.sources,
        totals.polls_per_second,
        fleet.lease_seconds
    );
    if fleet.free_shards > 0 {
        text += &format!(
            "{} of {} shards have no owner: their sources are not polled until a node takes them\n",
            fleet.free_shards, fleet.shards
        );
    }
    if fleet.quiet_seconds > 0.0 {
        text += &format!("the database failed over: no node polls for {:.0} s more\n", fleet.quiet_seconds);
    }
    if fleet.messages_waiting > 0 {
        text += &format!("{} waiting\n", count(fleet.messages_waiting, "message"));
    }
    text
}

fn row(node: &NodeView) -> Vec<Cell> {
    let style = match node.state.as_str() {
        "live" => TextStyle::Good,
        "left" | "replaced" => TextStyle::Dim,
        _ => TextStyle::Bad,
    };
    let is_live = node.ended_at.is_none();
    let shards = match node.shards_draining {
        0 => node.shards.to_string(),
        draining => format!("{} (-{draining})", node.shards),
    };
    let if_live = |text: String| if is_live { Cell::new(text) } else { Cell::default() };
    vec![
        Cell::new(&node.name),
        Cell::styled(&node.state, style),
        if_live(shards),
        if_live(node.sources.to_string()),
        if_live(format!("{:.1}", node.polls_per_second)),
        if_live(span(node.lag_seconds as u64)),
        if_live(format!("{:.0} s", node.lease_left_seconds)),
        if_live(format!("{:+.1} s", node.clock_offset_seconds)),
        Cell::new(&node.version),
        Cell::new(if node.has_same_settings { "same" } else { "DIFFERENT" }),
    ]
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
