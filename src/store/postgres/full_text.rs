//! Posts that wait for their pages, in PostgreSQL.

use async_trait::async_trait;
use futures_util::future::join;
use tokio_postgres::types::ToSql;

use crate::model::{FetchedPage, HostKey, PageEnd, PostId, QueuedPage, Settlement, Shard, Timestamp};

use super::super::post_row::{full_text_values, read_queued_page};
use super::super::rows::{Columns, required};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{FullTextStore, Result};
use super::PostgresStore;
use super::session::Session;
use super::values::{all, execute, number, one};

static HOSTS: Statement = Statement::new(include_str!("../../../sql/postgres/full_text_hosts.sql"));
pub(super) static QUEUE: Statement = Statement::new(include_str!("../../../sql/postgres/queue_pages.sql"));
static LEAVE_QUEUE: Statement = Statement::new(include_str!("../../../sql/postgres/leave_full_text_queue.sql"));
static PUT: Statement = Statement::new(include_str!("../../../sql/postgres/put_full_text.sql"));

#[async_trait]
impl FullTextStore for PostgresStore {
    async fn full_text_hosts(&self, shards: &[Shard], limit: u32) -> Result<Vec<(HostKey, Timestamp)>> {
        let shards: Vec<i32> = shards.iter().map(|shard| shard.0.into()).collect();
        all(&self.client().await?, &HOSTS, &[&i64::from(limit), &shards], |row| {
            Ok((HostKey::from_canonical(&required(row.text()?)?), required(row.time()?)?))
        })
        .await
    }

    async fn next_full_text(&self, host: &HostKey, now: Timestamp) -> Result<Option<QueuedPage>> {
        let client = self.client().await?;
        one(&client, &sql::NEXT_FULL_TEXT, &[&host.as_str(), &now], |row| read_queued_page(row)).await
    }

    async fn begin_full_text(&self, page: &QueuedPage, retry_at: Timestamp) -> Result<bool> {
        let (id, attempts) = (page.post.id.0, i64::from(page.attempts));
        Ok(execute(&self.client().await?, &sql::BEGIN_FULL_TEXT, &[&id, &attempts, &retry_at]).await? > 0)
    }

    async fn drop_full_text(&self, post: PostId) -> Result<()> {
        execute(&self.client().await?, &sql::DROP_FULL_TEXT, &[&post.0]).await.map(|_| ())
    }

    async fn correct_full_texts(&self, now: Timestamp, due_max: Timestamp, queued_max: Timestamp) -> Result<()> {
        let client = self.client().await?;
        execute(&client, &sql::CORRECT_FULL_TEXTS, &[&now, &due_max, &queued_max]).await.map(|_| ())
    }

    async fn defer_full_texts(&self, host: &HostKey, until: Timestamp) -> Result<()> {
        execute(&self.client().await?, &sql::DEFER_FULL_TEXTS, &[&host.as_str(), &until]).await.map(|_| ())
    }

    async fn finish_full_text(&self, page: FetchedPage) -> Result<bool> {
        let FetchedPage { post_id, content_hash, end, at } = &page;
        let (hash, [text, html, origin, failure]) = (content_hash.0.as_slice(), full_text_values(end));
        let client = self.client().await?;
        let transaction = client.pipelined_transaction().await?;
        execute(&transaction, &LEAVE_QUEUE, &[&post_id.0]).await?;
        match end {
            PageEnd::Retry { .. } => transaction.prepare(&sql::NOTE_FULL_TEXT_ERROR).await?,
            PageEnd::Article { .. } | PageEnd::GivenUp { .. } => transaction.prepare(&PUT).await?,
        }
        let writing = async {
            match end {
                PageEnd::Retry { .. } => {
                    Ok(execute(&transaction, &sql::NOTE_FULL_TEXT_ERROR, &[&post_id.0, &hash, &failure]).await? > 0)
                }
                PageEnd::Article { .. } | PageEnd::GivenUp { .. } => {
                    let row: [&(dyn ToSql + Sync); 7] = [&post_id.0, &hash, &text, &html, &origin, &failure, at];
                    Ok(!all(&transaction, &PUT, &row, number).await?.is_empty())
                }
            }
        };
        // Together, so that the turn of those that change posts is not held for a round trip.
        let (is_written, committed) = join(writing, transaction.commit()).await;
        match is_written.and_then(|is_written| committed.map(|()| is_written)) {
            Ok(is_written) => {
                transaction.end();
                Ok(is_written)
            }
            Err(error) => {
                let _ = transaction.rollback().await;
                Err(error)
            }
        }
    }
}

/// Makes posts of these settlements wait for their pages.
pub(super) async fn queue(transaction: &impl Session, settlements: &[&Settlement]) -> Result<()> {
    let wanted = || settlements.iter().flat_map(|one| one.pages.iter().map(move |page| (*one, page)));
    let sources: Vec<i64> = wanted().map(|(settlement, _)| settlement.source_id.0).collect();
    if sources.is_empty() {
        return Ok(());
    }
    let keys: Vec<i64> = wanted().map(|(_, page)| page.key.0).collect();
    let hosts: Vec<&str> = wanted().map(|(_, page)| page.host.as_str()).collect();
    let times: Vec<Timestamp> = wanted().map(|(settlement, _)| settlement.settled_at).collect();
    execute(transaction, &QUEUE, &[&sources, &keys, &hosts, &times]).await.map(|_| ())
}
