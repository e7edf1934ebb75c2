//! Commands at nodes that do not own what the commands are about.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::clock::{Clock, SystemClock};
use feedwarden::model::Timestamp;
use serde_json::{Value, json};

use super::fleet::Fleet;
use super::node::Node;
use super::publisher::{agent, first_request};
use super::short::prepare_three_nodes;

/// How long a host or the whole fleet is watched for requests that must not come.
const SILENCE: Duration = Duration::from_millis(2500);

/// Holds and releases a host, pauses and resumes polling, adds and removes a source, each at a node that does not own
/// the host, and asks every node about the fleet.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn commands_work_at_every_node() {
    let fleet = &prepare_three_nodes().await;
    futures_util::future::join_all(fleet.nodes.iter().map(|node| node.start())).await;
    fleet.balanced().await;
    let began = SystemClock.now();
    let host = fleet.web.hosts()[0].clone();
    let (owner, others) = owner_and_others(fleet, &host).await;
    hold_and_release(fleet, &host, &others).await;
    let audit = ask(&others[0], "GET", "/audit?target=host", Value::Null).await;
    let hold = audit["items"].as_array().unwrap().iter().find(|record| record["action"] == "host.hold").unwrap();
    let uid = format!("uid:{}", rustix::process::getuid().as_raw());
    assert_eq!((&hold["who"], &hold["node"]), (&json!(uid), &json!(owner.name)), "the owner made the change");
    pause_and_resume(fleet, &others).await;
    add_and_remove(fleet, &host, &others).await;
    for node in &fleet.nodes {
        let explained = ask(node, "GET", &format!("/sources/{}/explain", source_at(fleet, &host)), Value::Null).await;
        assert!(explained.to_string().contains(&owner.name), "{} does not name {}: {explained}", node.name, owner.name);
        tell_fleet(fleet, node);
        let requests = ask(node, "GET", &format!("/hosts/{host}/requests"), Value::Null).await;
        assert!(!requests["items"].as_array().unwrap().is_empty(), "{}: {requests}", node.name);
        let report = ask(node, "GET", "/fleet", Value::Null).await;
        let hand_overs = report["hand_overs"].as_array().unwrap();
        let has_come = hand_overs.iter().any(|one| one["to"] == json!(node.name) && one["shards"] != json!([]));
        assert!(has_come, "{}: {report}", node.name);
    }
    show_pages(fleet, &others[0], &owner).await;
    let politeness = fleet.politeness();
    assert_eq!(politeness.complaints, Vec::<String>::new());
    let refused = fleet.requester.refused(began, SystemClock.now());
    assert!(refused.is_empty(), "{} requests for polls were refused: {:?}", refused.len(), refused.first());
}

/// The dashboard of any node shows all nodes, and what another one knows.
async fn show_pages(fleet: &Fleet, node: &Node, other: &Node) {
    let page = async |path: &str| {
        let stream = tokio::net::UnixStream::connect(node.socket()).await.unwrap();
        let answer = crate::api::ask(stream, "GET", &format!("/dashboard{path}"), &[], b"").await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.body
    };
    let (overview, shards) = (page("").await, page("/fleet").await);
    for one in &fleet.nodes {
        assert!(overview.contains(&one.name) && shards.contains(&one.name), "{}: {overview} {shards}", one.name);
    }
    assert!(shards.matches("class=\"map-text\"").count() >= 256, "each shard is on the map: {shards}");
    let tree = page(&format!("/supervision?node={}", other.name)).await;
    assert!(tree.contains("scheduler") && tree.contains("aria-current=\"true\""), "{tree}");
}

async fn hold_and_release(fleet: &Fleet, host: &str, others: &[Arc<Node>]) {
    let body = json!({ "seconds": 600, "reason": "a test" });
    ask(&others[0], "POST", &format!("/hosts/{host}/hold"), body).await;
    let held_at = SystemClock.now();
    tokio::time::sleep(SILENCE).await;
    let first = first_request(&fleet.web.journal(), host, held_at, "");
    assert_eq!(first, None, "{host} was held at {held_at}");
    ask(others.last().unwrap(), "POST", &format!("/hosts/{host}/release"), Value::Null).await;
    fleet.request_polls(&[host.to_owned()], None).await;
    fleet
        .wait_for("a request after the release", async || {
            first_request(&fleet.web.journal(), host, held_at, "").is_some()
        })
        .await;
}

async fn pause_and_resume(fleet: &Fleet, others: &[Arc<Node>]) {
    ask(&others[0], "POST", "/scheduler/pause", Value::Null).await;
    // Polls that had begun go on to their end, with the pause of their host before each of their requests.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let paused_at = SystemClock.now();
    tokio::time::sleep(SILENCE).await;
    assert_eq!(asking_since(fleet, paused_at), BTreeSet::new(), "polling is paused");
    ask(others.last().unwrap(), "POST", "/scheduler/resume", Value::Null).await;
    fleet
        .wait_for("requests of all nodes after the pause", async || {
            asking_since(fleet, paused_at).len() == fleet.nodes.len()
        })
        .await;
}

async fn add_and_remove(fleet: &Fleet, host: &str, others: &[Arc<Node>]) {
    let site = fleet.web.sites().iter().find(|site| site.host == host && site.url.ends_with("feed")).unwrap();
    let url = format!("{}?again", site.url);
    let created = ask(&others[0], "POST", "/sources", json!({ "url": url, "first_poll": true })).await;
    let id = created["source"]["id"].as_i64().unwrap_or_else(|| panic!("{created}"));
    let shown = ask(others.last().unwrap(), "GET", &format!("/sources/{id}"), Value::Null).await;
    assert!(shown["last_success_at"].is_string(), "it was polled before it was added: {shown}");
    ask(others.last().unwrap(), "DELETE", &format!("/sources/{id}"), Value::Null).await;
}

/// `feedwarden fleet` names all nodes.
fn tell_fleet(fleet: &Fleet, node: &Node) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_feedwarden"));
    let output = command.args(["fleet", "--json", "--socket"]).arg(node.socket()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said} {}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_str(&said).unwrap();
    for other in &fleet.nodes {
        assert!(told.to_string().contains(&other.name), "{} does not name {}: {told}", node.name, other.name);
    }
}

async fn owner_and_others(fleet: &Fleet, host: &str) -> (Arc<Node>, Vec<Arc<Node>>) {
    let shard = fleet.shard_of(host);
    let owners = fleet.owners().await;
    let (owner, others): (Vec<_>, Vec<_>) = fleet.nodes.iter().cloned().partition(|node| node.name == owners[&shard]);
    (owner.into_iter().next().unwrap(), others)
}

fn source_at(fleet: &Fleet, host: &str) -> feedwarden::model::SourceId {
    *fleet.sites.iter().find(|(_, site)| fleet.web.sites()[**site].host == host).unwrap().0
}

/// Nodes that have made requests since this moment.
fn asking_since(fleet: &Fleet, since: Timestamp) -> BTreeSet<String> {
    let journal = fleet.web.journal();
    journal.iter().filter(|exchange| exchange.began_at > since).map(|exchange| agent(exchange).to_owned()).collect()
}

async fn ask(node: &Node, method: &str, path: &str, body: Value) -> Value {
    let (status, answer) = node.ask(method, path, &body).await.unwrap();
    assert!((200..300).contains(&status), "{method} {path} at {}: {status} {answer}", node.name);
    answer
}
