//! The polls that are settled.

use std::sync::atomic::{AtomicU64, Ordering};

use feedwarden::model::{
    NewPost, NewSource, PostContent, Settlement, SourceSettings, SourceType, Timestamp, Validators,
};
use feedwarden::store::Store;

/// Polls in one run, each of another source.
pub(crate) const POLLS: usize = 1_000;
/// Candidate posts in a poll.
pub(crate) const POSTS: u64 = 30;
/// When all of this happens.
pub(crate) const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// What the polls find.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    AllNew,
    AllKnown,
    NotModified,
}

impl Case {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Case::AllNew => "all new",
            Case::AllKnown => "all known",
            Case::NotModified => "304",
        }
    }
}

pub(crate) async fn add_sources(store: &dyn Store) {
    let new = |number| NewSource {
        settings: SourceSettings::new(
            SourceType::Rss,
            format!("https://host{}.example/feed/{number}.xml", number % 300),
        ),
        created_at: NOW,
    };
    store.add_sources((0..POLLS).map(new).collect()).await.unwrap();
}

/// One poll of each source as it stands. Known posts are those of the last run that found new ones.
pub(crate) async fn settlements(store: &dyn Store, case: Case) -> Vec<Settlement> {
    static GENERATION: AtomicU64 = AtomicU64::new(0);
    let generation = match case {
        Case::AllNew => GENERATION.fetch_add(1, Ordering::Relaxed) + 1,
        Case::AllKnown | Case::NotModified => GENERATION.load(Ordering::Relaxed),
    };
    let posts = if case == Case::NotModified { 0 } else { POSTS };
    let sources = store.list_sources(None, POLLS as u32).await.unwrap();
    let settle = |mut source: feedwarden::model::Source| {
        source.state.last_polled = Some(NOW);
        source.state.last_success_at = Some(NOW);
        source.state.validators = Validators { etag: Some(format!("\"{generation}\"")), last_modified: None };
        Settlement {
            posts: (0..posts).map(|number| post(generation, source.id.0, number)).collect(),
            ..Settlement::of_state(&source, NOW)
        }
    };
    sources.into_iter().map(settle).collect()
}

fn post(generation: u64, source: i64, number: u64) -> NewPost {
    let mut body = format!("{generation} {source} {number}");
    let mut state = generation ^ number.rotate_left(32) ^ source.cast_unsigned().rotate_left(16);
    while body.len() < 1_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        body.push_str(
            [" polls", " feeds", " politely", " and", " tells", " the", " truth", " again"][(state >> 61) as usize],
        );
    }
    let content = PostContent {
        title: format!("Entry {number} of source {source}"),
        text: body,
        url: Some(format!("https://host.example/{source}/{generation}/{number}")),
        author: Some("Ada Lovelace".into()),
        ..PostContent::default()
    };
    NewPost::new(content, Some(NOW))
}
