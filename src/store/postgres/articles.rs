//! Articles in PostgreSQL.

use async_trait::async_trait;
use tokio_postgres::types::ToSql;

use crate::model::{Article, ArticleId, NewArticle, PostId};

use super::super::rows::{read_article, required, storable};
use super::super::shared_sql as sql;
use super::super::{ArticleStore, Result};
use super::PostgresStore;
use super::values::{all, execute, number, one};

#[async_trait]
impl ArticleStore for PostgresStore {
    async fn add_article(&self, new: NewArticle) -> Result<ArticleId> {
        let podcast = new.podcast_id.map(|podcast| podcast.0);
        let (title, body, url) = (storable(&new.title), storable(&new.body), new.url.as_deref().map(storable));
        let row: [&(dyn ToSql + Sync); 6] = [&podcast, &title, &body, &url, &new.published_at, &new.created_at];
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let id = ArticleId(required(one(&transaction, &sql::ADD_ARTICLE, &row, number).await?)?);
        self.commit(transaction, &id).await?;
        Ok(id)
    }

    async fn article(&self, id: ArticleId) -> Result<Option<Article>> {
        one(&self.client().await?, &sql::ARTICLE, &[&id.0], |row| read_article(row)).await
    }

    async fn list_articles(&self, after: Option<ArticleId>, limit: u32) -> Result<Vec<Article>> {
        let (after, limit) = (after.map_or(0, |id| id.0), i64::from(limit));
        all(&self.client().await?, &sql::LIST_ARTICLES, &[&after, &limit], |row| read_article(row)).await
    }

    async fn link_post(&self, article: ArticleId, post: PostId) -> Result<()> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        execute(&transaction, &sql::LINK_POST, &[&article.0, &post.0]).await?;
        self.commit(transaction, &()).await
    }

    async fn posts_of_article(&self, article: ArticleId) -> Result<Vec<PostId>> {
        let client = self.client().await?;
        all(&client, &sql::POSTS_OF_ARTICLE, &[&article.0], |row| number(row).map(PostId)).await
    }

    async fn mark_processed(&self, article: ArticleId) -> Result<bool> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let is_found = execute(&transaction, &sql::MARK_PROCESSED, &[&article.0]).await? > 0;
        self.commit(transaction, &is_found).await?;
        Ok(is_found)
    }
}
