//! A progress bar on a terminal, and nothing anywhere else.

use std::io::{IsTerminal, Write};

/// How wide the bar is.
const WIDTH: usize = 30;

/// A bar on standard error.
pub(super) struct Progress {
    is_shown: bool,
}

impl Progress {
    /// Shown if standard error is a terminal.
    pub(super) fn new() -> Progress {
        Progress { is_shown: std::io::stderr().is_terminal() }
    }

    /// Whether anybody sees it.
    pub(super) fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// Draws it anew.
    pub(super) fn draw(&self, done: u64, total: u64, words: &str) {
        if self.is_shown {
            // A terminal that is gone is no reason to stop.
            let _ = write!(std::io::stderr(), "\r\x1b[K{} {words}", bar(done, total));
        }
    }

    /// Says what is waited for, where nobody knows how much of it is done.
    pub(super) fn say(&self, words: &str) {
        if self.is_shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K{words}");
        }
    }

    /// Takes it away.
    pub(super) fn clear(&self) {
        if self.is_shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn bar(done: u64, total: u64) -> String {
    let share = if total == 0 { 0.0 } else { (done as f64 / total as f64).min(1.0) };
    let filled = (share * WIDTH as f64) as usize;
    format!("[{}{}] {done}/{total}", "#".repeat(filled), "-".repeat(WIDTH - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_the_work_is_done_and_bears_nonsense() {
        assert_eq!(bar(1, 2), "[###############---------------] 1/2");
        assert_eq!(bar(0, 0), "[------------------------------] 0/0");
        assert_eq!(bar(5, 2), "[##############################] 5/2");
    }
}
