//! Keeps `docs/requirements.md` and the tests in step, and `docs/logging.md` and the log messages in the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file of the product, its tests and its benchmarks.
fn sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = ["src", "tests", "bench"].iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}

/// The ids of the rows, and those that are there twice.
fn defined(page: &str) -> (BTreeSet<String>, Vec<String>) {
    let row = Regex::new(r"(?m)^\| ([sp][0-9]{2,4}) \|").unwrap();
    let (mut ids, mut twice) = (BTreeSet::new(), Vec::new());
    for found in row.captures_iter(page) {
        if !ids.insert(found[1].to_owned()) {
            twice.push(found[1].to_owned());
        }
    }
    (ids, twice)
}

/// The ids at the beginning of a test's name: `s401_s406_a_404_rests` claims two.
fn claimed(text: &str) -> BTreeSet<String> {
    let name = Regex::new(r"(?:fn |#\[case::)((?:[sp][0-9]{2,4}_)+)").unwrap();
    let ids = |found: regex::Captures<'_>| -> Vec<String> {
        found[1].split('_').filter(|id| !id.is_empty()).map(str::to_owned).collect()
    };
    name.captures_iter(text).flat_map(ids).collect()
}

/// The ids that comments refer to, as in "(s401, p31)".
fn referred(text: &str) -> BTreeSet<String> {
    let group = Regex::new(r"(?m)//.*\(((?:[sp][0-9]{2,4}(?:[,–] ?| and | to )?)+)\)").unwrap();
    let id = Regex::new(r"[sp][0-9]{2,4}").unwrap();
    let groups: Vec<String> = group.captures_iter(text).map(|found| found[1].to_owned()).collect();
    groups.iter().flat_map(|group| id.find_iter(group)).map(|id| id.as_str().to_owned()).collect()
}

#[test]
fn every_requirement_has_a_test_and_every_id_in_the_code_is_a_requirement() {
    let page = fs::read_to_string(root().join("docs/requirements.md")).unwrap();
    let (defined, twice) = defined(&page);
    assert!(defined.len() > 100, "the page is read: {}", defined.len());
    assert_eq!(twice, Vec::<String>::new(), "defined twice");
    let texts: Vec<String> = sources().iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let claimed: BTreeSet<String> = texts.iter().flat_map(|text| claimed(text)).collect();
    let referred: BTreeSet<String> = texts.iter().flat_map(|text| referred(text)).collect();
    let untested: Vec<&String> = defined.difference(&claimed).collect();
    assert_eq!(untested, Vec::<&String>::new(), "no test's name starts with these ids");
    let unknown: Vec<&String> = claimed.union(&referred).filter(|id| !defined.contains(*id)).collect();
    assert_eq!(unknown, Vec::<&String>::new(), "docs/requirements.md does not define these ids");
}

/// The messages that slog's macros write, outside of tests.
fn messages(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]").next().unwrap();
    let record = Regex::new(r#"\b(?:crit|error|warn|info|debug)!\(\s*[\w.&]+,\s*"([^"]+)"\s*[;)]"#).unwrap();
    record.captures_iter(code).map(|found| found[1].to_owned()).collect()
}

#[test]
fn every_log_message_is_listed_and_every_listed_message_is_in_the_code() {
    let page = fs::read_to_string(root().join("docs/logging.md")).unwrap();
    let row = Regex::new(r"(?m)^\| `([^`]+)` \| (?:critical|error|warn|info|debug)\b").unwrap();
    let listed: BTreeSet<String> = row.captures_iter(&page).map(|found| found[1].to_owned()).collect();
    assert!(listed.len() > 50, "the page is read: {}", listed.len());
    let is_product = |path: &PathBuf| path.starts_with(root().join("src"));
    let texts: Vec<String> =
        sources().into_iter().filter(is_product).map(|path| fs::read_to_string(path).unwrap()).collect();
    let written: BTreeSet<String> = texts.iter().flat_map(|text| messages(text)).collect();
    assert!(written.len() > 50, "the code is read: {}", written.len());
    let unlisted: Vec<&String> = written.difference(&listed).collect();
    assert_eq!(unlisted, Vec::<&String>::new(), "docs/logging.md does not list these messages");
    // The log's own records are not written by a macro.
    let is_there = |message: &&String| texts.iter().any(|text| text.contains(&format!("\"{message}\"")));
    let missing: Vec<&String> = listed.iter().filter(|message| !is_there(message)).collect();
    assert_eq!(missing, Vec::<&String>::new(), "no code writes these messages");
}

#[test]
fn ids_are_found_where_they_stand() {
    assert_eq!(claimed("fn s401_p31_names_start_like_this() {"), ["p31", "s401"].map(str::to_owned).into());
    assert_eq!(claimed("#[case::s104_no_such_name(1)]"), ["s104".to_owned()].into());
    assert_eq!(claimed("fn the_s401_in_a_name() {}"), BTreeSet::new());
    assert_eq!(referred("/// Obeyed (p15, s408)."), ["p15", "s408"].map(str::to_owned).into());
    assert_eq!(referred("let p50 = percentile(p50);"), BTreeSet::new());
}
