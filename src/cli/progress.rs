//! A progress bar, on a terminal only.

use std::io::{IsTerminal, Write};

use super::output_style::columns_of;
use super::sanitize::{columns, cut};

const WIDTH: usize = 30;
const WIDTH_MIN: usize = 5;

pub(super) struct Progress {
    is_shown: bool,
}

impl Progress {
    pub(super) fn new() -> Progress {
        Progress { is_shown: std::io::stderr().is_terminal() }
    }

    pub(super) fn is_shown(&self) -> bool {
        self.is_shown
    }

    pub(super) fn draw(&self, done: u64, total: u64, words: &str) {
        if self.is_shown {
            // Ignore a closed terminal.
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", bar(done, total, words, room()));
        }
    }

    /// Shows what the command waits for, without a bar.
    pub(super) fn say(&self, words: &str) {
        if self.is_shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", cut(words, room()));
        }
    }

    pub(super) fn clear(&self) {
        if self.is_shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// Cuts the text to one line, because a wrapped line could not be overwritten.
fn room() -> usize {
    columns_of(std::io::stderr()).unwrap_or(usize::MAX)
}

fn bar(done: u64, total: u64, words: &str, room: usize) -> String {
    let share = if total == 0 { 0.0 } else { (done as f64 / total as f64).min(1.0) };
    let numbers = format!("{done}/{total} {words}");
    let width = room.saturating_sub(columns(&numbers) + "[] ".len()).min(WIDTH);
    if width < WIDTH_MIN {
        return cut(&numbers, room);
    }
    let filled = (share * width as f64) as usize;
    format!("[{}{}] {numbers}", "#".repeat(filled), "-".repeat(width - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_the_work_is_done_and_bears_nonsense() {
        assert_eq!(bar(1, 2, "KB", 80), "[###############---------------] 1/2 KB");
        assert_eq!(bar(0, 0, "KB", 80), "[------------------------------] 0/0 KB");
        assert_eq!(bar(5, 2, "KB", 80), "[##############################] 5/2 KB");
    }

    #[test]
    fn a_bar_has_as_much_room_as_the_terminal() {
        assert_eq!(bar(100, 200, "KB", 30), "[########---------] 100/200 KB");
        assert_eq!(bar(100, 200, "polls, and many words more", 20), "100/200 polls, and …");
        for room in 0..60 {
            assert!(bar(7, 9, "some words", room).chars().count() <= room, "{room}");
        }
    }
}
