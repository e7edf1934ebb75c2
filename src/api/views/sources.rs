//! Sources as they are sent and taken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::input::nullable;
use super::{AccessBody, PollAnswer};
use crate::model::{
    FailureClass, FailureKind, PodcastId, RestCause, Source, SourceAccess, SourceId, SourceType, Timestamp,
};
use crate::rules::shown_url::shown_url;
use crate::service::{AddedSource, NewSourceRequest, SourceDetails, SourcePatch};

/// Source with its settings and current state.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SourceView {
    /// Id of the source.
    pub id: SourceId,
    /// Grows with every write; also the ETag.
    pub version: i64,
    /// Where it is. Without its password for those who may only look.
    pub url: String,
    /// How the source is read.
    #[serde(rename = "type")]
    pub source_type: SourceType,
    /// Title given by a person.
    pub title: Option<String>,
    /// The podcast whose owner's keys are used.
    pub podcast_id: Option<PodcastId>,
    /// Interval of this source in minutes; null uses the configured one.
    pub poll_interval_minutes: Option<u32>,
    /// Its own pause after the previous request to its host.
    pub poll_delay_seconds: Option<u32>,
    /// Its own number of permanent failures that disable it.
    pub max_failures: Option<u32>,
    /// Its own ceiling on backoff.
    pub max_backoff_hours: Option<u32>,
    /// Labels of the source.
    pub labels: Vec<String>,
    /// Whether a login or headers of its own are sent with its requests.
    pub has_access: bool,
    /// The host that it is at.
    pub host: Option<String>,
    /// Where it stands: active, backing_off, resting or disabled.
    pub state: String,
    /// Whether it is enabled and not resting.
    pub feed_active: bool,
    /// False once a person or failures disabled it; `PATCH` and `enable` enable it again.
    pub enabled: bool,
    /// Why it is not enabled.
    pub disabled_reason: Option<String>,
    /// When the rest began; null while not resting.
    pub feed_disabled_at: Option<Timestamp>,
    /// Why it rests: a kind of failure, or a person's words.
    pub feed_disable_reason: Option<String>,
    /// Who put it to rest: failures, or a person or program by `feed-disable`.
    #[schemars(extend("enum" = ["failures", "person", null]))]
    pub feed_disabled_by: Option<String>,
    /// End of the cooldown, after which it is polled again; null if it does not rest or only a person ends the rest.
    pub feed_disabled_until: Option<Timestamp>,
    /// When the source was added.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// Time of the first poll.
    pub first_polled_at: Option<Timestamp>,
    /// The last poll; none before the first.
    pub last_polled: Option<Timestamp>,
    /// When a person last asked for a poll.
    pub poll_requested_at: Option<Timestamp>,
    /// The last answer that was of use.
    pub last_success_at: Option<Timestamp>,
    /// The last answer with entries.
    pub last_read_at: Option<Timestamp>,
    /// No request before this moment, says the publisher.
    pub retry_after: Option<Timestamp>,
    /// The last answer stays fresh until then.
    pub fresh_until: Option<Timestamp>,
    /// Failures since the last success.
    pub consecutive_failures: u32,
    /// Permanent ones in a row.
    pub consecutive_permanent_failures: u32,
    /// Whether the last failure may pass by itself.
    pub last_failure_type: Option<FailureClass>,
    /// What kind of failure the last one was.
    pub last_error_type: Option<FailureKind>,
    /// The last failure in words.
    pub last_error: Option<String>,
    /// Where permanent redirects lead, as long as that is not believed yet.
    pub moved_to: Option<String>,
}

/// A source to be added.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSourceBody {
    /// Where it is: http or https; for X accounts also a bare name.
    pub url: String,
    /// How it is read; without it, as an X account if it is at x.com, else as a feed (rss).
    #[serde(rename = "type", default)]
    pub source_type: Option<SourceType>,
    /// Title given by a person.
    #[serde(default)]
    pub title: Option<String>,
    /// The podcast whose owner's keys are used.
    #[serde(default)]
    pub podcast_id: Option<PodcastId>,
    /// Its own interval, 1 to 525600.
    #[serde(default)]
    pub poll_interval_minutes: Option<u32>,
    /// Its own pause after the previous request to its host, 0 to 86400.
    #[serde(default)]
    pub poll_delay_seconds: Option<u32>,
    /// Its own number of permanent failures that disable it, 1 to 1000000.
    #[serde(default)]
    pub max_failures: Option<u32>,
    /// Its own ceiling on backoff, 1 to 8760.
    #[serde(default)]
    pub max_backoff_hours: Option<u32>,
    /// Its labels, the outermost folder first.
    #[serde(default)]
    pub labels: Vec<String>,
    /// What it needs to be let in.
    #[serde(default)]
    pub access: Option<AccessBody>,
    /// Poll it at once and keep what is found; if that fails, do not add it.
    #[serde(default)]
    pub first_poll: bool,
    /// Add it although its first poll fails.
    #[serde(default)]
    pub anyway: bool,
}

/// A source that was added.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatedSource {
    /// Source that was added.
    pub source: SourceView,
    /// What became of its first poll, if one was asked for.
    pub first_poll: Option<PollAnswer>,
    /// What it needs to be read and does not have, such as an X key, and how to give it.
    pub lacks: Option<String>,
}

/// What is to be changed; what is left out stays, null takes a setting away.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SourceChanges {
    /// Another URL: what was learned about the old one is forgotten.
    pub url: Option<String>,
    /// New type; what was learned about the source starts afresh.
    #[serde(rename = "type")]
    pub source_type: Option<SourceType>,
    /// New title; null removes it.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub title: Option<Option<String>>,
    /// The podcast whose owner's keys are used.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PodcastId>")]
    pub podcast_id: Option<Option<PodcastId>>,
    /// New interval in minutes; null uses the configured one.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub poll_interval_minutes: Option<Option<u32>>,
    /// Its own pause after the previous request to its host.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub poll_delay_seconds: Option<Option<u32>>,
    /// Its own number of permanent failures that disable it.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub max_failures: Option<Option<u32>>,
    /// Its own ceiling on backoff.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub max_backoff_hours: Option<Option<u32>>,
    /// These labels and no others.
    pub labels: Option<Vec<String>>,
    /// From false to true: clears the failures, the reason of the disabling and any rest, and polls it at once. From
    /// true to false: disables it without a reason (`POST /sources/{id}/disable` takes one). Otherwise changes nothing.
    pub enabled: Option<bool>,
}

impl SourceView {
    /// The source as a caller sees it: with the credentials in its URL, or without.
    pub(in crate::api) fn new(details: SourceDetails, sees_secrets: bool) -> SourceView {
        let SourceDetails { source, status, host, labels, has_access, rest_until } = details;
        let Source { settings, state, .. } = source;
        let url = if sees_secrets { settings.url } else { shown_url(&settings.url) };
        let (reason, by) = match state.rest.as_ref().map(|rest| &rest.cause) {
            None => (None, None),
            Some(RestCause::Failures(kind)) => (Some(kind.to_string()), Some("failures".to_owned())),
            Some(RestCause::Reported(kind)) => (Some(kind.to_string()), Some("person".to_owned())),
            Some(RestCause::Person(reason)) => (Some(reason.clone()), Some("person".to_owned())),
        };
        let last_polled = state.polled_at();
        let last = state.failures.last;
        SourceView {
            id: source.id,
            version: source.version,
            url,
            source_type: settings.source_type,
            title: settings.title,
            podcast_id: settings.podcast_id,
            poll_interval_minutes: settings.poll_interval_minutes,
            poll_delay_seconds: settings.poll_delay_seconds,
            max_failures: settings.max_failures,
            max_backoff_hours: settings.max_backoff_hours,
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
            moved_to: state.moved.map(|moved| moved.to),
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
            labels: changes.labels,
            enabled: changes.enabled,
        }
    }
}
