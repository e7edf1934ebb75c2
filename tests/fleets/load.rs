//! A client that asks for polls at every node, of sources that any node may own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::clock::{Clock, SystemClock};
use feedwarden::model::{SourceId, Timestamp};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::node::Node;

/// One request for a poll, and how it was answered.
#[derive(Clone, Debug)]
pub(super) struct PollRequest {
    #[expect(dead_code, reason = "printed")]
    pub(super) node: String,
    pub(super) asked_at: Timestamp,
    pub(super) ended_at: Timestamp,
    /// The status and what was said; an error if the node went away.
    pub(super) answer: Result<(u16, String), String>,
}

pub(super) struct Requester {
    requests: Arc<Mutex<Vec<PollRequest>>>,
    asking: JoinHandle<()>,
}

impl Requester {
    /// Asks for a poll of one of these sources at a random node, again and again with this pause.
    pub(super) fn start(nodes: Vec<Arc<Node>>, sources: Vec<SourceId>, pause: Duration, seed: u64) -> Requester {
        let requests = Arc::<Mutex<Vec<PollRequest>>>::default();
        let asking = tokio::spawn(ask(nodes, sources, pause, seed, requests.clone()));
        Requester { requests, asking }
    }

    pub(super) fn stop(&self) {
        self.asking.abort();
    }

    /// How many requests had which answer.
    pub(super) fn answers(&self) -> BTreeMap<String, usize> {
        let mut answers = BTreeMap::new();
        for request in self.requests.lock().iter() {
            let answer = match &request.answer {
                Ok((status, _)) => status.to_string(),
                Err(_) => "no answer".to_owned(),
            };
            *answers.entry(answer).or_default() += 1;
        }
        answers
    }

    /// Requests within this time that were not answered as promised: a poll was made (200) or will be (202).
    pub(super) fn refused(&self, from: Timestamp, until: Timestamp) -> Vec<PollRequest> {
        let requests = self.requests.lock();
        let within = requests.iter().filter(|request| request.asked_at >= from && request.ended_at <= until);
        within.filter(|request| !matches!(request.answer, Ok((200 | 202, _)))).cloned().collect()
    }
}

impl Drop for Requester {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn ask(
    nodes: Vec<Arc<Node>>,
    sources: Vec<SourceId>,
    pause: Duration,
    seed: u64,
    requests: Arc<Mutex<Vec<PollRequest>>>,
) {
    let mut dice = StdRng::seed_from_u64(seed);
    loop {
        tokio::time::sleep(pause).await;
        let running: Vec<&Arc<Node>> = nodes.iter().filter(|node| node.is_running()).collect();
        if running.is_empty() {
            continue;
        }
        let node = running[dice.random_range(0..running.len())].clone();
        let source = sources[dice.random_range(0..sources.len())];
        let requests = requests.clone();
        tokio::spawn(async move {
            let asked_at = SystemClock.now();
            let answer = node.ask("POST", &format!("/sources/{source}/poll?wait=5"), &Value::Null).await;
            let answer = answer.map(|(status, body)| (status, body.to_string())).map_err(|error| error.to_string());
            let request = PollRequest { node: node.name.clone(), asked_at, ended_at: SystemClock.now(), answer };
            requests.lock().push(request);
        });
    }
}
