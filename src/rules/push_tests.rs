//! The scenarios of `rules::push`.

use super::*;
use crate::model::{HubLinks, NewSource, SourceId, SourceSettings, SourceType};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const FEED: &str = "https://blog.example/feed";

fn source(push: PushState) -> Source {
    let settings = SourceSettings::new(SourceType::COMMON, FEED);
    let mut source = Source::fresh(SourceId(1), NewSource { settings, created_at: NOW - hours(24) });
    source.state.first_polled_at = Some(NOW - hours(20));
    source.state.last_polled = Some(NOW - minutes(10));
    source.state.push = push;
    source
}

fn some_offer() -> Option<HubOffer> {
    Some(HubOffer { hubs: vec!["https://hub.example/".into()], topic: FEED.into() })
}

fn links(hubs: &[&str], own: Option<&str>) -> HubLinks {
    HubLinks { hubs: hubs.iter().map(ToString::to_string).collect(), own: own.map(str::to_owned) }
}

#[test]
fn p46_headers_take_precedence_and_a_copied_link_to_another_host_is_not_the_topic() {
    let check = |header: HubLinks, document: HubLinks, expected: Option<(&str, &str)>| {
        let found = offer(&FeedLinks { header, document }, FEED, "https://cdn.example/feed.xml");
        let expected = expected.map(|(hub, topic)| HubOffer { hubs: vec![hub.to_owned()], topic: topic.to_owned() });
        assert_eq!(found, expected);
    };
    let (hub, none) = ("https://hub.example/", HubLinks::default());
    check(none.clone(), none.clone(), None);
    check(none.clone(), links(&[], Some(FEED)), None);
    check(links(&[hub], None), none.clone(), Some((hub, FEED)));
    check(
        none.clone(),
        links(&[hub], Some("https://www.blog.example/atom")),
        Some((hub, "https://www.blog.example/atom")),
    );
    check(
        none.clone(),
        links(&[hub], Some("https://cdn.example/feed.xml")),
        Some((hub, "https://cdn.example/feed.xml")),
    );
    check(none.clone(), links(&[hub], Some("https://other.example/feed")), Some((hub, FEED)));
    let of_header = links(&[hub], Some("https://other.example/feed"));
    check(
        of_header.clone(),
        links(&["https://second.example/"], Some(FEED)),
        Some((hub, "https://other.example/feed")),
    );
    check(links(&["ftp://hub.example/"], None), none.clone(), None);
    check(links(&["https://ann:word@hub.example/"], None), none, None);
}

#[test]
fn p46_a_login_in_the_url_of_a_source_is_not_told_to_a_hub() {
    let links = FeedLinks { header: links(&["https://hub.example/"], None), document: HubLinks::default() };
    assert_eq!(offer(&links, "https://ann:word@blog.example/", "https://blog.example/"), None);
}

#[test]
fn p47_a_push_makes_a_source_due_once_and_not_right_after_a_poll() {
    assert_eq!(due_at(&source(PushState::default()), NOW), None);
    let mut pushed = source(PushState { pushed_at: Some(NOW), ..PushState::default() });
    assert_eq!(due_at(&pushed, NOW), Some(NOW));
    pushed.state.last_polled = Some(NOW - Duration::from_secs(10));
    assert_eq!(due_at(&pushed, NOW), Some(NOW + Duration::from_secs(20)));
    // Backoff stays.
    pushed.state.failures.consecutive = 1;
    assert_eq!(due_at(&pushed, NOW), None);
    // A push of a clock that was ahead is one of now.
    let ahead = source(PushState { pushed_at: Some(NOW + hours(9)), ..PushState::default() });
    assert_eq!(due_at(&ahead, NOW), Some(NOW));
}

#[test]
fn p47_a_push_during_a_poll_is_followed_by_another_one() {
    let push = PushState { pushed_at: Some(NOW), streak: 0, offer: some_offer() };
    let polled = |began_at, has_new| PolledFeed { began_at, has_new, offer: None };
    let during = after_poll(&push, &polled(NOW - Duration::from_secs(1), true));
    assert_eq!((during.pushed_at, during.streak), (Some(NOW), 0));
    let after = after_poll(&push, &polled(NOW, true));
    assert_eq!((after.pushed_at, after.streak), (None, 1));
    let nothing_new = after_poll(&push, &polled(NOW, false));
    assert_eq!((nothing_new.pushed_at, nothing_new.streak), (None, 0));
}

#[test]
fn p48_only_pushes_before_what_polls_find_stretch_the_interval_and_one_miss_ends_that() {
    let hour = hours(1);
    let mut push = PushState { offer: some_offer(), ..PushState::default() };
    let mut intervals = Vec::new();
    for _ in 0..6 {
        push.pushed_at = Some(NOW);
        push = after_poll(&push, &PolledFeed { began_at: NOW, has_new: true, offer: Some(some_offer()) });
        intervals.push(stretched(&source(push.clone()), hour).map(|longer| longer.as_secs() / 3600));
    }
    assert_eq!(intervals, [None, None, Some(2), Some(4), Some(4), Some(4)]);
    // A hub that pushes and has nothing to tell earns nothing.
    let idle = PolledFeed { began_at: NOW, has_new: false, offer: Some(some_offer()) };
    assert_eq!(after_poll(&push, &idle).streak, push.streak);
    let missed = PolledFeed { began_at: NOW, has_new: true, offer: Some(some_offer()) };
    assert_eq!(stretched(&source(after_poll(&push, &missed)), hour), None);
    let without_hub = PolledFeed { began_at: NOW, has_new: false, offer: Some(None) };
    assert_eq!(after_poll(&push, &without_hub), PushState::default());
}

#[test]
fn p48_an_interval_of_its_own_and_one_of_more_than_four_hours_are_kept() {
    let push = PushState { streak: 900, ..PushState::default() };
    let mut own = source(push.clone());
    own.settings.poll_interval_minutes = Some(15);
    assert_eq!(stretched(&own, minutes(15)), None);
    assert_eq!(stretched(&source(push.clone()), hours(6)), None);
    assert_eq!(stretched(&source(push.clone()), hours(4)), None);
    assert_eq!(stretched(&source(push), hours(3)), Some(hours(4)));
}
