//! Nodes, publishers, readers and a database together, with what a test does to them and what it checks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::clock::{Clock, Stopwatch, SystemClock};
use feedwarden::demo::web::{SiteBehaviour, Web};
use feedwarden::model::{DeliveryFormat, HostKey, NewSource, NewWebhook, Shard, SourceId, SourceSettings, Timestamp};
use feedwarden::store::settings::{EngineSettings, PostgresSettings, StoreSettings};
use feedwarden::store::{self, Added, Store};
use futures_util::StreamExt;
use parking_lot::Mutex;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;
use tokio_postgres::Client;

use super::load::{PollRequest, Requester};
use super::node::{Node, NodeSettings, PATIENCE, records};
use super::proxy::{Passage, Proxy};
use super::publisher::{self, Politeness, Publishers};
use super::readers::{CursorReader, Receiver};
use super::report::{Fault, Takeover};
use super::server::{socket_in, url_of};

/// Number of shards of a fleet.
pub(super) const SHARDS: usize = feedwarden::model::SHARDS as usize;

/// What a fleet is made of.
#[derive(Clone, Debug)]
pub(super) struct FleetPlan {
    pub(super) nodes: usize,
    pub(super) node: NodeSettings,
    pub(super) hosts: usize,
    pub(super) sources_per_host: usize,
    pub(super) publishers: Publishers,
    pub(super) seed: u64,
}

pub(super) struct Fleet {
    pub(super) plan: FleetPlan,
    pub(super) web: Web,
    pub(super) nodes: Vec<Arc<Node>>,
    pub(super) requester: Requester,
    pub(super) reader: CursorReader,
    pub(super) receiver: Receiver,
    /// Site of each source.
    pub(super) sites: BTreeMap<SourceId, usize>,
    pub(super) takeovers: Mutex<Vec<Takeover>>,
    /// Times in which all nodes ran and had equal shares; the last one may not be over.
    calm: Mutex<Vec<(Timestamp, Option<Timestamp>)>>,
    database: String,
    /// Where the socket of the database server is now.
    server: Mutex<PathBuf>,
    started: Stopwatch,
    /// Configurations and logs of the nodes; kept after a failure.
    directory: Option<TempDir>,
}

impl Fleet {
    /// Publishers and sources, and nodes that do not run yet. `database` is an empty one of the server with its socket in
    /// that directory.
    pub(super) async fn prepare(plan: FleetPlan, server: PathBuf, database: &str) -> Fleet {
        let directory = tempfile::tempdir().unwrap();
        let web = publisher::start_web(plan.publishers, plan.hosts, plan.sources_per_host, plan.seed);
        let receiver = Receiver::start().await;
        let sites = fill_store(&url_of(&server, database), &web, &receiver.url).await;
        let mut nodes = Vec::new();
        for number in 0..plan.nodes {
            let name = format!("node-{}", char::from(b'a' + u8::try_from(number).unwrap()));
            let proxy = Proxy::start(socket_in(&server)).await;
            nodes.push(Arc::new(Node::new(&name, directory.path(), database, proxy, &plan.node)));
        }
        let sources = sites.keys().copied().collect();
        let requester = Requester::start(nodes.clone(), sources, Duration::from_millis(100), plan.seed);
        let reader = CursorReader::start(nodes.clone());
        Fleet {
            plan,
            web,
            nodes,
            requester,
            reader,
            receiver,
            sites,
            takeovers: Mutex::default(),
            calm: Mutex::default(),
            database: database.into(),
            server: Mutex::new(server),
            started: Stopwatch::start(),
            directory: Some(directory),
        }
    }

    pub(super) fn lease(&self) -> Duration {
        Duration::from_secs(self.plan.node.lease_seconds)
    }

    pub(super) fn pause(&self) -> Duration {
        Duration::from_secs(self.plan.node.pause_seconds)
    }

    pub(super) fn say(&self, what: impl std::fmt::Display) {
        println!("{:6.1} s: {what}", self.started.elapsed().as_secs_f64());
    }

    /// A connection to the database past all proxies.
    pub(super) async fn connect(&self) -> Option<Client> {
        let url = url_of(&self.server.lock(), &self.database);
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.ok()?;
        tokio::spawn(connection);
        Some(client)
    }

    /// The first column of the first row.
    pub(super) async fn number(&self, sql: &str) -> i64 {
        let client = self.connect().await.expect("the database answers");
        client.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// Leads all nodes to another server.
    pub(super) fn switch_server(&self, directory: PathBuf) {
        self.nodes.iter().for_each(|node| node.proxy.switch(socket_in(&directory)));
        *self.server.lock() = directory;
    }

    /// Name of the owner of each shard that has one.
    pub(super) async fn owners(&self) -> BTreeMap<i32, String> {
        let Some(client) = self.connect().await else { return BTreeMap::new() };
        let owned = "SELECT shard, name FROM shards JOIN nodes USING (node_id) WHERE ended_at IS NULL";
        let rows = client.query(owned, &[]).await.unwrap_or_default();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    pub(super) async fn shards_of(&self, node: &Node) -> Vec<i32> {
        let owners = self.owners().await;
        owners.into_iter().filter(|(_, name)| *name == node.name).map(|(shard, _)| shard).collect()
    }

    /// Waits until a condition holds, with a bound.
    pub(super) async fn wait_for(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) -> Duration {
        let watch = Stopwatch::start();
        while !holds().await {
            if watch.elapsed() > PATIENCE {
                let words: Vec<String> =
                    self.nodes.iter().map(|node| format!("{}: {}", node.name, node.last_words())).collect();
                panic!("waited {PATIENCE:?} for: {what}\n{:?}\n{}", self.counts().await, words.join("\n"));
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        watch.elapsed()
    }

    /// Shards by owner.
    pub(super) async fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        self.owners().await.into_values().for_each(|name| *counts.entry(name).or_default() += 1);
        counts
    }

    /// Waits until all shards are owned, by running nodes, in equal shares.
    pub(super) async fn balanced(&self) -> Duration {
        let running: Vec<&str> =
            self.nodes.iter().filter(|node| node.is_running()).map(|node| node.name.as_str()).collect();
        let most = SHARDS.div_ceil(running.len()) + 1;
        let took = self
            .wait_for("equal shares", async || {
                let counts = self.counts().await;
                counts.values().sum::<usize>() == SHARDS
                    && counts.len() == running.len()
                    && counts.iter().all(|(name, count)| running.contains(&name.as_str()) && *count <= most)
            })
            .await;
        self.end_calm(SystemClock.now());
        self.calm.lock().push((SystemClock.now(), None));
        self.say(format_args!("balanced after {took:.1?}: {:?}", self.counts().await));
        took
    }

    /// To be called before something goes wrong.
    pub(super) fn end_calm(&self, at: Timestamp) {
        if let Some((_, until @ None)) = self.calm.lock().last_mut() {
            *until = Some(at);
        }
    }

    /// Requests for polls that were not answered as promised while all nodes ran.
    pub(super) fn refused_in_calm(&self) -> Vec<PollRequest> {
        let calm = self.calm.lock().clone();
        let now = SystemClock.now();
        calm.into_iter().flat_map(|(from, until)| self.requester.refused(from, until.unwrap_or(now))).collect()
    }

    /// Hosts of the publishers in these shards.
    pub(super) fn hosts_in(&self, shards: &[i32]) -> Vec<String> {
        self.web.hosts().into_iter().filter(|host| shards.contains(&self.shard_of(host))).collect()
    }

    pub(super) fn shard_of(&self, host: &str) -> i32 {
        i32::from(Shard::of_host(Some(&HostKey::from_canonical(host))).0)
    }

    /// Takes a node away, asks the others for a poll at each of its hosts, and waits until they have made them.
    pub(super) async fn lose(&self, fault: Fault, victim: &Arc<Node>) -> Takeover {
        let shards = self.shards_of(victim).await;
        let hosts = self.hosts_in(&shards);
        assert!(!shards.is_empty() && !hosts.is_empty(), "{} has nothing to lose", victim.name);
        let at = SystemClock.now();
        self.end_calm(at);
        match fault {
            Fault::Kill => victim.kill(),
            Fault::Freeze => victim.signal(Signal::STOP),
            Fault::Cut => victim.proxy.set(Passage::Frozen),
            Fault::Stop => victim.stop().await,
            Fault::Restart | Fault::Failover => panic!("a fault of the database loses no node"),
        }
        let requesting = self.request_polls(&hosts, Some(victim));
        tokio::join!(requesting, self.measure(fault, &victim.name, at, &shards, &hosts)).1
    }

    /// Waits until these shards and hosts are those of others.
    pub(super) async fn measure(
        &self,
        fault: Fault,
        victim: &str,
        at: Timestamp,
        shards: &[i32],
        hosts: &[String],
    ) -> Takeover {
        self.wait_for("owners of all shards", async || {
            let owners = self.owners().await;
            shards.iter().all(|shard| owners.get(shard).is_some_and(|name| name != victim))
        })
        .await;
        let owned = SystemClock.now().since(at);
        let mut asked = Vec::new();
        self.wait_for("requests to all hosts", async || {
            let journal = self.web.journal();
            let first = |host: &String| publisher::first_request(&journal, host, at, victim);
            asked = hosts.iter().filter_map(first).map(|first| first.since(at)).collect();
            asked.len() == hosts.len()
        })
        .await;
        if let Some((longest, host)) = asked.iter().zip(hosts).max() {
            self.say(format_args!("{host} was the last host, after {longest:.2?}"));
        }
        let takeover = Takeover { fault, victim: victim.into(), shards: shards.len(), owned, asked };
        self.say(&takeover);
        self.takeovers.lock().push(takeover.clone());
        takeover
    }

    /// Asks nodes other than this one for a poll at each of these hosts. Without an owner the request is stored.
    pub(super) async fn request_polls(&self, hosts: &[String], not_at: Option<&Arc<Node>>) {
        let mut of_host = BTreeMap::<&str, SourceId>::new();
        for (id, site) in &self.sites {
            let site = &self.web.sites()[*site];
            if site.behaviour != SiteBehaviour::Website {
                of_host.entry(&site.host).or_insert(*id);
            }
        }
        let sources: Vec<SourceId> = hosts.iter().map(|host| of_host[host.as_str()]).collect();
        self.request_sources(&sources, not_at).await;
    }

    /// Asks for a poll of each of these sources, at one running node after the other.
    pub(super) async fn request_sources(&self, sources: &[SourceId], not_at: Option<&Arc<Node>>) {
        let is_other = |node: &&Arc<Node>| node.is_running() && not_at.is_none_or(|not_at| node.name != not_at.name);
        let nodes: Vec<&Arc<Node>> = self.nodes.iter().filter(is_other).collect();
        let requests = sources.iter().zip(nodes.iter().cycle()).map(|(id, node)| async move {
            let path = format!("/sources/{id}/poll");
            self.wait_for(&format!("an answer to {path} at {}", node.name), async || {
                matches!(node.ask("POST", &path, &Value::Null).await, Ok((200 | 202, _)))
            })
            .await;
        });
        futures_util::stream::iter(requests).buffer_unordered(8).collect::<Vec<()>>().await;
    }

    pub(super) fn fenced(&self) -> usize {
        self.nodes.iter().map(|node| node.count(records::FENCED)).sum()
    }

    /// Lets every source be read once more, waits until readers and receivers have everything, stops the nodes in order
    /// and compares what was served with what is stored and what was passed on.
    pub(super) async fn finish(&self) -> Vec<String> {
        self.end_calm(SystemClock.now());
        self.requester.stop();
        for site in 0..self.web.sites().len() {
            if self.web.behaviour(site) != SiteBehaviour::Website {
                self.web.set_behaviour(site, SiteBehaviour::NoValidators).unwrap();
            }
            // What a lost poll saw may be hidden now.
            self.web.calm(site);
        }
        let asked_at = SystemClock.now().as_micros();
        let sources: Vec<SourceId> = self.sites.keys().copied().collect();
        self.request_sources(&sources, None).await;
        let left = format!(
            "SELECT count(*) FROM sources WHERE coalesce(last_success_at, 'epoch') < to_timestamp({asked_at} / 1e6)"
        );
        self.wait_for("a poll of every source", async || self.number(&left).await == 0).await;
        self.wait_for("readers that have everything", async || {
            let newest = self.number("SELECT coalesce(max(change_number), 0) FROM posts_v2").await;
            let delivered = self.receiver.deliveries().numbers.last().copied().unwrap_or(0);
            self.reader.state().last >= newest && delivered >= newest
        })
        .await;
        for node in &self.nodes {
            node.stop().await;
        }
        let mut complaints = self.compare_entries().await;
        complaints.extend(self.compare_readers().await);
        let politeness = self.politeness();
        self.say(format_args!(
            "{} requests, {:?}, {} times one node after another at a host, shortest pause {:?}, {} polls fenced, \
             answers to poll requests {:?}, {} takeovers",
            politeness.requests,
            politeness.by_node,
            politeness.handovers,
            politeness.pause_min,
            self.fenced(),
            self.requester.answers(),
            self.takeovers.lock().len(),
        ));
        complaints.extend(politeness.complaints);
        let crashed = self.nodes.iter().filter(|node| node.count("actor crashed") > 0);
        complaints.extend(crashed.map(|node| format!("actors of {} crashed", node.name)));
        complaints
    }

    pub(super) fn politeness(&self) -> Politeness {
        publisher::judge(&self.web.journal(), self.pause())
    }

    /// Every served entry is stored once.
    async fn compare_entries(&self) -> Vec<String> {
        let url = url_of(&self.server.lock(), &self.database);
        let store = open(&url).await;
        let mut complaints = Vec::new();
        for (id, site) in &self.sites {
            let posts = store.list_posts(Some(*id), None, 1_000_000).await.unwrap();
            let mut found = self.web.compare(*site, &posts);
            if self.web.sites()[*site].behaviour == SiteBehaviour::Website {
                // A page shows one article: what a lost poll saw is gone when the next one comes.
                found.missing.retain(|number| found.served.last() == Some(number));
            }
            if !found.is_exact() {
                complaints.push(format!("{}: {found:?}", self.web.sites()[*site].url));
            }
        }
        store.close().await;
        complaints
    }

    /// The reader by change number and the receiver of webhooks have every post that is stored, and each number was that
    /// of one post only.
    async fn compare_readers(&self) -> Vec<String> {
        let client = self.connect().await.expect("the database answers");
        let rows = client.query("SELECT change_number, coalesce(url, '') FROM posts_v2", &[]).await.unwrap();
        let stored: BTreeMap<i64, String> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let (reader, deliveries) = (self.reader.state(), self.receiver.deliveries());
        let mut complaints = reader.complaints.clone();
        for (number, url) in &stored {
            match reader.seen.get(number) {
                None => complaints.push(format!("the reader missed {number}")),
                Some(seen) if seen != url => complaints.push(format!("number {number} was {seen} and is {url}")),
                Some(_) => {}
            }
            if !deliveries.numbers.contains(number) {
                complaints.push(format!("the webhook missed {number}"));
            }
        }
        if stored.is_empty() {
            complaints.push("nothing was stored".into());
        }
        self.say(format_args!(
            "{} posts stored, {} seen, {} delivered",
            stored.len(),
            reader.seen.len(),
            deliveries.numbers.len()
        ));
        complaints
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(directory) = self.directory.take()
        {
            println!("logs of the nodes: {}", directory.keep().display());
        }
    }
}

async fn open(url: &str) -> Arc<dyn Store> {
    let engine = EngineSettings::Postgres(PostgresSettings::new(url.into()));
    let settings = StoreSettings { engine, encryption_key: Some(crate::store::ENCRYPTION_KEY.into()) };
    store::open(&settings, SystemClock.now()).await.unwrap()
}

/// Adds the sites as sources, before any node runs, so that their first polls are spread over an interval.
async fn fill_store(url: &str, web: &Web, webhook: &str) -> BTreeMap<SourceId, usize> {
    let store = open(url).await;
    let created_at = SystemClock.now();
    let settings = |site: &feedwarden::demo::web::Site| SourceSettings::new(site.source_type, site.url.as_str());
    let new = web.sites().iter().map(|site| NewSource { settings: settings(site), created_at });
    let added = store.add_sources(new.collect()).await.unwrap();
    let secret = "a secret to sign with".into();
    store
        .add_webhook(NewWebhook {
            url: webhook.into(),
            secret,
            label: None,
            format: DeliveryFormat::Classic,
            event_types: Vec::new(),
            created_at,
        })
        .await
        .unwrap();
    store.close().await;
    let id = |added: &Added| match added {
        Added::New(id) | Added::Duplicate(id) => *id,
    };
    added.iter().map(id).zip(0..).collect()
}
