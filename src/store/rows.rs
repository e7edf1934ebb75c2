//! Between rows and the model, once for both engines: the order of columns here is the order in `sql/`.

use std::borrow::Cow;
use std::str::FromStr;

use crate::model::{
    Article, ArticleId, Breaker, ContentHash, FailureKind, FailureRun, FailureState, Hints, HostKey, HostState,
    LastFailure, Moved, NewArticle, Podcast, PodcastId, Post, PostId, PostText, Rest, RestCause, RobotsRecord,
    Settlement, Source, SourceCounts, SourceId, SourceSettings, SourceState, SourceType, Timestamp, User, UserId,
    Validators, Webhook, WebhookId, WebhookProgress,
};

use super::{Result, StoreError};

const BY_FAILURES: &str = "failures";
const BY_PERSON: &str = "person";
/// Stands for the host of all X accounts: where X is asked is a setting, and may change.
pub(super) const X_HOST: &str = "(x)";

/// The columns of one row, taken from left to right.
pub(super) trait Columns {
    fn integer(&mut self) -> Result<Option<i64>>;
    fn flag(&mut self) -> Result<bool>;
    fn text(&mut self) -> Result<Option<String>>;
    fn time(&mut self) -> Result<Option<Timestamp>>;
    fn blob(&mut self) -> Result<Option<Vec<u8>>>;

    fn bytes(&mut self) -> Result<Vec<u8>> {
        required(self.blob()?)
    }

    fn number<T: TryFrom<i64>>(&mut self) -> Result<Option<T>> {
        let Some(number) = self.integer()? else { return Ok(None) };
        T::try_from(number).map(Some).map_err(|_| StoreError::damaged(format!("{number} is out of range")))
    }

    fn parsed<T: FromStr<Err: std::fmt::Display>>(&mut self) -> Result<Option<T>> {
        self.text()?.map(|text| text.parse().map_err(StoreError::damaged)).transpose()
    }
}

/// The value of one column, for either engine.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Flag(bool),
    Integer(Option<i64>),
    Text(Option<Cow<'a, str>>),
    Time(Option<Timestamp>),
}

impl<'a> Value<'a> {
    fn number(number: Option<u32>) -> Value<'a> {
        Value::Integer(number.map(i64::from))
    }

    fn text(text: Option<&'a str>) -> Value<'a> {
        Value::Text(text.map(storable))
    }
}

/// What a person said about a source, in the order of the columns.
pub(super) fn settings_values(settings: &SourceSettings) -> [Value<'_>; 8] {
    [
        Value::Integer(settings.podcast_id.map(|podcast| podcast.0)),
        Value::text(Some(settings.source_type.name())),
        Value::text(Some(&settings.url)),
        Value::text(settings.title.as_deref()),
        Value::number(settings.poll_interval_minutes),
        Value::number(settings.poll_delay_seconds),
        Value::number(settings.max_failures),
        Value::number(settings.max_backoff_hours),
    ]
}

/// The host of a source as it stands beside its settings: nothing for those without one, a name of its own for X.
pub(super) fn host_column(source_type: SourceType, url: &str) -> Cow<'static, str> {
    match source_type {
        SourceType::Twitter => Cow::Borrowed(X_HOST),
        SourceType::Rss | SourceType::Website => {
            Cow::Owned(HostKey::of_url(url).map_or_else(String::new, |key| key.to_string()))
        }
    }
}

/// What polling has found out about a source, in the order of the columns.
pub(super) fn state_values(state: &SourceState) -> [Value<'_>; 29] {
    let SourceState { hints, failures, .. } = state;
    let (last, moved) = (failures.last.as_ref(), state.moved.as_ref());
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
    ]
}

/// Whether a source looks as this settlement would have left it. An answer can be lost after its commit: whoever then
/// settles again must not be told that somebody else was faster, and count the same poll twice.
pub(super) fn is_settled_already(settlement: &Settlement, source: &Source) -> bool {
    source.version == settlement.version + 1
        && source.updated_at == settlement.settled_at
        && source.state == settlement.state
}

/// A text that both engines can keep: PostgreSQL has no place for NUL.
pub(super) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "")) } else { Cow::Borrowed(text) }
}

/// Drops all but the last word on each host, so that one statement never meets a host twice.
pub(super) fn last_word_on_hosts(hosts: impl IntoIterator<Item = HostState>) -> Vec<HostState> {
    let mut words = std::collections::BTreeMap::<HostKey, HostState>::new();
    for host in hosts {
        let asked = words.get(&host.host).and_then(|earlier| earlier.last_asked_at);
        let word = HostState { last_asked_at: host.last_asked_at.max(asked), ..host };
        words.insert(word.host.clone(), word);
    }
    words.into_values().collect()
}

pub(super) fn read_source(row: &mut impl Columns) -> Result<Source> {
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
    })
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
        Some(BY_FAILURES) => RestCause::Failures(reason.parse::<FailureKind>().map_err(StoreError::damaged)?),
        _ => RestCause::from_reason(reason),
    };
    Ok(Some(Rest { since, cause }))
}

pub(super) fn read_post(row: &mut impl Columns) -> Result<Post> {
    Ok(Post {
        id: PostId(required(row.integer()?)?),
        source_id: SourceId(required(row.integer()?)?),
        text: PostText {
            title: required(row.text()?)?,
            body: required(row.text()?)?,
            url: row.text()?,
            author: row.text()?,
            byline: row.text()?,
        },
        published_at: row.time()?,
        created_at: required(row.time()?)?,
        content_hash: read_hash(row.bytes()?)?,
    })
}

/// Where posts from a moment on begin after the one that was met last: numbers begin with one.
pub(super) fn first_after(since: Timestamp, after: Option<(Timestamp, PostId)>) -> (Timestamp, PostId) {
    after.filter(|(moment, _)| *moment >= since).unwrap_or((since, PostId(0)))
}

pub(super) fn read_hash(bytes: Vec<u8>) -> Result<ContentHash> {
    let length = bytes.len();
    bytes
        .try_into()
        .map(ContentHash)
        .map_err(|_| StoreError::damaged(format!("a content hash of {length} bytes instead of 32")))
}

pub(super) fn read_article(row: &mut impl Columns) -> Result<Article> {
    Ok(Article {
        id: ArticleId(required(row.integer()?)?),
        content: NewArticle {
            podcast_id: row.integer()?.map(PodcastId),
            title: required(row.text()?)?,
            body: required(row.text()?)?,
            url: row.text()?,
            published_at: row.time()?,
            created_at: required(row.time()?)?,
        },
        is_processed: row.flag()?,
    })
}

pub(super) fn read_user(row: &mut impl Columns) -> Result<User> {
    Ok(User {
        id: UserId(required(row.integer()?)?),
        name: required(row.text()?)?,
        created_at: required(row.time()?)?,
        x_key_at: row.time()?,
    })
}

pub(super) fn read_podcast(row: &mut impl Columns) -> Result<Podcast> {
    Ok(Podcast {
        id: PodcastId(required(row.integer()?)?),
        user_id: UserId(required(row.integer()?)?),
        title: required(row.text()?)?,
        created_at: required(row.time()?)?,
    })
}

pub(super) fn read_host(row: &mut impl Columns) -> Result<HostState> {
    Ok(HostState {
        host: HostKey::from_canonical(&required(row.text()?)?),
        last_asked_at: row.time()?,
        held_until: row.time()?,
        held_reason: row.text()?,
        breaker: Breaker {
            failures: required(row.number()?)?,
            openings: required(row.number()?)?,
            open_until: row.time()?,
        },
    })
}

pub(super) fn read_robots(row: &mut impl Columns) -> Result<RobotsRecord> {
    Ok(RobotsRecord { origin: required(row.text()?)?, fetched_at: required(row.time()?)?, rules: row.text()? })
}

pub(super) fn read_webhook(row: &mut impl Columns) -> Result<Webhook> {
    let id = WebhookId(required(row.integer()?)?);
    let (url, label) = (required(row.text()?)?, row.text()?);
    let (enabled, disabled_reason) = (row.flag()?, row.text()?);
    let progress = WebhookProgress {
        last_post: PostId(required(row.integer()?)?),
        failures: required(row.number()?)?,
        retry_at: row.time()?,
        last_error: row.text()?,
    };
    let (last_delivered_at, created_at) = (row.time()?, required(row.time()?)?);
    Ok(Webhook { id, url, label, enabled, disabled_reason, progress, last_delivered_at, created_at })
}

pub(super) fn required<T>(value: Option<T>) -> Result<T> {
    value.ok_or_else(|| StoreError::damaged("a column is null that never is"))
}

/// Reads the columns of `count_sources`.
pub(super) fn read_counts(row: &mut impl Columns) -> Result<SourceCounts> {
    Ok(SourceCounts {
        total: required(row.number()?)?,
        disabled: required(row.number()?)?,
        resting: required(row.number()?)?,
        backing_off: required(row.number()?)?,
    })
}
