//! A writer that is frozen at a random moment: the others must go on, because the lock that orders posts is not held
//! while the server waits for a client.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::load::POSTS;
use crate::raw::{connect, fresh_database};
use crate::writers::{Batch, Writer, WriterTask, add_sources, monotonic_seconds};

const OTHERS: usize = 3;
/// Longer than a session may stand still in a transaction (5 s).
const LONG: f64 = 9.0;

/// How often and for how long a writer is frozen.
struct Freezes {
    name: &'static str,
    kind: Kind,
    count: usize,
    seconds: f64,
}

#[derive(Clone, Copy)]
enum Kind {
    /// SIGSTOP to the process of a writer that settles such batches.
    Stop(Batch),
    /// A session that stores a post and does not commit, to show that a lock held across a round trip is seen.
    Control,
}

/// A batch of the others, which they store often.
const SMALL: Batch = Batch { polls: 50, posts: 3, is_short: true };
const USUAL: Batch = Batch { polls: 50, posts: POSTS, is_short: false };
/// As feeds that are read for the first time bring them.
const LARGE: Batch = Batch { polls: 200, posts: 100, is_short: true };

const PLAN: [Freezes; 5] = [
    Freezes { name: "stopped, 50 polls of 30 posts", kind: Kind::Stop(USUAL), count: 20, seconds: 1.0 },
    Freezes { name: "stopped, 50 polls of 30 posts", kind: Kind::Stop(USUAL), count: 2, seconds: LONG },
    Freezes { name: "stopped, 200 polls of 100 short posts", kind: Kind::Stop(LARGE), count: 20, seconds: 1.0 },
    Freezes { name: "stopped, 200 polls of 100 short posts", kind: Kind::Stop(LARGE), count: 3, seconds: LONG },
    Freezes { name: "control: an insert without its commit", kind: Kind::Control, count: 1, seconds: LONG },
];

/// Prints how long the others paused, and says whether they went on in every freeze.
pub(crate) async fn compare(server_url: &str) -> bool {
    println!("Frozen: one writer is stopped, {OTHERS} others store posts (50 polls of 3 short posts)\n");
    println!(
        "| frozen | times | for s | freezes without a commit of the others for 0.9 of their time | longest pause of the \
         others: s | longest pause without a freeze: s | attempts ended by a lock |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut is_good = true;
    for freezes in &PLAN {
        let (url, _) = fresh_database(server_url).await;
        add_sources(&url).await;
        let seconds = freezes.count as f64 * (freezes.seconds + 1.5) + 2.0;
        let task = |number: usize, batch| WriterTask {
            url: url.clone(),
            name: format!("writer {number}"),
            parts: OTHERS + 1,
            seconds,
            batch,
        };
        let mut others: Vec<Writer> = (0..OTHERS).map(|number| Writer::start(&task(number, SMALL))).collect();
        others.iter_mut().for_each(Writer::go);
        let frozen = match freezes.kind {
            Kind::Stop(batch) => stop_often(freezes, &task(OTHERS, batch)).await,
            Kind::Control => vec![hold_turn(&url, freezes.seconds).await],
        };
        let written: Vec<_> = others.into_iter().map(Writer::finish).collect();
        let mut commits: Vec<f64> = written.iter().flat_map(|one| one.commits.iter().copied()).collect();
        commits.sort_by(f64::total_cmp);
        let pauses: Vec<f64> = frozen.iter().map(|time| longest_pause(&commits, *time)).collect();
        let stalled = pauses.iter().filter(|pause| **pause >= 0.9 * freezes.seconds).count();
        let between: Vec<(f64, f64)> = frozen.windows(2).map(|two| (two[0].1 + 0.3, two[1].0)).collect();
        println!(
            "| {} | {} | {} | {stalled} | {:.2} | {:.2} | {} |",
            freezes.name,
            freezes.count,
            freezes.seconds,
            pauses.iter().copied().fold(0.0, f64::max),
            between.iter().map(|time| longest_pause(&commits, *time)).fold(0.0, f64::max),
            written.iter().map(|one| one.locked).sum::<usize>(),
        );
        let is_control = matches!(freezes.kind, Kind::Control);
        is_good &= is_control || freezes.seconds < LONG || stalled == 0;
    }
    println!("\nthe others go on while a writer is frozen: {}\n", if is_good { "kept" } else { "MISSED" });
    is_good
}

/// Stops a writer at random moments, and returns from when to when.
async fn stop_often(freezes: &Freezes, task: &WriterTask) -> Vec<(f64, f64)> {
    let mut writer = Writer::start(&WriterTask { seconds: 1e6, ..task.clone() });
    writer.go();
    let process = Pid::from_child(&writer.child);
    let mut frozen = Vec::new();
    for _ in 0..freezes.count {
        tokio::time::sleep(Duration::from_secs_f64(rand::random_range(0.5..1.5))).await;
        kill_process(process, Signal::STOP).unwrap();
        let began_at = monotonic_seconds();
        tokio::time::sleep(Duration::from_secs_f64(freezes.seconds)).await;
        frozen.push((began_at, monotonic_seconds()));
        kill_process(process, Signal::CONT).unwrap();
    }
    frozen
}

/// Stores a post in a transaction with the limits of the daemon's sessions, and does nothing more.
async fn hold_turn(url: &str, seconds: f64) -> (f64, f64) {
    tokio::time::sleep(Duration::from_secs(1)).await;
    let client = connect(url).await;
    client.batch_execute("SET idle_in_transaction_session_timeout = '5s'; BEGIN").await.unwrap();
    let insert = "INSERT INTO posts (source_id, title, text, created_at, content_hash, entry_key) \
                  SELECT min(id), '', '', now(), decode(repeat('00', 32), 'hex'), 1 FROM sources";
    client.batch_execute(insert).await.unwrap();
    let began_at = monotonic_seconds();
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
    (began_at, monotonic_seconds())
}

/// The longest time without a commit between these two moments.
fn longest_pause(commits: &[f64], (from, to): (f64, f64)) -> f64 {
    let within = commits.iter().copied().filter(|at| (from..to).contains(at));
    let moments: Vec<f64> = std::iter::once(from).chain(within).chain([to]).collect();
    moments.windows(2).map(|two| two[1] - two[0]).fold(0.0, f64::max)
}
