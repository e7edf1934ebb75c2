//! Sinks against real servers, each started here on a free port of loopback with a directory of its own, and ended here.
//! tests/with-sinks installs the servers; where one is missing without it, its tests say that they are skipped.

mod amqp;
mod files;
mod nats;
pub(crate) mod redis;
mod server;
mod tls;

use std::collections::HashSet;
use std::time::Duration;

use feedwarden::clock::Stopwatch;
use feedwarden::model::{FailureReport, Timestamp};
use feedwarden::sinks::{Address, Sink, SinkMessage, SinkSettings};

/// Longer than anything takes that works.
const LIMIT: Duration = Duration::from_secs(20);
const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
/// What publishers write.
const HOSTILE: [&str; 6] = [
    "",
    "quotes \" and \\ and \r\n$6\r\nXADD a * b c\r\n",
    "\u{0}\u{1}\u{7f}\u{2028}\u{feff}",
    "日本語 🦀 \u{202e}gnp.exe",
    "-ERR PUB +OK {type} %s ${HOME} '; DROP TABLE posts; --",
    "*\r\nMSG 1\r\n\u{ce}",
];

fn sink(url: &str) -> Sink {
    sink_with(url, SinkSettings::default())
}

fn sink_with(url: &str, settings: SinkSettings) -> Sink {
    Sink::new(Address::new(url, None).unwrap(), settings)
}

fn message(number: i64) -> SinkMessage {
    let text = format!("{} {number}", HOSTILE[usize::try_from(number).unwrap() % HOSTILE.len()]);
    with_text(number, &text)
}

fn with_text(number: i64, text: &str) -> SinkMessage {
    let payload = serde_json::json!({"type": "post.created", "data": {"number": number, "text": text}}).to_string();
    let key = format!("source-{}", number % 3);
    SinkMessage { id: format!("evt_{number}"), number, event_type: "post.created", key, payload }
}

fn messages(numbers: std::ops::RangeInclusive<i64>) -> Vec<SinkMessage> {
    numbers.map(message).collect()
}

async fn deliver(sink: &mut Sink, numbers: std::ops::RangeInclusive<i64>) -> Result<(), FailureReport> {
    sink.deliver(&messages(numbers), NOW, LIMIT).await
}

/// The error of a delivery, which has to come in less than ten seconds.
async fn refusal(sink: &mut Sink) -> FailureReport {
    let begun = Stopwatch::start();
    let report = deliver(sink, 1..=3).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(10), "{report:?} after {:?}", begun.elapsed());
    report
}

/// Delivers batches of ten until the receiver fails, from another task, which kills it, on. Returns the last number that
/// was confirmed.
async fn until_failure(sink: &mut Sink, first: i64) -> i64 {
    let mut confirmed = first - 1;
    loop {
        match deliver(sink, confirmed + 1..=confirmed + 10).await {
            Ok(()) => confirmed += 10,
            Err(_) => return confirmed,
        }
        assert!(confirmed < 2_000_000, "the server was not killed");
    }
}

/// Delivers again until the receiver is back.
async fn until_taken(sink: &mut Sink, numbers: std::ops::RangeInclusive<i64>) {
    let begun = Stopwatch::start();
    while let Err(report) = deliver(sink, numbers.clone()).await {
        assert!(begun.elapsed() < Duration::from_secs(60), "{report:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Every event is there, unchanged, and in order but for repeats.
fn assert_complete(received: &[String], last: i64) {
    let mut seen = HashSet::new();
    let firsts: Vec<&String> = received.iter().filter(|payload| seen.insert(payload.as_str())).collect();
    let expected: Vec<String> = (1..=last).map(|number| message(number).payload).collect();
    assert_eq!(firsts.len(), expected.len());
    assert!(firsts.iter().zip(&expected).all(|(one, other)| *one == other));
}
