//! SQL text in the form that each engine takes.
//!
//! A statement in `sql/shared/` is written once, with the parameters of PostgreSQL (`$1`). SQLite would take `$1` for a
//! name and number it by its first occurrence, so it gets `?1`. The text is made at the first use and kept: the caches
//! of prepared statements find it by its content, and no call formats anything.

use std::sync::OnceLock;

/// One file of `sql/`.
pub(super) struct Statement {
    written: &'static str,
    sqlite: OnceLock<String>,
}

impl Statement {
    pub(super) const fn new(written: &'static str) -> Statement {
        Statement { written, sqlite: OnceLock::new() }
    }

    pub(super) fn postgres(&self) -> &str {
        self.written
    }

    pub(super) fn sqlite(&self) -> &str {
        self.sqlite.get_or_init(|| for_sqlite(self.written))
    }
}

/// The text of a file in `sql/` as SQLite takes it.
pub fn for_sqlite(written: &str) -> String {
    let mut text = String::with_capacity(written.len());
    let mut characters = written.chars().peekable();
    while let Some(character) = characters.next() {
        let is_parameter = character == '$' && characters.peek().is_some_and(char::is_ascii_digit);
        text.push(if is_parameter { '?' } else { character });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_get_the_sign_of_sqlite() {
        let cases = [
            ("SELECT $2, $10 WHERE id=$1", "SELECT ?2, ?10 WHERE id=?1"),
            ("SELECT ?1", "SELECT ?1"),
            ("SELECT '$.path', '$'", "SELECT '$.path', '$'"),
        ];
        for (written, expected) in cases {
            assert_eq!(for_sqlite(written), expected);
        }
    }
}
