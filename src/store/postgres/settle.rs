//! Settling polls in PostgreSQL: one transaction per batch, and a constant number of statements,
//! because values are sent as arrays.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

use futures_util::future::{join5, try_join, try_join4};
use tokio_postgres::types::ToSql;

use crate::model::{HostKey, HostState, NewEvent, OwnedShard, PostId, Settled, Settlement, Shard, SourceId, Timestamp};

use super::super::poll_row::poll_values;
use super::super::post_row::{edit_values, new_post_values};
use super::super::rows::{Columns, is_settled_already, last_word_on_hosts, required, storable};
use super::super::shared_sql as sql;
use super::super::source_row::{read_source, state_values};
use super::super::statement::Statement;
use super::super::{Result, StoreError};
use super::fleet::FENCE;
use super::session::{PipelinedTransaction, Session};
use super::values::{RowColumns, all, by_column, execute, number, readable};
use super::{PostgresStore, events, full_text, hosts};

static LOCK: Statement = Statement::new(include_str!("../../../sql/postgres/lock_sources.sql"));
static LOCK_CLAIMED: Statement = Statement::new(include_str!("../../../sql/postgres/lock_claimed_sources.sql"));
static LOCK_FREE: Statement = Statement::new(include_str!("../../../sql/postgres/lock_free_sources.sql"));
static LOCKED_HOSTS: Statement = Statement::new(include_str!("../../../sql/postgres/locked_hosts.sql"));
static SETTLE: Statement = Statement::new(include_str!("../../../sql/postgres/settle_sources.sql"));
static ADD_POLLS: Statement = Statement::new(include_str!("../../../sql/postgres/add_polls.sql"));
static ADD_POSTS: Statement = Statement::new(include_str!("../../../sql/postgres/add_posts.sql"));
static EDIT_POSTS: Statement = Statement::new(include_str!("../../../sql/postgres/edit_posts.sql"));
static RENAME_POSTS: Statement = Statement::new(include_str!("../../../sql/postgres/rename_posts.sql"));
static RENAME_CLEANED: Statement = Statement::new(include_str!("../../../sql/postgres/rename_cleaned.sql"));
static WITH_KEYS: Statement = Statement::new(include_str!("../../../sql/postgres/posts_with_keys.sql"));
static TOUCH: Statement = Statement::new(include_str!("../../../sql/postgres/touch_cleaned.sql"));
static PUT_DOCUMENTS: Statement = Statement::new(include_str!("../../../sql/postgres/put_documents.sql"));

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
    let client = store.client().await?;
    let mut answers: Vec<Option<Settled>> = vec![None; settlements.len()];
    // Settlements of the same source go into different rounds; those of different sources share one.
    let mut waiting: Vec<usize> = (0..settlements.len()).collect();
    while !waiting.is_empty() {
        let mut met = HashSet::new();
        let (places, later): (Vec<usize>, Vec<usize>) =
            waiting.iter().partition(|place| met.insert(settlements[**place].source_id));
        let transaction = client.pipelined_transaction().await?;
        let round = SettleRound { store, transaction: &transaction, settlements, locking };
        match round.settle(&places, &mut answers).await {
            Ok(()) => transaction.end(),
            Err(error) => {
                // Without an answer to this the connection is closed.
                let _ = transaction.rollback().await;
                return Err(error);
            }
        }
        waiting = later;
    }
    Ok(answers.into_iter().map(|answer| answer.unwrap_or(Settled::Gone)).collect())
}

/// Polls of different sources that share a transaction.
struct SettleRound<'a> {
    store: &'a PostgresStore,
    transaction: &'a PipelinedTransaction<'a>,
    settlements: &'a [Settlement],
    locking: Locking,
}

/// Rows of sources that are locked for a round.
#[derive(Default)]
struct FencedRows {
    /// Claims that no longer hold.
    fenced: HashSet<OwnedShard>,
    /// By source.
    rows: HashMap<i64, LockedRow>,
}

/// The row of a source.
#[derive(Clone, Copy)]
struct LockedRow {
    /// None if another session locks the row.
    version: Option<i64>,
    last_poll_id: Option<i64>,
    /// The id for the poll that is being settled.
    poll_id: Option<i64>,
}

impl LockedRow {
    fn read(row: &mut RowColumns<'_>) -> Result<LockedRow> {
        Ok(LockedRow { version: row.integer()?, last_poll_id: row.integer()?, poll_id: row.integer()? })
    }
}

impl SettleRound<'_> {
    /// Settles the polls at these places, and commits. What needs the turn of those that store posts comes last and is
    /// sent together with the commit, so that no other node waits for this process.
    async fn settle(&self, round: &[usize], answers: &mut [Option<Settled>]) -> Result<()> {
        let SettleRound { store, transaction, settlements, locking } = *self;
        let FencedRows { fenced, rows } = self.lock(round).await?;
        let mut live = Vec::with_capacity(round.len());
        let (mut asked, mut late) = (Vec::new(), Vec::new());
        for place in round {
            let settlement = &settlements[*place];
            let is_fenced = settlement.claim.is_some_and(|claim| fenced.contains(&claim));
            if is_fenced {
                answers[*place] = Some(Settled::Fenced);
                late.extend(settlement.host.clone());
                continue;
            }
            match rows.get(&settlement.source_id.0).map(|row| row.version) {
                None => answers[*place] = Some(Settled::Gone),
                // A poll that is settled later writes its host then.
                Some(None) => {
                    answers[*place] = Some(Settled::Locked);
                    continue;
                }
                Some(Some(version)) if version == settlement.version => live.push(*place),
                Some(_) => answers[*place] = Some(outdated(transaction, settlement).await?),
            }
            asked.extend(settlement.host.clone());
        }
        let alive: Vec<&Settlement> = live.iter().map(|place| &settlements[*place]).collect();
        // New posts may take over the keys of renamed ones.
        rename(transaction, &alive).await?;
        let (mut asked, late) = (last_word_on_hosts(asked), last_word_on_hosts(late));
        let locked =
            if locking == Locking::Skip { leave_out_locked(transaction, &mut asked).await? } else { Vec::new() };
        // Send all statements before awaiting the first result.
        let recording = try_join(hosts::record(transaction, &asked), hosts::record_late(transaction, &late));
        let (touching, putting) = (touch(transaction, &alive), put_documents(transaction, &alive));
        let writing = try_join(write_states(transaction, &alive, &rows), add_polls(transaction, &alive, &rows));
        try_join4(writing, touching, putting, recording).await?;
        let new_posts = store_posts(transaction, &alive).await?;
        note_written(settlements, live, new_posts, answers);
        if locking == Locking::Skip {
            let written: Vec<HostKey> = asked.into_iter().map(|host| host.host).collect();
            store.health.note_hosts(&written, &locked);
        }
        Ok(())
    }

    /// Locks the rows of the sources, once the claims of their shards are fenced.
    async fn lock(&self, round: &[usize]) -> Result<FencedRows> {
        let polls = || round.iter().map(|place| &self.settlements[*place]);
        let mut ids: Vec<i64> = polls().map(|poll| poll.source_id.0).collect();
        ids.sort_unstable();
        let claims: HashSet<OwnedShard> = polls().filter_map(|poll| poll.claim).collect();
        let claims: Vec<OwnedShard> = claims.into_iter().collect();
        let locked = |row: &mut RowColumns<'_>| Ok((required(row.integer()?)?, LockedRow::read(row)?));
        match self.locking {
            Locking::Wait if claims.is_empty() => {
                let rows = all(self.transaction, &LOCK, &[&ids], locked).await?.into_iter().collect();
                Ok(FencedRows { fenced: HashSet::new(), rows })
            }
            Locking::Wait => self.lock_claimed(&ids, &claims).await,
            Locking::Skip => {
                let parameters: [&(dyn ToSql + Sync); 1] = [&ids];
                let locking = all(self.transaction, &LOCK_FREE, &parameters, locked);
                let (fenced, rows) = try_join(self.lost_claims(&claims), locking).await?;
                Ok(FencedRows { fenced, rows: rows.into_iter().collect() })
            }
        }
    }

    async fn lock_claimed(&self, ids: &[i64], claims: &[OwnedShard]) -> Result<FencedRows> {
        let (node, (shards, epochs)) = (self.own_node(), by_part(claims));
        let read = |row: &mut RowColumns<'_>| Ok((row.integer()?, row.integer()?, LockedRow::read(row)?));
        let parameters: [&(dyn ToSql + Sync); 4] = [&ids, &node, &shards, &epochs];
        let mut locked = FencedRows::default();
        for (lost, id, row) in all(self.transaction, &LOCK_CLAIMED, &parameters, read).await? {
            match lost {
                Some(place) => {
                    locked.fenced.extend(usize::try_from(place - 1).ok().and_then(|place| claims.get(place)))
                }
                None => drop(locked.rows.insert(required(id)?, row)),
            }
        }
        Ok(locked)
    }

    /// The claims that no longer hold.
    async fn lost_claims(&self, claims: &[OwnedShard]) -> Result<HashSet<OwnedShard>> {
        if claims.is_empty() {
            return Ok(HashSet::new());
        }
        let (shards, epochs) = by_part(claims);
        let read = |row: &mut RowColumns<'_>| {
            let shard = u16::try_from(required(row.integer()?)?).unwrap_or_default();
            Ok(OwnedShard { shard: Shard(shard), epoch: required(row.integer()?)? })
        };
        let lost = all(self.transaction, &FENCE, &[&self.own_node(), &shards, &epochs], read).await?;
        Ok(lost.into_iter().collect())
    }

    fn own_node(&self) -> i64 {
        self.store.own_node.get().map_or(0, |node| node.0)
    }
}

fn by_part(claims: &[OwnedShard]) -> (Vec<i32>, Vec<i64>) {
    claims.iter().map(|claim| (i32::from(claim.shard.0), claim.epoch)).unzip()
}

/// Stores new and changed posts, and commits.
async fn store_posts(
    transaction: &PipelinedTransaction<'_>,
    settlements: &[&Settlement],
) -> Result<Vec<(SourceId, PostId)>> {
    let has = |part: fn(&Settlement) -> bool| settlements.iter().any(|settlement| part(settlement));
    if has(|settlement| !settlement.posts.is_empty()) {
        transaction.prepare(&ADD_POSTS).await?;
    }
    if has(|settlement| !settlement.edits.is_empty()) {
        transaction.prepare(&EDIT_POSTS).await?;
    }
    if has(|settlement| !settlement.pages.is_empty()) {
        transaction.prepare(&full_text::QUEUE).await?;
    }
    let happened: Vec<NewEvent> = settlements.iter().flat_map(|settlement| settlement.events.iter().cloned()).collect();
    if !happened.is_empty() {
        transaction.prepare(&events::ADD).await?;
    }
    // In this order. All are awaited: a statement that failed makes the commit a rollback.
    let (added, edited, queued, told, committed) = join5(
        add_posts(transaction, settlements),
        edit_posts(transaction, settlements),
        full_text::queue(transaction, settlements),
        events::add(transaction, &happened),
        transaction.commit(),
    )
    .await;
    let added = added?;
    edited?;
    queued?;
    told?;
    committed?;
    Ok(added)
}

fn note_written(
    settlements: &[Settlement],
    live: Vec<usize>,
    added: Vec<(SourceId, PostId)>,
    answers: &mut [Option<Settled>],
) {
    let mut new_posts = HashMap::<SourceId, Vec<PostId>>::new();
    for (source, post) in added {
        new_posts.entry(source).or_default().push(post);
    }
    for place in live {
        let Settlement { source_id, version, .. } = settlements[place];
        let new_posts = new_posts.remove(&source_id).unwrap_or_default();
        answers[place] = Some(Settled::Written { version: version + 1, new_posts });
    }
}

/// Removes hosts whose rows other sessions lock, and returns them.
async fn leave_out_locked(transaction: &impl Session, asked: &mut Vec<HostState>) -> Result<Vec<HostKey>> {
    let names: Vec<_> = asked.iter().map(|host| storable(host.host.as_str())).collect();
    let locked = all(transaction, &LOCKED_HOSTS, &[&names], |row| required(row.text()?)).await?;
    let locked: Vec<HostKey> = locked.iter().map(|name| HostKey::from_canonical(name)).collect();
    asked.retain(|host| !locked.contains(&host.host));
    Ok(locked)
}

/// The version has changed: by another writer, or because this settlement was stored before.
async fn outdated(transaction: &impl Session, settlement: &Settlement) -> Result<Settled> {
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
async fn rename(transaction: &impl Session, settlements: &[&Settlement]) -> Result<()> {
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
async fn touch(transaction: &impl Session, settlements: &[&Settlement]) -> Result<()> {
    let met = || settlements.iter().flat_map(|one| one.still_seen.iter().map(move |key| (*one, key)));
    let sources: Vec<i64> = met().map(|(settlement, _)| settlement.source_id.0).collect();
    if sources.is_empty() {
        return Ok(());
    }
    let keys: Vec<i64> = met().map(|(_, key)| key.0).collect();
    let times: Vec<Timestamp> = met().map(|(settlement, _)| settlement.settled_at).collect();
    execute(transaction, &TOUCH, &[&sources, &keys, &times]).await.map(|_| ())
}

async fn put_documents(transaction: &impl Session, settlements: &[&Settlement]) -> Result<()> {
    let changed = || settlements.iter().filter_map(|one| Some((one.source_id, one.document.as_ref()?)));
    let sources: Vec<i64> = changed().map(|(source, _)| source.0).collect();
    if sources.is_empty() {
        return Ok(());
    }
    let keys: Vec<Vec<u8>> = changed().map(|(_, document)| document.to_bytes()).collect();
    execute(transaction, &PUT_DOCUMENTS, &[&sources, &keys]).await.map(|_| ())
}

async fn add_posts(transaction: &impl Session, settlements: &[&Settlement]) -> Result<Vec<(SourceId, PostId)>> {
    let posts = settlements.iter().flat_map(|one| one.posts.iter().map(|post| new_post_values(one, post)));
    let (added, contents): (Vec<_>, Vec<_>) = posts.unzip();
    if added.is_empty() {
        return Ok(Vec::new());
    }
    let (added, contents) = (by_column(added.into_iter()), by_column(contents.into_iter()));
    let arrays: Vec<&(dyn ToSql + Sync)> = added.iter().chain(&contents).map(|column| column as _).collect();
    let read = |row: &mut RowColumns<'_>| {
        let source = SourceId(required(row.integer()?)?);
        Ok((source, required(row.integer()?)?..=required(row.integer()?)?))
    };
    let runs = all(transaction, &ADD_POSTS, &arrays, read).await?;
    Ok(runs.into_iter().flat_map(|(source, run)| run.map(move |id| (source, PostId(id)))).collect())
}

/// Gives posts new content. The replaced content becomes a revision.
async fn edit_posts(transaction: &impl Session, settlements: &[&Settlement]) -> Result<()> {
    let edits = settlements.iter().flat_map(|one| one.edits.iter().map(|edit| edit_values(one, edit)));
    let (keys, contents): (Vec<_>, Vec<_>) = edits.unzip();
    if keys.is_empty() {
        return Ok(());
    }
    let (keys, contents) = (by_column(keys.into_iter()), by_column(contents.into_iter()));
    let revisions_max: Vec<i64> =
        settlements.iter().flat_map(|one| &one.edits).map(|edit| edit.revisions_max.into()).collect();
    let mut arrays: Vec<&(dyn ToSql + Sync)> = keys.iter().map(|column| column as _).collect();
    arrays.push(&revisions_max);
    arrays.extend(contents.iter().map(|column| column as &(dyn ToSql + Sync)));
    all(transaction, &EDIT_POSTS, &arrays, number).await.map(|_| ())
}

/// Adds polls to the history of their sources.
async fn add_polls(
    transaction: &impl Session,
    settlements: &[&Settlement],
    rows: &HashMap<i64, LockedRow>,
) -> Result<()> {
    let polls = || settlements.iter().filter_map(|one| Some((one.source_id.0, one.poll.as_deref()?)));
    let sources: Vec<i64> = polls().map(|(source, _)| source).collect();
    if sources.is_empty() {
        return Ok(());
    }
    let ids: Vec<Option<i64>> = sources.iter().map(|source| rows.get(source)?.poll_id).collect();
    let previous: Vec<Option<i64>> = sources.iter().map(|source| rows.get(source)?.last_poll_id).collect();
    let columns = by_column(polls().map(|(_, poll)| poll_values(poll)));
    let mut arrays: Vec<&(dyn ToSql + Sync)> = vec![&ids, &sources, &previous];
    arrays.extend(columns.iter().map(|column| column as &(dyn ToSql + Sync)));
    execute(transaction, &ADD_POLLS, &arrays).await.map(|_| ())
}

async fn write_states(
    transaction: &impl Session,
    settlements: &[&Settlement],
    rows: &HashMap<i64, LockedRow>,
) -> Result<()> {
    if settlements.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = settlements.iter().map(|settlement| settlement.source_id.0).collect();
    let times: Vec<Timestamp> = settlements.iter().map(|settlement| settlement.settled_at).collect();
    let poll_id =
        |settlement: &&Settlement| rows.get(&settlement.source_id.0)?.poll_id.filter(|_| settlement.poll.is_some());
    let polls: Vec<Option<i64>> = settlements.iter().map(poll_id).collect();
    let columns = by_column(settlements.iter().map(|settlement| state_values(&settlement.state)));
    let mut arrays: Vec<&(dyn ToSql + Sync)> = vec![&ids, &times, &polls];
    arrays.extend(columns.iter().map(|column| column as &(dyn ToSql + Sync)));
    execute(transaction, &SETTLE, &arrays).await.map(|_| ())
}
