//! Checks that the store contains each served entry exactly once, in its newest version, and nothing else.

use std::collections::HashMap;

use super::web::{SiteBehaviour, SiteComparison, Web};
use crate::model::{Post, PostId, SourceId};
use crate::store::{self, Store};

/// How many posts are read at once.
const PAGE: u32 = 1000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Audit {
    /// Entries that the web served whole.
    pub(super) served: usize,
    /// Those that are in the store exactly once.
    pub(super) stored_once: usize,
    /// Entries that are in the store twice.
    pub(super) doubled: usize,
    /// Entries of which the store has an older version than was served and has to be stored.
    pub(super) outdated: usize,
    /// Posts that were not served.
    pub(super) unknown: usize,
    /// Articles that are not in the store and on no page any more. A page shows one article: what a crash lost of it
    /// cannot be asked for again once there is another, unlike the entries of a feed.
    pub(super) replaced: usize,
    /// The sources of entries that are missing or outdated.
    pub(super) incomplete: Vec<SourceId>,
}

impl Audit {
    /// Compares; `sources` has the source of each site. What is under way meanwhile may be missing; what is settled may
    /// not.
    pub(super) async fn take(store: &dyn Store, web: &Web, sources: &[SourceId]) -> store::Result<Audit> {
        let mut stored = stored(store).await?;
        let mut audit = Audit::default();
        for (site, source) in sources.iter().enumerate() {
            // Read after the store, so that an entry served meanwhile is not taken for unknown.
            let posts = stored.remove(source).unwrap_or_default();
            let is_page = web.sites()[site].behaviour == SiteBehaviour::Website;
            audit.add(*source, is_page, &web.compare(site, &posts));
        }
        audit.unknown += stored.values().map(Vec::len).sum::<usize>();
        Ok(audit)
    }

    fn add(&mut self, source: SourceId, is_page: bool, site: &SiteComparison) {
        // What a page showed last can be asked for again, what it showed before cannot.
        let is_gone = |number: &&u64| is_page && site.served.last() != Some(*number);
        let replaced = site.missing.iter().filter(is_gone).count();
        self.served += site.served.len();
        self.stored_once += site.stored_once.len();
        self.doubled += site.doubled.len();
        self.outdated += site.outdated.len();
        self.unknown += site.unknown.len();
        self.replaced += replaced;
        if site.missing.len() > replaced || !site.outdated.is_empty() {
            self.incomplete.push(source);
        }
    }

    /// Whether it is as it should be after so many crashes, each of which can cost one article of a page.
    pub(super) fn is_right(&self, crashes: u64) -> bool {
        let is_complete = self.stored_once + self.replaced == self.served && self.replaced as u64 <= crashes;
        is_complete && self.doubled == 0 && self.outdated == 0 && self.unknown == 0
    }
}

/// All posts, by source.
async fn stored(store: &dyn Store) -> store::Result<HashMap<SourceId, Vec<Post>>> {
    let mut stored: HashMap<SourceId, Vec<Post>> = HashMap::new();
    let mut after: Option<PostId> = None;
    loop {
        let posts = store.list_posts(None, after, PAGE).await?;
        let Some(last) = posts.last() else { return Ok(stored) };
        after = Some(last.id);
        for post in posts {
            stored.entry(post.source_id).or_default().push(post);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A site that served three entries, of which these are stored once.
    fn site(stored_once: &[u64]) -> SiteComparison {
        let served = vec![0, 1, 2];
        let missing = served.iter().copied().filter(|number| !stored_once.contains(number)).collect();
        SiteComparison { served, stored_once: stored_once.to_vec(), missing, ..SiteComparison::default() }
    }

    /// Whether there is nothing to ask for again, and whether all is right without crashes and after one.
    fn check(is_page: bool, site: &SiteComparison, is_complete: bool, is_right: (bool, bool)) {
        let mut audit = Audit::default();
        audit.add(SourceId(7), is_page, site);
        assert_eq!(audit.served, site.served.len());
        let found = (audit.incomplete.is_empty(), (audit.is_right(0), audit.is_right(1)));
        assert_eq!(found, (is_complete, is_right), "{site:?}");
    }

    #[test]
    fn a_store_is_right_if_it_holds_each_entry_once_in_its_newest_version_and_nothing_else() {
        let whole = site(&[0, 1, 2]);
        check(false, &whole, true, (true, true));
        check(false, &SiteComparison::default(), true, (true, true));
        check(false, &site(&[1, 2]), false, (false, false));
        check(false, &SiteComparison { outdated: vec![1], ..whole.clone() }, false, (false, false));
        check(false, &SiteComparison { unknown: vec!["?".into()], ..whole }, true, (false, false));
        let doubled = SiteComparison { missing: vec![], doubled: vec![0], ..site(&[1, 2]) };
        check(false, &doubled, true, (false, false));
    }

    #[test]
    fn a_crash_can_cost_an_article_that_its_page_no_longer_shows_but_no_other() {
        check(true, &site(&[1, 2]), true, (false, true));
        check(true, &site(&[0, 1]), false, (false, false));
        check(true, &site(&[2]), true, (false, false));
    }
}
