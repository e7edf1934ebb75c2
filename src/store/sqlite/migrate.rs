//! Migrates the schema, in one exclusive transaction.

use rusqlite::{Connection, params};

use crate::model::Timestamp;

use super::super::migrate::{Applied, Migration, pending};
use super::super::rows::{Columns, required};
use super::super::statement::Statement;
use super::super::{Result, StoreError};
use super::values;

/// All migrations, oldest first.
pub(super) const ALL: &[Migration] = &[
    Migration {
        version: 1,
        name: "sources_and_posts",
        sql: include_str!("../../../sql/sqlite/migrations/0001_sources_and_posts.sql"),
    },
    Migration {
        version: 2,
        name: "articles_and_cleanup",
        sql: include_str!("../../../sql/sqlite/migrations/0002_articles_and_cleanup.sql"),
    },
    Migration {
        version: 3,
        name: "hosts_and_keys",
        sql: include_str!("../../../sql/sqlite/migrations/0003_hosts_and_keys.sql"),
    },
    Migration {
        version: 4,
        name: "x_accounts",
        sql: include_str!("../../../sql/sqlite/migrations/0004_x_accounts.sql"),
    },
    Migration {
        version: 5,
        name: "source_access",
        sql: include_str!("../../../sql/sqlite/migrations/0005_source_access.sql"),
    },
    Migration {
        version: 6,
        name: "politeness",
        sql: include_str!("../../../sql/sqlite/migrations/0006_politeness.sql"),
    },
    Migration { version: 7, name: "lists", sql: include_str!("../../../sql/sqlite/migrations/0007_lists.sql") },
    Migration {
        version: 8,
        name: "posts_for_others",
        sql: include_str!("../../../sql/sqlite/migrations/0008_posts_for_others.sql"),
    },
    Migration { version: 9, name: "webhooks", sql: include_str!("../../../sql/sqlite/migrations/0009_webhooks.sql") },
    Migration {
        version: 10,
        name: "first_pages",
        sql: include_str!("../../../sql/sqlite/migrations/0010_first_pages.sql"),
    },
    Migration { version: 11, name: "daemon", sql: include_str!("../../../sql/sqlite/migrations/0011_daemon.sql") },
    Migration { version: 12, name: "bylines", sql: include_str!("../../../sql/sqlite/migrations/0012_bylines.sql") },
    Migration {
        version: 13,
        name: "page_ages",
        sql: include_str!("../../../sql/sqlite/migrations/0013_page_ages.sql"),
    },
    Migration {
        version: 14,
        name: "lists_by_type",
        sql: include_str!("../../../sql/sqlite/migrations/0014_lists_by_type.sql"),
    },
    Migration { version: 15, name: "entries", sql: include_str!("../../../sql/sqlite/migrations/0015_entries.sql") },
    Migration {
        version: 16,
        name: "full_text",
        sql: include_str!("../../../sql/sqlite/migrations/0016_full_text.sql"),
    },
    Migration {
        version: 17,
        name: "trusted_time",
        sql: include_str!("../../../sql/sqlite/migrations/0017_trusted_time.sql"),
    },
    Migration { version: 18, name: "probe", sql: include_str!("../../../sql/sqlite/migrations/0018_probe.sql") },
    Migration { version: 19, name: "restores", sql: include_str!("../../../sql/sqlite/migrations/0019_restores.sql") },
    Migration { version: 20, name: "fleet", sql: include_str!("../../../sql/sqlite/migrations/0020_fleet.sql") },
    Migration { version: 21, name: "polls", sql: include_str!("../../../sql/sqlite/migrations/0021_polls.sql") },
    Migration { version: 22, name: "audit", sql: include_str!("../../../sql/sqlite/migrations/0022_audit.sql") },
    Migration {
        version: 23,
        name: "post_revisions",
        sql: include_str!("../../../sql/sqlite/migrations/0023_post_revisions.sql"),
    },
    Migration {
        version: 24,
        name: "audit_by_caller",
        sql: include_str!("../../../sql/sqlite/migrations/0024_audit_by_caller.sql"),
    },
    Migration { version: 25, name: "events", sql: include_str!("../../../sql/sqlite/migrations/0025_events.sql") },
    Migration {
        version: 26,
        name: "publishing",
        sql: include_str!("../../../sql/sqlite/migrations/0026_publishing.sql"),
    },
    Migration { version: 27, name: "websub", sql: include_str!("../../../sql/sqlite/migrations/0027_websub.sql") },
];

const REGISTER: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version     INTEGER PRIMARY KEY,
    name        TEXT    NOT NULL,
    checksum    TEXT    NOT NULL,
    applied_at  INTEGER NOT NULL
) STRICT";

static APPLIED: Statement = Statement::new("SELECT version, checksum FROM schema_migrations ORDER BY version");

pub(super) fn latest() -> i64 {
    ALL.last().map_or(0, |migration| migration.version)
}

pub(super) fn run(connection: &mut Connection, known: &[Migration], now: Timestamp) -> Result<()> {
    let transaction = connection.transaction().map_err(values::error)?;
    transaction.execute_batch(REGISTER).map_err(values::error)?;
    let applied = values::all(&transaction, &APPLIED, [], |row| {
        Ok(Applied { version: required(row.integer()?)?, checksum: required(row.text()?)? })
    })?;
    for step in pending(known, &applied)? {
        let explain = |error: rusqlite::Error| match values::error(error) {
            StoreError::Internal(text) => StoreError::Unusable(format!("step {} failed: {text}", step.version)),
            other => other,
        };
        transaction.execute_batch(step.sql).map_err(explain)?;
        let row = params![step.version, step.name, step.checksum(), now];
        transaction.execute("INSERT INTO schema_migrations VALUES (?1, ?2, ?3, ?4)", row).map_err(explain)?;
    }
    transaction.commit().map_err(values::error)
}
