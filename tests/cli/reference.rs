//! The command line described by itself.

use std::path::Path;

use super::{feedwarden, seen};

#[test]
fn the_document_says_what_the_program_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    let wanted = feedwarden::cli::reference();
    if std::env::var_os("FEEDWARDEN_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/cli.md is stale: FEEDWARDEN_UPDATE_DOCS=1 cargo test --test integration cli::reference"
    );
}

#[test]
fn shells_complete_every_command() {
    let directory = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = feedwarden(directory.path(), &["completions", shell]).output().unwrap();
        let script = seen(&output);
        assert!(output.status.success() && script.contains("explain") && script.contains("log-level"), "{script}");
    }
    assert_eq!(feedwarden(directory.path(), &["completions", "tcl"]).output().unwrap().status.code(), Some(2));
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let directory = tempfile::tempdir().unwrap();
    let first = seen(&feedwarden(directory.path(), &["man"]).output().unwrap());
    assert!(first.contains(".TH feedwarden 1"), "{first}");
    for section in ["EXIT STATUS", "FILES", "ENVIRONMENT", "EXAMPLES"] {
        assert!(first.contains(&format!(".SH \"{section}\"\n")), "{section}: {first}");
    }
    for code in ["0", "1", "2", "3", "4", "5", "6", "70"] {
        assert!(first.contains(&format!("\\fB{code}\\fR\n")), "{code}: {first}");
    }
    let output = feedwarden(directory.path(), &["man", "--directory", "."]).output().unwrap();
    assert!(output.status.success(), "{}", seen(&output));
    for page in ["feedwarden.1", "feedwarden-source-explain.1", "feedwarden-log-level.1"] {
        assert!(directory.path().join(page).exists(), "{page}");
    }
    let written = std::fs::read_to_string(directory.path().join("feedwarden.1")).unwrap();
    assert!(first.starts_with(&written), "the same page as on standard output");
    let output = feedwarden(directory.path(), &["man", "--directory", "missing"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn help_tells_the_exit_codes() {
    let directory = tempfile::tempdir().unwrap();
    let help = seen(&feedwarden(directory.path(), &["--help"]).output().unwrap()).replace('\n', " ");
    for code in [
        "0 success",
        "1 failure",
        "2 invalid",
        "3 the daemon or the store does not",
        "4 not found",
        "5 it exists",
        "6 refused",
    ] {
        assert!(help.contains(code), "{code}: {help}");
    }
}
