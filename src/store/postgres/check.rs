//! Checks a database in PostgreSQL. The server watches over its own structures and references; here every row is read,
//! and indexes and constraints that the server has given up are named.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::GenericClient;
use tokio_postgres::types::ToSql;

use super::super::check::{COUNTED, CheckReport, CheckedTable, ROWS_AT_ONCE, StoreProblemKind};
use super::super::cipher::Cipher;
use super::super::poll_row::read_poll;
use super::super::post_row::read_post;
use super::super::rows::{Columns, read_host, read_webhook};
use super::super::secrets::{SecretCheck, SecretCounts, SecretPlace, SecretTable, count, opened_by};
use super::super::settings::PostgresSettings;
use super::super::shared_sql as sql;
use super::super::source_row::read_source;
use super::super::statement::Statement;
use super::super::{Result, StoreError};
use super::session::{Lease, Session};
use super::values::{RowColumns, error, one, pool_error};
use super::{connect, migrate, numbers, secrets};

/// Names of indexes and constraints that the server does not use or has not checked.
const GIVEN_UP: &str = "SELECT 'index ' || indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid \
     UNION ALL SELECT 'constraint ' || conname FROM pg_constraint WHERE NOT convalidated";

/// Counting the rows of a large table takes its time.
const STATEMENT_MAX: Duration = Duration::from_secs(3600);

pub(in super::super) async fn check(settings: &PostgresSettings, cipher: &Cipher) -> Result<CheckReport> {
    let pool = connect::pool(settings, 1)?;
    let client = Lease::of(pool.get().await.map_err(pool_error)?, STATEMENT_MAX, &Arc::default());
    connect::check_server(&client).await?;
    let mut report = CheckReport::new("postgres", migrate::latest());
    match examine(&client, cipher, &mut report).await {
        // The server cannot read its own data: what was found until then is reported with it.
        Err(StoreError::Corrupt(reason) | StoreError::Internal(reason)) => {
            report.note(StoreProblemKind::Integrity, None, reason)
        }
        Err(other) => return Err(other),
        Ok(()) => {}
    }
    Ok(report)
}

async fn examine(client: &Lease, cipher: &Cipher, report: &mut CheckReport) -> Result<()> {
    // Nothing is changed, by whatever mistake. Counting takes the time that it takes.
    client
        .inner()
        .batch_execute("SET default_transaction_read_only = on; SET statement_timeout = 0")
        .await
        .map_err(error)?;
    let text = async |query: &str| client.inner().query(query, &[]).await.map_err(error);
    let bytes: i64 = text("SELECT pg_database_size(current_database())").await?[0].get(0);
    report.bytes = bytes.unsigned_abs();
    for row in text(GIVEN_UP).await? {
        report.note(
            StoreProblemKind::Integrity,
            None,
            format!("{} is not valid; REINDEX or VALIDATE it", row.get::<_, String>(0)),
        );
    }
    let is_ours: bool = text("SELECT to_regclass('schema_migrations') IS NOT NULL").await?[0].get(0);
    let version = match is_ours {
        true => text("SELECT max(version) FROM schema_migrations").await?[0].get(0),
        false => None,
    };
    if !report.is_known(version) {
        return Ok(());
    }
    for table in COUNTED {
        let rows: i64 = text(&format!("SELECT count(*) FROM {table}")).await?[0].get(0);
        report.counts.push((table, rows.unsigned_abs()));
    }
    report.paused_since = one(client, &sql::PAUSED_SINCE, &[], |row| row.time()).await?.flatten();
    read_all(client, CheckedTable::Sources, &sql::LIST_SOURCES, |row| read_source(row).map(|_| ()), report).await?;
    read_all(client, CheckedTable::Posts, &sql::CHECK_POSTS, |row| read_post(row).map(|_| ()), report).await?;
    read_all(client, CheckedTable::Webhooks, &sql::LIST_WEBHOOKS, |row| read_webhook(row).map(|_| ()), report).await?;
    read_all(client, CheckedTable::Polls, &sql::CHECK_POLLS, |row| read_poll(row).map(|_| ()), report).await?;
    read_hosts(client, report).await?;
    let used = one(client, &sql::LAST_CHANGE_NUMBER, &[], |row| row.integer()).await?.flatten();
    report.numbers(numbers::issued(client).await?, used.unwrap_or(0));
    let found = closed_secrets(client, cipher).await?;
    report.secrets(cipher, found);
    Ok(())
}

/// Reads every row of a table by itself.
async fn read_all(
    client: &Lease,
    table: CheckedTable,
    statement: &Statement,
    read: fn(&mut RowColumns<'_>) -> Result<()>,
    report: &mut CheckReport,
) -> Result<()> {
    let mut after = 0_i64;
    loop {
        let limit = i64::from(ROWS_AT_ONCE);
        let parameters: [&(dyn ToSql + Sync); 2] = [&after, &limit];
        let rows = client.inner().query(statement.postgres(), &parameters).await.map_err(error)?;
        for row in &rows {
            let id: i64 = row.try_get(0).map_err(error)?;
            after = id;
            let mut columns = RowColumns::new(row);
            if let Err(cause) = read(&mut columns) {
                report.unreadable(table, Some(id.to_string()), columns.taken(), &cause);
            }
        }
        if rows.len() < ROWS_AT_ONCE as usize {
            return Ok(());
        }
    }
}

/// The same for hosts, which have no numbers.
async fn read_hosts(client: &Lease, report: &mut CheckReport) -> Result<()> {
    let mut after = String::new();
    loop {
        let limit = i64::from(ROWS_AT_ONCE);
        let parameters: [&(dyn ToSql + Sync); 2] = [&after, &limit];
        let rows = client.inner().query(sql::LIST_HOSTS.postgres(), &parameters).await.map_err(error)?;
        for row in &rows {
            let host: String = row.try_get(0).map_err(error)?;
            let mut columns = RowColumns::new(row);
            if let Err(cause) = read_host(&mut columns) {
                report.unreadable(CheckedTable::Hosts, Some(host.clone()), columns.taken(), &cause);
            }
            after = host;
        }
        if rows.len() < ROWS_AT_ONCE as usize {
            return Ok(());
        }
    }
}

async fn closed_secrets(client: &Lease, cipher: &Cipher) -> Result<SecretCheck> {
    let mut all = Vec::new();
    for table in SecretTable::ALL {
        let (mut counts, mut after) = (SecretCounts::default(), SecretPlace::default());
        loop {
            let rows = secrets::rows(client, table, &after, ROWS_AT_ONCE).await?;
            let Some(last) = rows.last() else { break };
            after = last.place.clone();
            rows.iter().for_each(|row| count(&mut counts, row, opened_by(cipher, table, row)));
        }
        all.push((table, counts));
    }
    Ok(SecretCheck(all))
}
