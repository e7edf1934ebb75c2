//! Hosts and their robots.txt in PostgreSQL.

use async_trait::async_trait;
use tokio_postgres::types::{ToSql, Type};

use crate::model::{HostKey, HostState, RobotsRecord, Timestamp};

use super::super::quarantine::last_name;
use super::super::rows::{last_word_on_hosts, read_host, read_robots, storable};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{HostStore, Result};
use super::session::Session;
use super::values::{execute, one, readable, readable_planned_anew};
use super::{PostgresStore, events};

static RECORD: Statement = Statement::new(include_str!("../../../sql/postgres/record_hosts.sql"));
static RECORD_LATE: Statement = Statement::new(include_str!("../../../sql/postgres/record_late_hosts.sql"));
static SEVERAL: Statement = Statement::new(include_str!("../../../sql/postgres/hosts.sql"));

#[async_trait]
impl HostStore for PostgresStore {
    async fn record_hosts(&self, hosts: Vec<HostState>) -> Result<()> {
        let hosts = last_word_on_hosts(hosts);
        let mut client = self.client().await?;
        if self.events.is_empty() {
            return record(&client, &hosts).await;
        }
        let transaction = client.transaction().await?;
        record(&transaction, &hosts).await?;
        events::add(&transaction, &self.events).await?;
        transaction.commit().await
    }

    async fn hosts_asked_after(&self, moment: Timestamp, limit: u32) -> Result<Vec<HostState>> {
        let client = self.client().await?;
        let found =
            readable(&client, &sql::HOSTS_ASKED_AFTER, &[&moment, &i64::from(limit)], |row| read_host(row)).await?;
        Ok(self.quarantine.sift_hosts(found))
    }

    async fn correct_hosts(&self, mut hosts: Vec<HostState>) -> Result<()> {
        // Sorted, so that two nodes never wait for each other's rows crosswise.
        hosts.sort_by(|one, other| one.host.cmp(&other.host));
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        for HostState { host, last_asked_at, held_until, breaker, .. } in &hosts {
            let row: [&(dyn ToSql + Sync); 4] =
                [&storable(host.as_str()), last_asked_at, held_until, &breaker.open_until];
            execute(&transaction, &sql::CORRECT_HOST, &row).await?;
        }
        transaction.commit().await
    }

    async fn host(&self, key: &HostKey) -> Result<Option<HostState>> {
        let found = readable(&self.client().await?, &sql::HOST, &[&key.as_str()], |row| read_host(row)).await?;
        Ok(self.quarantine.sift_asked_hosts(std::slice::from_ref(key), found).pop())
    }

    async fn hosts(&self, keys: Vec<HostKey>) -> Result<Vec<HostState>> {
        let names: Vec<_> = keys.iter().map(|key| storable(key.as_str())).collect();
        let client = self.client().await?;
        let found = readable_planned_anew(&client, &SEVERAL, (&names, Type::TEXT_ARRAY), |row| read_host(row)).await?;
        Ok(self.quarantine.sift_asked_hosts(&keys, found))
    }

    async fn list_hosts(&self, after: Option<&HostKey>, limit: u32) -> Result<Vec<HostState>> {
        let (mut after, limit) = (after.map_or("", HostKey::as_str).to_owned(), i64::from(limit));
        let client = self.client().await?;
        loop {
            let read = readable(&client, &sql::LIST_HOSTS, &[&after, &limit], |row| read_host(row)).await?;
            let last = last_name(&read, |host| host.host.as_str());
            let hosts = self.quarantine.sift_hosts(read);
            match last {
                Some(last) if hosts.is_empty() && last > after => after = last,
                _ => return Ok(hosts),
            }
        }
    }

    async fn robots(&self, origin: &str) -> Result<Option<RobotsRecord>> {
        one(&self.client().await?, &sql::ROBOTS, &[&storable(origin)], |row| read_robots(row)).await
    }

    async fn put_robots(&self, record: RobotsRecord) -> Result<()> {
        let (origin, rules) = (storable(&record.origin), record.rules.as_deref().map(storable));
        let client = self.client().await?;
        execute(&client, &sql::PUT_ROBOTS, &[&origin, &record.fetched_at, &rules]).await.map(|_| ())
    }
}

pub(super) async fn record(client: &impl Session, hosts: &[HostState]) -> Result<()> {
    write(client, &RECORD, hosts).await
}

/// Stores what a node heard of hosts that are no longer its own.
pub(super) async fn record_late(client: &impl Session, hosts: &[HostState]) -> Result<()> {
    write(client, &RECORD_LATE, hosts).await
}

async fn write(client: &impl Session, statement: &Statement, hosts: &[HostState]) -> Result<()> {
    if hosts.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = hosts.iter().map(|host| storable(host.host.as_str())).collect();
    let asked: Vec<Option<Timestamp>> = hosts.iter().map(|host| host.last_asked_at).collect();
    let held: Vec<Option<Timestamp>> = hosts.iter().map(|host| host.held_until).collect();
    let reasons: Vec<_> = hosts.iter().map(|host| host.held_reason.as_deref().map(storable)).collect();
    let failures: Vec<i64> = hosts.iter().map(|host| host.breaker.failures.into()).collect();
    let openings: Vec<i64> = hosts.iter().map(|host| host.breaker.openings.into()).collect();
    let open: Vec<Option<Timestamp>> = hosts.iter().map(|host| host.breaker.open_until).collect();
    execute(client, statement, &[&names, &asked, &held, &reasons, &failures, &openings, &open]).await.map(|_| ())
}
