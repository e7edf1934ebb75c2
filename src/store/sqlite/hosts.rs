//! Hosts and their robots.txt in SQLite.

use async_trait::async_trait;
use rusqlite::{Connection, params};

use crate::model::{Breaker, HostKey, HostState, RobotsRecord};

use super::super::rows::{last_word_on_hosts, read_host, read_robots, storable};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{HostStore, Result};
use super::SqliteStore;
use super::values::{all, error, execute, one};

static RECORD: Statement = Statement::new(include_str!("../../../sql/sqlite/record_hosts.sql"));
static SEVERAL: Statement = Statement::new(include_str!("../../../sql/sqlite/hosts.sql"));

#[async_trait]
impl HostStore for SqliteStore {
    async fn record_hosts(&self, hosts: Vec<HostState>) -> Result<()> {
        let recording = move |connection: &mut Connection| {
            let transaction = connection.transaction().map_err(error)?;
            for host in last_word_on_hosts(hosts) {
                record(&transaction, &host)?;
            }
            transaction.commit().map_err(error)
        };
        self.writer.run(recording).await
    }

    async fn host(&self, key: &HostKey) -> Result<Option<HostState>> {
        let name = key.to_string();
        self.readers.run(move |connection| one(connection, &sql::HOST, [name], |row| read_host(row))).await
    }

    async fn hosts(&self, keys: Vec<HostKey>) -> Result<Vec<HostState>> {
        let names = serde_json::Value::from_iter(keys.iter().map(HostKey::as_str)).to_string();
        self.readers.run(move |connection| all(connection, &SEVERAL, [names], |row| read_host(row))).await
    }

    async fn list_hosts(&self, after: Option<&HostKey>, limit: u32) -> Result<Vec<HostState>> {
        let after = after.map_or_else(String::new, HostKey::to_string);
        self.readers
            .run(move |connection| all(connection, &sql::LIST_HOSTS, params![after, limit], |row| read_host(row)))
            .await
    }

    async fn robots(&self, origin: &str) -> Result<Option<RobotsRecord>> {
        let origin = storable(origin).into_owned();
        self.readers.run(move |connection| one(connection, &sql::ROBOTS, [origin], |row| read_robots(row))).await
    }

    async fn put_robots(&self, record: RobotsRecord) -> Result<()> {
        let putting = move |connection: &mut Connection| {
            let row = params![storable(&record.origin), record.fetched_at, record.rules.as_deref().map(storable)];
            execute(connection, &sql::PUT_ROBOTS, row).map(|_| ())
        };
        self.writer.run(putting).await
    }
}

pub(super) fn record(connection: &Connection, host: &HostState) -> Result<()> {
    let reason = host.held_reason.as_deref().map(storable);
    let Breaker { failures, openings, open_until } = host.breaker;
    let name = storable(host.host.as_str());
    let row = params![name, host.last_asked_at, host.held_until, reason, failures, openings, open_until];
    execute(connection, &RECORD, row).map(|_| ())
}
