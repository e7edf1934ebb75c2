//! What the daemon must know of itself after a restart.

use super::*;
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
