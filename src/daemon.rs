//! The daemon: starts every room with its settings, waits for a signal, and ends them in reverse.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use slog::{Logger, info, o, warn};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::clock::{Clock, SystemClock};
use crate::config::Settings;
use crate::store::settings::EngineSettings;
use crate::store::{self, Store, StoreError};
use crate::telemetry::{self, StartError, Telemetry};

/// How long the store may take to finish what is under way.
const CLOSE_WITHIN: Duration = Duration::from_secs(10);

/// Why the daemon could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// There is no log.
    #[error(transparent)]
    Log(#[from] StartError),
    /// There is no store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system does not tell us its signals.
    #[error("cannot listen to signals: {0}")]
    Signals(#[from] std::io::Error),
}

/// Runs until a signal ends it. The file is the one that the settings were read from, for the log.
pub async fn run(settings: Settings, config_file: Option<PathBuf>) -> Result<(), DaemonError> {
    // URLs of sources can hold credentials, so the database is nobody else's to read, and neither is the log.
    rustix::process::umask(rustix::fs::Mode::RWXO | rustix::fs::Mode::WGRP);
    let mut signals = Signals::listen()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let telemetry = telemetry::start(&settings.log, clock.clone())?;
    let started_at = clock.now();
    let log = telemetry.logger.new(o!());
    info!(log, "daemon starting";
        "version" => env!("CARGO_PKG_VERSION"),
        "config_file" => config_file.map(|path| path.display().to_string()),
        "database_engine" => engine_name(&settings.store.engine));
    let ended = serve(&settings, &telemetry, &log, &mut signals, clock.as_ref()).await;
    match &ended {
        Ok(()) => info!(log, "daemon stopped"; "uptime_seconds" => clock.now().since(started_at).as_secs()),
        Err(error) => slog::crit!(log, "daemon failed"; "error" => %error),
    }
    ended
}

/// From the opening of the store to its closing.
async fn serve(
    settings: &Settings,
    telemetry: &Telemetry,
    log: &Logger,
    signals: &mut Signals,
    clock: &dyn Clock,
) -> Result<(), DaemonError> {
    let store = tokio::select! {
        opened = store::open(&settings.store, clock.now()) => opened?,
        // A store that takes long to open must not make the daemon deaf.
        () = until_told_to_stop(telemetry, log, signals) => return Ok(()),
    };
    let about = store.about();
    info!(log, "store ready"; "engine" => about.engine, "schema_version" => about.schema_version);
    info!(log, "daemon ready");
    until_told_to_stop(telemetry, log, signals).await;
    close(store.as_ref(), telemetry, log, signals).await;
    Ok(())
}

async fn until_told_to_stop(telemetry: &Telemetry, log: &Logger, signals: &mut Signals) {
    loop {
        let received = signals.next().await;
        info!(log, "signal received"; "signal" => received.name());
        match received {
            Received::Hangup => telemetry.handle.reopen(),
            Received::Interrupt | Received::Terminate => return,
        }
    }
}

/// Closes the store within its time; a second signal to stop, or time running out, ends the wait. Whatever was acknowledged
/// is in the store by then in any case.
async fn close(store: &dyn Store, telemetry: &Telemetry, log: &Logger, signals: &mut Signals) {
    let reason = tokio::select! {
        () = store.close() => return,
        () = tokio::time::sleep(CLOSE_WITHIN) => "it took too long",
        () = until_told_to_stop(telemetry, log, signals) => "a second signal came",
    };
    warn!(log, "store not closed"; "reason" => reason);
}

/// A signal that the daemon acts on.
#[derive(Clone, Copy)]
enum Received {
    Hangup,
    Interrupt,
    Terminate,
}

impl Received {
    fn name(self) -> &'static str {
        match self {
            Received::Hangup => "SIGHUP",
            Received::Interrupt => "SIGINT",
            Received::Terminate => "SIGTERM",
        }
    }
}

struct Signals {
    hangup: Signal,
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Signals> {
        Ok(Signals {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> Received {
        tokio::select! {
            _ = self.hangup.recv() => Received::Hangup,
            _ = self.interrupt.recv() => Received::Interrupt,
            _ = self.terminate.recv() => Received::Terminate,
        }
    }
}

fn engine_name(engine: &EngineSettings) -> &'static str {
    match engine {
        EngineSettings::Sqlite(_) => "sqlite",
        EngineSettings::Postgres(_) => "postgres",
    }
}
