//! A line for a person: time, level, message, then the keys; with colours on a terminal.
//!
//! Text from outside is shown with its control characters escaped, so that a publisher can neither forge a line nor
//! steer the terminal.

use std::cell::RefCell;
use std::io::{self, Write};

use slog::{BorrowedKV, Drain, KV, Level, OwnedKVList, Record, RecordStatic, Serializer, o};
use slog_term::{Decorator, FullFormat, RecordDecorator, ThreadSafeTimestampFn};

use super::json;
use super::line::{LogLine, level_name};

/// Appends the line, its end included.
pub(super) fn append(line: &LogLine, colours: bool, buffer: &mut Vec<u8>) -> io::Result<()> {
    let location = slog::RecordLocation { file: "", line: 0, column: 0, function: "", module: "" };
    let about = RecordStatic { location: &location, tag: "", level: line.level };
    let keys = Keys(line);
    let moment = line.moment_text();
    FullFormat::new(Painter { buffer: RefCell::new(buffer), colours })
        .use_custom_timestamp(move |out: &mut dyn Write| out.write_all(moment.as_bytes()))
        .use_custom_header_print(header)
        .build()
        .log(&Record::new(&about, &format_args!("{}", line.message), BorrowedKV(&keys)), &OwnedKVList::from(o!()))
}

/// The header of `slog_term`, with our words for the levels.
fn header(
    timestamp: &dyn ThreadSafeTimestampFn<Output = io::Result<()>>,
    mut out: &mut dyn RecordDecorator,
    record: &Record<'_>,
    _use_file_location: bool,
) -> io::Result<bool> {
    out.start_timestamp()?;
    timestamp(&mut out)?;
    out.start_whitespace()?;
    write!(out, " ")?;
    out.start_level()?;
    write!(out, "{:<5}", level_name(record.level()))?;
    out.start_whitespace()?;
    write!(out, " ")?;
    out.start_msg()?;
    write!(out, "{}", record.msg())?;
    Ok(true)
}

struct Keys<'a>(&'a LogLine);

impl KV for Keys<'_> {
    fn serialize(&self, _record: &Record<'_>, serializer: &mut dyn Serializer) -> slog::Result {
        self.0
            .keys
            .iter()
            .filter(|(_, value)| !value.is_null())
            .try_for_each(|(key, value)| json::emit(key, value, serializer))
    }
}

struct Painter<'a> {
    buffer: RefCell<&'a mut Vec<u8>>,
    colours: bool,
}

impl Decorator for Painter<'_> {
    fn with_record<F>(&self, record: &Record<'_>, _logger_values: &OwnedKVList, write: F) -> io::Result<()>
    where
        F: FnOnce(&mut dyn RecordDecorator) -> io::Result<()>,
    {
        let mut buffer = self.buffer.borrow_mut();
        write(&mut Painted { buffer: &mut buffer, colours: self.colours, level: record.level(), foreign: false })
    }
}

struct Painted<'a> {
    buffer: &'a mut Vec<u8>,
    colours: bool,
    level: Level,
    /// Whether what is being written may come from outside.
    foreign: bool,
}

impl Painted<'_> {
    fn start(&mut self, colour: &str, foreign: bool) -> io::Result<()> {
        self.foreign = foreign;
        if self.colours {
            write!(self.buffer, "\u{1b}[0{colour}m")?;
        }
        Ok(())
    }
}

impl Write for Painted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.foreign {
            self.buffer.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        for character in String::from_utf8_lossy(bytes).chars() {
            if character.is_control() {
                write!(self.buffer, "{}", character.escape_default())?;
            } else {
                write!(self.buffer, "{character}")?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RecordDecorator for Painted<'_> {
    fn reset(&mut self) -> io::Result<()> {
        self.start("", false)
    }
    fn start_timestamp(&mut self) -> io::Result<()> {
        self.start(";2", false)
    }
    fn start_level(&mut self) -> io::Result<()> {
        let colour = match self.level {
            Level::Critical | Level::Error => ";1;31",
            Level::Warning => ";33",
            Level::Info => ";32",
            Level::Debug => ";36",
            Level::Trace => ";2",
        };
        self.start(colour, false)
    }
    fn start_msg(&mut self) -> io::Result<()> {
        self.start(";1", true)
    }
    fn start_key(&mut self) -> io::Result<()> {
        self.start(";2", false)
    }
    fn start_value(&mut self) -> io::Result<()> {
        self.start("", true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;
    use serde_json::{Value, json};

    fn written(level: Level, message: &str, keys: Vec<(&'static str, Value)>, colours: bool) -> String {
        let mut buffer = Vec::new();
        let line = LogLine { moment: Timestamp::EPOCH, level, message: message.into(), keys };
        append(&line, colours, &mut buffer).unwrap();
        String::from_utf8(buffer).unwrap()
    }

    #[test]
    fn a_line_reads_from_time_to_detail_and_leaves_out_what_is_absent() {
        let keys = vec![("url", json!("https://a.example/")), ("status_code", Value::Null), ("count", json!(3))];
        assert_eq!(
            written(Level::Warning, "feed poll failed", keys, false),
            "1970-01-01T00:00:00.000000Z warn  feed poll failed, url: https://a.example/, count: 3\n"
        );
    }

    #[test]
    fn text_from_outside_can_neither_forge_a_line_nor_steer_the_terminal() {
        let text = written(Level::Info, "a\nb", vec![("error", json!("c\r\n\u{1b}[2J\u{9b}é"))], false);
        assert_eq!(text, "1970-01-01T00:00:00.000000Z info  a\\nb, error: c\\r\\n\\u{1b}[2J\\u{9b}é\n");
    }

    #[test]
    fn colours_only_where_asked_for_and_always_ended() {
        assert!(!written(Level::Error, "x", vec![("k", json!(1))], false).contains('\u{1b}'));
        let coloured = written(Level::Error, "x", vec![("k", json!(1))], true);
        assert!(coloured.contains("\u{1b}[0;1;31merror"), "{coloured:?}");
        assert!(coloured.ends_with("\u{1b}[0m\n"), "{coloured:?}");
    }
}
