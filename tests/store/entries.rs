//! Entries by their keys: what is known of them, edits, other ids, the last document; all in one transaction.

use super::cleanup::DAY;
use super::*;
use feedwarden::model::{ContentHash, DocumentKeys, EntryKey, KnownEntries, PostEdit, RenamedPost, Timestamp};
use rstest::rstest;

fn keyed(key: i64, body: &str) -> NewPost {
    post(body).with_key(EntryKey(key))
}

impl TestStore {
    async fn known(&self, source: SourceId, entries: &[(i64, &str)]) -> KnownEntries {
        let entries = entries.iter().map(|(key, body)| (EntryKey(*key), ContentHash::of(body))).collect();
        self.known_entries(vec![EntryQuery { source_id: source, entries }]).await.unwrap().pop().unwrap()
    }

    async fn settle_one(&self, settlement: Settlement) -> Vec<PostId> {
        match self.settle(vec![settlement]).await.unwrap().pop().unwrap() {
            Settled::Written { new_posts, .. } => new_posts,
            other => panic!("{other:?}"),
        }
    }

    async fn fresh(&self, source: SourceId) -> Source {
        self.source(source).await.unwrap().unwrap()
    }
}

#[rstest]
#[tokio::test]
async fn s611_posts_with_one_body_and_different_keys_are_all_stored(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let posts = (1..=30).map(|key| keyed(key, "Comments")).collect();
    assert_eq!(store.settle_one(found(&source, posts)).await.len(), 30);
    assert_eq!(store.bodies(source.id).await, ["Comments"; 30]);
}

#[rstest]
#[tokio::test]
async fn s609_a_key_that_is_stored_is_not_added_again(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (a, b) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    store.settle_one(found(&a, vec![keyed(1, "one")])).await;
    let again = found(&store.fresh(a.id).await, vec![keyed(1, "another"), keyed(2, "two")]);
    assert_eq!(store.settle_one(again).await.len(), 1);
    assert_eq!(store.bodies(a.id).await, ["one", "two"]);
    assert_eq!(store.settle_one(found(&b, vec![keyed(1, "one")])).await.len(), 1, "another source");
}

#[rstest]
#[tokio::test]
async fn what_is_known_of_entries_is_found_by_key_and_by_content(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let other = store.add(rss("http://b.example/")).await;
    let posts = vec![keyed(1, "one"), dated_post("two", Some(NOW)).with_key(EntryKey(2)), keyed(3, "two")];
    let ids = store.settle_one(found(&source, posts)).await;
    store.settle_one(found(&other, vec![keyed(9, "one")])).await;

    let known = store.known(source.id, &[(1, "one"), (2, "edited"), (4, "two"), (5, "new")]).await;
    let found: Vec<_> = known.by_key.iter().map(|post| (post.id, post.key, post.content_hash)).collect();
    let two = ContentHash::of("two");
    assert_eq!(
        found,
        [(Some(ids[0]), Some(EntryKey(1)), ContentHash::of("one")), (Some(ids[1]), Some(EntryKey(2)), two)]
    );
    // For the unknown keys: posts with the same content, the newest first.
    let others: Vec<_> = known.others.iter().map(|post| (post.id, post.key, post.published_at)).collect();
    assert_eq!(others, [(Some(ids[2]), Some(EntryKey(3)), None), (Some(ids[1]), Some(EntryKey(2)), Some(at(NOW)))]);
    assert_eq!(store.known(source.id, &[(1, "one")]).await.others, [], "nothing is looked for that is known");
    assert_eq!(store.known(other.id, &[(1, "two")]).await.by_key, []);
}

#[rstest]
#[tokio::test]
async fn s612_posts_whose_keys_left_with_the_last_document_are_found_once_however_many_share_a_body(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let posts: Vec<NewPost> = (1..=200).map(|key| keyed(key, "Comments")).collect();
    let document = Some(DocumentKeys::new((1..=200).map(EntryKey)));
    let ids = store.settle_one(Settlement { document, ..found(&source, posts) }).await;
    let rotated: Vec<(i64, &str)> = (2..=200).map(|key| (1000 + key, "Comments")).chain([(1, "Comments")]).collect();
    let known = store.known(source.id, &rotated).await;
    let mut others: Vec<_> = known.others.iter().map(|post| post.id.unwrap()).collect();
    others.sort();
    assert_eq!(others[..], ids[1..], "all that left, each once");
    let known = store.known(source.id, &[(2000, "edited")]).await;
    assert_eq!((known.by_key.len(), known.others.len()), (0, 200), "also if nothing has their content");
    assert!(known.others.iter().all(|post| post.title.as_deref() == Some("About Comments")));
    assert_eq!(store.known(source.id, &[(1, "Comments")]).await.others, [], "every entry is known");
}

#[rstest]
#[tokio::test]
async fn the_post_of_an_edited_entry_is_known_with_its_details(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let stored = dated_post("one", Some(NOW)).with_key(EntryKey(1));
    let (url, title) = (stored.content().url.clone(), stored.content().title.clone());
    store.settle_one(found(&source, vec![stored])).await;
    let known = store.known(source.id, &[(1, "edited")]).await.by_key.remove(0);
    assert_eq!((known.url, known.title, known.published_at), (url, Some(title), Some(at(NOW))));
}

#[rstest]
#[tokio::test]
async fn questions_about_several_sources_are_answered_in_their_order(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let mut queries = Vec::new();
    for number in 0..5 {
        let source = store.add(rss(&format!("http://{number}.example/"))).await;
        store.settle_one(found(&source, vec![keyed(number, "same")])).await;
        queries
            .insert(0, EntryQuery { source_id: source.id, entries: vec![(EntryKey(number), ContentHash::of("same"))] });
    }
    let keys = |known: KnownEntries| known.by_key.iter().map(|post| post.key.unwrap().0).collect::<Vec<_>>();
    let found: Vec<_> = store.known_entries(queries).await.unwrap().into_iter().map(keys).collect();
    assert_eq!(found, [[4], [3], [2], [1], [0]]);
    assert_eq!(store.known_entries(Vec::new()).await.unwrap(), []);
}

#[rstest]
#[tokio::test]
async fn s609_an_edit_replaces_the_content_and_gets_the_next_number(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let posts = vec![dated_post("one", Some(NOW - 9)).with_key(EntryKey(1)), keyed(2, "two")];
    let ids = store.settle_one(found(&source, posts)).await;
    let content = PostContent {
        title: "New title".into(),
        text: "one,\nedited".into(),
        html: Some("<p>one,</p>edited".into()),
        categories: vec!["news".into()],
        ..PostContent::default()
    };
    let edit =
        PostEdit { id: ids[0], post: NewPost::new(content.clone(), None).with_key(EntryKey(1)), revisions_max: 0 };
    let settlement = Settlement { edits: vec![edit], ..found(&store.fresh(source.id).await, vec![keyed(3, "three")]) };
    let added = store.settle_one(settlement.clone()).await;
    let edited = store.post(ids[0]).await.unwrap().unwrap();
    assert_eq!((&edited.content, edited.revision), (&content, 1));
    assert_eq!((edited.created_at, edited.changed_at), (settlement.settled_at, Some(settlement.settled_at)));
    assert_eq!(edited.published_at, Some(at(NOW - 9)), "a date that the publisher dropped stays");
    assert_eq!(edited.content_hash, ContentHash::of("one, edited"));
    assert!(edited.change_number > ids[1].0 && edited.change_number != added[0].0, "{edited:?}");

    let changes = store.list_changes(0, 10).await.unwrap();
    let numbers: Vec<i64> = changes.iter().map(|post| post.change_number).collect();
    assert!(numbers.is_sorted() && numbers.len() == 3, "{numbers:?}");
    assert_eq!(changes[0].id, ids[1], "the edited post has left its place");
    let mut met: Vec<PostId> = store.list_changes(ids[1].0, 10).await.unwrap().iter().map(|post| post.id).collect();
    met.sort();
    assert_eq!(met, [ids[0], added[0]]);
    assert_eq!(store.list_changes(numbers[2], 10).await.unwrap(), []);
    assert_eq!(store.list_changes(0, 1).await.unwrap()[0].id, ids[1], "one at a time");

    // A post that is added afterwards has a higher number than every change.
    let later = store.settle_one(found(&store.fresh(source.id).await, vec![keyed(4, "four")])).await;
    assert!(later[0].0 > numbers[2], "{later:?} {numbers:?}");
}

#[rstest]
#[tokio::test]
async fn s612_a_post_gets_the_key_of_its_entry_unless_another_has_it(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let ids = store.settle_one(found(&source, vec![keyed(1, "one"), keyed(2, "two")])).await;
    let rename = |id: PostId, key: Option<i64>, body: &str| RenamedPost {
        id: Some(id),
        content_hash: ContentHash::of(body),
        old_key: None,
        key: key.map(EntryKey),
    };
    let renamed = vec![rename(ids[0], Some(7), "one"), rename(ids[1], Some(1), "two")];
    let settlement = Settlement { renamed, ..found(&store.fresh(source.id).await, Vec::new()) };
    store.settle_one(settlement).await;
    assert_eq!(store.known(source.id, &[(7, "one")]).await.by_key[0].id, Some(ids[0]));
    // Another version of an entry takes its key over.
    let renamed = vec![rename(ids[0], None, "one")];
    let settlement = Settlement { renamed, ..found(&store.fresh(source.id).await, vec![keyed(7, "one, edited")]) };
    assert_eq!(store.settle_one(settlement).await.len(), 1);
    assert_eq!(store.bodies(source.id).await, ["one", "two", "one, edited"]);
}

#[rstest]
#[tokio::test]
async fn the_last_document_is_written_with_its_poll_or_not_at_all(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    assert_eq!(store.known(source.id, &[(1, "one")]).await.document, None);
    let keys = |numbers: &[i64]| DocumentKeys::new(numbers.iter().copied().map(EntryKey));
    let read = |source: &Source, numbers| Settlement { document: Some(keys(numbers)), ..found(source, Vec::new()) };
    store.settle_one(read(&source, &[1, -2])).await;
    assert_eq!(store.known(source.id, &[(1, "one")]).await.document, Some(keys(&[-2, 1])));
    let later = Settlement { settled_at: at(NOW + 777), ..read(&source, &[5]) };
    let stale = store.settle(vec![later]).await.unwrap();
    assert!(matches!(stale[..], [Settled::Stale(_)]), "{stale:?}");
    assert_eq!(store.known(source.id, &[(1, "one")]).await.document, Some(keys(&[-2, 1])));
    store.settle_one(read(&store.fresh(source.id).await, &[3])).await;
    assert_eq!(store.known(source.id, &[(1, "one")]).await.document, Some(keys(&[3])));
    store.settle_one(found(&store.fresh(source.id).await, Vec::new())).await;
    assert_eq!(store.known(source.id, &[(1, "one")]).await.document, Some(keys(&[3])), "unchanged");
    store.remove_source(source.id).await.unwrap();
    assert_eq!(store.raw_text("SELECT count(*) FROM source_documents").await.as_deref(), Some("0"));
}

#[rstest]
#[tokio::test]
async fn s904_removed_posts_are_known_by_key_and_by_content(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    // Several posts with one body: each is remembered.
    store.settle_one(found(&source, vec![keyed(1, "Comments"), keyed(2, "Comments"), keyed(3, "three")])).await;
    assert_eq!(store.clean_at(NOW + 8 * DAY).await.posts, 3);
    assert_eq!(store.remembered().await.as_deref(), Some("3"));
    let known = store.known(source.id, &[(1, "Comments"), (2, "edited"), (9, "three")]).await;
    let found_by_key: Vec<_> = known.by_key.iter().map(|post| (post.id, post.key)).collect();
    assert_eq!(found_by_key, [(None, Some(EntryKey(1))), (None, Some(EntryKey(2)))]);
    assert_eq!(known.others.iter().map(|post| (post.id, post.key)).collect::<Vec<_>>(), [(None, Some(EntryKey(3)))]);
    // The entry of a removed post comes under another id.
    let renamed = vec![RenamedPost {
        id: None,
        content_hash: ContentHash::of("three"),
        old_key: Some(EntryKey(3)),
        key: Some(EntryKey(9)),
    }];
    let settlement = Settlement { renamed, ..found(&store.fresh(source.id).await, Vec::new()) };
    store.settle_one(settlement).await;
    assert_eq!(store.known(source.id, &[(9, "three")]).await.by_key.len(), 1);
    assert_eq!(store.remembered().await.as_deref(), Some("3"));
}

#[rstest]
#[tokio::test]
async fn a_settlement_with_edits_that_is_repeated_is_recognised(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let ids = store.settle_one(found(&source, vec![keyed(1, "one")])).await;
    let edit = PostEdit { id: ids[0], post: keyed(1, "edited"), revisions_max: 10 };
    let settled_at: Timestamp = at(NOW + 777);
    let settlement =
        Settlement { edits: vec![edit], settled_at, ..found(&store.fresh(source.id).await, vec![keyed(2, "two")]) };
    let first = store.settle(vec![settlement.clone()]).await.unwrap();
    let again = store.settle(vec![settlement]).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(store.post(ids[0]).await.unwrap().unwrap().revision, 1);
    assert_eq!(store.bodies(source.id).await, ["edited", "two"]);
}
