//! Sources on their way to a poll: read together, each with what it needs to be let in.

use super::*;
use feedwarden::model::{Source, SourceAccess, SourceToPoll};
use feedwarden::store;
use rstest::rstest;
use secrecy::ExposeSecret;

fn access(password: &str) -> SourceAccess {
    let headers = vec![("X-Key".into(), "k".into())];
    SourceAccess { headers, login: Some(("ada".into(), password.into())), origin: None }
}

/// Gives a source a login.
async fn let_in(store: &TestStore, source: &mut Source, password: &str) {
    store.save_source_access(source.id, Some(&access(password)), None, at(NOW + 5)).await.unwrap();
    *source = store.source(source.id).await.unwrap().unwrap();
}

/// In the order of their numbers: the password, or the words that say why there is none.
fn passwords(mut found: Vec<SourceToPoll>) -> Vec<(Source, Result<Option<String>, String>)> {
    found.sort_by_key(|one| one.source.id);
    let password = |access: SourceAccess| access.login.map(|(_, password)| password.expose_secret().to_owned());
    found.into_iter().map(|one| (one.source, one.access.map(password))).collect()
}

#[rstest]
#[tokio::test]
async fn these_sources_come_with_their_access_and_others_do_not(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let mut sources = Vec::new();
    for name in ["a", "b", "c", "d"] {
        sources.push(store.add(rss(&format!("http://{name}.example/"))).await);
    }
    store.find(sources[1].id, vec![post("one")]).await;
    sources[1] = store.source(sources[1].id).await.unwrap().unwrap();
    let_in(&store, &mut sources[0], "one").await;
    let_in(&store, &mut sources[2], "two").await;
    let ids = vec![sources[2].id, SourceId(4_711), sources[1].id, sources[0].id, sources[1].id];
    let found = passwords(store.sources_to_poll(ids).await.unwrap());
    let expected = [(0, Some("one".into())), (1, None), (2, Some("two".into()))];
    assert_eq!(found, expected.map(|(place, password)| (sources[place].clone(), Ok(password))));
    assert!(store.sources_to_poll(Vec::new()).await.unwrap().is_empty());
}

#[rstest]
#[tokio::test]
async fn an_access_that_cannot_be_opened_harms_only_its_own_source(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (mut bad, mut good, none) = (
        store.add(rss("http://bad.example/")).await,
        store.add(rss("http://good.example/")).await,
        store.add(rss("http://none.example/")).await,
    );
    for source in [&mut bad, &mut good] {
        let_in(&store, source, "secret").await;
    }
    let copied = "UPDATE source_access SET sealed = (SELECT sealed FROM source_access WHERE source_id = {from}) \
                  WHERE source_id = {to}";
    store.raw(&copied.replace("{from}", &good.id.to_string()).replace("{to}", &bad.id.to_string())).await;
    let found = passwords(store.sources_to_poll(vec![bad.id, good.id, none.id]).await.unwrap());
    let words = found[0].1.clone().unwrap_err();
    assert!(words.contains(&format!("the login of source {} cannot be opened", bad.id)), "{words}");
    assert_eq!(found[1..], [(good, Ok(Some("secret".into()))), (none, Ok(None))]);
}

#[rstest]
#[tokio::test]
async fn without_a_key_those_without_access_are_polled_all_the_same(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (mut closed, open) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    let_in(&store, &mut closed, "secret").await;
    let settings = store::settings::StoreSettings { encryption_key: None, ..store.settings.clone() };
    let keyless = store::open(&settings, at(NOW)).await.unwrap();
    let found = passwords(keyless.sources_to_poll(vec![closed.id, open.id]).await.unwrap());
    assert!(found[0].1.clone().unwrap_err().contains("database.encryption-key is not set"));
    assert_eq!(found[1], (open, Ok(None)));
}
