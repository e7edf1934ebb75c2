//! What `robots.txt` files said: kept by origin, replaced, forgotten by cleaning.

use super::*;
use feedwarden::model::{Cutoffs, RobotsRecord, Timestamp};
use rstest::rstest;

fn robots(origin: &str, fetched_seconds: i64, rules: Option<&str>) -> RobotsRecord {
    RobotsRecord { origin: origin.into(), fetched_at: at(fetched_seconds), rules: rules.map(Into::into) }
}

#[rstest]
#[tokio::test]
async fn p29_robots_come_back_by_origin_as_they_were_put(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let long = "Disallow: /\u{e9}\n".repeat(30_000);
    let records = [
        robots("https://a.example", NOW, Some("User-agent: *\nDisallow: /")),
        robots("http://a.example", NOW + 1, None),
        robots("https://a.example:8443", NOW + 2, Some("")),
        robots("https://[2001:db8::1]", NOW + 3, Some(&long)),
    ];
    for record in &records {
        store.put_robots(record.clone()).await.unwrap();
    }
    for record in records {
        assert_eq!(store.robots(&record.origin).await.unwrap(), Some(record));
    }
    assert_eq!(store.robots("https://b.example").await.unwrap(), None);
}

#[rstest]
#[tokio::test]
async fn p29_the_last_answer_replaces_the_one_before_whatever_the_clock_said(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    let store = engine.store().await;
    for record in [
        robots("https://a.example", NOW, Some("Disallow: /")),
        robots("https://a.example", NOW + 60, None),
        robots("https://a.example", NOW - 60, Some("Allow: /")),
    ] {
        store.put_robots(record.clone()).await.unwrap();
        assert_eq!(store.robots("https://a.example").await.unwrap(), Some(record));
    }
}

#[rstest]
#[tokio::test]
async fn p29_robots_survive_a_restart(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let record = robots("https://a.example", NOW, Some("Disallow: /"));
    store.put_robots(record.clone()).await.unwrap();
    store.close().await;
    assert_eq!(store.another().await.robots(&record.origin).await.unwrap(), Some(record));
}

#[rstest]
#[tokio::test]
async fn a_nul_in_robots_is_dropped(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    store.put_robots(robots("https://a.example\0", NOW, Some("Dis\0allow: /"))).await.unwrap();
    let stored = store.robots("https://a.ex\0ample").await.unwrap();
    assert_eq!(stored, Some(robots("https://a.example", NOW, Some("Disallow: /"))));
}

#[rstest]
#[tokio::test]
async fn p29_cleaning_forgets_old_robots_in_bounded_steps(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    for number in 0..5 {
        store.put_robots(robots(&format!("https://{number}.example"), NOW + number, None)).await.unwrap();
    }
    let never = Timestamp::MIN;
    let cutoffs = Cutoffs {
        now: at(NOW + 10),
        articles_before: never,
        posts_before: never,
        hashes_before: never,
        robots_before: at(NOW + 3),
        audit_before: Timestamp::MIN,
        audit_records_max: 1000,
        events_before: Timestamp::MIN,
        events_max: 1000,
    };
    for (removed, more) in [(2, true), (1, false), (0, false)] {
        let cleaned = store.clean(cutoffs, 2).await.unwrap();
        assert_eq!((cleaned.robots, cleaned.more), (removed, more));
    }
    for number in 0..5 {
        let kept = store.robots(&format!("https://{number}.example")).await.unwrap();
        assert_eq!(kept.is_some(), number >= 3, "{number}");
    }
}
