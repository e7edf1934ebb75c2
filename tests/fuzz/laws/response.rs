//! Whatever a server answers, the client ends with a body within its limits or with an error fit to be shown.
//!
//! A server on loopback sends the input as it is, and the client reads it as it reads every answer: head, framing,
//! content encoding.

use std::time::Duration;

use feedwarden::http::{Client, Content, Failure, HttpSettings, Reply, Request};
use feedwarden::model::{RateLimit, Timestamp};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
/// So small that encoded inputs of a few hundred bytes meet it.
const BODY_BYTES_MAX: usize = 16 << 10;
const CUT_AT_BYTES: usize = 64;
/// What an operator may be given to read about an answer, in characters.
const ERROR_CHARS_MAX: usize = 501;

type Outcome = Result<Reply, Box<Failure>>;

/// A server and its client, on one thread.
struct Exchange {
    runtime: Runtime,
    listener: TcpListener,
    client: Client,
    url: String,
}

thread_local! {
    static EXCHANGE: Exchange = Exchange::new();
}

/// Holds the laws against one answer.
pub(crate) fn check(input: &[u8]) {
    EXCHANGE.with(|exchange| {
        let whole = exchange.answer(input, None);
        let cut = exchange.answer(input, Some(CUT_AT_BYTES));
        check_outcome(&whole, BODY_BYTES_MAX, input.len());
        check_outcome(&cut, CUT_AT_BYTES, input.len());
        // A body that is cut is the beginning of the whole one.
        if let (Some((whole, _)), Some((cut, is_cut))) = (body(&whole), body(&cut)) {
            assert!(whole.starts_with(cut), "the cut body is another one");
            assert!(is_cut || cut == whole, "{} of {} bytes pass for all", cut.len(), whole.len());
        }
    });
}

impl Exchange {
    fn new() -> Exchange {
        let runtime = Builder::new_current_thread().enable_all().build().expect("there is a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("loopback has a port");
        let url = format!("http://{}/feed", listener.local_addr().expect("it is bound"));
        let settings = HttpSettings {
            allowed_networks: vec!["127.0.0.0/8".parse().expect("a constant network is one")],
            deadline: Duration::from_secs(10),
            body_bytes_max: BODY_BYTES_MAX,
            ..HttpSettings::default()
        };
        let client = Client::new(settings, || NOW).expect("the settings are good");
        Exchange { runtime, listener, client, url }
    }

    fn answer(&self, input: &[u8], cut_at_bytes: Option<usize>) -> Outcome {
        // A redirect is handed over and never followed, so nothing leaves loopback.
        let request = Request { follows: false, wants_refusal: true, cut_at_bytes, ..Request::new(self.url.as_str()) };
        let serving = async {
            if let Ok((stream, _)) = self.listener.accept().await {
                // A client that has read enough closes the connection.
                let _ = serve(stream, input).await;
            }
        };
        let (outcome, ()) = self.runtime.block_on(async { tokio::join!(self.client.send(&request), serving) });
        outcome.map_err(Box::new)
    }
}

async fn serve(mut stream: TcpStream, input: &[u8]) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    stream.write_all(input).await?;
    stream.shutdown().await?;
    // Until the client has closed it.
    stream.read(&mut [0]).await.map(drop)
}

fn check_outcome(outcome: &Outcome, bytes_max: usize, sent_bytes: usize) {
    match outcome {
        Ok(reply) => {
            let status = reply.hops.last().and_then(|hop| hop.status);
            match &reply.content {
                Content::Body { bytes, wire_bytes, .. } => {
                    assert_eq!(status, Some(200), "a body of another status");
                    assert!(bytes.len() <= bytes_max, "{} bytes", bytes.len());
                    assert!(*wire_bytes <= sent_bytes, "{wire_bytes} of {sent_bytes} bytes were read");
                }
                Content::NotModified => assert_eq!(status, Some(304)),
                Content::Redirect(redirect) => {
                    assert!(matches!(status, Some(300..=399)), "{status:?} redirects");
                    assert!(matches!(redirect.url().scheme(), "http" | "https"), "{}", redirect.url());
                }
            }
            let validators = [&reply.validators.etag, &reply.validators.last_modified];
            // They are sent back in a header.
            let is_one_line = |value: &String| !value.contains(['\r', '\n', '\0']);
            assert!(validators.into_iter().flatten().all(is_one_line), "{:?}", reply.validators);
            let fresh = reply.caching.fresh_for(NOW);
            assert!(fresh.is_none_or(|fresh| !fresh.is_zero()), "fresh for no time");
            check_limit(reply.rate_limit);
        }
        Err(failure) => {
            let text = &failure.report.error;
            assert!(!text.is_empty() && text.chars().count() <= ERROR_CHARS_MAX, "{text:?}");
            assert!(!text.contains(char::is_control), "{text:?} holds a control character");
            assert!(failure.report.retry_after.is_none_or(|at| at >= NOW), "{:?} is over", failure.report.retry_after);
            assert!(failure.body.len() <= BODY_BYTES_MAX, "{} bytes", failure.body.len());
            check_limit(failure.rate_limit);
        }
    }
}

fn check_limit(limit: Option<RateLimit>) {
    assert!(limit.is_none_or(|limit| limit.resets_at > NOW), "{limit:?} is over");
}

/// The body, and whether it was cut.
fn body(outcome: &Outcome) -> Option<(&[u8], bool)> {
    match &outcome.as_ref().ok()?.content {
        Content::Body { bytes, is_cut, .. } => Some((bytes, *is_cut)),
        Content::NotModified | Content::Redirect(_) => None,
    }
}
