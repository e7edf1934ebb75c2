//! What sources need to be let in: sealed, versioned with its source, gone with it.

use super::*;
use feedwarden::model::SourceAccess;
use feedwarden::store::{self, Saved, StoreError};
use rstest::rstest;
use secrecy::{ExposeSecret, SecretString};

fn access(token: &str) -> SourceAccess {
    SourceAccess {
        headers: vec![("X-Token".into(), token.into()), ("Cookie".into(), "🍪=1; a".into())],
        login: Some(("ann".into(), "hidden".into())),
        origin: Some("http://a.example".into()),
    }
}

type Plain = (Vec<(String, String)>, Option<(String, String)>, Option<String>);

fn plain(access: &SourceAccess) -> Plain {
    let pair = |(name, secret): &(String, SecretString)| (name.clone(), secret.expose_secret().to_owned());
    (access.headers.iter().map(pair).collect(), access.login.as_ref().map(pair), access.origin.clone())
}

#[rstest]
#[tokio::test]
async fn what_a_source_needs_to_be_let_in_is_kept_replaced_and_removed_with_it(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    assert!(store.source_access(source.id).await.unwrap().is_none());
    let save = async |id, access: Option<&SourceAccess>| {
        store.save_source_access(id, access, None, at(NOW + 1)).await.unwrap()
    };
    for kept in [access("secret-1"), access("secret-2"), SourceAccess::default()] {
        save(source.id, Some(&kept)).await;
        let found = store.source_access(source.id).await.unwrap().unwrap();
        assert_eq!(plain(&found), plain(&kept));
        assert!(!format!("{found:?}").contains("secret-") && !format!("{found:?}").contains("hidden"));
    }
    let other = store.add(rss("http://b.example/")).await;
    assert_eq!(store.sources_with_access(vec![other.id, source.id]).await.unwrap(), [source.id]);
    save(source.id, None).await;
    assert!(store.source_access(source.id).await.unwrap().is_none());
    assert!(store.sources_with_access(vec![other.id, source.id]).await.unwrap().is_empty());
    save(source.id, Some(&access("secret-3"))).await;
    store.raw(&format!("UPDATE source_access SET source_id = {}", other.id)).await;
    let error = store.source_access(other.id).await.unwrap_err();
    assert!(matches!(error, StoreError::Encryption(_)) && !error.to_string().contains("hidden"), "{error}");
    store.remove_source(other.id).await.unwrap();
    assert_eq!(store.raw_text("SELECT count(*) FROM source_access").await.as_deref(), Some("0"));
    assert_eq!(save(other.id, Some(&access("x"))).await, Saved::Gone);
}

#[rstest]
#[tokio::test]
async fn a_login_moves_the_version_of_its_source_and_ends_what_its_validators_vouch_for(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    let store = engine.store().await;
    let mut source = store.add(rss("http://a.example/")).await;
    source.state.validators.etag = Some("\"old\"".into());
    source.state.validators.last_modified = Some("long ago".into());
    source.state.hints.fresh_until = Some(at(NOW + 3600));
    store.save_source(source.clone(), at(NOW)).await.unwrap();
    let source = store.source(source.id).await.unwrap().unwrap();
    let save = async |token: &str, version| {
        store.save_source_access(source.id, Some(&access(token)), Some(version), at(NOW + 7)).await.unwrap()
    };
    assert_eq!(save("mine", source.version).await, Saved::Written(source.version + 1));
    let mut changed = source.clone();
    (changed.version, changed.updated_at) = (source.version + 1, at(NOW + 7));
    changed.state.validators = Default::default();
    changed.state.hints.fresh_until = None;
    changed.state.poll_requested_at = Some(at(NOW + 7));
    assert_eq!(store.source(source.id).await.unwrap(), Some(changed.clone()));
    assert_eq!(save("yours", source.version).await, Saved::Stale(Box::new(changed)));
    let kept = store.source_access(source.id).await.unwrap().unwrap();
    assert_eq!(kept.headers[0].1.expose_secret(), "mine", "nothing was written");
}

#[rstest]
#[tokio::test]
async fn a_source_is_added_with_its_login_or_not_at_all(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let settings = store::settings::StoreSettings { encryption_key: None, ..store.settings.clone() };
    let keyless = store::open(&settings, at(NOW)).await.unwrap();
    let error = keyless.add_source_with_access(rss("http://a.example/"), &access("one")).await.unwrap_err();
    assert!(matches!(error, StoreError::Encryption(_)), "{error}");
    assert_eq!(store.raw_text("SELECT count(*) FROM sources").await.as_deref(), Some("0"));
    let Added::New(id) = store.add_source_with_access(rss("http://a.example/"), &access("one")).await.unwrap() else {
        panic!("it is new");
    };
    let again = store.add_source_with_access(rss("http://a.example/"), &access("two")).await.unwrap();
    assert_eq!(again, Added::Duplicate(id));
    let kept = store.source_access(id).await.unwrap().unwrap();
    assert_eq!(kept.headers[0].1.expose_secret(), "one");
}
