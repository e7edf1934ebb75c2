//! Sections of the manual page that clap does not know: exit status, files, environment, examples.

use std::fmt::Write;

/// Places of data. `feedwarden config show` prints the effective ones.
const FILES: &[(&str, &str)] = &[
    (
        "~/.config/feedwarden/feedwarden.yaml",
        "Configuration, unless --config or FEEDWARDEN_CONFIG names another file. `feedwarden config init` writes it, \
         `feedwarden config show` prints every key with its value and origin.",
    ),
    (
        "~/.local/state/feedwarden/feedwarden.db",
        "SQLite database, unless database.url names another one, with its files -wal, -shm and .numbers. Copy it with \
         `feedwarden backup`, not with cp.",
    ),
    (
        "feedwarden.sock",
        "Admin socket of the daemon, through which the commands reach it: in $RUNTIME_DIRECTORY, in $XDG_RUNTIME_DIR or \
         next to the database, unless api.socket names another path.",
    ),
    ("/etc/feedwarden/feedwarden.yaml, /var/lib/feedwarden/feedwarden.db", "The same of the systemd service."),
    (
        "/run/feedwarden/feedwarden.sock",
        "Admin socket of the systemd service; used if the configured one does not exist.",
    ),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "FEEDWARDEN__SECTION__KEY",
        "Sets a configuration key: FEEDWARDEN__SOURCE__MAX_FAILURES=3 sets source.max-failures. Overrides the file; --set \
         overrides it.",
    ),
    ("FEEDWARDEN_CONFIG", "Path of the configuration, unless --config names one."),
    ("FEEDWARDEN_TOKEN", "Token for --url."),
    ("TZ", "Time zone of times that are printed, and of dates that are given without one. By default the system's."),
    ("NO_COLOR", "If set and not empty, the output has no colours."),
    ("TERM", "With the value dumb, the output has no colours."),
    ("RUNTIME_DIRECTORY, XDG_RUNTIME_DIR", "Directories of the admin socket, in this order."),
    (
        "STATE_DIRECTORY, XDG_STATE_HOME, XDG_CONFIG_HOME",
        "Directories of data and configuration; HOME has the usual ones.",
    ),
];

const EXAMPLES: &[(&str, &str)] = &[
    ("feedwarden run", "Start the daemon."),
    ("feedwarden source add example.org @nasa", "Add a feed by the name of its site, and an X account."),
    ("feedwarden source poll --label news", "Poll every source with a label."),
    ("feedwarden source disable 8 9 10 --reason 'no longer read'", "Disable three sources."),
    ("feedwarden source remove --state disabled --yes", "Remove every disabled source without a question."),
    ("feedwarden source explain nasa", "Explain when the source with nasa in its URL or title is polled next."),
    ("feedwarden label rename news press", "Rename a label at every source."),
    ("feedwarden post list --since yesterday", "List the posts stored since yesterday."),
    ("feedwarden host hold example.org --for 2h --reason maintenance", "Send no requests to a host for two hours."),
    ("feedwarden source list --all --json | jq -r .url", "Print the URL of every source."),
];

/// The sections as roff. `exit_codes` is the text of the help: `Exit codes: 0 success; 1 …`.
pub(super) fn sections(exit_codes: &str) -> String {
    let mut page = String::new();
    let codes = exit_codes.split_once(": ").map_or(exit_codes, |(_, codes)| codes);
    let codes: Vec<(&str, &str)> = codes.split("; ").filter_map(|code| code.split_once(' ')).collect();
    section(&mut page, "EXIT STATUS", &codes);
    paragraph(
        &mut page,
        "A command for several sources reports each of them and exits with the worst of their codes, in the order 3, 1, 6, \
         5, 4, 2.",
    );
    section(&mut page, "FILES", FILES);
    section(&mut page, "ENVIRONMENT", ENVIRONMENT);
    section(&mut page, "EXAMPLES", EXAMPLES);
    page
}

fn section(page: &mut String, title: &str, items: &[(&str, &str)]) {
    writeln!(page, ".SH \"{title}\"").expect("a String takes every write");
    for (name, text) in items {
        writeln!(page, ".TP\n\\fB{}\\fR\n{}", escaped(name), escaped(text)).expect("a String takes every write");
    }
}

fn paragraph(page: &mut String, text: &str) {
    writeln!(page, ".PP\n{}", escaped(text)).expect("a String takes every write");
}

/// Roff takes a backslash, a hyphen, and a dot or quote at the start of a line for its own.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_code_has_a_line() {
        let page = sections("Exit codes: 0 success; 6 refused: it rests; 70 crashed.");
        for line in
            [".SH \"EXIT STATUS\"", "\\fB0\\fR\nsuccess", "\\fB6\\fR\nrefused: it rests", "\\fB70\\fR\ncrashed."]
        {
            assert!(page.contains(line), "{line}: {page}");
        }
    }
}
