//! Posts in SQLite.

use async_trait::async_trait;
use rusqlite::{Connection, ToSql, TransactionBehavior, params};

use crate::model::{EntryQuery, KnownEntries, Post, PostId, PostRevision, PostSource, RowKey, SourceId, Timestamp};

use super::super::post_pages::{PageIds, like_pattern, read_size};
use super::super::post_row::{read_post, read_post_source, read_revision};
use super::super::quarantine::POSTS;
use super::super::rows::{Columns, first_after, storable};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{PageBounds, PostMatch, PostPage, PostSelection, PostStore, Result};
use super::values::{all, error, one, readable};
use super::{SqliteStore, known};

pub(super) static BY_ID: Statement = Statement::new(include_str!("../../../sql/sqlite/posts_by_id.sql"));
static LIST_OF_SOURCE_BETWEEN: Statement =
    Statement::new(include_str!("../../../sql/sqlite/list_posts_of_source_between.sql"));

static SOURCES: Statement = Statement::new(include_str!("../../../sql/sqlite/sources_of_posts.sql"));

#[async_trait]
impl PostStore for SqliteStore {
    async fn post(&self, id: PostId) -> Result<Option<Post>> {
        let reading = move |connection: &mut Connection| one(connection, &sql::POST, [id.0], |row| read_post(row));
        let found = self.readers.run(reading).await;
        self.quarantine.note_one(POSTS, RowKey::Id(id.0), &found);
        found
    }

    async fn post_revisions(&self, id: PostId, bytes_max: u64) -> Result<Vec<PostRevision>> {
        let bytes_max = i64::try_from(bytes_max).unwrap_or(i64::MAX);
        let reading = move |connection: &mut Connection| {
            all(connection, &sql::POST_REVISIONS, [id.0, bytes_max], |row| read_revision(row))
        };
        self.readers.run(reading).await
    }

    async fn sources_of_posts(&self, ids: Vec<SourceId>) -> Result<Vec<PostSource>> {
        let ids = serde_json::Value::from_iter(ids.iter().map(|id| id.0)).to_string();
        let reading =
            move |connection: &mut Connection| readable(connection, &SOURCES, [ids], |row| read_post_source(row));
        // A source that cannot be read is met, and reported, where all of its columns are.
        Ok(self.readers.run(reading).await?.into_iter().flatten().collect())
    }

    async fn known_entries(&self, queries: Vec<EntryQuery>) -> Result<Vec<KnownEntries>> {
        let quarantine = self.quarantine.clone();
        let look_up = move |connection: &mut Connection| {
            // One transaction for all questions: each has its price.
            let reading = connection.transaction_with_behavior(TransactionBehavior::Deferred).map_err(error)?;
            queries.iter().map(|query| known::known_entries(&reading, query, &quarantine)).collect()
        };
        // By the writer, whose cache has the pages of the last settlements; a reader's is emptied by every commit.
        self.writer.run(look_up).await
    }

    async fn posts_page(&self, selection: PostSelection, bounds: PageBounds) -> Result<PostPage> {
        let mut reach = bounds;
        loop {
            let selection = selection.clone();
            let reading = move |connection: &mut Connection| {
                // One view of the database for both statements.
                let transaction = connection.transaction().map_err(error)?;
                let ids = PageIds::new(sizes(&transaction, selection, reach.rows)?, reach);
                let list = serde_json::Value::from_iter(ids.ids.iter().copied()).to_string();
                let posts = readable(&transaction, &BY_ID, [list], |row| read_post(row))?;
                Ok((ids, posts))
            };
            let (ids, posts) = self.readers.run(reading).await?;
            let posts = self.quarantine.sift_posts(posts);
            match ids.wider(reach, posts.len()) {
                Some(wider) => reach = wider,
                None if reach == bounds => return Ok(ids.page(posts)),
                None => return Ok(ids.page(posts).first()),
            }
        }
    }

    async fn count_posts(&self) -> Result<u64> {
        let counting = |connection: &mut Connection| one(connection, &sql::COUNT_POSTS, [], |row| row.number());
        Ok(self.readers.run(counting).await?.flatten().unwrap_or(0))
    }

    async fn count_posts_of_source(&self, source: SourceId) -> Result<u64> {
        let counting = move |connection: &mut Connection| {
            one(connection, &sql::COUNT_POSTS_OF_SOURCE, [source.0], |row| row.number())
        };
        Ok(self.readers.run(counting).await?.flatten().unwrap_or(0))
    }

    async fn count_posts_since(&self, since: Timestamp) -> Result<u64> {
        let counting =
            move |connection: &mut Connection| one(connection, &sql::COUNT_POSTS_SINCE, [since], |row| row.number());
        Ok(self.readers.run(counting).await?.flatten().unwrap_or(0))
    }

    async fn last_change_number(&self) -> Result<i64> {
        let reading = |connection: &mut Connection| one(connection, &sql::LAST_CHANGE_NUMBER, [], |row| row.integer());
        Ok(self.readers.run(reading).await?.flatten().unwrap_or(0))
    }
}

/// Ids and sizes of the selected posts.
fn sizes(connection: &Connection, selection: PostSelection, rows: u32) -> Result<Vec<(i64, i64)>> {
    let read =
        |statement: &Statement, parameters: &[&dyn ToSql]| all(connection, statement, parameters, |row| read_size(row));
    match selection {
        PostSelection::After { source: None, after } => read(&sql::LIST_POSTS, params![after.0, rows]),
        PostSelection::After { source: Some(source), after } => {
            read(&sql::LIST_POSTS_OF_SOURCE, params![source.0, after.0, rows])
        }
        PostSelection::Before { source: None, before } => read(&sql::LIST_POSTS_BEFORE, params![before.0, rows]),
        PostSelection::Before { source: Some(source), before } => {
            read(&sql::LIST_POSTS_OF_SOURCE_BEFORE, params![source.0, before.0, rows])
        }
        PostSelection::Between { source, since, until, after } => {
            let (moment, id) = first_after(since, after);
            match source {
                None => read(&sql::LIST_POSTS_BETWEEN, params![moment, id.0, until, rows]),
                Some(source) => read(&LIST_OF_SOURCE_BETWEEN, params![source.0, moment, id.0, until, rows]),
            }
        }
        PostSelection::Changes { source: None, after } => read(&sql::LIST_CHANGES, params![after, rows]),
        PostSelection::Changes { source: Some(source), after } => {
            read(&sql::LIST_CHANGES_OF_SOURCE, params![after, rows, source.0])
        }
        PostSelection::Matching(wanted) => search(connection, &sql::SEARCH_POSTS, &wanted, rows),
        PostSelection::MatchingNewest(wanted) => search(connection, &sql::SEARCH_POSTS_BEFORE, &wanted, rows),
    }
}

fn search(connection: &Connection, statement: &Statement, wanted: &PostMatch, rows: u32) -> Result<Vec<(i64, i64)>> {
    let PostMatch { after, before, source, label, text, since, until } = wanted;
    let (source, label) = (source.map(|source| source.0), label.as_deref().map(storable));
    let pattern = text.as_deref().map(like_pattern);
    let parameters = params![after.0, before.0, source, label, pattern, rows, since, until];
    all(connection, statement, parameters, |row| read_size(row))
}
