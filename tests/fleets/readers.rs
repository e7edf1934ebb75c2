//! Programs downstream of a fleet: one that reads posts by change number at alternating nodes, and one that webhooks
//! send posts to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::node::Node;

/// Remembers only the last change number, as docs/downstream.md says.
pub(super) struct CursorReader {
    state: Arc<Mutex<CursorState>>,
    reading: JoinHandle<()>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct CursorState {
    pub(super) last: i64,
    /// URL of the post at each change number.
    pub(super) seen: BTreeMap<i64, String>,
    pub(super) complaints: Vec<String>,
}

impl CursorReader {
    pub(super) fn start(nodes: Vec<Arc<Node>>) -> CursorReader {
        let state = Arc::<Mutex<CursorState>>::default();
        let reading = tokio::spawn(read(nodes, state.clone()));
        CursorReader { state, reading }
    }

    pub(super) fn state(&self) -> CursorState {
        self.state.lock().clone()
    }
}

impl Drop for CursorReader {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

async fn read(nodes: Vec<Arc<Node>>, state: Arc<Mutex<CursorState>>) {
    for node in nodes.iter().cycle() {
        if !node.is_running() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        }
        let last = state.lock().last;
        // A node that was stopped or killed in the middle of this gives no answer.
        let path = format!("/posts?changed_after={last}&limit=100");
        let asking = node.ask("GET", &path, &Value::Null);
        let answer = tokio::time::timeout(Duration::from_secs(2), asking).await;
        if let Ok(Ok((200, page))) = answer {
            let mut state = state.lock();
            for post in page["items"].as_array().into_iter().flatten() {
                let number = post["change_number"].as_i64().unwrap();
                let url = post["url"].as_str().unwrap_or_default().to_owned();
                if number <= state.last {
                    let complaint = format!("change number {number} came after {}", state.last);
                    state.complaints.push(complaint);
                }
                state.last = number;
                state.seen.insert(number, url);
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Accepts every delivery, and remembers the change numbers in the order in which they came.
pub(super) struct Receiver {
    pub(super) url: String,
    taken: Arc<Mutex<Vec<i64>>>,
    accepting: JoinHandle<()>,
}

impl Receiver {
    pub(super) async fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let taken = Arc::<Mutex<Vec<i64>>>::default();
        let accepting = tokio::spawn(accept(listener, taken.clone()));
        Receiver { url, taken, accepting }
    }

    pub(super) fn deliveries(&self) -> Deliveries {
        let taken = self.taken.lock();
        let (mut numbers, mut repeats, mut out_of_order) = (BTreeSet::new(), 0, 0);
        let mut last = 0;
        for number in taken.iter() {
            if !numbers.insert(*number) {
                repeats += 1;
            } else if *number < last {
                out_of_order += 1;
            }
            last = last.max(*number);
        }
        Deliveries { numbers, repeats, out_of_order }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// What a receiver got.
#[derive(Clone, Debug)]
pub(super) struct Deliveries {
    pub(super) numbers: BTreeSet<i64>,
    /// Posts that came again.
    pub(super) repeats: usize,
    /// Posts that came for the first time after a later one.
    pub(super) out_of_order: usize,
}

async fn accept(listener: TcpListener, taken: Arc<Mutex<Vec<i64>>>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let taken = taken.clone();
        tokio::spawn(async move {
            // A node that was killed leaves half a request.
            let _ = take(stream, &taken).await;
        });
    }
}

async fn take(stream: TcpStream, taken: &Mutex<Vec<i64>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            match reader.read_line(&mut line).await? {
                0 => return Ok(()),
                2 => break,
                _ => {}
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).await?;
        let posts: Vec<Value> = serde_json::from_slice(&body).unwrap();
        taken.lock().extend(posts.iter().map(|post| post["change_number"].as_i64().unwrap()));
        reader.get_mut().write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await?;
    }
}
