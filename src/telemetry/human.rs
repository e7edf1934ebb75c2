//! A line for a person and for `grep`: time, level, message, then `key=value` pairs as in logfmt; with colours on a
//! terminal.
//!
//! One record is one line, whatever its values: control characters are escaped, so that a publisher can neither forge a
//! line nor steer the terminal.

use std::io::{self, Write};

use serde_json::Value;
use slog::Level;

use super::line::{LogLine, level_name};

const FAINT: &str = ";2";
const BOLD: &str = ";1";
const PLAIN: &str = "";

/// Appends the line, its end included. Absent values are left out.
pub(super) fn append(line: &LogLine, colours: bool, buffer: &mut Vec<u8>) -> io::Result<()> {
    let mut painter = Painter { buffer, colours };
    painter.start(FAINT)?;
    write!(painter.buffer, "{:.3} ", line.moment)?;
    painter.start(level_colour(line.level))?;
    write!(painter.buffer, "{} ", level_name(line.level).to_ascii_uppercase())?;
    painter.start(BOLD)?;
    escape(&line.message, false, painter.buffer)?;
    for (key, value) in line.keys.iter().filter(|(_, value)| !value.is_null()) {
        painter.start(FAINT)?;
        write!(painter.buffer, " {key}=")?;
        painter.start(PLAIN)?;
        match value {
            Value::String(text) => append_text(text, painter.buffer)?,
            Value::Number(_) | Value::Bool(_) | Value::Null => write!(painter.buffer, "{value}")?,
            // Keys are flat: nothing puts one of these into a line.
            Value::Array(_) | Value::Object(_) => append_text(&value.to_string(), painter.buffer)?,
        }
    }
    painter.start(PLAIN)?;
    writeln!(painter.buffer)
}

struct Painter<'a> {
    buffer: &'a mut Vec<u8>,
    colours: bool,
}

impl Painter<'_> {
    fn start(&mut self, colour: &str) -> io::Result<()> {
        if self.colours {
            write!(self.buffer, "\u{1b}[0{colour}m")?;
        }
        Ok(())
    }
}

fn level_colour(level: Level) -> &'static str {
    match level {
        Level::Critical | Level::Error => ";1;31",
        Level::Warning => ";33",
        Level::Info => ";32",
        Level::Debug => ";36",
        Level::Trace => FAINT,
    }
}

/// A value: bare if it is one word, else in quotation marks.
fn append_text(text: &str, buffer: &mut Vec<u8>) -> io::Result<()> {
    let is_bare = |character: char| {
        !character.is_whitespace() && !is_escaped(character) && !matches!(character, '"' | '=' | '\\')
    };
    if !text.is_empty() && text.chars().all(is_bare) {
        return buffer.write_all(text.as_bytes());
    }
    buffer.push(b'"');
    escape(text, true, buffer)?;
    buffer.push(b'"');
    Ok(())
}

fn escape(text: &str, in_quotes: bool, buffer: &mut Vec<u8>) -> io::Result<()> {
    for character in text.chars() {
        match character {
            '\n' => buffer.write_all(b"\\n")?,
            '\r' => buffer.write_all(b"\\r")?,
            '\t' => buffer.write_all(b"\\t")?,
            '"' | '\\' if in_quotes => write!(buffer, "\\{character}")?,
            other if is_escaped(other) => write!(buffer, "\\u{:04x}", u32::from(other))?,
            other => write!(buffer, "{other}")?,
        }
    }
    Ok(())
}

/// Characters that end a line, steer a terminal or reverse the direction of text.
fn is_escaped(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;
    use serde_json::json;

    fn written(level: Level, message: &str, keys: Vec<(&'static str, Value)>, colours: bool) -> String {
        let mut buffer = Vec::new();
        let line = LogLine { moment: Timestamp::EPOCH, level, message: message.into(), keys };
        append(&line, colours, &mut buffer).unwrap();
        String::from_utf8(buffer).unwrap()
    }

    #[test]
    fn a_line_reads_from_time_to_detail_and_leaves_out_what_is_absent() {
        let keys = vec![
            ("url", json!("https://a.example/")),
            ("status_code", Value::Null),
            ("count", json!(3)),
            ("is_forced", json!(true)),
        ];
        assert_eq!(
            written(Level::Warning, "feed poll failed", keys, false),
            "1970-01-01T00:00:00.000Z WARN feed poll failed url=https://a.example/ count=3 is_forced=true\n"
        );
    }

    #[test]
    fn values_are_quoted_where_they_need_it() {
        let cases = [
            ("word", "word"),
            ("https://a.example/ä?b", "https://a.example/ä?b"),
            ("https://a.example/?b=c", "\"https://a.example/?b=c\""),
            ("", "\"\""),
            ("two words", "\"two words\""),
            ("say \"no\"", "\"say \\\"no\\\"\""),
            ("C:\\", "\"C:\\\\\""),
            ("a\nb\tc\r", "\"a\\nb\\tc\\r\""),
            ("x\u{2028}\u{202e}y", "\"x\\u2028\\u202ey\""),
            ("no-break\u{a0}space", "\"no-break\u{a0}space\""),
        ];
        for (value, expected) in cases {
            let line = written(Level::Info, "x", vec![("k", json!(value))], false);
            assert_eq!(line, format!("1970-01-01T00:00:00.000Z INFO x k={expected}\n"));
            assert_eq!(line.lines().count(), 1);
        }
    }

    #[test]
    fn text_from_outside_can_neither_forge_a_line_nor_steer_the_terminal() {
        let text = written(Level::Info, "a\nb", vec![("error", json!("c\r\n\u{1b}[2J\u{9b}é"))], false);
        assert_eq!(text, "1970-01-01T00:00:00.000Z INFO a\\nb error=\"c\\r\\n\\u001b[2J\\u009bé\"\n");
    }

    #[test]
    fn colours_only_where_asked_for_and_always_ended() {
        assert!(!written(Level::Error, "x", vec![("k", json!(1))], false).contains('\u{1b}'));
        let coloured = written(Level::Error, "x", vec![("k", json!(1))], true);
        assert!(coloured.contains("\u{1b}[0;1;31mERROR"), "{coloured:?}");
        assert!(coloured.ends_with("\u{1b}[0m\n"), "{coloured:?}");
    }
}
