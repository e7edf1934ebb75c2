//! Tables, cut to the terminal's width; coloured on a terminal only.

use std::collections::BTreeSet;

use super::output_style::{OutputStyle, TextStyle};
use super::sanitize::{columns, cut, cut_url, plain};
use super::times::{minute, zone};
use crate::model::Timestamp;

const GAP: usize = 2;

/// A column, and how it behaves on a narrow terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    heading: &'static str,
    shape: ColumnShape,
    /// Columns with the highest number are dropped first; those without one never.
    leaves: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnShape {
    /// Never shortened, aligned right.
    Number,
    /// Never shortened: a state or a time.
    Word,
    /// Shortened at its end, to this many columns at least.
    Text(usize),
    /// Shortened in the middle, to this many columns at least.
    Url(usize),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    text: String,
    text_style: TextStyle,
    /// Time zone of a time, which the heading names.
    zone: Option<String>,
}

pub(super) struct Table {
    columns: &'static [Column],
    rows: Vec<Vec<Cell>>,
}

impl Column {
    pub(super) const fn number(heading: &'static str) -> Column {
        Column { heading, shape: ColumnShape::Number, leaves: 0 }
    }

    pub(super) const fn word(heading: &'static str) -> Column {
        Column { heading, shape: ColumnShape::Word, leaves: 0 }
    }

    pub(super) const fn text(heading: &'static str) -> Column {
        Column { heading, shape: ColumnShape::Text(8), leaves: 0 }
    }

    pub(super) const fn name(heading: &'static str) -> Column {
        Column { heading, shape: ColumnShape::Text(16), leaves: 0 }
    }

    pub(super) const fn url(heading: &'static str) -> Column {
        Column { heading, shape: ColumnShape::Url(16), leaves: 0 }
    }

    /// Sets the order in which columns are dropped: highest number first.
    pub(super) const fn leaves(self, leaves: u8) -> Column {
        Column { leaves, ..self }
    }

    fn least(self, natural: usize) -> usize {
        match self.shape {
            ColumnShape::Number | ColumnShape::Word => natural,
            ColumnShape::Text(least) | ColumnShape::Url(least) => natural.min(least),
        }
    }

    fn shown(self, text: &str, width: usize) -> String {
        if matches!(self.shape, ColumnShape::Url(_)) { cut_url(text, width) } else { cut(text, width) }
    }
}

impl Cell {
    pub(super) fn new(text: impl ToString) -> Cell {
        Cell { text: plain(&text.to_string()), ..Cell::default() }
    }

    pub(super) fn styled(text: impl ToString, text_style: TextStyle) -> Cell {
        Cell { text_style, ..Cell::new(text) }
    }

    /// A time to the minute.
    pub(super) fn time(moment: Timestamp) -> Cell {
        Cell { zone: Some(zone(moment)), ..Cell::new(minute(moment)) }
    }

    pub(super) fn maybe_time(moment: Option<Timestamp>) -> Cell {
        moment.map_or_else(|| Cell::maybe(None::<&str>), Cell::time)
    }

    pub(super) fn maybe(text: Option<impl ToString>) -> Cell {
        text.map_or_else(|| Cell::styled("-", TextStyle::Dim), Cell::new)
    }
}

impl Table {
    pub(super) fn new(columns: &'static [Column]) -> Table {
        Table { columns, rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    pub(super) fn render(&self, style: OutputStyle, with_headings: bool) -> String {
        let headings = self.headings();
        let natural = |(number, heading): (usize, &Cell)| {
            let cells = self.rows.iter().filter_map(|row| row.get(number)).map(|cell| columns(&cell.text));
            let heading = if with_headings { columns(&heading.text) } else { 0 };
            cells.max().unwrap_or(0).max(heading)
        };
        let naturals: Vec<usize> = headings.iter().enumerate().map(natural).collect();
        let widths = match style.columns {
            Some(room) => fit(self.columns, &naturals, room),
            None => naturals.into_iter().map(Some).collect(),
        };
        let mut text = String::new();
        if with_headings {
            self.line(&mut text, &headings, &widths, style);
        }
        for row in &self.rows {
            self.line(&mut text, row, &widths, style);
        }
        text
    }

    /// Headings; that of a column of times names their zone.
    fn headings(&self) -> Vec<Cell> {
        let heading = |(number, column): (usize, &Column)| {
            let zones: BTreeSet<&str> = self.rows.iter().filter_map(|row| row.get(number)?.zone.as_deref()).collect();
            let zones: Vec<&str> = zones.into_iter().collect();
            let text = match zones.is_empty() {
                true => column.heading.to_owned(),
                false => format!("{} ({})", column.heading, zones.join(", ")),
            };
            Cell::styled(text, TextStyle::Bold)
        };
        self.columns.iter().enumerate().map(heading).collect()
    }

    fn line(&self, text: &mut String, cells: &[Cell], widths: &[Option<usize>], style: OutputStyle) {
        let start = text.len();
        let shown = cells.iter().zip(self.columns).zip(widths);
        let shown: Vec<(&Cell, &Column, usize)> =
            shown.filter_map(|((cell, column), width)| Some((cell, column, (*width)?))).collect();
        for (number, (cell, column, width)) in shown.iter().enumerate() {
            let content = column.shown(&cell.text, *width);
            let padding = " ".repeat(width.saturating_sub(columns(&content)));
            let styled = style.paint(cell.text_style, &content);
            let is_last = number + 1 == shown.len();
            match (column.shape, is_last) {
                (ColumnShape::Number, _) => text.extend([padding.as_str(), &styled]),
                (_, true) => text.push_str(&styled),
                (_, false) => text.extend([styled.as_str(), &padding]),
            }
            text.push_str(if is_last { "" } else { "  " });
        }
        text.truncate(start + text[start..].trim_end().len());
        text.push('\n');
    }
}

/// Width of each column; none for dropped columns.
///
/// Drops columns until the others can be shortened enough; then shortens the widest first.
fn fit(columns: &[Column], naturals: &[usize], room: usize) -> Vec<Option<usize>> {
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let gaps = |kept: &[usize]| GAP * kept.len().saturating_sub(1);
    let least = |number: usize| columns[number].least(naturals[number]);
    while kept.iter().map(|number| least(*number)).sum::<usize>() + gaps(&kept) > room {
        let candidates = kept.iter().enumerate().filter(|(_, number)| columns[**number].leaves > 0);
        let Some((place, _)) = candidates.max_by_key(|(_, number)| columns[**number].leaves) else { break };
        kept.remove(place);
    }
    let mut widths: Vec<Option<usize>> = vec![None; columns.len()];
    kept.iter().for_each(|number| widths[*number] = Some(naturals[*number]));
    let mut excess = (kept.iter().map(|number| naturals[*number]).sum::<usize>() + gaps(&kept)).saturating_sub(room);
    while excess > 0 {
        let width = |number: usize| widths[number].unwrap_or(0);
        let gives = |number: &&usize| width(**number) > least(**number);
        // If the minimum widths do not fit either, cut the widest further, so that no line overflows.
        let widest = kept.iter().filter(gives).max_by_key(|number| width(**number));
        let widest =
            widest.or_else(|| kept.iter().filter(|number| width(**number) > 1).max_by_key(|number| width(**number)));
        let Some(widest) = widest else { break };
        widths[*widest] = Some(width(*widest) - 1);
        excess -= 1;
    }
    widths
}

/// Formats a duration with its two largest units.
pub(super) fn span(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match () {
        () if days > 0 => format!("{days} d {hours} h"),
        () if hours > 0 => format!("{hours} h {minutes} min"),
        () if minutes > 0 => format!("{minutes} min"),
        () => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] =
        &[Column::number("ID"), Column::word("ADDED").leaves(2), Column::url("URL"), Column::word("STATE").leaves(1)];

    fn table() -> Table {
        let mut table = Table::new(COLUMNS);
        let url = "http://a.example/a/long/way/to/a/feed.xml";
        table.row(vec![Cell::new(7), Cell::new("2026-11-16"), Cell::new(url), Cell::new("active")]);
        table.row(vec![
            Cell::new(12),
            Cell::new("-"),
            Cell::maybe(None::<&str>),
            Cell::styled("disabled", TextStyle::Bad),
        ]);
        table
    }

    fn style(columns: Option<usize>, has_colours: bool) -> OutputStyle {
        OutputStyle { columns, has_colours }
    }

    #[test]
    fn a_table_fits_every_terminal_and_is_whole_without_one() {
        let piped = table().render(style(None, false), false);
        let first = " 7  2026-11-16  http://a.example/a/long/way/to/a/feed.xml  active";
        assert_eq!(piped.lines().next().unwrap(), first);
        for (columns, wanted) in [
            (60, " 7  2026-11-16  a.example/a/long/way/to/a/feed.xml  active"),
            (45, " 7  2026-11-16  a.example…/feed.xml  active"),
            (35, " 7  a.example…/a/feed.xml  active"),
            (30, " 7  a.examp…feed.xml  active"),
            (24, " 7  a.example…a/feed.xml"),
        ] {
            let text = table().render(style(Some(columns), false), false);
            assert_eq!(text.lines().next().unwrap(), wanted, "{columns}");
        }
        for columns in 4..120 {
            let text = table().render(style(Some(columns), false), true);
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}: {text}");
        }
    }

    #[test]
    fn wide_letters_take_two_columns_and_stay_in_line() {
        const TITLES: &[Column] = &[Column::number("ID"), Column::name("TITLE"), Column::word("STATE")];
        let mut table = Table::new(TITLES);
        for title in [
            "日本語のニュースの題名",
            "plain title that is long",
            "e\u{301}e\u{301} combining",
            "👍🏽👨\u{200d}👩\u{200d}👧 emoji",
        ] {
            table.row(vec![Cell::new(1), Cell::new(title), Cell::new("active")]);
        }
        for room in [30, 40] {
            let text = table.render(style(Some(room), false), false);
            for line in text.lines() {
                assert!(columns(line) <= room, "{line}");
                assert_eq!(columns(&line[..line.find("active").unwrap()]), columns(text.lines().next().unwrap()) - 6);
            }
        }
    }

    #[test]
    fn a_column_of_times_names_their_zone_once() {
        const TIMES: &[Column] = &[Column::word("AT"), Column::word("THEN")];
        let mut table = Table::new(TIMES);
        let moment = "2026-11-16T07:56:06Z".parse().unwrap();
        table.row(vec![Cell::time(moment), Cell::maybe_time(None)]);
        let text = table.render(style(None, false), true);
        let heading = format!("AT ({})", zone(moment));
        assert!(text.starts_with(&heading) && text.contains(&minute(moment)), "{text}");
        assert_eq!(text.matches(&zone(moment)).count(), 1, "{text}");
    }

    #[test]
    fn colours_are_outside_of_what_is_counted() {
        let styled = table().render(style(Some(30), true), false);
        assert_eq!(styled.lines().last().unwrap(), "12  \x1b[2m-\x1b[0m                 \x1b[31mdisabled\x1b[0m");
    }

    #[test]
    fn spans_have_two_units_at_the_most() {
        let said: Vec<String> = [5, 65, 3700, 90_000].into_iter().map(span).collect();
        assert_eq!(said, ["5 s", "1 min", "1 h 1 min", "1 d 1 h"]);
    }
}
