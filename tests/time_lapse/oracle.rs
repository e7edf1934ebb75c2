//! What must be true in a run, computed from what was published and what publishers were asked, by the true time.

use std::collections::BTreeMap;
use std::time::Duration;

use feedwarden::demo::web::{Deed, Exchange, SiteComparison};
use feedwarden::model::Timestamp;
use feedwarden::rules::{hours, minutes};

/// The interval of all sources.
pub(super) const INTERVAL: Duration = hours(6);
/// The age limit of posts.
pub(super) const AGE_MAX: Duration = hours(7 * 24);
/// The clock is moved by the hour; a poll may be late by one step, and its neighbours on the host by another.
const LATE_MAX: Duration = minutes(130);
/// A clock that is no more than a day ahead is trusted, so that posts may go a day early.
const EARLY_MAX: Duration = hours(25);

/// Something that excuses gaps between the polls of a site: of one, or of all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Excuse {
    pub(super) site: Option<usize>,
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    /// Whether it excuses polls that are late, or those that are early.
    pub(super) late: bool,
    pub(super) early: bool,
}

impl Excuse {
    fn covers(&self, site: usize, from: Timestamp, until: Timestamp) -> bool {
        self.site.is_none_or(|excused| excused == site) && self.from <= until && from <= self.until
    }
}

/// Complaints about the times at which publishers were asked.
pub(super) fn judge_requests(
    journal: &[Exchange],
    sites: usize,
    excuses: &[Excuse],
    pause_min: Duration,
    ended_at: Timestamp,
) -> Vec<String> {
    let mut complaints = Vec::new();
    for site in 0..sites {
        let asked: Vec<&Exchange> = journal.iter().filter(|exchange| exchange.site == Some(site)).collect();
        let times: Vec<Timestamp> = asked.iter().map(|exchange| exchange.began_at).chain([ended_at]).collect();
        for (place, pair) in times.windows(2).enumerate() {
            let (gap, is_last) = (pair[1].since(pair[0]), place + 2 == times.len());
            let is_excused = |is_it: fn(&Excuse) -> bool| {
                excuses.iter().any(|excuse| is_it(excuse) && excuse.covers(site, pair[0], pair[1]))
            };
            if gap > INTERVAL + LATE_MAX && !is_excused(|excuse| excuse.late) {
                complaints.push(format!("site {site} was not asked from {} to {}", pair[0], pair[1]));
            }
            if gap + minutes(1) < INTERVAL && !is_last && !is_excused(|excuse| excuse.early) {
                complaints.push(format!("site {site} was asked too soon, at {} and {}", pair[0], pair[1]));
            }
        }
    }
    complaints.extend(judge_hosts(journal, excuses, pause_min));
    complaints
}

/// Complaints about the pauses of hosts, and about requests in spite of `Retry-After`.
fn judge_hosts(journal: &[Exchange], excuses: &[Excuse], pause_min: Duration) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut by_host = BTreeMap::<&str, Vec<&Exchange>>::new();
    for exchange in journal {
        by_host.entry(&exchange.host).or_default().push(exchange);
    }
    for (host, asked) in by_host {
        for pair in asked.windows(2) {
            // No time passes during a request but that of the next step.
            let gap = pair[1].began_at.since(pair[0].began_at);
            if gap < pause_min && !pair[1].is_hop {
                complaints.push(format!("host {host} was asked {gap:?} after {}", pair[0].ended_at));
            }
            let wait = match pair[0].deed {
                Deed::Answered(429) => Duration::from_secs(5400),
                Deed::Answered(503) => Duration::from_secs(9000),
                _ => continue,
            };
            let is_forgotten = excuses
                .iter()
                .any(|excuse| excuse.early && excuse.covers(usize::MAX, pair[0].ended_at, pair[1].began_at));
            if gap < wait && !is_forgotten {
                complaints.push(format!("host {host} was asked {gap:?} after its Retry-After of {wait:?}"));
            }
        }
        if asked.iter().any(|exchange| exchange.overlapped) {
            complaints.push(format!("host {host} got two requests at once"));
        }
    }
    complaints
}

/// Complaints about what is stored of a site. `births` are the true times at which its entries were published.
pub(super) fn judge_posts(
    site: usize,
    found: &SiteComparison,
    births: &[Timestamp],
    now: Timestamp,
    is_complete: bool,
    is_cleaned: bool,
) -> Vec<String> {
    let mut complaints = Vec::new();
    let age = |number: u64| now.since(births[usize::try_from(number).expect("few entries")]);
    if !found.doubled.is_empty() || !found.unknown.is_empty() || !found.outdated.is_empty() {
        complaints.push(format!("site {site}: {found:?}"));
    }
    let lost: Vec<_> = found.missing.iter().filter(|number| age(**number) + EARLY_MAX < AGE_MAX).collect();
    if is_complete && !lost.is_empty() {
        complaints.push(format!("site {site} lost entries {lost:?} by {now}"));
    }
    let kept: Vec<_> = found.stored_once.iter().filter(|number| age(**number) > AGE_MAX + hours(48)).collect();
    if is_cleaned && !kept.is_empty() {
        complaints.push(format!("site {site} still has old entries {kept:?} at {now}"));
    }
    complaints
}
