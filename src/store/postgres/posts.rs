//! Posts in PostgreSQL.

use async_trait::async_trait;
use tokio_postgres::types::{ToSql, Type};

use crate::model::{EntryQuery, KnownEntries, Post, PostId, PostRevision, PostSource, RowKey, SourceId, Timestamp};

use super::super::post_pages::{PageIds, like_pattern, read_size};
use super::super::post_row::{read_post, read_post_source, read_revision};
use super::super::quarantine::POSTS;
use super::super::rows::{Columns, first_after, storable};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{PageBounds, PostMatch, PostPage, PostSelection, PostStore, Result};
use super::session::{Array, Transaction};
use super::values::{all, one, readable_planned_anew};
use super::{PostgresStore, known};

pub(super) static BY_ID: Statement = Statement::new(include_str!("../../../sql/postgres/posts_by_id.sql"));
static LIST_OF_SOURCE_BETWEEN: Statement =
    Statement::new(include_str!("../../../sql/postgres/list_posts_of_source_between.sql"));

static SOURCES: Statement = Statement::new(include_str!("../../../sql/postgres/sources_of_posts.sql"));

#[async_trait]
impl PostStore for PostgresStore {
    async fn post(&self, id: PostId) -> Result<Option<Post>> {
        let found = one(&self.client().await?, &sql::POST, &[&id.0], |row| read_post(row)).await;
        self.quarantine.note_one(POSTS, RowKey::Id(id.0), &found);
        found
    }

    async fn post_revisions(&self, id: PostId, bytes_max: u64) -> Result<Vec<PostRevision>> {
        let bytes_max = i64::try_from(bytes_max).unwrap_or(i64::MAX);
        all(&self.client().await?, &sql::POST_REVISIONS, &[&id.0, &bytes_max], |row| read_revision(row)).await
    }

    async fn sources_of_posts(&self, ids: Vec<SourceId>) -> Result<Vec<PostSource>> {
        let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
        let client = self.client().await?;
        let array: Array<'_> = (&ids, Type::INT8_ARRAY);
        let found = readable_planned_anew(&client, &SOURCES, array, |row| read_post_source(row)).await?;
        // A source that cannot be read is met, and reported, where all of its columns are.
        Ok(found.into_iter().flatten().collect())
    }

    async fn known_entries(&self, queries: Vec<EntryQuery>) -> Result<Vec<KnownEntries>> {
        known::known_entries(&self.client().await?, &queries, &self.quarantine).await
    }

    async fn posts_page(&self, selection: PostSelection, bounds: PageBounds) -> Result<PostPage> {
        let (mut client, mut reach) = (self.client().await?, bounds);
        loop {
            let transaction = client.snapshot().await?;
            let ids = PageIds::new(sizes(&transaction, selection.clone(), reach.rows).await?, reach);
            let array: Array<'_> = (&ids.ids, Type::INT8_ARRAY);
            let posts = match ids.ids.is_empty() {
                true => Vec::new(),
                false => readable_planned_anew(&transaction, &BY_ID, array, |row| read_post(row)).await?,
            };
            transaction.rollback().await?;
            let posts = self.quarantine.sift_posts(posts);
            match ids.wider(reach, posts.len()) {
                Some(wider) => reach = wider,
                None if reach == bounds => return Ok(ids.page(posts)),
                None => return Ok(ids.page(posts).first()),
            }
        }
    }

    async fn count_posts(&self) -> Result<u64> {
        let count = one(&self.client().await?, &sql::COUNT_POSTS, &[], |row| row.number()).await?;
        Ok(count.flatten().unwrap_or(0))
    }

    async fn count_posts_of_source(&self, source: SourceId) -> Result<u64> {
        let count = one(&self.client().await?, &sql::COUNT_POSTS_OF_SOURCE, &[&source.0], |row| row.number()).await?;
        Ok(count.flatten().unwrap_or(0))
    }

    async fn count_posts_since(&self, since: Timestamp) -> Result<u64> {
        let count = one(&self.client().await?, &sql::COUNT_POSTS_SINCE, &[&since], |row| row.number()).await?;
        Ok(count.flatten().unwrap_or(0))
    }

    async fn last_change_number(&self) -> Result<i64> {
        let number = one(&self.client().await?, &sql::LAST_CHANGE_NUMBER, &[], |row| row.integer()).await?;
        Ok(number.flatten().unwrap_or(0))
    }
}

/// Ids and sizes of the selected posts.
async fn sizes(client: &Transaction<'_>, selection: PostSelection, rows: u32) -> Result<Vec<(i64, i64)>> {
    let rows = i64::from(rows);
    let read = async |statement: &Statement, parameters: &[&(dyn ToSql + Sync)]| {
        all(client, statement, parameters, |row| read_size(row)).await
    };
    match selection {
        PostSelection::After { source: None, after } => read(&sql::LIST_POSTS, &[&after.0, &rows]).await,
        PostSelection::After { source: Some(source), after } => {
            read(&sql::LIST_POSTS_OF_SOURCE, &[&source.0, &after.0, &rows]).await
        }
        PostSelection::Before { source: None, before } => read(&sql::LIST_POSTS_BEFORE, &[&before.0, &rows]).await,
        PostSelection::Before { source: Some(source), before } => {
            read(&sql::LIST_POSTS_OF_SOURCE_BEFORE, &[&source.0, &before.0, &rows]).await
        }
        PostSelection::Between { source, since, until, after } => {
            let (moment, id) = first_after(since, after);
            match source {
                None => read(&sql::LIST_POSTS_BETWEEN, &[&moment, &id.0, &until, &rows]).await,
                Some(source) => read(&LIST_OF_SOURCE_BETWEEN, &[&source.0, &moment, &id.0, &until, &rows]).await,
            }
        }
        PostSelection::Changes { source: None, after } => read(&sql::LIST_CHANGES, &[&after, &rows]).await,
        PostSelection::Changes { source: Some(source), after } => {
            read(&sql::LIST_CHANGES_OF_SOURCE, &[&after, &rows, &source.0]).await
        }
        PostSelection::Matching(wanted) => search(client, &sql::SEARCH_POSTS, &wanted, rows).await,
        PostSelection::MatchingNewest(wanted) => search(client, &sql::SEARCH_POSTS_BEFORE, &wanted, rows).await,
    }
}

async fn search(
    client: &Transaction<'_>,
    statement: &Statement,
    wanted: &PostMatch,
    rows: i64,
) -> Result<Vec<(i64, i64)>> {
    let PostMatch { after, before, source, label, text, since, until } = wanted;
    let (source, label) = (source.map(|source| source.0), label.as_deref().map(storable));
    let pattern = text.as_deref().map(|text| like_pattern(&storable(text)));
    let parameters: [&(dyn ToSql + Sync); 8] = [&after.0, &before.0, &source, &label, &pattern, &rows, since, until];
    all(client, statement, &parameters, |row| read_size(row)).await
}
