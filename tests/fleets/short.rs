//! The run that is part of every test run: three nodes with a lease of three seconds.

use std::time::Duration;

use feedwarden::store::settings::EngineSettings;
use rustix::process::Signal;
use secrecy::ExposeSecret;

use super::fleet::{Fleet, FleetPlan};
use super::node::NodeSettings;
use super::proxy::Passage;
use super::publisher::Publishers;
use super::report::Fault;
use super::server::shared_socket_directory;
use crate::store::Engine;

/// How much longer than promised anything may take on a machine that runs other tests beside it.
const SLACK: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn p28_three_nodes_lose_nothing_and_spare_publishers_while_nodes_are_stopped_killed_frozen_and_cut_off() {
    let fleet = prepare_three_nodes().await;
    let (lease, renewal) = (fleet.lease(), fleet.lease() / 6);
    let [a, b, c] = &fleet.nodes[..] else { unreachable!() };

    a.start().await;
    fleet.balanced().await;
    tokio::join!(b.start(), c.start());
    fleet.balanced().await;

    tokio::time::sleep(2 * lease).await;

    // Nothing goes wrong: nodes that end in order hand their shards over.
    for node in [b, a] {
        let takeover = fleet.lose(Fault::Stop, node).await;
        assert!(takeover.owned < lease + 2 * renewal + SLACK, "{takeover}");
        node.start().await;
        fleet.balanced().await;
    }
    let orderly = fleet.receiver.deliveries();
    assert!(orderly.numbers.len() > 100, "{} deliveries", orderly.numbers.len());
    assert_eq!((orderly.repeats, orderly.out_of_order), (0, 0), "without a fault");

    let takeover = fleet.lose(Fault::Kill, c).await;
    assert!(takeover.owned < lease + 2 * renewal + SLACK, "{takeover}");
    assert!(takeover.longest() < lease + 2 * renewal + fleet.pause() + SLACK, "{takeover}");
    c.start().await;
    fleet.balanced().await;

    let takeover = fleet.lose(Fault::Freeze, a).await;
    assert!(takeover.owned < lease + 2 * renewal + SLACK, "{takeover}");
    tokio::time::sleep((2 * lease).saturating_sub(takeover.longest())).await;
    a.signal(Signal::CONT);
    fleet.balanced().await;

    let takeover = fleet.lose(Fault::Cut, b).await;
    tokio::time::sleep((2 * lease).saturating_sub(takeover.longest())).await;
    b.proxy.set(Passage::Open);
    fleet.balanced().await;

    let complaints = fleet.finish().await;
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
    let politeness = fleet.politeness();
    assert!(politeness.by_node.len() == 3 && politeness.handovers > 100, "{politeness:?}");
    assert!(fleet.fenced() > 0, "no write was fenced: the run proves nothing about late writes");
    let refused = fleet.refused_in_calm();
    assert!(refused.is_empty(), "{} requests for polls were refused: {:?}", refused.len(), refused.first());
}

/// Three nodes that do not run yet, on a database of the server of all tests.
pub(super) async fn prepare_three_nodes() -> Fleet {
    let directory = tempfile::tempdir().unwrap();
    let EngineSettings::Postgres(engine) = Engine::Postgres.settings(&directory).await.engine else { unreachable!() };
    let (_, database) = engine.url.expose_secret().rsplit_once('/').unwrap();
    let node = NodeSettings { lease_seconds: 3, pause_seconds: 1, concurrency: 128 };
    let plan = FleetPlan { nodes: 3, node, hosts: 60, sources_per_host: 12, publishers: Publishers::Mixed, seed: 1 };
    Fleet::prepare(plan, shared_socket_directory(), database).await
}
