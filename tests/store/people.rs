//! Users, podcasts and the keys they lend us.

use super::engine::ENCRYPTION_KEY;
use super::*;
use feedwarden::model::{KeyProvider, PodcastChanges, PodcastId, UserId};
use feedwarden::store::{self, StoreError};
use rstest::rstest;
use secrecy::{ExposeSecret, SecretString};

const BEARER: &str = "AAAAbearer-token-of-ada";

#[rstest]
#[tokio::test]
async fn a_user_comes_back_as_added_and_names_are_unique(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let id = store.add_user("ada", at(NOW)).await.unwrap();
    let user = store.user(id).await.unwrap().unwrap();
    assert_eq!((user.name.as_str(), user.created_at), ("ada", at(NOW)));
    let error = store.add_user("ada", at(NOW)).await.unwrap_err();
    assert_eq!(error.to_string(), "user \"ada\" exists already");
    assert_eq!(store.user(UserId(99)).await.unwrap(), None);
}

#[rstest]
#[tokio::test]
async fn users_are_found_by_name_listed_in_pages_and_renamed(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let mut ids = Vec::new();
    for name in ["ada", "bob", "eve"] {
        ids.push(store.add_user(name, at(NOW)).await.unwrap());
    }
    store.put_api_key(ids[1], KeyProvider::X, &BEARER.into(), at(NOW + 5)).await.unwrap();
    let first = store.list_users(None, 2).await.unwrap();
    assert_eq!(first.iter().map(|user| user.x_key_at).collect::<Vec<_>>(), [None, Some(at(NOW + 5))]);
    let rest = store.list_users(Some(first[1].id), 2).await.unwrap();
    assert_eq!(rest.iter().map(|user| user.name.as_str()).collect::<Vec<_>>(), ["eve"]);
    let bob = store.user_named("bob").await.unwrap().unwrap();
    assert_eq!((bob.id, bob.x_key_at), (ids[1], Some(at(NOW + 5))));
    assert_eq!(store.user_named("Bob").await.unwrap(), None);
    assert!(store.rename_user(ids[1], "Bob").await.unwrap());
    assert_eq!(store.user(ids[1]).await.unwrap().unwrap().name, "Bob");
    let error = store.rename_user(ids[1], "ada").await.unwrap_err();
    assert_eq!(error.to_string(), "user \"ada\" exists already");
    assert!(!store.rename_user(UserId(99), "nobody").await.unwrap());
}

#[rstest]
#[tokio::test]
async fn nobody_is_removed_as_long_as_something_belongs_to_them(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let ada = store.add_user("ada", at(NOW)).await.unwrap();
    store.put_api_key(ada, KeyProvider::X, &BEARER.into(), at(NOW)).await.unwrap();
    let podcast = store.add_podcast(ada, "Engines", at(NOW)).await.unwrap();
    let mut new = rss("http://a.example/");
    new.settings.podcast_id = Some(podcast);
    let source = store.add(new).await;
    let error = store.remove_podcast(podcast).await.unwrap_err();
    assert!(matches!(&error, StoreError::StillInUse(text) if text.starts_with("podcast 1 has sources")), "{error}");
    let error = store.remove_user(ada).await.unwrap_err();
    assert!(matches!(&error, StoreError::StillInUse(text) if text.starts_with("user 1 owns podcasts")), "{error}");
    store.remove_source(source.id).await.unwrap();
    assert!(store.remove_podcast(podcast).await.unwrap());
    assert!(!store.remove_podcast(podcast).await.unwrap());
    assert!(store.remove_user(ada).await.unwrap());
    assert!(!store.remove_user(ada).await.unwrap());
    assert_eq!(store.raw_text("SELECT count(*) FROM api_keys").await.as_deref(), Some("0"));
}

#[rstest]
#[tokio::test]
async fn podcasts_are_listed_by_owner_and_changed_in_part(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let ada = store.add_user("ada", at(NOW)).await.unwrap();
    let bob = store.add_user("bob", at(NOW)).await.unwrap();
    let mut ids = Vec::new();
    for (owner, title) in [(ada, "A"), (bob, "B"), (ada, "C")] {
        ids.push(store.add_podcast(owner, title, at(NOW)).await.unwrap());
    }
    let listed = async |owner, after| {
        let found = store.list_podcasts(owner, after, 2).await.unwrap();
        found.into_iter().map(|podcast| podcast.title).collect::<String>()
    };
    assert_eq!((listed(None, None).await, listed(None, Some(ids[1])).await), ("AB".into(), "C".into()));
    assert_eq!((listed(Some(ada), None).await, listed(Some(ada), Some(ids[0])).await), ("AC".into(), "C".into()));
    let title = PodcastChanges { title: Some("Z".into()), ..PodcastChanges::default() };
    let owner = PodcastChanges { user_id: Some(bob), ..PodcastChanges::default() };
    for changes in [title, owner, PodcastChanges::default()] {
        assert!(store.change_podcast(ids[0], changes).await.unwrap());
    }
    let changed = store.podcast(ids[0]).await.unwrap().unwrap();
    assert_eq!((changed.user_id, changed.title.as_str()), (bob, "Z"));
    assert!(!store.change_podcast(PodcastId(99), PodcastChanges::default()).await.unwrap());
    let unknown_user = PodcastChanges { user_id: Some(UserId(99)), ..PodcastChanges::default() };
    let error = store.change_podcast(ids[0], unknown_user).await.unwrap_err();
    assert!(matches!(error, StoreError::NoSuchReference(_)), "{error}");
}

#[rstest]
#[tokio::test]
async fn a_renewed_key_never_takes_the_place_of_one_that_a_person_gave_meanwhile(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    let store = engine.store().await;
    let user = store.add_user("ada", at(NOW)).await.unwrap();
    let renew = async |used: &str, renewed: &str| {
        store.renew_api_key(user, KeyProvider::X, &used.into(), &renewed.into(), at(NOW + 9)).await.unwrap()
    };
    let kept = async || {
        let key = store.api_key(user, KeyProvider::X).await.unwrap();
        key.map(|key| key.expose_secret().to_owned())
    };
    store.put_api_key(user, KeyProvider::X, &"one".into(), at(NOW)).await.unwrap();
    assert!(renew("one", "two").await);
    assert!(renew("one", "two").await, "a caller that missed the answer tries again");
    assert_eq!(kept().await.as_deref(), Some("two"));
    assert_eq!(store.user(user).await.unwrap().unwrap().x_key_at, Some(at(NOW + 9)));
    store.put_api_key(user, KeyProvider::X, &"by an operator".into(), at(NOW)).await.unwrap();
    assert!(!renew("two", "three").await);
    assert_eq!(kept().await.as_deref(), Some("by an operator"));
    store.remove_api_key(user, KeyProvider::X).await.unwrap();
    assert!(!renew("by an operator", "four").await, "what was taken away does not come back");
    assert_eq!(kept().await, None);
}

#[rstest]
#[tokio::test]
async fn s510_the_owner_of_a_podcast_is_found(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let ada = store.add_user("ada", at(NOW)).await.unwrap();
    let bob = store.add_user("bob", at(NOW)).await.unwrap();
    let podcast = store.add_podcast(bob, "Engines", at(NOW)).await.unwrap();
    let found = store.podcast(podcast).await.unwrap().unwrap();
    assert_eq!((found.user_id, found.title.as_str()), (bob, "Engines"));
    assert_ne!(found.user_id, ada);
    assert_eq!(store.podcast(PodcastId(99)).await.unwrap(), None);
}

#[rstest]
#[tokio::test]
async fn a_podcast_of_an_unknown_user_is_refused(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let error = store.add_podcast(UserId(99), "Engines", at(NOW)).await.unwrap_err();
    assert!(matches!(error, StoreError::NoSuchReference(_)), "{error}");
}

#[rstest]
#[tokio::test]
async fn a_key_is_kept_replaced_and_removed(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let user = store.add_user("ada", at(NOW)).await.unwrap();
    assert!(store.api_key(user, KeyProvider::X).await.unwrap().is_none());
    for key in [BEARER, "another", ""] {
        store.put_api_key(user, KeyProvider::X, &key.into(), at(NOW)).await.unwrap();
        assert_eq!(store.api_key(user, KeyProvider::X).await.unwrap().unwrap().expose_secret(), key);
    }
    assert!(store.remove_api_key(user, KeyProvider::X).await.unwrap());
    assert!(!store.remove_api_key(user, KeyProvider::X).await.unwrap());
    assert!(store.api_key(user, KeyProvider::X).await.unwrap().is_none());
}

#[rstest]
#[tokio::test]
async fn a_key_never_stands_in_the_database_or_in_a_text(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let user = store.add_user("ada", at(NOW)).await.unwrap();
    let key = SecretString::from(BEARER);
    store.put_api_key(user, KeyProvider::X, &key, at(NOW)).await.unwrap();
    let hex = if engine == Sqlite { "hex(sealed)" } else { "encode(sealed, 'hex')" };
    let sealed = store.raw_text(&format!("SELECT {hex} FROM api_keys")).await.unwrap().to_lowercase();
    let clear: String = BEARER.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(sealed.len() > clear.len() && !sealed.contains(&clear[..16]), "{sealed}");
    assert!(!format!("{key:?} {:?}", store.api_key(user, KeyProvider::X).await.unwrap()).contains("bearer"));
    assert!(!format!("{:?}", store.settings).contains(ENCRYPTION_KEY));
}

#[rstest]
#[tokio::test]
async fn a_key_copied_to_another_user_does_not_open(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let ada = store.add_user("ada", at(NOW)).await.unwrap();
    let eve = store.add_user("eve", at(NOW)).await.unwrap();
    store.put_api_key(ada, KeyProvider::X, &BEARER.into(), at(NOW)).await.unwrap();
    store.raw(&format!("UPDATE api_keys SET user_id = {eve}")).await;
    let error = store.api_key(eve, KeyProvider::X).await.unwrap_err();
    assert!(matches!(error, StoreError::Encryption(_)), "{error}");
}

#[rstest]
#[tokio::test]
async fn another_encryption_key_says_what_to_do_and_shows_nothing(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let user = store.add_user("ada", at(NOW)).await.unwrap();
    store.put_api_key(user, KeyProvider::X, &BEARER.into(), at(NOW)).await.unwrap();
    let mut settings = store.settings.clone();
    settings.encryption_key = Some("ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=".into());
    let reopened = store::open(&settings, at(NOW)).await.unwrap();
    let error = reopened.api_key(user, KeyProvider::X).await.unwrap_err().to_string();
    assert!(error.contains("database.encryption-key is not the one it was sealed with"), "{error}");
    assert!(!error.contains("bearer"), "{error}");
}

#[rstest]
#[tokio::test]
async fn without_an_encryption_key_no_key_is_kept(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let user = store.add_user("ada", at(NOW)).await.unwrap();
    let mut settings = store.settings.clone();
    settings.encryption_key = None;
    let reopened = store::open(&settings, at(NOW)).await.unwrap();
    let error = reopened.put_api_key(user, KeyProvider::X, &BEARER.into(), at(NOW)).await.unwrap_err().to_string();
    assert!(error.contains("database.encryption-key is not set"), "{error}");
    assert_eq!(store.raw_text("SELECT count(*) FROM api_keys").await.as_deref(), Some("0"));
}

#[rstest]
#[tokio::test]
async fn a_key_of_an_unknown_user_is_refused(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let error = store.put_api_key(UserId(99), KeyProvider::X, &BEARER.into(), at(NOW)).await.unwrap_err();
    assert!(matches!(error, StoreError::NoSuchReference(_)), "{error}");
}
