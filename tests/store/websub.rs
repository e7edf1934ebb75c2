//! Subscriptions at hubs: one a source that is not being ended, versions, and what is wanted.

use feedwarden::model::{
    HubOffer, NewSubscription, PushCount, PushState, PushUse, SourceId, Subscription, SubscriptionState,
};
use feedwarden::store::settings::StoreSettings;
use rstest::rstest;
use secrecy::ExposeSecret;

use super::*;

const URL: &str = "https://we.example";

fn new(token: &str, source: SourceId) -> NewSubscription {
    NewSubscription {
        token: token.into(),
        secret: "a secret".into(),
        source_id: source,
        hub: "https://hub.example/".into(),
        topic: "https://a.example/feed".into(),
        public_url: URL.into(),
        created_at: at(NOW),
    }
}

async fn read(store: &TestStore, token: &str) -> Subscription {
    store.subscription(token).await.unwrap().unwrap()
}

/// Stores what a feed offers.
async fn offer(store: &TestStore, id: SourceId, topic: Option<&str>) {
    let mut source = store.source(id).await.unwrap().unwrap();
    let offer = topic.map(|topic| HubOffer { hubs: vec!["https://hub.example/".into()], topic: topic.into() });
    source.state.push = PushState { offer, ..PushState::default() };
    store.save_source(source, at(NOW)).await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_source_has_one_subscription_and_those_that_are_being_ended(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await.id;
    assert!(store.add_subscription(new("a", source)).await.unwrap());
    assert!(!store.add_subscription(new("b", source)).await.unwrap());
    let mut first = read(&store, "a").await;
    assert_eq!((first.state, first.next_attempt_at, first.version), (SubscriptionState::Waiting, at(NOW), 1));
    assert_eq!(first.secret.as_ref().unwrap().expose_secret(), "a secret");
    first.state = SubscriptionState::Leaving;
    first.next_attempt_at = at(NOW + 60);
    assert!(store.save_subscription(&first).await.unwrap());
    assert!(!store.save_subscription(&first).await.unwrap(), "the version has changed");
    assert!(store.add_subscription(new("b", source)).await.unwrap());
    let tokens: Vec<String> =
        store.subscriptions_of_source(source, 9).await.unwrap().into_iter().map(|one| one.token).collect();
    assert_eq!(tokens, ["b", "a"]);
    let due = async |now: i64, unknown: i64| -> Vec<String> {
        let due = store.subscriptions_due(at(now), (at(unknown), at(unknown)), "", 9).await.unwrap();
        due.into_iter().map(|one| one.token).collect()
    };
    assert_eq!(due(NOW, NOW + 900).await, ["b"]);
    assert_eq!(due(NOW, NOW + 59).await, ["a", "b"], "what a wrong clock has planned is due");
    assert_eq!(due(NOW + 60, NOW + 900).await, ["a", "b"]);
    assert_eq!(store.next_subscription_at(at(NOW)).await.unwrap(), Some(at(NOW + 60)));
    store.remove_subscription("a").await.unwrap();
    assert!(store.subscription("a").await.unwrap().is_none());
    assert_eq!(store.count_subscriptions().await.unwrap(), [(SubscriptionState::Waiting, 1)]);
}

#[rstest]
#[tokio::test]
async fn figures_are_added_and_are_no_new_version(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await.id;
    store.add_subscription(new("a", source)).await.unwrap();
    for _ in 0..2 {
        let count = PushCount { pushes: 2, rejected: 1, useful: 4, missed: 3, pushed_at: Some(at(NOW)) };
        store.count_pushes("a", count).await.unwrap();
        store.count_finds(source, count).await.unwrap();
    }
    store.count_pushes("a", PushCount { rejected: 1, ..PushCount::default() }).await.unwrap();
    let found = read(&store, "a").await;
    let figures = found.figures;
    assert_eq!((figures.pushes, figures.rejected, figures.useful, figures.missed), (4, 3, 8, 6));
    assert_eq!((figures.last_push_at, found.version), (Some(at(NOW)), 1));
}

#[rstest]
#[tokio::test]
async fn what_is_wanted_and_what_is_not_follows_from_the_sources(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let id = store.add(rss("http://a.example/")).await.id;
    let topic = "https://a.example/feed";
    let wanted = async || store.sources_to_subscribe(SourceId(0), 9).await.unwrap();
    let unwanted = async |url: &str, followed_max: i64| {
        store.subscriptions_to_end(url, at(followed_max), "", 9).await.unwrap().len()
    };
    assert_eq!(wanted().await, []);
    offer(&store, id, Some(topic)).await;
    assert_eq!(wanted().await, [(id, HubOffer { hubs: vec!["https://hub.example/".into()], topic: topic.into() })]);
    store.add_subscription(new("a", id)).await.unwrap();
    assert_eq!((wanted().await, unwanted(URL, NOW).await), (vec![], 0));
    assert_eq!(unwanted("https://other.example", NOW).await, 1, "another public URL");
    for topic in [Some("https://a.example/other"), None] {
        offer(&store, id, topic).await;
        assert_eq!((unwanted(URL, NOW - 1).await, unwanted(URL, NOW).await), (0, 1), "it is followed later");
    }
    offer(&store, id, Some(topic)).await;
    let mut source = store.source(id).await.unwrap().unwrap();
    source.settings.websub = Some(PushUse::Off);
    store.save_source(source, at(NOW)).await.unwrap();
    assert_eq!(unwanted(URL, NOW - 1).await, 1, "pushes are not used");
    let mut source = store.source(id).await.unwrap().unwrap();
    (source.settings.websub, source.state.enabled) = (None, false);
    store.save_source(source, at(NOW)).await.unwrap();
    assert_eq!(unwanted(URL, NOW - 1).await, 1, "the source is disabled");
    store.remove_subscription("a").await.unwrap();
    assert_eq!(wanted().await, []);
    store.add_subscription(new("a", id)).await.unwrap();
    store.remove_source(id).await.unwrap();
    assert_eq!(unwanted(URL, NOW - 1).await, 1, "the source is gone, the subscription is not");
}

#[rstest]
#[tokio::test]
async fn secrets_are_sealed_if_there_is_a_key(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await.id;
    store.add_subscription(new("a", source)).await.unwrap();
    let others = StoreSettings { encryption_key: None, ..store.settings.clone() };
    let keyless = feedwarden::store::open(&others, at(NOW)).await.unwrap();
    assert!(keyless.subscription("a").await.unwrap().unwrap().secret.is_none(), "it is not readable");
    store.remove_subscription("a").await.unwrap();
    keyless.add_subscription(new("b", source)).await.unwrap();
    let found = keyless.subscription("b").await.unwrap().unwrap();
    assert_eq!(found.secret.unwrap().expose_secret(), "a secret");
    keyless.close().await;
}
