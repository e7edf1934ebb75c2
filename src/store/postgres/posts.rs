//! Posts and articles in PostgreSQL.

use deadpool_postgres::Client;

use crate::model::{Article, ArticleId, NewArticle, Post, PostId, SourceId, Timestamp};

use super::super::Result;
use super::super::rows::{first_after, read_article, read_post, required, storable};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::values::{all, execute, number, one as first};

static LIST_OF_SOURCE_BETWEEN: Statement =
    Statement::new(include_str!("../../../sql/postgres/list_posts_of_source_between.sql"));

pub(super) async fn one(client: &Client, id: PostId) -> Result<Option<Post>> {
    first(client, &sql::POST, &[&id.0], |row| read_post(row)).await
}

pub(super) async fn list(
    client: &Client,
    source: Option<SourceId>,
    after: Option<PostId>,
    limit: u32,
) -> Result<Vec<Post>> {
    let (after, limit) = (after.map_or(0, |id| id.0), i64::from(limit));
    match source {
        None => all(client, &sql::LIST_POSTS, &[&after, &limit], |row| read_post(row)).await,
        Some(source) => {
            all(client, &sql::LIST_POSTS_OF_SOURCE, &[&source.0, &after, &limit], |row| read_post(row)).await
        }
    }
}

pub(super) async fn before(
    client: &Client,
    source: Option<SourceId>,
    before: Option<PostId>,
    limit: u32,
) -> Result<Vec<Post>> {
    let (before, limit) = (before.map_or(i64::MAX, |id| id.0), i64::from(limit));
    match source {
        None => all(client, &sql::LIST_POSTS_BEFORE, &[&before, &limit], |row| read_post(row)).await,
        Some(source) => {
            all(client, &sql::LIST_POSTS_OF_SOURCE_BEFORE, &[&source.0, &before, &limit], |row| read_post(row)).await
        }
    }
}

pub(super) async fn newest_with_label(client: &Client, label: &str, limit: u32) -> Result<Vec<Post>> {
    all(client, &sql::NEWEST_POSTS_WITH_LABEL, &[&label, &i64::from(limit)], |row| read_post(row)).await
}

pub(super) async fn between(
    client: &Client,
    source: Option<SourceId>,
    since: Timestamp,
    until: Timestamp,
    after: Option<(Timestamp, PostId)>,
    limit: u32,
) -> Result<Vec<Post>> {
    let ((moment, id), limit) = (first_after(since, after), i64::from(limit));
    match source {
        None => all(client, &sql::LIST_POSTS_BETWEEN, &[&moment, &id.0, &until, &limit], |row| read_post(row)).await,
        Some(source) => {
            let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                [&source.0, &moment, &id.0, &until, &limit];
            all(client, &LIST_OF_SOURCE_BETWEEN, &parameters, |row| read_post(row)).await
        }
    }
}

pub(super) async fn add_article(client: &Client, new: &NewArticle) -> Result<ArticleId> {
    let podcast = new.podcast_id.map(|podcast| podcast.0);
    let (title, body, url) = (storable(&new.title), storable(&new.body), new.url.as_deref().map(storable));
    let added =
        first(client, &sql::ADD_ARTICLE, &[&podcast, &title, &body, &url, &new.published_at, &new.created_at], number)
            .await?;
    required(added).map(ArticleId)
}

pub(super) async fn article(client: &Client, id: ArticleId) -> Result<Option<Article>> {
    first(client, &sql::ARTICLE, &[&id.0], |row| read_article(row)).await
}

pub(super) async fn list_articles(client: &Client, after: Option<ArticleId>, limit: u32) -> Result<Vec<Article>> {
    all(client, &sql::LIST_ARTICLES, &[&after.map_or(0, |id| id.0), &i64::from(limit)], |row| read_article(row)).await
}

pub(super) async fn link(client: &Client, article: ArticleId, post: PostId) -> Result<()> {
    execute(client, &sql::LINK_POST, &[&article.0, &post.0]).await.map(|_| ())
}

pub(super) async fn of_article(client: &Client, article: ArticleId) -> Result<Vec<PostId>> {
    Ok(all(client, &sql::POSTS_OF_ARTICLE, &[&article.0], number).await?.into_iter().map(PostId).collect())
}

pub(super) async fn mark_processed(client: &Client, article: ArticleId) -> Result<bool> {
    Ok(execute(client, &sql::MARK_PROCESSED, &[&article.0]).await? > 0)
}
