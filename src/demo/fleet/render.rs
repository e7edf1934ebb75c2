//! Formats a scene of a fleet as lines of text. Pure.

use super::node_process::NodeProcessState;
use super::observer::{FleetDemoEvent, FleetDemoEventKind};
use super::scene::{FleetDemoNode, FleetDemoPhase, FleetDemoScene};
use crate::demo::render::{Size, number};
use crate::demo::styled_line::{HEADING_COLUMNS, ScreenStyle, StyledLine, good_if, heading};

/// From this size on there is room for the map of shards.
const ROOMY: Size = Size { columns: 60, rows: 20 };
/// Shards in one line of the map, if they fit.
const MAP_COLUMNS: usize = 64;
/// Width of the column of states.
const STATE_COLUMNS: usize = 18;

/// The scene as lines that fit the size: no more than its rows, none longer than its columns.
pub fn render_fleet(scene: &FleetDemoScene, size: Size, with_colours: bool) -> Vec<String> {
    let is_roomy = size.columns >= ROOMY.columns && size.rows >= ROOMY.rows;
    let mut lines = if is_roomy { roomy(scene, size.columns) } else { narrow(scene) };
    // The footer is the last line, and whatever is between belongs to the events.
    let room = size.rows.saturating_sub(lines.len() + 1);
    let shown = scene.events.len().saturating_sub(room);
    lines.extend(scene.events[shown..].iter().map(event_line));
    lines.resize(size.rows.saturating_sub(1), StyledLine::default());
    let footer_style = if scene.phase == FleetDemoPhase::Running { ScreenStyle::Dim } else { ScreenStyle::Bold };
    lines.push(StyledLine::new(footer_style, scene.phase.words()));
    lines.truncate(size.rows);
    lines.into_iter().map(|line| line.fit(size.columns, with_colours)).collect()
}

/// A scene in one line.
pub(super) fn line(scene: &FleetDemoScene) -> String {
    let nodes = scene.nodes.iter().map(|node| format!("{} {} {}", node.name, node.state(), node.shards));
    let place = match scene.phase {
        FleetDemoPhase::Running => String::new(),
        phase => format!("; {}", phase.words()),
    };
    format!(
        "{}: {} requests ({:.0}/s), {} posts; shards: {}; {} overlaps; {}{place}",
        clock(scene.elapsed.as_secs()),
        number(scene.load.requests),
        scene.requests_per_second,
        number(scene.posts),
        nodes.collect::<Vec<_>>().join(", "),
        scene.load.overlaps,
        faults(scene),
    )
}

fn roomy(scene: &FleetDemoScene, columns: usize) -> Vec<StyledLine> {
    let mut lines = vec![
        StyledLine::new(ScreenStyle::Bold, "Feedwarden demo")
            .and(ScreenStyle::Plain, format!("   {} nodes on one PostgreSQL", scene.nodes.len()))
            .and(ScreenStyle::Plain, format!("   {}", clock(scene.elapsed.as_secs())))
            .and(ScreenStyle::Dim, format!("   lease {} s", scene.lease.as_secs())),
        StyledLine::new(
            ScreenStyle::Dim,
            format!(
                "They share {} sources of a simulated web on this machine. {} posts so far.",
                number(scene.sources as u64),
                number(scene.posts)
            ),
        ),
        StyledLine::default(),
        StyledLine::new(
            ScreenStyle::Bold,
            format!(
                "  {:<10}{:<STATE_COLUMNS$}{:>8}{:>9}{:>9}{:>8}",
                "NODE", "STATE", "SHARDS", "SOURCES", "POLLS/S", "FENCED"
            ),
        ),
    ];
    lines.extend(scene.nodes.iter().enumerate().map(|(place, node)| node_line(place, node)));
    lines.push(StyledLine::default());
    lines.extend(map(scene, columns));
    lines.push(StyledLine::default());
    lines.extend([load(scene), disturbances(scene)]);
    lines.push(StyledLine::default());
    lines.push(StyledLine::new(ScreenStyle::Bold, "EVENTS"));
    lines
}

fn narrow(scene: &FleetDemoScene) -> Vec<StyledLine> {
    let mut lines = vec![
        StyledLine::new(ScreenStyle::Bold, "Feedwarden demo")
            .and(ScreenStyle::Plain, format!("  {}", clock(scene.elapsed.as_secs()))),
    ];
    lines.extend(scene.nodes.iter().enumerate().map(|(place, node)| {
        StyledLine::new(ScreenStyle::Owner(place), format!("{} ", node.name))
            .and(state_style(node), node.state())
            .and(ScreenStyle::Plain, format!(", {} shards, {:.0} polls/s", node.shards, node.polls_per_second))
    }));
    lines.push(
        StyledLine::new(good_if(scene.load.overlaps == 0), format!("{} overlaps", scene.load.overlaps))
            .and(ScreenStyle::Plain, format!(", {}", faults(scene))),
    );
    lines
}

fn node_line(place: usize, node: &FleetDemoNode) -> StyledLine {
    let has_figures = node.is_live || node.process == NodeProcessState::Running;
    let figures = match has_figures {
        true => format!("{:>8}{:>9}{:>9.1}{:>8}", node.shards, node.sources, node.polls_per_second, node.fenced),
        false => format!("{:>8}{:>9}{:>9}{:>8}", "-", "-", "-", "-"),
    };
    StyledLine::new(ScreenStyle::Owner(place), format!("{} {:<10}", mark(place), node.name))
        .and(state_style(node), format!("{:<STATE_COLUMNS$}", node.state()))
        .and(ScreenStyle::Plain, figures)
}

/// One character for each shard: the number of its owner.
fn map(scene: &FleetDemoScene, columns: usize) -> Vec<StyledLine> {
    let width = columns.saturating_sub(HEADING_COLUMNS).clamp(1, MAP_COLUMNS);
    let rows = scene.owners.chunks(width).enumerate().map(|(row, shards)| {
        shards.iter().fold(heading(if row == 0 { "SHARDS" } else { "" }), |line, owner| match owner {
            Some(place) => line.and(owner_style(scene, *place), mark(*place).to_string()),
            None => line.and(ScreenStyle::Bad, "·"),
        })
    });
    rows.collect()
}

fn load(scene: &FleetDemoScene) -> StyledLine {
    let load = scene.load;
    let line = heading("LOAD")
        .and(ScreenStyle::Plain, format!("{} requests, ", number(load.requests)))
        .and(good_if(load.overlaps == 0), format!("{} concurrent to one host", load.overlaps));
    match load.gap_min {
        None => line,
        Some(gap) => line.and(ScreenStyle::Plain, ", pauses ").and(
            good_if(gap >= load.gap_wanted),
            format!("≥ {:.2} s ({} s set)", gap.as_secs_f64(), load.gap_wanted.as_secs()),
        ),
    }
}

fn disturbances(scene: &FleetDemoScene) -> StyledLine {
    let line = heading("FAULTS").and(ScreenStyle::Plain, faults(scene));
    match scene.takeover_max {
        Some(time) => {
            line.and(ScreenStyle::Plain, format!("; other nodes had all shards within {:.1} s", time.as_secs_f64()))
        }
        None => line,
    }
}

fn faults(scene: &FleetDemoScene) -> String {
    format!("{}, {}", counted(scene.kills, "kill"), counted(scene.suspensions, "suspension"))
}

fn event_line(event: &FleetDemoEvent) -> StyledLine {
    let text_style = match event.kind {
        FleetDemoEventKind::Killed
        | FleetDemoEventKind::Suspended
        | FleetDemoEventKind::Expired
        | FleetDemoEventKind::Lost => ScreenStyle::Bad,
        FleetDemoEventKind::Started
        | FleetDemoEventKind::Resumed
        | FleetDemoEventKind::Joined
        | FleetDemoEventKind::Taken => ScreenStyle::Good,
        FleetDemoEventKind::Left | FleetDemoEventKind::Released | FleetDemoEventKind::Fenced => ScreenStyle::Uneasy,
    };
    StyledLine::new(ScreenStyle::Dim, format!("{} ", clock(event.at.as_secs())))
        .and(text_style, format!("{:<10}", event.kind.name()))
        .and(ScreenStyle::Plain, format!("{:<8}", event.node))
        .and(ScreenStyle::Dim, event.words.clone())
}

fn state_style(node: &FleetDemoNode) -> ScreenStyle {
    match (node.process, node.is_live) {
        (NodeProcessState::Running, true) => ScreenStyle::Good,
        (NodeProcessState::Running, false) => ScreenStyle::Uneasy,
        (NodeProcessState::Ended, _) => ScreenStyle::Dim,
        (NodeProcessState::Suspended | NodeProcessState::Killed, _) => ScreenStyle::Bad,
    }
}

/// Shards of a node that does not run are not polled.
fn owner_style(scene: &FleetDemoScene, place: usize) -> ScreenStyle {
    match scene.nodes.get(place).map(|node| node.process) {
        Some(NodeProcessState::Suspended | NodeProcessState::Killed) => ScreenStyle::Bad,
        _ => ScreenStyle::Owner(place),
    }
}

fn mark(place: usize) -> usize {
    place + 1
}

/// Minutes and seconds.
fn clock(seconds: u64) -> String {
    format!("{:02}:{:02}", seconds / 60, seconds % 60)
}

/// A number with its noun.
pub(super) fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", number(count), if count == 1 { "" } else { "s" })
}
