//! Asks for a URL once and prints by how many KiB the peak of memory grew, and the outcome; for the tests of bodies
//! that decode to enormous ones, since a peak belongs to a process.
#![allow(clippy::unwrap_used, reason = "a test's child: whatever fails ends it, and the test looks at what it printed")]

use feedwarden::http::{Client, HttpSettings, Request};
use feedwarden::model::Timestamp;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = std::env::args().nth(1).unwrap();
    let settings = HttpSettings { allow_private_networks: true, ..HttpSettings::default() };
    let client = Client::new(settings, || Timestamp::EPOCH).unwrap();
    let before = peak_kibibytes();
    let outcome = client.send(&Request::new(url)).await;
    let grown = peak_kibibytes() - before;
    match outcome {
        Ok(reply) => println!("{grown} {}", reply.url),
        Err(failure) => println!("{grown} {:?}: {}", failure.report.cause, failure.report.error),
    }
}

fn peak_kibibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}
