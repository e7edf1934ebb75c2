//! Checks that the store contains each served entry exactly once, and nothing else.

use std::collections::HashMap;

use super::web::SiteBehaviour;
use super::world::World;
use crate::model::{PostId, SourceId};
use crate::store;

/// How many posts are read at once.
const PAGE: u32 = 1000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Audit {
    /// Entries that the web served whole.
    pub(super) served: usize,
    /// Those that are in the store exactly once.
    pub(super) stored_once: usize,
    /// Posts that are in the store twice.
    pub(super) doubled: usize,
    /// Posts that were not served.
    pub(super) unknown: usize,
    /// Articles that are not in the store and on no page any more. A page shows one article: what a crash lost of it
    /// cannot be asked for again once there is another, unlike the entries of a feed.
    pub(super) replaced: usize,
    /// The sources of entries that are missing.
    pub(super) incomplete: Vec<SourceId>,
}

impl Audit {
    /// Compares. What is under way meanwhile may be missing; what is settled may not.
    pub(super) async fn take(world: &World) -> store::Result<Audit> {
        let mut stored = stored(world).await?;
        let mut audit = Audit::default();
        for (site, source) in world.sources.iter().enumerate() {
            // Read after the store, so that an entry served meanwhile is not taken for unknown.
            let mut posts = stored.remove(source).unwrap_or_default();
            let is_page = world.web.sites()[site].behaviour == SiteBehaviour::Website;
            audit.compare(*source, is_page, &world.web.served_entries_of(site), &mut posts);
        }
        audit.unknown += stored.values().map(HashMap::len).sum::<usize>();
        Ok(audit)
    }

    fn compare(&mut self, source: SourceId, is_page: bool, served: &[String], posts: &mut HashMap<String, usize>) {
        let mut is_complete = true;
        for (index, text) in served.iter().enumerate() {
            self.served += 1;
            match posts.remove(text) {
                Some(1) => self.stored_once += 1,
                Some(_) => self.doubled += 1,
                None if is_page && index + 1 < served.len() => self.replaced += 1,
                None => is_complete = false,
            }
        }
        self.unknown += posts.len();
        if !is_complete {
            self.incomplete.push(source);
        }
    }

    /// Whether it is as it should be after so many crashes, each of which can cost one article of a page.
    pub(super) fn is_right(&self, crashes: u64) -> bool {
        let is_complete = self.stored_once + self.replaced == self.served && self.replaced as u64 <= crashes;
        is_complete && self.doubled == 0 && self.unknown == 0
    }
}

/// How often each text is in the store, by source.
async fn stored(world: &World) -> store::Result<HashMap<SourceId, HashMap<String, usize>>> {
    let mut stored: HashMap<SourceId, HashMap<String, usize>> = HashMap::new();
    let mut after: Option<PostId> = None;
    loop {
        let posts = world.store.list_posts(None, after, PAGE).await?;
        let Some(last) = posts.last() else { return Ok(stored) };
        after = Some(last.id);
        for post in posts {
            *stored.entry(post.source_id).or_default().entry(post.content.body().into_owned()).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the comparison finds nothing to ask for again, and whether it is right without crashes and after one.
    fn check(is_page: bool, served: &[&str], stored: &[(&str, usize)], is_complete: bool, is_right: (bool, bool)) {
        let served: Vec<String> = served.iter().map(ToString::to_string).collect();
        let mut posts = stored.iter().map(|(text, count)| (text.to_string(), *count)).collect();
        let mut audit = Audit::default();
        audit.compare(SourceId(7), is_page, &served, &mut posts);
        assert_eq!(audit.served, served.len());
        assert_eq!((audit.incomplete.is_empty(), (audit.is_right(0), audit.is_right(1))), (is_complete, is_right));
    }

    #[test]
    fn a_store_is_right_if_it_holds_each_entry_once_and_nothing_else() {
        check(false, &["a", "b"], &[("a", 1), ("b", 1)], true, (true, true));
        check(false, &["a", "b"], &[("b", 1)], false, (false, false));
        check(false, &["a"], &[("a", 2)], true, (false, false));
        check(false, &["a"], &[("a", 1), ("c", 1)], true, (false, false));
        check(false, &[], &[], true, (true, true));
    }

    #[test]
    fn a_crash_can_cost_an_article_that_its_page_no_longer_shows_but_no_other() {
        check(true, &["a", "b"], &[("b", 1)], true, (false, true));
        check(true, &["a", "b"], &[("a", 1)], false, (false, false));
        check(true, &["a", "b", "c"], &[("c", 1)], true, (false, false));
    }
}
