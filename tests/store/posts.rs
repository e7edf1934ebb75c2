//! Posts: read and listed.

use super::*;
use feedwarden::model::{Enclosure, EntryKey, TextOrigin, Timestamp};
use feedwarden::store::{PageBounds, PostMatch, PostPage, PostSelection};
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

#[rstest]
#[tokio::test]
async fn posts_of_one_settlement_keep_their_own_fields(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let text = |text: &str| Some(text.to_owned());
    let full = |number: i64| {
        let content = PostContent {
            title: "full".into(),
            text: format!("full {number}"),
            guid: text("guid"),
            url: text("http://a.example/1"),
            author: text("Ann"),
            authors: vec!["Ann".into(), "Bob".into()],
            byline: text("by Ann"),
            html: text("<p>"),
            summary: text("summary"),
            language: text("en"),
            categories: vec!["news".into()],
            enclosures: vec![Enclosure { url: "http://a.example/1.mp3".into(), ..Enclosure::default() }],
            image_url: text("http://a.example/1.png"),
            comments_url: text("http://a.example/1#c"),
            updated_at: Some(at(NOW + number)),
            text_origin: TextOrigin::Article,
            full_text_error: text("none"),
        };
        NewPost::new(content, Some(at(NOW)))
    };
    let bare = |body: &str| NewPost::new(PostContent { text: body.into(), ..PostContent::default() }, None);
    let new = vec![bare("first"), full(1), bare("second"), full(2), full(3), bare("third")];
    store.find(source.id, new.clone()).await;
    let stored = store.list_posts(Some(source.id), None, 10).await.unwrap();
    let fields = stored.into_iter().map(|post| (post.content, post.published_at)).collect::<Vec<_>>();
    assert_eq!(fields, new.iter().map(|post| (post.content().clone(), post.published_at())).collect::<Vec<_>>());
}

fn texts(page: &PostPage) -> Vec<&str> {
    page.posts.iter().map(|post| post.content.text.as_str()).collect()
}

/// A post that stays the same one when its body changes.
fn entry(id: &str, body: &str) -> NewPost {
    post(body).with_key(EntryKey::of("id", &[id.as_bytes()]))
}

#[rstest]
#[tokio::test]
async fn a_page_ends_at_its_bytes_and_has_one_post_at_least(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await.id;
    let html = PostContent { title: "h".into(), html: Some("h".repeat(900)), ..PostContent::default() };
    let bodies = ["a".repeat(500), "b".repeat(300), "c".repeat(5000)];
    store.find(source, bodies.iter().map(|body| post(body)).chain([NewPost::new(html, None)]).collect()).await;
    let pages = async |bytes: u64, rows: u32| {
        let (mut sizes, mut after) = (Vec::new(), PostId(0));
        loop {
            let selection = PostSelection::After { source: None, after };
            let page = store.posts_page(selection, PageBounds { rows, bytes }).await.unwrap();
            sizes.push(page.posts.len());
            match page.posts.last().filter(|_| page.has_more) {
                Some(last) => after = last.id,
                None => return sizes,
            }
        }
    };
    assert_eq!(pages(u64::MAX, 9).await, [4]);
    assert_eq!(pages(1000, 9).await, [2, 1, 1]);
    assert_eq!(pages(1000, 1).await, [1, 1, 1, 1, 0]);
    assert_eq!(pages(1, 9).await, [1, 1, 1, 1]);
    assert_eq!(pages(6000, 9).await, [3, 1]);
}

#[rstest]
#[tokio::test]
async fn posts_are_found_by_source_label_and_text_between_two_ids(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (a, b) = (store.add(rss("http://a.example/")).await.id, store.add(rss("http://b.example/")).await.id);
    store.add_labels(vec![(b, vec!["news".into()])], at(NOW)).await.unwrap();
    let mut ids = store.find(a, vec![post("Red apples"), post("100% pears")]).await;
    ids.extend(store.find(b, vec![post("green APPLES"), post("a_b"), post("axb")]).await);
    let any = PostMatch {
        after: PostId(0),
        before: PostId(i64::MAX),
        source: None,
        label: None,
        text: None,
        since: Timestamp::MIN,
        until: Timestamp::MAX,
    };
    let found = async |wanted: PostMatch| {
        let page = store.posts_page(PostSelection::Matching(wanted), PageBounds::of_rows(9)).await.unwrap();
        page.posts.into_iter().map(|post| post.id).collect::<Vec<_>>()
    };
    let text = |text: &str| PostMatch { text: Some(text.into()), ..any.clone() };
    assert_eq!(found(any.clone()).await, ids);
    assert_eq!(found(text("Apples")).await, [ids[0], ids[2]]);
    assert_eq!(found(text("ABOUT red")).await, [ids[0]], "titles are searched too");
    assert_eq!(found(text("0% p")).await, [ids[1]]);
    assert_eq!(found(text("a_b")).await, [ids[3]], "no letter is a wildcard");
    assert_eq!(found(PostMatch { label: Some("news".into()), ..text("apples") }).await, [ids[2]]);
    assert_eq!(found(PostMatch { label: Some("none".into()), ..any.clone() }).await, []);
    assert_eq!(found(PostMatch { source: Some(a), ..any.clone() }).await, ids[..2]);
    assert_eq!(found(PostMatch { after: ids[0], before: ids[4], ..any.clone() }).await, ids[1..4]);
    let stored = store.post(ids[0]).await.unwrap().unwrap().created_at;
    let later = stored + std::time::Duration::from_secs(1);
    assert_eq!(found(PostMatch { since: stored, until: later, ..text("apples") }).await, [ids[0], ids[2]]);
    assert_eq!(found(PostMatch { since: later, ..text("apples") }).await, []);
    assert_eq!(found(PostMatch { until: stored, ..text("apples") }).await, []);
    assert_eq!((store.count_posts_of_source(a).await.unwrap(), store.count_posts_of_source(b).await.unwrap()), (2, 3));
    assert_eq!(store.count_posts_since(stored).await.unwrap(), 5);
    assert_eq!(store.count_posts_since(later).await.unwrap(), 0);
    let newest = PostSelection::MatchingNewest(text("apples"));
    let page = store.posts_page(newest, PageBounds::of_rows(1)).await.unwrap();
    assert_eq!((texts(&page), page.has_more), (vec!["green APPLES"], true));
}

#[tokio::test]
async fn letters_outside_ascii_are_found_in_either_case_on_sqlite() {
    let store = Sqlite.store().await;
    let source = store.add(rss("http://a.example/")).await.id;
    store.find(source, vec![post("Äpfel und ÖL")]).await;
    for text in ["äpfel", "ÄPFEL", "öl"] {
        let (after, before) = (PostId(0), PostId(i64::MAX));
        let wanted = PostMatch {
            after,
            before,
            source: None,
            label: None,
            text: Some(text.into()),
            since: Timestamp::MIN,
            until: Timestamp::MAX,
        };
        let page = store.posts_page(PostSelection::Matching(wanted), PageBounds::of_rows(9)).await.unwrap();
        assert_eq!(page.posts.len(), 1, "{text}");
    }
}

#[rstest]
#[tokio::test]
async fn changed_posts_come_again_behind_the_new_ones(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    assert_eq!(store.last_change_number().await.unwrap(), 0);
    let (a, b) = (store.add(rss("http://a.example/")).await.id, store.add(rss("http://b.example/")).await.id);
    store.find(a, vec![entry("1", "one"), entry("2", "two")]).await;
    store.find(b, vec![entry("1", "other")]).await;
    let seen = store.last_change_number().await.unwrap();
    store.find(a, vec![entry("1", "one, edited"), entry("2", "two"), entry("3", "three")]).await;
    let changes = async |source: Option<SourceId>, after: i64| {
        let selection = PostSelection::Changes { source, after };
        store.posts_page(selection, PageBounds::of_rows(9)).await.unwrap()
    };
    let mut later: Vec<String> = texts(&changes(None, seen).await).into_iter().map(str::to_owned).collect();
    later.sort();
    assert_eq!(later, ["one, edited", "three"]);
    assert_eq!(texts(&changes(Some(b), 0).await), ["other"]);
    let of_a = changes(Some(a), 0).await;
    assert_eq!((of_a.posts.len(), texts(&of_a)[0]), (3, "two"));
    let edited = of_a.posts.iter().find(|post| post.is_changed()).unwrap();
    assert_eq!((edited.revision, edited.content.text.as_str()), (1, "one, edited"));
    assert!(edited.change_number > seen);
    assert_eq!(changes(None, store.last_change_number().await.unwrap()).await.posts, []);
}
