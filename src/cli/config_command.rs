//! `feedwarden config`: shows and checks the configuration.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{Exit, print};
use crate::config::{Effective, Origin};

pub(super) fn show(effective: &Effective, as_json: bool) -> Exit {
    print(&if as_json { for_programs(effective) } else { for_people(effective) })
}

/// The configuration has been loaded by now, so it is valid.
pub(super) fn check(as_json: bool) -> Exit {
    print(&if as_json { format!("{:#}\n", json!({ "ok": true })) } else { "ok\n".to_owned() })
}

fn for_people(effective: &Effective) -> String {
    let rows: Vec<(&str, String, String)> =
        effective.shown().map(|shown| (shown.key, shown.value.to_string(), shown.origin.to_string())).collect();
    let key_width = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
    let value_width = rows.iter().map(|row| row.1.chars().count()).max().unwrap_or(0).min(40);
    rows.iter().fold(String::new(), |mut text, (key, value, origin)| {
        writeln!(text, "{key:key_width$}  {value:value_width$}  {origin}").expect("a String takes every write");
        text
    })
}

fn for_programs(effective: &Effective) -> String {
    let rows: Vec<Value> = effective
        .shown()
        .map(|shown| json!({ "key": shown.key, "value": shown.value, "origin": origin(shown.origin) }))
        .collect();
    format!("{:#}\n", Value::Array(rows))
}

fn origin(origin: &Origin) -> Value {
    match origin {
        Origin::BuiltIn => json!({ "layer": "built-in" }),
        Origin::File { path, line } => json!({ "layer": "file", "name": path.display().to_string(), "line": line }),
        Origin::Environment(name) => json!({ "layer": "environment", "name": name }),
        Origin::CommandLine => json!({ "layer": "set" }),
    }
}
