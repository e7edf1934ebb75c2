//! The history of polls in SQLite.

use async_trait::async_trait;
use rusqlite::{Connection, params, params_from_iter};

use crate::model::{HistoryBounds, PollHour, SourceId, StoredPoll, Timestamp};

use super::super::poll_row::{hour_values, read_hour, read_poll};
use super::super::rows::{Value, storable};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{PollStore, Result};
use super::SqliteStore;
use super::values::{error, execute, readable};

static PUT_HOUR: Statement = Statement::new(include_str!("../../../sql/sqlite/put_poll_hours.sql"));

#[async_trait]
impl PollStore for SqliteStore {
    async fn polls_of_source(&self, source: SourceId, before: Option<i64>, limit: u32) -> Result<Vec<StoredPoll>> {
        let reading = move |connection: &mut Connection| {
            readable(connection, &sql::POLLS_OF_SOURCE, params![source.0, before, limit], |row| read_poll(row))
        };
        Ok(self.readers.run(reading).await?.into_iter().flatten().collect())
    }

    async fn note_page(&self, source: SourceId, error: Option<String>) -> Result<()> {
        let noting = move |connection: &mut Connection| {
            let row = params![source.0, error.is_none(), error.is_some(), error.as_deref().map(storable)];
            execute(connection, &sql::NOTE_PAGE, row).map(|_| ())
        };
        self.writer.run(noting).await
    }

    async fn clean_polls(&self, bounds: HistoryBounds, limit: u32) -> Result<u64> {
        let polls_max = i64::try_from(bounds.polls_max).unwrap_or(i64::MAX);
        let cleaning = move |connection: &mut Connection| {
            execute(connection, &sql::CLEAN_POLLS, params![bounds.since, bounds.until, polls_max, limit])
        };
        Ok(self.writer.run(cleaning).await? as u64)
    }

    async fn put_poll_hours(&self, run: i64, hours: Vec<PollHour>) -> Result<()> {
        let putting = move |connection: &mut Connection| {
            let transaction = connection.transaction().map_err(error)?;
            for hour in &hours {
                let row = [Value::Integer(Some(run))].into_iter().chain(hour_values(hour));
                execute(&transaction, &PUT_HOUR, params_from_iter(row))?;
            }
            transaction.commit().map_err(error)
        };
        self.writer.run(putting).await
    }

    async fn poll_hours(&self, since: Timestamp) -> Result<Vec<PollHour>> {
        let reading =
            move |connection: &mut Connection| readable(connection, &sql::POLL_HOURS, [since], |row| read_hour(row));
        Ok(self.readers.run(reading).await?.into_iter().flatten().collect())
    }

    async fn clean_poll_hours(&self, before: Timestamp) -> Result<()> {
        let cleaning = move |connection: &mut Connection| execute(connection, &sql::CLEAN_POLL_HOURS, [before]);
        self.writer.run(cleaning).await.map(|_| ())
    }
}
