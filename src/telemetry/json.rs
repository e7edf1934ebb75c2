//! A line as one JSON object: `ts`, `level`, `msg`, then the keys.

use std::io;

use serde_json::Value;
use slog::{BorrowedKV, Drain, KV, OwnedKVList, Record, RecordStatic, Serializer, o};

use super::line::{LogLine, level_name};

/// Appends the line, its end included.
pub(super) fn append(line: &LogLine, buffer: &mut Vec<u8>) -> io::Result<()> {
    let location = slog::RecordLocation { file: "", line: 0, column: 0, function: "", module: "" };
    let about = RecordStatic { location: &location, tag: "", level: line.level };
    let message = format_args!("");
    let record = Record::new(&about, &message, BorrowedKV(line));
    slog_json::Json::new(buffer).build().log(&record, &OwnedKVList::from(o!()))
}

impl KV for LogLine {
    fn serialize(&self, _record: &Record<'_>, serializer: &mut dyn Serializer) -> slog::Result {
        serializer.emit_str("ts", &self.moment_text())?;
        serializer.emit_str("level", level_name(self.level))?;
        serializer.emit_str("msg", &self.message)?;
        self.keys.iter().try_for_each(|(key, value)| emit(key, value, serializer))
    }
}

/// Hands one value on in its own type.
fn emit(key: &'static str, value: &Value, serializer: &mut dyn Serializer) -> slog::Result {
    match value {
        Value::Null => serializer.emit_none(key),
        Value::Bool(truth) => serializer.emit_bool(key, *truth),
        Value::String(text) => serializer.emit_str(key, text),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(value), _, _) => serializer.emit_u64(key, value),
            (_, Some(value), _) => serializer.emit_i64(key, value),
            (_, _, Some(value)) => serializer.emit_f64(key, value),
            _ => serializer.emit_arguments(key, &format_args!("{number}")),
        },
        // Keys are flat: nothing puts one of these into a line.
        Value::Array(_) | Value::Object(_) => serializer.emit_arguments(key, &format_args!("{value}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;
    use serde_json::json;
    use slog::Level;

    fn line(message: &str, keys: Vec<(&'static str, Value)>) -> LogLine {
        LogLine { moment: Timestamp::EPOCH, level: Level::Warning, message: message.into(), keys }
    }

    #[test]
    fn the_fields_come_first_and_in_order() {
        let mut buffer = Vec::new();
        let keys =
            vec![("url", json!("https://a.example/")), ("status_code", json!(404)), ("delay_seconds", json!(1.5))];
        append(&line("feed poll failed", keys), &mut buffer).unwrap();
        assert_eq!(
            String::from_utf8(buffer).unwrap(),
            concat!(
                r#"{"ts":"1970-01-01T00:00:00.000000Z","level":"warn","msg":"feed poll failed","#,
                r#""url":"https://a.example/","status_code":404,"delay_seconds":1.5}"#,
                "\n"
            )
        );
    }

    #[test]
    fn text_from_outside_cannot_end_the_line() {
        let mut buffer = Vec::new();
        append(&line("a\nb", vec![("error", json!("c\r\n\u{1b}[31m\u{0}\"}"))]), &mut buffer).unwrap();
        let text = String::from_utf8(buffer).unwrap();
        assert_eq!(text.matches('\n').count(), 1);
        assert!(!text.trim_end().contains(char::is_control));
        let back: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["error"], "c\r\n\u{1b}[31m\u{0}\"}");
    }
}
