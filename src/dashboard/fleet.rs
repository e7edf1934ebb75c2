//! The nodes that share the database, their shards, and what moved between them.

use actix_web::web;
use maud::{Markup, html};

use super::chart::swatch;
use super::elements::{empty, facts, number, query as query_text, relative_time, state};
use super::overview::Notice;
use super::page::{HtmlPage, PageResult};
use crate::api::views::{FleetReport, HandOverView, NodeView};
use crate::api::{LocalApi, SITE};
use crate::model::Timestamp;

/// Colours of nodes in the stylesheet.
const COLOURS: usize = 8;
/// Shards in one row of the map.
const COLUMNS: usize = 32;
const CELL: usize = 20;

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config.service(web::resource(format!("{SITE}/fleet")).get(show));
}

async fn show(local: LocalApi, query: web::Query<Notice>) -> PageResult {
    let fleet: FleetReport = local.get("/fleet").await?;
    let now = local.now();
    let content = html! {
        h1 { "Fleet" }
        div #fleet data-live {
            @if fleet.is_shared { (shared(&fleet, now)) } @else { (alone()) }
        }
    };
    Ok(HtmlPage::new(&local, "Fleet", "Fleet").live().notice(query.into_inner().notice).show(content))
}

fn alone() -> Markup {
    html! {
        section.panel {
            p { "This daemon has its database to itself: SQLite is used by one process. It polls all sources." }
            p { "To share the work between several nodes, let them use one PostgreSQL database ("
                code { "store.url" } ")." }
        }
    }
}

fn shared(fleet: &FleetReport, now: Timestamp) -> Markup {
    let totals = &fleet.totals;
    html! {
        section.panel {
            h2 { "Together" }
            (facts(vec![
                ("Live nodes", number(totals.nodes)),
                ("Sources", number(totals.sources)),
                ("Polls per second", html! { (format!("{:.1}", totals.polls_per_second)) }),
                ("New posts since the starts", number(totals.new_posts)),
                ("Failed polls since the starts", number(totals.failed)),
                ("Lease", html! { (format!("{:.0} s", fleet.lease_seconds)) }),
                ("Messages between nodes that wait", number(fleet.messages_waiting)),
                ("This page comes from", html! { (fleet.node.as_deref().unwrap_or("a node without a name")) }),
            ]))
            @if fleet.quiet_seconds > 0.0 {
                p.problem { (format!("After a failover of the database, no node makes requests for {:.0} s.", fleet.quiet_seconds)) }
            }
            @if fleet.free_shards > 0 {
                p.problem { (number(fleet.free_shards)) @if fleet.free_shards == 1 { " shard has" } @else { " shards have" }
                    " no owner; their sources are not polled until a node takes them." }
            }
        }
        (nodes(&fleet.nodes, now))
        (map(fleet))
        (hand_overs(&fleet.hand_overs, fleet.node.as_deref(), now))
    }
}

fn nodes(nodes: &[NodeView], now: Timestamp) -> Markup {
    html! {
        section.panel {
            h2 { "Nodes" }
            div.scroll { table.cards {
                caption { "Live nodes, and those that ended in the last day" }
                thead { tr {
                    th scope="col" { "Node" } th scope="col" { "State" } th.number scope="col" { "Shards" }
                    th.number scope="col" { "Sources" } th.number scope="col" { "Polls/s" } th.number scope="col" { "Lag" }
                    th.number scope="col" { "Lease left" } th.number scope="col" { "Clock" } th scope="col" { "Version" }
                    th scope="col" { "Settings" }
                } }
                tbody { @for (place, node) in nodes.iter().enumerate() {
                    tr.bad-row[node.state == "expired" || node.state == "late"] {
                        td data-label="Node" {
                            @if node.ended_at.is_none() {
                                (letter(place)) " "
                                a href=(format!("{SITE}/supervision{}", query_text(&[("node", &node.name)]))) { (node.name) }
                            } @else { (node.name) }
                        }
                        td data-label="State" { (node_state(node, now)) }
                        td.number data-label="Shards" { (number(node.shards))
                            @if node.shards_draining > 0 { " (" (number(node.shards_draining)) " leaving)" } }
                        @if node.ended_at.is_some() {
                            @for label in ["Sources", "Polls/s", "Lag", "Lease left", "Clock"] {
                                td.number data-label=(label) { span.none { "–" } }
                            }
                        } @else {
                            td.number data-label="Sources" { (number(node.sources)) }
                            td.number data-label="Polls/s" { (format!("{:.1}", node.polls_per_second)) }
                            td.number data-label="Lag" { (format!("{:.0} s", node.lag_seconds)) }
                            td.number data-label="Lease left" { (format!("{:.0} s", node.lease_left_seconds)) }
                            td.number data-label="Clock" { (format!("{:+.1} s", node.clock_offset_seconds)) }
                        }
                        td data-label="Version" { (node.version) }
                        td data-label="Settings" {
                            @if node.has_same_settings { "the same" } @else { span.state.warn { "differ from this node's" } }
                        }
                    }
                } }
            } }
        }
    }
}

fn node_state(node: &NodeView, now: Timestamp) -> Markup {
    html! {
        (state(&node.state))
        @if node.is_paused && node.ended_at.is_none() { " " (state("paused")) }
        @match node.ended_at {
            Some(at) => {
                " " (relative_time(at, now))
                @if let Some(by) = &node.ended_by { " " span.soft { "declared by " (by) } }
            }
            None => { " " span.soft { "joined " (relative_time(node.joined_at, now)) } }
        }
        @if node.fenced > 0 {
            " " span.soft { (number(node.fenced)) " polls not stored, because another node had the source" }
        }
    }
}

/// Each shard is a square with the letter and the colour of its owner.
fn map(fleet: &FleetReport) -> Markup {
    let rows = fleet.owners.len().div_ceil(COLUMNS);
    let (width, height) = (COLUMNS * CELL, rows * CELL);
    let name = |owner: usize| fleet.nodes.get(owner).map_or("an unknown node", |node| node.name.as_str());
    let shards_of = |owner: Option<usize>| fleet.owners.iter().filter(|one| **one == owner).count();
    let owners: Vec<usize> = (0..fleet.nodes.len()).filter(|owner| shards_of(Some(*owner)) > 0).collect();
    let free = shards_of(None);
    let words: Vec<String> =
        owners.iter().map(|owner| format!("{} has {}", name(*owner), shards_of(Some(*owner)))).collect();
    html! {
        section.panel {
            h2 { "Shards" }
            p.soft { "Every host belongs to one shard, and every shard to one node." }
            figure {
                svg.chart.shards viewBox=(format!("0 0 {width} {height}")) role="img"
                    aria-label=(format!("{} shards: {}, {free} free", fleet.owners.len(), words.join(", "))) {
                    @for (shard, owner) in fleet.owners.iter().enumerate() {
                        @let (x, y) = (shard % COLUMNS * CELL, shard / COLUMNS * CELL);
                        g {
                            title { "shard " (shard) ": " @match owner { Some(owner) => (name(*owner)), None => "free" } }
                            rect class=(format!("map {}", colour(*owner))) x=(x) y=(y) width=(CELL) height=(CELL) {}
                            text class=(if owner.is_some() { "map-text" } else { "map-free" }) x=(x + CELL / 2)
                                y=(y + CELL / 2 + 3) text-anchor="middle" {
                                @match owner { Some(owner) => (letter(*owner)), None => "–" }
                            }
                        }
                    }
                }
                ul.legend {
                    @for owner in &owners {
                        li { (swatch(&colour(Some(*owner)))) (letter(*owner)) ": " (name(*owner)) ", "
                            (number(shards_of(Some(*owner)))) " shards" }
                    }
                    li { (swatch("idle")) "–: free, " (number(free)) }
                }
            }
        }
    }
}

/// A to Z, then A2 to Z2 and so on.
fn letter(node: usize) -> String {
    let letter = char::from(b'A' + u8::try_from(node % 26).unwrap_or(0));
    if node < 26 { letter.to_string() } else { format!("{letter}{}", node / 26 + 1) }
}

fn colour(owner: Option<usize>) -> String {
    owner.map_or_else(|| "idle".to_owned(), |owner| format!("node{}", owner % COLOURS))
}

fn hand_overs(hand_overs: &[HandOverView], node: Option<&str>, now: Timestamp) -> Markup {
    html! {
        section.panel {
            h2 { "Hand-overs" }
            @if hand_overs.is_empty() {
                (empty("No shard has come to this node or left it since its start."))
            } @else {
                div.scroll { table.cards {
                    caption { "To and from " (node.unwrap_or("this node")) " since its start, newest first" }
                    thead { tr {
                        th scope="col" { "When" } th scope="col" { "Shards" } th scope="col" { "From" } th scope="col" { "To" }
                        th scope="col" { "Why" }
                    } }
                    tbody { @for one in hand_overs {
                        tr {
                            td data-label="When" { (relative_time(one.at, now)) }
                            td data-label="Shards" { (number(one.shards.len())) ": " (ranges(&one.shards)) }
                            td data-label="From" { (one.from.as_deref().unwrap_or("not known")) }
                            td data-label="To" { (one.to.as_deref().unwrap_or("free")) }
                            td data-label="Why" { (why(&one.reason)) }
                        }
                    } }
                } }
            }
        }
    }
}

fn why(reason: &str) -> &str {
    match reason {
        "joined" => "the node joined and took free shards",
        "left" => "the node that had them left",
        "expired" => "the node that had them did not renew its lease",
        "rebalanced" => "nodes with more shards release some",
        "lease_lost" => "the node lost its lease",
        "given_up" => "the database refuses polls of the node",
        other => other,
    }
}

/// Numbers in order as ranges: `0–3, 7`.
fn ranges(numbers: &[u16]) -> String {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if number <= last.saturating_add(1) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |(first, last): &(u16, u16)| if first == last { first.to_string() } else { format!("{first}–{last}") };
    ranges.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_written_as_ranges() {
        assert_eq!(ranges(&[7, 0, 1, 2, 3, 9, 10]), "0–3, 7, 9–10");
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[u16::MAX, u16::MAX]), "65535");
    }

    fn node(name: &str) -> NodeView {
        NodeView {
            name: name.to_owned(),
            state: "live".to_owned(),
            joined_at: Timestamp::EPOCH,
            ended_at: None,
            ended_by: None,
            version: "1".to_owned(),
            has_same_settings: name == "a",
            lease_left_seconds: 9.0,
            shards: 1,
            shards_draining: 0,
            sources: 5,
            waiting: 0,
            under_way: 0,
            polls_per_second: 0.5,
            lag_seconds: 0.0,
            clock_offset_seconds: -0.25,
            is_paused: false,
            fenced: 0,
        }
    }

    #[test]
    fn shards_show_their_owners_in_words_and_free_ones_are_marked() {
        let hand_over = HandOverView {
            at: Timestamp::EPOCH,
            shards: vec![1],
            from: None,
            to: Some("a".to_owned()),
            reason: "expired".to_owned(),
        };
        let fleet = FleetReport {
            is_shared: true,
            node: Some("a".to_owned()),
            lease_seconds: 10.0,
            shards: 3,
            free_shards: 1,
            messages_waiting: 0,
            quiet_seconds: 0.0,
            nodes: vec![node("a"), node("<b>")],
            totals: crate::api::views::FleetTotals::default(),
            owners: vec![Some(1), Some(0), None],
            hand_overs: vec![hand_over],
        };
        let shown = shared(&fleet, Timestamp::EPOCH).into_string();
        for part in [
            "<title>shard 0: &lt;b&gt;</title>",
            "<title>shard 1: a</title>",
            "<title>shard 2: free</title>",
            "3 shards: a has 1, &lt;b&gt; has 1, 1 free",
            "1</data> shard has no owner",
            "differ from this node's",
            "-0.2 s",
            "the node that had them did not renew its lease",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        assert!(!shown.contains("<b>"));
    }

    #[test]
    fn nodes_differ_by_letter_where_colours_repeat() {
        assert_eq!((colour(Some(0)), colour(Some(8)), colour(None)), ("node0".into(), "node0".into(), "idle".into()));
        assert_eq!([0, 8, 25, 26, 53].map(letter), ["A", "I", "Z", "A2", "B3"]);
    }
}
