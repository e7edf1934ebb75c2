//! Posts: read and listed.

use super::*;
use rstest::rstest;

#[rstest]
#[tokio::test]
async fn posts_are_listed_in_order_page_by_page(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (a, b) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    store.find(a.id, vec![post("1"), post("2")]).await;
    store.find(b.id, vec![post("3")]).await;
    store.find(a.id, vec![post("4"), post("5")]).await;
    let mut met = Vec::new();
    let mut after = None;
    loop {
        let page = store.list_posts(None, after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        met.extend(page.into_iter().map(|post| post.content.text));
    }
    assert_eq!(met, ["1", "2", "3", "4", "5"]);
}

#[rstest]
#[tokio::test]
async fn the_posts_of_one_source_are_listed_alone(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (a, b) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    store.find(a.id, vec![post("1"), post("2")]).await;
    store.find(b.id, vec![post("3")]).await;
    store.find(a.id, vec![post("4")]).await;
    let first = store.list_posts(Some(a.id), None, 2).await.unwrap();
    assert_eq!(first.iter().map(|post| post.content.text.as_str()).collect::<Vec<_>>(), ["1", "2"]);
    let rest = store.list_posts(Some(a.id), Some(first[1].id), 2).await.unwrap();
    assert_eq!(rest.iter().map(|post| post.content.text.as_str()).collect::<Vec<_>>(), ["4"]);
}

#[rstest]
#[tokio::test]
async fn a_post_that_is_not_there_is_nothing(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    assert_eq!(store.post(PostId(1)).await.unwrap(), None);
    assert_eq!(store.list_posts(Some(SourceId(1)), None, 10).await.unwrap(), []);
}
