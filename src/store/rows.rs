//! Converts rows for both engines. Sources are in `source_row`, posts in `post_row`.

use std::borrow::Cow;
use std::str::FromStr;

use crate::model::{
    Article, ArticleId, Breaker, DeliveryFormat, EventType, FailureKind, HostKey, HostState, NewArticle, Podcast,
    PodcastId, PostId, RobotsRecord, Settlement, Source, SourceCounts, Timestamp, User, UserId, Webhook, WebhookId,
    WebhookProgress,
};

use super::quarantine::{HOSTS, WEBHOOKS};
use super::{Result, StoreError};

/// The name of a column and its type on PostgreSQL, where the values of many rows travel as one array.
pub(super) type ColumnSpec = (&'static str, &'static str);

/// The columns of one row, taken from left to right.
pub(super) trait Columns {
    fn integer(&mut self) -> Result<Option<i64>>;
    fn flag(&mut self) -> Result<bool>;
    fn text(&mut self) -> Result<Option<String>>;
    fn time(&mut self) -> Result<Option<Timestamp>>;
    fn blob(&mut self) -> Result<Option<Vec<u8>>>;

    /// The error with the name and value of the column that was taken this many columns before the last one.
    fn located(&self, back: usize, error: StoreError) -> StoreError;

    fn bytes(&mut self) -> Result<Vec<u8>> {
        required(self.blob()?)
    }

    fn number<T: TryFrom<i64>>(&mut self) -> Result<Option<T>> {
        let Some(number) = self.integer()? else { return Ok(None) };
        T::try_from(number).map(Some).map_err(|_| StoreError::damaged("the number is out of range"))
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
    Bytes(Cow<'a, [u8]>),
}

impl<'a> Value<'a> {
    pub(super) fn number(number: Option<u32>) -> Value<'a> {
        Value::Integer(number.map(i64::from))
    }

    pub(super) fn text(text: Option<&'a str>) -> Value<'a> {
        Value::Text(text.map(storable))
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Value::Integer(None) | Value::Text(None) | Value::Time(None))
    }
}

/// Whether a source is in the state that this settlement would produce. If the response to a commit was lost, the
/// repeated settlement must not be reported as stale, and must not count the poll twice.
pub(super) fn is_settled_already(settlement: &Settlement, source: &Source) -> bool {
    source.version == settlement.version + 1
        && source.updated_at == settlement.settled_at
        && source.state == settlement.state
}

/// Removes NUL characters, which PostgreSQL cannot store.
pub(super) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "")) } else { Cow::Borrowed(text) }
}

/// Keeps only the last state of each host, so that a statement contains no host twice.
pub(super) fn last_word_on_hosts(hosts: impl IntoIterator<Item = HostState>) -> Vec<HostState> {
    let mut words = std::collections::BTreeMap::<HostKey, HostState>::new();
    for host in hosts {
        let asked = words.get(&host.host).and_then(|earlier| earlier.last_asked_at);
        let word = HostState { last_asked_at: host.last_asked_at.max(asked), ..host };
        words.insert(word.host.clone(), word);
    }
    words.into_values().collect()
}

/// Start of a time range after the last post; ids begin with one.
pub(super) fn first_after(since: Timestamp, after: Option<(Timestamp, PostId)>) -> (Timestamp, PostId) {
    after.filter(|(moment, _)| *moment >= since).unwrap_or((since, PostId(0)))
}

pub(super) fn read_article(row: &mut impl Columns) -> Result<Article> {
    read_article_columns(row).map_err(|error| error.of_table("articles"))
}

fn read_article_columns(row: &mut impl Columns) -> Result<Article> {
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
    read_user_columns(row).map_err(|error| error.of_table("users"))
}

fn read_user_columns(row: &mut impl Columns) -> Result<User> {
    Ok(User {
        id: UserId(required(row.integer()?)?),
        name: required(row.text()?)?,
        created_at: required(row.time()?)?,
        x_key_at: row.time()?,
    })
}

pub(super) fn read_podcast(row: &mut impl Columns) -> Result<Podcast> {
    read_podcast_columns(row).map_err(|error| error.of_table("podcasts"))
}

fn read_podcast_columns(row: &mut impl Columns) -> Result<Podcast> {
    Ok(Podcast {
        id: PodcastId(required(row.integer()?)?),
        user_id: UserId(required(row.integer()?)?),
        title: required(row.text()?)?,
        created_at: required(row.time()?)?,
    })
}

pub(super) const HOST: [ColumnSpec; 7] = [
    ("host", "text"),
    ("last_asked_at", "timestamptz"),
    ("held_until", "timestamptz"),
    ("held_reason", "text"),
    ("breaker_failures", "bigint"),
    ("breaker_openings", "bigint"),
    ("breaker_open_until", "timestamptz"),
];

pub(super) fn read_host(row: &mut impl Columns) -> Result<HostState> {
    read_host_columns(row).map_err(|error| error.of_table(HOSTS))
}

fn read_host_columns(row: &mut impl Columns) -> Result<HostState> {
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
    read_robots_columns(row).map_err(|error| error.of_table("robots"))
}

fn read_robots_columns(row: &mut impl Columns) -> Result<RobotsRecord> {
    Ok(RobotsRecord { origin: required(row.text()?)?, fetched_at: required(row.time()?)?, rules: row.text()? })
}

pub(super) const WEBHOOK: [ColumnSpec; 14] = [
    ("id", "bigint"),
    ("url", "text"),
    ("label", "text"),
    ("format", "text"),
    ("event_types", "text"),
    ("rotated_at", "timestamptz"),
    ("enabled", "boolean"),
    ("disabled_reason", "text"),
    ("last_post_id", "bigint"),
    ("failures", "bigint"),
    ("retry_at", "timestamptz"),
    ("last_error", "text"),
    ("last_delivered_at", "timestamptz"),
    ("created_at", "timestamptz"),
];

pub(super) fn read_webhook(row: &mut impl Columns) -> Result<Webhook> {
    read_webhook_columns(row).map_err(|error| error.of_table(WEBHOOKS))
}

fn read_webhook_columns(row: &mut impl Columns) -> Result<Webhook> {
    let id = WebhookId(required(row.integer()?)?);
    let (url, label) = (required(row.text()?)?, row.text()?);
    let (format, event_types, rotated_at) = (required(row.parsed()?)?, read_event_types(row)?, row.time()?);
    let (enabled, disabled_reason) = (row.flag()?, row.text()?);
    let progress = WebhookProgress {
        last_change_number: required(row.integer()?)?,
        failures: required(row.number()?)?,
        retry_at: row.time()?,
        last_error: row.text()?,
    };
    let (last_delivered_at, created_at) = (row.time()?, required(row.time()?)?);
    Ok(Webhook {
        id,
        url,
        label,
        format,
        event_types,
        rotated_at,
        enabled,
        disabled_reason,
        progress,
        last_delivered_at,
        created_at,
    })
}

fn read_event_types(row: &mut impl Columns) -> Result<Vec<EventType>> {
    let Some(text) = row.text()? else { return Ok(Vec::new()) };
    serde_json::from_str(&text).map_err(|error| StoreError::damaged(error.to_string()))
}

/// The types as they are stored: null if there are none.
pub(super) fn event_types_text(types: &[EventType]) -> Option<String> {
    if types.is_empty() { None } else { serde_json::to_string(types).ok() }
}

/// A webhook's target as it is stored.
pub(super) struct SealedTarget {
    pub(super) url: String,
    pub(super) sealed: Vec<u8>,
    pub(super) enabled: bool,
    pub(super) format: DeliveryFormat,
}

pub(super) fn read_sealed_target(row: &mut impl Columns) -> Result<SealedTarget> {
    let (url, sealed) = (required(row.text()?)?, row.bytes()?);
    Ok(SealedTarget { url, sealed, enabled: row.flag()?, format: required(row.parsed()?)? })
}

pub(super) fn required<T>(value: Option<T>) -> Result<T> {
    value.ok_or_else(|| StoreError::damaged("it is never null"))
}

/// Reads the columns of `count_sources`.
/// None for a kind that this version does not know.
pub(super) fn read_failure_count(row: &mut impl Columns) -> Result<Option<(FailureKind, u64)>> {
    let (name, count) = (row.text()?.unwrap_or_default(), required(row.number()?)?);
    Ok(name.parse().ok().map(|kind: FailureKind| (kind, count)))
}

pub(super) fn read_counts(row: &mut impl Columns) -> Result<SourceCounts> {
    Ok(SourceCounts {
        total: required(row.number()?)?,
        disabled: required(row.number()?)?,
        resting: required(row.number()?)?,
        backing_off: required(row.number()?)?,
    })
}
