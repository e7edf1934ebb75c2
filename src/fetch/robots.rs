//! The request for a site's robots.txt, one hop at a time, and what its answer means for a page (p29, RFC 9309).

use std::time::Duration;

use url::Url;

use super::{Fetcher, Trace};
use crate::http::{Content, Failure, PendingRedirect, Reply, Request};
use crate::model::{ClockStep, FailureCause, FailureReport, SourceProxy, product_of};
use crate::parse::charset;
use crate::parse::robots::{FILE_BYTES_MAX, Verdict, whole_lines};

/// The name that robots.txt files know us by.
pub const PRODUCT: &str = "feedwarden";

/// The name that robots.txt files know a source by: that of its own user agent, or ours.
pub fn robots_product(user_agent: Option<&str>) -> &str {
    user_agent.map(product_of).filter(|product| !product.is_empty()).unwrap_or(PRODUCT)
}

/// Which robots.txt is to be asked for.
#[derive(Clone, Debug)]
pub struct RobotsTask {
    /// Where it is, as [`robots_url`] says.
    pub url: Url,
    /// The redirect that an earlier answer to this task was, to be followed now.
    pub pending_redirect: Option<PendingRedirect>,
    /// Whether more is wanted from the same host soon.
    pub keep_alive: bool,
    /// How much of the deadline earlier requests of the same poll took (p35).
    pub time_used: Duration,
    /// The user agent of the source, if it has one of its own.
    pub user_agent: Option<String>,
    /// The proxy of the source, if it has one of its own.
    pub proxy: Option<SourceProxy>,
}

#[derive(Clone, Debug)]
pub struct RobotsFetched {
    /// What came of it.
    pub answer: RobotsAnswer,
    /// How it was got.
    pub trace: Trace,
}

/// What came of asking for a robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotsAnswer {
    /// The file, or its first 500 KiB.
    Found(String),
    /// There is none, or none for us: everything may be asked for.
    Absent,
    /// It is not known whether there is one: nothing may be asked for (RFC 9309, 2.3.1.4).
    Unreachable(FailureReport),
    /// It is elsewhere: the same task goes on from here. Wherever it ends, the file speaks for the site it was first
    /// asked for at.
    PendingRedirect(PendingRedirect),
}

impl RobotsFetched {
    /// Moves times of an answer that came before a step of the clock.
    pub fn follow(&mut self, step: ClockStep) {
        if let RobotsAnswer::Unreachable(report) = &mut self.answer {
            report.retry_after = report.retry_after.map(|until| step.moved(until));
        }
        self.trace.follow(step);
    }
}

/// Where the robots.txt is that speaks for a page; nowhere if that is no page on the web.
pub fn robots_url(page: &str) -> Option<Url> {
    let mut url = Url::parse(page.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    // The file is public, so it is asked for without credentials.
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    url.set_path("/robots.txt");
    url.set_query(None);
    url.set_fragment(None);
    Some(url)
}

/// The failure that polling a page ends in, if its site's robots.txt refuses it.
pub fn robots_refusal(verdict: &Verdict) -> Option<FailureReport> {
    let error = || format!("robots.txt: {verdict}");
    (!verdict.is_allowed).then(|| FailureReport { cause: FailureCause::Robots, error: error(), retry_after: None })
}

/// The failure that polling a page ends in while its site's robots.txt cannot be had.
pub fn robots_unreachable(report: &FailureReport) -> FailureReport {
    FailureReport { error: format!("robots.txt cannot be had: {}", report.error), ..report.clone() }
}

impl Fetcher {
    /// Asks for a robots.txt: one request, whose redirect is handed back.
    pub async fn robots(&self, task: &RobotsTask) -> RobotsFetched {
        let request = Request {
            cut_at_bytes: Some(FILE_BYTES_MAX),
            keep_alive: task.keep_alive,
            follows: false,
            pending_redirect: task.pending_redirect.clone(),
            time_used: task.time_used,
            user_agent: task.user_agent.clone(),
            proxy: task.proxy.clone(),
            ..Request::new(task.url.as_str())
        };
        match self.client.send(&request).await {
            Ok(reply) => {
                let mut trace = Trace::of(&reply);
                let answer = read(reply, &mut trace, task.url.domain());
                RobotsFetched { answer, trace }
            }
            Err(failure) => {
                let answer = judge(&failure);
                RobotsFetched { answer, trace: Trace::of_failure(failure) }
            }
        }
    }
}

fn read(reply: Reply, trace: &mut Trace, domain: Option<&str>) -> RobotsAnswer {
    match reply.content {
        Content::Redirect(pending_redirect) => RobotsAnswer::PendingRedirect(pending_redirect),
        Content::NotModified => {
            let error = "the site answered 304 to an unconditional request".to_owned();
            RobotsAnswer::Unreachable(FailureReport { cause: FailureCause::Unreadable, error, retry_after: None })
        }
        Content::Body { bytes, content_type, wire_bytes, is_cut } => {
            trace.wire_bytes = wire_bytes;
            trace.body_bytes = bytes.len();
            let top_level_domain = domain.and_then(|domain| domain.rsplit('.').next());
            let text = charset::decode(&bytes, content_type.as_deref(), top_level_domain).text.into_owned();
            RobotsAnswer::Found(beginning(text, is_cut))
        }
    }
}

/// As many whole lines as are read. A text in another charset has grown by being decoded.
fn beginning(mut text: String, is_cut: bool) -> String {
    let bytes_max = if is_cut { text.len().saturating_sub(1) } else { text.len() };
    let length = whole_lines(text.as_bytes(), bytes_max.min(FILE_BYTES_MAX)).len();
    text.truncate(length);
    text
}

/// A failure that says that there is no file is as good as an empty one.
fn judge(failure: &Failure) -> RobotsAnswer {
    // A redirect that cannot be followed, because there are too many or they lead nowhere (RFC 9309, 2.3.1.2).
    if failure.hops.last().is_some_and(|hop| hop.redirect().is_some()) {
        return RobotsAnswer::Absent;
    }
    match failure.report.cause {
        // "Too many requests" is not about the file.
        FailureCause::Status(429) => RobotsAnswer::Unreachable(failure.report.clone()),
        // RFC 9309, 2.3.1.3; and an answer that is empty by its nature.
        FailureCause::Status(204 | 400..=499) => RobotsAnswer::Absent,
        _ => RobotsAnswer::Unreachable(failure.report.clone()),
    }
}
