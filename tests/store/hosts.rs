//! What is owed to hosts, across restarts.

use super::*;
use feedwarden::model::{Breaker, HostKey, HostState, Timestamp};
use rstest::rstest;

fn host(name: &str, asked_seconds: Option<i64>, held_seconds: Option<i64>) -> HostState {
    HostState {
        host: HostKey::from_canonical(name),
        last_asked_at: asked_seconds.map(at),
        held_until: held_seconds.map(at),
        held_reason: held_seconds.map(|_| "Retry-After".into()),
        breaker: Breaker::default(),
    }
}

#[rstest]
#[tokio::test]
async fn a_host_comes_back_as_it_was_recorded(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let hosts =
        vec![host("a.example", Some(1), Some(2)), host("[::1]", None, None), host("xn--r8jz45g", Some(3), None)];
    store.record_hosts(hosts.clone()).await.unwrap();
    for host in hosts {
        assert_eq!(store.host(&host.host).await.unwrap(), Some(host));
    }
    assert_eq!(store.host(&HostKey::from_canonical("other.example")).await.unwrap(), None);
}

#[rstest]
#[tokio::test]
async fn p28_the_last_request_never_moves_back(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    for (asked, expected) in [(Some(10), Some(10)), (Some(5), Some(10)), (None, Some(10)), (Some(20), Some(20))] {
        store.record_hosts(vec![host("a.example", asked, None)]).await.unwrap();
        let stored = store.host(&HostKey::from_canonical("a.example")).await.unwrap().unwrap();
        assert_eq!(stored.last_asked_at, expected.map(at));
    }
}

#[rstest]
#[tokio::test]
async fn a_hold_can_be_set_moved_and_lifted(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    for held in [Some(100), Some(50), None] {
        let word = host("a.example", None, held);
        store.record_hosts(vec![word.clone()]).await.unwrap();
        assert_eq!(store.host(&word.host).await.unwrap(), Some(word));
    }
}

#[rstest]
#[tokio::test]
async fn of_two_words_on_one_host_the_last_counts(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    store.record_hosts(vec![host("a.example", Some(9), Some(100)), host("a.example", Some(7), None)]).await.unwrap();
    let stored = store.host(&HostKey::from_canonical("a.example")).await.unwrap();
    assert_eq!(stored, Some(host("a.example", Some(9), None)));
}

#[rstest]
#[tokio::test]
async fn p32_a_breaker_comes_back_as_it_was_recorded_and_can_be_closed(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    for breaker in [
        Breaker { failures: 5, openings: 1, open_until: Some(at(NOW)) },
        Breaker { failures: u32::MAX, openings: u32::MAX, open_until: Some(Timestamp::MAX) },
        Breaker { failures: 2, openings: 0, open_until: None },
        Breaker::default(),
    ] {
        let word = HostState { breaker, ..host("a.example", Some(1), Some(2)) };
        store.record_hosts(vec![word.clone()]).await.unwrap();
        assert_eq!(store.host(&word.host).await.unwrap(), Some(word.clone()));
        assert_eq!(store.hosts(vec![word.host.clone()]).await.unwrap(), std::slice::from_ref(&word));
        assert_eq!(store.list_hosts(None, 9).await.unwrap(), [word]);
    }
}

#[rstest]
#[tokio::test]
async fn p32_a_settlement_records_the_breaker_of_its_host(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let breaker = Breaker { failures: 7, openings: 2, open_until: Some(at(NOW + 600)) };
    let word = HostState { breaker, ..host("a.example", Some(NOW), None) };
    store.settle(vec![Settlement { host: Some(word.clone()), ..found(&source, Vec::new()) }]).await.unwrap();
    assert_eq!(store.host(&word.host).await.unwrap(), Some(word));
}

#[rstest]
#[tokio::test]
async fn several_hosts_are_read_at_once_and_unknown_ones_left_out(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let known = [host("a.example", Some(1), Some(2)), host("[::1]", Some(3), None), host("b.example", None, None)];
    store.record_hosts(known.to_vec()).await.unwrap();
    let keys = ["[::1]", "a.example", "nobody.example", "a.example", "\"'\0"];
    let mut found = store.hosts(keys.map(HostKey::from_canonical).to_vec()).await.unwrap();
    found.sort_by(|one, other| one.host.cmp(&other.host));
    assert_eq!(found, [known[1].clone(), known[0].clone()]);
    assert_eq!(store.hosts(Vec::new()).await.unwrap(), []);
}

#[rstest]
#[tokio::test]
async fn hosts_are_listed_in_byte_order_page_by_page(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let names = ["[::1]", "10.example", "a-b.example", "a.example", "ab.example", "b.example"];
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    store.record_hosts(names.iter().rev().map(|name| host(name, None, None)).collect()).await.unwrap();
    let mut met = Vec::new();
    let mut after = None;
    loop {
        let page = store.list_hosts(after.as_ref(), 4).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.host.clone());
        met.extend(page.into_iter().map(|host| host.host.to_string()));
    }
    assert_eq!(met, sorted);
}

#[rstest]
#[tokio::test]
async fn no_hosts_are_no_trouble(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    store.record_hosts(Vec::new()).await.unwrap();
    assert_eq!(store.list_hosts(None, 10).await.unwrap(), []);
}

#[rstest]
#[tokio::test]
async fn p10_what_is_owed_to_a_host_survives_a_restart(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let word = host("a.example", Some(NOW), Some(NOW + 60));
    store.record_hosts(vec![word.clone()]).await.unwrap();
    store.close().await;
    assert_eq!(store.another().await.host(&word.host).await.unwrap(), Some(word));
}

#[rstest]
#[tokio::test]
async fn a_url_with_an_endless_host_harms_nobody_in_its_batch(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    // Digests, since PostgreSQL packs what repeats itself before it measures an index entry.
    let name: String =
        (0..100).map(|n| feedwarden::model::ContentHash::of(&format!("{n}")).to_string() + ".").collect();
    let url = format!("http://{name}example/");
    let (odd, good) = (store.add(rss(&url)).await, store.add(rss("http://good.example/")).await);
    let host = feedwarden::rules::host_key::host_key(&url).map(HostState::new);
    let batch = vec![Settlement { host, ..found(&odd, Vec::new()) }, found(&good, vec![post("one")])];
    let settled = store.settle(batch).await.unwrap();
    assert!(settled.iter().all(|one| matches!(one, Settled::Written { .. })), "{settled:?}");
}
