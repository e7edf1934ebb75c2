//! One bounded step of cleaning in PostgreSQL.

use tokio_postgres::types::ToSql;

use crate::model::{Cleaned, Cutoffs};

use super::super::Result;
use super::super::rows::{Columns, required};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::session::Lease;
use super::values::{all, execute, number};

static CLEAN_ARTICLES: Statement = Statement::new(include_str!("../../../sql/postgres/clean_articles.sql"));
static OLD_POSTS: Statement = Statement::new(include_str!("../../../sql/postgres/old_posts.sql"));
static CLEAN_POSTS: Statement = Statement::new(include_str!("../../../sql/postgres/clean_posts.sql"));
static REMEMBER_POSTS: Statement = Statement::new(include_str!("../../../sql/postgres/remember_posts.sql"));
static KEEP_HASHES: Statement = Statement::new(include_str!("../../../sql/postgres/keep_hashes.sql"));
static FORGET_HASHES: Statement = Statement::new(include_str!("../../../sql/postgres/forget_hashes.sql"));

pub(super) async fn step(client: &mut Lease, cutoffs: &Cutoffs, limit: u32) -> Result<Cleaned> {
    let rows = i64::from(limit);
    let transaction = client.transaction().await?;
    let articles = execute(&transaction, &CLEAN_ARTICLES, &[&cutoffs.articles_before, &rows]).await?;
    let old = all(&transaction, &OLD_POSTS, &[&cutoffs.posts_before, &rows], number).await?;
    let removed: Vec<(i64, Vec<u8>, i64)> = all(&transaction, &CLEAN_POSTS, &[&old], |row| {
        Ok((required(row.integer()?)?, row.bytes()?, required(row.integer()?)?))
    })
    .await?;
    let sources: Vec<i64> = removed.iter().map(|(source, ..)| *source).collect();
    let hashes: Vec<&[u8]> = removed.iter().map(|(_, hash, _)| hash.as_slice()).collect();
    let keys: Vec<i64> = removed.iter().map(|(.., key)| *key).collect();
    let times = vec![cutoffs.now; removed.len()];
    execute(&transaction, &REMEMBER_POSTS, &[&sources, &hashes, &keys, &times]).await?;
    let kept = execute(&transaction, &KEEP_HASHES, &[&cutoffs.hashes_before, &rows, &cutoffs.now]).await?;
    let forgotten = execute(&transaction, &FORGET_HASHES, &[&cutoffs.hashes_before, &rows]).await?;
    let robots = execute(&transaction, &sql::CLEAN_ROBOTS, &[&cutoffs.robots_before, &rows]).await?;
    let row: [&(dyn ToSql + Sync); 3] = [&cutoffs.audit_before, &cutoffs.audit_records_max, &rows];
    let audit_records = execute(&transaction, &sql::CLEAN_AUDIT, &row).await?;
    let row: [&(dyn ToSql + Sync); 3] = [&cutoffs.events_before, &cutoffs.events_max, &rows];
    let events = all(&transaction, &sql::CLEAN_EVENTS, &row, number).await?;
    if let Some(last) = events.iter().max() {
        execute(&transaction, &sql::NOTE_EVENTS_REMOVED, &[last]).await?;
    }
    transaction.commit().await?;
    let full = |count: u64| count >= u64::from(limit);
    Ok(Cleaned {
        articles,
        posts: removed.len() as u64,
        hashes: forgotten,
        robots,
        audit_records,
        events: events.len() as u64,
        more: full(articles)
            || full(old.len() as u64)
            || full(kept + forgotten)
            || full(robots)
            || full(audit_records)
            || full(events.len() as u64),
    })
}
