//! Posts that wait for their pages, in SQLite.

use async_trait::async_trait;
use rusqlite::{Connection, params};

use crate::model::{FetchedPage, HostKey, PageEnd, PostId, QueuedPage, Settlement, Shard, Timestamp, WantedPage};

use super::super::post_row::{full_text_values, read_queued_page};
use super::super::rows::{Columns, required};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{FullTextStore, Result};
use super::SqliteStore;
use super::numbers::NumberFile;
use super::settle::NEXT_NUMBER;
use super::values::{all, error, execute, number, one};

static HOSTS: Statement = Statement::new(include_str!("../../../sql/sqlite/full_text_hosts.sql"));
static QUEUE: Statement = Statement::new(include_str!("../../../sql/sqlite/queue_pages.sql"));
static LEAVE_QUEUE: Statement = Statement::new(include_str!("../../../sql/sqlite/leave_full_text_queue.sql"));
static PUT: Statement = Statement::new(include_str!("../../../sql/sqlite/put_full_text.sql"));

#[async_trait]
impl FullTextStore for SqliteStore {
    async fn full_text_hosts(&self, _: &[Shard], limit: u32) -> Result<Vec<(HostKey, Timestamp)>> {
        let listing = move |connection: &mut Connection| {
            all(connection, &HOSTS, [limit], |row| {
                Ok((HostKey::from_canonical(&required(row.text()?)?), required(row.time()?)?))
            })
        };
        self.readers.run(listing).await
    }

    async fn next_full_text(&self, host: &HostKey, now: Timestamp) -> Result<Option<QueuedPage>> {
        let host = host.as_str().to_owned();
        let reading = move |connection: &mut Connection| {
            one(connection, &sql::NEXT_FULL_TEXT, params![host, now], |row| read_queued_page(row))
        };
        self.readers.run(reading).await
    }

    async fn begin_full_text(&self, page: &QueuedPage, retry_at: Timestamp) -> Result<bool> {
        let (id, attempts) = (page.post.id.0, page.attempts);
        let counting = move |connection: &mut Connection| {
            execute(connection, &sql::BEGIN_FULL_TEXT, params![id, attempts, retry_at])
        };
        Ok(self.writer.run(counting).await? > 0)
    }

    async fn drop_full_text(&self, post: PostId) -> Result<()> {
        let dropping = move |connection: &mut Connection| execute(connection, &sql::DROP_FULL_TEXT, [post.0]);
        self.writer.run(dropping).await.map(|_| ())
    }

    async fn correct_full_texts(&self, now: Timestamp, due_max: Timestamp, queued_max: Timestamp) -> Result<()> {
        let correcting = move |connection: &mut Connection| {
            execute(connection, &sql::CORRECT_FULL_TEXTS, [now, due_max, queued_max])
        };
        self.writer.run(correcting).await.map(|_| ())
    }

    async fn defer_full_texts(&self, host: &HostKey, until: Timestamp) -> Result<()> {
        let host = host.as_str().to_owned();
        let deferring =
            move |connection: &mut Connection| execute(connection, &sql::DEFER_FULL_TEXTS, params![host, until]);
        self.writer.run(deferring).await.map(|_| ())
    }

    async fn finish_full_text(&self, page: FetchedPage) -> Result<bool> {
        let numbers = self.numbers.clone();
        self.writer.run(move |connection| finish(connection, &page, &numbers)).await
    }
}

/// Makes a post of this settlement wait for its page.
pub(super) fn queue(connection: &Connection, settlement: &Settlement, page: &WantedPage) -> Result<()> {
    let row = params![settlement.source_id.0, page.key.0, page.host.as_str(), settlement.settled_at];
    execute(connection, &QUEUE, row).map(|_| ())
}

fn finish(connection: &mut Connection, page: &FetchedPage, numbers: &NumberFile) -> Result<bool> {
    let FetchedPage { post_id, content_hash, end, at } = page;
    let [text, html, origin, failure] = full_text_values(end);
    let transaction = connection.transaction().map_err(error)?;
    let written = match end {
        PageEnd::Retry { .. } => {
            execute(&transaction, &sql::NOTE_FULL_TEXT_ERROR, params![post_id.0, content_hash.0, failure])?
        }
        PageEnd::Article { .. } | PageEnd::GivenUp { .. } => {
            let number = one(&transaction, &NEXT_NUMBER, [], number)?;
            let row = params![post_id.0, content_hash.0, text, html, origin, failure, at, number];
            execute(&transaction, &PUT, row)?
        }
    };
    execute(&transaction, &LEAVE_QUEUE, [post_id.0])?;
    numbers.cover(&transaction)?;
    transaction.commit().map_err(error)?;
    Ok(written > 0)
}
