//! Previous revisions of edited posts.

use super::cleanup::DAY;
use super::*;
use feedwarden::model::{EntryKey, PostEdit, PostRevision};
use feedwarden::store::check;
use rstest::rstest;

const EVERYTHING: u64 = u64::MAX;

impl TestStore {
    /// Gives a post new content, `seconds` after it was stored.
    async fn edit(&self, post: PostId, content: PostContent, seconds: i64, revisions_max: u32) {
        self.edit_all(&[post], content, seconds, revisions_max).await;
    }

    /// The same for several posts of a source, in one poll.
    async fn edit_all(&self, posts: &[PostId], content: PostContent, seconds: i64, revisions_max: u32) {
        let source = self.post(posts[0]).await.unwrap().unwrap().source_id;
        let source = self.source(source).await.unwrap().unwrap();
        let edit = |id: &PostId| PostEdit {
            id: *id,
            post: NewPost::new(content.clone(), None).with_key(EntryKey(id.0)),
            revisions_max,
        };
        let edits = posts.iter().map(edit).collect();
        let settlement = Settlement { edits, settled_at: at(NOW + seconds), ..found(&source, Vec::new()) };
        let settled = self.settle(vec![settlement]).await.unwrap();
        assert!(matches!(settled[..], [Settled::Written { .. }]), "{settled:?}");
    }

    async fn revisions(&self, post: PostId) -> Vec<PostRevision> {
        self.post_revisions(post, EVERYTHING).await.unwrap()
    }

    /// Number and text of each revision.
    async fn revision_texts(&self, post: PostId) -> Vec<(u32, String)> {
        self.revisions(post).await.into_iter().map(|one| (one.revision, one.text)).collect()
    }
}

fn content(text: &str) -> PostContent {
    PostContent { title: format!("Title of {text}"), text: text.into(), ..PostContent::default() }
}

fn texts(expected: &[(u32, &str)]) -> Vec<(u32, String)> {
    expected.iter().map(|(revision, text)| (*revision, (*text).to_owned())).collect()
}

#[rstest]
#[tokio::test]
async fn an_edit_keeps_what_the_post_said_before(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let first = PostContent {
        title: "First".into(),
        text: "one,\ntwo".into(),
        html: Some("<p>one</p>".into()),
        summary: Some("both".into()),
        url: Some("http://a.example/1".into()),
        author: Some("Ada".into()),
        ..PostContent::default()
    };
    let posts = vec![NewPost::new(first.clone(), Some(at(NOW - 9))).with_key(EntryKey(1)), post("other")];
    let ids = store.find(source.id, posts).await;
    assert_eq!(store.revisions(ids[0]).await, [], "a new post has none");

    store.edit(ids[0], content("second"), 100, 10).await;
    store.edit(ids[0], content("third"), 200, 10).await;
    let kept = store.revisions(ids[0]).await;
    let oldest = PostRevision {
        revision: 0,
        stored_at: at(NOW) + minutes(1),
        title: first.title,
        text: first.text,
        html: first.html,
        summary: first.summary,
        url: first.url,
        author: first.author,
        published_at: Some(at(NOW - 9)),
    };
    let middle = PostRevision {
        revision: 1,
        stored_at: at(NOW + 100),
        title: "Title of second".into(),
        text: "second".into(),
        html: None,
        summary: None,
        url: None,
        author: None,
        published_at: Some(at(NOW - 9)),
    };
    assert_eq!(kept, [middle, oldest]);
    let current = store.post(ids[0]).await.unwrap().unwrap();
    assert_eq!((current.revision, current.content.text.as_str()), (2, "third"));
    assert_eq!(store.revisions(ids[1]).await, [], "the other post was not edited");
    assert_eq!(store.revisions(PostId(4711)).await, []);
}

#[rstest]
#[tokio::test]
async fn an_edit_drops_the_oldest_revisions_beyond_the_bound(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let ids = store.find(source.id, vec![post("a0"), post("b0")]).await;
    for number in 1..=4 {
        store.edit(ids[0], content(&format!("a{number}")), 100 * number, 2).await;
    }
    assert_eq!(store.revision_texts(ids[0]).await, texts(&[(3, "a3"), (2, "a2")]));
    // Two posts in one poll: each has its own number.
    store.edit_all(&ids, content("both"), 500, 2).await;
    assert_eq!(store.revision_texts(ids[0]).await, texts(&[(4, "a4"), (3, "a3")]));
    assert_eq!(store.revision_texts(ids[1]).await, texts(&[(0, "b0")]));
    store.edit(ids[0], content("a6"), 600, 1).await;
    assert_eq!(store.revision_texts(ids[0]).await, texts(&[(5, "both")]), "a lower bound");
    store.edit(ids[0], content("a7"), 700, 0).await;
    assert_eq!(store.revisions(ids[0]).await, [], "none are kept");
    assert_eq!(store.post(ids[0]).await.unwrap().unwrap().revision, 7);
    assert_eq!(store.revision_texts(ids[1]).await, texts(&[(0, "b0")]), "that of the other post stays");
}

#[rstest]
#[tokio::test]
async fn revisions_end_at_their_bytes_and_one_is_read_at_least(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let ids = store.find(source.id, vec![post("first")]).await;
    for number in 1..=3 {
        store.edit(ids[0], content(&"x".repeat(1000)), 100 * number, 10).await;
    }
    for (bytes_max, count) in [(1, 1), (2000, 1), (3000, 2), (10_000, 3)] {
        let revisions = store.post_revisions(ids[0], bytes_max).await.unwrap();
        let numbers: Vec<u32> = revisions.iter().map(|one| one.revision).collect();
        assert_eq!(numbers, [2, 1, 0][..count], "{bytes_max}");
    }
}

#[rstest]
#[tokio::test]
async fn revisions_are_counted_by_a_check_and_go_with_their_post(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let other = store.add(rss("http://b.example/")).await;
    let post_id = store.find(source.id, vec![post("one")]).await[0];
    let other_id = store.find(other.id, vec![post("two")]).await[0];
    for id in [post_id, other_id] {
        store.edit(id, content("edited"), 100, 10).await;
    }
    let report = check(&store.settings).await.unwrap();
    assert_eq!(report.problem_count, 0, "{report:?}");
    assert!(report.counts.contains(&("post_revisions", 2)), "{report:?}");
    let left = async || store.raw_text("SELECT count(*) FROM post_revisions").await;
    store.remove_source(other.id).await.unwrap();
    assert_eq!(left().await.as_deref(), Some("1"));
    assert_eq!(store.clean_at(NOW + 8 * DAY).await.posts, 1);
    assert_eq!(left().await.as_deref(), Some("0"));
}

#[rstest]
#[tokio::test]
async fn a_repeated_settlement_keeps_a_revision_once(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let id = store.find(source.id, vec![post("one")]).await[0];
    let source = store.source(source.id).await.unwrap().unwrap();
    let edit = PostEdit { id, post: NewPost::new(content("edited"), None), revisions_max: 10 };
    let settlement = Settlement { edits: vec![edit], settled_at: at(NOW + 777), ..found(&source, Vec::new()) };
    for _ in 0..2 {
        store.settle(vec![settlement.clone()]).await.unwrap();
    }
    assert_eq!(store.revision_texts(id).await, texts(&[(0, "one")]));
}
