//! A stream over TCP is open as long as its token is valid.

use std::time::Duration;

use feedwarden::api::settings::{ApiSettings, TokenKey};
use feedwarden::api::tokens::{Signer, TokenRequest, TokenScope, issue};
use feedwarden::demo::web::SiteBehaviour;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::time::timeout;

use super::ApiWorld;
use super::client::{ask, read_head, send};
use super::world::SECRET;
use crate::pipeline::run;
use crate::store::Engine::Sqlite;

const OTHER_SECRET: &str = "fedcba9876543210fedcba9876543210";
/// Far longer than anything here takes: a bound, not a wait.
const PATIENCE: Duration = Duration::from_secs(30);

/// An open stream.
struct Stream<R>(BufReader<R>);

impl<R: AsyncRead + Unpin> Stream<R> {
    /// The next line that starts like this; none at the end.
    async fn line(&mut self, start: &str) -> Option<String> {
        let reading = async {
            loop {
                let mut line = String::new();
                // A connection that is reset is at its end too.
                if self.0.read_line(&mut line).await.unwrap_or(0) == 0 {
                    return None;
                }
                if line.starts_with(start) {
                    return Some(line.trim_end().to_owned());
                }
            }
        };
        timeout(PATIENCE, reading).await.expect("a line or the end comes")
    }

    /// The last event, after which nothing comes.
    async fn end(&mut self) -> Value {
        self.line("event: end").await.expect("the stream says why it ends");
        let data = self.line("data: ").await.unwrap();
        assert_eq!(self.line("data: ").await, None, "it goes on after its end");
        serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap()
    }
}

async fn open(api: &ApiWorld, token: &str) -> Stream<tokio::net::TcpStream> {
    let mut stream = api.tcp().await;
    let authorization = format!("Bearer {token}");
    send(&mut stream, "GET", "/api/v1/posts/stream", &[("Authorization", &authorization)], b"").await;
    let mut stream = Stream(BufReader::new(stream));
    let head = read_head(&mut stream.0).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    stream.line(": welcome").await.unwrap();
    stream
}

fn token(api: &ApiWorld, lifetime: Duration) -> String {
    let request =
        TokenRequest { subject: "ada".into(), scope: TokenScope::Read, lifetime, audience: Some("feeds".into()) };
    issue(&request, &Signer::Secret(SECRET.into()), api.world.now()).unwrap()
}

#[test]
fn a_stream_ends_when_its_token_expires() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let (short, long) = (token(&api, Duration::from_secs(1)), token(&api, Duration::from_secs(3600)));
        let (mut short, mut long) = (open(&api, &short).await, open(&api, &long).await);
        let mut socket = api.socket().await;
        send(&mut socket, "GET", "/api/v1/posts/stream", &[], b"").await;
        let mut socket = Stream(BufReader::new(socket));
        // The second in which the token is valid passes on both clocks.
        api.world.advance(Duration::from_secs(1));
        let end = short.end().await;
        assert_eq!(end["reason"], "token-expired");
        assert_eq!(end["detail"], "the token has expired; connect again with a new token");
        // Streams with a valid token and on the socket go on.
        let created = api.tell("POST", "/sources", serde_json::json!({ "url": api.url(0), "backlog": "all" })).await;
        assert_eq!(created.status, 201, "{created:?}");
        for stream in [&mut long] {
            assert!(stream.line("event: post").await.is_some());
        }
        assert!(socket.line("event: post").await.is_some());
        api.stop().await;
    });
}

#[test]
fn a_stream_ends_when_new_keys_do_not_accept_its_token() {
    run(async || {
        let mut api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let token = api.token(TokenScope::Read);
        let mut stream = open(&api, &token).await;
        // A reload that leaves the token valid.
        api.reload(|settings| settings.limits.requests_per_second = 7);
        let created = api.tell("POST", "/sources", serde_json::json!({ "url": api.url(0), "backlog": "all" })).await;
        assert_eq!(created.status, 201, "{created:?}");
        assert!(stream.line("event: post").await.is_some());
        let rotate = |settings: &mut ApiSettings| {
            settings.tokens.as_mut().unwrap().key = TokenKey::Secret(OTHER_SECRET.into());
        };
        api.reload(rotate);
        let end = stream.end().await;
        assert_eq!(end["reason"], "token-rejected");
        assert_eq!(end["detail"], "the token is not signed by our key; connect again with a new token");
        let authorization = format!("Bearer {token}");
        let headers = [("Authorization", authorization.as_str())];
        ask(api.tcp().await, "GET", "/api/v1/posts/stream", &headers, b"").await.is_problem(401, "unauthorized", None);
        let fresh = api.token_of("ada", TokenScope::Read, &Signer::Secret(OTHER_SECRET.into()));
        drop(open(&api, &fresh).await);
        api.stop().await;
    });
}

#[test]
fn a_stream_ends_when_another_audience_or_no_token_is_asked_for() {
    run(async || {
        let mut api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        let token = api.token(TokenScope::Write);
        let mut stream = open(&api, &token).await;
        api.reload(|settings| settings.tokens.as_mut().unwrap().audience = Some("mails".into()));
        assert_eq!(stream.end().await["detail"], "the token is for another audience; connect again with a new token");
        api.reload(|settings| settings.tokens.as_mut().unwrap().audience = Some("feeds".into()));
        let mut stream = open(&api, &token).await;
        api.reload(|settings| settings.tokens = None);
        assert_eq!(stream.end().await["reason"], "token-rejected");
        api.stop().await;
    });
}
