//! A short run of every fuzz target: its seeds as they are, then changed a little at random, always in the same way.
//!
//! `cargo fuzz` looks much further and needs an hour and a toolchain of its own (docs/testing.md). This keeps the laws
//! and the seeds in step with the readers on every run of the tests.

mod laws;
mod mutation;

use std::fs;
use std::panic;
use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand::rngs::StdRng;

/// How many changed inputs each target is given, unless `FEEDWARDEN_FUZZ_ROUNDS` says otherwise. A page costs some
/// milliseconds without optimisation.
const ROUNDS: u64 = 2000;

#[test]
fn authorization_keeps_its_laws() {
    run("authorization");
}

#[test]
fn charset_keeps_its_laws() {
    run("charset");
}

#[test]
fn date_keeps_its_laws() {
    run("date");
}

#[test]
fn feed_keeps_its_laws() {
    run("feed");
}

#[test]
fn html_text_keeps_its_laws() {
    run("html_text");
}

#[test]
fn opml_keeps_its_laws() {
    run("opml");
}

#[test]
fn response_keeps_its_laws() {
    run("response");
}

#[test]
fn robots_keeps_its_laws() {
    run("robots");
}

#[test]
fn website_keeps_its_laws() {
    run("website");
}

#[test]
fn x_json_keeps_its_laws() {
    run("x_json");
}

#[test]
fn every_target_has_laws_and_seeds() {
    let targets = fuzz_folder().join("fuzz_targets");
    let mut found: Vec<String> = files(&targets)
        .iter()
        .map(|path| path.file_stem().and_then(|stem| stem.to_str()).expect("targets have plain names").to_owned())
        .collect();
    found.sort();
    assert_eq!(found, laws::TARGETS.map(|(name, _)| name));
    for (name, _) in laws::TARGETS {
        assert!(seeds(name).len() >= 9, "{name} has {} seeds", seeds(name).len());
    }
}

fn run(target: &str) {
    let (_, check) = laws::TARGETS.into_iter().find(|(name, _)| *name == target).expect("a known target");
    let seeds = seeds(target);
    for (path, input) in &seeds {
        hold(check, input, || format!("{target} breaks a law on its seed {}", path.display()));
    }
    let inputs: Vec<Vec<u8>> = seeds.into_iter().map(|(_, input)| input).collect();
    for round in 0..rounds() {
        let input = mutation::mutated(&inputs, &mut StdRng::seed_from_u64(round));
        hold(check, &input, || format!("{target} breaks a law in round {round} on: {}", input.escape_ascii()));
    }
}

fn rounds() -> u64 {
    std::env::var("FEEDWARDEN_FUZZ_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().expect("a number of rounds"))
}

/// Checks one input, and says which one it was if that panics.
fn hold(check: laws::Laws, input: &[u8], describe: impl Fn() -> String) {
    if let Err(cause) = panic::catch_unwind(|| check(input)) {
        eprintln!("{}", describe());
        panic::resume_unwind(cause);
    }
}

/// The seeds of a target, in order.
fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let read = |path: PathBuf| {
        let input = fs::read(&path).expect("a seed can be read");
        (path, input)
    };
    files(&fuzz_folder().join("seeds").join(target)).into_iter().map(read).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is part of the repository");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("the folder can be listed").path()).collect();
    files.sort();
    files
}

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}
