//! Keeps the borders between the rooms of the crate, by reading its sources.

mod references;

use std::fs;
use std::path::{Path, PathBuf};

use references::{Reference, references};

/// What a room of the crate may refer to, besides itself.
struct Border {
    room: &'static str,
    /// The rooms it may use; `actors::messages` allows that part of `actors` alone.
    may_use: &'static [&'static str],
    /// Whether it decides without doing: nothing of the outside world may be seen from it.
    pure: bool,
}

/// From the inside out. A new module fails the test until it is listed here.
const BORDERS: &[Border] = &[
    Border { room: "model", may_use: &[], pure: true },
    Border { room: "rules", may_use: &["model"], pure: true },
    Border { room: "parse", may_use: &["model"], pure: true },
    Border { room: "clock", may_use: &["model"], pure: false },
    Border { room: "dice", may_use: &[], pure: false },
    Border { room: "http", may_use: &["model"], pure: false },
    Border { room: "fetch", may_use: &["model", "http", "parse", "clock"], pure: false },
    Border { room: "store", may_use: &["model"], pure: false },
    Border { room: "supervision", may_use: &[], pure: false },
    Border { room: "telemetry", may_use: &["clock", "model"], pure: false },
    Border { room: "opml", may_use: &["model", "parse"], pure: false },
    Border {
        room: "actors",
        may_use: &["model", "rules", "parse", "clock", "dice", "http", "fetch", "store", "supervision", "telemetry"],
        pure: false,
    },
    Border {
        room: "api",
        may_use: &["model", "clock", "store", "telemetry", "opml", "actors::messages", "actors::control"],
        pure: false,
    },
    Border { room: "web", may_use: &["model", "clock", "store", "telemetry", "api", "actors::messages"], pure: false },
    Border {
        room: "config",
        may_use: &[
            "model",
            "rules",
            "parse",
            "http",
            "fetch",
            "store",
            "supervision",
            "telemetry",
            "actors",
            "api",
            "web",
        ],
        pure: false,
    },
    Border {
        room: "daemon",
        may_use: &[
            "model",
            "rules",
            "parse",
            "clock",
            "dice",
            "http",
            "fetch",
            "store",
            "supervision",
            "telemetry",
            "opml",
            "actors",
            "api",
            "web",
            "config",
        ],
        pure: false,
    },
    Border {
        room: "cli",
        may_use: &[
            "model",
            "rules",
            "parse",
            "http",
            "fetch",
            "clock",
            "store",
            "telemetry",
            "opml",
            "api",
            "actors::messages",
            "config",
            "daemon",
            "demo",
        ],
        pure: false,
    },
    Border {
        room: "demo",
        may_use: &[
            "model",
            "rules",
            "clock",
            "dice",
            "http",
            "fetch",
            "store",
            "supervision",
            "telemetry",
            "actors",
            "config",
            "daemon",
        ],
        pure: false,
    },
    Border { room: "main", may_use: &["cli", "config", "daemon", "telemetry"], pure: false },
];

/// What a pure room must not see: runtimes, sockets, stores, logs and dice.
const IMPURE_CRATES: &[&str] =
    &["actix", "awc", "tokio", "slog", "rand", "hickory_resolver", "rusqlite", "deadpool_postgres", "getrandom"];

/// Names that say nothing about what a file holds.
const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "common", "misc", "manager", "managers"];

#[test]
fn the_sources_keep_the_borders() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in ["src", "tests"] {
        collect_sources(&root.join(folder), &mut paths);
    }
    let found: Vec<String> = paths
        .iter()
        .flat_map(|path| {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            violations(name, &fs::read_to_string(path).unwrap())
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    // An empty walk would keep every border.
    for name in ["src/model/mod.rs", "src/rules/mod.rs", "src/telemetry/front.rs", "tests/borders.rs"] {
        assert!(paths.contains(&root.join(name)), "{name} was not read");
    }
}

fn collect_sources(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_sources(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

/// What is wrong with a file, one sentence each. `path` starts with `src/` or `tests/`.
fn violations(path: &str, source: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !source.starts_with("//!") {
        found.push(format!("{path}: does not begin with //! and what lives here"));
    }
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    for word in stem.split(['/', '_', '-']).filter(|word| EMPTY_NAMES.contains(word)) {
        found.push(format!("{path}: {word:?} says nothing about what is in it"));
    }
    let Some(stem) = stem.strip_prefix("src/") else { return found };
    let mut module: Vec<&str> = stem.split('/').collect();
    module.pop_if(|last| *last == "mod" || *last == "lib");
    // lib.rs is the map of all rooms.
    let Some(room) = module.first().copied() else { return found };
    let Some(border) = BORDERS.iter().find(|border| border.room == room) else {
        found.push(format!("{path}: the room {room:?} has no border; decide in tests/borders.rs what it may use"));
        return found;
    };
    // The binary has a root of its own: `main` is not inside another module.
    let module = if room == "main" { Vec::new() } else { module };
    let crossed = references(&module, source).into_iter().filter(|reference| !allows(border, reference));
    found.extend(crossed.map(|reference| match reference {
        Reference::Room(target, None) => format!("{path}: {room} may not use crate::{target}"),
        Reference::Room(target, Some(part)) => format!("{path}: {room} may not use crate::{target}::{part}"),
        Reference::Outside(name) => format!("{path}: {room} is pure and may not use {name}"),
    }));
    found
}

fn allows(border: &Border, reference: &Reference) -> bool {
    match reference {
        Reference::Room(room, _) if room == border.room => true,
        Reference::Room(room, part) => border.may_use.iter().any(|allowed| match allowed.split_once("::") {
            None => allowed == room,
            Some((allowed_room, allowed_part)) => allowed_room == room && part.as_deref() == Some(allowed_part),
        }),
        Reference::Outside(name) => !border.pure || !is_impure(name),
    }
}

fn is_impure(name: &str) -> bool {
    IMPURE_CRATES.iter().any(|family| name == *family || name.starts_with(&format!("{family}_")))
}

#[test]
fn crossing_a_border_is_noticed() {
    let check = |path: &str, code: &str, wanted: &str| {
        let found = violations(path, &format!("//! Made up.\n{code}\n"));
        assert_eq!(found, [format!("{path}: {wanted}")], "{code}");
    };
    check("src/model/post.rs", "use crate::rules::due;", "model may not use crate::rules::due");
    check("src/model/post.rs", "use crate::clock::Clock;", "model may not use crate::clock::Clock");
    check("src/rules/due.rs", "use crate::store::Store;", "rules may not use crate::store::Store");
    check("src/rules/due.rs", "use crate::{clock::Clock, model::Post};", "rules may not use crate::clock::Clock");
    check("src/rules/due.rs", "use rand::Rng;", "rules is pure and may not use rand");
    check("src/parse/feed.rs", "async fn f() { tokio::task::spawn(x); }", "parse is pure and may not use tokio");
    check("src/parse/feed.rs", "use slog::info;", "parse is pure and may not use slog");
    check("src/rules/mod.rs", "use ::tokio::net;", "rules is pure and may not use tokio");
    check("src/rules/mod.rs", "use actix_rt::spawn;", "rules is pure and may not use actix_rt");
    check("src/http/client.rs", "use crate::rules::due;", "http may not use crate::rules::due");
    check("src/http/client.rs", "use super::super::actors::Host;", "http may not use crate::actors::Host");
    check("src/store/sqlite/mod.rs", "fn f(_: crate::config::Config) {}", "store may not use crate::config::Config");
    check("src/supervision/tree.rs", "use crate::model::Post;", "supervision may not use crate::model::Post");
    check("src/telemetry/front.rs", "use crate::store::Store;", "telemetry may not use crate::store::Store");
    check("src/actors/host.rs", "use crate::config::Config;", "actors may not use crate::config::Config");
    check("src/api/sources.rs", "use crate::actors::host::Host;", "api may not use crate::actors::host");
    check("src/api/sources.rs", "use crate::actors;", "api may not use crate::actors");
    check("src/web/page.rs", "use crate::rules::due;", "web may not use crate::rules::due");
    check("src/cli/poll.rs", "use crate::supervision::Tree;", "cli may not use crate::supervision::Tree");
    check("src/rules/due.rs", "use crate::*;", "rules may not use crate::*");
    check("src/clock.rs", "use super::store::Store;", "clock may not use crate::store::Store");
    check("src/main.rs", "use feedwarden::store::Store;", "main may not use crate::store::Store");
    check("src/gossip/mod.rs", "", "the room \"gossip\" has no border; decide in tests/borders.rs what it may use");
}

#[test]
fn what_the_borders_allow_is_left_alone() {
    for (path, code) in [
        ("src/model/post.rs", "use super::Timestamp; use std::fmt; mod tests { use super::*; }"),
        ("src/rules/due.rs", "//! Never sees [`crate::store`].\nuse crate::model::Post; use crate::rules::delay;"),
        ("src/rules/due.rs", "let random = 1; randomness::f(); tokens::g();"),
        ("src/http/client.rs", "use crate::model::Post; use tokio::net::TcpStream;"),
        ("src/telemetry/front.rs", "use crate::clock::Clock; use crate::model::Timestamp; use slog::info;"),
        ("src/api/sources.rs", "use crate::actors::messages::PollNow; use crate::store::Store;"),
        ("src/config/mod.rs", "use crate::telemetry::LogSettings;"),
        ("src/cli/serve.rs", "use crate::config::Config; use crate::daemon;"),
        ("src/main.rs", "fn main() { feedwarden::cli::run() }"),
        ("src/lib.rs", "pub mod cli; pub use crate::model::Post;"),
        ("tests/store.rs", "use feedwarden::store::Store;"),
    ] {
        let source = format!("//! Made up.\n{code}\n");
        assert_eq!(violations(path, &source), Vec::<String>::new(), "{path}: {code}");
    }
}

#[test]
fn a_file_without_a_header_or_with_an_empty_name_is_noticed() {
    let check = |path: &str, source: &str, wanted: &str| {
        assert_eq!(violations(path, source), [format!("{path}: {wanted}")]);
    };
    check("src/model/post.rs", "use std::fmt;\n", "does not begin with //! and what lives here");
    check("src/model/utils.rs", "//! Nouns.\n", "\"utils\" says nothing about what is in it");
    check("src/store/connection_manager.rs", "//! Pool.\n", "\"manager\" says nothing about what is in it");
    check("tests/common/mod.rs", "//! Shared.\n", "\"common\" says nothing about what is in it");
    assert!(violations("src/store/commonplace.rs", "//! A word that only begins alike.\n").is_empty());
}
