//! Redis Streams.

use std::time::Duration;

use feedwarden::clock::Stopwatch;
use feedwarden::model::FailureCause;
use feedwarden::sinks::SinkSettings;

use super::server::{Server, program};
use super::{
    LIMIT, NOW, assert_complete, deliver, messages, refusal, sink, sink_with, tls, until_failure, until_taken,
};

type Entry = (String, Vec<(String, String)>);

pub(crate) async fn start(more: &[&str]) -> Option<Server> {
    let redis = program("redis-server")?;
    let mut command = vec![redis.to_str().unwrap(), "--bind", "127.0.0.1", "--dir", "@DIR", "--save", ""];
    command.extend(["--appendonly", "yes", "--appendfsync", "always"]);
    command.extend(if more.contains(&"--tls-port") { ["--port", "0"] } else { ["--port", "@PORT"] });
    command.extend(more);
    Some(Server::start(tempfile::tempdir().unwrap(), &command).await)
}

async fn entries(server: &Server, stream: &str) -> Vec<Entry> {
    let client = ::redis::Client::open(format!("redis://127.0.0.1:{}", server.port)).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    ::redis::cmd("XRANGE").arg(stream).arg("-").arg("+").query_async(&mut connection).await.unwrap()
}

/// Waits until a server that was started again has read its data.
pub(crate) async fn loaded(server: &Server) {
    let client = ::redis::Client::open(format!("redis://127.0.0.1:{}", server.port)).unwrap();
    let begun = Stopwatch::start();
    loop {
        if let Ok(mut connection) = client.get_multiplexed_async_connection().await {
            let exists: Result<bool, _> = ::redis::cmd("EXISTS").arg("feeds").query_async(&mut connection).await;
            if exists.is_ok() {
                return;
            }
        }
        assert!(begun.elapsed() < LIMIT, "the server does not load its data");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) async fn payloads(server: &Server, stream: &str) -> Vec<String> {
    let entries = entries(server, stream).await;
    entries.into_iter().map(|(_, fields)| fields.into_iter().find(|(name, _)| name == "event").unwrap().1).collect()
}

#[tokio::test]
async fn redis_gets_events_in_order_with_their_fields() {
    let Some(server) = start(&[]).await else { return };
    let mut sink = sink(&format!("redis://127.0.0.1:{}/0?stream=feeds", server.port));
    sink.check(LIMIT).await.unwrap();
    deliver(&mut sink, 1..=50).await.unwrap();
    deliver(&mut sink, 51..=60).await.unwrap();
    assert_complete(&payloads(&server, "feeds").await, 60);
    let fields = &entries(&server, "feeds").await[6].1;
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(fields[..4], [("id", "evt_7"), ("number", "7"), ("type", "post.created"), ("key", "source-1")]);
}

#[tokio::test]
async fn redis_keeps_a_stream_about_as_short_as_asked() {
    let Some(server) = start(&[]).await else { return };
    let mut sink = sink(&format!("redis://127.0.0.1:{}?stream=feeds&maxlen=100", server.port));
    for first in (1..=1000).step_by(50) {
        deliver(&mut sink, first..=first + 49).await.unwrap();
    }
    let left = payloads(&server, "feeds").await;
    assert!((100..400).contains(&left.len()), "{}", left.len());
    assert_eq!(left.last(), Some(&super::message(1000).payload));
}

#[tokio::test]
async fn redis_killed_in_the_middle_loses_no_confirmed_event() {
    let Some(mut server) = start(&[]).await else { return };
    let mut sink = sink(&format!("redis://127.0.0.1:{}?stream=feeds", server.port));
    deliver(&mut sink, 1..=10).await.unwrap();
    let work = tokio::spawn(async move {
        let confirmed = until_failure(&mut sink, 11).await;
        (sink, confirmed)
    });
    tokio::time::sleep(Duration::from_millis(150)).await;
    server.kill();
    let (mut sink, confirmed) = work.await.unwrap();
    assert!(confirmed > 10);
    let report = refusal(&mut sink).await;
    assert_eq!(report.cause, FailureCause::Connection, "{report:?}");
    server.restart().await;
    until_taken(&mut sink, confirmed + 1..=confirmed + 10).await;
    let received = payloads(&server, "feeds").await;
    assert_complete(&received, confirmed + 10);
    // A batch is in the stream whole or not at all: at most the batch under way is there twice.
    assert!(received.len() as i64 <= confirmed + 20, "{} {confirmed}", received.len());
}

#[tokio::test]
async fn a_frozen_redis_costs_no_more_than_the_time_limit_and_loses_nothing() {
    let Some(server) = start(&[]).await else { return };
    let mut sink = sink(&format!("redis://127.0.0.1:{}?stream=feeds", server.port));
    deliver(&mut sink, 1..=10).await.unwrap();
    server.freeze();
    for _ in 0..2 {
        let begun = Stopwatch::start();
        let report = sink.deliver(&messages(11..=20), NOW, Duration::from_millis(500)).await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(3));
        assert_eq!((report.cause, report.error.as_str()), (FailureCause::Stalled, "no confirmation within 0.5 s"));
    }
    server.thaw();
    deliver(&mut sink, 11..=20).await.unwrap();
    assert_complete(&payloads(&server, "feeds").await, 20);
}

#[tokio::test]
async fn what_redis_refuses_is_said_in_its_words_and_without_the_password() {
    let Some(server) = start(&["--requirepass", "right"]).await else { return };
    let at = |login: &str, stream: &str| format!("redis://{login}127.0.0.1:{}?stream={stream}", server.port);
    for login in ["", ":wrong@", "ann:wrong@"] {
        let report = refusal(&mut sink(&at(login, "feeds"))).await;
        assert_eq!(report.cause, FailureCause::Credentials, "{report:?}");
        assert!(report.error.contains("127.0.0.1") && !report.error.contains("wrong"), "{report:?}");
    }
    deliver(&mut sink(&at(":right@", "feeds")), 1..=5).await.unwrap();
    // A key that is no stream.
    let client = ::redis::Client::open(format!("redis://:right@127.0.0.1:{}", server.port)).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let () = ::redis::cmd("SET").arg("text").arg("x").query_async(&mut connection).await.unwrap();
    let mut becoming = sink(&at(":right@", "stream"));
    deliver(&mut becoming, 1..=5).await.unwrap();
    let () = ::redis::cmd("SET").arg("stream").arg("x").query_async(&mut connection).await.unwrap();
    let report = refusal(&mut becoming).await;
    assert!(report.error.contains("WRONGTYPE"), "{report:?}");
    for mut mistaken in [becoming, sink(&at(":right@", "text"))] {
        let report = mistaken.check(LIMIT).await.unwrap_err();
        assert!(report.error.contains("is no stream but a string"), "{report:?}");
    }
    // A full server.
    let () = ::redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg("1").query_async(&mut connection).await.unwrap();
    let report = refusal(&mut sink(&at(":right@", "feeds"))).await;
    assert!(report.error.contains("OOM") || report.error.contains("maxmemory"), "{report:?}");
}

#[tokio::test]
async fn redis_is_spoken_to_over_tls_if_the_authority_is_known() {
    let Some(_) = program("redis-server") else { return };
    let directory = tempfile::tempdir().unwrap();
    let settings = tls::certify(directory.path());
    let file = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (file("cert.pem"), file("key.pem"));
    let options = ["--tls-port", "@PORT", "--tls-cert-file", &certificate, "--tls-key-file", &key];
    let more = ["--tls-auth-clients", "no", "--tls-ca-cert-file", &certificate];
    let Some(server) = start(&[&options[..], &more].concat()).await else { return };
    let url = format!("rediss://localhost:{}?stream=feeds", server.port);
    deliver(&mut sink_with(&url, settings), 1..=20).await.unwrap();
    let report = refusal(&mut sink_with(&url, SinkSettings::default())).await;
    assert!(report.error.contains("certificate"), "{report:?}");
}
