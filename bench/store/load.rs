//! The polls that are settled.

use std::sync::atomic::{AtomicU64, Ordering};

use feedwarden::model::{
    DocumentKeys, Enclosure, EntryKey, EntryQuery, NewPost, NewSource, PostContent, SettledPoll, Settlement,
    SourceSettings, SourceType, Timestamp, Validators,
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
    /// New posts with the fields that entries carry, as with `posts.keep-html: false`.
    AllNew,
    /// The same with HTML.
    AllNewWithHtml,
    /// A 200 whose entries are all known: they are looked up, and only the state is written.
    KnownEntries,
    NotModified,
    /// The same with a row in the history.
    NotModifiedRecorded,
}

impl Case {
    pub(crate) fn is_not_modified(self) -> bool {
        matches!(self, Case::NotModified | Case::NotModifiedRecorded)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Case::AllNew => "all new, without HTML",
            Case::AllNewWithHtml => "all new, with HTML",
            Case::KnownEntries => "known entries of a 200",
            Case::NotModified => "304",
            Case::NotModifiedRecorded => "304 with history",
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
        Case::AllNew | Case::AllNewWithHtml => GENERATION.fetch_add(1, Ordering::Relaxed) + 1,
        Case::KnownEntries | Case::NotModified | Case::NotModifiedRecorded => GENERATION.load(Ordering::Relaxed),
    };
    let with_html = case != Case::AllNew;
    let posts = if case.is_not_modified() { 0 } else { POSTS };
    let sources = store.list_sources(None, POLLS as u32).await.unwrap();
    let sources = match case {
        // As before the first reading: no entry has left with the last document.
        Case::AllNew | Case::AllNewWithHtml => {
            let document = Some(DocumentKeys::default());
            let forget = |source| Settlement { document: document.clone(), ..Settlement::of_state(source, NOW) };
            store.settle(sources.iter().map(forget).collect()).await.unwrap();
            store.list_sources(None, POLLS as u32).await.unwrap()
        }
        Case::KnownEntries | Case::NotModified | Case::NotModifiedRecorded => sources,
    };
    let settle = |mut source: feedwarden::model::Source| {
        source.state.last_polled = Some(NOW);
        source.state.last_success_at = Some(NOW);
        source.state.validators = Validators { etag: Some(format!("\"{generation}\"")), last_modified: None };
        let posts: Vec<NewPost> = (0..posts).map(|number| post(generation, source.id.0, number, with_html)).collect();
        // The keys of a document are written when they change.
        let document = Some(DocumentKeys::new(posts.iter().map(NewPost::key)));
        let document = document.filter(|_| matches!(case, Case::AllNew | Case::AllNewWithHtml));
        let poll = SettledPoll {
            status_code: Some(304),
            bytes: 230,
            duration_ms: 85,
            next: format!("next poll at {NOW}: its interval is 60 min"),
            ..SettledPoll::unchanged(NOW)
        };
        let poll = (case == Case::NotModifiedRecorded).then(|| Box::new(poll));
        Settlement { posts, document, poll, ..Settlement::of_state(&source, NOW) }
    };
    sources.into_iter().map(settle).collect()
}

/// What the store is asked about the entries of a poll before it is settled.
pub(crate) fn query(settlement: &Settlement) -> EntryQuery {
    let entries = settlement.posts.iter().map(|post| (post.key(), post.content_hash()));
    EntryQuery { source_id: settlement.source_id, entries: entries.collect() }
}

/// A post with about 1 KB of text.
pub(crate) fn post(generation: u64, source: i64, number: u64, with_html: bool) -> NewPost {
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
        // As HTML is longer than its text by a third or so.
        html: with_html.then(|| format!("<p>{}</p>", body.replace(" and", " <a href=\"https://a.example/\">and</a>"))),
        summary: Some(body[..200].to_owned()),
        text: body,
        guid: Some(format!("https://host.example/?p={source}-{generation}-{number}")),
        url: Some(format!("https://host.example/{source}/{generation}/{number}")),
        author: Some("Ada Lovelace".into()),
        language: Some("en-GB".into()),
        categories: vec!["News".into(), "Engines".into(), "Mathematics".into()],
        enclosures: vec![Enclosure {
            url: format!("https://host.example/{source}/{generation}/{number}.mp3"),
            media_type: Some("audio/mpeg".into()),
            length: Some(31_415_926),
            ..Enclosure::default()
        }],
        image_url: Some(format!("https://host.example/{source}/{generation}/{number}.jpg")),
        ..PostContent::default()
    };
    let key = EntryKey::of("id", &[content.guid.as_deref().unwrap_or_default().as_bytes()]);
    NewPost::new(content, Some(NOW)).with_key(key)
}
