//! The conformance suite of the store: every test runs on both engines and asserts the same.

mod access;
mod articles;
mod audit;
mod check;
mod claims;
mod cleanup;
mod concurrency;
mod crash;
mod daemon;
mod downstream;
mod engine;
mod entries;
mod events;
mod faults;
mod fleet;
mod hosts;
mod lists;
mod migrations;
mod people;
mod polls;
mod posts;
mod quarantine;
mod revisions;
mod robots;
mod settle;
mod silence;
mod sources;
mod state;
mod to_poll;
mod upkeep;
mod webhooks;
mod websub;

pub(crate) use engine::Engine::{self, Postgres, Sqlite};
pub(crate) use engine::{ENCRYPTION_KEY, TestStore, at, connect, minutes, run_postgres_tool, server};

use feedwarden::model::{
    EntryQuery, NewPost, NewSource, PostContent, PostId, Settled, Settlement, Source, SourceId, SourceSettings,
    SourceType, Watermark,
};
use feedwarden::rules::filter::EntryDecision;
use feedwarden::rules::{Policy, reading};
use feedwarden::store::Added;

pub(crate) const NOW: i64 = 1_800_000_000;

pub(crate) fn rss(url: &str) -> NewSource {
    NewSource { settings: SourceSettings::new(SourceType::Rss, url), created_at: at(NOW) }
}

pub(crate) fn post(body: &str) -> NewPost {
    dated_post(body, None)
}

pub(crate) fn dated_post(body: &str, published_seconds: Option<i64>) -> NewPost {
    NewPost::new(post_text(body), published_seconds.map(at))
}

pub(crate) fn dated_page(body: &str, published_seconds: Option<i64>) -> NewPost {
    NewPost::of_page(post_text(body), published_seconds.map(at))
}

fn post_text(body: &str) -> PostContent {
    PostContent {
        title: format!("About {}", body.chars().take(9).collect::<String>()),
        text: body.into(),
        ..PostContent::default()
    }
}

impl TestStore {
    /// Adds one source and reads it back.
    pub(crate) async fn add(&self, new: NewSource) -> Source {
        match self.add_sources(vec![new]).await.unwrap()[..] {
            [Added::New(id)] => self.source(id).await.unwrap().unwrap(),
            ref other => panic!("not added: {other:?}"),
        }
    }

    /// Settles a poll of this source, as it stands in the store, that found these posts: what the store knows of them
    /// decides, their dates do not.
    pub(crate) async fn find(&self, source: SourceId, posts: Vec<NewPost>) -> Vec<PostId> {
        let source = self.source(source).await.unwrap().unwrap();
        let settlement = self.read(&source, posts).await;
        match self.settle(vec![settlement]).await.unwrap().pop().unwrap() {
            Settled::Written { new_posts, .. } => new_posts,
            other => panic!("not written: {other:?}"),
        }
    }

    /// The settlement of a poll that found these posts, in their order.
    pub(crate) async fn read(&self, source: &Source, posts: Vec<NewPost>) -> Settlement {
        let entries = posts.iter().map(|post| (post.key(), post.content_hash())).collect();
        let query = EntryQuery { source_id: source.id, entries };
        let known = self.known_entries(vec![query]).await.unwrap().pop().unwrap();
        let decision = reading::decide(source, Watermark::None, &posts, &known, &Policy::default(), at(NOW), at(NOW));
        let is_kept = |entry: &EntryDecision| matches!(entry, EntryDecision::Kept(_));
        let kept = posts.into_iter().zip(&decision.entries).filter(|(_, entry)| is_kept(entry));
        Settlement {
            edits: decision.edits,
            renamed: decision.renamed,
            still_seen: decision.still_seen,
            ..found(source, kept.map(|(post, _)| post).collect())
        }
    }

    /// The bodies of all posts of a source, in order.
    pub(crate) async fn bodies(&self, source: SourceId) -> Vec<String> {
        let posts = self.list_posts(Some(source), None, 100_000).await.unwrap();
        posts.into_iter().map(|post| post.content.body().into_owned()).collect()
    }
}

/// The settlement of a poll that found these posts a minute from now.
pub(crate) fn found(source: &Source, posts: Vec<NewPost>) -> Settlement {
    let settled_at = at(NOW) + minutes(1);
    let mut state = source.state.clone();
    state.first_polled_at = state.first_polled_at.or(Some(settled_at));
    state.last_polled = Some(settled_at);
    state.last_success_at = Some(settled_at);
    state.last_read_at = Some(settled_at);
    let source = Source { state, ..source.clone() };
    Settlement { posts, ..Settlement::of_state(&source, settled_at) }
}
