//! One record with everything that is written of it: flat, in reading order, each key once.

use std::fmt;

use serde_json::Value;
use slog::{KV, Key, Level, OwnedKVList, Record, Serializer};

use crate::model::Timestamp;

/// A record, ready to be written in either shape.
#[derive(Debug, PartialEq)]
pub(super) struct LogLine {
    /// When the record was made, not when it is written.
    pub(super) moment: Timestamp,
    pub(super) level: Level,
    pub(super) message: String,
    /// From the outermost logger to the record itself, each in the order in which it was written in the source.
    pub(super) keys: Vec<(Key, Value)>,
}

/// The word that stands for a level in records, settings and documentation.
pub const fn level_name(level: Level) -> &'static str {
    match level {
        Level::Critical => "critical",
        Level::Error => "error",
        Level::Warning => "warn",
        Level::Info => "info",
        Level::Debug => "debug",
        Level::Trace => "trace",
    }
}

impl LogLine {
    /// Flattens a record and the values of its logger.
    ///
    /// Where a key occurs more than once, the value nearest to the record wins: JSON with a key twice is read
    /// differently by every reader.
    pub(super) fn of(moment: Timestamp, record: &Record<'_>, logger_values: &OwnedKVList) -> LogLine {
        let mut collected = Collected::default();
        // A value that refuses to be written is left out; the rest of the record is worth having.
        let _ = record.kv().serialize(record, &mut collected);
        let _ = logger_values.serialize(record, &mut collected);
        // slog walks from the last value of the record to the first value of the root.
        collected.keys.reverse();
        LogLine { moment, level: record.level(), message: record.msg().to_string(), keys: collected.keys }
    }

    /// The moment as RFC 3339 in universal time, always with six decimals, so that lines sort as text.
    pub(super) fn moment_text(&self) -> String {
        format!("{:.6}", self.moment)
    }
}

/// Gathers values; the first value of a key stays.
#[derive(Default)]
struct Collected {
    keys: Vec<(Key, Value)>,
}

impl Collected {
    fn add(&mut self, key: Key, value: Value) -> slog::Result {
        let key = unreserved(key);
        if !self.keys.iter().any(|(present, _)| *present == key) {
            self.keys.push((key, value));
        }
        Ok(())
    }
}

/// Keys that would shadow the three fields of every record are renamed rather than lost.
fn unreserved(key: Key) -> Key {
    match key {
        "ts" => "ts_",
        "level" => "level_",
        "msg" => "msg_",
        other => other,
    }
}

impl Serializer for Collected {
    fn emit_arguments(&mut self, key: Key, value: &fmt::Arguments<'_>) -> slog::Result {
        self.add(key, Value::from(value.to_string()))
    }
    fn emit_str(&mut self, key: Key, value: &str) -> slog::Result {
        self.add(key, Value::from(value))
    }
    fn emit_none(&mut self, key: Key) -> slog::Result {
        self.add(key, Value::Null)
    }
    fn emit_unit(&mut self, key: Key) -> slog::Result {
        self.add(key, Value::Null)
    }
    fn emit_bool(&mut self, key: Key, value: bool) -> slog::Result {
        self.add(key, Value::from(value))
    }
    fn emit_u8(&mut self, key: Key, value: u8) -> slog::Result {
        self.add(key, Value::from(value))
    }
    fn emit_u16(&mut self, key: Key, value: u16) -> slog::Result {
        self.add(key, Value::from(value))
    }
    fn emit_u32(&mut self, key: Key, value: u32) -> slog::Result {
        self.add(key, Value::from(value))
    }
    fn emit_u64(&mut self, key: Key, value: u64) -> slog::Result {
        self.add(key, Value::from(value))
    }
    fn emit_usize(&mut self, key: Key, value: usize) -> slog::Result {
        self.add(key, Value::from(value))
    }
    fn emit_i8(&mut self, key: Key, value: i8) -> slog::Result {
        self.add(key, Value::from(value))
    }
    fn emit_i16(&mut self, key: Key, value: i16) -> slog::Result {
        self.add(key, Value::from(value))
    }
    fn emit_i32(&mut self, key: Key, value: i32) -> slog::Result {
        self.add(key, Value::from(value))
    }
    fn emit_i64(&mut self, key: Key, value: i64) -> slog::Result {
        self.add(key, Value::from(value))
    }
    fn emit_isize(&mut self, key: Key, value: isize) -> slog::Result {
        self.add(key, Value::from(value))
    }
    fn emit_f32(&mut self, key: Key, value: f32) -> slog::Result {
        self.add(key, Value::from(value))
    }
    fn emit_f64(&mut self, key: Key, value: f64) -> slog::Result {
        self.add(key, Value::from(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use slog::{BorrowedKV, b, o, record};

    fn line(logger_values: &OwnedKVList, keys: BorrowedKV<'_>) -> LogLine {
        LogLine::of(Timestamp::EPOCH, &record!(Level::Info, "", &format_args!("x"), keys), logger_values)
    }

    fn nothing() -> OwnedKVList {
        OwnedKVList::from(o!())
    }

    #[test]
    fn keys_come_in_the_order_in_which_they_were_written() {
        let values = OwnedKVList::from(o!("actor" => "host", "host" => "a.example"));
        let keys = line(&values, b!("first" => 1, "second" => true)).keys;
        let names: Vec<Key> = keys.iter().map(|(key, _)| *key).collect();
        assert_eq!(names, ["actor", "host", "first", "second"]);
    }

    #[test]
    fn of_equal_keys_the_one_nearest_to_the_record_stays() {
        let values = OwnedKVList::from(o!("url" => "of the logger", "host" => "a.example"));
        let keys = line(&values, b!("url" => "of the record")).keys;
        assert_eq!(keys, [("host", json!("a.example")), ("url", json!("of the record"))]);
    }

    #[test]
    fn keys_named_like_the_fields_of_every_record_are_renamed() {
        let keys = line(&nothing(), b!("ts" => 1, "level" => 2, "msg" => 3)).keys;
        assert_eq!(keys, [("ts_", json!(1)), ("level_", json!(2)), ("msg_", json!(3))]);
    }

    #[test]
    fn numbers_truth_and_absence_keep_their_types() {
        let absent: Option<u32> = None;
        let keys = line(&nothing(), b!("big" => u64::MAX, "small" => i64::MIN, "half" => 0.5, "yes" => true)).keys;
        let values: Vec<Value> = keys.into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, [json!(u64::MAX), json!(i64::MIN), json!(0.5), json!(true)]);
        let keys = line(&nothing(), b!("absent" => absent, "not_a_number" => f64::NAN)).keys;
        assert_eq!(keys, [("absent", Value::Null), ("not_a_number", Value::Null)]);
    }

    #[test]
    fn a_moment_always_has_six_decimals() {
        let mut line = line(&nothing(), b!());
        assert_eq!(line.moment_text(), "1970-01-01T00:00:00.000000Z");
        line.moment = Timestamp::from_micros(1_500_001);
        assert_eq!(line.moment_text(), "1970-01-01T00:00:01.500001Z");
    }
}
