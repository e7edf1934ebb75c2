//! Pages of posts, bounded in rows and in bytes.

use std::collections::HashMap;

use crate::model::{Post, PostId, SourceId, Timestamp};

use super::Result;
use super::rows::{Columns, required};

/// Which posts to read, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostSelection {
    /// By id, the oldest first, of one source or of all.
    After { source: Option<SourceId>, after: PostId },
    /// By id, the newest first, of one source or of all.
    Before { source: Option<SourceId>, before: PostId },
    /// Stored in this time range, by time and id, after this one.
    Between { source: Option<SourceId>, since: Timestamp, until: Timestamp, after: Option<(Timestamp, PostId)> },
    /// New and changed posts by change number, of one source or of all.
    Changes { source: Option<SourceId>, after: i64 },
    /// Posts that match, by id, the oldest first.
    Matching(PostMatch),
    /// The same, the newest first.
    MatchingNewest(PostMatch),
}

/// A search among the posts between two ids. Each of them may have to be read, so the caller bounds the range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostMatch {
    /// Only posts with ids above this one.
    pub after: PostId,
    /// Only posts with ids below this one.
    pub before: PostId,
    pub source: Option<SourceId>,
    /// Only posts of sources with this label.
    pub label: Option<String>,
    /// Only posts with this text in title or text, ignoring case.
    pub text: Option<String>,
    /// Only posts stored at this time or later.
    pub since: Timestamp,
    /// Only posts stored before this time.
    pub until: Timestamp,
}

/// Bounds of a page. A single post may have more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageBounds {
    pub rows: u32,
    /// Bytes of texts and HTML.
    pub bytes: u64,
}

impl PageBounds {
    pub const fn of_rows(rows: u32) -> PageBounds {
        PageBounds { rows, bytes: u64::MAX }
    }
}

/// Posts in the order of their selection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostPage {
    pub posts: Vec<Post>,
    /// Whether the page ended at one of its bounds, so that there may be more.
    pub has_more: bool,
}

impl PostPage {
    /// The first post alone, of a page that was read with wider bounds than it has.
    pub(super) fn first(mut self) -> PostPage {
        self.posts.truncate(1);
        PostPage { has_more: !self.posts.is_empty() || self.has_more, ..self }
    }
}

/// The most rows that are read to find one that can be read.
const WIDEST_ROWS: u32 = 10_000;

/// The ids of a page, found before its posts are read.
pub(super) struct PageIds {
    pub(super) ids: Vec<i64>,
    has_more: bool,
}

impl PageIds {
    /// Bounds for reading again if all posts of a page cannot be read: wide enough for one that can, if there are not
    /// thousands of bad ones in a row.
    pub(super) fn wider(&self, bounds: PageBounds, readable: usize) -> Option<PageBounds> {
        let is_wider = readable == 0 && !self.ids.is_empty() && self.has_more && bounds.rows < WIDEST_ROWS;
        is_wider.then(|| PageBounds {
            rows: bounds.rows.saturating_mul(4).max(64),
            bytes: bounds.bytes.saturating_mul(4).max(1 << 20),
        })
    }

    /// The first of these posts, given with their bytes, that fit on a page: one at least.
    pub(super) fn new(found: Vec<(i64, i64)>, bounds: PageBounds) -> PageIds {
        let is_full = found.len() >= bounds.rows as usize;
        let (mut ids, mut total) = (Vec::with_capacity(found.len()), 0_u64);
        let count = found.len();
        for (id, bytes) in found {
            total = total.saturating_add(u64::try_from(bytes).unwrap_or(0));
            if total > bounds.bytes && !ids.is_empty() {
                break;
            }
            ids.push(id);
        }
        PageIds { has_more: is_full || ids.len() < count, ids }
    }

    /// The page, of its posts in any order.
    pub(super) fn page(self, posts: Vec<Post>) -> PostPage {
        let mut by_id: HashMap<i64, Post> = posts.into_iter().map(|post| (post.id.0, post)).collect();
        let posts = self.ids.iter().filter_map(|id| by_id.remove(id)).collect();
        PostPage { posts, has_more: self.has_more }
    }
}

/// Reads an id with the bytes of its post.
pub(super) fn read_size(row: &mut impl Columns) -> Result<(i64, i64)> {
    Ok((required(row.integer()?)?, required(row.integer()?)?))
}

/// The pattern for LIKE that finds this text anywhere.
pub(super) fn like_pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for letter in text.chars() {
        if ['%', '_', '\\'].contains(&letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern + "%"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_at_either_bound_and_has_one_post_at_least() {
        let found = [(1, 40), (2, 50), (3, 20), (4, 1)];
        let cases = [
            (9, 1000, &[1, 2, 3, 4][..], false),
            (4, 1000, &[1, 2, 3, 4], true),
            (9, 100, &[1, 2], true),
            (9, 90, &[1, 2], true),
            (9, 10, &[1], true),
        ];
        for (rows, bytes, ids, has_more) in cases {
            let page = PageIds::new(found.to_vec(), PageBounds { rows, bytes });
            assert_eq!((page.ids.as_slice(), page.has_more), (ids, has_more), "{rows} rows, {bytes} bytes");
        }
        assert!(!PageIds::new(Vec::new(), PageBounds::of_rows(9)).has_more);
    }

    #[test]
    fn a_pattern_takes_every_letter_literally() {
        assert_eq!(like_pattern("50%_a\\"), "%50\\%\\_a\\\\%");
    }
}
