//! The log of a pipeline, as values.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use slog::{Drain, KV, Key, Logger, Never, OwnedKVList, Record, Serializer, o};

/// What was logged so far.
#[derive(Clone, Default)]
pub(crate) struct Records(Arc<Mutex<Vec<Value>>>);

impl Records {
    pub(crate) fn all(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }

    /// The records with this message.
    pub(crate) fn of(&self, message: &str) -> Vec<Value> {
        self.all().into_iter().filter(|record| record["msg"] == message).collect()
    }

    /// The records of this level.
    pub(crate) fn at(&self, level: &str) -> Vec<Value> {
        self.all().into_iter().filter(|record| record["level"] == level).collect()
    }
}

/// A logger whose records can be read.
pub(crate) fn collecting_logger() -> (Logger, Records) {
    let records = Records::default();
    (Logger::root(Collector(records.clone()).fuse(), o!()), records)
}

struct Collector(Records);

impl Drain for Collector {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> Result<(), Never> {
        let mut keys = Keys::default();
        values.serialize(record, &mut keys).unwrap();
        record.kv().serialize(record, &mut keys).unwrap();
        keys.0.insert("msg".into(), json!(record.msg().to_string()));
        keys.0.insert("level".into(), json!(feedwarden::telemetry::level_name(record.level())));
        self.0.0.lock().unwrap().push(Value::Object(keys.0));
        Ok(())
    }
}

#[derive(Default)]
struct Keys(Map<String, Value>);

impl Serializer for Keys {
    fn emit_arguments(&mut self, key: Key, value: &std::fmt::Arguments<'_>) -> slog::Result {
        self.0.insert(key.into(), json!(value.to_string()));
        Ok(())
    }

    fn emit_i64(&mut self, key: Key, value: i64) -> slog::Result {
        self.0.insert(key.into(), json!(value));
        Ok(())
    }

    fn emit_u64(&mut self, key: Key, value: u64) -> slog::Result {
        self.0.insert(key.into(), json!(value));
        Ok(())
    }

    fn emit_u32(&mut self, key: Key, value: u32) -> slog::Result {
        self.emit_u64(key, value.into())
    }

    fn emit_u16(&mut self, key: Key, value: u16) -> slog::Result {
        self.emit_u64(key, value.into())
    }

    fn emit_i32(&mut self, key: Key, value: i32) -> slog::Result {
        self.emit_i64(key, value.into())
    }

    fn emit_usize(&mut self, key: Key, value: usize) -> slog::Result {
        self.emit_u64(key, value as u64)
    }

    fn emit_bool(&mut self, key: Key, value: bool) -> slog::Result {
        self.0.insert(key.into(), json!(value));
        Ok(())
    }

    fn emit_none(&mut self, key: Key) -> slog::Result {
        self.0.insert(key.into(), Value::Null);
        Ok(())
    }
}
