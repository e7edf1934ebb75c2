//! Parameters of the rules.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use url::Url;

use super::interval::Scale;
use super::webhook::WebhookPolicy;
use crate::model::{Backlog, FailureKind, FullText, SourceType};

/// Parameters of the rules, from the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Interval of an active source without an interval of its own; the base of adaptive ones.
    pub interval: Duration,
    /// Intervals that follow from how often sources publish; none if all are fixed.
    pub adaptive: Option<AdaptivePolicy>,
    /// Permanent failures in a row that disable a source.
    pub max_failures: u32,
    /// Longest wait by backoff.
    pub max_backoff: Duration,
    /// Rests after runs of failures.
    pub rests: Rests,
    /// Pauses between two requests to one host.
    pub delays: Delays,
    /// Age limit of posts: older ones are not stored, and are removed unless they are used.
    pub article_age_max: Duration,
    /// Time without a new entry after which a source is silent; none for never.
    pub silent_after: Option<Duration>,
    /// How long the hash of a removed post is kept after the post left its feed.
    pub cleaned_memory: Duration,
    /// Age limit of audit records.
    pub audit_age_max: Duration,
    /// The most audit records that are kept.
    pub audit_records_max: u32,
    /// Age limit of events; those of posts last as long as their posts.
    pub event_age_max: Duration,
    /// The most events that are kept.
    pub events_max: u32,
    /// Longest wait by freshness of an answer.
    pub freshness_max: Duration,
    /// Longest wait by `Retry-After`.
    pub retry_after_max: Duration,
    /// Circuit breaker of a host.
    pub breaker: BreakerPolicy,
    /// Recognition of outages of our own network.
    pub outage: OutagePolicy,
    /// Window over which sources that are freed together are spread.
    pub spread: Duration,
    /// Number of days on which a permanent redirect has to lead to the same URL before it is believed.
    pub moved_after_days: u32,
    /// What is stored of entries.
    pub posts: PostPolicy,
    /// Deliveries to webhooks.
    pub webhooks: WebhookPolicy,
    /// What the history of polls keeps.
    pub history: HistoryPolicy,
}

/// Parameters of adaptive intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptivePolicy {
    pub interval_min: Duration,
    pub interval_max: Duration,
    /// Budget of all sources; without one it is what they would need at the base interval.
    pub requests_per_hour: Option<u32>,
    /// The scale in force, which the scheduler computes from the sources (`rules::budget`); none before that.
    pub scale: Option<Scale>,
}

impl AdaptivePolicy {
    /// The interval within the bounds.
    pub fn within(&self, interval: Duration) -> Duration {
        interval.clamp(self.interval_min, self.interval_max.max(self.interval_min))
    }
}

impl Default for AdaptivePolicy {
    fn default() -> AdaptivePolicy {
        AdaptivePolicy { interval_min: minutes(15), interval_max: hours(24), requests_per_hour: None, scale: None }
    }
}

/// What the history of polls keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryPolicy {
    /// Age limit of polls; zero for no history.
    pub age_max: Duration,
    /// About the most polls of all sources.
    pub polls_max: u64,
}

impl HistoryPolicy {
    pub const fn is_kept(&self) -> bool {
        !self.age_max.is_zero()
    }
}

impl Default for HistoryPolicy {
    fn default() -> HistoryPolicy {
        HistoryPolicy { age_max: hours(7 * 24), polls_max: 5_000_000 }
    }
}

/// What is stored of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostPolicy {
    /// Which entries older than their source become posts, unless the source says otherwise.
    pub backlog: Backlog,
    /// What becomes of a post whose entry changed.
    pub on_edit: OnEdit,
    /// Whether the HTML of entries is stored.
    pub keeps_html: bool,
    /// The most bytes that the texts of a post take.
    pub bytes_max: usize,
    /// The most previous revisions of an edited post that are kept.
    pub revisions_max: u32,
    /// Whether the pages of entries are fetched, unless the source says otherwise.
    pub full_text: FullText,
    /// Time from the first attempt to fetch a page to the second, and from the second to the third.
    pub page_retries: [Duration; 2],
}

/// What becomes of a post whose entry changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum OnEdit {
    /// It gets the new content.
    #[default]
    Update,
    /// It stays.
    Keep,
    /// It stays, and the new version becomes a post too.
    New,
}

impl Default for PostPolicy {
    fn default() -> PostPolicy {
        PostPolicy {
            backlog: Backlog::Skip,
            on_edit: OnEdit::Update,
            keeps_html: true,
            bytes_max: 1024 * 1024,
            revisions_max: 10,
            full_text: FullText::Off,
            page_retries: [minutes(10), hours(2)],
        }
    }
}

/// Parameters of the circuit breaker of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// Requests in a row without an answer that open the breaker.
    pub after: u32,
    /// Pause before the first probe; doubled with each probe without an answer.
    pub pause_first: Duration,
    /// Longest pause between two probes.
    pub pause_max: Duration,
}

/// Recognition of outages of our own network, and their probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutagePolicy {
    /// Number of hosts that have to be silent, with no answer in between; fewer if fewer are polled.
    pub hosts: u32,
    /// The pause before the first probe; doubled with each one.
    pub probe_first: Duration,
    /// The longest pause between two probes.
    pub probe_max: Duration,
    /// What is asked when an outage is suspected or on: any answer proves that our own network works. Without it, only
    /// the hosts of sources show that.
    pub probe_url: Option<Url>,
}

/// Rule for rests after one kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestRule {
    /// Failures of the kind in a row that start a rest; 0 for no rests.
    pub after: u32,
    /// Duration of a rest, also of one that a person started.
    pub cooldown: Duration,
}

impl RestRule {
    /// Whether a run of this many failures starts a rest.
    pub const fn is_reached(self, run: u32) -> bool {
        self.after > 0 && run >= self.after
    }
}

/// Rules for rests by kind of failure. A kind without a rule never starts a rest, which would hide what a person must
/// see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rests(BTreeMap<FailureKind, RestRule>);

impl Rests {
    pub fn for_kind(&self, kind: FailureKind) -> Option<RestRule> {
        self.0.get(&kind).copied()
    }

    pub fn set(&mut self, kind: FailureKind, rule: RestRule) {
        self.0.insert(kind, rule);
    }

    /// The rule of a kind if nothing is configured; none for kinds without a cooldown.
    fn default_rule(kind: FailureKind) -> Option<RestRule> {
        let rule = |after, cooldown_hours| Some(RestRule { after, cooldown: hours(cooldown_hours) });
        match kind {
            FailureKind::Unauthorized => rule(0, 24),
            FailureKind::Forbidden => rule(5, 24),
            FailureKind::NotFound => rule(3, 48),
            FailureKind::Gone => rule(1, 72),
            FailureKind::UpstreamFailure => rule(10, 6),
            FailureKind::Network => rule(10, 12),
            FailureKind::ParseError => rule(5, 24),
            FailureKind::RateLimited | FailureKind::Unexpected | FailureKind::Internal => None,
        }
    }
}

impl FromIterator<(FailureKind, RestRule)> for Rests {
    fn from_iter<I: IntoIterator<Item = (FailureKind, RestRule)>>(rules: I) -> Rests {
        Rests(rules.into_iter().collect())
    }
}

/// The configured pauses between two requests to one host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// By the source's type.
    pub by_type: HashMap<SourceType, Duration>,
    /// By host, in its canonical spelling.
    pub by_host: HashMap<String, Duration>,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            interval: minutes(60),
            adaptive: Some(AdaptivePolicy::default()),
            max_failures: 5,
            max_backoff: hours(24),
            rests: Rests::default(),
            delays: Delays::default(),
            article_age_max: hours(7 * 24),
            silent_after: Some(hours(30 * 24)),
            cleaned_memory: hours(30 * 24),
            audit_age_max: hours(90 * 24),
            audit_records_max: 100_000,
            event_age_max: hours(30 * 24),
            events_max: 100_000,
            freshness_max: hours(24),
            retry_after_max: hours(7 * 24),
            breaker: BreakerPolicy::default(),
            outage: OutagePolicy::default(),
            spread: minutes(10),
            moved_after_days: 3,
            posts: PostPolicy::default(),
            webhooks: WebhookPolicy::default(),
            history: HistoryPolicy::default(),
        }
    }
}

impl Default for BreakerPolicy {
    fn default() -> BreakerPolicy {
        BreakerPolicy { after: 5, pause_first: minutes(5), pause_max: hours(6) }
    }
}

impl Default for OutagePolicy {
    fn default() -> OutagePolicy {
        OutagePolicy { hosts: 5, probe_first: Duration::from_secs(30), probe_max: minutes(5), probe_url: None }
    }
}

impl Default for Rests {
    fn default() -> Rests {
        FailureKind::ALL.into_iter().filter_map(|kind| Some((kind, Rests::default_rule(kind)?))).collect()
    }
}

/// Whole minutes as a duration.
pub const fn minutes(count: u32) -> Duration {
    Duration::from_secs(count as u64 * 60)
}

/// Whole hours as a duration.
pub const fn hours(count: u32) -> Duration {
    Duration::from_secs(count as u64 * 3600)
}
