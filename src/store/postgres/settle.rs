//! Settling polls in PostgreSQL: one transaction per batch, and a constant number of statements,
//! because values are sent as arrays.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::{Client, Transaction};
use futures_util::future::{try_join, try_join3};
use tokio_postgres::types::{ToSql, Type};

use crate::model::{ContentHash, NewPost, PostId, Settled, Settlement, SourceId, Timestamp};

use super::super::Result;
use super::super::rows::{Columns, is_settled_already, last_word_on_hosts, required};
use super::super::shared_sql as sql;
use super::super::source_row::{read_source, state_values};
use super::super::statement::Statement;
use super::hosts;
use super::values::{RowColumns, all, by_column, error, execute, number};

static LOCK: Statement = Statement::new(include_str!("../../../sql/postgres/lock_sources.sql"));
static SETTLE: Statement = Statement::new(include_str!("../../../sql/postgres/settle_sources.sql"));
static KNOWN: Statement = Statement::new(include_str!("../../../sql/postgres/known_posts.sql"));
static ADD_POSTS: Statement = Statement::new(include_str!("../../../sql/postgres/add_posts.sql"));
static TOUCH: Statement = Statement::new(include_str!("../../../sql/postgres/touch_cleaned.sql"));
static REMEMBER: Statement = Statement::new(include_str!("../../../sql/postgres/remember_posts.sql"));
static NOTIFY: Statement = Statement::new(include_str!("../../../sql/postgres/notify_posts.sql"));

/// Value in `known_posts.sql` for a removed post and for a skipped entry.
const CLEANED: i64 = 2;

/// Payload of the notification: the posts of one transaction.
#[derive(Default)]
struct News {
    highest: i64,
    count: usize,
}

type Candidate<'a> = (&'a Settlement, &'a NewPost);

type Hashed<'a> = (&'a Settlement, ContentHash);

pub(super) async fn settle(client: &mut Client, settlements: &[Settlement]) -> Result<Vec<Settled>> {
    let transaction = client.transaction().await.map_err(error)?;
    let mut answers: Vec<Option<Settled>> = vec![None; settlements.len()];
    let mut news = News::default();
    // Settlements of the same source go into different rounds; those of different sources share one.
    let mut waiting: Vec<usize> = (0..settlements.len()).collect();
    while !waiting.is_empty() {
        let mut met = HashSet::new();
        let (round, later): (Vec<usize>, Vec<usize>) =
            waiting.iter().partition(|place| met.insert(settlements[**place].source_id));
        settle_round(&transaction, settlements, &round, &mut answers, &mut news).await?;
        waiting = later;
    }
    let asked = last_word_on_hosts(settlements.iter().filter_map(|settlement| settlement.host.clone()));
    try_join(hosts::record(&transaction, &asked), notify(&transaction, &news)).await?;
    transaction.commit().await.map_err(error)?;
    Ok(answers.into_iter().map(|answer| answer.unwrap_or(Settled::Gone)).collect())
}

/// Settles polls of different sources.
async fn settle_round(
    transaction: &Transaction<'_>,
    settlements: &[Settlement],
    round: &[usize],
    answers: &mut [Option<Settled>],
    news: &mut News,
) -> Result<()> {
    let ids: Vec<i64> = round.iter().map(|place| settlements[*place].source_id.0).collect();
    let versions: HashMap<i64, i64> =
        all(transaction, &LOCK, &[&ids], |row| Ok((required(row.integer()?)?, required(row.integer()?)?)))
            .await?
            .into_iter()
            .collect();
    let mut live = Vec::with_capacity(round.len());
    for place in round {
        let settlement = &settlements[*place];
        match versions.get(&settlement.source_id.0) {
            None => answers[*place] = Some(Settled::Gone),
            Some(version) if *version == settlement.version => live.push(*place),
            Some(_) => answers[*place] = Some(outdated(transaction, settlement).await?),
        }
    }
    let alive: Vec<&Settlement> = live.iter().map(|place| &settlements[*place]).collect();
    let candidates = alive.iter().flat_map(|one| one.posts.iter().map(|post| (*one, post))).collect();
    let unknown = unknown(transaction, candidates).await?;
    // Send all statements before awaiting the first result.
    let (_, _, added) =
        try_join3(write_states(transaction, &alive), remember(transaction, &alive), add_posts(transaction, &unknown))
            .await?;
    let mut new_posts = HashMap::<SourceId, Vec<PostId>>::new();
    for (source, post) in added {
        news.highest = news.highest.max(post.0);
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

/// The version has changed: by another writer, or because this settlement was stored before.
async fn outdated(transaction: &Transaction<'_>, settlement: &Settlement) -> Result<Settled> {
    let id = settlement.source_id.0;
    let found = all(transaction, &sql::SOURCE, &[&id], |row| read_source(row)).await?;
    let Some(source) = found.into_iter().next() else { return Ok(Settled::Gone) };
    let hashes = settlement.posts.iter().map(NewPost::content_hash).chain(settlement.left_out.iter().copied());
    let hashes: Vec<Hashed<'_>> = hashes.map(|hash| (settlement, hash)).collect();
    if !is_settled_already(settlement, &source) || known(transaction, &hashes).await?.len() < hashes.len() {
        return Ok(Settled::Stale(Box::new(source)));
    }
    let posts = all(transaction, &sql::POSTS_OF_SETTLEMENT, &[&id, &settlement.settled_at], number).await?;
    Ok(Settled::Written { version: source.version, new_posts: posts.into_iter().map(PostId).collect() })
}

async fn unknown<'a>(transaction: &Transaction<'_>, candidates: Vec<Candidate<'a>>) -> Result<Vec<Candidate<'a>>> {
    let hashes: Vec<Hashed<'_>> = candidates.iter().map(|(one, post)| (*one, post.content_hash())).collect();
    let known = known(transaction, &hashes).await?;
    let is_unknown = |(place, _): &(usize, Candidate<'a>)| !known.contains_key(place);
    Ok(candidates.into_iter().enumerate().filter(is_unknown).map(|(_, candidate)| candidate).collect())
}

/// Positions of known candidates; hashes of removed posts are marked as still in their feed.
async fn known(transaction: &Transaction<'_>, entries: &[Hashed<'_>]) -> Result<HashMap<usize, i64>> {
    if entries.is_empty() {
        return Ok(HashMap::new());
    }
    let sources: Vec<i64> = entries.iter().map(|(settlement, _)| settlement.source_id.0).collect();
    let hashes: Vec<&[u8]> = entries.iter().map(|(_, hash)| hash.0.as_slice()).collect();
    // Planned each time: a cached plan depends on the sizes that tables had when it was made, and
    // scanning a table that was empty then, for each of 1,500 candidates, has taken 16 seconds.
    let arrays: [(&(dyn ToSql + Sync), Type); 2] = [(&sources, Type::INT8_ARRAY), (&hashes, Type::BYTEA_ARRAY)];
    let rows = transaction.query_typed(KNOWN.postgres(), &arrays).await.map_err(error)?;
    let mut known = HashMap::<usize, i64>::with_capacity(rows.len());
    for row in &rows {
        let mut row = RowColumns::new(row);
        let place: usize = required(row.number()?)?;
        known.insert(place - 1, required(row.integer()?)?); // the server counts from one
    }
    let cleaned: Vec<usize> = known.iter().filter(|(_, what)| **what == CLEANED).map(|(place, _)| *place).collect();
    if !cleaned.is_empty() {
        let pick = |place: &usize| (sources[*place], hashes[*place], entries[*place].0.settled_at);
        let picked: Vec<(i64, &[u8], Timestamp)> = cleaned.iter().map(pick).collect();
        let ids: Vec<i64> = picked.iter().map(|(id, ..)| *id).collect();
        let met: Vec<&[u8]> = picked.iter().map(|(_, hash, _)| *hash).collect();
        let times: Vec<Timestamp> = picked.iter().map(|(.., time)| *time).collect();
        execute(transaction, &TOUCH, &[&ids, &met, &times]).await?;
    }
    Ok(known)
}

/// Stores hashes of skipped entries, which few polls have.
async fn remember(transaction: &Transaction<'_>, settlements: &[&Settlement]) -> Result<()> {
    let left_out = settlements.iter().flat_map(|one| one.left_out.iter().map(|hash| (*one, hash)));
    let left_out: Vec<(&Settlement, &ContentHash)> = left_out.collect();
    if left_out.is_empty() {
        return Ok(());
    }
    let sources: Vec<i64> = left_out.iter().map(|(settlement, _)| settlement.source_id.0).collect();
    let hashes: Vec<&[u8]> = left_out.iter().map(|(_, hash)| hash.0.as_slice()).collect();
    let times: Vec<Timestamp> = left_out.iter().map(|(settlement, _)| settlement.settled_at).collect();
    execute(transaction, &REMEMBER, &[&sources, &hashes, &times]).await.map(|_| ())
}

async fn add_posts(transaction: &Transaction<'_>, new: &[Candidate<'_>]) -> Result<Vec<(SourceId, PostId)>> {
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let sources: Vec<i64> = new.iter().map(|(settlement, _)| settlement.source_id.0).collect();
    let titles: Vec<&str> = new.iter().map(|(_, post)| post.text().title.as_str()).collect();
    let bodies: Vec<&str> = new.iter().map(|(_, post)| post.text().body.as_str()).collect();
    let urls: Vec<Option<&str>> = new.iter().map(|(_, post)| post.text().url.as_deref()).collect();
    let authors: Vec<Option<&str>> = new.iter().map(|(_, post)| post.text().author.as_deref()).collect();
    let bylines: Vec<Option<&str>> = new.iter().map(|(_, post)| post.text().byline.as_deref()).collect();
    let published: Vec<Option<Timestamp>> = new.iter().map(|(_, post)| post.published_at()).collect();
    let created: Vec<Timestamp> = new.iter().map(|(settlement, _)| settlement.settled_at).collect();
    let hashes: Vec<[u8; 32]> = new.iter().map(|(_, post)| post.content_hash().0).collect();
    let hashes: Vec<&[u8]> = hashes.iter().map(<[u8; 32]>::as_slice).collect();
    let pages: Vec<bool> = new.iter().map(|(_, post)| post.is_page()).collect();
    let arrays: [&(dyn ToSql + Sync); 10] =
        [&sources, &titles, &bodies, &urls, &authors, &bylines, &published, &created, &hashes, &pages];
    all(transaction, &ADD_POSTS, &arrays, |row| {
        let post = PostId(required(row.integer()?)?);
        Ok((SourceId(required(row.integer()?)?), post))
    })
    .await
}

/// Sends one notification for all rounds; the server delivers it at the commit.
async fn notify(transaction: &Transaction<'_>, news: &News) -> Result<()> {
    if news.count == 0 {
        return Ok(());
    }
    let payload = format!(r#"{{"highest_id":{},"count":{}}}"#, news.highest, news.count);
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
