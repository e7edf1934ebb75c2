//! Settling polls in SQLite: one transaction per batch.

use rusqlite::{Connection, params, params_from_iter};

use crate::model::{PostEdit, PostId, RenamedPost, Settled, Settlement};

use super::super::poll_row::poll_values;
use super::super::post_row::{ADDED, CONTENT, edit_values, new_post_values};
use super::super::rows::{Value, is_settled_already, last_word_on_hosts};
use super::super::shared_sql as sql;
use super::super::source_row::state_values;
use super::super::statement::Statement;
use super::super::{Result, StoreError};
use super::numbers::NumberFile;
use super::values::{all, error, execute, number, one};
use super::{events, full_text, hosts, sources};

static SETTLE: Statement = Statement::new(include_str!("../../../sql/sqlite/settle_sources.sql"));
static ADD_POLL: Statement = Statement::new(include_str!("../../../sql/sqlite/add_polls.sql"));
static ADD_POST: Statement = Statement::new(include_str!("../../../sql/sqlite/add_posts.sql"));
static EDIT_POST: Statement = Statement::new(include_str!("../../../sql/sqlite/edit_posts.sql"));
static KEEP_REVISION: Statement = Statement::new(include_str!("../../../sql/sqlite/keep_revision.sql"));
static DROP_REVISIONS: Statement = Statement::new(include_str!("../../../sql/sqlite/drop_revisions.sql"));
pub(super) static NEXT_NUMBER: Statement = Statement::new(include_str!("../../../sql/sqlite/next_post_number.sql"));
static RENAME_POST: Statement = Statement::new(include_str!("../../../sql/sqlite/rename_posts.sql"));
static RENAME_CLEANED: Statement = Statement::new(include_str!("../../../sql/sqlite/rename_cleaned.sql"));
static WITH_KEYS: Statement = Statement::new(include_str!("../../../sql/sqlite/posts_with_keys.sql"));
static TOUCH: Statement = Statement::new(include_str!("../../../sql/sqlite/touch_cleaned.sql"));
static PUT_DOCUMENT: Statement = Statement::new(include_str!("../../../sql/sqlite/put_documents.sql"));

pub(super) fn settle(
    connection: &mut Connection,
    settlements: &[Settlement],
    numbers: &NumberFile,
) -> Result<Vec<Settled>> {
    let transaction = connection.transaction().map_err(error)?;
    let settled = settlements.iter().map(|one| settle_one(&transaction, one, numbers)).collect::<Result<Vec<_>>>()?;
    for host in last_word_on_hosts(settlements.iter().filter_map(|settlement| settlement.host.clone())) {
        hosts::record(&transaction, &host)?;
    }
    if settlements.iter().any(|settlement| !settlement.posts.is_empty() || !settlement.edits.is_empty()) {
        numbers.cover(&transaction)?;
    }
    transaction.commit().map_err(error)?;
    Ok(settled)
}

/// The first write checks the version, so that a stale settlement changes nothing in the shared
/// transaction.
fn settle_one(connection: &Connection, settlement: &Settlement, numbers: &NumberFile) -> Result<Settled> {
    let Settlement { source_id: id, version, settled_at, .. } = *settlement;
    let mut poll_id = None;
    if let Some(poll) = &settlement.poll {
        let key = [Value::Integer(Some(id.0)), Value::Integer(Some(version))];
        if execute(connection, &ADD_POLL, params_from_iter(key.into_iter().chain(poll_values(poll))))? == 0 {
            return outdated(connection, settlement);
        }
        poll_id = Some(connection.last_insert_rowid());
    }
    let key = [
        Value::Integer(Some(id.0)),
        Value::Time(Some(settled_at)),
        Value::Integer(Some(version)),
        Value::Integer(poll_id),
    ];
    let row = key.into_iter().chain(state_values(&settlement.state));
    if execute(connection, &SETTLE, params_from_iter(row))? == 0 {
        return outdated(connection, settlement);
    }
    for renamed in &settlement.renamed {
        rename(connection, settlement, renamed)?;
    }
    for edit in &settlement.edits {
        edit_post(connection, settlement, edit)?;
    }
    let new_posts = if settlement.posts.is_empty() { Vec::new() } else { add_posts(connection, settlement)? };
    events::add(connection, &settlement.events, numbers)?;
    for page in &settlement.pages {
        full_text::queue(connection, settlement, page)?;
    }
    for key in &settlement.still_seen {
        execute(connection, &TOUCH, params![id.0, key.0, settled_at])?;
    }
    if let Some(document) = &settlement.document {
        execute(connection, &PUT_DOCUMENT, params![id.0, document.to_bytes()])?;
    }
    Ok(Settled::Written { version: version + 1, new_posts })
}

/// The version has changed: by another writer, or because this settlement was stored before.
fn outdated(connection: &Connection, settlement: &Settlement) -> Result<Settled> {
    let id = settlement.source_id;
    let source = match sources::one(connection, id) {
        Ok(Some(source)) => source,
        Ok(None) | Err(StoreError::BadRow(_)) => return Ok(Settled::Gone),
        Err(other) => return Err(other),
    };
    if !is_settled_already(settlement, &source) {
        return Ok(Settled::Stale(Box::new(source)));
    }
    for post in &settlement.posts {
        if one(connection, &WITH_KEYS, params![id.0, post.key().0], number)?.is_none() {
            return Ok(Settled::Stale(Box::new(source)));
        }
    }
    let posts = all(connection, &sql::POSTS_OF_SETTLEMENT, params![id.0, settlement.settled_at], number)?;
    Ok(Settled::Written { version: source.version, new_posts: posts.into_iter().map(PostId).collect() })
}

fn rename(connection: &Connection, settlement: &Settlement, renamed: &RenamedPost) -> Result<()> {
    let RenamedPost { id, content_hash, old_key, key } = renamed;
    let key = key.map(|key| key.0);
    match id {
        Some(id) => execute(connection, &RENAME_POST, params![id.0, key])?,
        None => {
            let old_key = old_key.map_or(0, |key| key.0);
            let row = params![settlement.source_id.0, content_hash.0, old_key, key, settlement.settled_at];
            execute(connection, &RENAME_CLEANED, row)?
        }
    };
    Ok(())
}

/// Gives a post new content. The replaced content becomes a revision.
fn edit_post(connection: &Connection, settlement: &Settlement, edit: &PostEdit) -> Result<()> {
    if edit.revisions_max > 0 {
        execute(connection, &KEEP_REVISION, [edit.id.0])?;
    }
    execute(connection, &DROP_REVISIONS, params![edit.id.0, edit.revisions_max])?;
    let (key, content) = edit_values(settlement, edit);
    let number = one(connection, &NEXT_NUMBER, [], number)?;
    let row = key.into_iter().chain([Value::Integer(number)]).chain(content);
    execute(connection, &EDIT_POST, params_from_iter(row)).map(|_| ())
}

fn add_posts(connection: &Connection, settlement: &Settlement) -> Result<Vec<PostId>> {
    let mut add = connection.prepare_cached(ADD_POST.sqlite()).map_err(error)?;
    let mut new_posts = Vec::with_capacity(settlement.posts.len());
    // More than half of the columns of most posts are null. Parameters keep their values from row to row.
    add.clear_bindings();
    let mut is_null = [true; ADDED.len() + CONTENT.len()];
    for post in &settlement.posts {
        let (added, content) = new_post_values(settlement, post);
        for (place, value) in added.iter().chain(&content).enumerate() {
            if !(is_null[place] && value.is_null()) {
                add.raw_bind_parameter(place + 1, value).map_err(error)?;
                is_null[place] = value.is_null();
            }
        }
        // RETURNING would build a table for each row.
        if add.raw_execute().map_err(error)? > 0 {
            new_posts.push(PostId(connection.last_insert_rowid()));
        }
    }
    Ok(new_posts)
}
