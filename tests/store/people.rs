//! Users, podcasts and the keys they lend us.

use super::engine::ENCRYPTION_KEY;
use super::*;
use feedwarden::model::{KeyProvider, PodcastId, SourceAccess, UserId};
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
    assert_eq!(error.to_string(), "there is a user \"ada\" already");
    assert_eq!(store.user(UserId(99)).await.unwrap(), None);
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
    assert!(error.contains("no database.encryption-key is set"), "{error}");
    assert_eq!(store.raw_text("SELECT count(*) FROM api_keys").await.as_deref(), Some("0"));
}

#[rstest]
#[tokio::test]
async fn what_a_source_needs_to_be_let_in_is_kept_replaced_and_removed_with_it(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    assert!(store.source_access(source.id).await.unwrap().is_none());
    let access = |token: &str| SourceAccess {
        headers: vec![("X-Token".into(), token.into()), ("Cookie".into(), "🍪=1; a".into())],
        login: Some(("ann".into(), "hidden".into())),
    };
    for kept in [access("secret-1"), access("secret-2"), SourceAccess::default()] {
        store.put_source_access(source.id, &kept, at(NOW)).await.unwrap();
        let found = store.source_access(source.id).await.unwrap().unwrap();
        let plain = |access: &SourceAccess| {
            let pair = |(name, secret): &(String, SecretString)| (name.clone(), secret.expose_secret().to_owned());
            (access.headers.iter().map(pair).collect::<Vec<_>>(), access.login.as_ref().map(pair))
        };
        assert_eq!(plain(&found), plain(&kept));
        assert!(!format!("{found:?}").contains("secret-") && !format!("{found:?}").contains("hidden"));
    }
    assert!(store.remove_source_access(source.id).await.unwrap());
    assert!(!store.remove_source_access(source.id).await.unwrap());
    store.put_source_access(source.id, &access("secret-3"), at(NOW)).await.unwrap();
    let other = store.add(rss("http://b.example/")).await;
    store.raw(&format!("UPDATE source_access SET source_id = {}", other.id)).await;
    let error = store.source_access(other.id).await.unwrap_err();
    assert!(matches!(error, StoreError::Encryption(_)) && !error.to_string().contains("hidden"), "{error}");
    store.remove_source(other.id).await.unwrap();
    assert_eq!(store.raw_text("SELECT count(*) FROM source_access").await.as_deref(), Some("0"));
    let error = store.put_source_access(other.id, &access("x"), at(NOW)).await.unwrap_err();
    assert!(matches!(error, StoreError::NoSuchReference(_)), "{error}");
}

#[rstest]
#[tokio::test]
async fn a_key_of_an_unknown_user_is_refused(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let error = store.put_api_key(UserId(99), KeyProvider::X, &BEARER.into(), at(NOW)).await.unwrap_err();
    assert!(matches!(error, StoreError::NoSuchReference(_)), "{error}");
}
