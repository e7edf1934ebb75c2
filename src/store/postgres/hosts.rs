//! Hosts in PostgreSQL.

use deadpool_postgres::{Client, GenericClient};
use tokio_postgres::types::Type;

use crate::model::{HostKey, HostState, Timestamp};

use super::super::Result;
use super::super::rows::{read_host, storable};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::values::{all, all_planned_anew, execute, one as first};

static RECORD: Statement = Statement::new(include_str!("../../../sql/postgres/record_hosts.sql"));
static SEVERAL: Statement = Statement::new(include_str!("../../../sql/postgres/hosts.sql"));

pub(super) async fn record(client: &impl GenericClient, hosts: &[HostState]) -> Result<()> {
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
    execute(client, &RECORD, &[&names, &asked, &held, &reasons, &failures, &openings, &open]).await.map(|_| ())
}

pub(super) async fn one(client: &Client, key: &HostKey) -> Result<Option<HostState>> {
    first(client, &sql::HOST, &[&key.as_str()], |row| read_host(row)).await
}

pub(super) async fn several(client: &Client, keys: &[HostKey]) -> Result<Vec<HostState>> {
    let names: Vec<_> = keys.iter().map(|key| storable(key.as_str())).collect();
    all_planned_anew(client, &SEVERAL, (&names, Type::TEXT_ARRAY), |row| read_host(row)).await
}

pub(super) async fn list(client: &Client, after: &str, limit: u32) -> Result<Vec<HostState>> {
    all(client, &sql::LIST_HOSTS, &[&after, &i64::from(limit)], |row| read_host(row)).await
}
