//! Callbacks of hubs that reach one node, for sources and hubs of both.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::Arc;

use feedwarden::demo::web::hub::Hub;
use feedwarden::model::{HostKey, Shard};
use futures_util::future::join_all;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::node::{Node, NodeSettings, PATIENCE};
use super::proxy::Proxy;
use super::server::{shared_socket_directory, socket_in, url_of};
use crate::store::Engine;
use feedwarden::store::settings::EngineSettings;

const PUBLISHERS: u8 = 8;

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("never came: {what}"));
}

/// Which nodes have shards, and the one that has this host.
async fn owner(database: &str, host: &str) -> Option<String> {
    let shard = Shard::of_host(HostKey::of_url(&format!("http://{host}/")).as_ref());
    let (client, connection) = tokio_postgres::connect(database, tokio_postgres::NoTls).await.ok()?;
    tokio::spawn(connection);
    let owned = "SELECT name FROM shards JOIN nodes USING (node_id) WHERE ended_at IS NULL AND shard = $1";
    client.query_opt(owned, &[&i32::from(shard.0)]).await.ok()?.map(|row| row.get(0))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn p46_p47_a_callback_reaches_any_node_and_the_owner_polls() {
    let directory = tempfile::tempdir().unwrap();
    let EngineSettings::Postgres(engine) = Engine::Postgres.settings(&directory).await.engine else { unreachable!() };
    let (_, database) = engine.url.expose_secret().rsplit_once('/').unwrap();
    let server = shared_socket_directory();
    let url = url_of(&server, database);
    let settings = NodeSettings { lease_seconds: 3, pause_seconds: 0, concurrency: 16 };
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let public = free();
    let mut nodes = Vec::new();
    for (name, listen) in [("node-a", free()), ("node-b", public)] {
        let node = Node::new(name, directory.path(), database, Proxy::start(socket_in(&server)).await, &settings);
        node.configure("websub", json!({ "public-url": format!("http://{public}"), "listen": listen.to_string() }));
        nodes.push(node);
    }
    let [a, b] = &nodes[..] else { unreachable!() };
    tokio::join!(a.start(), b.start());

    let hubs: Vec<Arc<Hub>> =
        (0..PUBLISHERS).map(|number| Arc::new(Hub::start(&format!("127.0.8.{}:0", number + 1)).unwrap())).collect();
    until("shards of both", async || {
        let owners = join_all((1..=PUBLISHERS).map(|number| {
            let url = url.clone();
            async move { owner(&url, &format!("127.0.8.{number}")).await }
        }));
        let owners: BTreeSet<Option<String>> = owners.await.into_iter().collect();
        owners == BTreeSet::from([Some("node-a".into()), Some("node-b".into())])
    })
    .await;
    let feed = |hub: &Hub, entries: &str| {
        let link = hub.url("/hub");
        hub.put(
            "/feed",
            200,
            &[],
            &format!(
                "<rss version=\"2.0\" xmlns:atom=\"http://www.w3.org/2005/Atom\"><channel><title>A</title>\
             <atom:link rel=\"hub\" href=\"{link}\"/>{entries}</channel></rss>"
            ),
        );
    };
    let mut ids = Vec::new();
    for hub in &hubs {
        feed(hub, "<item><guid>1</guid><title>one</title></item>");
        let body = json!({ "url": hub.url("/feed"), "poll_interval_minutes": 600 });
        let (status, created) = a.ask("POST", "/sources", &body).await.unwrap();
        assert_eq!(status, 201, "{created}");
        ids.push(created["source"]["id"].as_i64().unwrap());
    }
    let shown = async |id: i64| a.ask("GET", &format!("/sources/{id}"), &Value::Null).await.unwrap().1;
    for id in &ids {
        until("a subscription", async || shown(*id).await["subscription"]["state"] == "active").await;
    }
    // Longer than a push waits after a poll.
    tokio::time::sleep(feedwarden::rules::push::PUSH_GAP).await;
    for hub in &hubs {
        let before = hub.gets("/feed");
        feed(hub, "<item><guid>2</guid><title>two</title></item><item><guid>1</guid><title>one</title></item>");
        let (pushing, topic) = (hub.clone(), hub.url("/feed"));
        let answers = tokio::task::spawn_blocking(move || pushing.publish(&topic, "<rss/>").unwrap()).await.unwrap();
        assert_eq!(answers.iter().map(|(status, _)| *status).collect::<Vec<_>>(), [202]);
        until("a poll after the push", async || hub.gets("/feed") > before).await;
    }
    for id in &ids {
        until("the find", async || shown(*id).await["push_streak"] == 1).await;
    }
    for node in &nodes {
        node.stop().await;
    }
}
