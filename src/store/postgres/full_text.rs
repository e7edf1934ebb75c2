//! Posts that wait for their pages, in PostgreSQL.

use async_trait::async_trait;
use tokio_postgres::types::ToSql;

use crate::model::{FetchedPage, HostKey, PageEnd, PostId, QueuedPage, Settlement, Timestamp};

use super::super::post_row::{full_text_values, read_queued_page};
use super::super::rows::{Columns, required};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{FullTextStore, Result};
use super::PostgresStore;
use super::session::Transaction;
use super::settle::{News, notify};
use super::values::{all, execute, number, one};

static QUEUE: Statement = Statement::new(include_str!("../../../sql/postgres/queue_pages.sql"));
static PUT: Statement = Statement::new(include_str!("../../../sql/postgres/put_full_text.sql"));

#[async_trait]
impl FullTextStore for PostgresStore {
    async fn full_text_hosts(&self, limit: u32) -> Result<Vec<(HostKey, Timestamp)>> {
        all(&self.client().await?, &sql::FULL_TEXT_HOSTS, &[&i64::from(limit)], |row| {
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
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let is_written = match end {
            PageEnd::Retry { .. } => {
                execute(&transaction, &sql::NOTE_FULL_TEXT_ERROR, &[&post_id.0, &hash, &failure]).await? > 0
            }
            PageEnd::Article { .. } | PageEnd::GivenUp { .. } => {
                let row: [&(dyn ToSql + Sync); 7] = [&post_id.0, &hash, &text, &html, &origin, &failure, at];
                let numbers = all(&transaction, &PUT, &row, number).await?;
                let mut news = News::default();
                news.note_changes(&numbers);
                notify(&transaction, &news).await?;
                !numbers.is_empty()
            }
        };
        execute(&transaction, &sql::LEAVE_FULL_TEXT_QUEUE, &[&post_id.0]).await?;
        transaction.commit().await?;
        Ok(is_written)
    }
}

/// Makes posts of these settlements wait for their pages.
pub(super) async fn queue(transaction: &Transaction<'_>, settlements: &[&Settlement]) -> Result<()> {
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
