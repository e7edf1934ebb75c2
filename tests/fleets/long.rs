//! The long runs of `tests/fleet`: every fault again and again, with a standby and promotions; polls per second by
//! number of nodes; a million sources that change hands.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::clock::{Clock, Stopwatch, SystemClock};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rustix::process::Signal;

use super::fleet::{Fleet, FleetPlan, SHARDS};
use super::node::{Node, NodeSettings};
use super::proxy::Passage;
use super::publisher::{self, Publishers};
use super::report::{self, Fault};
use super::server::{Server, url_of};

/// What a long run does to a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A node is lost and comes back.
    Lose(Fault),
    /// All nodes are started again, one after the other.
    RollingRestart,
    /// Every piece of every connection to the database is late.
    SlowDatabase,
    /// All connections to the database are closed.
    ResetConnections,
    RestartDatabase,
    /// The standby has everything.
    Failover,
    /// The standby lacks the last seconds.
    FailoverWithLoss,
    /// A node has another time than the database.
    ClockOffset,
}

const EVENTS: [Event; 11] = [
    Event::Lose(Fault::Stop),
    Event::Lose(Fault::Kill),
    Event::Lose(Fault::Freeze),
    Event::Lose(Fault::Cut),
    Event::SlowDatabase,
    Event::ResetConnections,
    Event::RestartDatabase,
    Event::Failover,
    Event::FailoverWithLoss,
    Event::ClockOffset,
    Event::RollingRestart,
];

fn from_environment<T: std::str::FromStr>(name: &str, otherwise: T) -> T {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
#[ignore = "takes minutes: tests/fleet"]
async fn a_fleet_loses_nothing_and_spares_publishers_whatever_goes_wrong() {
    let minutes: f64 = from_environment("FEEDWARDEN_FLEET_MINUTES", 10.0);
    let seed: u64 = from_environment("FEEDWARDEN_FLEET_SEED", 1);
    let nodes: usize = from_environment("FEEDWARDEN_FLEET_NODES", 4);
    println!("seed {seed}, {nodes} nodes");
    let node = NodeSettings { lease_seconds: 3, pause_seconds: 1, concurrency: 128 };
    let plan = FleetPlan { nodes, node, hosts: 120, sources_per_host: 12, publishers: Publishers::Mixed, seed };
    let mut world = World::create(plan).await;
    let mut dice = StdRng::seed_from_u64(seed);
    let watch = Stopwatch::start();
    let mut events = EVENTS.to_vec();
    // Every event once, in this order; then by the seed.
    while let Some(event) = events.first().copied() {
        world.play(event, &mut dice).await;
        events.remove(0);
        if events.is_empty() && watch.elapsed().as_secs_f64() < minutes * 60.0 {
            events.push(EVENTS[dice.random_range(0..EVENTS.len())]);
        }
    }
    let until = SystemClock.now();
    let mut complaints = world.fleet.finish().await;
    // A minute, the queue of the host, and the longest fault with its takeover.
    let queue = Duration::from_secs(2) * u32::try_from(world.fleet.plan.sources_per_host).unwrap();
    let bound = Duration::from_secs(60) + queue + 10 * world.fleet.lease();
    complaints.extend(publisher::longest_waits(&world.fleet.web.journal(), until, bound));
    println!("{}", report::table(&world.fleet.takeovers.lock()));
    assert!(complaints.is_empty(), "{} complaints (seed {seed}):\n{}", complaints.len(), complaints.join("\n"));
    let refused = world.fleet.refused_in_calm();
    assert!(refused.is_empty(), "{} requests for polls were refused: {:?}", refused.len(), refused.first());
    assert!(world.fleet.fenced() > 0, "no write was fenced: the run proves nothing about late writes");
}

/// A fleet on a server of its own that has a standby.
struct World {
    fleet: Fleet,
    primary: Server,
    standby: Server,
}

impl World {
    async fn create(plan: FleetPlan) -> World {
        let (primary, standby) = blocking(|| {
            let primary = Server::create();
            let standby = primary.standby();
            (primary, standby)
        })
        .await;
        let fleet = Fleet::prepare(plan, primary.socket_directory(), "postgres").await;
        for node in &fleet.nodes {
            node.start().await;
        }
        fleet.balanced().await;
        World { fleet, primary, standby }
    }

    async fn play(&mut self, event: Event, dice: &mut StdRng) {
        let fleet = &self.fleet;
        fleet.say(format_args!("{event:?}"));
        fleet.end_calm(SystemClock.now());
        let node = fleet.nodes[dice.random_range(0..fleet.nodes.len())].clone();
        match event {
            Event::Lose(fault) => self.lose(fault, &node, dice).await,
            Event::RollingRestart => {
                for node in &fleet.nodes {
                    fleet.lose(Fault::Stop, node).await;
                    node.start().await;
                }
            }
            Event::SlowDatabase => {
                let delay = Duration::from_millis(dice.random_range(20..100));
                fleet.nodes.iter().for_each(|node| node.proxy.set(Passage::Delayed(delay)));
                tokio::time::sleep(4 * fleet.lease()).await;
                fleet.nodes.iter().for_each(|node| node.proxy.set(Passage::Open));
            }
            Event::ResetConnections => {
                fleet.nodes.iter().for_each(|node| node.proxy.set(Passage::Closed));
                tokio::time::sleep(fleet.lease().mul_f64(dice.random_range(0.1..1.5))).await;
                fleet.nodes.iter().for_each(|node| node.proxy.set(Passage::Open));
            }
            Event::RestartDatabase => self.restart_database().await,
            Event::Failover => self.fail_over(false).await,
            Event::FailoverWithLoss => self.fail_over(true).await,
            Event::ClockOffset => self.offset_clock(&node).await,
        }
        self.fleet.balanced().await;
        // Some calm time, in which polls go on.
        tokio::time::sleep(self.fleet.lease().mul_f64(dice.random_range(0.0..2.0))).await;
    }

    async fn lose(&self, fault: Fault, node: &Arc<Node>, dice: &mut StdRng) {
        self.fleet.lose(fault, node).await;
        tokio::time::sleep(self.fleet.lease().mul_f64(dice.random_range(0.0..2.0))).await;
        match fault {
            Fault::Freeze => node.signal(Signal::CONT),
            Fault::Cut => node.proxy.set(Passage::Open),
            _ => node.start().await,
        }
    }

    async fn restart_database(&self) {
        let at = SystemClock.now();
        let primary = &self.primary;
        tokio::task::block_in_place(|| {
            primary.crash();
            primary.start();
        });
        self.measure_all(Fault::Restart, at).await;
    }

    /// Promotes the standby, leads all nodes to it, and makes another standby.
    async fn fail_over(&mut self, loses_commits: bool) {
        if loses_commits {
            // The standby hears nothing any more, while the primary goes on.
            let url = url_of(&self.standby.socket_directory(), "postgres");
            let client = crate::store::connect(&url.into()).await;
            client.batch_execute("ALTER SYSTEM SET primary_conninfo = ''").await.unwrap();
            client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
            let before = self.fleet.reader.state().last;
            tokio::time::sleep(Duration::from_secs(4)).await;
            let seen = self.fleet.reader.state().last - before;
            self.fleet.say(format_args!("{seen} change numbers that a reader has seen are lost"));
        }
        let at = SystemClock.now();
        let (primary, standby) = (&self.primary, &self.standby);
        tokio::task::block_in_place(|| {
            if loses_commits {
                primary.crash()
            } else {
                primary.stop()
            }
            standby.promote();
        });
        self.fleet.switch_server(self.standby.socket_directory());
        self.measure_all(Fault::Failover, at).await;
        tokio::task::block_in_place(|| {
            let new = self.standby.standby();
            // The old primary has ended, and is removed.
            self.primary = std::mem::replace(&mut self.standby, new);
        });
    }

    /// Waits until all shards are owned and all hosts are asked.
    async fn measure_all(&self, fault: Fault, at: feedwarden::model::Timestamp) {
        let shards: Vec<i32> = (0..SHARDS as i32).collect();
        let hosts = self.fleet.web.hosts();
        let requesting = self.fleet.request_polls(&hosts, None);
        tokio::join!(requesting, self.fleet.measure(fault, "the database", at, &shards, &hosts));
    }

    /// A node that is far from the time of the database takes nothing; one that is a little off works.
    async fn offset_clock(&self, node: &Arc<Node>) {
        let Some(library) = faketime() else {
            return self.fleet.say("clock offset: not tested, the package faketime is not installed");
        };
        self.fleet.lose(Fault::Stop, node).await;
        node.set_clock(Some((&library, "+60s")));
        node.start().await;
        tokio::time::sleep(3 * self.fleet.lease()).await;
        let taken = self.fleet.shards_of(node).await;
        assert_eq!(taken, Vec::<i32>::new(), "{} is a minute ahead", node.name);
        node.stop().await;
        node.set_clock(Some((&library, "+4s")));
        node.start().await;
        self.fleet.balanced().await;
        tokio::time::sleep(3 * self.fleet.lease()).await;
        self.fleet.lose(Fault::Stop, node).await;
        node.set_clock(None);
        node.start().await;
    }
}

/// Slow publishers bind the slots of a node (`fetch.concurrency`), so more nodes ask more of them at a time. This says
/// nothing about the processor or the database, which all nodes share here.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
#[ignore = "takes minutes: tests/fleet speed"]
async fn more_nodes_make_more_polls_of_slow_publishers() {
    const SLOTS: usize = 32;
    const WINDOW: Duration = Duration::from_secs(20);
    let mut rates = Vec::new();
    for nodes in [1, 2, 4] {
        let server = blocking(Server::create).await;
        let node = NodeSettings { lease_seconds: 3, pause_seconds: 0, concurrency: SLOTS };
        let plan = FleetPlan { nodes, node, hosts: 600, sources_per_host: 20, publishers: Publishers::Slow, seed: 1 };
        let fleet = Fleet::prepare(plan, server.socket_directory(), "postgres").await;
        fleet.requester.stop();
        for node in &fleet.nodes {
            node.start().await;
        }
        fleet.balanced().await;
        // Until the slots of all nodes are taken.
        tokio::time::sleep(Duration::from_secs(15)).await;
        let requests = || fleet.web.load().iter().map(|host| host.requests).sum::<u64>();
        let (before, watch) = (requests(), Stopwatch::start());
        tokio::time::sleep(WINDOW).await;
        let rate = (requests() - before) as f64 / watch.elapsed().as_secs_f64();
        println!(
            "{nodes} nodes with {SLOTS} slots each: {rate:.1} polls a second of publishers that take {:?}",
            publisher::SLOW
        );
        assert!(fleet.web.load().iter().all(|host| host.overlaps == 0));
        rates.push(rate);
    }
    assert!(rates[1] > 1.6 * rates[0] && rates[2] > 2.8 * rates[0], "{rates:?}");
}

/// All sources belong to one node; it is killed when two others have joined.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
#[ignore = "takes minutes: tests/fleet million"]
async fn a_million_sources_move_from_a_killed_node_to_two_others() {
    const SOURCES: i64 = 1_000_000;
    const MEMORY_MAX: u64 = 600 << 20;
    let server = blocking(Server::create).await;
    let node = NodeSettings { lease_seconds: 30, pause_seconds: 1, concurrency: 128 };
    let plan = FleetPlan { nodes: 3, node, hosts: 1, sources_per_host: 1, publishers: Publishers::Slow, seed: 1 };
    let fleet = Fleet::prepare(plan, server.socket_directory(), "postgres").await;
    fleet.requester.stop();
    let client = fleet.connect().await.unwrap();
    let fill = format!(
        "INSERT INTO sources (version, created_at, updated_at, type, url, host, poll_interval_minutes, first_polled_at, \
         last_polled, last_success_at) SELECT 1, now(), now(), 'rss', format('https://host-%s.example/%s', n % 50000, n), \
         format('host-%s.example', n % 50000), 525600, now(), now(), now() FROM generate_series(2, {SOURCES}) AS n"
    );
    client.batch_execute(&fill).await.unwrap();
    client.batch_execute("VACUUM ANALYZE sources").await.unwrap();
    let [first, others @ ..] = &fleet.nodes[..] else { unreachable!() };
    let loading = Stopwatch::start();
    first.start().await;
    let scheduled = async |nodes: &[Arc<Node>]| {
        let mut sum = 0;
        for node in nodes {
            let answer = node.ask("GET", "/scheduler", &serde_json::Value::Null).await;
            sum += answer.map_or(0, |(_, view)| {
                ["scheduled", "waiting", "under_way"].iter().filter_map(|key| view[*key].as_i64()).sum::<i64>()
            });
        }
        sum
    };
    fleet.wait_for("a node with all sources", async || scheduled(std::slice::from_ref(first)).await >= SOURCES).await;
    println!("one node has {SOURCES} sources after {:.1?}, {} MB", loading.elapsed(), first.memory_peak() >> 20);
    for node in others {
        node.start().await;
    }
    let kept = fleet.shards_of(first).await.len();
    let watch = Stopwatch::start();
    first.kill();
    fleet.wait_for("two nodes with all sources", async || scheduled(others).await >= SOURCES).await;
    let (took, lease) = (watch.elapsed(), fleet.lease());
    let peaks: Vec<u64> = others.iter().map(|node| node.memory_peak()).collect();
    println!(
        "{kept} of {SHARDS} shards with their sources moved in {took:.1?} (lease {lease:?}); peaks of {peaks:?} bytes"
    );
    assert!(kept > SHARDS / 2, "too few shards were left to move: {kept}");
    assert!(took < lease + Duration::from_secs(30), "{took:?}");
    assert!(peaks.iter().all(|peak| *peak < MEMORY_MAX), "{peaks:?}");
}

/// The library of the package faketime.
fn faketime() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok).map(|entry| entry.path());
    folders.map(|folder| folder.join("faketime/libfaketime.so.1")).find(|library| library.exists())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}
