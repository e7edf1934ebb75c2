//! Full text: which entries want the page that they link to, and what follows from an attempt to fetch it.

use std::time::Duration;

use super::classify::classify;
use super::host_key::host_key;
use super::reading::bound_content;
use super::{PostPolicy, hours, minutes};
use crate::model::{
    FailureClass, FailureReport, FullText, NewPost, PageEnd, PostContent, PostEdit, QueuedPage, TextOrigin, Timestamp,
    WantedPage, check_web_url,
};

/// A text with fewer characters is short.
const SHORT_CHARACTERS: usize = 500;
/// Pages that are fetched for the entries of one poll; the newest entries come first.
const PAGES_PER_POLL_MAX: usize = 100;
/// Attempts to fetch one page.
const ATTEMPTS_MAX: u32 = 3;
/// Time after which a page is not waited for any more, such as that of a host that is held.
const WAIT_MAX: Duration = hours(7 * 24);

/// Marks the new and edited posts that want their page, and returns them.
pub fn want_pages(mode: FullText, posts: &mut [NewPost], edits: &mut [PostEdit]) -> Vec<WantedPage> {
    let edited = edits.iter_mut().map(|edit| &mut edit.post);
    let mut pages = Vec::new();
    for post in posts.iter_mut().rev().chain(edited) {
        let Some(host) = wants_page(mode, post.content()).then(|| host_of(post)).flatten() else { continue };
        if pages.len() < PAGES_PER_POLL_MAX {
            pages.push(WantedPage { key: post.key(), host });
            *post = post.clone().with_content(|content| content.text_origin = TextOrigin::FeedPending);
        } else {
            let error = format!("not fetched: the poll found more than {PAGES_PER_POLL_MAX} entries that want a page");
            *post = post.clone().with_content(|content| content.full_text_error = Some(error));
        }
    }
    pages
}

fn wants_page(mode: FullText, content: &PostContent) -> bool {
    match mode {
        FullText::Off => false,
        FullText::WhenShort => content.text.chars().take(SHORT_CHARACTERS).count() < SHORT_CHARACTERS,
        FullText::Always => true,
    }
}

/// Host of the page of a post; none if its URL is no web address.
fn host_of(post: &NewPost) -> Option<crate::model::HostKey> {
    let url = post.content().url.as_deref()?;
    check_web_url(url).ok().and_then(|()| host_key(url))
}

/// Why no further attempt is made for a page that is due.
pub fn no_attempt_left(page: &QueuedPage, now: Timestamp) -> Option<String> {
    let last = || page.post.content.full_text_error.clone();
    if page.attempts >= ATTEMPTS_MAX {
        return Some(last().unwrap_or_else(|| format!("{ATTEMPTS_MAX} attempts were interrupted")));
    }
    let is_late = now.since(page.queued_at) > WAIT_MAX;
    is_late.then(|| last().unwrap_or_else(|| "the host of the page took no request for 7 days".to_owned()))
}

/// Now, the latest time at which a page can be due, and the latest at which it can have been queued. Beyond them a clock
/// that was ahead has written the times.
pub fn queue_bounds(now: Timestamp) -> (Timestamp, Timestamp, Timestamp) {
    (now, now + WAIT_MAX + minutes(1), now + minutes(1))
}

/// Time of the next attempt after one that begins now, if `attempts` were made before.
pub fn retry_at(attempts: u32, policy: &PostPolicy, now: Timestamp) -> Timestamp {
    let [first, next] = policy.page_retries;
    now + if attempts == 0 { first } else { next }
}

/// What follows from a failed attempt, the last of `attempts`. A failure that does not pass by itself ends the attempts.
pub fn after_failure(attempts: u32, report: &FailureReport) -> PageEnd {
    let error = report.error.clone();
    match classify(report.cause).class {
        FailureClass::Transient if attempts < ATTEMPTS_MAX => PageEnd::Retry { error },
        _ => PageEnd::GivenUp { error },
    }
}

/// What a post gets from its page. A page with less text than the entry has shows something else than the article.
pub fn after_reading(entry: &PostContent, article: PostContent, policy: &PostPolicy) -> PageEnd {
    let (found, had) = (article.text.chars().count(), entry.text.chars().count());
    if found < had {
        let error = format!("the article on the page has {found} characters, the entry has {had}");
        return PageEnd::GivenUp { error };
    }
    let mut content = PostContent { text: article.text, html: article.html, ..PostContent::default() };
    bound_content(&mut content, policy);
    PageEnd::Article { text: content.text, html: content.html }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ContentHash, FailureCause, Post, PostId, SourceId};

    fn entry(url: Option<&str>, characters: usize) -> NewPost {
        let content =
            PostContent { text: "é".repeat(characters), url: url.map(str::to_owned), ..PostContent::default() };
        NewPost::new(content, None)
    }

    fn wanted(mode: FullText, url: Option<&str>, characters: usize) -> Option<String> {
        let mut posts = [entry(url, characters)];
        let pages = want_pages(mode, &mut posts, &mut []);
        let origin = posts[0].content().text_origin;
        assert_eq!(origin == TextOrigin::FeedPending, !pages.is_empty());
        pages.first().map(|page| page.host.to_string())
    }

    #[test]
    fn the_mode_the_length_and_the_url_decide() {
        let (url, host) = (Some("https://A.example/1"), Some("a.example".to_owned()));
        assert_eq!(wanted(FullText::Off, url, 0), None);
        assert_eq!(wanted(FullText::WhenShort, url, 499), host, "characters count, not bytes");
        assert_eq!(wanted(FullText::WhenShort, url, 500), None);
        assert_eq!(wanted(FullText::Always, url, 5000), host);
        for url in [None, Some("mailto:ann@a.example"), Some("ftp://a.example/1"), Some("no url")] {
            assert_eq!(wanted(FullText::Always, url, 0), None, "{url:?}");
        }
    }

    #[test]
    fn the_pages_of_one_poll_are_bounded_and_the_newest_entries_come_first() {
        let mut posts: Vec<NewPost> = (1..=150).map(|length| entry(Some("http://a.example/"), length)).collect();
        let mut edits = [PostEdit { id: PostId(1), post: entry(Some("http://a.example/"), 7), revisions_max: 0 }];
        let pages = want_pages(FullText::Always, &mut posts, &mut edits);
        assert_eq!((pages.len(), pages[0].key), (PAGES_PER_POLL_MAX, posts[149].key()));
        let is_pending = |post: &NewPost| post.content().text_origin == TextOrigin::FeedPending;
        assert_eq!(posts.iter().position(is_pending), Some(50));
        assert!(posts[49].content().full_text_error.is_some());
        assert!(edits[0].post.content().full_text_error.is_some());
    }

    #[test]
    fn the_mark_keeps_the_content_hash() {
        let mut posts = [entry(Some("http://a.example/"), 9)];
        let before = posts[0].content_hash();
        want_pages(FullText::Always, &mut posts, &mut []);
        assert_eq!(posts[0].content_hash(), before);
    }

    fn queued(attempts: u32, error: Option<&str>) -> QueuedPage {
        let content = PostContent { full_text_error: error.map(str::to_owned), ..PostContent::default() };
        let post = Post {
            id: PostId(1),
            source_id: SourceId(1),
            content,
            published_at: None,
            created_at: Timestamp::EPOCH,
            changed_at: None,
            revision: 0,
            change_number: 1,
            content_hash: ContentHash([0; 32]),
            is_backfill: false,
        };
        QueuedPage { post, queued_at: Timestamp::EPOCH, attempts }
    }

    #[test]
    fn attempts_end_after_the_third_and_after_a_week() {
        let (soon, late) = (Timestamp::EPOCH + hours(1), Timestamp::EPOCH + hours(24 * 8));
        assert_eq!(no_attempt_left(&queued(2, None), soon), None);
        assert_eq!(no_attempt_left(&queued(3, Some("HTTP 500")), soon).as_deref(), Some("HTTP 500"));
        assert_eq!(no_attempt_left(&queued(3, None), soon).as_deref(), Some("3 attempts were interrupted"));
        assert!(no_attempt_left(&queued(0, None), late).is_some());
    }

    #[test]
    fn failures_that_pass_are_repeated_and_others_are_not() {
        let report = |cause| FailureReport { cause, error: "x".into(), retry_after: None };
        let (retry, given_up) = (PageEnd::Retry { error: "x".into() }, PageEnd::GivenUp { error: "x".into() });
        for cause in [FailureCause::Status(500), FailureCause::Stalled, FailureCause::Status(429)] {
            assert_eq!(after_failure(1, &report(cause)), retry, "{cause:?}");
            assert_eq!(after_failure(3, &report(cause)), given_up, "{cause:?}");
        }
        for cause in [FailureCause::Status(404), FailureCause::Robots, FailureCause::Dns] {
            assert_eq!(after_failure(1, &report(cause)), given_up, "{cause:?}");
        }
    }

    #[test]
    fn an_article_shorter_than_the_entry_is_not_taken_and_a_long_one_is_cut() {
        let text = |length| PostContent { text: "x".repeat(length), ..PostContent::default() };
        let policy = PostPolicy { bytes_max: 100, ..PostPolicy::default() };
        assert!(matches!(after_reading(&text(10), text(9), &policy), PageEnd::GivenUp { .. }));
        let PageEnd::Article { text: cut, .. } = after_reading(&text(10), text(1000), &policy) else { panic!() };
        assert!(cut.len() <= 100 && cut.ends_with("[…]"));
    }
}
