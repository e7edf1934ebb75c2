//! The words that the program understands.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use super::connection::Connection;
use super::daemon_command::{Level, Tree};
use super::host_command::HostCommand;
use super::opml_command::{Export, Import};
use super::podcast_command::PodcastCommand;
use super::post_command::PostCommand;
use super::reference::{Completions, Man};
use super::source_arguments::{SourceCommand, source_types};
use super::token_command::Token;
use super::top_command::Top;
use super::user_command::UserCommand;
use super::webhook_command::WebhookCommand;
use crate::model::SourceType;
use crate::sources::owner_key;

/// Polls feeds, websites and X accounts politely, and tells its operator the truth.
#[derive(Debug, Parser)]
#[command(name = "feedwarden", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(super) struct Arguments {
    #[command(flatten)]
    layers: Layers,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed: the daemon, a poll, a file, or a document or source that would not work; 2 the command line \
or the configuration is wrong; 3 no daemon answers; 4 there is no such thing; 5 it is there already, or was changed \
meanwhile; 6 the daemon refuses: the source does not work, rests or is disabled, or the token or \
the socket does not allow it; 70 a part of the daemon crashed too often.";

/// Where settings come from, beside the built-in ones and the environment.
///
/// Every command takes these at every level. clap's own global arguments would forget the outer of two `--set`.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Layers {
    /// Read settings from this YAML file
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Set one key, such as source.max-failures=3; wins over file and environment, may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run the daemon in the foreground, or poll once with --once
    Run(Run),
    /// Poll a URL once without storing anything, and show the result
    Check(Check),
    /// Parse feeds from files and print their entries
    Parse(Parse),
    /// Extract the article from web pages in files
    Extract(Extract),
    /// Watch the daemon at work on a little web of its own, where hours pass in seconds and parts of it crash on purpose
    Demo(Demo),
    /// Show or check the configuration
    Config {
        #[command(flatten)]
        layers: Layers,
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Issue a token for the daemon's API over TCP
    Token(Token),
    /// Generate shell completions
    Completions(Completions),
    /// Generate manual pages
    Man(Man),
    #[command(flatten)]
    Daemon(Box<DaemonCommand>),
}

/// What to ask the running daemon, or to tell it.
#[derive(Debug, Subcommand)]
pub(super) enum DaemonCommand {
    /// Show the status of the running daemon
    Status(RemoteCommand<Nothing>),
    /// Show the supervision tree
    Tree(RemoteCommand<Tree>),
    /// Watch the running daemon live
    Top(RemoteCommand<Top>),
    /// Add, list, change, poll and explain sources
    Source(RemoteCommands<SourceCommand>),
    /// List, hold and release hosts
    Host(RemoteCommands<HostCommand>),
    /// List, show and follow posts
    Post(RemoteCommands<PostCommand>),
    /// Add, list and remove users and their X keys
    User(RemoteCommands<UserCommand>),
    /// Add, list, change and remove podcasts
    Podcast(RemoteCommands<PodcastCommand>),
    /// Add, list, change, test and remove webhooks for new posts
    Webhook(RemoteCommands<WebhookCommand>),
    /// Import sources from OPML; folders become labels
    Import(RemoteCommand<Import>),
    /// Export all feeds as OPML
    Export(RemoteCommand<Export>),
    /// Pause all polling; survives a restart
    Pause(RemoteCommand<Nothing>),
    /// Resume polling after a pause
    Resume(RemoteCommand<Nothing>),
    /// Reload the configuration
    Reload(RemoteCommand<Nothing>),
    /// Show or change the log level
    LogLevel(RemoteCommand<Level>),
}

/// A command for the daemon.
#[derive(Args, Debug)]
pub(super) struct RemoteCommand<T: Args> {
    #[command(flatten)]
    pub(super) what: T,
    #[command(flatten)]
    pub(super) connection: Connection,
}

/// Commands for the daemon about one kind of thing.
#[derive(Args, Debug)]
pub(super) struct RemoteCommands<T: Subcommand> {
    #[command(subcommand)]
    pub(super) command: T,
    #[command(flatten)]
    pub(super) connection: Connection,
}

/// No arguments.
#[derive(Args, Debug)]
pub(super) struct Nothing {}

/// How to run.
#[derive(Args, Debug)]
pub(super) struct Run {
    #[command(flatten)]
    pub(super) layers: Layers,
    /// Poll every source that is due once, print a summary, and end
    #[arg(long)]
    pub(super) once: bool,
    /// Add the sources of this OPML file first, unless they are there already; - is standard input
    #[arg(long, value_name = "FILE", requires = "once")]
    pub(super) opml: Option<PathBuf>,
    /// Poll sources that are not due as well; Retry-After and holds still apply
    #[arg(long, requires = "once")]
    pub(super) all: bool,
    /// Print the summary as JSON for programs
    #[arg(long, requires = "once")]
    pub(super) json: bool,
}

fn types_with_key() -> impl Iterator<Item = (&'static str, &'static str)> {
    let with_key = SourceType::ALL.into_iter().filter(|source_type| owner_key(*source_type).is_some());
    with_key.map(|source_type| ("source_type", source_type.name()))
}

/// What to poll.
#[derive(Args, Debug)]
pub(super) struct Check {
    #[command(flatten)]
    pub(super) layers: Layers,
    /// Where the source is
    pub(super) url: String,
    /// How it is read
    #[arg(long = "type", value_name = "TYPE", default_value = "rss", value_parser = source_types())]
    pub(super) source_type: String,
    /// A file with the key for an X account: a bearer token, or the JSON of an OAuth 2.0 token
    #[arg(long, value_name = "FILE", required_if_eq_any(types_with_key()))]
    pub(super) key_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Which feeds to read.
#[derive(Args, Debug)]
pub(super) struct Parse {
    #[command(flatten)]
    pub(super) documents: Documents,
    /// Where the files came from: links are made absolute against this
    #[arg(long, value_name = "URL", conflicts_with = "ndjson")]
    pub(super) base: Option<String>,
}

/// Which pages to read.
#[derive(Args, Debug)]
pub(super) struct Extract {
    #[command(flatten)]
    pub(super) documents: Documents,
    /// Where the files came from: links are made absolute against this
    #[arg(long, value_name = "URL", conflicts_with = "ndjson")]
    pub(super) url: Option<String>,
}

/// Which documents to read, and how to print what is in them.
#[derive(Args, Debug)]
pub(super) struct Documents {
    /// The files; - is standard input
    #[arg(value_name = "FILE", required_unless_present = "ndjson", conflicts_with = "ndjson")]
    pub(super) files: Vec<PathBuf>,
    /// The Content-Type that the files came with
    #[arg(long, value_name = "TYPE", conflicts_with = "ndjson")]
    pub(super) content_type: Option<String>,
    /// Print one JSON object a file, also on a terminal
    #[arg(long)]
    pub(super) json: bool,
    /// Read lines of path, content type and URL, parted by tabs, and answer each with one line of JSON
    #[arg(long)]
    pub(super) ndjson: bool,
}

/// How large the show is and how fast.
#[derive(Args, Debug)]
pub(super) struct Demo {
    /// End after this many seconds; without it, Ctrl-C does
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(super) seconds: Option<u64>,
    /// What everything that looks random comes from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// How many sources there are
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) sources: u32,
    /// How many hosts they are on; each takes a file descriptor
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) hosts: u32,
    /// How many seconds pass in one: with 1200, an hour passes in three
    #[arg(long, value_name = "FACTOR", default_value_t = 1200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) speed: u32,
    /// Keep the daemon's log in this file
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
    /// Print the summary as JSON for programs, and a line a second on standard error meanwhile
    #[arg(long)]
    pub(super) json: bool,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print every key with its value and origin; secrets are masked
    Show {
        #[command(flatten)]
        layers: Layers,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check the configuration and list every error
    Check {
        #[command(flatten)]
        layers: Layers,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Arguments {
    /// The command, and the settings of all levels together, the outer ones first.
    pub(super) fn split(mut self) -> Result<(Command, Layers), clap::Error> {
        let mut layers = vec![std::mem::take(&mut self.layers)];
        match &mut self.command {
            Command::Run(run) => layers.push(std::mem::take(&mut run.layers)),
            Command::Check(check) => layers.push(std::mem::take(&mut check.layers)),
            Command::Token(token) => layers.push(std::mem::take(&mut token.layers)),
            Command::Daemon(command) => {
                layers.push(Layers { config: command.connection().config.take(), set: Vec::new() });
            }
            Command::Parse(_) | Command::Extract(_) | Command::Demo(_) | Command::Completions(_) | Command::Man(_) => {}
            Command::Config { layers: middle, command } => {
                layers.push(std::mem::take(middle));
                let (ConfigCommand::Show { layers: inner, .. } | ConfigCommand::Check { layers: inner, .. }) = command;
                layers.push(std::mem::take(inner));
            }
        }
        let mut all = Layers::default();
        for level in layers {
            if all.config.is_some() && level.config.is_some() {
                let text = "the argument '--config <FILE>' cannot be used multiple times";
                return Err(Arguments::command().error(ErrorKind::ArgumentConflict, text));
            }
            all.config = all.config.or(level.config);
            all.set.extend(level.set);
        }
        Ok((self.command, all))
    }
}

impl DaemonCommand {
    /// Where the daemon is.
    pub(super) fn connection(&mut self) -> &mut Connection {
        match self {
            DaemonCommand::Status(asking)
            | DaemonCommand::Pause(asking)
            | DaemonCommand::Resume(asking)
            | DaemonCommand::Reload(asking) => &mut asking.connection,
            DaemonCommand::Tree(asking) => &mut asking.connection,
            DaemonCommand::Top(asking) => &mut asking.connection,
            DaemonCommand::Source(noun) => &mut noun.connection,
            DaemonCommand::Host(noun) => &mut noun.connection,
            DaemonCommand::Post(noun) => &mut noun.connection,
            DaemonCommand::User(noun) => &mut noun.connection,
            DaemonCommand::Podcast(noun) => &mut noun.connection,
            DaemonCommand::Webhook(noun) => &mut noun.connection,
            DaemonCommand::Import(asking) => &mut asking.connection,
            DaemonCommand::Export(asking) => &mut asking.connection,
            DaemonCommand::LogLevel(asking) => &mut asking.connection,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(words: &str) -> Result<Layers, clap::Error> {
        Arguments::try_parse_from(words.split(' ')).and_then(Arguments::split).map(|(_, layers)| layers)
    }

    #[test]
    fn clap_finds_no_fault_with_the_arguments() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn settings_are_taken_from_every_level_in_their_order() {
        let all = layers("feedwarden --set a=1 config --set b=2 --config f show --set c=3 --set d=4").unwrap();
        assert_eq!(all.set, ["a=1", "b=2", "c=3", "d=4"]);
        assert_eq!(all.config, Some("f".into()));
    }

    #[test]
    fn commands_for_the_daemon_take_a_file_at_every_level() {
        for words in [
            "feedwarden --config f status",
            "feedwarden status --config f",
            "feedwarden --config f source list",
            "feedwarden source --config f list",
            "feedwarden source list --config f",
        ] {
            assert_eq!(layers(words).unwrap().config, Some("f".into()), "{words}");
        }
    }

    #[test]
    fn two_files_are_one_too_many_on_any_level() {
        for words in [
            "feedwarden --config f --config g run",
            "feedwarden --config f run --config g",
            "feedwarden --config f status --config g",
            "feedwarden --config f source --config g list",
            "feedwarden --config f source list --config g",
            "feedwarden source list --config f --config g",
        ] {
            assert_eq!(layers(words).unwrap_err().exit_code(), 2, "{words}");
        }
    }
}
