//! Migrates the schema, in one transaction under an advisory lock.

use deadpool_postgres::Client;

use crate::model::Timestamp;

use super::super::migrate::{Applied, Migration, pending};
use super::super::rows::{Columns, required};
use super::super::{Result, StoreError};
use super::values;

/// All migrations, oldest first.
pub(super) const ALL: &[Migration] = &[
    Migration {
        version: 1,
        name: "sources_and_posts",
        sql: include_str!("../../../sql/postgres/migrations/0001_sources_and_posts.sql"),
    },
    Migration {
        version: 2,
        name: "articles_and_cleanup",
        sql: include_str!("../../../sql/postgres/migrations/0002_articles_and_cleanup.sql"),
    },
    Migration {
        version: 3,
        name: "hosts_and_keys",
        sql: include_str!("../../../sql/postgres/migrations/0003_hosts_and_keys.sql"),
    },
    Migration {
        version: 4,
        name: "x_accounts",
        sql: include_str!("../../../sql/postgres/migrations/0004_x_accounts.sql"),
    },
    Migration {
        version: 5,
        name: "source_access",
        sql: include_str!("../../../sql/postgres/migrations/0005_source_access.sql"),
    },
    Migration {
        version: 6,
        name: "politeness",
        sql: include_str!("../../../sql/postgres/migrations/0006_politeness.sql"),
    },
    Migration { version: 7, name: "lists", sql: include_str!("../../../sql/postgres/migrations/0007_lists.sql") },
    Migration {
        version: 8,
        name: "posts_for_others",
        sql: include_str!("../../../sql/postgres/migrations/0008_posts_for_others.sql"),
    },
    Migration { version: 9, name: "webhooks", sql: include_str!("../../../sql/postgres/migrations/0009_webhooks.sql") },
    Migration {
        version: 10,
        name: "first_pages",
        sql: include_str!("../../../sql/postgres/migrations/0010_first_pages.sql"),
    },
    Migration { version: 11, name: "daemon", sql: include_str!("../../../sql/postgres/migrations/0011_daemon.sql") },
    Migration { version: 12, name: "bylines", sql: include_str!("../../../sql/postgres/migrations/0012_bylines.sql") },
    Migration {
        version: 13,
        name: "page_ages",
        sql: include_str!("../../../sql/postgres/migrations/0013_page_ages.sql"),
    },
    Migration {
        version: 14,
        name: "lists_by_type",
        sql: include_str!("../../../sql/postgres/migrations/0014_lists_by_type.sql"),
    },
    Migration { version: 15, name: "entries", sql: include_str!("../../../sql/postgres/migrations/0015_entries.sql") },
    Migration {
        version: 16,
        name: "full_text",
        sql: include_str!("../../../sql/postgres/migrations/0016_full_text.sql"),
    },
    Migration {
        version: 17,
        name: "trusted_time",
        sql: include_str!("../../../sql/postgres/migrations/0017_trusted_time.sql"),
    },
    Migration { version: 18, name: "probe", sql: include_str!("../../../sql/postgres/migrations/0018_probe.sql") },
    Migration {
        version: 19,
        name: "restores",
        sql: include_str!("../../../sql/postgres/migrations/0019_restores.sql"),
    },
    Migration { version: 20, name: "fleet", sql: include_str!("../../../sql/postgres/migrations/0020_fleet.sql") },
    Migration { version: 21, name: "polls", sql: include_str!("../../../sql/postgres/migrations/0021_polls.sql") },
    Migration { version: 22, name: "audit", sql: include_str!("../../../sql/postgres/migrations/0022_audit.sql") },
    Migration {
        version: 23,
        name: "post_revisions",
        sql: include_str!("../../../sql/postgres/migrations/0023_post_revisions.sql"),
    },
    Migration {
        version: 24,
        name: "audit_by_caller",
        sql: include_str!("../../../sql/postgres/migrations/0024_audit_by_caller.sql"),
    },
    Migration { version: 25, name: "events", sql: include_str!("../../../sql/postgres/migrations/0025_events.sql") },
    Migration {
        version: 26,
        name: "publishing",
        sql: include_str!("../../../sql/postgres/migrations/0026_publishing.sql"),
    },
    Migration { version: 27, name: "websub", sql: include_str!("../../../sql/postgres/migrations/0027_websub.sql") },
];

/// Advisory lock for nodes that start together; a migration may exceed the time limits of statements and locks.
const TAKE_TURNS: &str =
    "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock(7377267653211901)";

const REGISTER: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version     bigint      PRIMARY KEY,
    name        text        NOT NULL,
    checksum    text        NOT NULL,
    applied_at  timestamptz NOT NULL
)";

pub(super) fn latest() -> i64 {
    ALL.last().map_or(0, |migration| migration.version)
}

pub(super) async fn run(client: &mut Client, known: &[Migration], now: Timestamp) -> Result<()> {
    let transaction = client.transaction().await.map_err(values::error)?;
    transaction.batch_execute(TAKE_TURNS).await.map_err(values::error)?;
    transaction.batch_execute(REGISTER).await.map_err(values::error)?;
    let query = "SELECT version, checksum FROM schema_migrations ORDER BY version";
    let rows = transaction.query(query, &[]).await.map_err(values::error)?;
    let applied = rows
        .iter()
        .map(|row| {
            let mut row = values::RowColumns::new(row);
            Ok(Applied { version: required(row.integer()?)?, checksum: required(row.text()?)? })
        })
        .collect::<Result<Vec<_>>>()?;
    for step in pending(known, &applied)? {
        let explain = |error: tokio_postgres::Error| match values::error(error) {
            StoreError::Internal(text) => StoreError::Unusable(format!("step {} failed: {text}", step.version)),
            other => other,
        };
        transaction.batch_execute(step.sql).await.map_err(explain)?;
        let row = "INSERT INTO schema_migrations VALUES ($1, $2, $3, $4)";
        transaction.execute(row, &[&step.version, &step.name, &step.checksum(), &now]).await.map_err(explain)?;
    }
    transaction.commit().await.map_err(values::error)
}
