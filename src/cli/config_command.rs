//! `feedwarden config`: writes, shows and checks the configuration.

use std::fmt::Write;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Exit, complain, print};
use crate::config::{Effective, Origin, commented_defaults};

/// Writes a new configuration file; one that exists is kept.
pub(super) fn init(file: Option<PathBuf>, as_json: bool) -> Exit {
    let Some(file) = file else {
        complain(&"there is no home directory for the configuration; name a file: feedwarden config init FILE");
        return Exit::Usage;
    };
    if file == Path::new("-") {
        return print(&commented_defaults());
    }
    match write_new(&file) {
        Ok(()) if as_json => print(&format!("{:#}\n", json!({ "written": file }))),
        Ok(()) => print(&format!("{} is written\n", file.display())),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            complain(&format_args!(
                "{} exists already and is kept; `config init -` prints the defaults",
                file.display()
            ));
            Exit::Conflict
        }
        Err(error) => {
            complain(&format_args!("{} cannot be written: {error}", file.display()));
            Exit::Failure
        }
    }
}

/// The file may come to hold secrets, so only its owner can read it.
fn write_new(file: &Path) -> std::io::Result<()> {
    if let Some(directory) = file.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let mut opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    opened.write_all(commented_defaults().as_bytes())?;
    opened.sync_all()
}

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
