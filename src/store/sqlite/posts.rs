//! Posts in SQLite.

use async_trait::async_trait;
use rusqlite::{Connection, params};

use crate::model::{EntryQuery, KnownEntries, Post, PostId, PostSource, SourceId, Timestamp};

use super::super::post_row::{read_post, read_post_source};
use super::super::rows::{first_after, storable};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{PostStore, Result};
use super::values::{all, one};
use super::{SqliteStore, known};

static LIST_OF_SOURCE_BETWEEN: Statement =
    Statement::new(include_str!("../../../sql/sqlite/list_posts_of_source_between.sql"));

static SOURCES: Statement = Statement::new(include_str!("../../../sql/sqlite/sources_of_posts.sql"));

#[async_trait]
impl PostStore for SqliteStore {
    async fn post(&self, id: PostId) -> Result<Option<Post>> {
        self.readers.run(move |connection| one(connection, &sql::POST, [id.0], |row| read_post(row))).await
    }

    async fn sources_of_posts(&self, ids: Vec<SourceId>) -> Result<Vec<PostSource>> {
        let ids = serde_json::Value::from_iter(ids.iter().map(|id| id.0)).to_string();
        self.readers.run(move |connection| all(connection, &SOURCES, [ids], |row| read_post_source(row))).await
    }

    async fn known_entries(&self, queries: Vec<EntryQuery>) -> Result<Vec<KnownEntries>> {
        let look_up = move |connection: &mut Connection| {
            queries.iter().map(|query| known::known_entries(connection, query)).collect()
        };
        self.readers.run(look_up).await
    }

    async fn list_changes(&self, after: i64, limit: u32) -> Result<Vec<Post>> {
        let listing = move |connection: &mut Connection| {
            all(connection, &sql::LIST_CHANGES, params![after, limit], |row| read_post(row))
        };
        self.readers.run(listing).await
    }

    async fn list_posts(&self, source: Option<SourceId>, after: Option<PostId>, limit: u32) -> Result<Vec<Post>> {
        let after = after.map_or(0, |id| id.0);
        let listing = move |connection: &mut Connection| match source {
            None => all(connection, &sql::LIST_POSTS, params![after, limit], |row| read_post(row)),
            Some(source) => {
                let parameters = params![source.0, after, limit];
                all(connection, &sql::LIST_POSTS_OF_SOURCE, parameters, |row| read_post(row))
            }
        };
        self.readers.run(listing).await
    }

    async fn list_posts_before(
        &self,
        source: Option<SourceId>,
        before: Option<PostId>,
        limit: u32,
    ) -> Result<Vec<Post>> {
        let before = before.map_or(i64::MAX, |id| id.0);
        let listing = move |connection: &mut Connection| match source {
            None => all(connection, &sql::LIST_POSTS_BEFORE, params![before, limit], |row| read_post(row)),
            Some(source) => {
                let parameters = params![source.0, before, limit];
                all(connection, &sql::LIST_POSTS_OF_SOURCE_BEFORE, parameters, |row| read_post(row))
            }
        };
        self.readers.run(listing).await
    }

    async fn newest_posts_with_label(&self, label: &str, limit: u32) -> Result<Vec<Post>> {
        let label = storable(label).into_owned();
        let listing = move |connection: &mut Connection| {
            all(connection, &sql::NEWEST_POSTS_WITH_LABEL, params![label, limit], |row| read_post(row))
        };
        self.readers.run(listing).await
    }

    async fn list_posts_between(
        &self,
        source: Option<SourceId>,
        since: Timestamp,
        until: Timestamp,
        after: Option<(Timestamp, PostId)>,
        limit: u32,
    ) -> Result<Vec<Post>> {
        let (moment, id) = first_after(since, after);
        let listing = move |connection: &mut Connection| match source {
            None => {
                let parameters = params![moment, id.0, until, limit];
                all(connection, &sql::LIST_POSTS_BETWEEN, parameters, |row| read_post(row))
            }
            Some(source) => {
                let parameters = params![source.0, moment, id.0, until, limit];
                all(connection, &LIST_OF_SOURCE_BETWEEN, parameters, |row| read_post(row))
            }
        };
        self.readers.run(listing).await
    }
}
