//! The command line: data goes to standard output, messages to standard error.
//!
//! May use `config`, `daemon` and `demo`; it uses a running daemon only through its API.

mod arguments;
mod audit_command;
mod backfill_command;
mod backup_command;
mod check_command;
mod check_report;
mod check_robots;
mod client;
mod config_command;
mod confirm;
mod connection;
mod daemon_command;
mod dashboard_command;
mod demo_command;
mod documents;
mod error;
mod events;
mod events_command;
mod exit;
mod fleet_command;
mod hints;
mod host_command;
mod label_command;
mod listing;
mod manual;
mod new_source;
mod once_command;
mod opml_command;
mod output_style;
mod podcast_command;
mod post_command;
mod progress;
mod reference;
mod sanitize;
mod secret_file;
mod source_access;
mod source_arguments;
mod source_command;
mod source_names;
mod source_selection;
mod source_words;
mod status_words;
mod store_command;
mod store_report;
mod stream;
mod table;
mod times;
mod token_command;
mod top_command;
mod user_command;
mod webhook_command;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;

use crate::config::{ConfigRequest, Loaded, load};
use crate::daemon::{self, DaemonError};
use crate::store::settings::StoreSettings;
use arguments::{Arguments, Command, ConfigCommand, DaemonCommand, Layers};
use client::{ApiClient, Done, with_daemon};

pub use exit::Exit;
pub use reference::reference;

/// Runs the program; the first argument is its name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let (command, layers) = match Arguments::try_parse_from(arguments).and_then(Arguments::split) {
        Ok(parts) => parts,
        Err(error) => {
            // Includes help and version. Ignore output errors.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Success };
        }
    };
    match command {
        Command::Parse(parse) => documents::parse(&parse),
        Command::Extract(extract) => documents::extract(&extract),
        Command::Demo(demo) => demo_command::demo(&demo),
        Command::Run(run) if run.once => with_settings(layers, |loaded| once_command::once(&run, loaded)),
        Command::Run(_) => run_daemon(layers),
        Command::Check(check) => with_settings(layers, |loaded| check_command::check(&check, loaded.settings)),
        Command::Config { command: ConfigCommand::Show { json, .. }, .. } => {
            with_settings(layers, |loaded| config_command::show(&loaded.effective, json))
        }
        Command::Config { command: ConfigCommand::Check { json, .. }, .. } => {
            with_settings(layers, |_| config_command::check(json))
        }
        Command::Config { command: ConfigCommand::Init { file, json, .. }, .. } => {
            config_command::init(file.or_else(|| request(layers).file_to_write()), json)
        }
        Command::Token(token) => with_settings(layers, |loaded| token_command::token(&token, &loaded.settings.api)),
        Command::Backup(backup) => with_database(layers, |store| backup_command::backup(&backup, store)),
        Command::Store { command, .. } => with_database(layers, |store| store_command::store(&command, store)),
        Command::Completions(completions) => reference::completions(&completions),
        Command::Man(man) => reference::man(&man),
        Command::Daemon(mut command) => {
            let connection = std::mem::take(command.connection());
            with_daemon(connection, layers, async |client| ask(client, *command).await)
        }
    }
}

async fn ask(client: &ApiClient, command: DaemonCommand) -> Done {
    match command {
        DaemonCommand::Status(_) => daemon_command::status(client).await,
        DaemonCommand::Quarantine(_) => daemon_command::quarantine(client).await,
        DaemonCommand::Tree(command) => daemon_command::tree(client, &command.arguments).await,
        DaemonCommand::Dashboard(command) => dashboard_command::dashboard(client, &command.arguments).await,
        DaemonCommand::Top(command) => top_command::top(client, &command.arguments).await,
        DaemonCommand::Source(commands) => source_command::source(client, commands.command).await,
        DaemonCommand::Label(commands) => label_command::label(client, commands.command).await,
        DaemonCommand::Host(commands) => host_command::host(client, commands.command).await,
        DaemonCommand::Post(commands) => post_command::post(client, commands.command).await,
        DaemonCommand::User(commands) => user_command::user(client, commands.command).await,
        DaemonCommand::Podcast(commands) => podcast_command::podcast(client, commands.command).await,
        DaemonCommand::Webhook(commands) => webhook_command::webhook(client, commands.command).await,
        DaemonCommand::Import(command) => opml_command::import(client, &command.arguments).await,
        DaemonCommand::Export(command) => opml_command::export(client, &command.arguments).await,
        DaemonCommand::Pause(_) => daemon_command::pause(client).await,
        DaemonCommand::Resume(_) => daemon_command::resume(client).await,
        DaemonCommand::Reload(command) => daemon_command::reload(client, &command.arguments).await,
        DaemonCommand::Fleet(_) => fleet_command::fleet(client).await,
        DaemonCommand::Events(command) => events_command::events(client, &command.arguments).await,
        DaemonCommand::Audit(command) => audit_command::audit(client, &command.arguments).await,
        DaemonCommand::LogLevel(command) => daemon_command::log_level(client, &command.arguments).await,
    }
}

/// Loads the configuration and continues with it, or prints all errors.
fn with_settings(layers: Layers, go_on: impl FnOnce(Loaded) -> Exit) -> Exit {
    match load(&request(layers)) {
        Ok(loaded) => go_on(loaded),
        Err(problems) => {
            complain(&problems);
            Exit::Usage
        }
    }
}

/// The same for commands that open the database themselves.
fn with_database(layers: Layers, go_on: impl FnOnce(&StoreSettings) -> Exit) -> Exit {
    with_settings(layers, |loaded| {
        for notice in &loaded.notices {
            complain(notice);
        }
        go_on(&loaded.settings.store)
    })
}

fn request(layers: Layers) -> ConfigRequest {
    ConfigRequest { file: layers.config, environment: std::env::vars_os().collect(), assignments: layers.set }
}

fn run_daemon(layers: Layers) -> Exit {
    let request = request(layers);
    let loaded = match load(&request) {
        Ok(loaded) => loaded,
        Err(problems) => {
            complain(&problems);
            return Exit::Usage;
        }
    };
    match actix_rt::System::new().block_on(daemon::run(loaded, request)) {
        Ok(()) => Exit::Success,
        Err(error) => {
            complain(&error);
            exit_of(&error)
        }
    }
}

fn exit_of(error: &DaemonError) -> Exit {
    match error {
        DaemonError::Escalated(_) => Exit::Escalated,
        // A wrong key; a retry does not help.
        DaemonError::ClosedSecrets(_) => Exit::Usage,
        _ => Exit::Failure,
    }
}

/// Prints an error; a closed standard error must not cause a panic.
fn complain(message: &dyn std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "feedwarden: {message}");
}

/// Writes data. A pipe that is closed early, for example by `head`, is not an error.
fn print(data: &str) -> Exit {
    print_some(data).unwrap_or(Exit::Success)
}

/// Writes data; returns an exit code if the program has to end.
fn print_some(data: &str) -> Option<Exit> {
    let mut output = std::io::stdout().lock();
    match output.write_all(data.as_bytes()).and_then(|()| output.flush()) {
        Ok(()) => None,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Some(Exit::Success),
        Err(error) => {
            complain(&format_args!("standard output cannot be written: {error}"));
            Some(Exit::Failure)
        }
    }
}
