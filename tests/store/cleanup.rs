//! Cleaning: what is old and unused goes, in bounded steps, and does not come back.

use super::*;
use feedwarden::model::{Cleaned, Cutoffs, NewArticle, Timestamp};
use rstest::rstest;

pub(super) const DAY: i64 = 86_400;

/// A week before now for everything, a month for hashes.
fn cutoffs(now_seconds: i64) -> Cutoffs {
    let week_ago = at(now_seconds - 7 * DAY);
    Cutoffs {
        now: at(now_seconds),
        articles_before: week_ago,
        posts_before: week_ago,
        hashes_before: at(now_seconds - 30 * DAY),
        robots_before: at(now_seconds - DAY),
        audit_before: Timestamp::MIN,
        audit_records_max: 1000,
        events_before: Timestamp::MIN,
        events_max: 1000,
    }
}

fn article(published_seconds: Option<i64>) -> NewArticle {
    NewArticle {
        podcast_id: None,
        title: "Title".into(),
        body: "Body".into(),
        url: None,
        published_at: published_seconds.map(at),
        created_at: at(NOW - 100 * DAY),
    }
}

impl TestStore {
    pub(super) async fn clean_at(&self, now_seconds: i64) -> Cleaned {
        self.clean(cutoffs(now_seconds), 1000).await.unwrap()
    }

    /// Settles a reading of the source at this moment that found these posts.
    pub(super) async fn read_at(&self, source: SourceId, now_seconds: i64, posts: Vec<NewPost>) -> usize {
        let source = self.source(source).await.unwrap().unwrap();
        let mut settlement = self.read(&source, posts).await;
        settlement.settled_at = at(now_seconds);
        settlement.state.last_read_at = Some(at(now_seconds));
        match self.settle(vec![settlement]).await.unwrap().pop().unwrap() {
            Settled::Written { new_posts, .. } => new_posts.len(),
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn remembered(&self) -> Option<String> {
        self.raw_text("SELECT count(*) FROM cleaned_posts").await
    }
}

#[rstest]
#[tokio::test]
async fn s901_old_unprocessed_articles_are_deleted(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let old = store.add_article(article(Some(NOW - 8 * DAY))).await.unwrap();
    let young = store.add_article(article(Some(NOW - 6 * DAY))).await.unwrap();
    let on_the_edge = store.add_article(article(Some(NOW - 7 * DAY))).await.unwrap();
    let undated = store.add_article(article(None)).await.unwrap();
    assert_eq!(store.clean_at(NOW).await, Cleaned { articles: 1, ..Cleaned::default() });
    assert_eq!(store.article(old).await.unwrap(), None);
    for kept in [young, on_the_edge, undated] {
        assert!(store.article(kept).await.unwrap().is_some());
    }
}

#[rstest]
#[tokio::test]
async fn s902_processed_articles_of_any_age_are_kept(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let history = store.add_article(article(Some(NOW - 1000 * DAY))).await.unwrap();
    store.mark_processed(history).await.unwrap();
    assert_eq!(store.clean_at(NOW).await, Cleaned::default());
    assert!(store.article(history).await.unwrap().unwrap().is_processed);
}

#[rstest]
#[tokio::test]
async fn s903_old_posts_go_by_publication_or_else_by_creation(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let posts = vec![
        dated_post("old", Some(NOW - 8 * DAY)),
        dated_post("young", Some(NOW - 6 * DAY)),
        dated_post("future", Some(NOW + 6 * DAY)),
        post("undated"),
    ];
    store.read_at(source.id, NOW, posts).await;
    assert_eq!(store.clean_at(NOW).await.posts, 1);
    assert_eq!(store.bodies(source.id).await, ["young", "future", "undated"]);
    assert_eq!(store.clean_at(NOW + 8 * DAY).await.posts, 2);
    assert_eq!(store.bodies(source.id).await, ["future"]);
}

#[rstest]
#[tokio::test]
async fn s704_posts_of_pages_go_by_when_they_were_stored(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let mut new = rss("http://a.example/");
    new.settings.source_type = SourceType::Website;
    let (page, feed) = (store.add(new).await, store.add(rss("http://b.example/")).await);
    let posts = |of: fn(&str, Option<i64>) -> NewPost| {
        let dates = [Some(NOW - 300 * DAY), Some(NOW - 8 * DAY), Some(NOW + 60 * DAY), None];
        dates.map(|date| of(&format!("{date:?}"), date)).to_vec()
    };
    store.read_at(page.id, NOW, posts(dated_page)).await;
    store.read_at(feed.id, NOW, posts(dated_post)).await;
    assert_eq!(store.clean_at(NOW + 6 * DAY).await.posts, 2);
    assert_eq!((store.bodies(page.id).await.len(), store.bodies(feed.id).await.len()), (4, 2));
    assert_eq!(store.clean_at(NOW + 8 * DAY).await.posts, 5);
    assert_eq!((store.bodies(page.id).await.len(), store.bodies(feed.id).await.len()), (0, 1));
    assert_eq!(store.read_at(page.id, NOW + 8 * DAY, posts(dated_page)).await, 0, "s904");
}

#[rstest]
#[tokio::test]
async fn s704_articles_made_of_pages_go_by_when_they_were_added(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let mut new = rss("http://a.example/");
    new.settings.source_type = SourceType::Website;
    let (page, feed) = (store.add(new).await, store.add(rss("http://b.example/")).await);
    let old = Some(NOW - 30 * DAY);
    let mut articles = Vec::new();
    for (source, post) in [(page.id, dated_page("old", old)), (feed.id, dated_post("old", old))] {
        let ids = store.find(source, vec![post]).await;
        let id = store.add_article(NewArticle { created_at: at(NOW), ..article(old) }).await.unwrap();
        store.link_post(id, ids[0]).await.unwrap();
        articles.push(id);
    }
    assert_eq!(store.clean_at(NOW + 6 * DAY).await.articles, 1);
    assert!(store.article(articles[0]).await.unwrap().is_some());
    assert_eq!(store.clean_at(NOW + 8 * DAY).await.articles, 1);
    assert_eq!(store.article(articles[0]).await.unwrap(), None);
}

#[rstest]
#[tokio::test]
async fn s903_a_post_that_an_article_was_made_of_is_kept_as_long_as_the_article(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let old = Some(NOW - 8 * DAY);
    let ids = store.find(source.id, vec![dated_post("history", old), dated_post("draft", old)]).await;
    let history = store.add_article(article(old)).await.unwrap();
    let draft = store.add_article(article(Some(NOW - 6 * DAY))).await.unwrap();
    store.link_post(history, ids[0]).await.unwrap();
    store.link_post(draft, ids[1]).await.unwrap();
    store.mark_processed(history).await.unwrap();
    assert_eq!(store.clean_at(NOW).await, Cleaned::default());
    let later = store.clean_at(NOW + 2 * DAY).await;
    assert_eq!((later.articles, later.posts), (1, 1));
    assert_eq!(store.bodies(source.id).await, ["history"]);
}

#[rstest]
#[tokio::test]
async fn s904_a_cleaned_entry_that_is_still_in_its_feed_is_not_stored_again(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let entries = || vec![post("undated"), post("other")];
    store.read_at(source.id, NOW, entries()).await;
    assert_eq!(store.clean_at(NOW + 8 * DAY).await.posts, 2);
    assert_eq!(store.read_at(source.id, NOW + 8 * DAY, entries()).await, 0);
    assert_eq!(store.bodies(source.id).await, [""; 0]);
    assert_eq!(store.read_at(source.id, NOW + 9 * DAY, vec![post("undated"), post("new")]).await, 1);
}

#[rstest]
#[tokio::test]
async fn s904_another_source_may_still_publish_what_one_has_cleaned(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (a, b) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    store.read_at(a.id, NOW, vec![post("same")]).await;
    store.clean_at(NOW + 8 * DAY).await;
    assert_eq!(store.read_at(b.id, NOW + 8 * DAY, vec![post("same")]).await, 1);
}

#[rstest]
#[tokio::test]
async fn s904_an_entry_that_stays_in_its_feed_is_remembered_for_ever(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    store.read_at(source.id, NOW, vec![post("stays")]).await;
    for day in (8..200).step_by(3) {
        store.clean_at(NOW + day * DAY).await;
        assert_eq!(store.read_at(source.id, NOW + day * DAY, vec![post("stays")]).await, 0, "day {day}");
    }
    assert_eq!(store.remembered().await.as_deref(), Some("1"));
}

#[rstest]
#[tokio::test]
async fn s904_a_feed_that_says_304_for_months_keeps_its_entries_remembered(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    store.read_at(source.id, NOW, vec![post("stays")]).await;
    store.clean_at(NOW + 8 * DAY).await;
    assert_eq!(store.clean_at(NOW + 200 * DAY).await.hashes, 0);
    assert_eq!(store.read_at(source.id, NOW + 200 * DAY, vec![post("stays"), post("new")]).await, 1);
}

#[rstest]
#[tokio::test]
async fn what_left_its_feed_long_ago_is_forgotten(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    store.read_at(source.id, NOW, vec![post("leaves")]).await;
    store.clean_at(NOW + 8 * DAY).await;
    store.read_at(source.id, NOW + 20 * DAY, vec![post("new")]).await;
    assert_eq!(store.clean_at(NOW + 37 * DAY).await.hashes, 0, "not yet a month");
    assert_eq!(store.clean_at(NOW + 39 * DAY).await.hashes, 1);
    assert_eq!(store.remembered().await.as_deref(), Some("1"), "what was cleaned at that moment");
}

#[rstest]
#[tokio::test]
async fn each_step_is_bounded_and_says_when_there_is_more(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let old = (0..25).map(|n| dated_post(&n.to_string(), Some(NOW - 9 * DAY + n))).collect();
    store.find(source.id, old).await;
    for _ in 0..12 {
        store.add_article(article(Some(NOW - 9 * DAY))).await.unwrap();
    }
    let mut steps = Vec::new();
    loop {
        let step = store.clean(cutoffs(NOW), 10).await.unwrap();
        steps.push((step.articles, step.posts));
        if !step.more {
            break;
        }
    }
    assert_eq!(steps, [(10, 10), (2, 10), (0, 5)]);
    assert_eq!(store.bodies(source.id).await, [""; 0]);
}

#[rstest]
#[tokio::test]
async fn hashes_are_kept_and_forgotten_in_bounded_steps_too(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let (silent, read) = (store.add(rss("http://a.example/")).await, store.add(rss("http://b.example/")).await);
    for number in 0..6 {
        store.read_at(silent.id, NOW, vec![post(&format!("stays {number}"))]).await;
        store.read_at(read.id, NOW, vec![post(&format!("leaves {number}"))]).await;
    }
    store.clean_at(NOW + 8 * DAY).await;
    store.read_at(read.id, NOW + 20 * DAY, Vec::new()).await;
    let mut forgotten = 0;
    for step in 0.. {
        let cleaned = store.clean(cutoffs(NOW + 60 * DAY), 5).await.unwrap();
        forgotten += cleaned.hashes;
        assert!(cleaned.hashes <= 5 && step < 10, "{cleaned:?} in step {step}");
        if !cleaned.more {
            break;
        }
    }
    assert_eq!((forgotten, store.remembered().await.as_deref()), (6, Some("6")));
}

#[rstest]
#[tokio::test]
async fn posts_that_are_kept_for_ever_do_not_stand_in_the_way_of_cleaning(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let old = |name: &str, number: i64| dated_post(&format!("{name} {number}"), Some(NOW - 9 * DAY + number));
    let linked = store.find(source.id, (0..20).map(|number| old("linked", number)).collect()).await;
    store.find(source.id, vec![old("loose", 100)]).await;
    let history = store.add_article(article(Some(NOW - 9 * DAY))).await.unwrap();
    let draft = store.add_article(article(Some(NOW - 6 * DAY))).await.unwrap();
    store.mark_processed(history).await.unwrap();
    for post in linked {
        store.link_post(history, post).await.unwrap();
        store.link_post(draft, post).await.unwrap();
    }
    assert_eq!(store.raw_text("SELECT count(*) FROM posts WHERE is_linked").await.as_deref(), Some("20"));
    assert_eq!(store.clean(cutoffs(NOW), 5).await.unwrap().posts, 1);
    // One of two articles goes: the posts are still part of the other one's history.
    assert_eq!(store.clean(cutoffs(NOW + 2 * DAY), 5).await.unwrap().articles, 1);
    assert_eq!(store.raw_text("SELECT count(*) FROM posts WHERE is_linked").await.as_deref(), Some("20"));
    store.raw("DELETE FROM articles").await;
    assert_eq!(store.bodies(source.id).await.len(), 20);
}

#[rstest]
#[tokio::test]
async fn the_oldest_go_first(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let days_ago = |days| dated_post(&format!("{days}"), Some(NOW - days * DAY));
    store.find(source.id, vec![days_ago(9), days_ago(30), days_ago(10)]).await;
    store.clean(cutoffs(NOW), 2).await.unwrap();
    assert_eq!(store.bodies(source.id).await, ["9"]);
}

#[rstest]
#[tokio::test]
async fn cutoffs_at_the_ends_of_time_are_harmless(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    store.find(source.id, vec![post("one")]).await;
    let all = |moment| Cutoffs {
        now: moment,
        articles_before: moment,
        posts_before: moment,
        hashes_before: moment,
        robots_before: moment,
        audit_before: Timestamp::MIN,
        audit_records_max: 1000,
        events_before: Timestamp::MIN,
        events_max: 1000,
    };
    assert_eq!(store.clean(all(Timestamp::MIN), 10).await.unwrap(), Cleaned::default());
    assert_eq!(store.clean(all(Timestamp::MAX), 10).await.unwrap().posts, 1);
}
