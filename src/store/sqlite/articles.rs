//! Articles in SQLite.

use async_trait::async_trait;
use rusqlite::params;

use crate::model::{Article, ArticleId, NewArticle, PostId};

use super::super::rows::{read_article, required, storable};
use super::super::shared_sql as sql;
use super::super::{ArticleStore, Result};
use super::SqliteStore;
use super::values::{all, execute, number, one};

#[async_trait]
impl ArticleStore for SqliteStore {
    async fn add_article(&self, new: NewArticle) -> Result<ArticleId> {
        self.change(move |transaction| {
            let row = params![
                new.podcast_id.map(|podcast| podcast.0),
                storable(&new.title),
                storable(&new.body),
                new.url.as_deref().map(storable),
                new.published_at,
                new.created_at,
            ];
            required(one(transaction, &sql::ADD_ARTICLE, row, number)?).map(ArticleId)
        })
        .await
    }

    async fn article(&self, id: ArticleId) -> Result<Option<Article>> {
        self.readers.run(move |connection| one(connection, &sql::ARTICLE, [id.0], |row| read_article(row))).await
    }

    async fn list_articles(&self, after: Option<ArticleId>, limit: u32) -> Result<Vec<Article>> {
        let after = after.map_or(0, |id| id.0);
        self.readers
            .run(move |connection| all(connection, &sql::LIST_ARTICLES, params![after, limit], |row| read_article(row)))
            .await
    }

    async fn link_post(&self, article: ArticleId, post: PostId) -> Result<()> {
        self.change(move |transaction| execute(transaction, &sql::LINK_POST, params![article.0, post.0]).map(|_| ()))
            .await
    }

    async fn posts_of_article(&self, article: ArticleId) -> Result<Vec<PostId>> {
        self.readers
            .run(move |connection| all(connection, &sql::POSTS_OF_ARTICLE, [article.0], |row| number(row).map(PostId)))
            .await
    }

    async fn mark_processed(&self, article: ArticleId) -> Result<bool> {
        self.change(move |transaction| Ok(execute(transaction, &sql::MARK_PROCESSED, [article.0])? > 0)).await
    }
}
