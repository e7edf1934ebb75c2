//! An entry while it is being read: of several elements that say the same, the better one counts, and among equals the
//! first.

use std::sync::Arc;

use super::details::Details;
use super::{Entry, Text};
use crate::model::Timestamp;

/// The best value so far, and how good it is (less is better).
#[derive(Debug)]
pub(super) struct Best<T> {
    rank: u8,
    value: Option<T>,
}

impl<T> Best<T> {
    /// True if a value of this rank would be taken.
    pub(super) fn wants(&self, rank: u8) -> bool {
        self.value.is_none() || rank < self.rank
    }

    /// Takes a value if it is better.
    pub(super) fn offer(&mut self, rank: u8, value: Option<T>) {
        if value.is_some() && self.wants(rank) {
            *self = Best { rank, value };
        }
    }

    pub(super) fn is_known(&self) -> bool {
        self.value.is_some()
    }

    pub(super) fn take(self) -> Option<T> {
        self.value
    }
}

impl<T> Default for Best<T> {
    fn default() -> Best<T> {
        Best { rank: u8::MAX, value: None }
    }
}

/// What has been read of an entry, or of the feed itself, whose title and link are said with the same elements.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) id: Best<Box<str>>,
    pub(super) title: Best<Text>,
    pub(super) link: Best<Box<str>>,
    pub(super) published: Best<Timestamp>,
    pub(super) updated: Best<Timestamp>,
    /// How good the authors in `details` are.
    pub(super) author_rank: u8,
    pub(super) language: Best<Arc<str>>,
    pub(super) base: Best<Arc<str>>,
    pub(super) image: Best<Box<str>>,
    pub(super) duration_seconds: Option<u32>,
    pub(super) details: Details,
    pub(super) summary: Best<Text>,
    pub(super) content: Best<Text>,
    /// True once it said anything, understood or not.
    pub(super) has_elements: bool,
}

impl Draft {
    /// Takes an author if there is no better one; of equally good ones, all.
    pub(super) fn offer_author(&mut self, rank: u8, name: &str) {
        if self.details.authors.is_empty() || rank < self.author_rank {
            self.details.authors.clear();
            self.author_rank = rank;
        }
        if rank == self.author_rank {
            self.details.add_author(name.into());
        }
    }

    /// The entry that came of it.
    pub(super) fn into_entry(self) -> Entry {
        let mut details = self.details;
        details.language = self.language.take();
        details.base = self.base.take();
        details.image_url = self.image.take();
        if let Some(seconds) = self.duration_seconds {
            details.set_duration(seconds);
        }
        Entry {
            id: self.id.take(),
            title: self.title.take(),
            url: self.link.take(),
            published: self.published.take(),
            updated: self.updated.take(),
            author: details.authors.first().cloned(),
            summary: self.summary.take(),
            content: self.content.take(),
            details: (details != Details::default()).then(|| Arc::new(details)),
        }
    }
}
