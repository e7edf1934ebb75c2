//! Audit records in SQLite.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, Transaction, params, params_from_iter};

use crate::model::{AuditFilter, AuditRecord, NewAuditRecord, Timestamp};

use super::super::audit::{ChangeOutcome, audit_values, completed, read_audit_record};
use super::super::shared_sql as sql;
use super::super::{AuditStore, Result, Store};
use super::values::{all, error, execute};
use super::{SqliteStore, events};

#[async_trait]
impl AuditStore for SqliteStore {
    fn audited(&self, record: NewAuditRecord) -> Arc<dyn Store> {
        Arc::new(SqliteStore { audit: Some(Arc::new(record)), ..self.clone() })
    }

    async fn add_audit_record(&self, record: NewAuditRecord) -> Result<()> {
        self.writer.run(move |connection| add(connection, &record)).await
    }

    async fn list_audit_records(
        &self,
        filter: AuditFilter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<AuditRecord>> {
        let listing = move |connection: &mut Connection| {
            let (before, since) = (before.unwrap_or(i64::MAX), filter.since.unwrap_or(Timestamp::MIN));
            let [target, id, action, who] =
                [filter.target, filter.target_id, filter.action, filter.who].map(Option::unwrap_or_default);
            let statement = match (!target.is_empty() && !id.is_empty(), !who.is_empty()) {
                (true, _) => &sql::LIST_AUDIT_OF_TARGET,
                (false, true) => &sql::LIST_AUDIT_OF_CALLER,
                (false, false) => &sql::LIST_AUDIT,
            };
            let parameters = params![before, since, target, id, action, who, limit];
            all(connection, statement, parameters, |row| read_audit_record(row))
        };
        self.readers.run(listing).await
    }
}

impl SqliteStore {
    /// Makes a change in one transaction with its audit record and its events.
    pub(super) async fn change<T: ChangeOutcome + Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (record, events, numbers) = (self.audit.clone(), self.events.clone(), self.numbers.clone());
        let changing = move |connection: &mut Connection| {
            let transaction = connection.transaction().map_err(error)?;
            let outcome = change(&transaction)?;
            if let Some(record) = completed(record.as_deref(), &outcome) {
                add(&transaction, &record)?;
            }
            if outcome.effect().is_some() {
                events::add(&transaction, &events, &numbers)?;
            }
            transaction.commit().map_err(error)?;
            Ok(outcome)
        };
        self.writer.run(changing).await
    }
}

fn add(connection: &Connection, record: &NewAuditRecord) -> Result<()> {
    execute(connection, &sql::ADD_AUDIT_RECORD, params_from_iter(audit_values(record))).map(|_| ())
}
