//! Articles and what they were made of.

use super::*;
use feedwarden::model::{ArticleId, NewArticle, PodcastId};
use feedwarden::store::StoreError;
use rstest::rstest;

fn article(title: &str) -> NewArticle {
    NewArticle {
        podcast_id: None,
        title: title.into(),
        body: "Body 🦀".into(),
        url: Some("http://a.example/article".into()),
        published_at: Some(at(NOW - 1)),
        created_at: at(NOW),
    }
}

#[rstest]
#[tokio::test]
async fn an_article_comes_back_as_it_was_added(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let user = store.add_user("ada", at(NOW)).await.unwrap();
    let podcast = store.add_podcast(user, "Engines", at(NOW)).await.unwrap();
    let new = NewArticle { podcast_id: Some(podcast), ..article("One") };
    let id = store.add_article(new.clone()).await.unwrap();
    let stored = store.article(id).await.unwrap().unwrap();
    assert_eq!((stored.id, stored.content, stored.is_processed), (id, new, false));
}

#[rstest]
#[tokio::test]
async fn an_article_for_an_unknown_podcast_is_refused(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let orphan = NewArticle { podcast_id: Some(PodcastId(9)), ..article("One") };
    let error = store.add_article(orphan).await.unwrap_err();
    assert!(matches!(error, StoreError::NoSuchReference(_)), "{error}");
}

#[rstest]
#[tokio::test]
async fn articles_are_listed_in_order_page_by_page(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let mut ids = Vec::new();
    for title in ["a", "b", "c"] {
        ids.push(store.add_article(article(title)).await.unwrap());
    }
    let titles =
        |page: Vec<feedwarden::model::Article>| page.into_iter().map(|one| one.content.title).collect::<Vec<_>>();
    assert_eq!(titles(store.list_articles(None, 2).await.unwrap()), ["a", "b"]);
    assert_eq!(titles(store.list_articles(Some(ids[1]), 2).await.unwrap()), ["c"]);
}

#[rstest]
#[tokio::test]
async fn links_are_made_once_and_read_in_order(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let posts = store.find(source.id, vec![post("one"), post("two")]).await;
    let id = store.add_article(article("One")).await.unwrap();
    for post in [posts[1], posts[0], posts[1]] {
        store.link_post(id, post).await.unwrap();
    }
    assert_eq!(store.posts_of_article(id).await.unwrap(), posts);
    assert_eq!(store.posts_of_article(ArticleId(id.0 + 1)).await.unwrap(), []);
}

#[rstest]
#[tokio::test]
async fn a_link_to_what_is_not_there_is_refused(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let posts = store.find(source.id, vec![post("one")]).await;
    let id = store.add_article(article("One")).await.unwrap();
    for (article, post) in [(ArticleId(99), posts[0]), (id, PostId(99))] {
        let error = store.link_post(article, post).await.unwrap_err();
        assert!(matches!(error, StoreError::NoSuchReference(_)), "{error}");
    }
}

#[rstest]
#[tokio::test]
async fn an_article_is_processed_once_and_for_all(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let id = store.add_article(article("One")).await.unwrap();
    assert!(store.mark_processed(id).await.unwrap());
    assert!(store.mark_processed(id).await.unwrap());
    assert!(!store.mark_processed(ArticleId(99)).await.unwrap());
    assert!(store.article(id).await.unwrap().unwrap().is_processed);
}

#[rstest]
#[tokio::test]
async fn removing_a_source_leaves_the_articles_made_of_it(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let posts = store.find(source.id, vec![post("one")]).await;
    let id = store.add_article(article("One")).await.unwrap();
    store.link_post(id, posts[0]).await.unwrap();
    store.remove_source(source.id).await.unwrap();
    assert!(store.article(id).await.unwrap().is_some());
    assert_eq!(store.posts_of_article(id).await.unwrap(), []);
}
