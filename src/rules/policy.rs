//! The settings that the rules follow.

use std::collections::HashMap;
use std::time::Duration;

use super::webhook::WebhookPolicy;
use crate::model::{FailureKind, SourceType};

/// Everything an operator can decide about when, how often and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// How often a healthy source is polled that has no interval of its own.
    pub interval: Duration,
    /// How many permanent failures in a row disable a source.
    pub max_failures: u32,
    /// The longest wait that backoff asks for.
    pub max_backoff: Duration,
    /// After which runs of failures a source rests, and for how long.
    pub rests: Rests,
    /// The pauses between two requests to one host.
    pub delays: Delays,
    /// What was published longer ago is not stored, and not kept unless it is used.
    pub article_age_max: Duration,
    /// How long the hash of a cleaned post is remembered after it left its feed.
    pub cleaned_memory: Duration,
    /// The longest wait that an answer's freshness can ask for.
    pub freshness_max: Duration,
    /// The longest wait that `Retry-After` can ask for.
    pub retry_after_max: Duration,
    /// When a silent host is left alone.
    pub breaker: BreakerPolicy,
    /// When our own network is taken to be down.
    pub outage: OutagePolicy,
    /// Sources that are freed together come back over this long.
    pub spread: Duration,
    /// On how many different days a permanent redirect has to lead to the same place before it is believed.
    pub moved_after_days: u32,
    /// How posts are sent on.
    pub webhooks: WebhookPolicy,
}

/// When a silent host is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// How many requests in a row without an answer open the breaker.
    pub after: u32,
    /// How long it stays open at first; doubled with each probe that gets no answer.
    pub pause_first: Duration,
    /// The longest that it stays open between two probes.
    pub pause_max: Duration,
}

/// When our own network is taken to be down, and how often that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutagePolicy {
    /// How many different hosts have to be silent, with none answering in between; fewer where fewer are polled.
    pub hosts: u32,
    /// The pause before the first probe; doubled with each one.
    pub probe_first: Duration,
    /// The longest pause between two probes.
    pub probe_max: Duration,
}

/// One row of the table of rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestRule {
    /// How many failures of the kind in a row start a rest; 0: none do.
    pub after: u32,
    /// How long a rest lasts, whoever started it.
    pub cooldown: Duration,
}

impl RestRule {
    /// Whether a run of this many failures starts a rest.
    pub const fn is_reached(self, run: u32) -> bool {
        self.after > 0 && run >= self.after
    }
}

/// The table of rests. Kinds that are not here never rest: a rest would hide what a person must see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rests {
    /// 401.
    pub unauthorized: RestRule,
    /// 403.
    pub forbidden: RestRule,
    /// 404.
    pub not_found: RestRule,
    /// 410.
    pub gone: RestRule,
    /// 5xx.
    pub upstream_failure: RestRule,
    /// No answer.
    pub network: RestRule,
    /// Unreadable.
    pub parse_error: RestRule,
}

impl Rests {
    /// The row for a kind.
    pub fn for_kind(&self, kind: FailureKind) -> Option<RestRule> {
        match kind {
            FailureKind::Unauthorized => Some(self.unauthorized),
            FailureKind::Forbidden => Some(self.forbidden),
            FailureKind::NotFound => Some(self.not_found),
            FailureKind::Gone => Some(self.gone),
            FailureKind::UpstreamFailure => Some(self.upstream_failure),
            FailureKind::Network => Some(self.network),
            FailureKind::ParseError => Some(self.parse_error),
            FailureKind::RateLimited | FailureKind::Unexpected | FailureKind::Internal => None,
        }
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
            max_failures: 5,
            max_backoff: hours(24),
            rests: Rests::default(),
            delays: Delays::default(),
            article_age_max: hours(7 * 24),
            cleaned_memory: hours(30 * 24),
            freshness_max: hours(24),
            retry_after_max: hours(7 * 24),
            breaker: BreakerPolicy::default(),
            outage: OutagePolicy::default(),
            spread: minutes(10),
            moved_after_days: 3,
            webhooks: WebhookPolicy::default(),
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
        OutagePolicy { hosts: 5, probe_first: Duration::from_secs(30), probe_max: minutes(5) }
    }
}

impl Default for Rests {
    fn default() -> Rests {
        let rule = |after, cooldown_hours| RestRule { after, cooldown: hours(cooldown_hours) };
        Rests {
            unauthorized: rule(0, 24),
            forbidden: rule(5, 24),
            not_found: rule(3, 48),
            gone: rule(1, 72),
            upstream_failure: rule(10, 6),
            network: rule(10, 12),
            parse_error: rule(5, 24),
        }
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
