//! Command-line arguments.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use super::audit_command::AuditArguments;
use super::backup_command::BackupArguments;
use super::connection::ConnectionArguments;
use super::daemon_command::{Level, ReloadArguments, TreeArguments};
use super::dashboard_command::DashboardArguments;
use super::events_command::EventsArguments;
use super::host_command::HostCommand;
use super::label_command::LabelCommand;
use super::opml_command::{Export, ImportArguments};
use super::podcast_command::PodcastCommand;
use super::post_command::PostCommand;
use super::reference::{Completions, Man};
use super::source_arguments::{SourceCommand, backlogs, source_types};
use super::store_command::StoreCommand;
use super::token_command::TokenArguments;
use super::top_command::TopArguments;
use super::user_command::UserCommand;
use super::webhook_command::WebhookCommand;
use crate::model::SourceType;
use crate::sources::owner_key;

/// Poll feeds, websites and X accounts, and store their posts
#[derive(Debug, Parser)]
#[command(name = "feedwarden", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(super) struct Arguments {
    #[command(flatten)]
    layers: Layers,
    #[command(subcommand)]
    command: Command,
}

pub(super) const EXIT_CODES: &str = "\
Exit codes: 0 success; 1 failure of the daemon, a poll, a file, a document or a checked source; 2 invalid command line or \
configuration; 3 the daemon or the store does not answer; 4 not found; 5 it exists already, or its version has changed; \
6 refused: the source does not work, rests or is disabled, or access to the socket or the API is denied; 70 an actor of \
the daemon crashed too often.";

/// Configuration layers above the defaults and the environment.
///
/// Every command takes these at every level: clap's global arguments would drop the outer of two `--set`.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Layers {
    /// Read settings from this YAML file [default: the one that FEEDWARDEN_CONFIG names, or
    /// ~/.config/feedwarden/feedwarden.yaml if it exists]
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Set one key, such as source.max-failures=3; overrides file and environment; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
}

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
    /// Show the daemon polling a simulated web with a fast clock and injected crashes
    Demo(Demo),
    /// Write, show or check the configuration
    Config {
        #[command(flatten)]
        layers: Layers,
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Issue a token for the daemon's API over TCP
    Token(TokenArguments),
    /// Copy the SQLite database to a file while the daemon runs
    Backup(BackupArguments),
    /// Check the store, shrink its file, change its encryption key
    Store {
        #[command(flatten)]
        layers: Layers,
        #[command(subcommand)]
        command: StoreCommand,
    },
    /// Generate shell completions
    Completions(Completions),
    /// Generate manual pages
    Man(Man),
    #[command(flatten)]
    Daemon(Box<DaemonCommand>),
}

/// Commands that use the API of the running daemon.
#[derive(Debug, Subcommand)]
pub(super) enum DaemonCommand {
    /// Show the status of the running daemon
    Status(RemoteCommand<NoArguments>),
    /// List rows of the database that cannot be read and are skipped
    Quarantine(RemoteCommand<NoArguments>),
    /// Show the supervision tree
    Tree(RemoteCommand<TreeArguments>),
    /// List the nodes that share the database, with their shards
    Fleet(RemoteCommand<NoArguments>),
    /// Open the dashboard of the running daemon in a browser
    ///
    /// Prints a URL that signs one browser on this machine in, and opens it. The daemon serves the dashboard on loopback
    /// until it ends. With api.listen, sign in at /dashboard with a token instead.
    Dashboard(RemoteCommand<DashboardArguments>),
    /// Watch the running daemon live
    Top(RemoteCommand<TopArguments>),
    /// Add, list, change, poll and explain sources
    Source(RemoteCommands<SourceCommand>),
    /// List, add, remove and rename labels of sources
    Label(RemoteCommands<LabelCommand>),
    /// List, hold and release hosts
    Host(RemoteCommands<HostCommand>),
    /// List, show and follow posts
    Post(RemoteCommands<PostCommand>),
    /// Only for X accounts: add, list and remove users and their X keys
    ///
    /// Users and podcasts exist only for X: an X account is read with the key of the user who owns its podcast. Feeds
    /// and websites need neither.
    #[command(display_order = 900)]
    User(RemoteCommands<UserCommand>),
    /// Only for X accounts: add, list, change and remove podcasts
    ///
    /// Users and podcasts exist only for X: an X account is read with the key of the user who owns its podcast. Feeds
    /// and websites need neither.
    #[command(display_order = 901)]
    Podcast(RemoteCommands<PodcastCommand>),
    /// Add, list, change, test and remove webhooks and sinks (files, Redis, NATS, AMQP) for events
    #[command(visible_alias = "sink")]
    Webhook(RemoteCommands<WebhookCommand>),
    /// Import sources from OPML; folders become labels
    Import(RemoteCommand<ImportArguments>),
    /// Export all feeds as OPML
    Export(RemoteCommand<Export>),
    /// Pause all polling; survives a restart
    Pause(RemoteCommand<NoArguments>),
    /// Resume polling after a pause
    Resume(RemoteCommand<NoArguments>),
    /// Reload the configuration
    Reload(RemoteCommand<ReloadArguments>),
    /// List changes by users and programs: who changed what, and when
    Audit(RemoteCommand<AuditArguments>),
    /// List events of posts, sources, hosts and the daemon, or follow them
    Events(RemoteCommand<EventsArguments>),
    /// Show or change the log level
    LogLevel(RemoteCommand<Level>),
}

#[derive(Args, Debug)]
pub(super) struct RemoteCommand<T: Args> {
    #[command(flatten)]
    pub(super) arguments: T,
    #[command(flatten)]
    pub(super) connection: ConnectionArguments,
}

#[derive(Args, Debug)]
pub(super) struct RemoteCommands<T: Subcommand> {
    #[command(subcommand)]
    pub(super) command: T,
    #[command(flatten)]
    pub(super) connection: ConnectionArguments,
}

#[derive(Args, Debug)]
pub(super) struct NoArguments {}

#[derive(Args, Debug)]
pub(super) struct Run {
    #[command(flatten)]
    pub(super) layers: Layers,
    /// Poll all due sources once, print a summary and exit
    #[arg(long)]
    pub(super) once: bool,
    /// Import sources from this OPML file first; - reads standard input
    #[arg(long, value_name = "FILE", requires = "once")]
    pub(super) opml: Option<PathBuf>,
    /// Entries older than the imported sources: skip, keep (within source.max-article-age-days) or all [default:
    /// source.backlog]
    #[arg(long, value_name = "WHICH", requires = "opml", num_args = 0..=1, require_equals = true,
        default_missing_value = "keep", value_parser = backlogs())]
    pub(super) backlog: Option<String>,
    /// Also poll sources that are not due; Retry-After and holds still apply
    #[arg(long, requires = "once")]
    pub(super) all: bool,
    /// Print the summary as JSON
    #[arg(long, requires = "once")]
    pub(super) json: bool,
}

fn types_with_key() -> impl Iterator<Item = (&'static str, &'static str)> {
    let with_key = SourceType::ALL.into_iter().filter(|source_type| owner_key(*source_type).is_some());
    with_key.map(|source_type| ("source_type", source_type.name()))
}

#[derive(Args, Debug)]
pub(super) struct Check {
    #[command(flatten)]
    pub(super) layers: Layers,
    /// URL of the source; for an X account also its name
    pub(super) url: String,
    /// Type of the source
    #[arg(long = "type", value_name = "TYPE", default_value = "rss", value_parser = source_types())]
    pub(super) source_type: String,
    /// File with an X key: a bearer token, or the JSON of an OAuth 2.0 token
    #[arg(long, value_name = "FILE", required_if_eq_any(types_with_key()))]
    pub(super) key_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct Parse {
    #[command(flatten)]
    pub(super) documents: Documents,
    /// Base URL for relative links
    #[arg(long, value_name = "URL", conflicts_with = "ndjson")]
    pub(super) base: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct Extract {
    #[command(flatten)]
    pub(super) documents: Documents,
    /// Base URL for relative links
    #[arg(long, value_name = "URL", conflicts_with = "ndjson")]
    pub(super) url: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct Documents {
    /// Files to read; - reads standard input
    #[arg(value_name = "FILE", required_unless_present = "ndjson", conflicts_with = "ndjson")]
    pub(super) files: Vec<PathBuf>,
    /// Content-Type of the files
    #[arg(long, value_name = "TYPE", conflicts_with = "ndjson")]
    pub(super) content_type: Option<String>,
    /// Print one JSON object per file, which it names as `file`, also on a terminal
    #[arg(long)]
    pub(super) json: bool,
    /// Read lines of path, content type and URL, separated by tabs, and answer each with one line of JSON
    #[arg(long)]
    pub(super) ndjson: bool,
}

#[derive(Args, Debug)]
pub(super) struct Demo {
    /// Show this many daemons that share one PostgreSQL, by the real clock; some are killed. Starts a temporary server
    /// if its programs are installed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=9), conflicts_with = "speed")]
    pub(super) nodes: Option<u8>,
    /// Stop after this many seconds [default: run until q or Ctrl-C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(super) seconds: Option<u64>,
    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Number of sources
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) sources: u32,
    /// Number of hosts; each takes a file descriptor
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) hosts: u32,
    /// Speed of the clock; with 1200, one hour passes in three seconds
    #[arg(long, value_name = "FACTOR", default_value_t = 1200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) speed: u32,
    /// Write the daemon's log to this file; with --nodes, to one file for each node, such as FILE.node-1
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
    /// Print the summary as JSON, and one progress line per second on standard error
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Write a configuration file that shows every key with its default, commented out
    Init {
        #[command(flatten)]
        layers: Layers,
        /// File to write; - prints it [default: the file of --config, of FEEDWARDEN_CONFIG, or
        /// ~/.config/feedwarden/feedwarden.yaml, which is read without being named]
        file: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
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
            Command::Backup(backup) => layers.push(std::mem::take(&mut backup.layers)),
            Command::Store { layers: middle, command } => {
                layers.push(std::mem::take(middle));
                layers.push(std::mem::take(command.layers()));
            }
            Command::Daemon(command) => {
                layers.push(Layers { config: command.connection().config.take(), set: Vec::new() });
            }
            Command::Parse(_) | Command::Extract(_) | Command::Demo(_) | Command::Completions(_) | Command::Man(_) => {}
            Command::Config { layers: middle, command } => {
                layers.push(std::mem::take(middle));
                let (ConfigCommand::Init { layers: inner, .. }
                | ConfigCommand::Show { layers: inner, .. }
                | ConfigCommand::Check { layers: inner, .. }) = command;
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
    pub(super) fn connection(&mut self) -> &mut ConnectionArguments {
        match self {
            DaemonCommand::Status(command)
            | DaemonCommand::Quarantine(command)
            | DaemonCommand::Pause(command)
            | DaemonCommand::Fleet(command)
            | DaemonCommand::Resume(command) => &mut command.connection,
            DaemonCommand::Reload(command) => &mut command.connection,
            DaemonCommand::Tree(command) => &mut command.connection,
            DaemonCommand::Top(command) => &mut command.connection,
            DaemonCommand::Dashboard(command) => &mut command.connection,
            DaemonCommand::Source(commands) => &mut commands.connection,
            DaemonCommand::Label(commands) => &mut commands.connection,
            DaemonCommand::Host(commands) => &mut commands.connection,
            DaemonCommand::Post(commands) => &mut commands.connection,
            DaemonCommand::User(commands) => &mut commands.connection,
            DaemonCommand::Podcast(commands) => &mut commands.connection,
            DaemonCommand::Webhook(commands) => &mut commands.connection,
            DaemonCommand::Import(command) => &mut command.connection,
            DaemonCommand::Export(command) => &mut command.connection,
            DaemonCommand::Audit(command) => &mut command.connection,
            DaemonCommand::Events(command) => &mut command.connection,
            DaemonCommand::LogLevel(command) => &mut command.connection,
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
