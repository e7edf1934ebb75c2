//! The scenarios of `rules::change`.

use super::*;
use crate::model::{
    FailureClass, FailureKind, FailureRun, Hints, HubOffer, LastFailure, LastSeen, Moved, NewSource, PodcastId,
    PublishingHistory, PushState, SourceId, SourceType,
};
use crate::rules::{Policy, due, hours};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// A source with everything there is to forget.
fn troubled() -> Source {
    let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
    let mut source = Source::fresh(SourceId(1), NewSource { settings, created_at: Timestamp::EPOCH });
    source.state = SourceState {
        enabled: false,
        disabled_reason: Some("Auto-disabled after 5 consecutive 404 errors".into()),
        first_polled_at: Some(NOW - hours(90)),
        last_polled: Some(NOW - hours(1)),
        poll_requested_at: None,
        last_success_at: Some(NOW - hours(80)),
        last_read_at: Some(NOW - hours(80)),
        last_seen: Some(LastSeen::Published(NOW - hours(81))),
        validators: Validators { etag: Some("\"a\"".into()), last_modified: Some("Mon".into()) },
        hints: Hints { fresh_until: Some(NOW + hours(9)), skip_hours: 1, ..Hints::default() },
        failures: FailureState {
            consecutive: 5,
            consecutive_permanent: 5,
            run: Some(FailureRun { kind: FailureKind::NotFound, length: 5 }),
            last: Some(LastFailure {
                class: FailureClass::Permanent,
                kind: FailureKind::NotFound,
                error: "HTTP 404".into(),
            }),
        },
        rest: Some(Rest { since: NOW, cause: RestCause::Failures(FailureKind::NotFound) }),
        account_id: Some("2244994945".into()),
        moved: Some(Moved { to: "http://new.example/feed".into(), days: 2, last_at: NOW }),
        bodies_repeat: true,
        gaps: 1,
        last_gap_at: Some(NOW),
        feed_title: Some("News".into()),
        publishing: PublishingHistory::Damaged,
        push: PushState {
            offer: Some(HubOffer { hubs: vec!["http://hub.example/".into()], topic: "http://a.example/feed".into() }),
            pushed_at: Some(NOW),
            streak: 4,
        },
    };
    source
}

fn update(source: &mut Source, settings: SourceSettings) -> Changed {
    apply(source, Change::Update { settings, enabled: None, needs_owner_key: false }, NOW)
}

#[test]
fn s113_a_source_with_a_key_that_gets_another_podcast_is_due_at_once() {
    for (needs_owner_key, requested_at) in [(true, Some(NOW)), (false, None)] {
        let mut source = troubled();
        source.state.poll_requested_at = None;
        let settings = SourceSettings { podcast_id: Some(PodcastId(2)), ..source.settings.clone() };
        let changed = apply(&mut source, Change::Update { settings, enabled: None, needs_owner_key }, NOW);
        assert_eq!((changed, source.state.poll_requested_at), (Changed::Settings, requested_at));
    }
}

#[test]
fn s406_enabling_clears_the_slate_and_makes_it_due_at_once() {
    let mut source = troubled();
    assert_eq!(apply(&mut source, Change::Enable, NOW), Changed::Enabled);
    assert_eq!(source.state.failures, FailureState::default());
    assert_eq!((source.state.enabled, &source.state.disabled_reason, &source.state.rest), (true, &None, &None));
    assert!(due::next_poll(&source, None, &Policy::default(), NOW).is_due(NOW));
    assert_eq!(source.state.last_polled, Some(NOW - hours(1)), "what happened stays on record");
}

#[test]
fn s406_enabling_what_is_enabled_changes_nothing() {
    let mut source = troubled();
    source.state.enabled = true;
    let before = source.clone();
    assert_eq!(apply(&mut source, Change::Enable, NOW), Changed::Nothing);
    assert_eq!(source, before);
}

#[test]
fn s406_an_update_from_false_to_true_is_a_re_enable_and_keeps_the_other_settings() {
    let mut source = troubled();
    let settings = SourceSettings { title: Some("A".into()), ..source.settings.clone() };
    let change = Change::Update { settings: settings.clone(), enabled: Some(true), needs_owner_key: false };
    assert_eq!(apply(&mut source, change, NOW), Changed::Enabled);
    let mut enabled = troubled();
    apply(&mut enabled, Change::Enable, NOW);
    assert_eq!((&source.state, &source.settings), (&enabled.state, &settings), "as by any other way");
    assert!(due::next_poll(&source, None, &Policy::default(), NOW).is_due(NOW));
}

#[test]
fn s406_an_update_to_what_it_is_already_changes_nothing() {
    for enabled in [true, false] {
        let mut source = troubled();
        source.state.enabled = enabled;
        let before = source.clone();
        let change =
            Change::Update { settings: source.settings.clone(), enabled: Some(enabled), needs_owner_key: false };
        assert_eq!(apply(&mut source, change, NOW), Changed::Nothing);
        assert_eq!(source, before, "neither the counters nor the reason of an earlier disabling are lost");
    }
}

#[test]
fn s406_an_update_from_true_to_false_disables_like_a_person_without_a_reason() {
    let mut source = troubled();
    (source.state.enabled, source.state.disabled_reason) = (true, None);
    let mut disabled = source.clone();
    apply(&mut disabled, Change::Disable(None), NOW);
    let change = Change::Update { settings: source.settings.clone(), enabled: Some(false), needs_owner_key: false };
    assert_eq!(apply(&mut source, change, NOW), Changed::Disabled);
    assert_eq!(source, disabled);
}

#[test]
fn s406_a_new_url_and_enabling_are_one_step() {
    let mut source = troubled();
    let settings = SourceSettings::new(SourceType::Rss, "http://b.example/feed");
    assert_eq!(
        apply(&mut source, Change::Update { settings, enabled: Some(true), needs_owner_key: false }, NOW),
        Changed::Enabled
    );
    assert_eq!((source.state.validators, source.state.disabled_reason), (Validators::default(), None));
    assert!(source.state.enabled);
}

#[test]
fn s417_a_person_puts_it_to_rest_and_wakes_it() {
    let mut source = troubled();
    source.state.enabled = true;
    assert_eq!(apply(&mut source, Change::Rest("moving".into()), NOW), Changed::Resting);
    assert_eq!(due::next_poll(&source, None, &Policy::default(), NOW).at(), None);
    assert_eq!(apply(&mut source, Change::Wake, NOW), Changed::Awake);
    assert_eq!((&source.state.rest, &source.state.failures), (&None, &FailureState::default()));
}

#[test]
fn s417_every_kind_with_a_cooldown_is_a_report_and_any_other_reason_is_a_persons_word() {
    for kind in FailureKind::ALL {
        let mut source = troubled();
        apply(&mut source, Change::Rest(format!(" {kind} ")), NOW);
        let has_rule = Policy::default().rests.for_kind(kind).is_some();
        assert_eq!(kind.has_cooldown(), has_rule, "{kind}");
        let is_open_ended = source.state.rest.as_ref().unwrap().cause.is_open_ended();
        assert_eq!(is_open_ended, !has_rule, "{kind}");
    }
    for spelling in ["Not_Found", "not-found", "NOT-FOUND"] {
        let cause = RestCause::from_reason(spelling.into());
        assert_eq!(cause, RestCause::Reported(FailureKind::NotFound), "{spelling}");
    }
    for words in ["moving", "not found", "404", "not_found since May"] {
        let mut source = troubled();
        apply(&mut source, Change::Rest(words.into()), NOW);
        assert_eq!(source.state.rest, Some(Rest { since: NOW, cause: RestCause::Person(words.into()) }));
    }
}

#[test]
fn s417_a_report_rests_for_the_cooldown_of_its_kind_and_then_polls_again() {
    let mut source = troubled();
    (source.state.enabled, source.state.failures) = (true, FailureState::default());
    (source.state.hints, source.state.poll_requested_at) = (Hints::default(), None);
    for (kind, cooldown_hours) in [
        ("not_found", 48),
        ("gone", 72),
        ("forbidden", 24),
        ("upstream_failure", 6),
        ("network", 12),
        ("parse_error", 24),
        ("unauthorized", 24),
    ] {
        apply(&mut source, Change::Rest(kind.into()), NOW);
        let next = due::next_poll(&source, None, &Policy::default(), NOW);
        assert_eq!(next.at(), Some(NOW + hours(cooldown_hours)), "{kind}");
        assert!(next.to_string().ends_with(&format!("it rests because {kind} was reported (feed-disable)")), "{next}");
    }
}

#[test]
fn s417_a_report_withdraws_a_poll_that_was_asked_for_before_it_but_not_after_it() {
    let mut source = troubled();
    apply(&mut source, Change::Enable, NOW);
    apply(&mut source, Change::Rest("network".into()), NOW);
    assert_eq!(due::next_poll(&source, None, &Policy::default(), NOW).at(), Some(NOW + hours(12)));
    apply(&mut source, Change::Poll, NOW);
    assert!(due::next_poll(&source, None, &Policy::default(), NOW).is_due(NOW));
}

#[test]
fn s417_a_report_is_about_failures_and_goes_with_them() {
    let reported = || {
        let mut source = troubled();
        apply(&mut source, Change::Rest("gone".into()), NOW);
        source
    };
    for change in [
        Change::Wake,
        Change::ResetFailures,
        Change::Enable,
        Change::Update {
            settings: SourceSettings::new(SourceType::Rss, "http://b.example/"),
            enabled: None,
            needs_owner_key: false,
        },
    ] {
        let mut source = reported();
        apply(&mut source, change.clone(), NOW);
        assert_eq!((&source.state.rest, &source.state.failures), (&None, &FailureState::default()), "{change:?}");
    }
}

#[test]
fn s608_another_url_or_type_starts_afresh() {
    let elsewhere = SourceSettings::new(SourceType::Rss, "http://b.example/feed");
    let otherwise = SourceSettings::new(SourceType::Website, "http://a.example/feed");
    for settings in [elsewhere, otherwise] {
        let mut source = troubled();
        source.state.enabled = true;
        assert_eq!(update(&mut source, settings), Changed::StartedAfresh);
        assert_eq!(source.state.validators, Validators::default());
        assert_eq!((source.state.last_seen, &source.state.hints), (None, &Hints::default()));
        assert_eq!(source.state.account_id, None);
        assert_eq!((&source.state.failures, &source.state.rest), (&FailureState::default(), &None));
        assert!(due::next_poll(&source, None, &Policy::default(), NOW).is_due(NOW));
    }
}

#[test]
fn s608_another_url_does_not_undo_what_a_person_decided() {
    let mut source = troubled();
    source.state.rest = Some(Rest { since: NOW, cause: RestCause::Person("moving".into()) });
    update(&mut source, SourceSettings::new(SourceType::Rss, "http://b.example/feed"));
    assert!(!source.state.enabled && source.state.rest.is_some());
}

#[test]
fn p07_other_settings_keep_the_validators() {
    let mut source = troubled();
    let settings = SourceSettings { title: Some("A".into()), ..source.settings.clone() };
    let before = source.state.clone();
    assert_eq!(update(&mut source, settings.clone()), Changed::Settings);
    assert_eq!(source.state, before);
    assert_eq!(update(&mut source, settings), Changed::Nothing);
}

#[test]
fn p22_a_move_changes_the_url_and_drops_the_validators_and_nothing_else() {
    let before = troubled();
    let mut source = before.clone();
    relocate(&mut source, "https://b.example/feed".into());
    let mut expected = before;
    expected.settings.url = "https://b.example/feed".into();
    expected.state.validators = Validators::default();
    expected.state.moved = None;
    assert_eq!(source, expected);
}

#[test]
fn p23_a_login_in_the_url_moves_within_its_origin_and_not_beyond() {
    for (old, new, expected) in [
        ("https://ada:p%40w@a.example/old", "https://a.example/new", "https://ada:p%40w@a.example/new"),
        ("https://ada:pw@a.example/old", "https://b.example/new", "https://b.example/new"),
        ("http://ada:pw@a.example/old", "https://a.example/new", "https://a.example/new"),
        ("https://ada:pw@a.example/old", "https://eve:x@a.example/new", "https://eve:x@a.example/new"),
        ("https://a.example/old", "https://a.example/new", "https://a.example/new"),
        ("no url", "https://a.example/new", "https://a.example/new"),
    ] {
        let mut source = troubled();
        source.settings.url = old.into();
        relocate(&mut source, new.into());
        assert_eq!(source.settings.url, expected, "{old}");
    }
}

#[test]
fn a_person_disables_with_and_without_a_reason() {
    let mut source = troubled();
    source.state.enabled = true;
    apply(&mut source, Change::Disable(Some("spam".into())), NOW);
    assert_eq!((source.state.enabled, source.state.disabled_reason.as_deref()), (false, Some("spam")));
    apply(&mut source, Change::Disable(None), NOW);
    assert_eq!(source.state.disabled_reason, None);
}

#[test]
fn a_poll_that_was_asked_for_is_due_at_once() {
    let mut source = troubled();
    source.state.enabled = true;
    assert_eq!(apply(&mut source, Change::Poll, NOW), Changed::PollRequested);
    assert!(due::next_poll(&source, None, &Policy::default(), NOW).is_due(NOW));
}

#[test]
fn p20_force_sets_aside_what_the_publisher_said() {
    let mut source = troubled();
    source.state.enabled = true;
    source.state.hints.retry_after = Some(NOW + hours(5));
    apply(&mut source, Change::Poll, NOW);
    assert!(!due::next_poll(&source, None, &Policy::default(), NOW).is_due(NOW));
    assert_eq!(apply(&mut source, Change::PollForced, NOW), Changed::PollRequested);
    assert!(due::next_poll(&source, None, &Policy::default(), NOW).is_due(NOW));
}

#[test]
fn forgetting_failures_ends_the_rest_that_followed_from_them_and_no_other() {
    let mut source = troubled();
    assert_eq!(apply(&mut source, Change::ResetFailures, NOW), Changed::FailuresReset);
    assert_eq!((&source.state.failures, &source.state.rest), (&FailureState::default(), &None));
    assert!(!source.state.enabled, "only enabling enables");
    source.state.rest = Some(Rest { since: NOW, cause: RestCause::Person("moving".into()) });
    apply(&mut source, Change::ResetFailures, NOW);
    assert!(source.state.rest.is_some());
}
