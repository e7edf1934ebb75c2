//! Hosts in SQLite.

use rusqlite::{Connection, params};

use crate::model::{HostKey, HostState};

use super::super::Result;
use super::super::rows::{read_host, storable};
use super::values::{all, error, execute, one as first};

const RECORD: &str = include_str!("../../../sql/sqlite/record_hosts.sql");
const ONE: &str = include_str!("../../../sql/sqlite/host.sql");
const LIST: &str = include_str!("../../../sql/sqlite/list_hosts.sql");

pub(super) fn record(connection: &mut Connection, hosts: &[HostState]) -> Result<()> {
    let transaction = connection.transaction().map_err(error)?;
    for host in hosts {
        record_one(&transaction, host)?;
    }
    transaction.commit().map_err(error)
}

pub(super) fn record_one(connection: &Connection, host: &HostState) -> Result<()> {
    let reason = host.held_reason.as_deref().map(storable);
    let row = params![storable(host.host.as_str()), host.last_asked_at, host.held_until, reason];
    execute(connection, RECORD, row).map(|_| ())
}

pub(super) fn one(connection: &Connection, key: &HostKey) -> Result<Option<HostState>> {
    first(connection, ONE, [key.as_str()], |row| read_host(row))
}

pub(super) fn list(connection: &Connection, after: &str, limit: u32) -> Result<Vec<HostState>> {
    all(connection, LIST, params![after, limit], |row| read_host(row))
}
