//! Every field that polling writes survives the way into the store and back.

use super::*;
use feedwarden::model::{
    FailureClass, FailureKind, FailureRun, FailureState, Hints, HubOffer, LastFailure, LastSeen, Moved,
    PublishingCounts, PublishingHistory, PushState, Rest, RestCause, SourceState, Timestamp, Validators,
};
use feedwarden::store::Saved;
use rstest::rstest;

/// Writes the state by saving and by settling, and expects it back both times.
async fn check(engine: Engine, states: Vec<SourceState>) {
    let store = engine.store().await;
    for state in states {
        let mut source = store.add(rss("http://a.example/")).await;
        source.state = state.clone();
        assert_eq!(store.save_source(source.clone(), at(NOW)).await.unwrap(), Saved::Written(2));
        assert_eq!(store.source(source.id).await.unwrap().unwrap().state, state, "saved");
        let settlement = |version, state| Settlement { version, state, ..Settlement::of_state(&source, at(NOW)) };
        let both = vec![settlement(2, SourceState::default()), settlement(3, state.clone())];
        store.settle(both).await.unwrap();
        assert_eq!(store.source(source.id).await.unwrap().unwrap().state, state, "settled");
        store.remove_source(source.id).await.unwrap();
    }
}

fn full() -> SourceState {
    SourceState {
        enabled: false,
        disabled_reason: Some("Auto-disabled after 5 consecutive 404 errors".into()),
        first_polled_at: Some(at(1)),
        last_polled: Some(at(2)),
        poll_requested_at: Some(at(3)),
        last_success_at: Some(at(4)),
        last_read_at: Some(at(5)),
        last_seen: Some(LastSeen::Published(Timestamp::from_micros(6_000_007))),
        validators: Validators {
            etag: Some("W/\"x-\u{e9}\u{ff}\"".into()),
            last_modified: Some("Tue, 17 Feb 2026 10:00:00 GMT".into()),
        },
        hints: Hints {
            retry_after: Some(at(8)),
            fresh_until: Some(at(9)),
            update_period_minutes: Some(90),
            skip_hours: 0xff_ffff,
            skip_days: 0x7f,
        },
        failures: FailureState {
            consecutive: 7,
            consecutive_permanent: 6,
            run: Some(FailureRun { kind: FailureKind::NotFound, length: 5 }),
            last: Some(LastFailure {
                class: FailureClass::Permanent,
                kind: FailureKind::NotFound,
                error: "HTTP 404 from http://a.example/".into(),
            }),
        },
        rest: Some(Rest { since: at(10), cause: RestCause::Failures(FailureKind::NotFound) }),
        account_id: Some("2244994945".into()),
        moved: Some(Moved { to: "https://new.example/feed".into(), days: 2, last_at: at(11) }),
        bodies_repeat: true,
        gaps: 3,
        last_gap_at: Some(at(12)),
        feed_title: Some("News of the day".into()),
        publishing: PublishingHistory::Known(Box::new(PublishingCounts {
            since: at(1),
            counted_at: at(13),
            entries: 12.75,
            weekdays: [0, 1, 2, 3, 4, 5, u16::MAX],
            hours: [256; 24],
        })),
        push: PushState {
            offer: Some(HubOffer {
                hubs: vec!["https://hub.example/".into(), "https://second.example/hub?a=b".into()],
                topic: "https://a.example/feed".into(),
            }),
            pushed_at: Some(at(13)),
            streak: 4,
        },
    }
}

#[rstest]
#[tokio::test]
async fn s204_a_state_with_everything_in_it(#[values(Sqlite, Postgres)] engine: Engine) {
    check(engine, vec![full()]).await;
}

#[rstest]
#[tokio::test]
async fn s203_a_state_with_nothing_in_it_replaces_one_with_everything(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let mut source = store.add(rss("http://a.example/")).await;
    for state in [full(), SourceState::default()] {
        source = store.source(source.id).await.unwrap().unwrap();
        source.state = state.clone();
        store.save_source(source.clone(), at(NOW)).await.unwrap();
        assert_eq!(store.source(source.id).await.unwrap().unwrap().state, state);
    }
    let query = "SELECT count(*) FROM sources WHERE last_failure_type IS NULL AND last_error IS NULL \
                 AND last_error_type IS NULL AND feed_disabled_at IS NULL AND consecutive_failures = 0";
    assert_eq!(store.raw_text(query).await.as_deref(), Some("1"));
}

#[rstest]
#[tokio::test]
async fn every_kind_and_class_of_failure(#[values(Sqlite, Postgres)] engine: Engine) {
    let states = FailureKind::ALL.into_iter().flat_map(|kind| {
        [FailureClass::Transient, FailureClass::Permanent].map(|class| SourceState {
            failures: FailureState {
                run: Some(FailureRun { kind, length: 1 }),
                last: Some(LastFailure { class, kind, error: String::new() }),
                ..FailureState::default()
            },
            rest: Some(Rest { since: at(1), cause: RestCause::Failures(kind) }),
            ..SourceState::default()
        })
    });
    check(engine, states.collect()).await;
}

#[rstest]
#[tokio::test]
async fn s417_a_rest_by_a_person_is_told_from_one_by_failures(#[values(Sqlite, Postgres)] engine: Engine) {
    let by = |cause| SourceState { rest: Some(Rest { since: at(1), cause }), ..SourceState::default() };
    check(
        engine,
        vec![
            by(RestCause::Failures(FailureKind::NotFound)),
            by(RestCause::Reported(FailureKind::NotFound)),
            by(RestCause::Person("rate_limited".into())),
            by(RestCause::Person(" not found ".into())),
            by(RestCause::Person(String::new())),
            by(RestCause::Person("a reason far longer than twenty characters, in every script: причина 理由".into())),
        ],
    )
    .await;
}

#[rstest]
#[tokio::test]
async fn numbers_and_times_at_their_bounds(#[values(Sqlite, Postgres)] engine: Engine) {
    let mut largest = full();
    largest.failures.consecutive = u32::MAX;
    largest.failures.consecutive_permanent = u32::MAX;
    largest.failures.run = Some(FailureRun { kind: FailureKind::Gone, length: u32::MAX });
    largest.hints =
        Hints { update_period_minutes: Some(u32::MAX), skip_hours: u32::MAX, skip_days: u8::MAX, ..largest.hints };
    largest.last_polled = Some(Timestamp::MAX);
    largest.first_polled_at = Some(Timestamp::MIN);
    largest.moved = Some(Moved { to: String::new(), days: u32::MAX, last_at: Timestamp::MAX });
    check(engine, vec![largest]).await;
}

#[rstest]
#[tokio::test]
async fn both_sorts_of_watermark(#[values(Sqlite, Postgres)] engine: Engine) {
    let seen = |last_seen| SourceState { last_seen: Some(last_seen), ..SourceState::default() };
    check(
        engine,
        vec![
            seen(LastSeen::PostNumber(0)),
            seen(LastSeen::PostNumber(u64::MAX)),
            seen(LastSeen::Published(Timestamp::MIN)),
            seen(LastSeen::Published(Timestamp::MAX)),
            seen(LastSeen::Published(Timestamp::from_micros(-1))),
        ],
    )
    .await;
}

#[rstest]
#[tokio::test]
async fn texts_in_every_script_and_of_any_length(#[values(Sqlite, Postgres)] engine: Engine) {
    let text = |error: String| SourceState {
        failures: FailureState {
            last: Some(LastFailure { class: FailureClass::Transient, kind: FailureKind::Network, error }),
            ..FailureState::default()
        },
        ..SourceState::default()
    };
    check(engine, vec![text("🦀 \u{10ffff} \r\n\t\u{1}'\"\\".into()), text("x".repeat(1_000_000))]).await;
}

#[rstest]
#[tokio::test]
async fn p01_validators_come_back_byte_for_byte(#[values(Sqlite, Postgres)] engine: Engine) {
    let every_byte: String = (1..=255u8).map(char::from).collect();
    let validators = Validators { etag: Some(every_byte.clone()), last_modified: Some(every_byte) };
    check(engine, vec![SourceState { validators, ..SourceState::default() }]).await;
}

#[rstest]
#[tokio::test]
async fn a_nul_in_an_error_is_dropped_and_the_error_kept(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let mut source = store.add(rss("http://a.example/")).await;
    source.state = full();
    source.state.disabled_reason = Some("a\0b".into());
    source.state.rest = Some(Rest { since: at(1), cause: RestCause::Person("c\0d".into()) });
    store.save_source(source.clone(), at(NOW)).await.unwrap();
    let state = store.source(source.id).await.unwrap().unwrap().state;
    assert_eq!(state.disabled_reason.as_deref(), Some("ab"));
    assert_eq!(state.rest.map(|rest| rest.cause), Some(RestCause::Person("cd".into())));
}

#[rstest]
#[tokio::test]
async fn a_value_that_makes_no_sense_is_reported_and_not_guessed(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    store.raw("UPDATE sources SET type = 'gopher'").await;
    let error = store.source(source.id).await.unwrap_err().to_string();
    assert!(error.contains("\"gopher\" is not a type of source; it is one of rss, website, twitter"), "{error}");
}
