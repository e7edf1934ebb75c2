//! What is done about a request: its site's behaviour, put into bytes.

use std::sync::Arc;
use std::time::Duration;

use super::content::{ServedDocument, SiteContent};
use super::entry_page::{self, EntryPage};
use super::render::http_date;
use super::served::EntryVersion;
use super::site_behaviour::{Elsewhere, RetryAfter, RobotsPolicy, SiteBehaviour};
use super::web_state::{SitePart, WebRoute, WebState};
use super::wire::Head;
use crate::model::Timestamp;

const BROKEN_XML: &str = "<?xml version=\"1.0\"?>\n<<rss <channel & <<item>>> ]]> <!DOCTYPE";
const PAGE_TYPE: &str = "text/html; charset=utf-8";
const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Welcome</title></head>\n\
                    <body><p>Our feeds have moved to our app.</p></body></html>\n";

/// What to do about a request.
pub(super) struct AnswerPlan {
    /// How long to wait before.
    pub(super) wait: Duration,
    pub(super) act: Act,
}

pub(super) enum Act {
    Send(WebAnswer),
    /// Say nothing until the client hangs up.
    Hang,
    Reset,
}

pub(super) struct WebAnswer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: AnswerBody,
    pub(super) manner: Manner,
    /// The entries in it.
    pub(super) entries: Arc<[EntryVersion]>,
}

pub(super) enum AnswerBody {
    Text(String),
    Document(Arc<ServedDocument>),
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

impl AnswerBody {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            AnswerBody::Text(text) => text.as_bytes(),
            AnswerBody::Document(document) => &document.body,
        }
    }
}

/// Decides about a request to this host.
pub(super) fn plan(web_state: &WebState, host: usize, route: WebRoute, head: &Head) -> AnswerPlan {
    let now = web_state.clock.now();
    let act = match route {
        _ if head.method != "GET" => refusal(405, "Allow: GET\r\n", now),
        WebRoute::Robots => robots(web_state, host, now),
        WebRoute::Nowhere => refusal(404, "", now),
        WebRoute::Entry(site, number) => {
            let (status, wait) = match EntryPage::of(site, number) {
                EntryPage::Whole => (200, Duration::ZERO),
                EntryPage::Slow => (200, web_state.settings.slow),
                EntryPage::Broken => (500, Duration::ZERO),
                EntryPage::Gone => (410, Duration::ZERO),
            };
            let act = match status {
                200 => answer(200, PAGE_TYPE, "", entry_page::html(&web_state.prose, site, number), now),
                _ => refusal(status, "", now),
            };
            return AnswerPlan { wait: web_state.settings.latency + wait, act };
        }
        WebRoute::Site(site, place) => {
            let mut content = web_state.sites[site].lock();
            content.requests += 1;
            let slow = if content.behaviour == SiteBehaviour::Slow { web_state.settings.slow } else { Duration::ZERO };
            let act = visit(web_state, &mut content, place, head, now);
            return AnswerPlan { wait: web_state.settings.latency + slow, act };
        }
    };
    AnswerPlan { wait: web_state.settings.latency, act }
}

fn visit(web_state: &WebState, content: &mut SiteContent, place: SitePart, head: &Head, now: Timestamp) -> Act {
    match content.behaviour {
        SiteBehaviour::Healthy
        | SiteBehaviour::NoValidators
        | SiteBehaviour::Busy
        | SiteBehaviour::Titleless
        | SiteBehaviour::Gzip
        | SiteBehaviour::Slow
        | SiteBehaviour::Website => document(web_state, content, head, Manner::Whole, "", now),
        SiteBehaviour::CacheFor(seconds) => {
            document(web_state, content, head, Manner::Whole, &format!("Cache-Control: max-age={seconds}\r\n"), now)
        }
        SiteBehaviour::Dripping => document(web_state, content, head, Manner::Dripped, "", now),
        SiteBehaviour::Cut => document(web_state, content, &Head::default(), Manner::Cut, "", now),
        SiteBehaviour::Moved(_) | SiteBehaviour::Found(_) if place == SitePart::Arrival => {
            document(web_state, content, head, Manner::Whole, "", now)
        }
        SiteBehaviour::Moved(elsewhere) => redirect(web_state, content, 301, elsewhere, now),
        SiteBehaviour::Found(elsewhere) => redirect(web_state, content, 302, elsewhere, now),
        SiteBehaviour::Loop => {
            let next = if place == SitePart::Round(1) { 2 } else { 1 };
            sent_away(content, 302, &format!("/{}/round/{next}", content.form.site), now)
        }
        SiteBehaviour::NotFound => refusal(404, "", now),
        SiteBehaviour::Gone => refusal(410, "", now),
        SiteBehaviour::Forbidden => refusal(403, "", now),
        SiteBehaviour::Unauthorized => refusal(401, "WWW-Authenticate: Basic realm=\"members\"\r\n", now),
        SiteBehaviour::RateLimited(retry_after) => refusal(429, &retry_after.header(now), now),
        SiteBehaviour::Unavailable(retry_after) => refusal(503, &retry_after.header(now), now),
        SiteBehaviour::Broken(status) => refusal(status, "", now),
        SiteBehaviour::Hanging => Act::Hang,
        SiteBehaviour::Reset | SiteBehaviour::Dead => Act::Reset,
        SiteBehaviour::BrokenXml => answer(200, "application/rss+xml", "", BROKEN_XML.into(), now),
        SiteBehaviour::NotAFeed => answer(200, PAGE_TYPE, "", PAGE.into(), now),
        SiteBehaviour::Huge => Act::Send(WebAnswer {
            status: 200,
            head: head_of(200, "Content-Type: application/rss+xml\r\nConnection: close\r\n", now),
            body: AnswerBody::Text("<?xml version=\"1.0\"?>\n<rss version=\"2.0\"><channel><description>".into()),
            manner: Manner::Huge,
            entries: Arc::default(),
        }),
        SiteBehaviour::Flaky => match content.fate(web_state.settings.seed) {
            roll if roll < 0.6 => document(web_state, content, head, Manner::Whole, "", now),
            roll if roll < 0.7 => refusal(404, "", now),
            roll if roll < 0.85 => refusal(500, "", now),
            _ => Act::Reset,
        },
    }
}

fn document(
    web_state: &WebState,
    content: &mut SiteContent,
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
        return Act::Send(WebAnswer {
            status: 304,
            head,
            body: AnswerBody::Text(String::new()),
            manner,
            entries: Arc::default(),
        });
    }
    headers.push_str(&format!(
        "Content-Type: {}\r\nContent-Length: {}\r\n",
        document.content_type,
        document.body.len()
    ));
    let entries = Arc::clone(&document.entries);
    Act::Send(WebAnswer {
        status: 200,
        head: head_of(200, &headers, now),
        body: AnswerBody::Document(document),
        manner,
        entries,
    })
}

fn redirect(web_state: &WebState, content: &mut SiteContent, status: u16, elsewhere: Elsewhere, now: Timestamp) -> Act {
    let site = content.form.site;
    let target = match elsewhere {
        Elsewhere::SameHost => format!("/{site}/moved"),
        Elsewhere::OtherHost => format!("{}/{site}/moved", web_state.home(web_state.neighbour(site))),
    };
    sent_away(content, status, &target, now)
}

fn sent_away(content: &mut SiteContent, status: u16, target: &str, now: Timestamp) -> Act {
    content.awaits_hop = true;
    refusal(status, &format!("Location: {target}\r\n"), now)
}

fn robots(web_state: &WebState, host: usize, now: Timestamp) -> Act {
    let text = |text: String| answer(200, "text/plain; charset=utf-8", "", text, now);
    match *web_state.hosts[host].robots.lock() {
        RobotsPolicy::Allowing => text("User-agent: *\nDisallow: /private/\n".into()),
        RobotsPolicy::Forbidding => {
            let mut words = String::from("User-agent: *\n");
            for site in &web_state.hosts[host].sites {
                if web_state.sites[*site].lock().behaviour == SiteBehaviour::Website {
                    words.push_str(&format!("Disallow: /{site}/\n"));
                }
            }
            words.push_str("Disallow: /private/\n");
            text(words)
        }
        RobotsPolicy::Missing => refusal(404, "", now),
        RobotsPolicy::Broken => refusal(500, "", now),
    }
}

/// An answer whose body are some words for people.
fn refusal(status: u16, headers: &str, now: Timestamp) -> Act {
    let words = format!("<html><body><h1>{status} {}</h1></body></html>\n", reason(status));
    answer(status, PAGE_TYPE, headers, words, now)
}

fn answer(status: u16, content_type: &str, headers: &str, body: String, now: Timestamp) -> Act {
    let headers = format!("{headers}Content-Type: {content_type}\r\nContent-Length: {}\r\n", body.len());
    let head = head_of(status, &headers, now);
    Act::Send(WebAnswer { status, head, body: AnswerBody::Text(body), manner: Manner::Whole, entries: Arc::default() })
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
