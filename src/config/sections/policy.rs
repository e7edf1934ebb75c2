//! `source.*`, `posts.*`, `history.*`, `host.*`, `outage.*`, `audit.*`, `events.*` and `webhooks.*`: the parameters of the rules.

use std::str::FromStr;
use std::sync::LazyLock;
use std::time::Duration;

use super::super::effective::Effective;
use super::super::kind::KeyKind;
use super::super::problem::ConfigProblem;
use super::super::schema::SchemaKey;
use super::{DAY_SECONDS, WEEK_MINUTES, intervals};
use crate::model::{FailureKind, SourceType};
use crate::rules::webhook::WebhookPolicy;
use crate::rules::{BreakerPolicy, Delays, HistoryPolicy, OutagePolicy, Policy, PostPolicy, RestRule, hours, minutes};

const YEAR_HOURS: u64 = 8_760;
/// An age that no post reaches.
const FOR_EVER: Duration = hours(24 * 365 * 1000);

pub(super) const KEYS: &[SchemaKey] = &[
    SchemaKey::count("source.default-interval-minutes", 1, 525_600, "minutes between two polls of an active source"),
    SchemaKey::count("source.max-failures", 1, 1_000_000, "permanent failures in a row that disable a source"),
    SchemaKey::count("source.max-backoff-hours", 1, YEAR_HOURS, "hours that backoff waits at most"),
    SchemaKey::count("source.max-article-age-days", 0, 36_500, "days after which a post is too old; 0 for never"),
    SchemaKey::count(
        "source.silent-days",
        0,
        36_500,
        "days without a new entry after which a source is silent; 0 for never",
    ),
    SchemaKey::new(
        "source.backlog",
        KeyKind::Choice(&["skip", "keep"]),
        "what happens to entries that are older than their source",
    ),
    SchemaKey::new(
        "source.on-edit",
        KeyKind::Choice(&["update", "keep", "new"]),
        "what happens to a post whose entry changed",
    ),
    SchemaKey::new(
        "source.full-text",
        KeyKind::Choice(&["off", "when-short", "always"]),
        "whether the pages of entries are fetched for their text",
    ),
    SchemaKey::new("posts.keep-html", KeyKind::Flag, "whether the HTML of entries is stored"),
    SchemaKey::count("posts.size-max", 1_024, 1 << 28, "bytes of the texts of a post"),
    SchemaKey::count("posts.revisions-max", 0, 100, "previous revisions of an edited post; 0 keeps none"),
    SchemaKey::count("history.days", 0, 3_650, "days that polls are kept; 0 keeps none"),
    SchemaKey::count("history.max-polls", 1_000, 1_000_000_000, "polls of all sources that are kept at most"),
    SchemaKey::count("source.remember-cleaned-days", 1, 36_500, "days that a cleaned post is remembered"),
    SchemaKey::count(
        "source.freshness-ceiling-hours",
        0,
        YEAR_HOURS,
        "hours that an answer's freshness can ask for at most",
    ),
    SchemaKey::count("source.retry-after-ceiling-days", 1, 365, "days that Retry-After can ask for at most"),
    SchemaKey::count("source.moved-after-days", 1, 365, "days of permanent redirects after which a new URL is saved"),
    SchemaKey::count(
        "source.host-overrides.<host>.poll-delay-seconds",
        0,
        DAY_SECONDS,
        "seconds between two requests to this host",
    ),
    SchemaKey::count(
        "host.breaker-after-failures",
        1,
        1_000_000,
        "requests in a row without an answer that open the breaker",
    ),
    SchemaKey::count(
        "host.breaker-pause-minutes",
        1,
        WEEK_MINUTES,
        "minutes before the first probe of a host with an open breaker",
    ),
    SchemaKey::count("host.breaker-pause-max-minutes", 1, WEEK_MINUTES, "minutes between two probes of a host at most"),
    SchemaKey::count("host.spread-minutes", 0, 1_440, "minutes over which waiting polls are spread"),
    SchemaKey::count("outage.hosts", 2, 1_000, "unreachable hosts in a row that indicate an outage of our own network"),
    SchemaKey::count("outage.probe-seconds", 1, 3_600, "seconds before the first probe of an outage"),
    SchemaKey::count("outage.probe-max-seconds", 1, 3_600, "seconds between two probes of an outage at most"),
    SchemaKey::new("outage.probe-url", KeyKind::ProbeUrl, "what answers while our own network is up"),
    SchemaKey::count("audit.days", 1, 36_500, "days that audit records are kept"),
    SchemaKey::count("audit.records-max", 100, 10_000_000, "audit records that are kept at most"),
    SchemaKey::count("events.days", 1, 36_500, "days that events are kept"),
    SchemaKey::count("events.max", 100, 10_000_000, "events that are kept at most"),
    SchemaKey::count("webhooks.timeout-seconds", 1, 50, "seconds that a webhook may take to answer"),
    SchemaKey::count("webhooks.posts-max", 1, 1_000, "posts of one delivery to a webhook"),
    SchemaKey::count("webhooks.body-bytes-max", 1_024, 1 << 28, "bytes of one delivery to a webhook"),
    SchemaKey::count("webhooks.retry-first-seconds", 1, 3_600, "seconds before a failed delivery is made again"),
    SchemaKey::count(
        "webhooks.retry-max-minutes",
        1,
        WEEK_MINUTES,
        "minutes before a failed delivery is made again at most",
    ),
    SchemaKey::count("webhooks.failures-max", 1, 1_000_000, "failures in a row that disable a webhook"),
];

/// The delay of each source type, and the rests of each kind of failure.
pub(super) static DERIVED_KEYS: LazyLock<Vec<SchemaKey>> = LazyLock::new(|| {
    // Made once, so the texts live as long as the program.
    let count = |key: String, min, max, meaning: String| SchemaKey::count(key.leak(), min, max, meaning.leak());
    let delays = SourceType::ALL.into_iter().map(|source_type| {
        let meaning = format!("seconds between two requests to a host for sources of type {source_type}");
        count(delay_key(source_type), 0, DAY_SECONDS, meaning)
    });
    let rests = kinds_with_cooldown().flat_map(|kind| {
        let [after, cooldown_hours] = rest_keys(kind);
        [
            count(after, 0, 1_000_000, format!("{kind} failures in a row that start a rest")),
            count(cooldown_hours, 1, YEAR_HOURS, format!("hours of rest after {kind} failures")),
        ]
    });
    delays.chain(rests).collect()
});

fn delay_key(source_type: SourceType) -> String {
    format!("source.poll-delay-seconds.{source_type}")
}

fn kinds_with_cooldown() -> impl Iterator<Item = FailureKind> {
    FailureKind::ALL.into_iter().filter(|kind| kind.has_cooldown())
}

fn rest_keys(kind: FailureKind) -> [String; 2] {
    ["after", "cooldown-hours"].map(|key| format!("source.rest.{}.{key}", kind.name().replace('_', "-")))
}

pub(in crate::config) fn policy(values: &Effective, problems: &mut Vec<ConfigProblem>) -> Policy {
    let delay = |source_type| (source_type, values.seconds(&delay_key(source_type)));
    let days = |key| hours(24 * values.count_u32(key));
    Policy {
        interval: minutes(values.count_u32("source.default-interval-minutes")),
        adaptive: intervals::adaptive(values, problems),
        max_failures: values.count_u32("source.max-failures"),
        max_backoff: hours(values.count_u32("source.max-backoff-hours")),
        rests: kinds_with_cooldown().map(|kind| (kind, rest(values, kind))).collect(),
        delays: Delays {
            by_type: SourceType::ALL.into_iter().map(delay).collect(),
            by_host: values.host_delays().collect(),
        },
        article_age_max: match values.count_u32("source.max-article-age-days") {
            0 => FOR_EVER,
            days => hours(24 * days),
        },
        silent_after: Some(days("source.silent-days")).filter(|time| !time.is_zero()),
        cleaned_memory: days("source.remember-cleaned-days"),
        audit_age_max: days("audit.days"),
        audit_records_max: values.count_u32("audit.records-max"),
        event_age_max: days("events.days"),
        events_max: values.count_u32("events.max"),
        freshness_max: hours(values.count_u32("source.freshness-ceiling-hours")),
        retry_after_max: days("source.retry-after-ceiling-days"),
        breaker: BreakerPolicy {
            after: values.count_u32("host.breaker-after-failures"),
            pause_first: minutes(values.count_u32("host.breaker-pause-minutes")),
            pause_max: minutes(values.count_u32("host.breaker-pause-max-minutes")),
        },
        outage: OutagePolicy {
            hosts: values.count_u32("outage.hosts"),
            probe_first: values.seconds("outage.probe-seconds"),
            probe_max: values.seconds("outage.probe-max-seconds"),
            probe_url: values.url("outage.probe-url").cloned(),
        },
        spread: minutes(values.count_u32("host.spread-minutes")),
        moved_after_days: values.count_u32("source.moved-after-days"),
        posts: PostPolicy {
            backlog: choice(values, "source.backlog"),
            on_edit: choice(values, "source.on-edit"),
            keeps_html: values.flag("posts.keep-html"),
            bytes_max: values.count_usize("posts.size-max"),
            revisions_max: values.count_u32("posts.revisions-max"),
            full_text: choice(values, "source.full-text"),
            ..PostPolicy::default()
        },
        webhooks: WebhookPolicy {
            timeout: values.seconds("webhooks.timeout-seconds"),
            posts_max: values.count_u32("webhooks.posts-max"),
            body_bytes_max: values.count_usize("webhooks.body-bytes-max"),
            retry_first: values.seconds("webhooks.retry-first-seconds"),
            retry_max: minutes(values.count_u32("webhooks.retry-max-minutes")),
            failures_max: values.count_u32("webhooks.failures-max"),
        },
        history: HistoryPolicy { age_max: days("history.days"), polls_max: values.count("history.max-polls") },
    }
}

fn choice<T: FromStr<Err: std::fmt::Debug>>(values: &Effective, key: &str) -> T {
    values.choice(key).parse().expect("the schema allows the names of choices only")
}

fn rest(values: &Effective, kind: FailureKind) -> RestRule {
    let [after, cooldown_hours] = rest_keys(kind);
    RestRule { after: values.count_u32(&after), cooldown: hours(values.count_u32(&cooldown_hours)) }
}
