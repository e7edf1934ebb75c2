//! What the daemon must know of itself after a restart.

use super::*;
use feedwarden::model::{Breaker, ClockStep, HostKey, HostState, MovedPolls, Shard};
use rstest::rstest;

#[rstest]
#[tokio::test]
async fn a_pause_is_kept_from_its_beginning_until_its_end(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    assert_eq!(store.paused_since().await.unwrap(), None, "a new store is not paused");
    store.resume_polling().await.unwrap();
    assert_eq!(store.paused_since().await.unwrap(), None);
    assert_eq!(store.pause_polling(at(NOW)).await.unwrap(), at(NOW));
    assert_eq!(store.pause_polling(at(NOW + 60)).await.unwrap(), at(NOW), "it began with the first word");
    assert_eq!(store.paused_since().await.unwrap(), Some(at(NOW)));
    store.resume_polling().await.unwrap();
    assert_eq!(store.paused_since().await.unwrap(), None);
    assert_eq!(store.pause_polling(at(NOW + 90)).await.unwrap(), at(NOW + 90), "a new pause begins anew");
}

#[rstest]
#[tokio::test]
async fn a_pause_survives_a_restart(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    store.pause_polling(at(NOW)).await.unwrap();
    store.close().await;
    assert_eq!(store.another().await.paused_since().await.unwrap(), Some(at(NOW)));
}

#[rstest]
#[tokio::test]
async fn the_newest_trusted_time_is_kept(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    assert_eq!(store.trusted_time().await.unwrap(), None, "a new store knows none");
    for seconds in [NOW, NOW + 600, NOW - 600] {
        store.note_trusted_time(at(seconds)).await.unwrap();
        assert_eq!(store.trusted_time().await.unwrap(), Some(at(seconds)));
    }
}

#[rstest]
#[tokio::test]
async fn waits_that_are_not_over_move_with_a_step_of_the_clock(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[values(-30 * 86_400, -7_201, 86_399)] step_seconds: i64,
) {
    let store = engine.store().await;
    let hosts = [(-60, 600), (-9_000, -600), (0, 0)].map(|(asked, until)| HostState {
        last_asked_at: Some(at(NOW + asked)),
        held_until: Some(at(NOW + until)),
        breaker: Breaker { failures: 5, openings: 1, open_until: Some(at(NOW + until)) },
        ..HostState::new(HostKey::from_canonical(&format!("{asked}.example")))
    });
    store.record_hosts(hosts.to_vec()).await.unwrap();
    let step = ClockStep { from: at(NOW), to: at(NOW + step_seconds) };
    let other =
        HostState { held_until: Some(at(NOW + 600)), ..HostState::new(HostKey::from_canonical("other.example")) };
    store.record_hosts(vec![other.clone()]).await.unwrap();
    store.move_waits(step, None, vec![HostKey::from_canonical("other.example")], Shard::all().collect()).await.unwrap();
    assert_eq!(store.host(&other.host).await.unwrap(), Some(other), "its caller has moved it");
    for before in hosts {
        let after = store.host(&before.host).await.unwrap().unwrap();
        let end = before.held_until.unwrap();
        let expected_end = if end > step.from.min(step.to) { step.moved(end) } else { end };
        assert_eq!((after.held_until, after.breaker.open_until), (Some(expected_end), Some(expected_end)));
        let asked = before.last_asked_at.unwrap();
        assert_eq!(after.last_asked_at, Some(if asked > step.to { step.moved(asked) } else { asked }));
    }
}

#[rstest]
#[tokio::test]
async fn polls_by_the_clock_from_before_a_step_back_move_with_it(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[values(false, true)] drops_validators: bool,
) {
    let store = engine.store().await;
    let step = ClockStep { from: at(NOW), to: at(NOW - 150) };
    let polls = MovedPolls { since: at(NOW - 9_000), until: at(NOW - 90), drops_validators };
    for (name, polled_at, moves) in [("a", -9_001, false), ("b", -3_600, true), ("c", -90, true), ("d", -89, false)] {
        let mut source = store.add(rss(&format!("http://{name}.example/"))).await;
        let polled = at(NOW + polled_at);
        source.state.last_polled = Some(polled);
        source.state.hints.retry_after = Some(at(NOW + 50));
        source.state.hints.fresh_until = Some(at(NOW + 60));
        source.state.validators.etag = Some("\"1\"".into());
        store.save_source(source.clone(), at(NOW)).await.unwrap();
        store.move_waits(step, Some(polls), Vec::new(), Shard::all().collect()).await.unwrap();
        let mut expected = source.state;
        if moves {
            expected.last_polled = Some(step.moved(polled));
            expected.hints.retry_after = Some(at(NOW - 100));
            expected.hints.fresh_until = Some(at(NOW - 90));
            expected.validators.etag = expected.validators.etag.filter(|_| !drops_validators);
        }
        assert_eq!(store.source(source.id).await.unwrap().unwrap().state, expected, "{name}");
        store.remove_source(source.id).await.unwrap();
    }
}

#[rstest]
#[tokio::test]
async fn times_of_hosts_in_the_future_can_be_corrected(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let key = HostKey::from_canonical("a.example");
    let asked = |seconds| HostState { last_asked_at: Some(at(seconds)), ..HostState::new(key.clone()) };
    store.record_hosts(vec![asked(NOW + 9_999)]).await.unwrap();
    store.record_hosts(vec![asked(NOW)]).await.unwrap();
    assert_eq!(store.host(&key).await.unwrap(), Some(asked(NOW + 9_999)), "an ordinary record moves nothing back");
    store.correct_hosts(vec![asked(NOW)]).await.unwrap();
    assert_eq!(store.host(&key).await.unwrap(), Some(asked(NOW)));
}
