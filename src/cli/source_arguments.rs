//! Arguments of `feedwarden source`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::source_selection::{ConfirmationArguments, SourceSelector};
use super::times::{duration, seconds};
use crate::model::{FailureKind, SourceType};

/// Settings that `--unset` removes, by their option, with their names in the API.
const UNSETTABLE: [(&str, &str); 12] = [
    ("title", "title"),
    ("podcast", "podcast_id"),
    ("interval-minutes", "poll_interval_minutes"),
    ("delay-seconds", "poll_delay_seconds"),
    ("max-failures", "max_failures"),
    ("max-backoff-hours", "max_backoff_hours"),
    ("backlog", "backlog"),
    ("full-text", "full_text"),
    ("user-agent", "user_agent"),
    ("proxy", "proxy"),
    ("websub", "websub"),
    ("labels", "labels"),
];

#[derive(Debug, Subcommand)]
pub(super) enum SourceCommand {
    /// Add sources and poll each once
    Add(Box<AddSourceArguments>),
    /// List sources
    List(ListSourcesArguments),
    /// Show a source with its state
    Show(SourceArgument),
    /// Change settings of sources, enable or disable them
    Edit(Box<EditSourceArguments>),
    /// Enable sources and reset their failure counters
    Enable(SourceTargets),
    /// Disable sources
    Disable(DisableSourceArguments),
    /// Rest sources: do not poll them for a cooldown, or until `wake`
    Rest(RestSourceArguments),
    /// End the rest of sources
    Wake(SourceTargets),
    /// Reset the failure counters of sources
    Reset(SourceTargets),
    /// Remove sources with their posts; asks first on a terminal
    Remove(SourceTargets),
    /// Poll sources now, unless Retry-After or a hold forbids it
    Poll(PollSourceArguments),
    /// Store the entries of older pages of a feed
    ///
    /// Follows the links of the feed to older pages (RFC 5005, JSON Feed), one at a time at the turn of the host.
    Backfill(BackfillArguments),
    /// Explain when a source is polled next, and why
    Explain(SourceArgument),
    /// List the last polls of a source
    History(SourceArgument),
    /// Show, set or remove the login and headers of a source
    Access(Access),
}

#[derive(Args, Debug)]
pub(super) struct SourceArgument {
    /// Source: id, URL, or a part of URL or title that only one source has
    pub(super) source: String,
}

#[derive(Args, Debug)]
pub(super) struct SourceTarget {
    /// Source: id, URL, or a part of URL or title that only one source has
    pub(super) source: String,
    /// Change the source only if it still has this version
    #[arg(long, value_name = "VERSION")]
    pub(super) if_version: Option<i64>,
}

/// Sources to change.
#[derive(Args, Debug)]
pub(super) struct SourceTargets {
    #[command(flatten)]
    pub(super) selector: SourceSelector,
    /// Change the source only if it still has this version; for one source
    #[arg(long, value_name = "VERSION")]
    pub(super) if_version: Option<i64>,
}

#[derive(Args, Debug)]
pub(super) struct AddSourceArguments {
    /// URLs of the sources: also example.org, which is https://example.org or else http://example.org, and @name for
    /// the X account of that name
    #[arg(value_name = "URL", required = true)]
    pub(super) places: Vec<String>,
    #[command(flatten)]
    pub(super) settings: SourceSettingsArguments,
    #[command(flatten)]
    pub(super) access: AccessFiles,
    /// Add the source even if its first poll fails
    #[arg(long)]
    pub(super) anyway: bool,
    /// Add the source without polling it first
    #[arg(long, conflicts_with = "anyway")]
    pub(super) unseen: bool,
}

#[derive(Args, Debug)]
pub(super) struct SourceSettingsArguments {
    /// Type of the source [default of a new source: twitter at x.com, otherwise rss]
    #[arg(long = "type", value_name = "TYPE", value_parser = source_types())]
    pub(super) source_type: Option<String>,
    /// Title
    #[arg(long)]
    pub(super) title: Option<String>,
    /// Only for X accounts: podcast whose owner's X key is used [default of a new one: the only podcast]
    #[arg(long, value_name = "ID")]
    pub(super) podcast: Option<i64>,
    /// Interval between polls in minutes, instead of the configured one
    #[arg(long, value_name = "N")]
    pub(super) interval_minutes: Option<u32>,
    /// Interval between polls, such as 30m, 2h or 1d, instead of the configured one
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "interval_minutes")]
    pub(super) interval: Option<Duration>,
    /// Pause after the previous request to its host in seconds, instead of the configured one
    #[arg(long, value_name = "N")]
    pub(super) delay_seconds: Option<u32>,
    /// Number of permanent failures that disables it, instead of the configured one
    #[arg(long, value_name = "N")]
    pub(super) max_failures: Option<u32>,
    /// Maximum backoff in hours, instead of the configured one
    #[arg(long, value_name = "N")]
    pub(super) max_backoff_hours: Option<u32>,
    /// Entries older than the source: skip does not store them, keep stores those within source.max-article-age-days,
    /// all stores every one [default: source.backlog]
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "keep",
        value_parser = backlogs())]
    pub(super) backlog: Option<String>,
    /// Fetch the page of each entry for its text [default: source.full-text]
    #[arg(long, value_name = "WHEN", value_parser = ["off", "when-short", "always"])]
    pub(super) full_text: Option<String>,
    /// User agent of its requests, instead of the configured one
    #[arg(long, value_name = "TEXT")]
    pub(super) user_agent: Option<String>,
    /// Proxy of its requests, instead of the configured one: none, or a URL with http, socks5 or socks5h, without a login
    #[arg(long, value_name = "URL")]
    pub(super) proxy: Option<String>,
    /// Whether pushes of hubs (WebSub) are used [default: on]
    #[arg(long, value_name = "WHETHER", value_parser = ["on", "off"])]
    pub(super) websub: Option<String>,
    /// Label; repeatable; replaces all previous labels
    #[arg(long = "label", value_name = "LABEL")]
    pub(super) labels: Vec<String>,
}

impl EditSourceArguments {
    /// The settings to remove: their names in the API and the values that mean none.
    pub(super) fn unset_fields(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let is_unset = |option: &str| self.unset.iter().any(|name| name == option);
        let fields = UNSETTABLE.into_iter().filter(move |(option, _)| is_unset(option));
        fields.map(|(_, field)| (field, if field == "labels" { json!([]) } else { Value::Null }))
    }
}

impl SourceSettingsArguments {
    /// Rounded up to whole minutes.
    fn interval_in_minutes(&self) -> Option<u64> {
        let given = self.interval.map(|interval| interval.as_secs().div_ceil(60));
        given.or(self.interval_minutes.map(u64::from))
    }

    /// The given settings under the names of the API.
    pub(super) fn body(&self) -> Map<String, Value> {
        let fields = [
            ("type", self.source_type.as_ref().map(|value| json!(value))),
            ("title", self.title.as_ref().map(|value| json!(value))),
            ("podcast_id", self.podcast.map(|value| json!(value))),
            ("poll_interval_minutes", self.interval_in_minutes().map(|value| json!(value))),
            ("poll_delay_seconds", self.delay_seconds.map(|value| json!(value))),
            ("max_failures", self.max_failures.map(|value| json!(value))),
            ("max_backoff_hours", self.max_backoff_hours.map(|value| json!(value))),
            ("backlog", self.backlog.as_ref().map(|value| json!(value))),
            ("full_text", self.full_text.as_ref().map(|value| json!(value))),
            ("user_agent", self.user_agent.as_ref().map(|value| json!(value))),
            ("proxy", self.proxy.as_ref().map(|value| json!(value))),
            ("websub", self.websub.as_ref().map(|value| json!(value))),
            ("labels", (!self.labels.is_empty()).then(|| json!(self.labels))),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// Secrets come from files, because other users of the machine can see arguments.
#[derive(Args, Debug)]
pub(super) struct AccessFiles {
    /// File with a login: NAME:PASSWORD on one line; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(super) login_file: Option<PathBuf>,
    /// File with headers: NAME: VALUE on each line; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(super) header_file: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct Access {
    #[command(flatten)]
    pub(super) target: SourceTarget,
    #[command(flatten)]
    pub(super) files: AccessFiles,
    /// Remove the login and the headers
    #[arg(long, conflicts_with_all = ["login_file", "header_file"])]
    pub(super) clear: bool,
}

#[derive(Args, Debug)]
pub(super) struct EditSourceArguments {
    /// Sources: id, URL, or a part of URL or title that only one source has
    #[arg(value_name = "SOURCE", required = true)]
    pub(super) sources: Vec<String>,
    /// Change the source only if it still has this version; for one source
    #[arg(long, value_name = "VERSION")]
    pub(super) if_version: Option<i64>,
    #[command(flatten)]
    pub(super) confirmation: ConfirmationArguments,
    /// Label to add; repeatable
    #[arg(long, value_name = "LABEL", conflicts_with = "labels")]
    pub(super) add_label: Vec<String>,
    /// Label to remove; repeatable
    #[arg(long, value_name = "LABEL", conflicts_with = "labels")]
    pub(super) remove_label: Vec<String>,
    /// New URL, for one source; failures, validators and watermark are reset
    #[arg(long = "move-to", value_name = "URL")]
    pub(super) place: Option<String>,
    #[command(flatten)]
    pub(super) settings: SourceSettingsArguments,
    /// true: enable it and reset its failure counters; false: disable it
    #[arg(long, value_name = "BOOLEAN")]
    pub(super) enabled: Option<bool>,
    /// Remove a setting, so that the configured one applies; repeatable
    #[arg(long, value_name = "SETTING", value_parser = UNSETTABLE.map(|(option, _)| option))]
    pub(super) unset: Vec<String>,
}

#[derive(Args, Debug)]
pub(super) struct ListSourcesArguments {
    /// Only sources in this state
    #[arg(long, value_parser = ["active", "backing_off", "resting", "disabled"])]
    pub(super) state: Option<String>,
    /// Only sources at this host
    #[arg(long)]
    pub(super) host: Option<String>,
    /// Only sources of this type
    #[arg(long = "type", value_name = "TYPE", value_parser = source_types())]
    pub(super) source_type: Option<String>,
    /// Only sources with this label
    #[arg(long)]
    pub(super) label: Option<String>,
    /// Only sources that fail, with this kind of their last failure
    #[arg(long, value_name = "KIND", value_parser = failure_kinds())]
    pub(super) failure: Option<String>,
    /// Only sources with this text in URL or title, ignoring case
    #[arg(long)]
    pub(super) text: Option<String>,
    #[command(flatten)]
    pub(super) paging: Paging,
}

#[derive(Args, Debug)]
pub(super) struct Paging {
    /// Maximum number of items
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) limit: u32,
    /// Cursor of the next page, as printed by the previous list
    #[arg(long)]
    pub(super) cursor: Option<String>,
    /// List all items; with --json, one object per line
    #[arg(long, conflicts_with_all = ["limit", "cursor"])]
    pub(super) all: bool,
}

#[derive(Args, Debug)]
pub(super) struct DisableSourceArguments {
    #[command(flatten)]
    pub(super) targets: SourceTargets,
    /// Reason to record
    #[arg(long)]
    pub(super) reason: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct RestSourceArguments {
    #[command(flatten)]
    pub(super) targets: SourceTargets,
    /// Reason; a kind of failure with a cooldown in `source.rest`, such as not_found, rests for that cooldown, any
    /// other text until `wake`
    #[arg(long)]
    pub(super) reason: String,
}

#[derive(Args, Debug)]
pub(super) struct PollSourceArguments {
    #[command(flatten)]
    pub(super) selector: SourceSelector,
    /// Time to wait for the result of each poll, such as 30 (seconds) or 30s, at most 50s; 0 does not wait
    #[arg(long, value_name = "DURATION", default_value = "50", value_parser = seconds)]
    pub(super) wait: u64,
    /// Ignore Retry-After, holds and the pause of the host
    #[arg(long)]
    pub(super) force: bool,
}

/// The names of all kinds of failures.
fn failure_kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(FailureKind::ALL.map(FailureKind::name))
}

/// The choices of `--backlog`.
pub(super) fn backlogs() -> PossibleValuesParser {
    PossibleValuesParser::new(["skip", "keep", "all"])
}

#[derive(Args, Debug)]
pub(super) struct BackfillArguments {
    /// Source: id, URL, or a part of URL or title that only one source has
    pub(super) source: String,
    /// Maximum number of pages to read, the feed itself included
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) pages: u32,
    /// Request WordPress pages (`?paged=2` and so on) if the feed links to no older page
    #[arg(long)]
    pub(super) wordpress: bool,
}

/// The names of all types.
pub(super) fn source_types() -> PossibleValuesParser {
    PossibleValuesParser::new(SourceType::ALL.map(SourceType::name))
}
