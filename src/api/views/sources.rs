//! Wire types for sources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::input::nullable;
use super::{AccessBody, PollAnswer, SubscriptionView};
use crate::model::{
    Backlog, FailureClass, FailureKind, FullText, PodcastId, PushUse, RestCause, Source, SourceAccess, SourceId,
    SourceType, Timestamp,
};
use crate::rules::shown_url::shown_url;
use crate::service::{AddedSource, LabelPatch, NewSourceRequest, SourceDetails, SourcePatch};

/// Source with its settings and current state.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SourceView {
    /// Id of the source.
    pub id: SourceId,
    /// Version of the source, incremented by every change; also its ETag.
    pub version: i64,
    /// URL; without its password for clients with the scope `read`.
    pub url: String,
    /// How the source is read.
    #[serde(rename = "type")]
    pub source_type: SourceType,
    /// Title set by an operator.
    pub title: Option<String>,
    /// Title in the feed; shown if there is no `title`.
    #[serde(default)]
    pub feed_title: Option<String>,
    /// Podcast whose owner's X key is used; only sources of X accounts need one.
    pub podcast_id: Option<PodcastId>,
    /// Interval of this source in minutes; null uses the configured one.
    pub poll_interval_minutes: Option<u32>,
    /// Pause after the previous request to its host in seconds; null uses the configured one.
    pub poll_delay_seconds: Option<u32>,
    /// Number of permanent failures that disables the source; null uses the configured one.
    pub max_failures: Option<u32>,
    /// Maximum backoff in hours; null uses the configured one.
    pub max_backoff_hours: Option<u32>,
    /// Which entries older than the source are stored: `skip`, `keep` or `all`; null uses the configured choice.
    #[serde(default)]
    pub backlog: Option<Backlog>,
    /// Whether the pages of entries are fetched for their text; null uses the configured choice.
    #[serde(default)]
    pub full_text: Option<FullText>,
    /// User agent of requests for the source; null uses the configured one.
    #[serde(default)]
    pub user_agent: Option<String>,
    /// Proxy of requests for the source, or `none`; null uses the configured one.
    #[serde(default)]
    pub proxy: Option<String>,
    /// Whether pushes of hubs (WebSub) are used: `on` or `off`; null is `on`.
    #[serde(default)]
    pub websub: Option<PushUse>,
    /// Labels of the source.
    pub labels: Vec<String>,
    /// Whether requests for the source carry a login or headers.
    pub has_access: bool,
    /// Host of the source.
    pub host: Option<String>,
    /// State: `active`, `backing_off`, `resting` or `disabled`.
    #[schemars(extend("enum" = ["active", "backing_off", "resting", "disabled"]))]
    pub state: String,
    /// Whether the source is enabled and not resting.
    pub feed_active: bool,
    /// False if an operator or failures disabled the source; `PATCH` and `enable` enable it again.
    pub enabled: bool,
    /// Reason for being disabled.
    pub disabled_reason: Option<String>,
    /// When the rest began; null while not resting.
    pub feed_disabled_at: Option<Timestamp>,
    /// Reason for the rest: a kind of failure, or the reason given to `feed-disable`.
    pub feed_disable_reason: Option<String>,
    /// Origin of the rest: `failures`, or `person` for `feed-disable`.
    #[schemars(extend("enum" = ["failures", "person", null]))]
    pub feed_disabled_by: Option<String>,
    /// End of the cooldown; null if the source does not rest, or rests until `feed-enable`.
    pub feed_disabled_until: Option<Timestamp>,
    /// When the source was added.
    pub created_at: Timestamp,
    /// When the source was last changed.
    pub updated_at: Timestamp,
    /// Time of the first poll.
    pub first_polled_at: Option<Timestamp>,
    /// Time of the last poll.
    pub last_polled: Option<Timestamp>,
    /// When a poll was last requested.
    pub poll_requested_at: Option<Timestamp>,
    /// Time of the last successful poll.
    pub last_success_at: Option<Timestamp>,
    /// Time of the last poll with a new document.
    pub last_read_at: Option<Timestamp>,
    /// No request before this time, from `Retry-After` or the reset of a rate limit.
    pub retry_after: Option<Timestamp>,
    /// End of the freshness of the last response (`Cache-Control`, `Expires`).
    pub fresh_until: Option<Timestamp>,
    /// Failures since the last success.
    pub consecutive_failures: u32,
    /// Consecutive permanent failures.
    pub consecutive_permanent_failures: u32,
    /// Class of the last failure: `transient` or `permanent`.
    pub last_failure_type: Option<FailureClass>,
    /// Kind of the last failure.
    pub last_error_type: Option<FailureKind>,
    /// Message of the last failure.
    pub last_error: Option<String>,
    /// Whether the feed has had different entries with the same body, so that a body does not identify an entry.
    #[serde(default)]
    pub bodies_repeat: bool,
    /// Number of polls after which entries may be missing: none of the entries was known, although the feed was read
    /// before.
    #[serde(default)]
    pub gaps: u32,
    /// Time of the last of these polls.
    #[serde(default)]
    pub last_gap_at: Option<Timestamp>,
    /// About how many new entries a day the source publishes; null until that is known.
    #[serde(default)]
    pub entries_per_day: Option<f64>,
    /// Target of permanent redirects that has not become the source's URL yet.
    pub moved_to: Option<String>,
    /// Hubs that the feed names (WebSub), in the order in which they are tried.
    #[serde(default)]
    pub hubs: Vec<String>,
    /// Topic that is subscribed to at them.
    #[serde(default)]
    pub hub_topic: Option<String>,
    /// Last verified push that no poll has followed.
    #[serde(default)]
    pub pushed_at: Option<Timestamp>,
    /// Polls in a row that a push made due and that found something new; from three on, the interval stretches.
    #[serde(default)]
    pub push_streak: u32,
    /// Subscription at a hub; only where a single source is asked for.
    #[serde(default)]
    pub subscription: Option<SubscriptionView>,
}

/// Source to add.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSourceBody {
    /// URL (http or https); for an X account also its name.
    pub url: String,
    /// Type; by default twitter for a URL at x.com, otherwise rss.
    #[serde(rename = "type", default)]
    pub source_type: Option<SourceType>,
    /// Title set by an operator.
    #[serde(default)]
    pub title: Option<String>,
    /// Podcast whose owner's X key is used; only sources of X accounts need one.
    #[serde(default)]
    pub podcast_id: Option<PodcastId>,
    /// Interval between polls in minutes, 1 to 525600; null uses the configured one.
    #[serde(default)]
    pub poll_interval_minutes: Option<u32>,
    /// Pause after the previous request to its host in seconds, 0 to 86400; null uses the configured one.
    #[serde(default)]
    pub poll_delay_seconds: Option<u32>,
    /// Number of permanent failures that disables the source, 1 to 1000000; null uses the configured one.
    #[serde(default)]
    pub max_failures: Option<u32>,
    /// Maximum backoff in hours, 1 to 8760; null uses the configured one.
    #[serde(default)]
    pub max_backoff_hours: Option<u32>,
    /// Which entries older than the source are stored: `skip`, `keep` or `all`; null uses the configured choice.
    #[serde(default)]
    pub backlog: Option<Backlog>,
    /// Whether the pages of entries are fetched for their text; null uses the configured choice.
    #[serde(default)]
    pub full_text: Option<FullText>,
    /// User agent of requests for the source and for the robots.txt that governs it; null uses the configured one.
    #[serde(default)]
    pub user_agent: Option<String>,
    /// Proxy of requests for the source: `none`, or a URL with http, socks5 or socks5h, without a login; null uses the
    /// configured one. Its address has to be allowed, like that of a source.
    #[serde(default)]
    pub proxy: Option<String>,
    /// Whether pushes of hubs (WebSub) are used: `on` or `off`; null is `on`.
    #[serde(default)]
    pub websub: Option<PushUse>,
    /// Labels, outermost folder first.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Login and headers.
    #[serde(default)]
    pub access: Option<AccessBody>,
    /// Poll the source at once and store the result; do not add it if the poll fails.
    #[serde(default)]
    pub first_poll: bool,
    /// Add the source even if its first poll fails.
    #[serde(default)]
    pub anyway: bool,
}

/// Result of adding a source.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatedSource {
    /// Added source.
    pub source: SourceView,
    /// Result of the first poll, if one was requested.
    pub first_poll: Option<PollAnswer>,
    /// What is missing to poll the source, such as an X key, and how to provide it.
    pub lacks: Option<String>,
}

/// Changes of a source; absent fields stay unchanged, null removes a setting.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SourceChanges {
    /// New URL; failures, validators and watermark are reset.
    pub url: Option<String>,
    /// New type; failures, validators and watermark are reset.
    #[serde(rename = "type")]
    pub source_type: Option<SourceType>,
    /// New title; null removes it.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub title: Option<Option<String>>,
    /// Podcast whose owner's X key is used; only sources of X accounts need one.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PodcastId>")]
    pub podcast_id: Option<Option<PodcastId>>,
    /// New interval in minutes; null uses the configured one.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub poll_interval_minutes: Option<Option<u32>>,
    /// Pause after the previous request to its host in seconds; null uses the configured one.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub poll_delay_seconds: Option<Option<u32>>,
    /// Number of permanent failures that disables the source; null uses the configured one.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub max_failures: Option<Option<u32>>,
    /// Maximum backoff in hours; null uses the configured one.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub max_backoff_hours: Option<Option<u32>>,
    /// Which entries older than the source are stored: `skip`, `keep` or `all`; null uses the configured choice.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Backlog>")]
    pub backlog: Option<Option<Backlog>>,
    /// Whether the pages of entries are fetched for their text; null uses the configured choice.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<FullText>")]
    pub full_text: Option<Option<FullText>>,
    /// User agent of requests for the source and for the robots.txt that governs it; null uses the configured one.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub user_agent: Option<Option<String>>,
    /// Proxy of requests for the source: `none`, or a URL with http, socks5 or socks5h, without a login; null uses the
    /// configured one.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub proxy: Option<Option<String>>,
    /// Whether pushes of hubs (WebSub) are used: `on` or `off`; null is `on`.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PushUse>")]
    pub websub: Option<Option<PushUse>>,
    /// New labels, replacing all previous ones.
    pub labels: Option<Vec<String>>,
    /// Labels to add; a source has at most 16.
    pub add_labels: Vec<String>,
    /// Labels to remove; those that the source does not have are ignored.
    pub remove_labels: Vec<String>,
    /// New name of one label; the label keeps its place. A source without it keeps its labels.
    pub rename_label: Option<LabelRename>,
    /// From false to true: clears failures, disabled_reason and any rest, and makes the source due at once. From true
    /// to false: disables it without a reason (`POST /sources/{id}/disable` takes one). The current value changes
    /// nothing.
    pub enabled: Option<bool>,
}

/// New name of a label.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelRename {
    /// Current name.
    pub from: String,
    /// New name.
    pub to: String,
}

impl SourceView {
    /// Its title, or its URL if it has none.
    pub fn name(&self) -> &str {
        self.title.as_deref().or(self.feed_title.as_deref()).unwrap_or(&self.url)
    }

    /// The source as a caller sees it: with the credentials in its URLs, or without.
    pub(in crate::api) fn new(details: SourceDetails, sees_secrets: bool) -> SourceView {
        let SourceDetails { source, status, host, labels, has_access, rest_until, entries_per_day, subscription } =
            details;
        let Source { settings, state, .. } = source;
        let url = if sees_secrets { settings.url } else { shown_url(&settings.url) };
        let (reason, by) = match state.rest.as_ref().map(|rest| &rest.cause) {
            None => (None, None),
            Some(RestCause::Failures(kind)) => (Some(kind.to_string()), Some("failures".to_owned())),
            Some(RestCause::Reported(kind)) => (Some(kind.to_string()), Some("person".to_owned())),
            Some(RestCause::Person(reason)) => (Some(reason.clone()), Some("person".to_owned())),
        };
        let last_polled = state.polled_at();
        let offer = state.push.offer.as_ref();
        let hubs = offer.map(|offer| offer.hubs.iter().map(|hub| shown_url(hub)).collect()).unwrap_or_default();
        let hub_topic = offer.map(|offer| shown_url(&offer.topic));
        let last = state.failures.last;
        SourceView {
            id: source.id,
            version: source.version,
            url,
            source_type: settings.source_type,
            title: settings.title,
            feed_title: state.feed_title,
            podcast_id: settings.podcast_id,
            poll_interval_minutes: settings.poll_interval_minutes,
            poll_delay_seconds: settings.poll_delay_seconds,
            max_failures: settings.max_failures,
            max_backoff_hours: settings.max_backoff_hours,
            backlog: settings.backlog,
            full_text: settings.full_text,
            user_agent: settings.user_agent,
            proxy: settings.proxy.map(|proxy| proxy.to_string()),
            websub: settings.websub,
            labels,
            has_access,
            host: host.map(|host| host.to_string()),
            state: status.to_string(),
            feed_active: status.is_feed_active(),
            enabled: state.enabled,
            disabled_reason: state.disabled_reason,
            feed_disabled_at: state.rest.as_ref().map(|rest| rest.since),
            feed_disable_reason: reason,
            feed_disabled_by: by,
            feed_disabled_until: rest_until,
            created_at: source.created_at,
            updated_at: source.updated_at,
            first_polled_at: state.first_polled_at,
            last_polled,
            poll_requested_at: state.poll_requested_at,
            last_success_at: state.last_success_at,
            last_read_at: state.last_read_at,
            retry_after: state.hints.retry_after,
            fresh_until: state.hints.fresh_until,
            consecutive_failures: state.failures.consecutive,
            consecutive_permanent_failures: state.failures.consecutive_permanent,
            last_failure_type: last.as_ref().map(|last| last.class),
            last_error_type: last.as_ref().map(|last| last.kind),
            last_error: last.map(|last| last.error),
            bodies_repeat: state.bodies_repeat,
            gaps: state.gaps,
            last_gap_at: state.last_gap_at,
            entries_per_day,
            hubs,
            hub_topic,
            pushed_at: state.push.pushed_at,
            push_streak: state.push.streak,
            subscription: subscription.map(SubscriptionView::from),
            moved_to: state.moved.map(|moved| if sees_secrets { moved.to } else { shown_url(&moved.to) }),
        }
    }
}

impl CreatedSource {
    pub(in crate::api) fn new(added: AddedSource, sees_secrets: bool) -> CreatedSource {
        let AddedSource { source, first_poll, lacks } = added;
        let source = SourceView::new(source, sees_secrets);
        CreatedSource { source, first_poll: first_poll.map(PollAnswer::from), lacks }
    }
}

impl From<NewSourceBody> for NewSourceRequest {
    fn from(body: NewSourceBody) -> NewSourceRequest {
        NewSourceRequest {
            url: body.url,
            source_type: body.source_type,
            title: body.title,
            podcast_id: body.podcast_id,
            poll_interval_minutes: body.poll_interval_minutes,
            poll_delay_seconds: body.poll_delay_seconds,
            max_failures: body.max_failures,
            max_backoff_hours: body.max_backoff_hours,
            backlog: body.backlog,
            full_text: body.full_text,
            user_agent: body.user_agent,
            proxy: body.proxy,
            websub: body.websub,
            labels: body.labels,
            access: body.access.map(SourceAccess::from),
        }
    }
}

impl From<SourceChanges> for SourcePatch {
    fn from(changes: SourceChanges) -> SourcePatch {
        SourcePatch {
            url: changes.url,
            source_type: changes.source_type,
            title: changes.title,
            podcast_id: changes.podcast_id,
            poll_interval_minutes: changes.poll_interval_minutes,
            poll_delay_seconds: changes.poll_delay_seconds,
            max_failures: changes.max_failures,
            max_backoff_hours: changes.max_backoff_hours,
            backlog: changes.backlog,
            full_text: changes.full_text,
            user_agent: changes.user_agent,
            proxy: changes.proxy,
            websub: changes.websub,
            labels: LabelPatch {
                set: changes.labels,
                rename: changes.rename_label.map(|rename| (rename.from, rename.to)),
                remove: changes.remove_labels,
                add: changes.add_labels,
            },
            enabled: changes.enabled,
        }
    }
}
