//! Events: one order with posts, in the transaction of their change, and removed when they are old.

use feedwarden::model::{Cutoffs, EventPage, EventSelection, EventType, NewEvent, PostEdit, StreamEvent, Timestamp};
use feedwarden::store::{PageBounds, Saved};
use rstest::rstest;

use super::*;

fn event(event_type: EventType, seconds: i64, source: Option<SourceId>) -> NewEvent {
    NewEvent {
        source_id: source,
        url: Some("http://a.example/".into()),
        new_url: Some("http://b.example/".into()),
        host: Some("a.example".into()),
        node: Some("one".into()),
        reason: Some("a reason\0".into()),
        until: Some(at(NOW + 60)),
        ..NewEvent::new(event_type, at(NOW + seconds))
    }
}

impl TestStore {
    async fn stream(&self, after: i64, rows: u32, types: &[EventType], source: Option<SourceId>) -> EventPage {
        let selection = EventSelection { after, source, types: types.to_vec() };
        self.events_page(selection, PageBounds::of_rows(rows)).await.unwrap()
    }
}

fn types(events: &[StreamEvent]) -> Vec<EventType> {
    events.iter().map(StreamEvent::event_type).collect()
}

#[rstest]
#[tokio::test]
async fn posts_their_changes_and_other_events_have_one_order(#[values(Sqlite, Postgres)] engine: Engine) {
    use EventType::*;
    let store = engine.store().await;
    let gap = event(SourceGap, 1, None);
    store.add_events(vec![gap.clone(), event(HostHeld, 2, None)]).await.unwrap();
    let source = store.add(rss("http://a.example/")).await;
    let posts = store.find(source.id, vec![post("one"), post("two")]).await;
    store.add_events(vec![event(SourceMoved, 3, Some(source.id))]).await.unwrap();
    let edits = vec![PostEdit { id: posts[0], post: post("one, edited"), revisions_max: 0 }];
    let fresh = store.source(source.id).await.unwrap().unwrap();
    let settled_at = at(NOW + 777);
    store.settle(vec![Settlement { edits, settled_at, ..found(&fresh, Vec::new()) }]).await.unwrap();
    let all = store.stream(0, 100, &EventType::ALL, None).await;
    let expected = [SourceGap, HostHeld, PostCreated, PostCreated, SourceMoved, PostUpdated];
    assert_eq!(types(&all.events), expected);
    assert!(all.events.is_sorted_by(|one, next| one.number < next.number), "{all:?}");
    assert_eq!((all.reached, all.has_more, all.removed_up_to), (all.events[5].number, false, None));
    assert_eq!(store.last_change_number().await.unwrap(), all.reached);
    let feedwarden::model::EventSubject::Other(read) = &all.events[0].what else { panic!("{all:?}") };
    assert_eq!(**read, NewEvent { reason: Some("a reason".into()), ..gap });
    // The creation of a changed post has the content of now.
    assert_eq!(all.events[2].post().unwrap().content.text, "one, edited");
    assert_eq!(all.events[5].post().unwrap().id, posts[0]);
    // In pages of every size, and from every place.
    for rows in 1..=6 {
        let (mut after, mut read) = (0, Vec::new());
        loop {
            let page = store.stream(after, rows, &EventType::ALL, None).await;
            after = page.reached;
            read.extend(page.events);
            if !page.has_more {
                break;
            }
        }
        assert_eq!(read, all.events, "{rows} rows");
    }
    for wanted in [&[PostCreated][..], &[PostUpdated, HostHeld], &[DaemonNotReady], &EventType::POSTS] {
        let expected: Vec<_> = expected.into_iter().filter(|one| wanted.contains(one)).collect();
        assert_eq!(types(&store.stream(0, 100, wanted, None).await.events), expected, "{wanted:?}");
    }
    let of_source = store.stream(0, 100, &EventType::ALL, Some(source.id)).await.events;
    assert_eq!(types(&of_source), [PostCreated, PostCreated, SourceMoved, PostUpdated]);
    // Its events outlive a source.
    assert!(store.remove_source(source.id).await.unwrap());
    assert_eq!(types(&store.stream(0, 100, &EventType::ALL, None).await.events), [SourceGap, HostHeld, SourceMoved]);
    assert_eq!(store.first_event_since(at(NOW + 2)).await.unwrap(), Some(all.events[1].number));
}

#[rstest]
#[tokio::test]
async fn an_event_is_stored_with_its_change_or_not_at_all(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let events = vec![event(EventType::SourceGap, 1, Some(source.id))];
    let settlement = Settlement { events: events.clone(), ..found(&source, vec![post("one")]) };
    for _ in 0..2 {
        // The second time the answer to the first was lost.
        let settled = store.settle(vec![settlement.clone()]).await.unwrap();
        assert!(matches!(settled[..], [Settled::Written { .. }]), "{settled:?}");
    }
    let count = async || store.stream(0, 100, &[EventType::SourceGap], None).await.events.len();
    assert_eq!(count().await, 1);
    let stale = Settlement { settled_at: at(NOW + 999), ..settlement };
    assert!(matches!(store.settle(vec![stale]).await.unwrap()[..], [Settled::Stale(_)]));
    assert_eq!(count().await, 1);
    let saved = store.telling(events.clone()).save_source(source.clone(), at(NOW)).await.unwrap();
    assert!(matches!(saved, Saved::Stale(_)), "{saved:?}");
    assert_eq!(count().await, 1);
    let fresh = store.source(source.id).await.unwrap().unwrap();
    store.telling(events.clone()).save_source(fresh, at(NOW)).await.unwrap();
    assert_eq!(count().await, 2);
    store.telling(events).record_hosts(Vec::new()).await.unwrap();
    assert_eq!(count().await, 3);
}

#[rstest]
#[tokio::test]
async fn old_events_go_and_a_reader_behind_them_is_told(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    for seconds in 0..20 {
        store.add_events(vec![event(EventType::HostHeld, seconds, None)]).await.unwrap();
    }
    let all = store.stream(0, 100, &EventType::ALL, None).await.events;
    let cutoffs = |events_before, events_max| Cutoffs {
        now: at(NOW),
        articles_before: Timestamp::MIN,
        posts_before: Timestamp::MIN,
        hashes_before: Timestamp::MIN,
        robots_before: Timestamp::MIN,
        audit_before: Timestamp::MIN,
        audit_records_max: 1000,
        events_before,
        events_max,
    };
    let cleaned = store.clean(cutoffs(at(NOW + 5), 1000), 3).await.unwrap();
    assert_eq!((cleaned.events, cleaned.more), (3, true), "a step is bounded");
    let cleaned = store.clean(cutoffs(at(NOW + 5), 1000), 3).await.unwrap();
    assert_eq!((cleaned.events, cleaned.more), (2, false));
    store.clean(cutoffs(Timestamp::MIN, 10), 100).await.unwrap();
    let left = store.stream(0, 100, &EventType::ALL, None).await;
    assert_eq!((&left.events[..], left.removed_up_to), (&all[10..], Some(all[9].number)));
    let behind = |after| store.stream(after, 100, &EventType::ALL, None);
    assert_eq!(behind(all[8].number).await.removed_up_to, Some(all[9].number));
    assert_eq!(behind(all[9].number).await.removed_up_to, None, "this reader has missed nothing");
    assert_eq!(store.stream(0, 100, &EventType::POSTS, None).await.removed_up_to, None);
    // Numbers are never given again.
    store.clean(cutoffs(Timestamp::MAX, 10), 100).await.unwrap();
    store.add_events(vec![event(EventType::HostHeld, 30, None)]).await.unwrap();
    assert!(behind(0).await.events[0].number > all[19].number);
}

#[rstest]
#[tokio::test]
async fn the_silence_of_a_source_is_noted_once_until_something_new_comes(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let mut source = store.add(rss("http://a.example/")).await;
    source.state.last_success_at = Some(at(NOW + 1000));
    source.state.last_read_at = Some(at(NOW + 1000));
    store.save_source(source.clone(), at(NOW)).await.unwrap();
    let before = at(NOW + 500);
    let silent = async || store.new_silent_sources(before, 9).await.unwrap().len();
    let noted = async || store.stream(0, 100, &[EventType::SourceSilent], None).await.events.len();
    assert_eq!(silent().await, 1);
    let events = vec![event(EventType::SourceSilent, 1000, Some(source.id))];
    for _ in 0..2 {
        // Two nodes may note it at once.
        store.note_silences(events.clone(), at(NOW + 1000)).await.unwrap();
    }
    assert_eq!((silent().await, noted().await), (0, 1));
    let fresh = store.source(source.id).await.unwrap().unwrap();
    let settled_at = at(NOW + 2000);
    store.settle(vec![Settlement { settled_at, ..found(&fresh, vec![post("new")]) }]).await.unwrap();
    store.note_silences(Vec::new(), at(NOW + 2001)).await.unwrap();
    store.note_silences(events, at(NOW + 9000)).await.unwrap();
    assert_eq!(noted().await, 2, "another silence");
}

#[rstest]
#[tokio::test]
async fn numbers_become_visible_in_their_order_whoever_stores(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let storing = async {
        for number in 0..100 {
            store.add_events(vec![event(EventType::HostHeld, number, None); 3]).await.unwrap();
        }
    };
    let finding = async {
        for number in 0..100 {
            store.find(source.id, vec![post(&format!("post {number}"))]).await;
        }
    };
    let reading = async {
        let (mut after, mut seen) = (0, 0);
        while seen < 400 {
            let page = store.stream(after, 7, &EventType::ALL, None).await;
            assert!(page.events.iter().all(|event| event.number > after));
            (after, seen) = (page.reached, seen + page.events.len());
            tokio::task::yield_now().await;
        }
    };
    let within = std::time::Duration::from_secs(60);
    let all = tokio::time::timeout(within, async { tokio::join!(storing, finding, reading) }).await;
    assert!(all.is_ok(), "a reader that goes by the highest number has missed something");
}
