//! What is done about a request: its site's character, put into bytes.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::character::{Character, Elsewhere, RetryAfter, Robots};
use super::content::{Content, Document};
use super::render::http_date;
use super::web_state::{Route, SitePart, WebState};
use super::wire::Head;
use crate::model::Timestamp;

const BROKEN_XML: &str = "<?xml version=\"1.0\"?>\n<<rss <channel & <<item>>> ]]> <!DOCTYPE";
const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Welcome</title></head>\n\
                    <body><p>Our feeds have moved to our app.</p></body></html>\n";

/// What to do about a request.
pub(super) struct Plan {
    /// How long to wait before.
    pub(super) wait: Duration,
    pub(super) act: Act,
}

pub(super) enum Act {
    Send(Answer),
    /// Say nothing until the client hangs up.
    Hang,
    Reset,
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Body,
    pub(super) manner: Manner,
    /// The entries in it.
    pub(super) numbers: Range<u64>,
}

pub(super) enum Body {
    Text(String),
    Document(Arc<Document>),
}

/// How an answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    Whole,
    Dripped,
    /// Only one half of it.
    Cut,
    /// With prose behind it, for as long as huge is.
    Huge,
}

impl Body {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Body::Text(text) => text.as_bytes(),
            Body::Document(document) => &document.body,
        }
    }
}

/// Decides about a request to this host.
pub(super) fn plan(web_state: &WebState, host: usize, route: Route, head: &Head) -> Plan {
    let now = web_state.clock.now();
    let act = match route {
        _ if head.method != "GET" => refusal(405, "Allow: GET\r\n", now),
        Route::Robots => robots(web_state, host, now),
        Route::Nowhere => refusal(404, "", now),
        Route::Site(site, place) => {
            let mut content = web_state.sites[site].lock();
            content.requests += 1;
            let slow = if content.character == Character::Slow { web_state.settings.slow } else { Duration::ZERO };
            let act = visit(web_state, &mut content, place, head, now);
            return Plan { wait: web_state.settings.latency + slow, act };
        }
    };
    Plan { wait: web_state.settings.latency, act }
}

fn visit(web_state: &WebState, content: &mut Content, place: SitePart, head: &Head, now: Timestamp) -> Act {
    match content.character {
        Character::Healthy
        | Character::NoValidators
        | Character::Busy
        | Character::Titleless
        | Character::Gzip
        | Character::Slow
        | Character::Website => document(web_state, content, head, Manner::Whole, "", now),
        Character::CacheFor(seconds) => {
            document(web_state, content, head, Manner::Whole, &format!("Cache-Control: max-age={seconds}\r\n"), now)
        }
        Character::Dripping => document(web_state, content, head, Manner::Dripped, "", now),
        Character::Cut => document(web_state, content, &Head::default(), Manner::Cut, "", now),
        Character::Moved(_) | Character::Found(_) if place == SitePart::Arrival => {
            document(web_state, content, head, Manner::Whole, "", now)
        }
        Character::Moved(elsewhere) => redirect(web_state, content, 301, elsewhere, now),
        Character::Found(elsewhere) => redirect(web_state, content, 302, elsewhere, now),
        Character::Loop => {
            let next = if place == SitePart::Round(1) { 2 } else { 1 };
            sent_away(content, 302, &format!("/{}/round/{next}", content.form.site), now)
        }
        Character::NotFound => refusal(404, "", now),
        Character::Gone => refusal(410, "", now),
        Character::Forbidden => refusal(403, "", now),
        Character::Unauthorized => refusal(401, "WWW-Authenticate: Basic realm=\"members\"\r\n", now),
        Character::RateLimited(retry_after) => refusal(429, &retry_after.header(now), now),
        Character::Unavailable(retry_after) => refusal(503, &retry_after.header(now), now),
        Character::Broken(status) => refusal(status, "", now),
        Character::Hanging => Act::Hang,
        Character::Reset | Character::Dead => Act::Reset,
        Character::BrokenXml => answer(200, "application/rss+xml", "", BROKEN_XML.into(), now),
        Character::NotAFeed => answer(200, "text/html; charset=utf-8", "", PAGE.into(), now),
        Character::Huge => Act::Send(Answer {
            status: 200,
            head: head_of(200, "Content-Type: application/rss+xml\r\nConnection: close\r\n", now),
            body: Body::Text("<?xml version=\"1.0\"?>\n<rss version=\"2.0\"><channel><description>".into()),
            manner: Manner::Huge,
            numbers: 0..0,
        }),
        Character::Flaky => match content.fate(web_state.settings.seed) {
            roll if roll < 0.6 => document(web_state, content, head, Manner::Whole, "", now),
            roll if roll < 0.7 => refusal(404, "", now),
            roll if roll < 0.85 => refusal(500, "", now),
            _ => Act::Reset,
        },
    }
}

fn document(
    web_state: &WebState,
    content: &mut Content,
    head: &Head,
    manner: Manner,
    extra: &str,
    now: Timestamp,
) -> Act {
    content.publish_due(&web_state.settings, now);
    let document = content.document(web_state.settings.seed, &web_state.prose);
    let mut headers = String::with_capacity(256);
    let lines = [
        ("ETag", document.etag.as_deref()),
        ("Last-Modified", document.last_modified.as_deref()),
        ("Content-Encoding", document.encoding),
    ];
    for (name, value) in lines {
        headers.extend(value.into_iter().flat_map(|value| [name, ": ", value, "\r\n"]));
    }
    headers.push_str(extra);
    if document.is_known(head.if_none_match.as_deref(), head.if_modified_since.as_deref()) {
        let head = head_of(304, &headers, now);
        return Act::Send(Answer { status: 304, head, body: Body::Text(String::new()), manner, numbers: 0..0 });
    }
    headers.push_str(&format!(
        "Content-Type: {}\r\nContent-Length: {}\r\n",
        document.content_type,
        document.body.len()
    ));
    let numbers = document.numbers.clone();
    Act::Send(Answer {
        status: 200,
        head: head_of(200, &headers, now),
        body: Body::Document(document),
        manner,
        numbers,
    })
}

fn redirect(web_state: &WebState, content: &mut Content, status: u16, elsewhere: Elsewhere, now: Timestamp) -> Act {
    let site = content.form.site;
    let target = match elsewhere {
        Elsewhere::SameHost => format!("/{site}/moved"),
        Elsewhere::OtherHost => format!("{}/{site}/moved", web_state.home(web_state.neighbour(site))),
    };
    sent_away(content, status, &target, now)
}

fn sent_away(content: &mut Content, status: u16, target: &str, now: Timestamp) -> Act {
    content.awaits_hop = true;
    refusal(status, &format!("Location: {target}\r\n"), now)
}

fn robots(web_state: &WebState, host: usize, now: Timestamp) -> Act {
    let text = |text: String| answer(200, "text/plain; charset=utf-8", "", text, now);
    match *web_state.hosts[host].robots.lock() {
        Robots::Allowing => text("User-agent: *\nDisallow: /private/\n".into()),
        Robots::Forbidding => {
            let mut words = String::from("User-agent: *\n");
            for site in &web_state.hosts[host].sites {
                if web_state.sites[*site].lock().character == Character::Website {
                    words.push_str(&format!("Disallow: /{site}/\n"));
                }
            }
            words.push_str("Disallow: /private/\n");
            text(words)
        }
        Robots::Missing => refusal(404, "", now),
        Robots::Broken => refusal(500, "", now),
    }
}

/// An answer whose body are some words for people.
fn refusal(status: u16, headers: &str, now: Timestamp) -> Act {
    let words = format!("<html><body><h1>{status} {}</h1></body></html>\n", reason(status));
    answer(status, "text/html; charset=utf-8", headers, words, now)
}

fn answer(status: u16, content_type: &str, headers: &str, body: String, now: Timestamp) -> Act {
    let headers = format!("{headers}Content-Type: {content_type}\r\nContent-Length: {}\r\n", body.len());
    let head = head_of(status, &headers, now);
    Act::Send(Answer { status, head, body: Body::Text(body), manner: Manner::Whole, numbers: 0..0 })
}

/// The head of an answer, without the empty line at its end.
fn head_of(status: u16, headers: &str, now: Timestamp) -> String {
    format!("HTTP/1.1 {status} {}\r\nServer: little-web\r\nDate: {}\r\n{headers}", reason(status), http_date(now))
}

impl RetryAfter {
    fn header(self, now: Timestamp) -> String {
        match self {
            RetryAfter::Unsaid => String::new(),
            RetryAfter::Seconds(seconds) => format!("Retry-After: {seconds}\r\n"),
            RetryAfter::Date(seconds) => {
                format!("Retry-After: {}\r\n", http_date(now + Duration::from_secs(seconds.into())))
            }
        }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        410 => "Gone",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Unknown",
    }
}
