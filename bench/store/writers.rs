//! Writers that store new posts in one database at once, each a process and a node with connections of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use feedwarden::model::{DocumentKeys, EntryKey, NewPost, PostContent, Settled, Settlement, Source};
use feedwarden::store::settings::{EngineSettings, PostgresSettings, StoreSettings};
use feedwarden::store::{self, Store, StoreError};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::fleet_node::FleetNode;
use crate::load::{self, NOW, POSTS, post};
use crate::raw::connect;

const ROLE: &str = "FEEDWARDEN_BENCH_WRITER";
/// How long writers write.
const SECONDS: f64 = 4.0;
const WRITERS: [usize; 4] = [1, 2, 4, 8];
/// Each figure is the best of this many runs, the numbers of writers taking turns.
const RUNS: usize = 4;
/// Sessions of a writer that the server may end.
const ENDED_MAX: usize = 100;

/// What one writer does.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct WriterTask {
    pub(crate) url: String,
    pub(crate) name: String,
    /// The writer takes one of so many parts of the sources.
    pub(crate) parts: usize,
    pub(crate) seconds: f64,
    pub(crate) batch: Batch,
}

/// What is settled at a time.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Batch {
    pub(crate) polls: usize,
    /// New posts in a poll.
    pub(crate) posts: u64,
    /// Posts of a few bytes instead of 1 KB.
    pub(crate) is_short: bool,
}

/// What came of it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Written {
    pub(crate) posts: usize,
    /// When each batch was committed, by the machine's monotonic clock in seconds.
    pub(crate) commits: Vec<f64>,
    /// Attempts that ended because a lock of another session lasted.
    pub(crate) locked: usize,
    /// Sessions that the server ended.
    pub(crate) ended: usize,
    pub(crate) seconds: f64,
}

/// A writer that waits for its start, or writes.
pub(crate) struct Writer {
    pub(crate) child: Child,
    output: BufReader<ChildStdout>,
}

/// Prints posts per second by number of writers.
pub(crate) async fn compare(url: &str) {
    add_sources(url).await;
    let mut best = [0.0_f64; WRITERS.len()];
    for _ in 0..RUNS {
        for (place, count) in WRITERS.into_iter().enumerate() {
            // All runs begin with an empty table.
            connect(url).await.batch_execute("TRUNCATE posts CASCADE").await.unwrap();
            let written = run_together(url, count);
            let rate: f64 = written.iter().map(|one| one.posts as f64 / one.seconds).sum();
            best[place] = best[place].max(rate);
        }
    }
    println!(
        "Writers: processes that settle batches of 50 polls with {POSTS} new posts each for {SECONDS} s; the best of \
         {RUNS} runs\n"
    );
    println!("| writers | posts/s | posts/s each | ratio to one writer |");
    println!("|---|---|---|---|");
    for (count, rate) in WRITERS.into_iter().zip(best) {
        println!("| {count} | {rate:.0} | {:.0} | {:.2} |", rate / count as f64, rate / best[0]);
    }
    println!();
}

pub(crate) async fn add_sources(url: &str) {
    let store = open(url.to_owned()).await;
    load::add_sources(store.as_ref()).await;
    store.close().await;
}

/// The store with the settings of the daemon.
async fn open(url: String) -> Arc<dyn Store> {
    let engine = EngineSettings::Postgres(PostgresSettings::new(url.into()));
    store::open(&StoreSettings { engine, encryption_key: None }, NOW).await.unwrap()
}

fn run_together(url: &str, count: usize) -> Vec<Written> {
    let task = |number| WriterTask {
        url: url.to_owned(),
        name: format!("writer {number}"),
        parts: count,
        seconds: SECONDS,
        batch: Batch { polls: 50, posts: POSTS, is_short: false },
    };
    let mut writers: Vec<Writer> = (0..count).map(|number| Writer::start(&task(number))).collect();
    writers.iter_mut().for_each(Writer::go);
    writers.into_iter().map(Writer::finish).collect()
}

impl Writer {
    /// Starts a writer, and waits until it has joined.
    pub(crate) fn start(task: &WriterTask) -> Writer {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .env(ROLE, serde_json::to_string(task).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "a writer failed");
        Writer { child, output }
    }

    pub(crate) fn go(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    pub(crate) fn finish(mut self) -> Written {
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        assert!(self.child.wait().unwrap().success(), "a writer failed");
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for Writer {
    /// Ends it, if it has not ended.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The task of this process, if it is a writer.
pub(crate) fn own_task() -> Option<WriterTask> {
    Some(serde_json::from_str(&std::env::var(ROLE).ok()?).unwrap())
}

/// The work of a writer.
pub(crate) async fn write(task: WriterTask) {
    let store = open(task.url).await;
    let mut node = FleetNode::join(store.as_ref(), &task.name, task.parts).await;
    let mut sources = std::mem::take(&mut node.sources);
    println!("ready");
    std::io::stdin().lock().read_line(&mut String::new()).unwrap();
    let started_at = monotonic_seconds();
    let mut written = Written { posts: 0, commits: Vec::new(), locked: 0, ended: 0, seconds: 0.0 };
    let mut next = 0;
    while monotonic_seconds() < started_at + task.seconds {
        let count = task.batch.polls.min(sources.len());
        let places: Vec<usize> = (0..count).map(|number| (next + number) % sources.len()).collect();
        next += count;
        let generation = feedwarden::dice::unique_number();
        let batch: Vec<Settlement> =
            places.iter().map(|place| node.claimed(poll(&sources[*place], generation, task.batch))).collect();
        let answers = loop {
            match store.settle(batch.clone()).await {
                Ok(answers) => break answers,
                // As the daemon, which tries again.
                Err(StoreError::Locked(_)) => written.locked += 1,
                // The server ends a session that stood still for too long.
                Err(StoreError::Unavailable(_)) if written.ended < ENDED_MAX => written.ended += 1,
                Err(other) => panic!("{}: {other}", task.name),
            }
        };
        written.commits.push(monotonic_seconds());
        for (place, answer) in places.into_iter().zip(answers) {
            let Settled::Written { version, new_posts } = answer else { panic!("not written: {answer:?}") };
            sources[place].version = version;
            written.posts += new_posts.len();
        }
    }
    written.seconds = monotonic_seconds() - started_at;
    node.leave().await;
    store.close().await;
    println!("{}", serde_json::to_string(&written).unwrap());
}

/// A poll of this source that found new posts.
fn poll(source: &Source, generation: u64, batch: Batch) -> Settlement {
    let new = |number| match batch.is_short {
        true => short_post(generation, source.id.0, number),
        false => post(generation, source.id.0, number, false),
    };
    let posts: Vec<NewPost> = (0..batch.posts).map(new).collect();
    let document = Some(DocumentKeys::new(posts.iter().map(NewPost::key)));
    Settlement { posts, document, ..Settlement::of_state(source, NOW) }
}

fn short_post(generation: u64, source: i64, number: u64) -> NewPost {
    let guid = Some(format!("{source}-{generation}-{number}"));
    let key = EntryKey::of("id", &[guid.as_deref().unwrap_or_default().as_bytes()]);
    let content = PostContent { title: "Short".to_owned(), text: "Short.".to_owned(), guid, ..PostContent::default() };
    NewPost::new(content, Some(NOW)).with_key(key)
}

/// The same for all processes of the machine.
pub(crate) fn monotonic_seconds() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
