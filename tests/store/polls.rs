//! The history of polls: written with the poll, read newest first, bounded; and their sums by hour.

use super::*;
use feedwarden::model::{
    EntryCounts, FailureKind, HistoryBounds, PollHour, PollOutcome, PollSums, SettledPoll, StoredPoll,
};
use rstest::rstest;

/// A poll that ended so many seconds from now.
fn poll(seconds: i64) -> SettledPoll {
    SettledPoll {
        status_code: Some(304),
        bytes: 120,
        duration_ms: 35,
        next: format!("next poll {seconds}"),
        ..SettledPoll::unchanged(at(NOW + seconds))
    }
}

fn settlement(source: &Source, poll: SettledPoll) -> Settlement {
    let settled_at = poll.at;
    Settlement { poll: Some(Box::new(poll)), ..Settlement::of_state(source, settled_at) }
}

impl TestStore {
    async fn polled(&self, source: SourceId, poll: SettledPoll) {
        let source = self.source(source).await.unwrap().unwrap();
        let settled = self.settle(vec![settlement(&source, poll)]).await.unwrap();
        assert!(matches!(settled[..], [Settled::Written { .. }]), "{settled:?}");
    }

    async fn history(&self, source: SourceId) -> Vec<SettledPoll> {
        let found = self.polls_of_source(source, None, 1000).await.unwrap();
        found.into_iter().map(|stored| stored.poll).collect()
    }
}

#[rstest]
#[tokio::test]
async fn polls_are_read_as_they_were_written_newest_first_and_page_by_page(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (a, b) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    assert_eq!(store.history(a.id).await, []);
    let counts = EntryCounts { seen: 9, new: 2, updated: 1, known: 4, too_old: 2, ..EntryCounts::default() };
    let read =
        SettledPoll { status_code: Some(200), entries: Some(counts), is_gap: true, full_texts_wanted: 2, ..poll(60) };
    let failed = SettledPoll {
        status_code: Some(200),
        error_type: Some(FailureKind::ParseError),
        error: Some("no feed\0".into()),
        linked_feeds: vec!["http://a.example/feed".into(), "http://a.example/atom".into()],
        ..poll(120)
    };
    for (source, poll) in
        [(a.id, poll(0)), (b.id, poll(1)), (a.id, read.clone()), (b.id, poll(61)), (a.id, failed.clone())]
    {
        store.polled(source, poll).await;
    }
    let failed = SettledPoll { error: Some("no feed".into()), ..failed };
    let all = [failed, read, poll(0)];
    assert_eq!(store.history(a.id).await, all);
    assert_eq!(store.another().await.polls_of_source(b.id, None, 9).await.unwrap().len(), 2, "after a restart");
    let outcomes = all.iter().map(SettledPoll::outcome).collect::<Vec<_>>();
    assert_eq!(outcomes, [PollOutcome::Failed, PollOutcome::Read, PollOutcome::Unchanged]);
    let mut pages = Vec::new();
    let mut before = None;
    loop {
        let page: Vec<StoredPoll> = store.polls_of_source(a.id, before, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.id);
        pages.push(page.into_iter().map(|stored| stored.poll).collect::<Vec<_>>());
    }
    assert_eq!(pages, [all[..2].to_vec(), all[2..].to_vec()]);
}

#[rstest]
#[tokio::test]
async fn a_poll_that_is_not_written_leaves_no_history_and_a_repeated_one_leaves_one(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let first = settlement(&source, poll(0));
    let written = store.settle(vec![first.clone()]).await.unwrap();
    assert_eq!(store.settle(vec![first.clone()]).await.unwrap(), written, "its answer was lost");
    let stale = settlement(&source, poll(9));
    assert!(matches!(store.settle(vec![stale]).await.unwrap()[..], [Settled::Stale(_)]));
    assert_eq!(store.history(source.id).await, [poll(0)]);
    // Two polls of one source in a batch, and a settlement of the state alone.
    let fresh = store.source(source.id).await.unwrap().unwrap();
    let next = Source { version: fresh.version + 1, ..fresh.clone() };
    let last = Source { version: fresh.version + 2, ..fresh.clone() };
    let batch =
        vec![settlement(&fresh, poll(10)), settlement(&next, poll(20)), Settlement::of_state(&last, at(NOW + 30))];
    store.settle(batch).await.unwrap();
    assert_eq!(store.history(source.id).await, [poll(20), poll(10), poll(0)]);
}

#[rstest]
#[tokio::test]
async fn a_removed_source_takes_its_history_with_it(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (a, b) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    for seconds in 0..5 {
        store.polled(a.id, poll(seconds)).await;
        store.polled(b.id, poll(seconds)).await;
    }
    assert!(!store.remove_source_version(a.id, 1).await.unwrap());
    assert_eq!(store.history(a.id).await.len(), 5, "another version stays as it is");
    assert!(store.remove_source(a.id).await.unwrap());
    let rows = store.raw_text("SELECT count(*) FROM polls").await;
    assert_eq!(rows, Some("5".to_owned()));
    assert_eq!(store.history(b.id).await.len(), 5);
}

#[rstest]
#[tokio::test]
async fn the_history_is_bounded_by_age_and_number(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (a, b) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    // One poll is from a clock that was ahead.
    for seconds in [0, 100, 1_000_000, 300, 400, 500] {
        store.polled(a.id, poll(seconds)).await;
    }
    store.polled(b.id, poll(600)).await;
    let bounds = HistoryBounds { since: at(NOW + 350), until: at(NOW + 10_000), polls_max: 1000 };
    assert_eq!(store.clean_polls(bounds, 3).await.unwrap(), 3, "a step is bounded");
    assert_eq!(store.history(a.id).await, [poll(500), poll(400), poll(300)]);
    assert_eq!(store.clean_polls(bounds, 3).await.unwrap(), 1);
    assert_eq!(store.clean_polls(bounds, 3).await.unwrap(), 0);
    assert_eq!(store.history(a.id).await, [poll(500), poll(400)]);
    let bounds = HistoryBounds { polls_max: 2, ..bounds };
    assert_eq!(store.clean_polls(bounds, 100).await.unwrap(), 1);
    assert_eq!(store.history(a.id).await, [poll(500)]);
    // Whatever the age, the newest row stays; a source whose polls are removed begins anew.
    let bounds = HistoryBounds { since: at(NOW + 9_000), ..bounds };
    store.clean_polls(bounds, 100).await.unwrap();
    assert_eq!((store.history(a.id).await.len(), store.history(b.id).await), (0, vec![poll(600)]));
    store.polled(a.id, poll(9_100)).await;
    store.polled(b.id, poll(9_200)).await;
    store.polled(a.id, poll(9_300)).await;
    assert_eq!(store.history(a.id).await, [poll(9_300), poll(9_100)]);
    assert_eq!(store.history(b.id).await, [poll(9_200), poll(600)]);
}

#[rstest]
#[tokio::test]
async fn fetched_pages_count_for_the_last_poll_that_read_something(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    store.note_page(source.id, None).await.unwrap();
    let read = |seconds| SettledPoll { entries: Some(EntryCounts::default()), ..poll(seconds) };
    for poll in [read(0), read(1), poll(2), poll(3)] {
        store.polled(source.id, poll).await;
    }
    for error in [None, None, Some("gone"), Some("forbidden"), None] {
        store.note_page(source.id, error.map(str::to_owned)).await.unwrap();
    }
    let history = store.history(source.id).await;
    let noted =
        SettledPoll { full_texts: 3, full_text_failures: 2, full_text_error: Some("forbidden".to_owned()), ..read(1) };
    assert_eq!(history, [poll(3), poll(2), noted, read(0)]);
}

#[rstest]
#[tokio::test]
async fn sums_of_an_hour_add_up_over_runs_and_are_stored_once(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let row = |seconds, outcome, error_type, polls| PollHour {
        hour: at(NOW + seconds),
        outcome,
        error_type,
        sums: PollSums { polls, new_posts: 2 * polls, updated_posts: 1, bytes: 1 << 40, duration_ms: 7 },
    };
    let read = |polls| row(0, PollOutcome::Read, None, polls);
    let failed = |polls| row(0, PollOutcome::Failed, Some(FailureKind::NotFound), polls);
    store.put_poll_hours(1, vec![read(3), failed(1)]).await.unwrap();
    store.put_poll_hours(1, vec![read(5)]).await.unwrap();
    store.put_poll_hours(1, vec![read(5)]).await.unwrap();
    let later = row(3600, PollOutcome::Unchanged, None, 9);
    store.put_poll_hours(-2, vec![read(10), later]).await.unwrap();
    let both = PollHour {
        sums: PollSums { polls: 15, new_posts: 30, updated_posts: 2, bytes: 2 << 40, duration_ms: 14 },
        ..read(0)
    };
    assert_eq!(store.poll_hours(at(NOW)).await.unwrap(), [failed(1), both, later]);
    assert_eq!(store.poll_hours(at(NOW + 1)).await.unwrap(), [later]);
    store.clean_poll_hours(at(NOW + 3600)).await.unwrap();
    assert_eq!(store.poll_hours(at(0)).await.unwrap(), [later]);
}

#[rstest]
#[tokio::test]
async fn a_poll_that_cannot_be_read_is_left_out_and_found_by_the_check(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    for seconds in 0..3 {
        store.polled(source.id, poll(seconds)).await;
    }
    store.raw("UPDATE polls SET entries = 'many' WHERE id = 2").await;
    assert_eq!(store.history(source.id).await, [poll(2), poll(0)]);
    let report = feedwarden::store::check(&store.settings).await.unwrap();
    let [problem] = &report.problems[..] else { panic!("{report:?}") };
    assert_eq!((problem.table, problem.row.as_deref(), problem.column), (Some("polls"), Some("2"), Some("entries")));
    assert!(report.counts.contains(&("polls", 3)), "{report:?}");
}
