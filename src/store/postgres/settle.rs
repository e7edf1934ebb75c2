//! Settling polls in PostgreSQL: one transaction per batch, and a constant number of statements,
//! because values are sent as arrays.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

use futures_util::future::{try_join, try_join5};
use tokio_postgres::types::ToSql;

use crate::model::{HostKey, HostState, PostId, Settled, Settlement, SourceId, Timestamp};

use super::super::post_row::{edit_values, new_post_values};
use super::super::rows::{Columns, is_settled_already, last_word_on_hosts, required, storable};
use super::super::shared_sql as sql;
use super::super::source_row::{read_source, state_values};
use super::super::statement::Statement;
use super::super::{Result, StoreError};
use super::session::Transaction;
use super::values::{all, by_column, execute, number, readable};
use super::{PostgresStore, full_text, hosts};

static LOCK: Statement = Statement::new(include_str!("../../../sql/postgres/lock_sources.sql"));
static LOCK_FREE: Statement = Statement::new(include_str!("../../../sql/postgres/lock_free_sources.sql"));
static LOCKED_HOSTS: Statement = Statement::new(include_str!("../../../sql/postgres/locked_hosts.sql"));
static SETTLE: Statement = Statement::new(include_str!("../../../sql/postgres/settle_sources.sql"));
static ADD_POSTS: Statement = Statement::new(include_str!("../../../sql/postgres/add_posts.sql"));
static EDIT_POSTS: Statement = Statement::new(include_str!("../../../sql/postgres/edit_posts.sql"));
static RENAME_POSTS: Statement = Statement::new(include_str!("../../../sql/postgres/rename_posts.sql"));
static RENAME_CLEANED: Statement = Statement::new(include_str!("../../../sql/postgres/rename_cleaned.sql"));
static WITH_KEYS: Statement = Statement::new(include_str!("../../../sql/postgres/posts_with_keys.sql"));
static TOUCH: Statement = Statement::new(include_str!("../../../sql/postgres/touch_cleaned.sql"));
static PUT_DOCUMENTS: Statement = Statement::new(include_str!("../../../sql/postgres/put_documents.sql"));
static NOTIFY: Statement = Statement::new(include_str!("../../../sql/postgres/notify_posts.sql"));

/// Payload of the notification: the posts of one transaction.
#[derive(Default)]
pub(super) struct News {
    /// Highest id among new posts.
    highest: i64,
    count: usize,
    /// Highest number among new and changed posts.
    highest_change: i64,
    changed: usize,
}

impl News {
    pub(super) fn note_changes(&mut self, numbers: &[i64]) {
        self.changed += numbers.len();
        self.highest_change = numbers.iter().copied().fold(self.highest_change, i64::max);
    }
}

/// What becomes of rows that other sessions lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Locking {
    /// They are waited for, up to the time limit for locks.
    Wait,
    /// They are left out.
    Skip,
}

/// After a wait for a lock was in vain, so many batches do not wait at all: a lock that lasts would cost every batch
/// the time limit for locks.
const CAREFUL_BATCHES: usize = 64;

/// Settles a batch. If a lock of another session is in the way, everything that it does not concern is settled.
pub(super) async fn settle(store: &PostgresStore, settlements: &[Settlement]) -> Result<Vec<Settled>> {
    let careful_batches = &store.careful_batches;
    if careful_batches.load(Ordering::Relaxed) == 0 {
        match settle_with(store, settlements, Locking::Wait).await {
            Err(StoreError::Locked(_)) => careful_batches.store(CAREFUL_BATCHES, Ordering::Relaxed),
            done => return done,
        }
    }
    let answers = settle_with(store, settlements, Locking::Skip).await?;
    match answers.contains(&Settled::Locked) {
        true => careful_batches.store(CAREFUL_BATCHES, Ordering::Relaxed),
        false => drop(careful_batches.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))),
    }
    Ok(answers)
}

async fn settle_with(store: &PostgresStore, settlements: &[Settlement], locking: Locking) -> Result<Vec<Settled>> {
    let mut client = store.client().await?;
    let transaction = client.transaction().await?;
    let mut answers: Vec<Option<Settled>> = vec![None; settlements.len()];
    let mut news = News::default();
    // Settlements of the same source go into different rounds; those of different sources share one.
    let mut waiting: Vec<usize> = (0..settlements.len()).collect();
    while !waiting.is_empty() {
        let mut met = HashSet::new();
        let (round, later): (Vec<usize>, Vec<usize>) =
            waiting.iter().partition(|place| met.insert(settlements[**place].source_id));
        settle_round(&transaction, settlements, &round, locking, &mut answers, &mut news).await?;
        waiting = later;
    }
    // A poll that is settled later writes its host then.
    let settled = settlements.iter().zip(&answers).filter(|(_, answer)| **answer != Some(Settled::Locked));
    let mut asked = last_word_on_hosts(settled.filter_map(|(settlement, _)| settlement.host.clone()));
    let locked = if locking == Locking::Skip { leave_out_locked(&transaction, &mut asked).await? } else { Vec::new() };
    try_join(hosts::record(&transaction, &asked), notify(&transaction, &news)).await?;
    transaction.commit().await?;
    if locking == Locking::Skip {
        let written: Vec<HostKey> = asked.into_iter().map(|host| host.host).collect();
        store.health.note_hosts(&written, &locked);
    }
    Ok(answers.into_iter().map(|answer| answer.unwrap_or(Settled::Gone)).collect())
}

/// Settles polls of different sources.
async fn settle_round(
    transaction: &Transaction<'_>,
    settlements: &[Settlement],
    round: &[usize],
    locking: Locking,
    answers: &mut [Option<Settled>],
    news: &mut News,
) -> Result<()> {
    let ids: Vec<i64> = round.iter().map(|place| settlements[*place].source_id.0).collect();
    let lock = if locking == Locking::Wait { &LOCK } else { &LOCK_FREE };
    let versions = all(transaction, lock, &[&ids], |row| Ok((required(row.integer()?)?, row.integer()?))).await?;
    let versions: HashMap<i64, Option<i64>> = versions.into_iter().collect();
    let mut live = Vec::with_capacity(round.len());
    for place in round {
        let settlement = &settlements[*place];
        match versions.get(&settlement.source_id.0) {
            None => answers[*place] = Some(Settled::Gone),
            Some(None) => answers[*place] = Some(Settled::Locked),
            Some(Some(version)) if *version == settlement.version => live.push(*place),
            Some(_) => answers[*place] = Some(outdated(transaction, settlement).await?),
        }
    }
    let alive: Vec<&Settlement> = live.iter().map(|place| &settlements[*place]).collect();
    // New posts may take over the keys of renamed ones.
    rename(transaction, &alive).await?;
    // Send all statements before awaiting the first result.
    let (_, added, edited, _, _) = try_join5(
        write_states(transaction, &alive),
        add_posts(transaction, &alive),
        edit_posts(transaction, &alive),
        touch(transaction, &alive),
        put_documents(transaction, &alive),
    )
    .await?;
    full_text::queue(transaction, &alive).await?;
    news.note_changes(&edited);
    let mut new_posts = HashMap::<SourceId, Vec<PostId>>::new();
    for (source, post) in added {
        news.highest = news.highest.max(post.0);
        news.highest_change = news.highest_change.max(post.0);
        news.count += 1;
        new_posts.entry(source).or_default().push(post);
    }
    for place in live {
        let Settlement { source_id, version, .. } = settlements[place];
        let new_posts = new_posts.remove(&source_id).unwrap_or_default();
        answers[place] = Some(Settled::Written { version: version + 1, new_posts });
    }
    Ok(())
}

/// Removes hosts whose rows other sessions lock, and returns them.
async fn leave_out_locked(transaction: &Transaction<'_>, asked: &mut Vec<HostState>) -> Result<Vec<HostKey>> {
    let names: Vec<_> = asked.iter().map(|host| storable(host.host.as_str())).collect();
    let locked = all(transaction, &LOCKED_HOSTS, &[&names], |row| required(row.text()?)).await?;
    let locked: Vec<HostKey> = locked.iter().map(|name| HostKey::from_canonical(name)).collect();
    asked.retain(|host| !locked.contains(&host.host));
    Ok(locked)
}

/// The version has changed: by another writer, or because this settlement was stored before.
async fn outdated(transaction: &Transaction<'_>, settlement: &Settlement) -> Result<Settled> {
    let id = settlement.source_id.0;
    let found = readable(transaction, &sql::SOURCE, &[&id], |row| read_source(row)).await?;
    let Some(Ok(source)) = found.into_iter().next() else { return Ok(Settled::Gone) };
    if !is_settled_already(settlement, &source) {
        return Ok(Settled::Stale(Box::new(source)));
    }
    let keys: HashSet<i64> = settlement.posts.iter().map(|post| post.key().0).collect();
    let keys: Vec<i64> = keys.into_iter().collect();
    if all(transaction, &WITH_KEYS, &[&id, &keys], number).await?.len() < keys.len() {
        return Ok(Settled::Stale(Box::new(source)));
    }
    let posts = all(transaction, &sql::POSTS_OF_SETTLEMENT, &[&id, &settlement.settled_at], number).await?;
    Ok(Settled::Written { version: source.version, new_posts: posts.into_iter().map(PostId).collect() })
}

/// Gives posts the keys under which their entries came, which few polls do.
async fn rename(transaction: &Transaction<'_>, settlements: &[&Settlement]) -> Result<()> {
    let renamed = || settlements.iter().flat_map(|one| one.renamed.iter().map(move |renamed| (*one, renamed)));
    let stored: Vec<(i64, Option<i64>)> =
        renamed().filter_map(|(_, one)| Some((one.id?.0, one.key.map(|key| key.0)))).collect();
    if !stored.is_empty() {
        let (ids, keys): (Vec<i64>, Vec<Option<i64>>) = stored.into_iter().unzip();
        execute(transaction, &RENAME_POSTS, &[&ids, &keys]).await?;
    }
    let removed: Vec<_> = renamed().filter(|(_, one)| one.id.is_none()).collect();
    if !removed.is_empty() {
        let sources: Vec<i64> = removed.iter().map(|(settlement, _)| settlement.source_id.0).collect();
        let hashes: Vec<&[u8]> = removed.iter().map(|(_, one)| one.content_hash.0.as_slice()).collect();
        let old_keys: Vec<i64> = removed.iter().map(|(_, one)| one.old_key.map_or(0, |key| key.0)).collect();
        let keys: Vec<i64> = removed.iter().map(|(_, one)| one.key.map_or(0, |key| key.0)).collect();
        let times: Vec<Timestamp> = removed.iter().map(|(settlement, _)| settlement.settled_at).collect();
        execute(transaction, &RENAME_CLEANED, &[&sources, &hashes, &old_keys, &keys, &times]).await?;
    }
    Ok(())
}

/// Marks removed posts whose entries are still in their feeds.
async fn touch(transaction: &Transaction<'_>, settlements: &[&Settlement]) -> Result<()> {
    let met = || settlements.iter().flat_map(|one| one.still_seen.iter().map(move |key| (*one, key)));
    let sources: Vec<i64> = met().map(|(settlement, _)| settlement.source_id.0).collect();
    if sources.is_empty() {
        return Ok(());
    }
    let keys: Vec<i64> = met().map(|(_, key)| key.0).collect();
    let times: Vec<Timestamp> = met().map(|(settlement, _)| settlement.settled_at).collect();
    execute(transaction, &TOUCH, &[&sources, &keys, &times]).await.map(|_| ())
}

async fn put_documents(transaction: &Transaction<'_>, settlements: &[&Settlement]) -> Result<()> {
    let changed = || settlements.iter().filter_map(|one| Some((one.source_id, one.document.as_ref()?)));
    let sources: Vec<i64> = changed().map(|(source, _)| source.0).collect();
    if sources.is_empty() {
        return Ok(());
    }
    let keys: Vec<Vec<u8>> = changed().map(|(_, document)| document.to_bytes()).collect();
    execute(transaction, &PUT_DOCUMENTS, &[&sources, &keys]).await.map(|_| ())
}

async fn add_posts(transaction: &Transaction<'_>, settlements: &[&Settlement]) -> Result<Vec<(SourceId, PostId)>> {
    let posts = settlements.iter().flat_map(|one| one.posts.iter().map(|post| new_post_values(one, post)));
    let (added, contents): (Vec<_>, Vec<_>) = posts.unzip();
    if added.is_empty() {
        return Ok(Vec::new());
    }
    let (added, contents) = (by_column(added.into_iter()), by_column(contents.into_iter()));
    let arrays: Vec<&(dyn ToSql + Sync)> = added.iter().chain(&contents).map(|column| column as _).collect();
    all(transaction, &ADD_POSTS, &arrays, |row| {
        let post = PostId(required(row.integer()?)?);
        Ok((SourceId(required(row.integer()?)?), post))
    })
    .await
}

/// Gives posts new content; returns the numbers of these changes.
async fn edit_posts(transaction: &Transaction<'_>, settlements: &[&Settlement]) -> Result<Vec<i64>> {
    let edits = settlements.iter().flat_map(|one| one.edits.iter().map(|edit| edit_values(one, edit)));
    let (keys, contents): (Vec<_>, Vec<_>) = edits.unzip();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let (keys, contents) = (by_column(keys.into_iter()), by_column(contents.into_iter()));
    let arrays: Vec<&(dyn ToSql + Sync)> = keys.iter().chain(&contents).map(|column| column as _).collect();
    all(transaction, &EDIT_POSTS, &arrays, number).await
}

/// Sends one notification for all rounds; the server delivers it at the commit.
pub(super) async fn notify(transaction: &Transaction<'_>, news: &News) -> Result<()> {
    let News { highest, count, highest_change, changed } = news;
    if count + changed == 0 {
        return Ok(());
    }
    let payload = format!(
        r#"{{"highest_id":{highest},"count":{count},"highest_change_number":{highest_change},"changed":{changed}}}"#
    );
    execute(transaction, &NOTIFY, &[&payload]).await.map(|_| ())
}

async fn write_states(transaction: &Transaction<'_>, settlements: &[&Settlement]) -> Result<()> {
    if settlements.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = settlements.iter().map(|settlement| settlement.source_id.0).collect();
    let times: Vec<Timestamp> = settlements.iter().map(|settlement| settlement.settled_at).collect();
    let columns = by_column(settlements.iter().map(|settlement| state_values(&settlement.state)));
    let mut arrays: Vec<&(dyn ToSql + Sync)> = vec![&ids, &times];
    arrays.extend(columns.iter().map(|column| column as &(dyn ToSql + Sync)));
    execute(transaction, &SETTLE, &arrays).await.map(|_| ())
}
