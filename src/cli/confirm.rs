//! Questions to a person on a terminal. Scripts are never asked.

use std::io::{BufRead, IsTerminal, Write};

use super::error::CliError;

/// Whether there is a person to ask: both standard input and standard error are terminals.
pub(super) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks; anything but yes means no.
fn confirm(question: &str) -> bool {
    let mut output = std::io::stderr();
    // Ignore a closed terminal: the answer cannot be read then either.
    let _ = write!(output, "{question} [y/N] ").and_then(|()| output.flush());
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(1..) => is_yes(&line),
        _ => false,
    }
}

/// Asks before something is changed, unless `--yes` was given or there is no terminal.
pub(super) fn ask_first(question: &str, is_sure: bool) -> Result<(), CliError> {
    if is_sure || !can_ask() || confirm(question) {
        return Ok(());
    }
    Err(CliError::Failed("nothing was changed".into()))
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_but_yes_means_no() {
        for line in ["y\n", "Y\n", "yes\n", " YES \n"] {
            assert!(is_yes(line), "{line:?}");
        }
        for line in ["\n", "n\n", "no\n", "yep\n", "yy\n"] {
            assert!(!is_yes(line), "{line:?}");
        }
    }
}
