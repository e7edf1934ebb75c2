//! Formats a scene as lines of text. Pure.

use std::time::Duration;

use super::counts::SourcesByState;
use super::event_log::{DemoEvent, DemoEventKind, clock_time};
use super::scene::{Phase, Scene};
use super::styled_line::{HEADING_COLUMNS, ScreenStyle, StyledLine, good_if, heading};
use crate::model::FailureKind;

/// From this size on there is room for headings and empty lines.
const ROOMY: Size = Size { columns: 60, rows: 20 };
/// How wide the names of sources and hosts are, most of the time.
const WHOM_COLUMNS: usize = 19;
const PULSE: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How large a screen is, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// From left to right.
    pub columns: usize,
    /// From top to bottom.
    pub rows: usize,
}

/// The scene as lines that fit the size: no more than its rows, none longer than its columns.
pub fn render(scene: &Scene, size: Size, with_colours: bool) -> Vec<String> {
    let is_roomy = size.columns >= ROOMY.columns && size.rows >= ROOMY.rows;
    let mut lines = if is_roomy { roomy(scene, size.columns) } else { narrow(scene) };
    // The footer is the last line, and whatever is between belongs to the events.
    let room = size.rows.saturating_sub(lines.len() + 1);
    let shown = scene.events.len().saturating_sub(room);
    lines.extend(scene.events[shown..].iter().map(|event| event_line(event, is_roomy)));
    lines.resize(size.rows.saturating_sub(1), StyledLine::default());
    lines.push(footer(scene.phase));
    lines.truncate(size.rows);
    lines.into_iter().map(|line| line.fit(size.columns, with_colours)).collect()
}

/// A number with commas between its thousands.
pub(super) fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn roomy(scene: &Scene, columns: usize) -> Vec<StyledLine> {
    let sources = scene.sources;
    let clock = format!("{} {}", day(scene), clock_time(scene.now));
    let pace = format!("an hour passes in {:.1} s", 3600.0 / scene.speed.max(1.0));
    let mut lines = vec![
        StyledLine::new(ScreenStyle::Bold, "Feedwarden demo")
            .and(ScreenStyle::Plain, format!("   {clock}"))
            .and(ScreenStyle::Dim, format!("   {pace}")),
        StyledLine::new(
            ScreenStyle::Dim,
            format!("The daemon polls {} sources of a simulated web on this machine.", number(sources.total() as u64)),
        ),
        StyledLine::default(),
        bar(&sources, columns),
        legend(&sources),
        StyledLine::default(),
    ];
    lines.extend(figures(scene));
    lines.push(StyledLine::default());
    lines.push(StyledLine::new(ScreenStyle::Bold, "EVENTS"));
    lines
}

fn figures(scene: &Scene) -> Vec<StyledLine> {
    let done = &scene.done;
    let settled = number(done.settled());
    vec![
        heading("POLLS")
            .and(ScreenStyle::Bold, format!("{:.0} a second ", scene.polls_per_second))
            .and(ScreenStyle::Good, pulse(&scene.pulse))
            .and(
                ScreenStyle::Plain,
                format!(" {settled} in all, {} unchanged (304)", percent(done.unchanged, done.settled())),
            ),
        heading("FAILURES").and(ScreenStyle::Plain, failures(scene)),
        heading("POSTS")
            .and(ScreenStyle::Bold, format!("{} new", number(done.new_posts)))
            .and(ScreenStyle::Dim, "; the summary checks for lost and duplicate posts"),
        heading("HOSTS")
            .and(ScreenStyle::Plain, format!("{} polled, ", scene.hosts.asked))
            .and(ScreenStyle::Uneasy, format!("{} held", scene.hosts.held))
            .and(ScreenStyle::Dim, " (after 429 or 503), ")
            .and(ScreenStyle::Bad, format!("{} with an open breaker", scene.hosts.breaker_open)),
        load(scene),
        crashes(scene),
    ]
}

fn narrow(scene: &Scene) -> Vec<StyledLine> {
    let SourcesByState { active, backing_off, resting, disabled, .. } = scene.sources;
    let done = &scene.done;
    let gap = scene.load.gap_min.map_or("none yet".to_owned(), |gap| format!("≥ {}", seconds(gap)));
    vec![
        StyledLine::new(ScreenStyle::Bold, "Feedwarden demo")
            .and(ScreenStyle::Plain, format!("  {}", clock_time(scene.now))),
        StyledLine::new(ScreenStyle::Good, format!("{active} active"))
            .and(ScreenStyle::Uneasy, format!("  {backing_off} back off"))
            .and(ScreenStyle::Resting, format!("  {resting} rest"))
            .and(ScreenStyle::Bad, format!("  {disabled} off")),
        StyledLine::new(
            ScreenStyle::Plain,
            format!("{:.0} polls/s, {} new posts", scene.polls_per_second, number(done.new_posts)),
        ),
        StyledLine::new(good_if(scene.load.overlaps == 0), format!("{} overlaps", scene.load.overlaps))
            .and(ScreenStyle::Plain, format!(", gaps {gap}")),
        StyledLine::new(ScreenStyle::Plain, format!("{} crashes, {} restarts", done.crashes, done.restarts)),
    ]
}

/// One bar for all sources; without colours the pieces differ by their filling.
fn bar(sources: &SourcesByState, columns: usize) -> StyledLine {
    let width = columns.saturating_sub(HEADING_COLUMNS + 1).min(100);
    let pieces = [
        (sources.active, ScreenStyle::Good, '█'),
        (sources.backing_off, ScreenStyle::Uneasy, '▓'),
        (sources.resting, ScreenStyle::Resting, '▒'),
        (sources.disabled, ScreenStyle::Bad, '░'),
        (sources.fresh, ScreenStyle::Dim, '·'),
    ];
    let total = sources.total().max(1);
    let mut line = heading("SOURCES");
    let (mut counted, mut drawn) = (0, 0);
    for (count, text_style, filling) in pieces {
        counted += count;
        // Rounding the sum up to here, and not each piece, makes the bar as long as it should be.
        let until = (width * counted + total / 2) / total;
        line = line.and(text_style, filling.to_string().repeat(until - drawn));
        drawn = until;
    }
    line
}

fn legend(sources: &SourcesByState) -> StyledLine {
    let line = heading("")
        .and(ScreenStyle::Good, format!("█ {} active", sources.active))
        .and(ScreenStyle::Uneasy, format!("  ▓ {} backing off", sources.backing_off))
        .and(ScreenStyle::Resting, format!("  ▒ {} resting", sources.resting))
        .and(ScreenStyle::Bad, format!("  ░ {} disabled", sources.disabled));
    if sources.fresh == 0 { line } else { line.and(ScreenStyle::Dim, format!("  · {} new", sources.fresh)) }
}

/// The kinds of failure, the most frequent first.
fn failures(scene: &Scene) -> String {
    let mut kinds: Vec<(FailureKind, u64)> =
        FailureKind::ALL.into_iter().zip(scene.done.failed).filter(|(_, count)| *count > 0).collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    match kinds.is_empty() {
        true => "none yet".to_owned(),
        false => {
            let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} {}", number(*count))).collect();
            format!("{}: {}", number(scene.done.failed_total()), kinds.join(", "))
        }
    }
}

fn load(scene: &Scene) -> StyledLine {
    let load = scene.load;
    let line = heading("LOAD")
        .and(ScreenStyle::Plain, format!("{} requests, ", number(load.requests)))
        .and(good_if(load.overlaps == 0), format!("{} concurrent to one host", load.overlaps));
    match load.gap_min {
        None => line,
        Some(gap) => line
            .and(ScreenStyle::Plain, ", pauses ")
            .and(good_if(gap >= load.gap_wanted), format!("≥ {} ({} s set)", seconds(gap), load.gap_wanted.as_secs())),
    }
}

fn crashes(scene: &Scene) -> StyledLine {
    let done = &scene.done;
    heading("CRASHES")
        .and(ScreenStyle::Plain, format!("{} injected, ", scene.injected))
        .and(good_if(done.restarts >= done.crashes), format!("{} restarts", done.restarts))
}

fn event_line(event: &DemoEvent, is_roomy: bool) -> StyledLine {
    let text_style = match event.kind {
        DemoEventKind::Rests => ScreenStyle::Resting,
        DemoEventKind::Disabled | DemoEventKind::Crashed => ScreenStyle::Bad,
        DemoEventKind::Returns | DemoEventKind::Restart => ScreenStyle::Good,
        DemoEventKind::Host | DemoEventKind::World | DemoEventKind::Gap => ScreenStyle::Uneasy,
    };
    let line = StyledLine::new(ScreenStyle::Dim, format!("{} ", clock_time(event.at)));
    let line = line.and(text_style, format!("{:<9}", event.kind.name()));
    let columns = if is_roomy { WHOM_COLUMNS } else { 0 };
    line.and(ScreenStyle::Plain, format!("{:<columns$} ", event.subject)).and(ScreenStyle::Dim, event.words.clone())
}

fn footer(phase: Phase) -> StyledLine {
    let text_style = if phase == Phase::Running { ScreenStyle::Dim } else { ScreenStyle::Bold };
    StyledLine::new(text_style, phase.words())
}

fn day(scene: &Scene) -> String {
    format!("day {}", scene.passed.as_secs() / 86_400 + 1)
}

fn seconds(span: Duration) -> String {
    format!("{:.1} s", span.as_secs_f64())
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.0} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// One bar per frame.
fn pulse(moments: &[f64]) -> String {
    let highest = moments.iter().copied().fold(1.0, f64::max);
    let column = |moment: &f64| PULSE[((moment / highest * 7.0).round() as usize).min(7)];
    moments.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas_between_their_thousands() {
        let shown = [0, 999, 1000, 12_345, 1_234_567].map(number);
        assert_eq!(shown, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn a_bar_is_as_long_as_the_screen_allows_whatever_the_numbers_are() {
        for sources in [
            SourcesByState { active: 1, ..SourcesByState::default() },
            SourcesByState { active: 7, backing_off: 5, resting: 3, disabled: 2, fresh: 1 },
            SourcesByState { disabled: 100_000, ..SourcesByState::default() },
        ] {
            assert_eq!(bar(&sources, 80).fit(80, false).chars().count(), 79, "{sources:?}");
        }
    }

    #[test]
    fn a_pulse_is_as_high_as_its_highest_moment() {
        assert_eq!(pulse(&[0.0, 50.0, 100.0]), "▁▅█");
        assert_eq!(pulse(&[]), "");
    }
}
