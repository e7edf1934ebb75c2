//! Age limits of posts, articles, hashes and `robots.txt` files.

use crate::model::{Cutoffs, Timestamp};

use super::{Policy, robots};

/// The age limits as moments.
pub fn cutoffs(policy: &Policy, now: Timestamp) -> Cutoffs {
    let oldest = now - policy.article_age_max;
    Cutoffs {
        now,
        articles_before: oldest,
        posts_before: oldest,
        // A hash must outlive the age limit: until then only the hash keeps an undated entry from coming back.
        hashes_before: now - policy.cleaned_memory.max(policy.article_age_max),
        robots_before: now - robots::AGE_MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::super::hours;
    use super::*;

    #[test]
    fn s901_s903_s904_articles_and_posts_go_by_the_age_limit_and_hashes_by_their_memory() {
        let now = Timestamp::from_seconds(1_800_000_000);
        let policy = Policy { article_age_max: hours(48), cleaned_memory: hours(240), ..Policy::default() };
        let found = cutoffs(&policy, now);
        assert_eq!((found.articles_before, found.posts_before), (now - hours(48), now - hours(48)));
        assert_eq!(found.hashes_before, now - hours(240));
        assert_eq!(found.robots_before, now - hours(24));
    }

    #[test]
    fn s904_a_short_memory_is_stretched_to_the_age_limit() {
        let now = Timestamp::from_seconds(1_800_000_000);
        let policy = Policy { article_age_max: hours(480), cleaned_memory: hours(24), ..Policy::default() };
        assert_eq!(cutoffs(&policy, now).hashes_before, now - hours(480));
    }
}
