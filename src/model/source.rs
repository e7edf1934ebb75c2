//! A source: what a person said about it, and what polling has found out.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    FailureClass, FailureKind, PodcastId, PublishingHistory, PushState, PushUse, SourceProxy, SourceType, Timestamp,
};

/// Identifies a source for ever: a removed source's number is not given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SourceId(pub i64);

/// A source as it stands in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Which one it is.
    pub id: SourceId,
    /// Grows with every write: who writes on the basis of an older version is told so.
    pub version: i64,
    /// When a person added it.
    pub created_at: Timestamp,
    /// When the row was last written.
    pub updated_at: Timestamp,
    /// What a person said about it.
    pub settings: SourceSettings,
    /// What polling has found out.
    pub state: SourceState,
}

impl Source {
    /// A source as it stands right after it was added.
    pub fn fresh(id: SourceId, new: NewSource) -> Source {
        let NewSource { settings, created_at } = new;
        Source { id, version: 1, created_at, updated_at: created_at, settings, state: SourceState::default() }
    }
}

/// How many sources there are, by how they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceCounts {
    pub total: u64,
    /// Those that only a person brings back.
    pub disabled: u64,
    /// Those that are left alone for a while.
    pub resting: u64,
    /// Those that fail and are tried again.
    pub backing_off: u64,
}

/// A source that is about to be added.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSource {
    /// What a person said about it.
    pub settings: SourceSettings,
    /// When it is added: on the first poll, what was published earlier is left out.
    pub created_at: Timestamp,
}

/// What a person said about a source.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSettings {
    /// The podcast whose owner's keys are used, for sources that need one.
    pub podcast_id: Option<PodcastId>,
    /// How it is read.
    pub source_type: SourceType,
    /// Canonical for its type, unless an earlier version stored it otherwise; it may turn out to be no URL at all.
    pub url: String,
    /// A name for people.
    pub title: Option<String>,
    /// Its own interval instead of the configured one.
    pub poll_interval_minutes: Option<u32>,
    /// Its own pause after the previous request to its host.
    pub poll_delay_seconds: Option<u32>,
    /// Its own number of permanent failures that disable it.
    pub max_failures: Option<u32>,
    /// Its own ceiling on backoff.
    pub max_backoff_hours: Option<u32>,
    /// Whether entries older than the source are wanted, instead of the configured choice.
    pub backlog: Option<Backlog>,
    /// Whether the pages of its entries are fetched, instead of the configured choice.
    pub full_text: Option<FullText>,
    /// Its own user agent instead of the configured one.
    pub user_agent: Option<String>,
    /// Its own proxy instead of the configured one.
    pub proxy: Option<SourceProxy>,
    /// Whether pushes of hubs are used; used if nothing is said.
    pub websub: Option<PushUse>,
}

/// Which entries older than the source become posts.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::IntoStaticStr,
    strum::EnumString,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Backlog {
    /// None of them.
    #[default]
    Skip,
    /// Those within the age limit.
    Keep,
    /// All, whatever their age.
    All,
}

/// Whether the page that an entry links to is fetched for its text.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::IntoStaticStr,
    strum::EnumString,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FullText {
    /// Never.
    #[default]
    Off,
    /// If the entry itself has little text.
    WhenShort,
    /// For every entry with a URL.
    Always,
}

impl SourceSettings {
    /// A source of this type at this URL, with nothing else said.
    pub fn new(source_type: SourceType, url: impl Into<String>) -> SourceSettings {
        SourceSettings {
            podcast_id: None,
            source_type,
            url: url.into(),
            title: None,
            poll_interval_minutes: None,
            poll_delay_seconds: None,
            max_failures: None,
            max_backoff_hours: None,
            backlog: None,
            full_text: None,
            user_agent: None,
            proxy: None,
            websub: None,
        }
    }
}

/// What polling has found out about a source: facts, never plans. When it is due follows from them.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceState {
    /// False once a person or five permanent failures in a row said so; only a person says otherwise.
    pub enabled: bool,
    /// Why it is not enabled.
    pub disabled_reason: Option<String>,
    /// The first real poll; jitter does not count.
    pub first_polled_at: Option<Timestamp>,
    /// The last poll, or the start of the first interval where jitter set it.
    pub last_polled: Option<Timestamp>,
    /// When a person last asked for a poll: by enabling the source, changing its URL, or in so many words.
    pub poll_requested_at: Option<Timestamp>,
    /// The last answer of 200 or 304.
    pub last_success_at: Option<Timestamp>,
    /// The last answer of 200, whose entries were all looked at.
    pub last_read_at: Option<Timestamp>,
    /// How far its entries have been seen.
    pub last_seen: Option<LastSeen>,
    /// What the publisher gave us to ask "anything new?" with.
    pub validators: Validators,
    /// What the publisher said about coming back.
    pub hints: Hints,
    /// Failures since the last success.
    pub failures: FailureState,
    /// Set while it is left alone.
    pub rest: Option<Rest>,
    /// The number of the X account behind the name in the URL, once it was looked up.
    pub account_id: Option<String>,
    /// Where permanent redirects lead, as long as that is not believed yet.
    pub moved: Option<Moved>,
    /// Whether a document had several entries with one body: equal bodies are then no sign of the same entry.
    pub bodies_repeat: bool,
    /// Readings in which every entry was unknown, although the feed had been read before: entries may be missing.
    pub gaps: u32,
    pub last_gap_at: Option<Timestamp>,
    /// Title that the feed gives itself.
    pub feed_title: Option<String>,
    /// How often it publishes.
    pub publishing: PublishingHistory,
    /// Hubs and pushes (WebSub).
    pub push: PushState,
}

impl SourceState {
    /// The last real poll: the moment that jitter leaves in `last_polled` is none.
    pub fn polled_at(&self) -> Option<Timestamp> {
        self.first_polled_at.and(self.last_polled)
    }
}

impl Default for SourceState {
    fn default() -> SourceState {
        SourceState {
            enabled: true,
            disabled_reason: None,
            first_polled_at: None,
            last_polled: None,
            poll_requested_at: None,
            last_success_at: None,
            last_read_at: None,
            last_seen: None,
            validators: Validators::default(),
            hints: Hints::default(),
            failures: FailureState::default(),
            rest: None,
            account_id: None,
            moved: None,
            bodies_repeat: false,
            gaps: 0,
            last_gap_at: None,
            feed_title: None,
            publishing: PublishingHistory::Unknown,
            push: PushState::default(),
        }
    }
}

/// By what the entries of a source that were seen before are told from new ones, beside their content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watermark {
    /// Their time of publication.
    Published,
    PostNumber,
    /// Nothing: the source is a page, whose content is known by its hash alone, whatever its dates say (s704).
    None,
}

/// The newest thing seen at a source, as its type counts: a time for feeds, a number for X posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastSeen {
    /// The latest time of publication among the entries seen, never in the future.
    Published(Timestamp),
    /// The highest post number seen.
    PostNumber(u64),
}

/// The two HTTP validators, exactly as received: each character stands for the byte of its number, so that bytes
/// outside ASCII survive the way to the store and back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// `ETag`, with its quotes and weak mark.
    pub etag: Option<String>,
    /// `Last-Modified`, never re-formatted.
    pub last_modified: Option<String>,
}

/// What the publisher said about coming back. The ceilings on these are settings, applied when they are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// No request before this moment (`Retry-After`).
    pub retry_after: Option<Timestamp>,
    /// The answer stays fresh until this moment (`Cache-Control`, `Expires`).
    pub fresh_until: Option<Timestamp>,
    /// The feed changes no faster than this (`ttl`, `sy:updatePeriod`).
    pub update_period_minutes: Option<u32>,
    /// Hours of the day, in universal time, in which the feed asks not to be polled: bit 0 is midnight.
    pub skip_hours: u32,
    /// Days of the week in which the feed asks not to be polled: bit 0 is Monday.
    pub skip_days: u8,
}

/// Failures since the last success.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureState {
    /// All of them; backoff follows from this number.
    pub consecutive: u32,
    /// The unbroken run of permanent ones up to now; disabling follows from this number.
    pub consecutive_permanent: u32,
    /// The unbroken run of one kind up to now; resting follows from this.
    pub run: Option<FailureRun>,
    pub last: Option<LastFailure>,
}

/// Failures of one kind in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureRun {
    /// The kind they share.
    pub kind: FailureKind,
    /// How many there are.
    pub length: u32,
}

/// The last failure of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastFailure {
    /// `last_failure_type`.
    pub class: FailureClass,
    /// `last_error_type`.
    pub kind: FailureKind,
    /// `last_error`.
    pub error: String,
}

/// A permanent redirect on its way to being believed (p22).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    pub to: String,
    /// On how many different days, in universal time, it led there.
    pub days: u32,
    /// When it led there last on a day that counted.
    pub last_at: Timestamp,
}

/// A source that is left alone for a while (`feed_disabled_at`, `feed_disable_reason`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// When the rest began.
    pub since: Timestamp,
    /// Why, and so how long.
    pub cause: RestCause,
}

/// Why a source rests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestCause {
    /// A run of failures of this kind: over when the kind's cooldown is.
    Failures(FailureKind),
    /// A person or a program reported this kind (`feed-disable`): over when the kind's cooldown is.
    Reported(FailureKind),
    /// A person said so, in these words: over when a person says so.
    Person(String),
}

impl RestCause {
    /// The cause for the reason of a `feed-disable`: the name of a kind that has a cooldown is a report (s417).
    pub fn from_reason(reason: String) -> RestCause {
        // The configuration spells kinds with hyphens.
        match reason.trim().to_ascii_lowercase().replace('-', "_").parse::<FailureKind>() {
            Ok(kind) if kind.has_cooldown() => RestCause::Reported(kind),
            _ => RestCause::Person(reason),
        }
    }

    /// Whether only a person ends the rest.
    pub const fn is_open_ended(&self) -> bool {
        matches!(self, RestCause::Person(_))
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for LastSeen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LastSeen::Published(moment) => moment.fmt(formatter),
            LastSeen::PostNumber(number) => number.fmt(formatter),
        }
    }
}

impl FromStr for LastSeen {
    type Err = super::TimestampError;

    fn from_str(text: &str) -> Result<LastSeen, super::TimestampError> {
        match text.parse() {
            Ok(number) => Ok(LastSeen::PostNumber(number)),
            Err(_) => text.parse().map(LastSeen::Published),
        }
    }
}
