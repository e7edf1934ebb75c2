//! Polls of X accounts against a server on loopback that speaks the documented JSON: what exactly is asked for, and
//! what becomes of every answer.

mod keys;
mod polls;
mod refusals;
pub(crate) mod server;

use std::time::Duration;

use feedwarden::fetch::{Answer, Fetched, Fetcher, Reading, Task};
use feedwarden::http::{Client, HttpSettings};
use feedwarden::model::{PodcastId, SourceSettings, SourceType, Timestamp};
use feedwarden::sources::{self, TypeSettings, XSettings};
use server::{Act, XServer};

/// The path and query of a first request for posts of account 7.
const TIMELINE: &str = "GET /2/users/7/tweets?max_results=100&exclude=retweets\
    &tweet.fields=created_at,author_id,in_reply_to_user_id,note_tweet,entities,referenced_tweets";
const LOOK_UP: &str = "GET /2/users/by/username/XDevelopers";
const ACCOUNT: &str = r#"{"data":{"id":"7","name":"Developers","username":"XDevelopers"}}"#;
const NO_POSTS: &str = r#"{"meta":{"result_count":0}}"#;

fn settings() -> HttpSettings {
    HttpSettings { deadline: Duration::from_secs(20), allow_private_networks: true, ..HttpSettings::default() }
}

/// A source that is polled for the first time, with a bearer token.
fn first_poll() -> Task {
    let settings = SourceSettings {
        podcast_id: Some(PodcastId(1)),
        ..SourceSettings::new(SourceType::Twitter, "https://x.com/XDevelopers")
    };
    Task { key: Some("token-1".into()), ..Task::new(settings) }
}

/// A source whose account is known as number 7.
fn known_account() -> Task {
    Task { account_id: Some("7".into()), ..first_poll() }
}

async fn poll(server: &XServer, task: &Task) -> Fetched {
    poll_with(settings(), server, task).await
}

async fn poll_with(settings: HttpSettings, server: &XServer, task: &Task) -> Fetched {
    let now = || "2026-11-16T08:00:00Z".parse::<Timestamp>().unwrap();
    let client = Client::new(settings, now).unwrap();
    let settings = TypeSettings { x: XSettings { base_url: server.url() } };
    sources::poll(&Fetcher::new(client), &settings, task).await
}

/// What was read; anything else is a failed test.
fn reading(fetched: &Fetched) -> &Reading {
    match &fetched.answer {
        Answer::Read(reading) => reading,
        other => panic!("{other:?}"),
    }
}

fn numbers(fetched: &Fetched) -> Vec<u64> {
    reading(fetched).entries.iter().map(|found| found.content().guid.as_deref().unwrap().parse().unwrap()).collect()
}

/// A failure in one line: its cause, its text, and when to come back.
fn failure(fetched: &Fetched) -> String {
    match &fetched.answer {
        Answer::Failed(report) => {
            let retry = report.retry_after.map(|moment| format!(" until {moment}")).unwrap_or_default();
            format!("{:?}: {}{retry}", report.cause, report.error)
        }
        other => panic!("{other:?}"),
    }
}

/// A page with these posts.
fn page(ids: &[u64], next_token: Option<&str>) -> Act {
    let posts: Vec<String> = ids.iter().map(|id| format!(r#"{{"id":"{id}","text":"Post {id}"}}"#)).collect();
    let token = next_token.map(|token| format!(r#","next_token":"{token}""#)).unwrap_or_default();
    let (newest, oldest) = (ids.first().unwrap(), ids.last().unwrap());
    server::ok(&format!(
        r#"{{"data":[{}],"meta":{{"result_count":{},"newest_id":"{newest}","oldest_id":"{oldest}"{token}}}}}"#,
        posts.join(","),
        ids.len()
    ))
}

/// An answer of 200 that holds one problem and nothing else.
fn problem(title: &str, kind: &str, detail: &str) -> Act {
    server::ok(&format!(
        r#"{{"errors":[{{"value":"7","detail":"{detail}","title":"{title}","resource_type":"user","parameter":"id",
            "resource_id":"7","type":"https://api.twitter.com/2/problems/{kind}"}}]}}"#
    ))
}

fn not_found() -> Act {
    problem("Not Found Error", "resource-not-found", "Could not find user with id: [7].")
}
