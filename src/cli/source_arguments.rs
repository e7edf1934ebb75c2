//! Arguments of `feedwarden source`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use crate::model::SourceType;

/// Settings that `--unset` removes, by their option, with their names in the API.
const UNSETTABLE: [(&str, &str); 9] = [
    ("title", "title"),
    ("podcast", "podcast_id"),
    ("interval-minutes", "poll_interval_minutes"),
    ("delay-seconds", "poll_delay_seconds"),
    ("max-failures", "max_failures"),
    ("max-backoff-hours", "max_backoff_hours"),
    ("backlog", "backlog"),
    ("full-text", "full_text"),
    ("labels", "labels"),
];

#[derive(Debug, Subcommand)]
pub(super) enum SourceCommand {
    /// Add a source and poll it once
    Add(Box<AddSourceArguments>),
    /// List sources
    List(ListSourcesArguments),
    /// Show a source with its state
    Show(SourceArgument),
    /// Change settings of a source, enable or disable it
    Edit(Box<EditSourceArguments>),
    /// Enable a source and reset its failure counters
    Enable(SourceTarget),
    /// Disable a source
    Disable(DisableSourceArguments),
    /// Rest a source: do not poll it for a cooldown, or until `wake`
    Rest(RestSourceArguments),
    /// End the rest of a source
    Wake(SourceTarget),
    /// Reset the failure counters of a source
    Reset(SourceTarget),
    /// Remove a source with its posts
    Remove(SourceTarget),
    /// Poll a source now, unless Retry-After or a hold forbids it
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
    /// Id or URL of the source
    pub(super) source: String,
}

#[derive(Args, Debug)]
pub(super) struct SourceTarget {
    /// Id or URL of the source
    pub(super) source: String,
    /// Change the source only if it still has this version
    #[arg(long, value_name = "VERSION")]
    pub(super) if_version: Option<i64>,
}

#[derive(Args, Debug)]
pub(super) struct AddSourceArguments {
    /// URL of the source; for an X account also its name
    #[arg(value_name = "URL")]
    pub(super) place: String,
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
    /// The given settings under the names of the API.
    pub(super) fn body(&self) -> Map<String, Value> {
        let fields = [
            ("type", self.source_type.as_ref().map(|value| json!(value))),
            ("title", self.title.as_ref().map(|value| json!(value))),
            ("podcast_id", self.podcast.map(|value| json!(value))),
            ("poll_interval_minutes", self.interval_minutes.map(|value| json!(value))),
            ("poll_delay_seconds", self.delay_seconds.map(|value| json!(value))),
            ("max_failures", self.max_failures.map(|value| json!(value))),
            ("max_backoff_hours", self.max_backoff_hours.map(|value| json!(value))),
            ("backlog", self.backlog.as_ref().map(|value| json!(value))),
            ("full_text", self.full_text.as_ref().map(|value| json!(value))),
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
    #[command(flatten)]
    pub(super) target: SourceTarget,
    /// New URL; failures, validators and watermark are reset
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
    pub(super) target: SourceTarget,
    /// Reason to record
    #[arg(long)]
    pub(super) reason: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct RestSourceArguments {
    #[command(flatten)]
    pub(super) target: SourceTarget,
    /// Reason; a kind of failure with a cooldown in `source.rest`, such as not_found, rests for that cooldown, any
    /// other text until `wake`
    #[arg(long)]
    pub(super) reason: String,
}

#[derive(Args, Debug)]
pub(super) struct PollSourceArguments {
    /// Id or URL of the source
    pub(super) source: String,
    /// Seconds to wait for the result; 0 does not wait
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(0..=50))]
    pub(super) wait: u64,
    /// Ignore Retry-After, holds and the pause of the host
    #[arg(long)]
    pub(super) force: bool,
}

/// The choices of `--backlog`.
pub(super) fn backlogs() -> PossibleValuesParser {
    PossibleValuesParser::new(["skip", "keep", "all"])
}

#[derive(Args, Debug)]
pub(super) struct BackfillArguments {
    /// Id or URL of the source
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
