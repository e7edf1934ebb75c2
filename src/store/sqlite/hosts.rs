//! Hosts and their robots.txt in SQLite.

use async_trait::async_trait;
use rusqlite::{Connection, params};

use crate::model::{Breaker, HostKey, HostState, RobotsRecord, Timestamp};

use super::super::quarantine::last_name;
use super::super::rows::{last_word_on_hosts, read_host, read_robots, storable};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{HostStore, Result};
use super::values::{error, execute, one, readable};
use super::{SqliteStore, events};

static RECORD: Statement = Statement::new(include_str!("../../../sql/sqlite/record_hosts.sql"));
static SEVERAL: Statement = Statement::new(include_str!("../../../sql/sqlite/hosts.sql"));

#[async_trait]
impl HostStore for SqliteStore {
    async fn record_hosts(&self, hosts: Vec<HostState>) -> Result<()> {
        let (events, numbers) = (self.events.clone(), self.numbers.clone());
        let recording = move |connection: &mut Connection| {
            let transaction = connection.transaction().map_err(error)?;
            for host in last_word_on_hosts(hosts) {
                record(&transaction, &host)?;
            }
            events::add(&transaction, &events, &numbers)?;
            transaction.commit().map_err(error)
        };
        self.writer.run(recording).await
    }

    async fn hosts_asked_after(&self, moment: Timestamp, limit: u32) -> Result<Vec<HostState>> {
        let reading = move |connection: &mut Connection| {
            readable(connection, &sql::HOSTS_ASKED_AFTER, params![moment, limit], |row| read_host(row))
        };
        Ok(self.quarantine.sift_hosts(self.readers.run(reading).await?))
    }

    async fn correct_hosts(&self, hosts: Vec<HostState>) -> Result<()> {
        let correcting = move |connection: &mut Connection| {
            let transaction = connection.transaction().map_err(error)?;
            for HostState { host, last_asked_at, held_until, breaker, .. } in &hosts {
                let row = params![storable(host.as_str()), last_asked_at, held_until, breaker.open_until];
                execute(&transaction, &sql::CORRECT_HOST, row)?;
            }
            transaction.commit().map_err(error)
        };
        self.writer.run(correcting).await
    }

    async fn host(&self, key: &HostKey) -> Result<Option<HostState>> {
        let name = key.to_string();
        let reading = move |connection: &mut Connection| readable(connection, &sql::HOST, [name], |row| read_host(row));
        Ok(self.quarantine.sift_asked_hosts(std::slice::from_ref(key), self.readers.run(reading).await?).pop())
    }

    async fn hosts(&self, keys: Vec<HostKey>) -> Result<Vec<HostState>> {
        let names = serde_json::Value::from_iter(keys.iter().map(HostKey::as_str)).to_string();
        let reading = move |connection: &mut Connection| readable(connection, &SEVERAL, [names], |row| read_host(row));
        Ok(self.quarantine.sift_asked_hosts(&keys, self.readers.run(reading).await?))
    }

    async fn list_hosts(&self, after: Option<&HostKey>, limit: u32) -> Result<Vec<HostState>> {
        let mut after = after.map_or_else(String::new, HostKey::to_string);
        loop {
            let start = after.clone();
            let reading = move |connection: &mut Connection| {
                readable(connection, &sql::LIST_HOSTS, params![start, limit], |row| read_host(row))
            };
            let read = self.readers.run(reading).await?;
            let last = last_name(&read, |host| host.host.as_str());
            let hosts = self.quarantine.sift_hosts(read);
            match last {
                Some(last) if hosts.is_empty() && last > after => after = last,
                _ => return Ok(hosts),
            }
        }
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
