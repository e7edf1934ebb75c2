//! The history of polls in PostgreSQL.

use async_trait::async_trait;
use tokio_postgres::types::ToSql;

use crate::model::{HistoryBounds, PollHour, SourceId, StoredPoll, Timestamp};

use super::super::poll_row::{hour_values, read_hour, read_poll};
use super::super::rows::storable;
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{PollStore, Result};
use super::PostgresStore;
use super::values::{by_column, execute, readable};

static PUT_HOURS: Statement = Statement::new(include_str!("../../../sql/postgres/put_poll_hours.sql"));

#[async_trait]
impl PollStore for PostgresStore {
    async fn polls_of_source(&self, source: SourceId, before: Option<i64>, limit: u32) -> Result<Vec<StoredPoll>> {
        let limit = i64::from(limit);
        let parameters: [&(dyn ToSql + Sync); 3] = [&source.0, &before, &limit];
        let rows = readable(&self.client().await?, &sql::POLLS_OF_SOURCE, &parameters, |row| read_poll(row)).await?;
        Ok(rows.into_iter().flatten().collect())
    }

    async fn note_page(&self, source: SourceId, error: Option<String>) -> Result<()> {
        let (successes, failures) = (i64::from(error.is_none()), i64::from(error.is_some()));
        let error = error.as_deref().map(storable);
        let parameters: [&(dyn ToSql + Sync); 4] = [&source.0, &successes, &failures, &error];
        execute(&self.client().await?, &sql::NOTE_PAGE, &parameters).await.map(|_| ())
    }

    async fn clean_polls(&self, bounds: HistoryBounds, limit: u32) -> Result<u64> {
        let (polls_max, limit) = (i64::try_from(bounds.polls_max).unwrap_or(i64::MAX), i64::from(limit));
        let parameters: [&(dyn ToSql + Sync); 4] = [&bounds.since, &bounds.until, &polls_max, &limit];
        execute(&self.client().await?, &sql::CLEAN_POLLS, &parameters).await
    }

    async fn put_poll_hours(&self, run: i64, hours: Vec<PollHour>) -> Result<()> {
        let columns = by_column(hours.iter().map(hour_values));
        let mut arrays: Vec<&(dyn ToSql + Sync)> = vec![&run];
        arrays.extend(columns.iter().map(|column| column as &(dyn ToSql + Sync)));
        execute(&self.client().await?, &PUT_HOURS, &arrays).await.map(|_| ())
    }

    async fn poll_hours(&self, since: Timestamp) -> Result<Vec<PollHour>> {
        let rows = readable(&self.client().await?, &sql::POLL_HOURS, &[&since], |row| read_hour(row)).await?;
        Ok(rows.into_iter().flatten().collect())
    }

    async fn clean_poll_hours(&self, before: Timestamp) -> Result<()> {
        execute(&self.client().await?, &sql::CLEAN_POLL_HOURS, &[&before]).await.map(|_| ())
    }
}
