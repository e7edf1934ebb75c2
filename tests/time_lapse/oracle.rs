//! What must be true in a run, computed from what was published, what publishers were asked and which faults there were,
//! by the true time.

use std::collections::BTreeMap;
use std::time::Duration;

use feedwarden::demo::web::{Deed, Exchange, SiteComparison};
use feedwarden::model::Timestamp;
use feedwarden::rules::{hours, minutes};

/// The interval of all sources.
pub(super) const INTERVAL: Duration = hours(6);
/// The shortest interval if intervals follow from how often sites publish; the longest is [`INTERVAL`].
pub(super) const INTERVAL_MIN: Duration = hours(2);
/// The longest backoff and rest, and the wait after a first failure: twice the interval.
pub(super) const BACKOFF_MAX: Duration = hours(12);
/// How long a publisher that wants its answers kept has them kept.
pub(super) const CACHED_FOR: Duration = hours(12);
/// The age limit of posts.
pub(super) const AGE_MAX: Duration = hours(7 * 24);
/// A poll waits for the pauses of its host, once for each of its neighbours; and the clock goes by the second meanwhile.
const LATE_MAX: Duration = Duration::from_secs(30);
/// The end of an outage is noticed by a probe, the end of a host's by its breaker, and then polls come spread out.
const RECOVERY: Duration = minutes(5 + 10);
/// The longest time by which the clock may be ahead and be trusted.
pub(super) const TRUSTED_AHEAD: Duration = hours(24);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intervals {
    /// Each is [`INTERVAL`].
    Fixed,
    /// Between [`INTERVAL_MIN`] and [`INTERVAL`].
    Adaptive,
}

impl Intervals {
    fn min(self) -> Duration {
        match self {
            Intervals::Fixed => INTERVAL,
            Intervals::Adaptive => INTERVAL_MIN,
        }
    }
}

/// Something that keeps requests from being made, answered or counted: of one site, or of all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) site: Option<usize>,
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    pub(super) effect: Effect,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Effect {
    /// No request is made: what falls due meanwhile comes right after.
    Delays,
    /// Requests do not reach the publisher: the source may back off, once for each.
    Fails,
    /// Answers are to be kept for [`CACHED_FOR`].
    Caches,
    /// The daemon was started.
    Starts,
    /// The time was set back by this much.
    StepsBack(Duration),
    /// The time was set ahead: what was polled before counts its interval by the new time.
    StepsAhead,
    /// The state of all sources is again what it was at this time.
    Restores(Timestamp),
}

impl Fault {
    fn concerns(&self, site: usize) -> bool {
        self.site.is_none_or(|concerned| concerned == site)
    }

    /// Whether it was on at some time of this span.
    fn meets(&self, from: Timestamp, until: Timestamp) -> bool {
        self.from <= until && from <= self.until
    }
}

/// What is known of a run when its requests are judged.
pub(super) struct Requests<'a> {
    pub(super) intervals: Intervals,
    pub(super) journal: &'a [Exchange],
    pub(super) faults: &'a [Fault],
    /// The pauses between requests to a host, with the times from which they were configured.
    pub(super) pauses: &'a [(Timestamp, Duration)],
    pub(super) hosts_of_sites: &'a [String],
    pub(super) ended_at: Timestamp,
}

impl Requests<'_> {
    /// Complaints about the times at which publishers were asked.
    pub(super) fn judge(&self) -> Vec<String> {
        let sites = 0..self.hosts_of_sites.len();
        let mut complaints: Vec<String> = sites.flat_map(|site| self.judge_site(site)).collect();
        complaints.extend(self.judge_hosts());
        complaints
    }

    fn judge_site(&self, site: usize) -> Vec<String> {
        let mut complaints = Vec::new();
        let asked: Vec<&Exchange> = self.journal.iter().filter(|exchange| exchange.site == Some(site)).collect();
        for (place, last) in asked.iter().enumerate() {
            let next = asked.get(place + 1).map(|exchange| exchange.began_at);
            let is_set_anew = |fault: &&Fault| {
                matches!(fault.effect, Effect::StepsAhead | Effect::Restores(_))
                    && fault.meets(last.began_at, next.unwrap_or(self.ended_at))
            };
            let earliest = last.ended_at + self.wait_min(site, last);
            let latest = self.latest(site, last, &asked[..=place], next.unwrap_or(self.ended_at));
            if next.unwrap_or(self.ended_at) > latest {
                let until = next.map_or_else(|| "the end".to_owned(), |next| next.to_string());
                complaints.push(format!(
                    "site {site} was not asked from {} ({:?}) to {until}; at {latest} at the latest",
                    last.ended_at, last.deed
                ));
            }
            if next.is_some_and(|next| next < earliest) && !self.faults.iter().any(|fault| is_set_anew(&fault)) {
                complaints.push(format!("site {site} was asked before {earliest}, at {next:?}"));
            }
        }
        complaints
    }

    /// The shortest wait that this answer allows.
    fn wait_min(&self, site: usize, answer: &Exchange) -> Duration {
        match answer.deed {
            Deed::Answered(404 | 500) => BACKOFF_MAX.min(2 * self.intervals.min()),
            Deed::Answered(200 | 304)
                if self.is_cached(site, answer, |fault, at| fault.from < at && at < fault.until) =>
            {
                CACHED_FOR
            }
            _ => self.intervals.min(),
        }
    }

    fn wait_max(&self, site: usize, answer: &Exchange) -> Duration {
        match answer.deed {
            Deed::Answered(200 | 304) if !self.is_cached(site, answer, |fault, at| fault.meets(at, at)) => INTERVAL,
            _ => BACKOFF_MAX.max(CACHED_FOR),
        }
    }

    /// Whether an answer is to be kept. The clock stands still while a publisher changes its mind: an answer of that very
    /// moment may have come before or after, which `is_on` decides.
    fn is_cached(&self, site: usize, answer: &Exchange, is_on: impl Fn(&Fault, Timestamp) -> bool) -> bool {
        let is_so = |fault: &Fault| fault.effect == Effect::Caches && fault.concerns(site);
        self.faults.iter().any(|fault| is_so(fault) && is_on(fault, answer.began_at))
    }

    /// When the request after this one must have been made, if `until` is the time at which it was.
    fn latest(&self, site: usize, last: &Exchange, so_far: &[&Exchange], until: Timestamp) -> Timestamp {
        let restores = self.faults.iter().rev().find_map(|fault| match fault.effect {
            Effect::Restores(backed_up) if fault.meets(last.ended_at, until) => Some((fault.from, backed_up)),
            _ => None,
        });
        let Some((restored, backed_up)) = restores else {
            let latest = last_due(self.wait_max(site, last), last) + self.set_back(last.ended_at, until);
            return self.delayed(site, last.ended_at + self.intervals.min(), latest);
        };
        let known = so_far.iter().rev().find(|exchange| exchange.ended_at <= backed_up);
        let latest = known.map_or(restored, |known| last_due(self.wait_max(site, known), known)).max(restored);
        self.delayed(site, known.map_or(restored, |known| known.ended_at + self.intervals.min()), latest)
    }

    /// The same for a source that falls due between these times: what kept it from being asked.
    fn delayed(&self, site: usize, from: Timestamp, mut latest: Timestamp) -> Timestamp {
        let mut span = (from, latest + LATE_MAX);
        let mut faults: Vec<Fault> = self.faults.iter().copied().filter(|fault| fault.concerns(site)).collect();
        faults.extend(self.holds(site));
        faults.sort_by_key(|fault| fault.from);
        // What moves the requests that fail while something is down.
        let moves = |fault: &Fault| !matches!(fault.effect, Effect::Fails | Effect::Caches | Effect::Starts);
        let moving: Vec<Fault> = faults.iter().copied().filter(moves).collect();
        for fault in faults {
            // For some time after an outage the daemon does not know that it is over.
            let known_until = if fault.effect == Effect::Fails { fault.until + RECOVERY } else { fault.until };
            if !(Fault { until: known_until, ..fault }).meets(span.0, span.1) {
                continue;
            }
            match fault.effect {
                Effect::Delays => latest = latest.max(fault.until),
                Effect::Fails => {
                    // It fails again and again until then; if it is not known when, perhaps at the very end.
                    let is_moved = moving.iter().any(|other| other.meets(fault.from, fault.until));
                    let is_vague =
                        is_moved || latest.since(from) > 2 * LATE_MAX || self.intervals == Intervals::Adaptive;
                    let mut next = if is_vague { fault.until + BACKOFF_MAX } else { latest };
                    while next <= fault.until {
                        // At the end it counts whether each was late.
                        let is_last = next + BACKOFF_MAX + LATE_MAX > fault.until;
                        let late = if is_last && next + BACKOFF_MAX <= fault.until { Duration::ZERO } else { LATE_MAX };
                        next = next + BACKOFF_MAX + late;
                    }
                    let is_met = fault.meets(span.0, span.1);
                    latest = if is_met { latest.max(next + RECOVERY) } else { latest }.max(fault.until + RECOVERY);
                }
                Effect::Caches | Effect::StepsAhead | Effect::StepsBack(_) | Effect::Starts | Effect::Restores(_) => {
                    continue;
                }
            }
            span.1 = latest + LATE_MAX;
        }
        span.1
    }

    /// By how much a step back makes a wait longer that began then: none, unless it counts from a poll of an earlier
    /// process, whose clock may have been another one.
    fn set_back(&self, from: Timestamp, until: Timestamp) -> Duration {
        let starts = self.faults.iter().filter(|fault| fault.effect == Effect::Starts && fault.meets(from, until));
        let Some(first_start) = starts.map(|fault| fault.from).min() else { return Duration::ZERO };
        let size = |fault: &Fault| match fault.effect {
            Effect::StepsBack(size) if fault.meets(first_start, until) => Some(size),
            _ => None,
        };
        self.faults.iter().filter_map(size).sum::<Duration>().min(INTERVAL)
    }

    /// When the host of a site was held, because it asked for patience.
    fn holds(&self, site: usize) -> impl Iterator<Item = Fault> {
        let of_host = move |exchange: &&Exchange| *exchange.host == self.hosts_of_sites[site];
        self.journal.iter().filter(of_host).filter_map(move |exchange| {
            let until = exchange.ended_at + patience(exchange.deed)?;
            Some(Fault { site: Some(site), from: exchange.ended_at, until: until + RECOVERY, effect: Effect::Delays })
        })
    }

    /// Complaints about the pauses of hosts, and about requests in spite of `Retry-After`.
    fn judge_hosts(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut by_host = BTreeMap::<&str, Vec<&Exchange>>::new();
        for exchange in self.journal {
            by_host.entry(&exchange.host).or_default().push(exchange);
        }
        for (host, asked) in by_host {
            for pair in asked.windows(2) {
                let (ended, next) = (pair[0].ended_at, pair[1].began_at);
                if next < ended + self.pause(ended, next) && !pair[1].is_hop {
                    complaints.push(format!("host {host} was asked {:?} after {ended}", next.since(ended)));
                }
                let is_forgotten =
                    |fault: &Fault| matches!(fault.effect, Effect::Restores(_)) && fault.meets(ended, next);
                let wait = patience(pair[0].deed).unwrap_or_default();
                if next < ended + wait && !self.faults.iter().any(is_forgotten) {
                    complaints.push(format!(
                        "host {host} was asked {:?} after its Retry-After of {wait:?} at {ended}",
                        next.since(ended)
                    ));
                }
            }
            if asked.iter().any(|exchange| exchange.overlapped) {
                complaints.push(format!("host {host} got two requests at once"));
            }
        }
        complaints
    }

    /// The shortest pause that was configured at some time of this span.
    fn pause(&self, from: Timestamp, until: Timestamp) -> Duration {
        let before = self.pauses.iter().rev().find(|(since, _)| *since <= from);
        let within = self.pauses.iter().filter(|(since, _)| from < *since && *since <= until);
        before.into_iter().chain(within).map(|(_, pause)| *pause).min().unwrap_or_default()
    }
}

fn last_due(wait: Duration, last: &Exchange) -> Timestamp {
    last.ended_at + wait
}

fn patience(deed: Deed) -> Option<Duration> {
    match deed {
        Deed::Answered(429) => Some(Duration::from_secs(5400)),
        Deed::Answered(503) => Some(Duration::from_secs(9000)),
        _ => None,
    }
}

/// The time that ages are judged by.
#[derive(Clone, Copy, Debug)]
pub(super) struct JudgedTime {
    /// The latest so far: what is older may be gone.
    pub(super) latest: Timestamp,
    /// Two hours ago: what was older then has to be gone.
    pub(super) before: Timestamp,
}

/// Complaints about what is stored of a site. `births` are the true times at which its entries were published.
pub(super) fn judge_posts(
    site: usize,
    found: &SiteComparison,
    births: &[Timestamp],
    judged: JudgedTime,
    is_complete: bool,
) -> Vec<String> {
    let mut complaints = Vec::new();
    let birth = |number: u64| births[usize::try_from(number).expect("few entries")];
    if !found.doubled.is_empty() || !found.unknown.is_empty() || !found.outdated.is_empty() {
        complaints.push(format!("site {site}: {found:?}"));
    }
    let lost: Vec<_> = found.missing.iter().filter(|number| birth(**number) + AGE_MAX > judged.latest).collect();
    if is_complete && !lost.is_empty() {
        complaints.push(format!("site {site} lost entries {lost:?}; ages are judged by {judged:?}"));
    }
    let is_old = |number: &&u64| birth(**number) + AGE_MAX < judged.before;
    let kept: Vec<_> = found.stored_once.iter().filter(is_old).collect();
    if !kept.is_empty() {
        complaints.push(format!("site {site} still has old entries {kept:?}; ages are judged by {judged:?}"));
    }
    complaints
}
