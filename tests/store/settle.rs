//! The end of polls: posts and state together, once, or not at all.

use super::*;
use feedwarden::model::{
    Breaker, ContentHash, Enclosure, EntryKey, HostKey, HostState, TextOrigin, Timestamp, Validators,
};
use rstest::rstest;

#[rstest]
#[tokio::test]
async fn s603_a_poll_without_posts_still_writes_the_state(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let settlement = found(&source, Vec::new());
    let settled = store.settle(vec![settlement.clone()]).await.unwrap();
    assert_eq!(settled, [Settled::Written { version: 2, new_posts: Vec::new() }]);
    let after = store.source(source.id).await.unwrap().unwrap();
    assert_eq!((after.state, after.version), (settlement.state, 2));
    assert_eq!(after.updated_at, settlement.settled_at);
    assert_eq!(after.settings, source.settings);
}

#[rstest]
#[tokio::test]
async fn s601_new_entries_become_posts_with_all_their_fields(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let text = PostContent {
        title: "Breaking".into(),
        text: "Breaking news\nlink".into(),
        guid: Some("tag:a.example,2026:1".into()),
        url: Some("http://a.example/1".into()),
        author: Some("John Smith".into()),
        authors: vec!["John Smith".into(), "Ann \"A\" Moss".into()],
        byline: Some("J. Smith, Herald".into()),
        html: Some("<p>Breaking news</p><a href=\"http://a.example/1\">link</a>".into()),
        summary: Some("News".into()),
        language: Some("en-GB".into()),
        categories: vec!["news".into(), "städte".into()],
        enclosures: vec![
            Enclosure {
                url: "http://a.example/1.mp3".into(),
                media_type: Some("audio/mpeg".into()),
                length: Some(u64::from(u32::MAX) + 1),
                duration_seconds: Some(61),
                title: Some("Episode 1".into()),
            },
            Enclosure { url: "http://a.example/1.png".into(), ..Enclosure::default() },
        ],
        image_url: Some("http://a.example/1.png".into()),
        comments_url: Some("http://a.example/1#comments".into()),
        updated_at: Some(at(NOW - 30)),
        text_origin: TextOrigin::Article,
        full_text_error: Some("HTTP 404".into()),
    };
    let ids = store.find(source.id, vec![NewPost::new(text.clone(), Some(at(NOW - 60)))]).await;
    let stored = store.post(ids[0]).await.unwrap().unwrap();
    assert_eq!((stored.source_id, stored.content, stored.published_at), (source.id, text, Some(at(NOW - 60))));
    assert_eq!(stored.created_at, at(NOW) + minutes(1));
    assert_eq!(stored.content_hash, ContentHash::of("Breaking news link"));
    assert_eq!((stored.revision, stored.changed_at, stored.change_number), (0, None, stored.id.0));
}

#[rstest]
#[tokio::test]
async fn s602_five_new_entries_become_five_posts_in_their_order(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://nitter.example/ada/rss")).await;
    let ids = store.find(source.id, ["e", "d", "c", "b", "a"].map(post).to_vec()).await;
    assert!(ids.is_sorted() && ids.len() == 5, "{ids:?}");
    assert_eq!(store.bodies(source.id).await, ["e", "d", "c", "b", "a"]);
}

#[rstest]
#[tokio::test]
async fn s801_the_same_body_again_is_stored_once(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    assert_eq!(store.find(source.id, vec![post("one"), post("two")]).await.len(), 2);
    assert_eq!(store.find(source.id, vec![post("two"), post("three"), post("one")]).await.len(), 1);
    assert_eq!(store.bodies(source.id).await, ["one", "two", "three"]);
}

#[rstest]
#[tokio::test]
async fn the_same_body_twice_in_one_answer_is_stored_once(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    assert_eq!(store.find(source.id, vec![post("one"), post("one"), dated_post("one", Some(NOW))]).await.len(), 1);
}

#[rstest]
#[tokio::test]
async fn s801_the_same_body_of_another_source_is_another_post(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (a, b) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    let settled = store.settle(vec![found(&a, vec![post("one")]), found(&b, vec![post("one")])]).await.unwrap();
    for settled in settled {
        assert!(matches!(settled, Settled::Written { new_posts, .. } if new_posts.len() == 1));
    }
}

#[rstest]
#[tokio::test]
async fn p09_a_stale_poll_leaves_neither_posts_nor_validators(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let mut edited = source.clone();
    edited.settings.title = Some("Edited while it was polled".into());
    store.save_source(edited.clone(), at(NOW)).await.unwrap();
    let mut settlement = found(&source, vec![post("one")]);
    settlement.state.validators = Validators { etag: Some("\"a\"".into()), last_modified: None };
    let settled = store.settle(vec![settlement.clone()]).await.unwrap().pop().unwrap();
    let Settled::Stale(current) = settled else { panic!("{settled:?}") };
    assert_eq!((current.settings, current.version, &current.state), (edited.settings, 2, &source.state));
    assert_eq!(store.bodies(source.id).await, [""; 0]);
    settlement.version = 2;
    assert!(matches!(store.settle(vec![settlement]).await.unwrap()[..], [Settled::Written { version: 3, .. }]));
    let after = store.source(source.id).await.unwrap().unwrap();
    assert_eq!(after.settings.title.as_deref(), Some("Edited while it was polled"), "no update is lost");
    assert_eq!(store.bodies(source.id).await, ["one"]);
}

#[rstest]
#[tokio::test]
async fn a_source_removed_while_it_was_polled_stays_removed(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (gone, stays) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    store.remove_source(gone.id).await.unwrap();
    let settled = store.settle(vec![found(&gone, vec![post("one")]), found(&stays, vec![post("two")])]).await.unwrap();
    assert_eq!(settled[0], Settled::Gone);
    assert!(matches!(&settled[1], Settled::Written { new_posts, .. } if new_posts.len() == 1));
    assert_eq!(store.source(gone.id).await.unwrap(), None);
    assert_eq!(store.list_posts(None, None, 10).await.unwrap().len(), 1);
}

#[rstest]
#[tokio::test]
async fn of_two_polls_of_one_source_in_a_batch_the_second_is_stale(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let both = vec![found(&source, vec![post("one")]), found(&source, vec![post("two")])];
    let settled = store.settle(both).await.unwrap();
    assert!(matches!(settled[..], [Settled::Written { version: 2, .. }, Settled::Stale(_)]), "{settled:?}");
    let Settled::Stale(current) = &settled[1] else { panic!("{settled:?}") };
    assert_eq!(current.version, 2);
    assert_eq!(store.bodies(source.id).await, ["one"]);
}

#[rstest]
#[tokio::test]
async fn a_poll_computed_from_the_one_before_it_in_the_batch_is_written(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let first = found(&source, vec![post("one")]);
    let second = Settlement { version: 2, ..found(&source, vec![post("one"), post("two")]) };
    let settled = store.settle(vec![first, second]).await.unwrap();
    let counts: Vec<_> = settled
        .iter()
        .map(|settled| match settled {
            Settled::Written { version, new_posts } => (*version, new_posts.len()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(counts, [(2, 1), (3, 1)]);
}

#[rstest]
#[tokio::test]
async fn a_poll_settled_again_because_the_answer_was_lost_counts_once(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    store.find(source.id, vec![post("before")]).await;
    let source = store.source(source.id).await.unwrap().unwrap();
    let settlement =
        Settlement { settled_at: at(NOW + 777), ..found(&source, vec![post("one"), post("before"), post("two")]) };
    let first = store.settle(vec![settlement.clone()]).await.unwrap();
    assert!(matches!(&first[..], [Settled::Written { version: 3, new_posts }] if new_posts.len() == 2), "{first:?}");
    assert_eq!(store.settle(vec![settlement.clone()]).await.unwrap(), first);
    // What differs in anything is another poll.
    let other_posts = Settlement { posts: vec![post("three")], ..settlement.clone() };
    let other_time = Settlement { settled_at: at(NOW + 778), ..settlement.clone() };
    let mut other_state = settlement;
    other_state.state.failures.consecutive += 1;
    for other in [other_posts, other_time, other_state] {
        assert!(matches!(store.settle(vec![other]).await.unwrap()[..], [Settled::Stale(_)]));
    }
    assert_eq!(store.bodies(source.id).await.len(), 3);
}

#[rstest]
#[tokio::test]
async fn answers_come_in_the_order_of_a_mixed_batch(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    store.add_sources((0..300).map(|n| rss(&format!("http://{n}.example/"))).collect()).await.unwrap();
    let sources = store.list_sources(None, 300).await.unwrap();
    for source in sources.iter().filter(|source| source.id.0 % 3 == 0) {
        store.remove_source(source.id).await.unwrap();
    }
    let batch: Vec<Settlement> = sources
        .iter()
        .rev()
        .map(|source| {
            let mut settlement = found(source, (0..3).map(|n| post(&format!("{} {n}", source.id))).collect());
            settlement.version += i64::from(source.id.0 % 3 == 1);
            settlement
        })
        .collect();
    let settled = store.settle(batch.clone()).await.unwrap();
    assert_eq!(settled.len(), 300);
    for (settlement, settled) in batch.iter().zip(settled) {
        match (settlement.source_id.0 % 3, settled) {
            (0, Settled::Gone) => {}
            (1, Settled::Stale(source)) => assert_eq!(source.id, settlement.source_id),
            (2, Settled::Written { new_posts, .. }) => {
                let first = store.post(new_posts[0]).await.unwrap().unwrap();
                assert_eq!(first.content.text, format!("{} 0", settlement.source_id));
            }
            (_, other) => panic!("{} {other:?}", settlement.source_id),
        }
    }
}

#[rstest]
#[tokio::test]
async fn an_empty_batch_is_nothing(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    assert_eq!(store.settle(Vec::new()).await.unwrap(), []);
}

#[rstest]
#[tokio::test]
async fn p10_what_is_owed_to_a_host_is_written_with_the_poll(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let host = HostState {
        host: HostKey::from_canonical("a.example"),
        last_asked_at: Some(at(NOW)),
        held_until: Some(at(NOW + 3600)),
        held_reason: Some("429".into()),
        breaker: Breaker::default(),
    };
    store.settle(vec![Settlement { host: Some(host.clone()), ..found(&source, Vec::new()) }]).await.unwrap();
    assert_eq!(store.host(&host.host).await.unwrap(), Some(host));
}

#[rstest]
#[tokio::test]
async fn several_polls_of_one_host_leave_the_last_word_on_it(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    store.add_sources((0..3).map(|n| rss(&format!("http://a.example/{n}"))).collect()).await.unwrap();
    let sources = store.list_sources(None, 3).await.unwrap();
    let batch = sources.iter().zip([30, 10, 20]).map(|(source, asked)| Settlement {
        host: Some(HostState {
            last_asked_at: Some(at(asked)),
            ..HostState::new(HostKey::from_canonical("a.example"))
        }),
        ..found(source, Vec::new())
    });
    store.settle(batch.collect()).await.unwrap();
    let host = store.host(&HostKey::from_canonical("a.example")).await.unwrap().unwrap();
    assert_eq!(host.last_asked_at, Some(at(30)));
}

#[rstest]
#[tokio::test]
async fn a_body_of_ten_megabytes_is_kept_whole(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let body: String =
        (0..10 * 1024 * 1024 / 8).map(|n: u32| format!("{:08x}", n.wrapping_mul(2_654_435_761))).collect();
    let ids = store.find(source.id, vec![post(&body), post("small")]).await;
    assert_eq!(ids.len(), 2);
    assert!(store.post(ids[0]).await.unwrap().unwrap().content.text == body);
    assert_eq!(store.find(source.id, vec![post(&body)]).await, []);
}

#[rstest]
#[tokio::test]
async fn nul_goes_and_astral_characters_stay_in_posts(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let text = |body: &str| PostContent {
        title: format!("{body} title"),
        text: body.into(),
        url: Some(format!("http://a.example/{body}")),
        author: Some(body.into()),
        byline: Some(body.into()),
        html: Some(body.into()),
        categories: vec![body.into()],
        ..PostContent::default()
    };
    let ids = store.find(source.id, vec![NewPost::new(text("a\0🦀\u{10ffff}\u{e000}"), None)]).await;
    assert_eq!(store.post(ids[0]).await.unwrap().unwrap().content, text("a🦀\u{10ffff}\u{e000}"));
    assert_eq!(store.find(source.id, vec![NewPost::new(text("a🦀\u{10ffff}\u{e000}\0"), None)]).await, []);
}

#[rstest]
#[tokio::test]
async fn an_empty_body_is_a_body(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let empty = || NewPost::new(PostContent::default(), None);
    let ids = store.find(source.id, vec![empty(), empty()]).await;
    assert_eq!(store.post(ids[0]).await.unwrap().unwrap().content, PostContent::default());
    assert_eq!(ids.len(), 1);
}

#[rstest]
#[tokio::test]
async fn a_time_of_publication_is_the_same_moment_whatever_its_zone(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    for text in [
        "2026-02-17T10:00:00+05:30",
        "2026-02-17T04:30:00Z",
        "2026-02-16T18:30:00.123456-10:00",
        "0001-01-01T00:00:00Z",
    ] {
        let moment: Timestamp = text.parse().unwrap();
        let ids = store
            .find(
                source.id,
                vec![NewPost::new(PostContent { text: text.into(), ..PostContent::default() }, Some(moment))],
            )
            .await;
        assert_eq!(store.post(ids[0]).await.unwrap().unwrap().published_at, Some(moment));
    }
}

#[rstest]
#[tokio::test]
async fn s601_each_poll_of_a_batch_gets_the_numbers_of_its_own_posts(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (one, two) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    let known = |number| post(&format!("known {number}")).with_key(EntryKey(number));
    let settled = store.settle(vec![found(&one, vec![known(2), known(4)])]).await.unwrap();
    assert!(matches!(settled[..], [Settled::Written { .. }]), "{settled:?}");
    let one = store.source(one.id).await.unwrap().unwrap();
    // Entries that are stored already leave gaps among the numbers of those that are new.
    let new = |source: &str, number| post(&format!("{source} {number}")).with_key(EntryKey(number));
    let posts = vec![new("one", 1), known(2), new("one", 3), known(4), new("one", 5), new("one", 6)];
    let batch = vec![found(&two, vec![new("two", 1), new("two", 2)]), found(&one, posts)];
    let settled = store.settle(batch).await.unwrap();
    let numbers = |place: usize| match &settled[place] {
        Settled::Written { new_posts, .. } => new_posts.clone(),
        other => panic!("{other:?}"),
    };
    let mut texts = Vec::new();
    for id in [numbers(0), numbers(1)].concat() {
        texts.push(store.post(id).await.unwrap().unwrap().content.text);
    }
    assert_eq!(texts, ["two 1", "two 2", "one 1", "one 3", "one 5", "one 6"]);
    assert!(numbers(1).is_sorted(), "in the order of the entries");
}
