//! Width and colours of the output; facts and headlines.

use std::fmt::Write;
use std::io::IsTerminal;
use std::os::fd::AsFd;

use super::sanitize::{columns, plain, wrapped};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TextStyle {
    #[default]
    Plain,
    Dim,
    Bold,
    Good,
    Uneasy,
    Bad,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct OutputStyle {
    /// None without a terminal: nothing is cut.
    pub(super) columns: Option<usize>,
    pub(super) has_colours: bool,
}

impl OutputStyle {
    pub(super) fn of_output() -> OutputStyle {
        let output = std::io::stdout();
        if !output.is_terminal() {
            return OutputStyle { columns: None, has_colours: false };
        }
        let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        OutputStyle { columns: columns_of(&output), has_colours: !is_unwanted && !is_dumb }
    }

    pub(super) fn paint(self, text_style: TextStyle, text: &str) -> String {
        let code = match text_style {
            _ if !self.has_colours => "",
            TextStyle::Plain => "",
            TextStyle::Dim => "2",
            TextStyle::Bold => "1",
            TextStyle::Good => "32",
            TextStyle::Uneasy => "33",
            TextStyle::Bad => "31",
        };
        if code.is_empty() { text.to_owned() } else { format!("\x1b[{code}m{text}\x1b[0m") }
    }

    pub(super) fn headline(self, text: &str) -> String {
        let lines = wrapped(&plain(text), self.columns);
        lines.iter().fold(String::new(), |text, line| text + &self.paint(TextStyle::Bold, line) + "\n")
    }
}

pub(super) fn columns_of(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// One fact per line, wrapped; facts without a value are omitted.
pub(super) fn facts(style: OutputStyle, facts: &[(&str, Option<String>)]) -> String {
    let width = facts.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| columns(name)).max();
    let width = width.unwrap_or(0);
    let mut text = String::new();
    for (name, value) in facts.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        let room = style.columns.map(|columns| columns.saturating_sub(width + 2));
        let lines = wrapped(&plain(value), room);
        for (name, line) in std::iter::once(*name).chain(std::iter::repeat("")).zip(lines) {
            let name = style.paint(TextStyle::Dim, &format!("{name:width$}"));
            writeln!(text, "{name}  {line}").expect("a String takes every write");
        }
    }
    text
}

pub(super) fn state_style(state: &str) -> TextStyle {
    match state {
        "active" | "available" | "running" | "working" => TextStyle::Good,
        "backing_off" | "failing" | "held" | "resting" => TextStyle::Uneasy,
        "breaker_open" | "disabled" | "failed" => TextStyle::Bad,
        _ => TextStyle::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_and_headlines_go_on_below_where_the_terminal_ends() {
        let style = |columns| OutputStyle { columns, has_colours: false };
        let said =
            [("url", Some("http://a.example/a/feed.xml".to_owned())), ("why", Some("it is held for now".into()))];
        assert_eq!(facts(style(Some(15)), &said), "url  http://a.example/a/feed.xml\nwhy  it is held\n     for now\n");
        assert_eq!(facts(style(None), &said).lines().count(), 2);
        assert_eq!(style(Some(12)).headline("source 1 is held"), "source 1 is\nheld\n");
    }
}
