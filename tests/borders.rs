//! Keeps the borders between the areas of the crate, which are its top-level modules, by reading its sources.

mod references;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use references::{Reference, references};

/// What a area of the crate may refer to, besides itself.
struct Border {
    area: &'static str,
    /// The areas it may use; `actors::messages` allows that part of `actors` alone.
    may_use: &'static [&'static str],
    /// Families of crates that it may not use.
    never: &'static [&'static str],
}

/// From the inside out. A new module fails the test until it is listed here.
const BORDERS: &[Border] = &[
    Border { area: "model", may_use: &[], never: IMPURE_CRATES },
    Border { area: "rules", may_use: &["model"], never: IMPURE_CRATES },
    Border { area: "parse", may_use: &["model"], never: IMPURE_CRATES },
    Border { area: "clock", may_use: &["model"], never: &[] },
    Border { area: "dice", may_use: &[], never: &[] },
    Border { area: "http", may_use: &["model", "clock"], never: &[] },
    Border { area: "fetch", may_use: &["model", "http", "parse", "clock"], never: &[] },
    Border { area: "delivery", may_use: &["model", "http", "parse", "sinks", "clock"], never: &[] },
    Border { area: "sources", may_use: &["model", "http", "parse", "fetch"], never: &[] },
    Border { area: "sinks", may_use: &["model", "http"], never: &[] },
    Border { area: "store", may_use: &["model"], never: &[] },
    Border { area: "supervision", may_use: &[], never: &[] },
    Border { area: "telemetry", may_use: &["clock", "model"], never: &[] },
    Border { area: "opml", may_use: &["model", "parse"], never: &[] },
    Border {
        area: "actors",
        may_use: &[
            "model",
            "rules",
            "parse",
            "clock",
            "dice",
            "http",
            "fetch",
            "delivery",
            "sinks",
            "sources",
            "store",
            "supervision",
            "telemetry",
        ],
        never: &[],
    },
    Border {
        area: "service",
        may_use: &[
            "model", "rules", "clock", "dice", "http", "fetch", "delivery", "sinks", "sources", "store", "actors",
        ],
        never: &["actix", "serde", "schemars"],
    },
    Border {
        area: "api",
        may_use: &[
            "model",
            "clock",
            "dice",
            "telemetry",
            "opml",
            "service",
            // Plain values that services, handlers and views pass on.
            "actors::ACTORS",
            "actors::BUCKET_SECONDS",
            "actors::Fault",
            "actors::HistogramView",
            "actors::HostCounts",
            "actors::Latencies",
            "actors::FleetAnswer",
            "actors::FleetRequest",
            "actors::FleetView",
            "actors::IncomingCall",
            "actors::MemoryUse",
            "actors::NodeReport",
            "actors::PipelineHandle",
            "actors::SchedulerStatus",
            "actors::StatisticsView",
            // The JSON of an event is the same for receivers and for clients.
            "delivery::EventMessage",
            "parse::safe_html",
            "rules::shown_url",
            "sinks::is_sink",
            "rules::status",
            "store::Added",
            "store::PostPage",
            "store::PostSelection",
            "store::StoreError",
            "supervision::NodeKind",
            "supervision::Node",
            "supervision::Tree",
        ],
        never: &[],
    },
    // Pages on top of the API: they ask it as any other client does.
    Border { area: "dashboard", may_use: &["model", "api", "clock"], never: &["rusqlite", "tokio_postgres"] },
    Border {
        area: "config",
        may_use: &[
            "model",
            "rules",
            "parse",
            "http",
            "fetch",
            "sinks",
            "sources",
            "store",
            "supervision",
            "telemetry",
            "actors",
            "api",
        ],
        never: &[],
    },
    Border {
        area: "daemon",
        may_use: &[
            "service",
            "model",
            "rules",
            "parse",
            "clock",
            "dice",
            "http",
            "fetch",
            "sources",
            "store",
            "supervision",
            "telemetry",
            "opml",
            "actors",
            "api",
            "config",
            "dashboard",
        ],
        never: &[],
    },
    Border {
        area: "cli",
        may_use: &[
            "model",
            "rules",
            "parse",
            "http",
            "fetch",
            "sources",
            "clock",
            "store",
            "telemetry",
            "opml",
            "api",
            "service",
            "config",
            "daemon",
            "demo",
        ],
        never: &[],
    },
    Border {
        area: "demo",
        may_use: &[
            "model",
            "rules",
            "clock",
            "dice",
            "http",
            "fetch",
            "sources",
            "store",
            "supervision",
            "telemetry",
            "actors",
            "config",
            "daemon",
        ],
        never: &[],
    },
    Border { area: "main", may_use: &["cli", "config", "daemon", "telemetry"], never: &[] },
];

/// What a pure area must not see: runtimes, sockets, stores, logs and dice.
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
    for name in ["src/model/mod.rs", "src/rules/mod.rs", "src/telemetry/queue.rs", "tests/borders.rs"] {
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
    // lib.rs is the map of all areas.
    let Some(area) = module.first().copied() else { return found };
    let Some(border) = BORDERS.iter().find(|border| border.area == area) else {
        found.push(format!("{path}: the area {area:?} has no border; decide in tests/borders.rs what it may use"));
        return found;
    };
    // The binary has a root of its own: `main` is not inside another module.
    let module = if area == "main" { Vec::new() } else { module };
    let crossed = references(&module, source).into_iter().filter(|reference| !allows(border, reference));
    found.extend(crossed.map(|reference| match reference {
        Reference::Inside(target, None) => format!("{path}: {area} may not use crate::{target}"),
        Reference::Inside(target, Some(part)) => format!("{path}: {area} may not use crate::{target}::{part}"),
        Reference::Outside(name) => format!("{path}: {area} may not use {name}"),
    }));
    found
}

fn allows(border: &Border, reference: &Reference) -> bool {
    match reference {
        Reference::Inside(area, _) if area == border.area => true,
        Reference::Inside(area, part) => border.may_use.iter().any(|allowed| match allowed.split_once("::") {
            None => allowed == area,
            Some((allowed_area, allowed_part)) => allowed_area == area && part.as_deref() == Some(allowed_part),
        }),
        Reference::Outside(name) => !border.never.iter().any(|family| is_of(name, family)),
    }
}

fn is_of(name: &str, family: &str) -> bool {
    name == family || name.starts_with(&format!("{family}_"))
}

/// Where a source type may be named: its names and its file, and what has to do with that type alone.
const TYPE_NAMES_ALLOWED: &[&str] = &[
    "src/model/source_type.rs",
    "src/sources/",
    // Property tests.
    "src/rules/laws.rs",
    // OPML lists are lists of feeds.
    "src/opml/mod.rs",
    // The simulated web serves feeds and pages.
    "src/demo/web/",
];

#[test]
fn only_its_own_file_knows_what_is_particular_to_a_source_type() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    collect_sources(&root.join("src"), &mut paths);
    let mut found = Vec::new();
    for path in &paths {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        if !TYPE_NAMES_ALLOWED.iter().any(|allowed| name.starts_with(allowed))
            && !name.ends_with("tests.rs")
            && !name.contains("_tests/")
        {
            found.extend(types_named(&fs::read_to_string(path).unwrap()).map(|line| format!("{name}: {line}")));
        }
    }
    assert!(found.is_empty(), "ask sources::kind instead of naming a type:\n{}", found.join("\n"));
    assert_eq!(types_named("a\nif t == SourceType::Rss {\n#[cfg(test)]\nSourceType::Website").count(), 1);
}

/// The lines outside of tests that name a source type.
fn types_named(source: &str) -> impl Iterator<Item = &str> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let names_one =
        |line: &&str| ["Rss", "Website", "Twitter"].iter().any(|name| line.contains(&format!("SourceType::{name}")));
    code.lines().filter(names_one).map(str::trim)
}

/// Names that several modules define for the same role: the result of an area, and a row of each engine.
const TYPE_NAMES_SHARED: &[&str] = &["Result", "RowColumns"];

#[test]
fn a_type_name_stands_for_one_thing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    collect_sources(&root.join("src"), &mut paths);
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in &paths {
        let file = path.strip_prefix(root).unwrap().to_str().unwrap();
        for name in types_defined(&fs::read_to_string(path).unwrap()) {
            places.entry(name.to_owned()).or_default().push(file.to_owned());
        }
    }
    assert!(places.contains_key("SchedulerActor"), "no type was found");
    places.retain(|name, files| files.len() > 1 && !TYPE_NAMES_SHARED.contains(&name.as_str()));
    assert!(places.is_empty(), "names that stand for several types: {places:#?}");
    let code =
        "pub(in crate::actors) struct One<T>;\n    enum Two {\ntype Three = u8;\n    type Item = u8;\n// struct No";
    assert_eq!(types_defined(code).collect::<Vec<_>>(), ["One", "Two", "Three"]);
}

/// Names of the types that a file defines, those of functions included; associated types are not its own.
fn types_defined(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let code = line.trim_start();
        let code = match code.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
            Some(rest) => rest.trim_start(),
            None => code,
        };
        let (keyword, rest) = code.split_once(' ')?;
        let is_own = match keyword {
            "struct" | "enum" | "trait" | "union" => true,
            "type" => !line.starts_with(' '),
            _ => false,
        };
        rest.split(|letter: char| !letter.is_alphanumeric()).next().filter(|name| is_own && !name.is_empty())
    })
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
    check("src/rules/due.rs", "use rand::Rng;", "rules may not use rand");
    check("src/parse/feed.rs", "async fn f() { tokio::task::spawn(x); }", "parse may not use tokio");
    check("src/parse/feed.rs", "use slog::info;", "parse may not use slog");
    check("src/rules/mod.rs", "use ::tokio::net;", "rules may not use tokio");
    check("src/rules/mod.rs", "use actix_rt::spawn;", "rules may not use actix_rt");
    check("src/http/client.rs", "use crate::rules::due;", "http may not use crate::rules::due");
    check("src/http/client.rs", "use super::super::actors::Host;", "http may not use crate::actors::Host");
    check("src/fetch/mod.rs", "use crate::sources::kind;", "fetch may not use crate::sources::kind");
    check("src/rules/delay.rs", "use crate::sources::kind;", "rules may not use crate::sources::kind");
    check("src/store/mod.rs", "use crate::sources::kind;", "store may not use crate::sources::kind");
    check("src/store/sqlite/mod.rs", "fn f(_: crate::config::Config) {}", "store may not use crate::config::Config");
    check("src/supervision/tree.rs", "use crate::model::Post;", "supervision may not use crate::model::Post");
    check("src/telemetry/queue.rs", "use crate::store::Store;", "telemetry may not use crate::store::Store");
    check("src/actors/host.rs", "use crate::config::Config;", "actors may not use crate::config::Config");
    check("src/api/sources.rs", "use crate::actors::host::Host;", "api may not use crate::actors::host");
    check("src/api/sources.rs", "use crate::actors;", "api may not use crate::actors");
    check("src/api/sources.rs", "use crate::rules::due;", "api may not use crate::rules::due");
    check("src/api/sources.rs", "use crate::store::Store;", "api may not use crate::store::Store");
    check("src/service/sources.rs", "use actix_web::HttpResponse;", "service may not use actix_web");
    check("src/service/sources.rs", "use serde::Serialize;", "service may not use serde");
    check("src/service/sources.rs", "use crate::api::views::Page;", "service may not use crate::api::views");
    check("src/cli/poll.rs", "use crate::supervision::Tree;", "cli may not use crate::supervision::Tree");
    check("src/rules/due.rs", "use crate::*;", "rules may not use crate::*");
    check("src/clock.rs", "use super::store::Store;", "clock may not use crate::store::Store");
    check("src/main.rs", "use feedwarden::store::Store;", "main may not use crate::store::Store");
    check("src/gossip/mod.rs", "", "the area \"gossip\" has no border; decide in tests/borders.rs what it may use");
}

#[test]
fn what_the_borders_allow_is_left_alone() {
    for (path, code) in [
        ("src/model/post.rs", "use super::Timestamp; use std::fmt; mod tests { use super::*; }"),
        ("src/rules/due.rs", "//! Never sees [`crate::store`].\nuse crate::model::Post; use crate::rules::delay;"),
        ("src/rules/due.rs", "let random = 1; randomness::f(); tokens::g();"),
        ("src/http/client.rs", "use crate::model::Post; use tokio::net::TcpStream;"),
        ("src/telemetry/queue.rs", "use crate::clock::Clock; use crate::model::Timestamp; use slog::info;"),
        ("src/api/sources.rs", "use crate::service::SourcePatch; use crate::store::Added;"),
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
