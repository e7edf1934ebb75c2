//! Audit records in PostgreSQL.

use std::sync::Arc;

use async_trait::async_trait;
use tokio_postgres::types::ToSql;

use crate::model::{AuditFilter, AuditRecord, NewAuditRecord, Timestamp};

use super::super::audit::{ChangeOutcome, audit_values, completed, read_audit_record};
use super::super::shared_sql as sql;
use super::super::{AuditStore, Result, Store};
use super::session::{Session, Transaction};
use super::values::{all, execute};
use super::{PostgresStore, events};

#[async_trait]
impl AuditStore for PostgresStore {
    fn audited(&self, record: NewAuditRecord) -> Arc<dyn Store> {
        Arc::new(PostgresStore { audit: Some(Arc::new(record)), ..self.clone() })
    }

    async fn add_audit_record(&self, record: NewAuditRecord) -> Result<()> {
        add(&self.client().await?, &record).await
    }

    async fn list_audit_records(
        &self,
        filter: AuditFilter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<AuditRecord>> {
        let (before, since) = (before.unwrap_or(i64::MAX), filter.since.unwrap_or(Timestamp::MIN));
        let [target, id, action, who] =
            [filter.target, filter.target_id, filter.action, filter.who].map(Option::unwrap_or_default);
        let statement = match (!target.is_empty() && !id.is_empty(), !who.is_empty()) {
            (true, _) => &sql::LIST_AUDIT_OF_TARGET,
            (false, true) => &sql::LIST_AUDIT_OF_CALLER,
            (false, false) => &sql::LIST_AUDIT,
        };
        let row: [&(dyn ToSql + Sync); 7] = [&before, &since, &target, &id, &action, &who, &i64::from(limit)];
        all(&self.client().await?, statement, &row, |row| read_audit_record(row)).await
    }
}

impl PostgresStore {
    /// Ends a change: stores its audit record and its events, and commits all of it.
    pub(super) async fn commit<T: ChangeOutcome + Sync>(
        &self,
        transaction: Transaction<'_>,
        outcome: &T,
    ) -> Result<()> {
        if let Some(record) = completed(self.audit.as_deref(), outcome) {
            add(&transaction, &record).await?;
        }
        if outcome.effect().is_some() {
            events::add(&transaction, &self.events).await?;
        }
        transaction.commit().await
    }
}

async fn add(session: &impl Session, record: &NewAuditRecord) -> Result<()> {
    let values = audit_values(record);
    let row: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
    execute(session, &sql::ADD_AUDIT_RECORD, &row).await.map(|_| ())
}
