//! Adapts SQL text to each engine.
//!
//! Statements are written with the parameters of PostgreSQL (`$1`). SQLite would take `$1` for a name and number it by
//! its first occurrence, so it gets `?1`. Lists of columns are filled in, so that they stand in one place:
//!
//! - `{state_columns}` gives `enabled, disabled_reason, ...`
//! - `{settled.state_columns}` gives `settled.enabled, settled.disabled_reason, ...`
//! - `{$4.. state_columns}` gives `$4, $5, ...`
//! - `{post_bytes}` gives the size of the texts of a post
//! - `{$4.. state_columns[]}` gives `$4::boolean[], $5::text[], ...`
//!
//! The text is made at the first use and kept: the caches of prepared statements find it by its content, and no call
//! formats anything.

use std::sync::OnceLock;

use super::event_row::EVENT;
use super::poll_row::{NEW_POLL, POLL_HOUR, POLL_ID, POLL_PAGES};
use super::post_row::{ADDED, CONTENT, POST_ID, RECORD, REVISION};
use super::rows::{ColumnSpec, HOST, WEBHOOK};
use super::source_row::{IDENTITY, SETTINGS, STATE};
use super::subscription_row::SUBSCRIPTION;

/// One file of `sql/`.
pub(super) struct Statement {
    written: &'static str,
    postgres: OnceLock<String>,
    sqlite: OnceLock<String>,
}

impl Statement {
    pub(super) const fn new(written: &'static str) -> Statement {
        Statement { written, postgres: OnceLock::new(), sqlite: OnceLock::new() }
    }

    pub(super) fn postgres(&self) -> &str {
        self.postgres.get_or_init(|| for_postgres(self.written))
    }

    /// Whether it may change something.
    pub(super) fn is_write(&self) -> bool {
        let mut lines = self.written.lines().map(str::trim_start);
        let first = lines.find(|line| !line.is_empty() && !line.starts_with("--")).unwrap_or_default();
        let has_write = || ["INSERT INTO ", "DELETE FROM ", " SET "].iter().any(|part| self.written.contains(part));
        !first.starts_with("SELECT") && (!first.starts_with("WITH") || has_write())
    }

    pub(super) fn sqlite(&self) -> &str {
        self.sqlite.get_or_init(|| for_sqlite(self.written))
    }
}

/// The text of a file in `sql/` for PostgreSQL. An unknown column list stays unchanged, so that the server
/// rejects it.
pub fn for_postgres(written: &str) -> String {
    let mut pieces = written.split('{');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once('}').and_then(|(list, rest)| Some((columns(list)?, rest))) {
            Some((columns, rest)) => text.extend([columns.as_str(), rest]),
            None => text.extend(["{", piece]),
        }
    }
    text
}

/// The text of a file in `sql/` for SQLite.
pub fn for_sqlite(written: &str) -> String {
    let filled = for_postgres(written);
    let mut text = String::with_capacity(filled.len());
    let mut characters = filled.chars().peekable();
    while let Some(character) = characters.next() {
        let is_parameter = character == '$' && characters.peek().is_some_and(char::is_ascii_digit);
        text.push(if is_parameter { '?' } else { character });
    }
    text
}

/// Bytes of the texts of a post. Both engines know them without reading the texts.
const POST_BYTES: &str = "CAST(octet_length(title) + octet_length(text) + coalesce(octet_length(html), 0) + \
                          coalesce(octet_length(summary), 0) AS bigint)";

fn columns(list: &str) -> Option<String> {
    if list == "post_bytes" {
        return Some(POST_BYTES.to_owned());
    }
    if let Some((first, list)) = list.strip_prefix('$').and_then(|list| list.split_once(".. ")) {
        let parameters = (first.parse::<usize>().ok()?..).zip(group(list.trim_end_matches("[]"))?);
        return Some(joined(parameters.map(|(number, (_, kind))| match list.ends_with("[]") {
            true => format!("${number}::{kind}[]"),
            false => format!("${number}"),
        })));
    }
    match list.split_once('.') {
        Some((table, list)) => Some(joined(group(list)?.into_iter().map(|(name, _)| format!("{table}.{name}")))),
        None => Some(joined(group(list)?.into_iter().map(|(name, _)| name.to_owned()))),
    }
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

fn group(name: &str) -> Option<Vec<ColumnSpec>> {
    Some(match name {
        "source_columns" => [IDENTITY.as_slice(), &SETTINGS, &STATE].concat(),
        "settings_and_state_columns" => [SETTINGS.as_slice(), &STATE].concat(),
        "settings_columns" => SETTINGS.to_vec(),
        "state_columns" => STATE.to_vec(),
        "post_columns" => [POST_ID.as_slice(), &CONTENT, &RECORD].concat(),
        "new_post_columns" => [ADDED.as_slice(), &CONTENT].concat(),
        "content_columns" => CONTENT.to_vec(),
        "revision_columns" => REVISION.to_vec(),
        "host_columns" => HOST.to_vec(),
        "webhook_columns" => WEBHOOK.to_vec(),
        "event_columns" => EVENT.to_vec(),
        "subscription_columns" => SUBSCRIPTION.to_vec(),
        "poll_columns" => [POLL_ID.as_slice(), &NEW_POLL, &POLL_PAGES].concat(),
        "new_poll_columns" => NEW_POLL.to_vec(),
        "poll_hour_columns" => POLL_HOUR.to_vec(),
        _ => return None,
    })
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

    #[test]
    fn a_statement_writes_unless_it_only_reads() {
        let cases = [
            ("-- Why\nSELECT 1", false),
            ("WITH a AS (SELECT 1) SELECT 2", false),
            ("-- Why\n-- so\nINSERT INTO x VALUES (1)", true),
            ("UPDATE x SET y = 1 RETURNING y", true),
            ("DELETE FROM x", true),
        ];
        for (written, is_write) in cases {
            assert_eq!(Statement::new(written).is_write(), is_write, "{written}");
        }
    }

    #[test]
    fn lists_of_columns_are_filled_in() {
        let cases = [
            (
                "({host_columns})",
                "(host, last_asked_at, held_until, held_reason, breaker_failures, breaker_openings, breaker_open_until)",
            ),
            (
                "a {new.host_columns} b",
                "a new.host, new.last_asked_at, new.held_until, new.held_reason, new.breaker_failures, \
                 new.breaker_openings, new.breaker_open_until b",
            ),
            ("$1, {$2.. host_columns}", "$1, $2, $3, $4, $5, $6, $7, $8"),
            (
                "{$9.. host_columns[]}",
                "$9::text[], $10::timestamptz[], $11::timestamptz[], $12::text[], $13::bigint[], $14::bigint[], \
                 $15::timestamptz[]",
            ),
            ("'{}', {nothing} {", "'{}', {nothing} {"),
        ];
        for (written, expected) in cases {
            assert_eq!(for_postgres(written), expected);
        }
    }
}
