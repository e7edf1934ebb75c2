//! Questions to a person on a terminal. Scripts are never asked.

use std::io::{BufRead, IsTerminal, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
}

/// Whether there is a person to ask: both standard input and standard error are terminals.
pub(super) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks; anything but yes means no.
pub(super) fn confirm(question: &str) -> Answer {
    let mut output = std::io::stderr();
    // Ignore a closed terminal: the answer cannot be read then either.
    let _ = write!(output, "{question} [y/N] ").and_then(|()| output.flush());
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(1..) => answer(&line),
        _ => Answer::No,
    }
}

/// Asks before something is removed, unless `--yes` was given or there is no terminal.
pub(super) fn may_remove(question: &str, is_sure: bool) -> Result<(), super::error::CliError> {
    if is_sure || !can_ask() || confirm(question) == Answer::Yes {
        return Ok(());
    }
    Err(super::error::CliError::Failed("nothing was changed".into()))
}

fn answer(line: &str) -> Answer {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Answer::Yes,
        _ => Answer::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_but_yes_means_no() {
        for line in ["y\n", "Y\n", "yes\n", " YES \n"] {
            assert_eq!(answer(line), Answer::Yes, "{line:?}");
        }
        for line in ["\n", "n\n", "no\n", "yep\n", "yy\n"] {
            assert_eq!(answer(line), Answer::No, "{line:?}");
        }
    }
}
