//! Tables and lists of facts for people: cut to the terminal's width, coloured only on a terminal.

use std::fmt::Write;
use std::io::IsTerminal;

use crate::model::Timestamp;

/// What stands between two columns.
const GAP: usize = 2;
/// No column is cut below this.
const COLUMN_MIN: usize = 8;

/// What a piece of text looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ink {
    #[default]
    Plain,
    Dim,
    Bold,
    Good,
    Uneasy,
    Bad,
}

/// One field of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    text: String,
    ink: Ink,
}

/// What the output can show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paper {
    /// How wide it is; without a terminal nothing is cut.
    columns: Option<usize>,
    has_colours: bool,
}

/// Rows below headings. Columns whose heading ends in `#` hold numbers.
pub(super) struct Table {
    headings: &'static [&'static str],
    rows: Vec<Vec<Cell>>,
}

impl Paper {
    /// Standard output as it is now.
    pub(super) fn of_output() -> Paper {
        let output = std::io::stdout();
        if !output.is_terminal() {
            return Paper { columns: None, has_colours: false };
        }
        let size = rustix::termios::tcgetwinsize(&output).ok();
        let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
        let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Paper { columns, has_colours: !is_unwanted && !is_dumb }
    }

    /// Text in this ink.
    pub(super) fn ink(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            _ if !self.has_colours => "",
            Ink::Plain => "",
            Ink::Dim => "2",
            Ink::Bold => "1",
            Ink::Good => "32",
            Ink::Uneasy => "33",
            Ink::Bad => "31",
        };
        if code.is_empty() { text.to_owned() } else { format!("\x1b[{code}m{text}\x1b[0m") }
    }
}

impl Cell {
    pub(super) fn new(text: impl ToString) -> Cell {
        Cell { text: plain(&text.to_string()), ink: Ink::Plain }
    }

    pub(super) fn inked(text: impl ToString, ink: Ink) -> Cell {
        Cell { ink, ..Cell::new(text) }
    }

    /// What may not be there.
    pub(super) fn maybe(text: Option<impl ToString>) -> Cell {
        text.map_or_else(|| Cell::inked("-", Ink::Dim), Cell::new)
    }
}

impl Table {
    pub(super) fn new(headings: &'static [&'static str]) -> Table {
        Table { headings, rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// The table as text; with its headings if it is the first of several.
    pub(super) fn render(&self, paper: Paper, with_headings: bool) -> String {
        let natural = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.chars().count());
            cells.max().unwrap_or(0).max(heading(self.headings[column]).chars().count())
        };
        let mut widths: Vec<usize> = (0..self.headings.len()).map(natural).collect();
        if let Some(columns) = paper.columns {
            shrink(&mut widths, columns);
        }
        let mut text = String::new();
        if with_headings {
            let cells: Vec<Cell> = self.headings.iter().map(|name| Cell::inked(heading(name), Ink::Bold)).collect();
            self.line(&mut text, &cells, &widths, paper);
        }
        for row in &self.rows {
            self.line(&mut text, row, &widths, paper);
        }
        text
    }

    fn line(&self, text: &mut String, cells: &[Cell], widths: &[usize], paper: Paper) {
        let start = text.len();
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let shown = cut(&cell.text, *width);
            let padding = " ".repeat(width - shown.chars().count());
            let inked = paper.ink(cell.ink, &shown);
            let is_last = column + 1 == cells.len();
            match (self.headings[column].ends_with('#'), is_last) {
                (true, _) => text.extend([padding.as_str(), &inked]),
                (false, true) => text.push_str(&inked),
                (false, false) => text.extend([inked.as_str(), &padding]),
            }
            text.push_str(if is_last { "" } else { "  " });
        }
        text.truncate(start + text[start..].trim_end().len());
        text.push('\n');
    }
}

/// Facts, one a line; those without a value are left out.
pub(super) fn facts(paper: Paper, facts: &[(&str, Option<String>)]) -> String {
    let width = facts.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or(0);
    facts.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))).fold(
        String::new(),
        |mut text, (name, value)| {
            let name = paper.ink(Ink::Dim, &format!("{name:width$}"));
            writeln!(text, "{name}  {}", plain(value)).expect("a String takes every write");
            text
        },
    )
}

/// A moment to the minute, as in tables.
pub(super) fn minute(moment: Timestamp) -> String {
    moment.to_string().chars().take("2026-11-16T07:56".len()).collect::<String>().replace('T', " ")
}

/// A moment to the second.
pub(super) fn second(moment: Timestamp) -> String {
    moment.to_string().chars().take("2026-11-16T07:56:06".len()).collect::<String>().replace('T', " ") + " UTC"
}

/// A span of time with its largest two units.
pub(super) fn span(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match () {
        () if days > 0 => format!("{days} d {hours} h"),
        () if hours > 0 => format!("{hours} h {minutes} min"),
        () if minutes > 0 => format!("{minutes} min"),
        () => format!("{seconds} s"),
    }
}

/// How the states of sources, hosts and actors look.
pub(super) fn state_ink(state: &str) -> Ink {
    match state {
        "active" | "free" | "running" | "working" => Ink::Good,
        "backing_off" | "failing" | "held" | "resting" => Ink::Uneasy,
        "disabled" | "silent" | "failed" => Ink::Bad,
        _ => Ink::Plain,
    }
}

/// Text of others, on one line and without anything that a terminal would obey.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

fn heading(name: &str) -> &str {
    name.trim_end_matches('#')
}

/// At most so many characters; what was cut off is told by an ellipsis.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// Takes from the widest column until everything fits, or nothing can be taken any more.
fn shrink(widths: &mut [usize], columns: usize) {
    let gaps = GAP * widths.len().saturating_sub(1);
    loop {
        let total = widths.iter().sum::<usize>() + gaps;
        let Some(widest) = widths.iter_mut().max_by_key(|width| **width) else { return };
        if total <= columns || *widest <= COLUMN_MIN {
            return;
        }
        *widest -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["ID#", "URL", "STATE"]);
        table.row(vec![Cell::new(7), Cell::new("http://a.example/a/long/way/to/a/feed.xml"), Cell::new("active")]);
        table.row(vec![Cell::new(12), Cell::maybe(None::<&str>), Cell::inked("disabled", Ink::Bad)]);
        table
    }

    fn paper(columns: Option<usize>, has_colours: bool) -> Paper {
        Paper { columns, has_colours }
    }

    #[test]
    fn a_table_is_cut_to_the_terminal_and_to_nothing_else() {
        let narrow = table().render(paper(Some(30), false), true);
        assert_eq!(
            narrow,
            "ID  URL               STATE\n 7  http://a.exampl…  active\n12  -                 disabled\n"
        );
        assert!(narrow.lines().all(|line| line.chars().count() <= 30));
        let piped = table().render(paper(None, false), false);
        assert_eq!(piped.lines().next().unwrap(), " 7  http://a.example/a/long/way/to/a/feed.xml  active");
        let tiny = table().render(paper(Some(3), false), false);
        assert_eq!(tiny.lines().next().unwrap(), " 7  http://…  active", "something is always left to read");
    }

    #[test]
    fn colours_are_outside_of_what_is_counted() {
        let inked = table().render(paper(Some(30), true), false);
        assert_eq!(inked.lines().last().unwrap(), "12  \x1b[2m-\x1b[0m                 \x1b[31mdisabled\x1b[0m");
    }

    #[test]
    fn a_terminal_is_safe_from_what_publishers_write() {
        assert_eq!(plain("a\x1b[2Jb\r\nc\u{9b}"), "a [2Jb  c ");
    }

    #[test]
    fn spans_have_two_units_at_the_most() {
        let said: Vec<String> = [5, 65, 3700, 90_000].into_iter().map(span).collect();
        assert_eq!(said, ["5 s", "1 min", "1 h 1 min", "1 d 1 h"]);
    }
}
