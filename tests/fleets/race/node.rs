//! One contending node: a loop that keeps its lease, and a writer beside it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use feedwarden::clock::{Clock, Stopwatch, SystemClock};
use feedwarden::store;
use feedwarden::store::settings::{EngineSettings, StoreSettings};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use secrecy::SecretString;
use tokio::sync::RwLock;
use tokio_postgres::{Client, Error};

use super::statements::{FenceShape, OBSERVERS, Statements};
use super::{NODES, ROUND};
use crate::store::connect;

/// Lease of all nodes.
const LEASE: Duration = Duration::from_millis(250);
const SHARDS: usize = 256;

/// What all nodes share.
pub(super) struct Arena {
    url: SecretString,
    statements: Statements,
    /// Timeline of the server.
    timeline: String,
    next_node: AtomicI64,
    joined: AtomicU64,
    renewed: AtomicU64,
    expired: AtomicU64,
    takes: AtomicU64,
    released: AtomicU64,
    writes: AtomicU64,
    fenced: AtomicU64,
    late_writes: AtomicU64,
}

/// What happened in a round.
#[derive(Clone, Debug)]
pub(super) struct Totals {
    #[expect(dead_code, reason = "printed")]
    pub(super) joined: u64,
    #[expect(dead_code, reason = "printed")]
    pub(super) renewed: u64,
    pub(super) expired: u64,
    /// Shards that were taken.
    pub(super) takes: u64,
    #[expect(dead_code, reason = "printed")]
    pub(super) released: u64,
    /// Transactions that passed the fence.
    pub(super) writes: u64,
    /// Transactions that did not.
    pub(super) fenced: u64,
    /// Transactions that passed it, and saw before their commit that a shard of theirs had changed hands.
    pub(super) late_writes: u64,
}

impl Arena {
    pub(super) async fn prepare(settings: &StoreSettings, statements: Statements) -> Arena {
        let EngineSettings::Postgres(engine) = &settings.engine else { panic!("the race needs PostgreSQL") };
        let client = connect(&engine.url).await;
        store::open(settings, SystemClock.now()).await.unwrap().close().await;
        client.batch_execute(OBSERVERS).await.unwrap();
        client.batch_execute(include_str!("../../../sql/postgres/note_timeline.sql")).await.unwrap();
        let lease = format!("UPDATE fleet SET lease = interval '{} ms' RETURNING timeline", LEASE.as_millis());
        let row = client.query_one(&lease, &[]).await.unwrap();
        Arena {
            url: engine.url.clone(),
            statements,
            timeline: row.get(0),
            next_node: AtomicI64::new(1),
            joined: AtomicU64::new(0),
            renewed: AtomicU64::new(0),
            expired: AtomicU64::new(0),
            takes: AtomicU64::new(0),
            released: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            fenced: AtomicU64::new(0),
            late_writes: AtomicU64::new(0),
        }
    }

    pub(super) fn totals(&self) -> Totals {
        let value = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Totals {
            joined: value(&self.joined),
            renewed: value(&self.renewed),
            expired: value(&self.expired),
            takes: value(&self.takes),
            released: value(&self.released),
            writes: value(&self.writes),
            fenced: value(&self.fenced),
            late_writes: value(&self.late_writes),
        }
    }

    pub(super) async fn faults(&self) -> Vec<String> {
        let rows = connect(&self.url).await.query("SELECT fault FROM race_faults LIMIT 20", &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }
}

/// One run of one process.
struct Node {
    arena: Arc<Arena>,
    id: i64,
    /// Shards with their epochs, as the node believes.
    owned: Mutex<BTreeMap<i32, i64>>,
    /// Held by the writer during a transaction, and by what has to wait for its end.
    drained: RwLock<()>,
    is_over: AtomicBool,
}

/// Lives one life after the other until the round is over. Ends of lives: in order, or abruptly with a write that may
/// still be in flight when the next life joins under the same name.
pub(super) async fn live(arena: Arc<Arena>, number: usize, watch: Stopwatch, length: Duration) {
    let mut dice = StdRng::seed_from_u64(number as u64);
    let client = connect(&arena.url).await;
    let mut writers = Vec::new();
    while watch.elapsed() < length {
        let id = arena.next_node.fetch_add(1, Ordering::Relaxed);
        let node = Arc::new(Node {
            arena: arena.clone(),
            id,
            owned: Mutex::default(),
            drained: RwLock::default(),
            is_over: AtomicBool::new(false),
        });
        join(&node, &client, &format!("node-{number}")).await.unwrap();
        writers.push(tokio::spawn(write(node.clone(), dice.random())));
        let steps = dice.random_range(5..60);
        let is_orderly = keep_lease(&node, &client, &mut dice, steps).await;
        node.is_over.store(true, Ordering::Relaxed);
        if is_orderly {
            client.query(arena.statements.leave, &[&id]).await.unwrap();
        } else if dice.random_bool(0.5) {
            // As long as another machine takes to notice.
            tokio::time::sleep(LEASE.mul_f64(dice.random_range(0.0..2.0))).await;
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
}

/// Joins; earlier lives under the same name are declared ended.
async fn join(node: &Node, client: &Client, name: &str) -> Result<(), Error> {
    let (statements, text) = (&node.arena.statements, "");
    client.batch_execute("BEGIN").await?;
    client.query(statements.lock_fleet, &[]).await?;
    let earlier: Vec<i64> = client.query(statements.namesakes, &[&name]).await?.iter().map(|row| row.get(0)).collect();
    client.execute(statements.end_nodes, &[&node.id, &earlier]).await?;
    client.execute(statements.join, &[&node.id, &name, &text, &0_i64, &text, &text]).await?;
    client.batch_execute("COMMIT").await?;
    node.arena.joined.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Renews, watches the others, takes and releases; whether the end is an orderly one.
async fn keep_lease(node: &Node, client: &Client, dice: &mut StdRng, steps: usize) -> bool {
    let (arena, statements) = (&node.arena, &node.arena.statements);
    let mut seen = BTreeMap::<i64, (i64, Stopwatch)>::new();
    for _ in 0..steps {
        let row = client.query_one(statements.renew, &[&node.id, &"{}", &true]).await.unwrap();
        let Some(_beat) = row.get::<_, Option<i64>>(0) else { return false };
        arena.renewed.fetch_add(1, Ordering::Relaxed);
        let shards = row.get::<_, Vec<i64>>(2).into_iter().map(number);
        let owned: BTreeMap<i32, i64> = shards.zip(row.get::<_, Vec<i64>>(3)).collect();
        let count = owned.len();
        *node.owned.lock() = owned;
        let beats: BTreeMap<i64, i64> = row.get::<_, Vec<i64>>(4).into_iter().zip(row.get::<_, Vec<i64>>(5)).collect();
        let live = beats.len();
        expire(node, client, &mut seen, beats).await;
        let share = SHARDS.div_ceil(live.max(1));
        if count < share {
            take(node, client, i64::try_from(share - count).unwrap()).await;
        } else if dice.random_bool(0.3) {
            release(node, client, dice).await;
        }
        let pause = match dice.random_range(0..100) {
            // A frozen process.
            0..4 => dice.random_range(1.0..2.5),
            _ => dice.random_range(0.02..0.15),
        };
        tokio::time::sleep(LEASE.mul_f64(pause)).await;
    }
    dice.random_bool(0.4)
}

/// Expires the nodes whose beat stood still for a lease.
async fn expire(node: &Node, client: &Client, seen: &mut BTreeMap<i64, (i64, Stopwatch)>, beats: BTreeMap<i64, i64>) {
    seen.retain(|id, (beat, _)| beats.get(id) == Some(beat));
    for (id, beat) in beats {
        seen.entry(id).or_insert_with(|| (beat, Stopwatch::start()));
    }
    let still = seen.iter().filter(|(id, (_, since))| **id != node.id && since.elapsed() >= LEASE);
    let (ids, beats): (Vec<i64>, Vec<i64>) = still.map(|(id, (beat, _))| (*id, *beat)).unzip();
    if !ids.is_empty() {
        let rows =
            client.query(node.arena.statements.expire, &[&node.id, &ids, &beats, &node.arena.timeline]).await.unwrap();
        node.arena.expired.fetch_add(rows.len() as u64, Ordering::Relaxed);
    }
}

/// Takes free shards and writes to them at once, as their new owner.
async fn take(node: &Node, client: &Client, count: i64) {
    let rows = client.query(node.arena.statements.take, &[&node.id, &count, &node.arena.timeline]).await.unwrap();
    node.arena.takes.fetch_add(rows.len() as u64, Ordering::Relaxed);
    let taken: BTreeMap<i32, i64> = rows.iter().map(|row| (number(row.get(0)), row.get(1))).collect();
    node.owned.lock().extend(&taken);
    if !taken.is_empty() {
        fenced_write(node, client, &taken, Duration::ZERO).await.unwrap();
    }
}

/// Releases some shards after the writes to them have ended.
async fn release(node: &Node, client: &Client, dice: &mut StdRng) {
    let _drained = node.drained.write().await;
    let count = dice.random_range(1..8);
    let released: BTreeMap<i32, i64> = {
        let mut owned = node.owned.lock();
        let released: Vec<i32> = owned.keys().copied().filter(|_| dice.random_bool(0.5)).take(count).collect();
        released.into_iter().filter_map(|shard| owned.remove_entry(&shard)).collect()
    };
    let (shards, epochs): (Vec<i32>, Vec<i64>) = released.into_iter().unzip();
    client.query(node.arena.statements.release, &[&node.id, &shards, &epochs]).await.unwrap();
    node.arena.released.fetch_add(shards.len() as u64, Ordering::Relaxed);
}

/// Writes to owned shards until the node's life is over, sometimes with a long time between the fence and the write.
async fn write(node: Arc<Node>, seed: u64) {
    let mut dice = StdRng::seed_from_u64(seed);
    let client = connect(&node.arena.url).await;
    while !node.is_over.load(Ordering::Relaxed) {
        let claims: BTreeMap<i32, i64> = {
            let owned = node.owned.lock();
            let few = 8.0 / owned.len().max(8) as f64;
            owned.iter().filter(|_| dice.random_bool(few)).map(|(shard, epoch)| (*shard, *epoch)).collect()
        };
        let pause = match dice.random_range(0..100) {
            0..10 => LEASE.mul_f64(dice.random_range(0.5..3.0)),
            _ => Duration::from_millis(dice.random_range(0..10)),
        };
        if !claims.is_empty() {
            let _in_flight = node.drained.read().await;
            // What was released while this waited is no claim any more.
            let claims =
                claims.into_iter().filter(|(shard, epoch)| node.owned.lock().get(shard) == Some(epoch)).collect();
            fenced_write(&node, &client, &claims, pause).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(dice.random_range(0..10))).await;
    }
}

/// One transaction: the fence, a pause, the write, a look at the shards right before the commit.
async fn fenced_write(node: &Node, client: &Client, claims: &BTreeMap<i32, i64>, pause: Duration) -> Result<(), Error> {
    let (shards, epochs): (Vec<i32>, Vec<i64>) = claims.iter().unzip();
    client.batch_execute("BEGIN").await?;
    let lost = lost_claims(node, client, &shards, &epochs).await?;
    if !lost.is_empty() {
        client.batch_execute("ROLLBACK").await?;
        node.arena.fenced.fetch_add(1, Ordering::Relaxed);
        node.owned.lock().retain(|shard, _| !lost.contains(shard));
        return Ok(());
    }
    tokio::time::sleep(pause).await;
    let claimed = "unnest($1::integer[], $2::bigint[]) AS claimed (shard, epoch)";
    // In the order of the shards, so that two writers never wait for each other.
    let lock = "SELECT FROM race_writes WHERE shard = ANY($1) ORDER BY shard FOR UPDATE";
    client.execute(lock, &[&shards]).await?;
    let write = format!(
        "UPDATE race_writes AS written SET epoch = claimed.epoch FROM {claimed} \
         WHERE written.shard = claimed.shard AND written.epoch <= claimed.epoch"
    );
    let written = client.execute(&write, &[&shards, &epochs]).await?;
    let look = format!("SELECT count(*) FROM shards JOIN {claimed} USING (shard) WHERE shards.epoch > claimed.epoch");
    let changed_hands: i64 = client.query_one(&look, &[&shards, &epochs]).await?.get(0);
    client.batch_execute("COMMIT").await?;
    node.arena.writes.fetch_add(1, Ordering::Relaxed);
    if written < shards.len() as u64 || changed_hands > 0 {
        node.arena.late_writes.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// The fence: shards that the node has lost.
async fn lost_claims(node: &Node, client: &Client, shards: &[i32], epochs: &[i64]) -> Result<Vec<i32>, Error> {
    let Statements { fence, fence_shape, .. } = &node.arena.statements;
    match fence_shape {
        FenceShape::Alone => {
            let rows = client.query(fence, &[&node.id, &shards, &epochs]).await?;
            Ok(rows.iter().map(|row| number(row.get(0))).collect())
        }
        FenceShape::WithSources => {
            // A source of each shard; shards are numbered from 0, sources from 1.
            let sources: Vec<i64> = shards.iter().map(|shard| i64::from(*shard) + 1).collect();
            let rows = client.query(fence, &[&sources, &node.id, &shards, &epochs]).await?;
            let places: Vec<i64> = rows.iter().filter_map(|row| row.get(0)).collect();
            assert!(!places.is_empty() || rows.len() == shards.len(), "it locks the source of every claim");
            Ok(places.into_iter().map(|place| shards[usize::try_from(place).unwrap() - 1]).collect())
        }
    }
}

/// Shards are read as 64 bits.
fn number(shard: i64) -> i32 {
    i32::try_from(shard).unwrap()
}

const _: () = assert!(ROUND.as_millis() > 4 * LEASE.as_millis() && NODES > 1);
