//! Hosts in SQLite.

use rusqlite::{Connection, params};

use crate::model::{Breaker, HostKey, HostState};

use super::super::Result;
use super::super::rows::{read_host, storable};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::values::{all, error, execute, one as first};

static RECORD: Statement = Statement::new(include_str!("../../../sql/sqlite/record_hosts.sql"));
static SEVERAL: Statement = Statement::new(include_str!("../../../sql/sqlite/hosts.sql"));

pub(super) fn record(connection: &mut Connection, hosts: &[HostState]) -> Result<()> {
    let transaction = connection.transaction().map_err(error)?;
    for host in hosts {
        record_one(&transaction, host)?;
    }
    transaction.commit().map_err(error)
}

pub(super) fn record_one(connection: &Connection, host: &HostState) -> Result<()> {
    let reason = host.held_reason.as_deref().map(storable);
    let Breaker { failures, openings, open_until } = host.breaker;
    let name = storable(host.host.as_str());
    let row = params![name, host.last_asked_at, host.held_until, reason, failures, openings, open_until];
    execute(connection, &RECORD, row).map(|_| ())
}

pub(super) fn one(connection: &Connection, key: &HostKey) -> Result<Option<HostState>> {
    first(connection, &sql::HOST, [key.as_str()], |row| read_host(row))
}

pub(super) fn several(connection: &Connection, keys: &[HostKey]) -> Result<Vec<HostState>> {
    let names = serde_json::Value::from_iter(keys.iter().map(HostKey::as_str)).to_string();
    all(connection, &SEVERAL, [names], |row| read_host(row))
}

pub(super) fn list(connection: &Connection, after: &str, limit: u32) -> Result<Vec<HostState>> {
    all(connection, &sql::LIST_HOSTS, params![after, limit], |row| read_host(row))
}
