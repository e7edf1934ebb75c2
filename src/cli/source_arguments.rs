//! The words after `feedwarden source`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

use crate::model::SourceType;

/// What to do with sources. Each is named by its number or its URL.
#[derive(Debug, Subcommand)]
pub(super) enum SourceCommand {
    /// Add a source and poll it once
    Add(Box<Add>),
    /// List sources
    List(List),
    /// Show a source with its state
    Show(Named),
    /// Change some settings of a source, enable or disable it
    Edit(Box<Edit>),
    /// Enable a source and reset its failure counters
    Enable(Target),
    /// Disable a source
    Disable(Disable),
    /// Rest a source for the cooldown of a kind of failure, or until woken
    Rest(Rest),
    /// End the rest of a source
    Wake(Target),
    /// Reset the failure counters of a source
    Reset(Target),
    /// Remove a source with its posts
    Remove(Target),
    /// Poll a source now, as far as its publisher and host allow
    Poll(PollSource),
    /// Explain when a source is polled next, and why
    Explain(Named),
    /// List the last polls of a source
    History(Named),
    /// Show, set or remove the login and headers of a source
    Access(Access),
}

/// One source.
#[derive(Args, Debug)]
pub(super) struct Named {
    /// The source's number or URL
    pub(super) source: String,
}

/// One source that is to be changed.
#[derive(Args, Debug)]
pub(super) struct Target {
    /// The source's number or URL
    pub(super) source: String,
    /// Change the source only if it still has this version
    #[arg(long, value_name = "VERSION")]
    pub(super) if_version: Option<i64>,
}

/// A new source.
#[derive(Args, Debug)]
pub(super) struct Add {
    /// Where the source is; for an X account, its name will do
    #[arg(value_name = "WHERE")]
    pub(super) place: String,
    #[command(flatten)]
    pub(super) settings: Settings,
    #[command(flatten)]
    pub(super) access: AccessFiles,
    /// Add the source even if its first poll fails
    #[arg(long)]
    pub(super) anyway: bool,
    /// Add the source without polling it first
    #[arg(long, conflicts_with = "anyway")]
    pub(super) unseen: bool,
}

/// What a person can say about a source.
#[derive(Args, Debug)]
pub(super) struct Settings {
    /// How it is read [a new one: as its URL tells, or rss]
    #[arg(long = "type", value_name = "TYPE", value_parser = source_types())]
    pub(super) source_type: Option<String>,
    /// A name for people
    #[arg(long)]
    pub(super) title: Option<String>,
    /// The number of the podcast whose owner's keys are used [a new X account: the only podcast there is]
    #[arg(long, value_name = "ID")]
    pub(super) podcast: Option<i64>,
    /// Its own interval in minutes
    #[arg(long, value_name = "N")]
    pub(super) interval_minutes: Option<u32>,
    /// Its own pause after the previous request to its host, in seconds
    #[arg(long, value_name = "N")]
    pub(super) delay_seconds: Option<u32>,
    /// Its own number of permanent failures that disable it
    #[arg(long, value_name = "N")]
    pub(super) max_failures: Option<u32>,
    /// Its own ceiling on backoff in hours
    #[arg(long, value_name = "N")]
    pub(super) max_backoff_hours: Option<u32>,
    /// A label; may be repeated, and replaces the labels there were
    #[arg(long = "label", value_name = "LABEL")]
    pub(super) labels: Vec<String>,
}

/// Where secrets are: arguments are seen by everybody on the machine.
#[derive(Args, Debug)]
pub(super) struct AccessFiles {
    /// A file with a login: NAME:PASSWORD on one line; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) login_file: Option<PathBuf>,
    /// A file with headers: NAME: VALUE, one a line; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) header_file: Option<PathBuf>,
}

/// What lets a source in.
#[derive(Args, Debug)]
pub(super) struct Access {
    #[command(flatten)]
    pub(super) target: Target,
    #[command(flatten)]
    pub(super) files: AccessFiles,
    /// Remove the login and the headers
    #[arg(long, conflicts_with_all = ["login_file", "header_file"])]
    pub(super) clear: bool,
}

/// Changes of a source.
#[derive(Args, Debug)]
pub(super) struct Edit {
    #[command(flatten)]
    pub(super) target: Target,
    /// Another place: what was learned about the old one is forgotten
    #[arg(long = "move-to", value_name = "WHERE")]
    pub(super) place: Option<String>,
    #[command(flatten)]
    pub(super) settings: Settings,
    /// From false to true: enable it, with its failures forgotten; from true to false: disable it
    #[arg(long, value_name = "BOOLEAN")]
    pub(super) enabled: Option<bool>,
    /// Take a setting away, so that the general one holds; may be repeated
    #[arg(long, value_name = "SETTING", value_parser = ["title", "podcast", "interval-minutes", "delay-seconds",
        "max-failures", "max-backoff-hours", "labels"])]
    pub(super) unset: Vec<String>,
}

/// Which sources.
#[derive(Args, Debug)]
pub(super) struct List {
    /// Where they stand
    #[arg(long, value_parser = ["active", "backing_off", "resting", "disabled"])]
    pub(super) state: Option<String>,
    /// At this host
    #[arg(long)]
    pub(super) host: Option<String>,
    /// Of this type
    #[arg(long = "type", value_name = "TYPE", value_parser = source_types())]
    pub(super) source_type: Option<String>,
    /// With this label
    #[arg(long)]
    pub(super) label: Option<String>,
    /// With this text in the URL or title, whatever the case
    #[arg(long)]
    pub(super) text: Option<String>,
    #[command(flatten)]
    pub(super) portion: Portion,
}

/// How much of a list.
#[derive(Args, Debug)]
pub(super) struct Portion {
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) limit: u32,
    /// Go on where the list before ended
    #[arg(long)]
    pub(super) cursor: Option<String>,
    /// All of them; with --json, one object a line
    #[arg(long, conflicts_with_all = ["limit", "cursor"])]
    pub(super) all: bool,
}

/// Why not.
#[derive(Args, Debug)]
pub(super) struct Disable {
    #[command(flatten)]
    pub(super) target: Target,
    /// Why, for people
    #[arg(long)]
    pub(super) reason: Option<String>,
}

/// Why not for now.
#[derive(Args, Debug)]
pub(super) struct Rest {
    #[command(flatten)]
    pub(super) target: Target,
    /// A kind of failure rests for its cooldown: not_found, gone, forbidden, unauthorized, upstream_failure, network or
    /// parse_error; any other text until the source is woken
    #[arg(long)]
    pub(super) reason: String,
}

/// How to poll.
#[derive(Args, Debug)]
pub(super) struct PollSource {
    /// The source's number or URL
    pub(super) source: String,
    /// How long to wait for the result, in seconds; 0: not at all
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(0..=50))]
    pub(super) wait: u64,
    /// Ignore Retry-After, holds and spacing
    #[arg(long)]
    pub(super) force: bool,
}

/// The names of all types.
pub(super) fn source_types() -> PossibleValuesParser {
    PossibleValuesParser::new(SourceType::ALL.map(SourceType::name))
}
