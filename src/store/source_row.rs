//! The row of a source: its columns, their values and their reader, in the same order.
//!
//! Statements in `sql/` name these columns by group (`statement` fills them in), so a new column is added here, to the
//! model and to a migration of each engine.

use std::borrow::Cow;

use crate::model::{
    FailureKind, FailureRun, FailureState, Hints, HostKey, HubOffer, LastFailure, Moved, PodcastId, PublishingHistory,
    PushState, Rest, RestCause, Source, SourceId, SourceSettings, SourceState, SourceType, Timestamp, Validators,
};

use super::quarantine::SOURCES;
use super::rows::{ColumnSpec, Columns, Value, required, storable};
use super::{Result, StoreError};

/// Values of `feed_disabled_by`.
const BY_FAILURES: &str = "failures";
const BY_PERSON: &str = "person";
/// Between the hubs of a source. No URL contains it.
const HUB_SEPARATOR: &str = "\n";

/// Columns written by the store itself.
pub(super) const IDENTITY: [ColumnSpec; 4] =
    [("id", "bigint"), ("version", "bigint"), ("created_at", "timestamptz"), ("updated_at", "timestamptz")];

/// Columns of the settings.
pub(super) const SETTINGS: [ColumnSpec; 13] = [
    ("podcast_id", "bigint"),
    ("type", "text"),
    ("url", "text"),
    ("title", "text"),
    ("poll_interval_minutes", "bigint"),
    ("poll_delay_seconds", "bigint"),
    ("max_failures", "bigint"),
    ("max_backoff_hours", "bigint"),
    ("backlog", "text"),
    ("full_text", "text"),
    ("user_agent", "text"),
    ("proxy", "text"),
    ("websub", "text"),
];

/// Columns of the state.
pub(super) const STATE: [ColumnSpec; 38] = [
    ("enabled", "boolean"),
    ("disabled_reason", "text"),
    ("first_polled_at", "timestamptz"),
    ("last_polled", "timestamptz"),
    ("poll_requested_at", "timestamptz"),
    ("last_success_at", "timestamptz"),
    ("last_read_at", "timestamptz"),
    ("last_seen_id", "text"),
    ("etag", "text"),
    ("last_modified", "text"),
    ("retry_after", "timestamptz"),
    ("fresh_until", "timestamptz"),
    ("update_period_minutes", "bigint"),
    ("skip_hours", "bigint"),
    ("skip_days", "bigint"),
    ("consecutive_failures", "bigint"),
    ("consecutive_permanent_failures", "bigint"),
    ("failure_run_kind", "text"),
    ("failure_run_length", "bigint"),
    ("last_failure_type", "text"),
    ("last_error_type", "text"),
    ("last_error", "text"),
    ("feed_disabled_at", "timestamptz"),
    ("feed_disable_reason", "text"),
    ("feed_disabled_by", "text"),
    ("account_id", "text"),
    ("moved_to", "text"),
    ("moved_days", "bigint"),
    ("moved_last_at", "timestamptz"),
    ("bodies_repeat", "boolean"),
    ("gaps", "bigint"),
    ("last_gap_at", "timestamptz"),
    ("feed_title", "text"),
    ("publishing", "bytea"),
    ("hubs", "text"),
    ("hub_topic", "text"),
    ("pushed_at", "timestamptz"),
    ("push_streak", "bigint"),
];

/// The values of [`SETTINGS`].
pub(super) fn settings_values(settings: &SourceSettings) -> [Value<'_>; SETTINGS.len()] {
    [
        Value::Integer(settings.podcast_id.map(|podcast| podcast.0)),
        Value::text(Some(settings.source_type.name())),
        Value::text(Some(&settings.url)),
        Value::text(settings.title.as_deref()),
        Value::number(settings.poll_interval_minutes),
        Value::number(settings.poll_delay_seconds),
        Value::number(settings.max_failures),
        Value::number(settings.max_backoff_hours),
        Value::text(settings.backlog.map(Into::into)),
        Value::text(settings.full_text.map(Into::into)),
        Value::text(settings.user_agent.as_deref()),
        Value::Text(settings.proxy.as_ref().map(|proxy| Cow::Owned(proxy.to_string()))),
        Value::text(settings.websub.map(Into::into)),
    ]
}

/// Value of the host column: empty without a host.
pub(super) fn host_column(source_type: SourceType, url: &str) -> Cow<'static, str> {
    match source_type.shared_host() {
        Some(shared) => Cow::Borrowed(shared),
        None => Cow::Owned(HostKey::of_url(url).map_or_else(String::new, |key| key.to_string())),
    }
}

/// The values of [`STATE`].
pub(super) fn state_values(state: &SourceState) -> [Value<'_>; STATE.len()] {
    let SourceState { hints, failures, .. } = state;
    let (last, moved) = (failures.last.as_ref(), state.moved.as_ref());
    let offer = state.push.offer.as_ref();
    let (rest_reason, rest_by) = match state.rest.as_ref().map(|rest| &rest.cause) {
        None => (None, None),
        Some(RestCause::Failures(kind)) => (Some(kind.name()), Some(BY_FAILURES)),
        Some(RestCause::Reported(kind)) => (Some(kind.name()), Some(BY_PERSON)),
        Some(RestCause::Person(reason)) => (Some(reason.as_str()), Some(BY_PERSON)),
    };
    [
        Value::Flag(state.enabled),
        Value::text(state.disabled_reason.as_deref()),
        Value::Time(state.first_polled_at),
        Value::Time(state.last_polled),
        Value::Time(state.poll_requested_at),
        Value::Time(state.last_success_at),
        Value::Time(state.last_read_at),
        Value::Text(state.last_seen.map(|seen| Cow::Owned(seen.to_string()))),
        Value::text(state.validators.etag.as_deref()),
        Value::text(state.validators.last_modified.as_deref()),
        Value::Time(hints.retry_after),
        Value::Time(hints.fresh_until),
        Value::number(hints.update_period_minutes),
        Value::number(Some(hints.skip_hours)),
        Value::number(Some(hints.skip_days.into())),
        Value::number(Some(failures.consecutive)),
        Value::number(Some(failures.consecutive_permanent)),
        Value::text(failures.run.map(|run| run.kind.name())),
        Value::number(failures.run.map(|run| run.length)),
        Value::text(last.map(|last| last.class.name())),
        Value::text(last.map(|last| last.kind.name())),
        Value::text(last.map(|last| last.error.as_str())),
        Value::Time(state.rest.as_ref().map(|rest| rest.since)),
        Value::text(rest_reason),
        Value::text(rest_by),
        Value::text(state.account_id.as_deref()),
        Value::text(moved.map(|moved| moved.to.as_str())),
        Value::number(moved.map(|moved| moved.days)),
        Value::Time(moved.map(|moved| moved.last_at)),
        Value::Flag(state.bodies_repeat),
        Value::number(Some(state.gaps)),
        Value::Time(state.last_gap_at),
        Value::text(state.feed_title.as_deref()),
        Value::Bytes(Cow::Owned(state.publishing.to_bytes())),
        Value::Text(offer.map(|offer| Cow::Owned(storable(&offer.hubs.join(HUB_SEPARATOR)).into_owned()))),
        Value::text(offer.map(|offer| offer.topic.as_str())),
        Value::Time(state.push.pushed_at),
        Value::number(Some(state.push.streak)),
    ]
}

/// A silent source as `silent_sources` gives it.
pub(super) struct SilentRow {
    pub(super) source: Source,
    pub(super) since: Timestamp,
    /// Number of all silent sources.
    pub(super) total: u64,
}

pub(super) fn read_silent(row: &mut impl Columns) -> Result<SilentRow> {
    Ok(SilentRow { source: read_source(row)?, since: required(row.time()?)?, total: required(row.number()?)? })
}

pub(super) fn read_source(row: &mut impl Columns) -> Result<Source> {
    read_columns(row).map_err(|error| error.of_table(SOURCES))
}

fn read_columns(row: &mut impl Columns) -> Result<Source> {
    Ok(Source {
        id: SourceId(required(row.integer()?)?),
        version: required(row.integer()?)?,
        created_at: required(row.time()?)?,
        updated_at: required(row.time()?)?,
        settings: SourceSettings {
            podcast_id: row.integer()?.map(PodcastId),
            source_type: required(row.parsed()?)?,
            url: required(row.text()?)?,
            title: row.text()?,
            poll_interval_minutes: row.number()?,
            poll_delay_seconds: row.number()?,
            max_failures: row.number()?,
            max_backoff_hours: row.number()?,
            backlog: row.parsed()?,
            full_text: row.parsed()?,
            user_agent: row.text()?,
            proxy: row.parsed()?,
            websub: row.parsed()?,
        },
        state: read_state(row)?,
    })
}

fn read_state(row: &mut impl Columns) -> Result<SourceState> {
    Ok(SourceState {
        enabled: row.flag()?,
        disabled_reason: row.text()?,
        first_polled_at: row.time()?,
        last_polled: row.time()?,
        poll_requested_at: row.time()?,
        last_success_at: row.time()?,
        last_read_at: row.time()?,
        last_seen: row.parsed()?,
        validators: Validators { etag: row.text()?, last_modified: row.text()? },
        hints: Hints {
            retry_after: row.time()?,
            fresh_until: row.time()?,
            update_period_minutes: row.number()?,
            skip_hours: required(row.number()?)?,
            skip_days: required(row.number()?)?,
        },
        failures: FailureState {
            consecutive: required(row.number()?)?,
            consecutive_permanent: required(row.number()?)?,
            run: read_run(row)?,
            last: read_last_failure(row)?,
        },
        rest: read_rest(row)?,
        account_id: row.text()?,
        moved: read_moved(row)?,
        bodies_repeat: row.flag()?,
        gaps: required(row.number()?)?,
        last_gap_at: row.time()?,
        feed_title: row.text()?,
        publishing: PublishingHistory::from_bytes(&row.bytes()?),
        push: read_push(row)?,
    })
}

fn read_push(row: &mut impl Columns) -> Result<PushState> {
    let (hubs, topic) = (row.text()?, row.text()?);
    let offer = hubs.zip(topic).map(|(hubs, topic)| read_offer(&hubs, topic));
    Ok(PushState { offer, pushed_at: row.time()?, streak: required(row.number()?)? })
}

/// The hubs as they are stored, with their topic.
pub(super) fn read_offer(hubs: &str, topic: String) -> HubOffer {
    HubOffer { hubs: hubs.split(HUB_SEPARATOR).map(str::to_owned).collect(), topic }
}

fn read_run(row: &mut impl Columns) -> Result<Option<FailureRun>> {
    let (kind, length) = (row.parsed()?, row.number()?);
    Ok(kind.zip(length).map(|(kind, length)| FailureRun { kind, length }))
}

fn read_last_failure(row: &mut impl Columns) -> Result<Option<LastFailure>> {
    let (class, kind, error) = (row.parsed()?, row.parsed()?, row.text()?);
    Ok(class.zip(kind).map(|(class, kind)| LastFailure { class, kind, error: error.unwrap_or_default() }))
}

fn read_moved(row: &mut impl Columns) -> Result<Option<Moved>> {
    let (to, days, last_at) = (row.text()?, row.number()?, row.time()?);
    Ok(to.zip(days).zip(last_at).map(|((to, days), last_at)| Moved { to, days, last_at }))
}

fn read_rest(row: &mut impl Columns) -> Result<Option<Rest>> {
    let (since, reason, by) = (row.time()?, row.text()?, row.text()?);
    let Some(since) = since else { return Ok(None) };
    let reason = reason.unwrap_or_default();
    let cause = match by.as_deref() {
        Some(BY_FAILURES) => {
            // The reason is the column before the last one.
            let unknown = |error| row.located(1, StoreError::damaged(error));
            RestCause::Failures(reason.parse::<FailureKind>().map_err(unknown)?)
        }
        _ => RestCause::from_reason(reason),
    };
    Ok(Some(Rest { since, cause }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_types_of_their_columns() {
        let settings = SourceSettings::new(SourceType::Rss, "https://example.test/feed");
        let state = SourceState::default();
        let values = settings_values(&settings).into_iter().chain(state_values(&state));
        for ((name, expected), value) in SETTINGS.into_iter().chain(STATE).zip(values) {
            let found = match value {
                Value::Flag(_) => "boolean",
                Value::Integer(_) => "bigint",
                Value::Text(_) => "text",
                Value::Time(_) => "timestamptz",
                Value::Bytes(_) => "bytea",
            };
            assert_eq!(found, expected, "{name}");
        }
    }
}
