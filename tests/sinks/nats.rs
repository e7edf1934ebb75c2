//! NATS JetStream.

use std::time::Duration;

use async_nats::jetstream::{self, stream};
use feedwarden::clock::Stopwatch;
use feedwarden::model::FailureCause;
use feedwarden::sinks::SinkSettings;

use super::server::{Server, program};
use super::{
    LIMIT, NOW, assert_complete, deliver, messages, refusal, sink, sink_with, tls, until_failure, until_taken,
    with_text,
};

async fn start(configuration: &str) -> Option<Server> {
    start_in(tempfile::tempdir().unwrap(), configuration).await
}

async fn start_in(directory: tempfile::TempDir, configuration: &str) -> Option<Server> {
    let nats = program("nats-server")?;
    std::fs::write(directory.path().join("conf"), configuration).unwrap();
    let command = [nats.to_str().unwrap(), "-js", "-a", "127.0.0.1", "-p", "@PORT", "-sd", "@DIR", "-c", "@DIR/conf"];
    Some(Server::start(directory, &command).await)
}

async fn jetstream(server: &Server) -> jetstream::Context {
    jetstream::new(async_nats::connect(format!("127.0.0.1:{}", server.port)).await.unwrap())
}

async fn make_stream(server: &Server, subject: &str) {
    let config = stream::Config { name: "FEEDS".into(), subjects: vec![subject.into()], ..stream::Config::default() };
    jetstream(server).await.create_stream(config).await.unwrap();
}

async fn payloads(server: &Server) -> Vec<String> {
    let mut stream = jetstream(server).await.get_stream("FEEDS").await.unwrap();
    let last = stream.info().await.unwrap().state.last_sequence;
    let mut payloads = Vec::new();
    for sequence in 1..=last {
        let message = stream.get_raw_message(sequence).await.unwrap();
        payloads.push(String::from_utf8(message.payload.to_vec()).unwrap());
    }
    payloads
}

#[tokio::test]
async fn nats_gets_events_in_order_once_with_their_headers() {
    let Some(server) = start("").await else { return };
    make_stream(&server, "feeds.>").await;
    let mut sink = sink(&format!("nats://127.0.0.1:{}?subject=feeds.{{type}}", server.port));
    sink.check(LIMIT).await.unwrap();
    deliver(&mut sink, 1..=50).await.unwrap();
    // Sent again, as after a crash before the cursor was stored: the server drops what it has.
    deliver(&mut sink, 41..=60).await.unwrap();
    let received = payloads(&server).await;
    assert_complete(&received, 60);
    assert_eq!(received.len(), 60);
    let stream = jetstream(&server).await.get_stream("FEEDS").await.unwrap();
    let message = stream.get_raw_message(7).await.unwrap();
    assert_eq!(message.subject.as_str(), "feeds.post.created");
    let header = |name: &str| message.headers.get(name).unwrap().as_str().to_owned();
    assert_eq!(
        ["Nats-Msg-Id", "Feedwarden-Number", "Feedwarden-Type", "Feedwarden-Key"].map(header),
        ["feeds.post.created/evt_7", "7", "post.created", "source-1"]
    );
}

#[tokio::test]
async fn nats_killed_in_the_middle_loses_no_confirmed_event() {
    let Some(mut server) = start("").await else { return };
    make_stream(&server, "feeds").await;
    let mut sink = sink(&format!("nats://127.0.0.1:{}?subject=feeds", server.port));
    deliver(&mut sink, 1..=10).await.unwrap();
    let begun = Stopwatch::start();
    let work = tokio::spawn(async move {
        let confirmed = until_failure(&mut sink, 11).await;
        (sink, confirmed)
    });
    tokio::time::sleep(Duration::from_millis(150)).await;
    server.kill();
    let (mut sink, confirmed) = work.await.unwrap();
    assert!(confirmed > 10);
    // Not only at the time limit.
    assert!(begun.elapsed() < Duration::from_secs(10));
    let report = refusal(&mut sink).await;
    assert_eq!(report.cause, FailureCause::Connection, "{report:?}");
    server.restart().await;
    until_taken(&mut sink, confirmed + 1..=confirmed + 10).await;
    assert_complete(&payloads(&server).await, confirmed + 10);
}

#[tokio::test]
async fn a_frozen_nats_costs_no_more_than_the_time_limit_and_loses_nothing() {
    let Some(server) = start("").await else { return };
    make_stream(&server, "feeds").await;
    let mut sink = sink(&format!("nats://127.0.0.1:{}?subject=feeds", server.port));
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
    assert_complete(&payloads(&server).await, 20);
}

#[tokio::test]
async fn a_subject_without_a_stream_is_an_error_that_says_how_to_make_one() {
    let Some(server) = start("").await else { return };
    let mut sink = sink(&format!("nats://127.0.0.1:{}?subject=feeds.{{type}}", server.port));
    let advice = "no stream of JetStream stores the subject feeds.*.*; make one: \
                  nats stream add FEEDWARDEN --subjects 'feeds.*.*' --defaults";
    let report = refusal(&mut sink).await;
    assert!(report.error.contains(advice), "{report:?}");
    let report = sink.check(LIMIT).await.unwrap_err();
    assert!(report.error.contains(advice), "{report:?}");
    make_stream(&server, "feeds.*.*").await;
    sink.check(LIMIT).await.unwrap();
    deliver(&mut sink, 1..=3).await.unwrap();
    let report = sink.deliver(&[with_text(4, &"x".repeat(2_000_000))], NOW, LIMIT).await.unwrap_err();
    assert!(report.error.contains("event 4 is too large, raise max_payload"), "{report:?}");
}

#[tokio::test]
async fn a_server_without_jetstream_is_an_error() {
    let Some(nats) = program("nats-server") else { return };
    let command = [nats.to_str().unwrap(), "-a", "127.0.0.1", "-p", "@PORT"];
    let server = Server::start(tempfile::tempdir().unwrap(), &command).await;
    let report = refusal(&mut sink(&format!("nats://127.0.0.1:{}?subject=feeds", server.port))).await;
    assert!(report.error.contains("no stream of JetStream"), "{report:?}");
}

#[tokio::test]
async fn what_nats_refuses_is_said_without_the_password() {
    let Some(server) = start("authorization { user: ann, password: right }").await else { return };
    for login in ["", "ann:wrong@", "bob:right@", "wrongtoken@"] {
        let (url, secret) =
            feedwarden::sinks::Address::split(&format!("nats://{login}127.0.0.1:{}?subject=feeds", server.port))
                .unwrap();
        let address = feedwarden::sinks::Address::new(&url, secret.as_ref()).unwrap();
        let report = refusal(&mut feedwarden::sinks::Sink::new(address, SinkSettings::default())).await;
        assert_eq!(report.cause, FailureCause::Credentials, "{login} {report:?}");
        assert!(!report.error.contains("wrong"), "{report:?}");
    }
    let mut sink = sink(&format!("nats://ann:right@127.0.0.1:{}?subject=feeds", server.port));
    // Logged in, but there is no stream.
    let report = refusal(&mut sink).await;
    assert!(report.error.contains("no stream of JetStream"), "{report:?}");
}

#[tokio::test]
async fn nats_is_spoken_to_over_tls_if_the_authority_is_known() {
    let directory = tempfile::tempdir().unwrap();
    let settings = tls::certify(directory.path());
    let place = directory.path().display().to_string();
    let configuration = format!("tls {{ cert_file: \"{place}/cert.pem\", key_file: \"{place}/key.pem\" }}");
    let Some(server) = start_in(directory, &configuration).await else { return };
    let url = format!("tls://localhost:{}?subject=feeds", server.port);
    // Logged in, but there is no stream.
    let report = refusal(&mut sink_with(&url, settings)).await;
    assert!(report.error.contains("no stream of JetStream"), "{report:?}");
    let report = refusal(&mut sink_with(&url, SinkSettings::default())).await;
    assert!(report.error.contains("certificate") || report.error.contains("TLS"), "{report:?}");
}
