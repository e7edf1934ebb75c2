//! Posts and articles in SQLite.

use rusqlite::{Connection, params};

use crate::model::{Article, ArticleId, NewArticle, Post, PostId, SourceId, Timestamp};

use super::super::Result;
use super::super::rows::{first_after, read_article, read_post, required, storable};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::values::{all, execute, number, one as first};

static LIST_OF_SOURCE_BETWEEN: Statement =
    Statement::new(include_str!("../../../sql/sqlite/list_posts_of_source_between.sql"));

pub(super) fn one(connection: &Connection, id: PostId) -> Result<Option<Post>> {
    first(connection, &sql::POST, [id.0], |row| read_post(row))
}

pub(super) fn list(
    connection: &Connection,
    source: Option<SourceId>,
    after: Option<PostId>,
    limit: u32,
) -> Result<Vec<Post>> {
    let after = after.map_or(0, |id| id.0);
    match source {
        None => all(connection, &sql::LIST_POSTS, params![after, limit], |row| read_post(row)),
        Some(source) => {
            all(connection, &sql::LIST_POSTS_OF_SOURCE, params![source.0, after, limit], |row| read_post(row))
        }
    }
}

pub(super) fn before(
    connection: &Connection,
    source: Option<SourceId>,
    before: Option<PostId>,
    limit: u32,
) -> Result<Vec<Post>> {
    let before = before.map_or(i64::MAX, |id| id.0);
    match source {
        None => all(connection, &sql::LIST_POSTS_BEFORE, params![before, limit], |row| read_post(row)),
        Some(source) => {
            all(connection, &sql::LIST_POSTS_OF_SOURCE_BEFORE, params![source.0, before, limit], |row| read_post(row))
        }
    }
}

pub(super) fn newest_with_label(connection: &Connection, label: &str, limit: u32) -> Result<Vec<Post>> {
    all(connection, &sql::NEWEST_POSTS_WITH_LABEL, params![label, limit], |row| read_post(row))
}

pub(super) fn between(
    connection: &Connection,
    source: Option<SourceId>,
    since: Timestamp,
    until: Timestamp,
    after: Option<(Timestamp, PostId)>,
    limit: u32,
) -> Result<Vec<Post>> {
    let (moment, id) = first_after(since, after);
    match source {
        None => all(connection, &sql::LIST_POSTS_BETWEEN, params![moment, id.0, until, limit], |row| read_post(row)),
        Some(source) => {
            let parameters = params![source.0, moment, id.0, until, limit];
            all(connection, &LIST_OF_SOURCE_BETWEEN, parameters, |row| read_post(row))
        }
    }
}

pub(super) fn add_article(connection: &Connection, new: &NewArticle) -> Result<ArticleId> {
    let row = params![
        new.podcast_id.map(|podcast| podcast.0),
        storable(&new.title),
        storable(&new.body),
        new.url.as_deref().map(storable),
        new.published_at,
        new.created_at,
    ];
    required(first(connection, &sql::ADD_ARTICLE, row, number)?).map(ArticleId)
}

pub(super) fn article(connection: &Connection, id: ArticleId) -> Result<Option<Article>> {
    first(connection, &sql::ARTICLE, [id.0], |row| read_article(row))
}

pub(super) fn list_articles(connection: &Connection, after: Option<ArticleId>, limit: u32) -> Result<Vec<Article>> {
    all(connection, &sql::LIST_ARTICLES, params![after.map_or(0, |id| id.0), limit], |row| read_article(row))
}

pub(super) fn link(connection: &Connection, article: ArticleId, post: PostId) -> Result<()> {
    execute(connection, &sql::LINK_POST, params![article.0, post.0]).map(|_| ())
}

pub(super) fn of_article(connection: &Connection, article: ArticleId) -> Result<Vec<PostId>> {
    Ok(all(connection, &sql::POSTS_OF_ARTICLE, [article.0], number)?.into_iter().map(PostId).collect())
}

pub(super) fn mark_processed(connection: &Connection, article: ArticleId) -> Result<bool> {
    Ok(execute(connection, &sql::MARK_PROCESSED, [article.0])? > 0)
}
