//! Nodes, shards and messages in PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::Pool;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{Mutex, mpsc};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Notification, Row};

use crate::dice::unique_number;
use crate::model::{
    FleetRecord, JoinOutcome, NewNode, NodeId, NodeMessage, NodeRecord, NodeRenewal, OwnedShard, Receiver, Shard,
    SourceId,
};

use super::super::cipher::{Cipher, Owner};
use super::super::settings::PostgresSettings;
use super::super::statement::Statement;
use super::super::{FleetNews, FleetStore, Result, StoreError, StoreHealth};
use super::session::{Lease, Session, query};
use super::values::{self, execute};
use super::{connect, numbers as post_numbers};

static LOCK: Statement = Statement::new(include_str!("../../../sql/postgres/lock_fleet.sql"));
static NAMESAKES: Statement = Statement::new(include_str!("../../../sql/postgres/namesakes.sql"));
static COUNT_LIVE: Statement = Statement::new(include_str!("../../../sql/postgres/count_live_nodes.sql"));
static END: Statement = Statement::new(include_str!("../../../sql/postgres/end_nodes.sql"));
static PUT_LEASE: Statement = Statement::new(include_str!("../../../sql/postgres/put_lease.sql"));
static PUT_KEY_CHECK: Statement = Statement::new(include_str!("../../../sql/postgres/put_key_check.sql"));
static NOTE_TIMELINE: Statement = Statement::new(include_str!("../../../sql/postgres/note_timeline.sql"));
static JOIN: Statement = Statement::new(include_str!("../../../sql/postgres/join_fleet.sql"));
static RENEW: Statement = Statement::new(include_str!("../../../sql/postgres/renew_node.sql"));
static EXPIRE: Statement = Statement::new(include_str!("../../../sql/postgres/expire_nodes.sql"));
static TAKE: Statement = Statement::new(include_str!("../../../sql/postgres/take_shards.sql"));
static RELEASE: Statement = Statement::new(include_str!("../../../sql/postgres/release_shards.sql"));
static LEAVE: Statement = Statement::new(include_str!("../../../sql/postgres/leave_fleet.sql"));
static BEGIN_TIMELINE: Statement = Statement::new(include_str!("../../../sql/postgres/begin_timeline.sql"));
static FACTS: Statement = Statement::new(include_str!("../../../sql/postgres/fleet_facts.sql"));
static NODES: Statement = Statement::new(include_str!("../../../sql/postgres/list_nodes.sql"));
static SEND: Statement = Statement::new(include_str!("../../../sql/postgres/send_messages.sql"));
static TELL_OWNERS: Statement = Statement::new(include_str!("../../../sql/postgres/tell_source_owners.sql"));
static TAKE_MESSAGES: Statement = Statement::new(include_str!("../../../sql/postgres/take_messages.sql"));
static CLEAN: Statement = Statement::new(include_str!("../../../sql/postgres/clean_fleet.sql"));
pub(super) static FENCE: Statement = Statement::new(include_str!("../../../sql/postgres/fence.sql"));

/// Connections for nodes and messages.
const CONNECTIONS: usize = 3;
/// Wait before the next attempt to listen.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);
/// Time within which an announcement of ours must arrive.
const ANNOUNCED_WITHIN: Duration = Duration::from_secs(5);
/// The most nodes that are listed.
const NODES_MAX: i64 = 1000;
/// What is sealed to find out whether two nodes have the same key.
const KEY_CHECK: &str = "fleet";

const LISTEN: &str = "LISTEN feedwarden_fleet; LISTEN feedwarden_posts";

/// The node that this process is, in statements that need one; 0 for none.
#[derive(Clone, Default)]
pub(super) struct OwnNode(Arc<AtomicI64>);

impl OwnNode {
    pub(super) fn get(&self) -> Option<NodeId> {
        Some(NodeId(self.0.load(Ordering::Acquire))).filter(|node| node.0 != 0)
    }

    fn set(&self, node: NodeId) {
        self.0.store(node.0, Ordering::Release);
    }
}

pub(super) struct PostgresFleet {
    settings: PostgresSettings,
    pool: Pool,
    cipher: Cipher,
    health: Arc<StoreHealth>,
    own_node: OwnNode,
    listener: Mutex<Option<FleetListener>>,
}

struct FleetListener {
    /// Keeps the connection open.
    client: tokio_postgres::Client,
    notifications: mpsc::Receiver<Notification>,
}

impl PostgresFleet {
    pub(super) fn new(settings: &PostgresSettings, cipher: Cipher, own_node: OwnNode) -> Result<PostgresFleet> {
        let settings = settings.clone();
        // A take or release that a crash of the server loses would be unknown to those that saw it.
        let pool = connect::pool_with(&settings, CONNECTIONS, "-c synchronous_commit=on")?;
        let listener = Mutex::new(None);
        Ok(PostgresFleet { settings, pool, cipher, health: Arc::default(), own_node, listener })
    }

    async fn client(&self) -> Result<Lease> {
        let client = self.pool.get().await.map_err(values::refused)?;
        Ok(Lease::of(client, self.settings.response_timeout, &self.health))
    }

    /// Listens, and checks that announcements arrive.
    async fn listen(&self) -> Result<FleetListener> {
        let (client, mut notifications) = connect::listener(&self.settings).await?;
        let listening = tokio::time::timeout(self.settings.connect_timeout, client.batch_execute(LISTEN));
        match listening.await {
            Ok(listening) => listening.map_err(values::error)?,
            Err(_) => return Err(StoreError::Unavailable("the server did not answer in time".into())),
        }
        let check = format!("check {:x}", unique_number());
        let lease = self.client().await?;
        let row: [&(dyn ToSql + Sync); 1] = [&check];
        let announcing = lease.inner().execute("SELECT pg_notify('feedwarden_fleet', $1)", &row);
        match tokio::time::timeout(self.settings.connect_timeout, announcing).await {
            Ok(announced) => announced.map_err(values::error)?,
            Err(_) => return Err(StoreError::Unavailable("the server did not answer in time".into())),
        };
        let arriving = async {
            while let Some(notification) = notifications.recv().await {
                if notification.payload() == check {
                    return true;
                }
            }
            false
        };
        match tokio::time::timeout(ANNOUNCED_WITHIN, arriving).await {
            Ok(true) => Ok(FleetListener { client, notifications }),
            Ok(false) => Err(StoreError::Unavailable("the server closed the connection".into())),
            Err(_) => Err(StoreError::Unusable(
                "notifications of the server (NOTIFY) do not arrive: there seems to be a connection pooler in transaction \
                 mode, such as pgbouncer, between feedwarden and the server; connect directly, or use its session mode"
                    .into(),
            )),
        }
    }

    /// Refuses a node whose encryption key is not that of the others.
    async fn check_key(&self, session: &impl Session, known: Option<Vec<u8>>) -> Result<()> {
        match known {
            None if self.cipher.has_key() => {
                let sealed = self.cipher.seal(Owner::Fleet, &SecretString::from(KEY_CHECK))?;
                execute(session, &PUT_KEY_CHECK, &[&sealed]).await.map(|_| ())
            }
            None => Ok(()),
            Some(sealed) => match self.cipher.open(Owner::Fleet, &sealed) {
                Ok(opened) if opened.expose_secret() == KEY_CHECK => Ok(()),
                _ => Err(StoreError::Unusable(
                    "the other nodes of the fleet have another encryption key: set database.encryption-key to theirs (or \
                     run `feedwarden store reseal` first, if the key is being changed)"
                        .into(),
                )),
            },
        }
    }
}

#[async_trait]
impl FleetStore for PostgresFleet {
    async fn place(&self) -> Result<String> {
        post_numbers::place(&self.client().await?).await
    }

    async fn join(&self, node: &NewNode) -> Result<JoinOutcome> {
        // Fails early where announcements cannot arrive.
        drop(self.listen().await?);
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let rows = query(&transaction, &LOCK, &[]).await?;
        let row = first(&rows)?;
        let (mut lease, key_check) = (seconds(row, 0)?, column::<Option<Vec<u8>>>(row, 1)?);
        let timeline = column::<String>(row, 2)?;
        let live = column::<i64>(first(&query(&transaction, &COUNT_LIVE, &[]).await?)?, 0)?;
        let namesakes = query(&transaction, &NAMESAKES, &[&node.name]).await?;
        let booted_for = i64::try_from(node.booted_for.as_micros()).unwrap_or(i64::MAX);
        let mut earlier = Vec::new();
        for row in &namesakes {
            let (id, boot) = (column::<i64>(row, 0)?, column::<String>(row, 1)?);
            if boot != node.boot || column::<i64>(row, 3)? >= booted_for {
                let (beat, timeline) = (column(row, 2)?, timeline.clone());
                return Ok(JoinOutcome::NameTaken { node: NodeId(id), beat, lease, timeline });
            }
            earlier.push(id);
        }
        self.check_key(&transaction, key_check).await?;
        execute(&transaction, &END, &[&node.id.0, &earlier]).await?;
        if live <= earlier.len() as i64 {
            lease = node.lease;
            execute(&transaction, &PUT_LEASE, &[&lease.as_secs_f64()]).await?;
        }
        execute(&transaction, &NOTE_TIMELINE, &[]).await?;
        let row: [&(dyn ToSql + Sync); 6] =
            [&node.id.0, &node.name, &node.boot, &booted_for, &node.version, &node.settings];
        execute(&transaction, &JOIN, &row).await?;
        transaction.commit().await?;
        self.own_node.set(node.id);
        Ok(JoinOutcome::Joined { lease })
    }

    async fn renew(&self, node: NodeId, report: &str, is_taking: bool) -> Result<NodeRenewal> {
        let rows = query(&self.client().await?, &RENEW, &[&node.0, &report, &is_taking]).await?;
        let row = first(&rows)?;
        let shards = column::<Vec<i64>>(row, 2)?.into_iter().zip(column::<Vec<i64>>(row, 3)?);
        let nodes = column::<Vec<i64>>(row, 4)?.into_iter().zip(column::<Vec<i64>>(row, 5)?);
        Ok(NodeRenewal {
            beat: column(row, 0)?,
            database_now: column(row, 1)?,
            shards: shards.map(|(shard, epoch)| OwnedShard { shard: shard_of(shard), epoch }).collect(),
            nodes: nodes.map(|(node, beat)| (NodeId(node), beat)).collect(),
            free: count(row, 6)?,
            timeline: (column(row, 7)?, column(row, 8)?),
            quiet_for: seconds(row, 9)?,
            paused_since: column(row, 10)?,
            taking: count(row, 11)?,
        })
    }

    async fn expire(&self, by: NodeId, still: Vec<(NodeId, i64)>, timeline: &str) -> Result<Vec<String>> {
        let (nodes, beats): (Vec<i64>, Vec<i64>) = still.into_iter().map(|(node, beat)| (node.0, beat)).unzip();
        let rows = query(&self.client().await?, &EXPIRE, &[&by.0, &nodes, &beats, &timeline]).await?;
        rows.iter().map(|row| column(row, 0)).collect()
    }

    async fn take_shards(&self, node: NodeId, limit: usize, timeline: &str) -> Result<Vec<OwnedShard>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = query(&self.client().await?, &TAKE, &[&node.0, &limit, &timeline]).await?;
        let read = |row: &Row| Ok(OwnedShard { shard: shard_of(column(row, 0)?), epoch: column(row, 1)? });
        rows.iter().map(read).collect()
    }

    async fn release_shards(&self, node: NodeId, released: Vec<OwnedShard>) -> Result<()> {
        let shards: Vec<Shard> = released.iter().map(|owned| owned.shard).collect();
        let epochs: Vec<i64> = released.iter().map(|owned| owned.epoch).collect();
        query(&self.client().await?, &RELEASE, &[&node.0, &numbers(&shards), &epochs]).await.map(|_| ())
    }

    async fn leave(&self, node: NodeId) -> Result<()> {
        query(&self.client().await?, &LEAVE, &[&node.0]).await.map(|_| ())
    }

    async fn begin_timeline(&self, timeline: &str) -> Result<bool> {
        Ok(!query(&self.client().await?, &BEGIN_TIMELINE, &[&timeline]).await?.is_empty())
    }

    async fn fleet(&self) -> Result<FleetRecord> {
        let client = self.client().await?;
        let facts = query(&client, &FACTS, &[]).await?;
        let facts = first(&facts)?;
        let nodes = query(&client, &NODES, &[&NODES_MAX]).await?;
        let owners = column::<Vec<i64>>(facts, 4)?.into_iter();
        Ok(FleetRecord {
            lease: seconds(facts, 0)?,
            quiet_for: seconds(facts, 1)?,
            free_shards: count(facts, 2)?,
            messages_waiting: count(facts, 3)?,
            owners: owners.map(|node| (node != 0).then_some(NodeId(node))).collect(),
            nodes: nodes.iter().map(read_node).collect::<Result<_>>()?,
        })
    }

    async fn send_messages(&self, sender: NodeId, messages: Vec<(Receiver, String)>) -> Result<()> {
        if messages.is_empty() {
            return Ok(());
        }
        let shard = |receiver: &Receiver| match receiver {
            Receiver::Shard(shard) => Some(i32::from(shard.0)),
            Receiver::Node(_) => None,
        };
        let node = |receiver: &Receiver| match receiver {
            Receiver::Shard(_) => None,
            Receiver::Node(node) => Some(node.0),
        };
        let shards: Vec<Option<i32>> = messages.iter().map(|(receiver, _)| shard(receiver)).collect();
        let nodes: Vec<Option<i64>> = messages.iter().map(|(receiver, _)| node(receiver)).collect();
        let bodies: Vec<&str> = messages.iter().map(|(_, body)| body.as_str()).collect();
        query(&self.client().await?, &SEND, &[&sender.0, &shards, &nodes, &bodies]).await.map(|_| ())
    }

    async fn take_messages(&self, node: NodeId, shards: Vec<Shard>, limit: u32) -> Result<Vec<NodeMessage>> {
        let client = self.client().await?;
        let rows = query(&client, &TAKE_MESSAGES, &[&node.0, &numbers(&shards), &i64::from(limit)]).await?;
        let read = |row: &Row| {
            let message = NodeMessage { sender: NodeId(column(row, 1)?), body: column(row, 2)?, age: seconds(row, 3)? };
            Ok((column::<i64>(row, 0)?, message))
        };
        let mut messages: Vec<(i64, NodeMessage)> = rows.iter().map(read).collect::<Result<_>>()?;
        messages.sort_by_key(|(number, _)| *number);
        Ok(messages.into_iter().map(|(_, message)| message).collect())
    }

    async fn reseal_key_check(&self) -> Result<()> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let rows = query(&transaction, &LOCK, &[]).await?;
        let known = column::<Option<Vec<u8>>>(first(&rows)?, 1)?;
        // A key that no node has is not replaced by this one.
        if known.is_some_and(|known| self.cipher.open(Owner::Fleet, &known).is_ok()) {
            let sealed = self.cipher.seal(Owner::Fleet, &SecretString::from(KEY_CHECK))?;
            execute(&transaction, &PUT_KEY_CHECK, &[&sealed]).await?;
        }
        transaction.commit().await
    }

    async fn clean_fleet(&self) -> Result<()> {
        execute(&self.client().await?, &CLEAN, &[]).await.map(|_| ())
    }

    async fn news(&self) -> FleetNews {
        let mut listener = self.listener.lock().await;
        if let Some(open) = listener.as_mut().filter(|open| !open.client.is_closed()) {
            while let Some(notification) = open.notifications.recv().await {
                if let Some(news) = read_news(&notification) {
                    return news;
                }
            }
        }
        *listener = None;
        loop {
            match self.listen().await {
                Ok(open) => {
                    *listener = Some(open);
                    return FleetNews::Missed;
                }
                Err(_) => tokio::time::sleep(LISTEN_AGAIN).await,
            }
        }
    }
}

/// Tells the owners of these sources to read them again, in the transaction that changes them.
pub(super) async fn tell_owners(session: &impl Session, own_node: &OwnNode, ids: &[SourceId]) -> Result<()> {
    let Some(node) = own_node.get().filter(|_| !ids.is_empty()) else { return Ok(()) };
    let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
    query(session, &TELL_OWNERS, &[&node.0, &ids]).await.map(|_| ())
}

fn read_news(notification: &Notification) -> Option<FleetNews> {
    if notification.channel() == "feedwarden_posts" {
        return Some(FleetNews::Posts);
    }
    let (kind, number) = notification.payload().split_at_checked(1)?;
    match kind {
        "f" => Some(FleetNews::Free),
        "s" => Some(FleetNews::Message(Receiver::Shard(Shard(number.parse().ok()?)))),
        "n" => Some(FleetNews::Message(Receiver::Node(NodeId(number.parse().ok()?)))),
        _ => None,
    }
}

fn read_node(row: &Row) -> Result<NodeRecord> {
    Ok(NodeRecord {
        id: NodeId(column(row, 0)?),
        name: column(row, 1)?,
        version: column(row, 2)?,
        settings: column(row, 3)?,
        joined_at: column(row, 4)?,
        report: column(row, 5)?,
        lease_left: column(row, 6)?,
        ended_at: column(row, 7)?,
        ended_by: column(row, 8)?,
        has_left: column::<Option<bool>>(row, 9)?.unwrap_or(false),
        shards: count(row, 10)?,
    })
}

fn numbers(shards: &[Shard]) -> Vec<i32> {
    shards.iter().map(|shard| i32::from(shard.0)).collect()
}

fn shard_of(number: i64) -> Shard {
    Shard(u16::try_from(number).unwrap_or_default())
}

fn first(rows: &[Row]) -> Result<&Row> {
    rows.first().ok_or_else(|| StoreError::Internal("a statement returned no row".into()))
}

fn column<'a, T: tokio_postgres::types::FromSql<'a>>(row: &'a Row, place: usize) -> Result<T> {
    row.try_get(place).map_err(|error| StoreError::Internal(values::text(&error)))
}

fn count(row: &Row, place: usize) -> Result<usize> {
    Ok(usize::try_from(column::<i64>(row, place)?).unwrap_or_default())
}

fn seconds(row: &Row, place: usize) -> Result<Duration> {
    Ok(Duration::try_from_secs_f64(column::<f64>(row, place)?.max(0.0)).unwrap_or_default())
}
