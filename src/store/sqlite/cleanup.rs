//! One bounded step of cleaning in SQLite.

use rusqlite::{Connection, params};

use crate::model::{Cleaned, Cutoffs};

use super::super::Result;
use super::super::post_row::read_hash;
use super::super::rows::{Columns, required};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::values::{all, error, execute, number, one};

static CLEAN_ARTICLES: Statement = Statement::new(include_str!("../../../sql/sqlite/clean_articles.sql"));
static OLD_POSTS: Statement = Statement::new(include_str!("../../../sql/sqlite/old_posts.sql"));
static CLEAN_POSTS: Statement = Statement::new(include_str!("../../../sql/sqlite/clean_posts.sql"));
static REMEMBER_POSTS: Statement = Statement::new(include_str!("../../../sql/sqlite/remember_posts.sql"));
static KEEP_HASHES: Statement = Statement::new(include_str!("../../../sql/sqlite/keep_hashes.sql"));
static FORGET_HASHES: Statement = Statement::new(include_str!("../../../sql/sqlite/forget_hashes.sql"));

pub(super) fn step(connection: &mut Connection, cutoffs: &Cutoffs, limit: u32) -> Result<Cleaned> {
    let transaction = connection.transaction().map_err(error)?;
    let articles = execute(&transaction, &CLEAN_ARTICLES, params![cutoffs.articles_before, limit])?;
    let old = all(&transaction, &OLD_POSTS, params![cutoffs.posts_before, limit], number)?;
    for id in &old {
        let removed = one(&transaction, &CLEAN_POSTS, [*id], |row| {
            Ok((required(row.integer()?)?, read_hash(row.bytes()?)?, required(row.integer()?)?))
        })?;
        if let Some((source, hash, key)) = removed {
            execute(&transaction, &REMEMBER_POSTS, params![source, hash.0, key, cutoffs.now])?;
        }
    }
    let kept = execute(&transaction, &KEEP_HASHES, params![cutoffs.hashes_before, limit, cutoffs.now])?;
    let hashes = execute(&transaction, &FORGET_HASHES, params![cutoffs.hashes_before, limit])?;
    let robots = execute(&transaction, &sql::CLEAN_ROBOTS, params![cutoffs.robots_before, limit])?;
    let row = params![cutoffs.audit_before, cutoffs.audit_records_max, limit];
    let audit_records = execute(&transaction, &sql::CLEAN_AUDIT, row)?;
    let row = params![cutoffs.events_before, cutoffs.events_max, limit];
    let events = all(&transaction, &sql::CLEAN_EVENTS, row, number)?;
    if let Some(last) = events.iter().max() {
        execute(&transaction, &sql::NOTE_EVENTS_REMOVED, [last])?;
    }
    transaction.commit().map_err(error)?;
    let full = |count: usize| count >= limit as usize;
    Ok(Cleaned {
        articles: articles as u64,
        posts: old.len() as u64,
        hashes: hashes as u64,
        robots: robots as u64,
        audit_records: audit_records as u64,
        events: events.len() as u64,
        more: full(articles)
            || full(old.len())
            || full(kept + hashes)
            || full(robots)
            || full(audit_records)
            || full(events.len()),
    })
}
