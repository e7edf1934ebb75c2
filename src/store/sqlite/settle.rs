//! Settling polls in SQLite: one transaction per batch.

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use crate::model::{NewPost, PostId, PostText, Settled, Settlement};

use super::super::Result;
use super::super::rows::{Value, is_settled_already, last_word_on_hosts};
use super::super::shared_sql as sql;
use super::super::source_row::state_values;
use super::super::statement::Statement;
use super::values::{all, error, execute, number, one};
use super::{hosts, sources};

static SETTLE: Statement = Statement::new(include_str!("../../../sql/sqlite/settle_sources.sql"));
static KNOWN: Statement = Statement::new(include_str!("../../../sql/sqlite/known_posts.sql"));
static ADD_POST: Statement = Statement::new(include_str!("../../../sql/sqlite/add_posts.sql"));
static TOUCH: Statement = Statement::new(include_str!("../../../sql/sqlite/touch_cleaned.sql"));
static REMEMBER: Statement = Statement::new(include_str!("../../../sql/sqlite/remember_posts.sql"));

/// Value in `known_posts.sql` for a removed post and for a skipped entry.
const CLEANED: i64 = 2;

pub(super) fn settle(connection: &mut Connection, settlements: &[Settlement]) -> Result<Vec<Settled>> {
    let transaction = connection.transaction().map_err(error)?;
    let settled = settlements.iter().map(|one| settle_one(&transaction, one)).collect::<Result<Vec<_>>>()?;
    for host in last_word_on_hosts(settlements.iter().filter_map(|settlement| settlement.host.clone())) {
        hosts::record(&transaction, &host)?;
    }
    transaction.commit().map_err(error)?;
    Ok(settled)
}

/// The first write checks the version, so that a stale settlement changes nothing in the shared
/// transaction.
fn settle_one(connection: &Connection, settlement: &Settlement) -> Result<Settled> {
    let Settlement { source_id: id, version, settled_at, .. } = *settlement;
    let key = [Value::Integer(Some(id.0)), Value::Time(Some(settled_at)), Value::Integer(Some(version))];
    let row = key.into_iter().chain(state_values(&settlement.state));
    if execute(connection, &SETTLE, params_from_iter(row))? == 0 {
        return outdated(connection, settlement);
    }
    let new_posts = if settlement.posts.is_empty() { Vec::new() } else { add_posts(connection, settlement)? };
    for hash in &settlement.left_out {
        execute(connection, &REMEMBER, params![id.0, hash.0, settled_at])?;
    }
    Ok(Settled::Written { version: version + 1, new_posts })
}

/// The version has changed: by another writer, or because this settlement was stored before.
fn outdated(connection: &Connection, settlement: &Settlement) -> Result<Settled> {
    let id = settlement.source_id;
    let Some(source) = sources::one(connection, id)? else { return Ok(Settled::Gone) };
    if !is_settled_already(settlement, &source) {
        return Ok(Settled::Stale(Box::new(source)));
    }
    let hashes = settlement.posts.iter().map(NewPost::content_hash).chain(settlement.left_out.iter().copied());
    for hash in hashes {
        if one(connection, &KNOWN, params![id.0, hash.0], number)?.is_none() {
            return Ok(Settled::Stale(Box::new(source)));
        }
    }
    let posts = all(connection, &sql::POSTS_OF_SETTLEMENT, params![id.0, settlement.settled_at], number)?;
    Ok(Settled::Written { version: source.version, new_posts: posts.into_iter().map(PostId).collect() })
}

/// Adds unknown posts; marks hashes of removed posts as still in their feed.
fn add_posts(connection: &Connection, settlement: &Settlement) -> Result<Vec<PostId>> {
    let (source, now) = (settlement.source_id.0, settlement.settled_at);
    let mut known = connection.prepare_cached(KNOWN.sqlite()).map_err(error)?;
    let mut add = connection.prepare_cached(ADD_POST.sqlite()).map_err(error)?;
    let mut new_posts = Vec::new();
    for post in &settlement.posts {
        let (text, hash) = (post.text(), post.content_hash().0);
        match known.query_row(params![source, hash], |row| row.get(0)).optional().map_err(error)? {
            Some(CLEANED) => drop(execute(connection, &TOUCH, params![source, hash, now])?),
            Some(_) => {}
            None => {
                let PostText { title, body, url, author, byline } = text;
                let row =
                    params![source, title, body, url, author, byline, post.published_at(), now, hash, post.is_page()];
                add.execute(row).map_err(error)?;
                new_posts.push(PostId(connection.last_insert_rowid()));
            }
        }
    }
    Ok(new_posts)
}
