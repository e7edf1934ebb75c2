//! Posts in PostgreSQL.

use async_trait::async_trait;
use tokio_postgres::types::{ToSql, Type};

use crate::model::{EntryQuery, KnownEntries, Post, PostId, PostSource, SourceId, Timestamp};

use super::super::post_row::{read_post, read_post_source};
use super::super::rows::{first_after, storable};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{PostStore, Result};
use super::values::{all, all_planned_anew, one};
use super::{PostgresStore, known};

static LIST_OF_SOURCE_BETWEEN: Statement =
    Statement::new(include_str!("../../../sql/postgres/list_posts_of_source_between.sql"));

static SOURCES: Statement = Statement::new(include_str!("../../../sql/postgres/sources_of_posts.sql"));

#[async_trait]
impl PostStore for PostgresStore {
    async fn post(&self, id: PostId) -> Result<Option<Post>> {
        one(&*self.client().await?, &sql::POST, &[&id.0], |row| read_post(row)).await
    }

    async fn sources_of_posts(&self, ids: Vec<SourceId>) -> Result<Vec<PostSource>> {
        let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
        let client = self.client().await?;
        all_planned_anew(&client, &SOURCES, (&ids, Type::INT8_ARRAY), |row| read_post_source(row)).await
    }

    async fn known_entries(&self, queries: Vec<EntryQuery>) -> Result<Vec<KnownEntries>> {
        known::known_entries(&*self.client().await?, &queries).await
    }

    async fn list_changes(&self, after: i64, limit: u32) -> Result<Vec<Post>> {
        let limit = i64::from(limit);
        all(&*self.client().await?, &sql::LIST_CHANGES, &[&after, &limit], |row| read_post(row)).await
    }

    async fn list_posts(&self, source: Option<SourceId>, after: Option<PostId>, limit: u32) -> Result<Vec<Post>> {
        let client = &*self.client().await?;
        let (after, limit) = (after.map_or(0, |id| id.0), i64::from(limit));
        match source {
            None => all(client, &sql::LIST_POSTS, &[&after, &limit], |row| read_post(row)).await,
            Some(source) => {
                all(client, &sql::LIST_POSTS_OF_SOURCE, &[&source.0, &after, &limit], |row| read_post(row)).await
            }
        }
    }

    async fn list_posts_before(
        &self,
        source: Option<SourceId>,
        before: Option<PostId>,
        limit: u32,
    ) -> Result<Vec<Post>> {
        let client = &*self.client().await?;
        let (before, limit) = (before.map_or(i64::MAX, |id| id.0), i64::from(limit));
        match source {
            None => all(client, &sql::LIST_POSTS_BEFORE, &[&before, &limit], |row| read_post(row)).await,
            Some(source) => {
                let parameters: [&(dyn ToSql + Sync); 3] = [&source.0, &before, &limit];
                all(client, &sql::LIST_POSTS_OF_SOURCE_BEFORE, &parameters, |row| read_post(row)).await
            }
        }
    }

    async fn newest_posts_with_label(&self, label: &str, limit: u32) -> Result<Vec<Post>> {
        let (label, limit) = (storable(label), i64::from(limit));
        all(&*self.client().await?, &sql::NEWEST_POSTS_WITH_LABEL, &[&label, &limit], |row| read_post(row)).await
    }

    async fn list_posts_between(
        &self,
        source: Option<SourceId>,
        since: Timestamp,
        until: Timestamp,
        after: Option<(Timestamp, PostId)>,
        limit: u32,
    ) -> Result<Vec<Post>> {
        let client = &*self.client().await?;
        let ((moment, id), limit) = (first_after(since, after), i64::from(limit));
        match source {
            None => {
                let parameters: [&(dyn ToSql + Sync); 4] = [&moment, &id.0, &until, &limit];
                all(client, &sql::LIST_POSTS_BETWEEN, &parameters, |row| read_post(row)).await
            }
            Some(source) => {
                let parameters: [&(dyn ToSql + Sync); 5] = [&source.0, &moment, &id.0, &until, &limit];
                all(client, &LIST_OF_SOURCE_BETWEEN, &parameters, |row| read_post(row)).await
            }
        }
    }
}
