//! The wire tests: odd servers on raw sockets, and exactly what becomes of a request to each of them.
//!
//! One `check` plays one server and compares the outcome, written as one line; the rows are data. Nothing here waits
//! by sleeping: a server that stays mute does so until the client hangs up.

mod addresses;
mod bodies;
mod bombs;
mod connections;
mod encodings;
mod heads;
mod hops;
mod nonsense;
mod proxies;
mod redirects;
mod requests;
pub(crate) mod server;
mod slowness;
mod statuses;
pub(crate) mod tls;

use std::net::SocketAddr;
use std::time::Duration;

use feedwarden::http::{Client, Content, Failure, HttpSettings, Reply, Request};
use feedwarden::model::Timestamp;
use server::{Act, Server};

/// Settings under which loopback may be asked and nothing takes long.
fn settings() -> HttpSettings {
    HttpSettings {
        deadline: Duration::from_secs(10),
        connect_timeout: Duration::from_secs(5),
        allow_private_networks: true,
        user_agent: "feedwarden-test/1 (+https://feedwarden.example/contact)".into(),
        ..HttpSettings::default()
    }
}

fn now() -> Timestamp {
    "2026-11-16T08:00:00Z".parse().unwrap()
}

fn client(settings: HttpSettings) -> Client {
    Client::new(settings, now).unwrap()
}

/// Asks a server that plays these acts, with the usual settings, and says in one line what came of it.
async fn ask(acts: Vec<Act>) -> String {
    ask_with(settings(), acts).await
}

async fn ask_with(settings: HttpSettings, acts: Vec<Act>) -> String {
    let server = Server::play(acts).await;
    outcome(client(settings).send(&Request::new(server.url("/feed"))).await)
}

/// An outcome in one line: what is in the reply, or the cause of the failure and its text.
fn outcome(result: Result<Reply, Failure>) -> String {
    match result {
        Ok(Reply { content: Content::NotModified, .. }) => "304".into(),
        Ok(Reply { content: Content::Body { bytes, .. }, .. }) if bytes.len() > 80 => {
            format!("200: {} bytes", bytes.len())
        }
        Ok(Reply { content: Content::Body { bytes, .. }, .. }) => format!("200: {}", String::from_utf8_lossy(&bytes)),
        Ok(Reply { content: Content::Redirect(pending_redirect), .. }) => {
            format!("on to {}", pending_redirect.url().path())
        }
        Err(failure) => without_port(&failure.report, &failure.hops),
    }
}

/// Ports differ from run to run, so the text names them `PORT`.
fn without_port(report: &feedwarden::model::FailureReport, hops: &[feedwarden::http::Hop]) -> String {
    let ports = hops.iter().filter_map(|hop| hop.address.as_ref().map(SocketAddr::port).or(hop.url.port()));
    let text = format!("{:?}: {}", report.cause, report.error);
    ports.fold(text, |text, port| text.replace(&format!(":{port}"), ":PORT"))
}
