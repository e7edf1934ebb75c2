//! The poll of an X account: its number by its name, once; then its posts since the last one seen.
//!
//! One deadline covers all that is asked. What was found out by then, a renewed key above all, is handed back however
//! the poll ends. A page that fails fails the poll: posts come newest first, so the watermark of half a reading would
//! hide the other half for ever.

use tokio::time::Instant;

use crate::fetch::{Answer, Document, Fetched, Learned, Reading, Task, Trace, post};
use crate::http::{Client, Content, Failure, Headers, Reply, Request};
use crate::model::{
    FailureCause, FailureReport, FeedLinks, Hints, LastSeen, NewPost, PostContent, SourceSettings, Validators,
};
use crate::parse::text;
use crate::parse::x_api::{self, TimelinePage, XPost};

use super::account::account_name;
use super::key::XKey;
use super::{XSettings, key_missing, refusal};

/// The most pages of one poll: five hundred new posts.
const PAGES_MAX: usize = 5;
/// Reposts are texts of other accounts, and cut short. Replies are asked for, because the continuation of a thread
/// is one; those to other people are left out here.
const TIMELINE_QUERY: &str = "max_results=100&exclude=retweets\
    &tweet.fields=created_at,author_id,in_reply_to_user_id,note_tweet,entities,referenced_tweets";

/// Polls an account once.
pub(super) async fn poll(client: &Client, settings: &XSettings, task: &Task) -> Fetched {
    let (name, key) = match prepare(task) {
        Ok(prepared) => prepared,
        Err(report) => return Fetched::new(Answer::Failed(report), Trace::default()),
    };
    let until = tokio::time::sleep(client.deadline()).deadline();
    let (trace, learned) = (Trace::default(), Learned::default());
    let mut poll = XPoll { client, settings, name, key, until, trace, learned };
    let answer = match poll.read(task).await {
        Ok(reading) => Answer::Read(Box::new(reading)),
        Err(report) => Answer::Failed(report),
    };
    Fetched { answer, trace: poll.trace, learned: poll.learned }
}

/// What can be wrong before the first request.
fn prepare(task: &Task) -> Result<(String, XKey), FailureReport> {
    let SourceSettings { url, podcast_id, .. } = &task.settings;
    let name = account_name(url).map_err(|error| failed(FailureCause::Other, error.to_string()))?;
    match (&task.key, podcast_id) {
        (Some(key), _) => Ok((name, XKey::read(key)?)),
        (None, podcast) => Err(failed(FailureCause::KeyMissing, key_missing(*podcast))),
    }
}

/// A poll on its way.
struct XPoll<'a> {
    client: &'a Client,
    settings: &'a XSettings,
    name: String,
    key: XKey,
    /// No answer is waited for any longer than this.
    until: Instant,
    trace: Trace,
    learned: Learned,
}

impl XPoll<'_> {
    async fn read(&mut self, task: &Task) -> Result<Reading, FailureReport> {
        let since = match task.last_seen {
            Some(LastSeen::PostNumber(number)) => Some(number),
            _ => None,
        };
        let Some(known) = task.account_id.as_ref().filter(|id| x_api::is_account_id(id)) else {
            let id = self.look_up().await?;
            return self.read_pages(id, since).await;
        };
        match self.read_pages(known.clone(), since).await {
            // The account behind the number is gone. Its name may be another account's by now.
            Err(report) if report.cause == FailureCause::Status(404) => match self.look_up().await? {
                id if id == *known => Err(report),
                id => self.read_pages(id, since).await,
            },
            outcome => outcome,
        }
    }

    async fn look_up(&mut self) -> Result<String, FailureReport> {
        let path = format!("users/by/username/{}", self.name);
        let body = self.ask(self.settings.endpoint(&path)).await?;
        let id = x_api::account(&body).map_err(|error| refusal::nothing_given(&error, &self.name))?;
        self.learned.account_id = Some(id.clone());
        Ok(id)
    }

    /// The first reading takes one page: what is older than the source is not wanted.
    async fn read_pages(&mut self, id: String, since: Option<u64>) -> Result<Reading, FailureReport> {
        let pages_max = if since.is_some() { PAGES_MAX } else { 1 };
        let (mut posts, mut token, mut pages) = (Vec::new(), None, 0);
        while pages < pages_max {
            let page = self.page(&id, since, token.as_deref()).await?;
            posts.extend(page.posts);
            token = page.next_token;
            pages += 1;
            if token.is_none() {
                break;
            }
        }
        let is_cut = since.is_some() && token.is_some();
        Ok(Reading {
            validators: Validators::default(),
            hints: Hints::default(),
            newest_number: posts.iter().map(|post| post.number).max(),
            entries: posts.into_iter().filter(|post| post.is_own).map(|post| found(&self.name, post)).collect(),
            blank: 0,
            title: None,
            links: FeedLinks::default(),
            document: Document::Account { what: "an X account", name: self.name.clone(), id, pages, is_cut },
        })
    }

    async fn page(&mut self, id: &str, since: Option<u64>, token: Option<&str>) -> Result<TimelinePage, FailureReport> {
        let mut url = self.settings.endpoint(&format!("users/{id}/tweets?{TIMELINE_QUERY}"));
        if let Some(since) = since {
            url.push_str(&format!("&since_id={since}"));
        }
        if let Some(token) = token {
            url.push_str("&pagination_token=");
            url.extend(url::form_urlencoded::byte_serialize(token.as_bytes()));
        }
        let body = self.ask(url).await?;
        // A thread of its own, because a large page takes milliseconds and a panic ends there.
        match tokio::task::spawn_blocking(move || x_api::timeline(&body)).await {
            Ok(page) => page.map_err(|error| refusal::nothing_given(&error, &self.name)),
            Err(panicked) => {
                Err(failed(FailureCause::Internal, format!("the answer made its reader panic: {panicked}")))
            }
        }
    }

    /// Asks with the key, and once more with a renewed one if X no longer takes it.
    async fn ask(&mut self, url: String) -> Result<Vec<u8>, FailureReport> {
        let mut request = Request { wants_refusal: true, keep_alive: true, ..Request::new(url) };
        request.credentials = Some(self.key.bearer());
        let mut outcome = self.send_in_time(&request).await;
        let is_refused = |failure: &Failure| failure.report.cause == FailureCause::Status(401);
        if outcome.as_ref().is_err_and(is_refused) && self.renew().await? {
            request.credentials = Some(self.key.bearer());
            outcome = self.send_in_time(&request).await;
        }
        match outcome.map_err(refusal::report)?.content {
            Content::Body { bytes, .. } => Ok(bytes),
            Content::NotModified => {
                Err(failed(FailureCause::Unreadable, "X answers 304 to an unconditional request".into()))
            }
            Content::Redirect(pending_redirect) => {
                Err(failed(FailureCause::Other, format!("X sends its callers on to {}", pending_redirect.url())))
            }
        }
    }

    /// Whether there is a new key; one poll renews it once. The client's deadline for one request is all that cuts this
    /// short: an answer given up on would hold the only key that is still good.
    async fn renew(&mut self) -> Result<bool, FailureReport> {
        let endpoint = self.settings.endpoint("oauth2/token");
        let Some(request) = self.key.renewal(endpoint).filter(|_| self.learned.key.is_none()) else {
            return Ok(false);
        };
        let Content::Body { bytes, .. } = self.send(&request).await.map_err(refusal::not_renewed)?.content else {
            return Err(failed(FailureCause::Unreadable, "renewing the X key: X says that nothing changed".into()));
        };
        let renewed = x_api::renewed(&bytes)
            .map_err(|error| failed(FailureCause::Unreadable, format!("renewing the X key: {error}")))?;
        self.learned.key = Some(self.key.renew(renewed));
        Ok(true)
    }

    /// One request within what is left of the poll's time.
    async fn send_in_time(&mut self, request: &Request) -> Result<Reply, Failure> {
        match tokio::time::timeout_at(self.until, self.send(request)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(self.too_late()),
        }
    }

    /// One request, noted in the trace.
    async fn send(&mut self, request: &Request) -> Result<Reply, Failure> {
        let mut outcome = self.client.send(request).await;
        let (hops, rate_limit) = match &mut outcome {
            Ok(reply) => (&mut reply.hops, reply.rate_limit),
            Err(failure) => (&mut failure.hops, failure.rate_limit),
        };
        let limits = self.trace.rate_limit.into_iter().chain(rate_limit);
        self.trace.rate_limit = limits.max_by_key(|limit| (limit.is_used_up, limit.resets_at));
        self.trace.status = hops.last().and_then(|hop| hop.status);
        self.trace.hops.append(hops);
        if let Ok(Reply { content: Content::Body { bytes, wire_bytes, .. }, .. }) = &outcome {
            self.trace.wire_bytes += wire_bytes;
            self.trace.body_bytes += bytes.len();
        }
        outcome
    }

    fn too_late(&self) -> Failure {
        let answered = self.trace.hops.len();
        let error = format!(
            "timed out after {} s with {answered} requests of the poll answered",
            self.client.deadline().as_secs_f64()
        );
        let report = failed(FailureCause::Stalled, error);
        Failure { report, hops: Vec::new(), rate_limit: None, headers: Headers::default(), body: Vec::new() }
    }
}

fn failed(cause: FailureCause, error: String) -> FailureReport {
    FailureReport { cause, error, retry_after: None }
}

/// The post that X's becomes: the first line is its heading. One without words is its link.
fn found(name: &str, x_post: XPost) -> NewPost {
    let XPost { number, text, published, .. } = x_post;
    let url = format!("https://x.com/{name}/status/{number}");
    let text = text::lines(&text);
    let text = if text.is_empty() { url.clone() } else { text };
    let content = PostContent {
        title: post::heading(text.lines().next().unwrap_or_default()),
        text,
        guid: Some(number.to_string()),
        url: Some(url),
        author: Some(format!("@{name}")),
        ..PostContent::default()
    };
    NewPost::new(content, published)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(text: &str) -> PostContent {
        let x_post = XPost { number: 20, text: text.into(), published: None, is_own: true };
        found("XDevelopers", x_post).content().clone()
    }

    #[test]
    fn s606_the_first_line_of_an_x_post_is_its_title() {
        let text = text_of("News! \n\nAnd the rest.");
        assert_eq!((text.title.as_str(), text.text.as_str()), ("News!", "News!\nAnd the rest."));
        assert_eq!(text.body(), "News! And the rest.");
        assert_eq!(text.guid.as_deref(), Some("20"));
        assert_eq!(text.url.as_deref(), Some("https://x.com/XDevelopers/status/20"));
        assert_eq!(text.author.as_deref(), Some("@XDevelopers"));
        assert_eq!(text_of(&"word ".repeat(60)).title, format!("{}…", ["word"; 20].join(" ")));
    }

    #[test]
    fn s606_a_post_without_words_is_its_link() {
        let text = text_of("");
        assert_eq!(
            (text.title.as_str(), text.text.as_str()),
            ("https://x.com/XDevelopers/status/20", text.title.as_str())
        );
    }

    #[test]
    fn a_poll_can_be_moved_between_threads() {
        fn check<T: Send>(_: T) {}
        let client = Client::new(crate::http::HttpSettings::default(), || crate::model::Timestamp::EPOCH).unwrap();
        let task = Task::new(SourceSettings::new(crate::model::SourceType::Twitter, "XDevelopers"));
        check(poll(&client, &XSettings::default(), &task));
    }
}
