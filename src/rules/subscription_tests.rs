//! The scenarios of `rules::subscription`.

use super::*;
use crate::model::{PushFigures, SourceId};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn waiting() -> Subscription {
    Subscription {
        token: "token".into(),
        version: 1,
        source_id: SourceId(1),
        hub: "https://hub.example/".into(),
        topic: "https://blog.example/feed".into(),
        public_url: "https://we.example".into(),
        secret: Some("secret".to_owned().into()),
        state: SubscriptionState::Waiting,
        asked_at: None,
        verified_at: None,
        lease: None,
        next_attempt_at: NOW,
        attempts: 0,
        last_error: None,
        created_at: NOW,
        figures: PushFigures::default(),
    }
}

fn asked(mode: &str) -> Verification {
    Verification {
        mode: mode.into(),
        topic: Some("https://blog.example/feed".into()),
        lease_seconds: Some(864_000),
        reason: None,
    }
}

fn active() -> Subscription {
    let mut subscription = waiting();
    begin(&mut subscription, NOW);
    assert_eq!(verify(&mut subscription, &asked("subscribe"), NOW), VerificationVerdict::Subscribed);
    subscription
}

#[test]
fn p46_a_lease_is_renewed_when_a_third_of_it_is_left() {
    let mut subscription = waiting();
    assert_eq!(step(&subscription, NOW), SubscriptionStep::Subscribe);
    begin(&mut subscription, NOW);
    accepted(&mut subscription);
    assert_eq!(subscription.state, SubscriptionState::Requested);
    assert_eq!(verify(&mut subscription, &asked("subscribe"), NOW), VerificationVerdict::Subscribed);
    assert_eq!(subscription.lease_end(), Some(NOW + hours(240)));
    let due = NOW + hours(160);
    assert_eq!(step(&subscription, due - minutes(1)), SubscriptionStep::Wait);
    assert_eq!(step(&subscription, due), SubscriptionStep::Subscribe);
    // The answer comes after the verification: nothing changes.
    accepted(&mut subscription);
    assert_eq!(subscription.state, SubscriptionState::Active);
}

#[test]
fn p46_only_what_was_asked_for_is_confirmed() {
    let refused = |subscription: &Subscription, asked: Verification| {
        let mut changed = subscription.clone();
        assert!(matches!(verify(&mut changed, &asked, NOW), VerificationVerdict::Refused(_)), "{asked:?}");
        assert_eq!(changed.state, subscription.state);
    };
    let mut pending = waiting();
    refused(&pending, asked("subscribe"));
    begin(&mut pending, NOW);
    refused(&pending, Verification { topic: Some("https://blog.example/feed/".into()), ..asked("subscribe") });
    refused(&pending, Verification { topic: None, ..asked("subscribe") });
    refused(&pending, asked("unsubscribe"));
    refused(&pending, asked("publish"));
    refused(&active(), asked("subscribe"));
    refused(&active(), asked("unsubscribe"));
    let mut leaving = active();
    leave(&mut leaving, NOW);
    refused(&leaving, asked("subscribe"));
    assert_eq!(verify(&mut leaving, &asked("unsubscribe"), NOW), VerificationVerdict::Unsubscribed);
}

#[test]
fn p46_leases_are_bounded() {
    for (given, lease) in
        [(None, hours(240)), (Some(1), minutes(5)), (Some(u64::MAX), hours(720)), (Some(7200), hours(2))]
    {
        let mut pending = waiting();
        begin(&mut pending, NOW);
        verify(&mut pending, &Verification { lease_seconds: given, ..asked("subscribe") }, NOW);
        assert_eq!(pending.lease, Some(lease), "{given:?}");
    }
}

#[test]
fn p46_hubs_are_tried_in_order_and_then_again_later_each_time() {
    let hubs = ["https://hub.example/".to_owned(), "https://second.example/".to_owned()];
    let mut subscription = waiting();
    let mut now = NOW;
    let mut waits = Vec::new();
    for _ in 0..14 {
        begin(&mut subscription, now);
        refused(&mut subscription, "HTTP 500", &hubs, now, 0.5);
        waits.push((subscription.hub == hubs[1], subscription.next_attempt_at.since(now).as_secs() / 60));
        now = subscription.next_attempt_at;
    }
    let second_tried: Vec<u64> = waits
        .iter()
        .step_by(2)
        .map(|(is_second, wait)| (*is_second, *wait))
        .map(|one| {
            assert_eq!(one, (true, 0));
            one.1
        })
        .collect();
    assert_eq!(second_tried.len(), 7);
    let rounds: Vec<u64> = waits.iter().skip(1).step_by(2).map(|(_, wait)| *wait).collect();
    assert_eq!(rounds, [5, 20, 80, 320, 1280, 1440, 1440]);
}

#[test]
fn p46_a_renewal_that_fails_leaves_the_subscription_active_until_its_lease_ends() {
    let mut subscription = active();
    let due = NOW + hours(160);
    begin(&mut subscription, due);
    refused(&mut subscription, "HTTP 503", &["https://other.example/".into()], due, 0.0);
    assert_eq!((subscription.state, subscription.hub.as_str()), (SubscriptionState::Active, "https://hub.example/"));
    assert!(subscription.next_attempt_at < due + hours(1));
    let over = NOW + hours(241);
    assert!(has_lapsed(&subscription, over));
    begin(&mut subscription, over);
    assert_eq!(subscription.state, SubscriptionState::Waiting);
}

#[test]
fn p46_a_hub_that_does_not_verify_has_failed() {
    let mut subscription = waiting();
    begin(&mut subscription, NOW);
    accepted(&mut subscription);
    assert!(!is_unverified(&subscription, NOW + minutes(59)));
    assert!(is_unverified(&subscription, NOW + minutes(60)));
    refused(&mut subscription, &unverified(), &[], NOW + minutes(60), 0.0);
    assert!(!is_unverified(&subscription, NOW + minutes(60)));
    assert_eq!(subscription.state, SubscriptionState::Waiting);
}

#[test]
fn p46_a_denied_subscription_waits_for_a_day_whenever_it_is_denied() {
    for mut subscription in [active(), waiting()] {
        let denied = Verification { reason: Some("not here".into()), ..asked("denied") };
        assert_eq!(verify(&mut subscription, &denied, NOW), VerificationVerdict::Denied);
        // The answer to the request may come after the denial.
        accepted(&mut subscription);
        assert_eq!(subscription.state, SubscriptionState::Denied);
        assert_eq!(subscription.last_error.as_deref(), Some("the hub denied the subscription: not here"));
        assert_eq!(
            (step(&subscription, NOW + hours(23)), step(&subscription, NOW + hours(24))),
            (SubscriptionStep::Wait, SubscriptionStep::Subscribe)
        );
    }
}

#[test]
fn p46_a_subscription_that_is_left_is_removed_when_the_hub_knows_or_does_not_answer() {
    let mut never_asked = waiting();
    leave(&mut never_asked, NOW);
    assert_eq!(step(&never_asked, NOW), SubscriptionStep::Remove);
    let mut subscription = active();
    leave(&mut subscription, NOW);
    let (mut now, mut requests) = (NOW, 0);
    while step(&subscription, now) == SubscriptionStep::Unsubscribe {
        begin(&mut subscription, now);
        requests += 1;
        refused(&mut subscription, "HTTP 404", &[], now, 0.0);
        now = subscription.next_attempt_at;
    }
    assert_eq!((step(&subscription, now), requests), (SubscriptionStep::Remove, 4));
}

#[test]
fn p46_times_of_a_clock_that_was_ahead_are_not_waited_for() {
    let ahead = NOW + hours(24 * 90);
    let mut subscription = waiting();
    begin(&mut subscription, ahead);
    verify(&mut subscription, &asked("subscribe"), ahead);
    assert_eq!(step(&subscription, NOW), SubscriptionStep::Subscribe);
    let mut slightly = waiting();
    begin(&mut slightly, NOW + hours(2));
    assert!(is_unverified(&slightly, NOW), "it is asked again");
}
