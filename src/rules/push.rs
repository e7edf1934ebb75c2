//! Pushes of hubs as hints (WebSub): what feeds offer, which polls pushes make due, and how far the interval of a source
//! stretches whose hub has told of what was new.

use std::time::Duration;

use url::Url;

use super::stored_times::is_unknown;
use super::{hours, minutes};
use crate::model::{FeedLinks, HubOffer, PushState, Source, Timestamp};

/// Time between the last poll and one that a push makes due: further pushes within it are followed by that one poll.
pub const PUSH_GAP: Duration = Duration::from_secs(30);
/// Polls in a row that pushes made due and that found something new, before the interval stretches.
pub const TRUSTED_AFTER: u32 = 3;
/// The longest stretched interval.
pub const STRETCHED_MAX: Duration = hours(4);
/// Larger streaks change nothing.
const STREAK_MAX: u32 = 1000;
/// Longer URLs are not followed.
const URL_BYTES_MAX: usize = 2048;

/// What a poll says about pushes.
#[derive(Clone, Debug, PartialEq)]
pub struct PolledFeed {
    /// When its requests began: it has followed the pushes until then.
    pub began_at: Timestamp,
    /// Whether it found entries that are new.
    pub has_new: bool,
    /// What the feed offers; none if the document was not read.
    pub offer: Option<Option<HubOffer>>,
}

/// Whether a poll that began then follows a push.
pub fn is_followed(push: &PushState, began_at: Timestamp) -> bool {
    push.pushed_at.is_some_and(|at| at <= began_at)
}

/// What a poll that succeeded leaves of the pushes.
pub fn after_poll(push: &PushState, polled: &PolledFeed) -> PushState {
    let is_followed = is_followed(push, polled.began_at);
    let streak = match (polled.has_new, is_followed) {
        (false, _) => push.streak,
        (true, true) => push.streak.saturating_add(1).min(STREAK_MAX),
        // Found without a push before it: the hub cannot be relied on.
        (true, false) => 0,
    };
    let offer = polled.offer.clone().unwrap_or_else(|| push.offer.clone());
    PushState {
        streak: if offer.is_some() { streak } else { 0 },
        pushed_at: push.pushed_at.filter(|_| !is_followed),
        offer,
    }
}

/// When a push makes a source due; none without one. A push sets aside the interval and what the publisher said of
/// freshness, and nothing else.
pub fn due_at(source: &Source, now: Timestamp) -> Option<Timestamp> {
    let state = &source.state;
    let pushed_at = state.push.pushed_at?;
    if state.failures.consecutive > 0 {
        return None;
    }
    let pushed_at = if is_unknown(pushed_at, now) { now } else { pushed_at };
    let last_polled = state.last_polled.filter(|polled| !is_unknown(*polled, now));
    Some(last_polled.map_or(pushed_at, |polled| pushed_at.max(polled + PUSH_GAP)))
}

/// The interval of a source whose hub has told of what was new, if it is longer than the ordinary one. It never is for a
/// source with an interval of its own.
pub fn stretched(source: &Source, ordinary: Duration) -> Option<Duration> {
    let streak = source.state.push.streak;
    if streak < TRUSTED_AFTER || source.settings.poll_interval_minutes.is_some() {
        return None;
    }
    let doublings = (streak - TRUSTED_AFTER + 1).min(16);
    let longer = ordinary.saturating_mul(1 << doublings).min(STRETCHED_MAX);
    (longer > ordinary).then_some(longer)
}

/// The hubs of a feed and its topic, if it names any that can be used. `feed_url` is what the source is known as: its URL,
/// or where permanent redirects led; `answered_url` is where the document came from.
///
/// `Link` headers come from the server of this feed and take precedence. The link of a document to itself may have been
/// copied with the document, so it is the topic only if it is at the host of the feed: otherwise every change of another
/// publisher's feed would make this one due.
pub fn offer(links: &FeedLinks, feed_url: &str, answered_url: &str) -> Option<HubOffer> {
    let FeedLinks { header, document } = links;
    let hubs = if header.hubs.is_empty() { &document.hubs } else { &header.hubs };
    let hubs: Vec<String> = hubs.iter().filter_map(|hub| usable(hub)).collect();
    if hubs.is_empty() {
        return None;
    }
    let is_near = |topic: &String| {
        [feed_url, answered_url].into_iter().any(|url| host(url).is_some_and(|of_feed| host(topic) == Some(of_feed)))
    };
    let from_header = header.own.as_deref().and_then(usable);
    let from_document = || document.own.as_deref().and_then(usable).filter(is_near);
    let topic = from_header.or_else(from_document).or_else(|| usable(feed_url))?;
    Some(HubOffer { hubs, topic })
}

/// A URL that may be asked or named to a hub: without a login, which a hub must not learn.
fn usable(url: &str) -> Option<String> {
    let parsed = Url::parse(url).ok().filter(|_| url.len() <= URL_BYTES_MAX)?;
    let has_login = !parsed.username().is_empty() || parsed.password().is_some();
    let is_web = matches!(parsed.scheme(), "http" | "https") && parsed.host_str().is_some();
    // As it was written: a hub compares topics letter by letter.
    (is_web && !has_login).then(|| url.to_owned())
}

fn host(url: &str) -> Option<String> {
    let host = Url::parse(url).ok()?.host_str()?.to_ascii_lowercase();
    Some(host.strip_prefix("www.").unwrap_or(&host).to_owned())
}

/// The least time between two moves of a subscription that a feed causes.
pub const FOLLOW_AFTER: Duration = minutes(60);

#[cfg(test)]
#[path = "push_tests.rs"]
mod tests;
