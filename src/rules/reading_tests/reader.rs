//! The rules with a store in memory, as the pipeline uses them.

use std::collections::HashSet;

use super::super::*;
use crate::model::{NewSource, PostId, SourceId, SourceSettings, SourceType};
use crate::rules::identity;
use crate::rules::success::{ReadAnswer, SourceAnswer, after_success};

pub(super) const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

pub(super) fn minutes_from_now(minutes: i64) -> Timestamp {
    Timestamp::from_seconds(1_800_000_000 + minutes * 60)
}

/// An entry as a publisher has it.
#[derive(Clone, Debug, Default)]
pub(super) struct PlayedEntry {
    pub(super) id: Option<String>,
    pub(super) url: Option<String>,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) published: Option<Timestamp>,
}

impl PlayedEntry {
    pub(super) fn new(number: u32, body: &str) -> PlayedEntry {
        PlayedEntry {
            id: Some(format!("id {number}")),
            url: Some(format!("http://a.example/{number}")),
            title: "Title".into(),
            body: body.into(),
            published: Some(minutes_from_now(i64::from(number))),
        }
    }
}

/// A source that is read, and what is stored of it.
pub(super) struct ReadSource {
    pub(super) source: Source,
    pub(super) policy: Policy,
    pub(super) kind: Watermark,
    pub(super) posts: Vec<StoredPost>,
    removed: Vec<StoredPost>,
    document: Option<DocumentKeys>,
    next_id: i64,
}

#[derive(Clone, Debug)]
pub(super) struct StoredPost {
    id: PostId,
    pub(super) key: Option<EntryKey>,
    pub(super) post: NewPost,
    pub(super) revision: u32,
    changed_at: Option<Timestamp>,
}

impl ReadSource {
    pub(super) fn new() -> ReadSource {
        let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
        ReadSource {
            source: Source::fresh(SourceId(1), NewSource { settings, created_at: NOW - hours(1) }),
            policy: Policy::default(),
            kind: Watermark::Published,
            posts: Vec::new(),
            removed: Vec::new(),
            document: None,
            next_id: 0,
        }
    }

    pub(super) fn read(&mut self, items: &[PlayedEntry], now: Timestamp) -> ReadingDecision {
        let mut posts: Vec<NewPost> = items.iter().map(as_post).collect();
        if self.kind != Watermark::None {
            let keys = identity::keys(&posts);
            posts = posts.into_iter().zip(keys).map(|(post, key)| post.with_key(key)).collect();
        }
        let known = self.known(&posts);
        let decision = decide(&self.source, self.kind, &posts, &known, &self.policy, now, now);
        self.apply(&decision, &posts, now);
        decision
    }

    fn known(&self, posts: &[NewPost]) -> KnownEntries {
        let keys: HashSet<EntryKey> = posts.iter().map(NewPost::key).collect();
        let as_known = |stored: &StoredPost, is_removed: bool| KnownPost {
            id: (!is_removed).then_some(stored.id),
            key: stored.key,
            content_hash: stored.post.content_hash(),
            url: stored.post.content().url.clone().filter(|_| !is_removed),
            published_at: stored.post.published_at().filter(|_| !is_removed),
            title: Some(stored.post.content().title.clone()).filter(|_| !is_removed),
            revision: stored.revision,
            changed_at: stored.changed_at,
        };
        let all: Vec<KnownPost> = self
            .posts
            .iter()
            .rev()
            .map(|stored| as_known(stored, false))
            .chain(self.removed.iter().map(|stored| as_known(stored, true)))
            .collect();
        let is_by_key = |post: &KnownPost| post.key.is_some_and(|key| keys.contains(&key));
        let by_key: Vec<KnownPost> = all.iter().filter(|post| is_by_key(post)).cloned().collect();
        let met: HashSet<EntryKey> = by_key.iter().filter_map(|post| post.key).collect();
        let unknown: HashSet<ContentHash> =
            posts.iter().filter(|post| !met.contains(&post.key())).map(NewPost::content_hash).collect();
        let entries: Vec<_> = posts.iter().map(|post| (post.key(), post.content_hash())).collect();
        let left = self.document.as_ref().map(|document| document.left_by(&entries)).unwrap_or_default();
        let is_other = |post: &KnownPost| {
            let has_left = post.key.is_none_or(|key| left.contains(&key));
            unknown.contains(&post.content_hash) || has_left && !unknown.is_empty()
        };
        let others = all.iter().filter(|post| is_other(post)).cloned().collect();
        KnownEntries { document: self.document.clone(), by_key, others }
    }

    fn apply(&mut self, decision: &ReadingDecision, posts: &[NewPost], now: Timestamp) {
        for renamed in &decision.renamed {
            let list = if renamed.id.is_some() { &mut self.posts } else { &mut self.removed };
            let is_meant = |stored: &&mut StoredPost| match renamed.id {
                Some(id) => stored.id == id,
                None => stored.key == renamed.old_key && stored.post.content_hash() == renamed.content_hash,
            };
            list.iter_mut().find(is_meant).expect("a known post is renamed").key = renamed.key;
        }
        for edit in &decision.edits {
            let stored = self.posts.iter_mut().find(|stored| stored.id == edit.id).expect("a stored post is edited");
            stored.post = edit.post.clone();
            stored.revision += 1;
            stored.changed_at = Some(now);
        }
        for post in &decision.posts {
            assert!(self.posts.iter().all(|stored| stored.key != Some(post.key())), "a key is stored once");
            self.next_id += 1;
            self.posts.push(StoredPost {
                id: PostId(self.next_id),
                key: Some(post.key()),
                post: post.clone(),
                revision: post.revision(),
                changed_at: None,
            });
        }
        if let Some(document) = &decision.document {
            self.document = Some(document.clone());
        }
        let last_seen = decision.watermark(self.kind, self.source.state.last_seen, posts, None, now);
        let answer = ReadAnswer {
            last_seen,
            bodies_repeat: decision.bodies_repeat,
            is_gap: decision.is_gap,
            ..ReadAnswer::default()
        };
        self.source.state = after_success(&self.source.state, SourceAnswer::Read(answer), now, now);
    }

    pub(super) fn bodies(&self) -> Vec<String> {
        self.posts.iter().map(|stored| stored.post.content().text.clone()).collect()
    }

    /// Removes a post, as the clean-up does.
    pub(super) fn clean(&mut self, body: &str) {
        let place = self.posts.iter().position(|stored| stored.post.content().text == body).expect("a post");
        self.removed.push(self.posts.remove(place));
    }

    /// Forgets the keys of all posts and the last document, as after an upgrade.
    pub(super) fn forget_keys(&mut self) {
        self.posts.iter_mut().for_each(|stored| stored.key = None);
        self.document = None;
    }
}

fn as_post(item: &PlayedEntry) -> NewPost {
    let content = PostContent {
        guid: item.id.clone(),
        url: item.url.clone(),
        title: item.title.clone(),
        text: item.body.clone(),
        ..PostContent::default()
    };
    NewPost::new(content, item.published)
}
