//! The conformance suite of the store: every test runs on both engines and asserts the same.

mod access;
mod articles;
mod cleanup;
mod concurrency;
mod crash;
mod daemon;
mod downstream;
mod engine;
mod faults;
mod hosts;
mod left_out;
mod lists;
mod migrations;
mod people;
mod posts;
mod robots;
mod settle;
mod sources;
mod state;
mod to_poll;
mod webhooks;

pub(crate) use engine::Engine::{self, Postgres, Sqlite};
pub(crate) use engine::{TestStore, at, connect, minutes, server};

use feedwarden::model::{
    NewPost, NewSource, PostId, PostText, Settled, Settlement, Source, SourceId, SourceSettings, SourceType,
};
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

fn post_text(body: &str) -> PostText {
    PostText {
        title: format!("About {}", body.chars().take(9).collect::<String>()),
        body: body.into(),
        ..PostText::default()
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

    /// Settles a poll of this source, as it stands in the store, that found these posts.
    pub(crate) async fn find(&self, source: SourceId, posts: Vec<NewPost>) -> Vec<PostId> {
        let source = self.source(source).await.unwrap().unwrap();
        match self.settle(vec![found(&source, posts)]).await.unwrap().pop().unwrap() {
            Settled::Written { new_posts, .. } => new_posts,
            other => panic!("not written: {other:?}"),
        }
    }

    /// The bodies of all posts of a source, in order.
    pub(crate) async fn bodies(&self, source: SourceId) -> Vec<String> {
        let posts = self.list_posts(Some(source), None, 100_000).await.unwrap();
        posts.into_iter().map(|post| post.text.body).collect()
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
    Settlement {
        source_id: source.id,
        version: source.version,
        state,
        posts,
        left_out: Vec::new(),
        host: None,
        settled_at,
    }
}
