//! The daemon: starts all parts with their settings, waits for a signal, and stops them in reverse order.

mod lock;
mod membership;
mod once;
mod reload;
mod signals;
mod systemd;

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use slog::{Logger, info, o, warn};

use crate::actors::{Fleet, FleetError, Parts, Pipeline, PipelineHandle, Scope};
use crate::api::{ApiError, CallbackListener, Listeners, answer_calls};
use crate::clock::{Clock, SteadyClock};
use crate::config::{ConfigRequest, Loaded, Settings};
use crate::dashboard::DASHBOARD;
use crate::dice::SeededDice;
use crate::fetch::Fetcher;
use crate::http::{Client, ResolverNotice, SetupError};
use crate::model::Actor;
use crate::service::{Service, own_user};
use crate::store::settings::EngineSettings;
use crate::store::{self, NumberJump, SecretCheck, Store, StoreError, check_secrets};
use crate::supervision::{Crash, RootEnd};
use crate::telemetry::{self, StartError, Telemetry};

pub use lock::{InstanceLock, LockError};
pub use once::{ImportCounts, Once, OnceSummary, run_once};

use membership::NodeMembership;
use reload::{Followers, Reloader};
use signals::{Signals, until_told_to_stop, until_told_to_stop_or};
use systemd::Systemd;

/// Time limit for closing the store.
const CLOSE_WITHIN: Duration = Duration::from_secs(10);
/// Time limit for stopping all actors, once no poll is in flight.
const STOP_WITHIN: Duration = Duration::from_secs(15);
/// Time for everything else at a stop: clients and the log.
const STOP_GRACE: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error(transparent)]
    Log(#[from] StartError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "{0} cannot be opened with database.encryption-key: set the key that they were sealed with, there or as \
         database.encryption-key-previous; `feedwarden store check` lists them. To start without them, set \
         database.accept-unreadable-secrets to true: polls and deliveries that need them fail until they are stored anew"
    )]
    ClosedSecrets(SecretCheck),
    #[error(
        "cannot create the directory {} for the database: {source}; choose another one with database.url and api.socket, or \
         $XDG_STATE_HOME", path.display()
    )]
    StateDirectory { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Busy(#[from] LockError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(
        "another feedwarden of this machine is the node {name:?} of this database: stop it first, or give this one a name of \
         its own (fleet.name)"
    )]
    NodeRuns { name: String },
    #[error("cannot make sure that this node runs once: {0}")]
    NodeLock(std::io::Error),
    #[error(transparent)]
    Http(#[from] SetupError),
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error("cannot listen to signals: {0}")]
    Signals(#[from] std::io::Error),
    #[error("{0}")]
    ImportCounts(String),
    #[error("a part of the daemon crashed too often: {}", .0.message)]
    Escalated(Box<Crash>),
}

/// Runs until a signal ends it. `request` is needed to reload the settings.
pub async fn run(loaded: Loaded, request: ConfigRequest) -> Result<(), DaemonError> {
    let mut signals = Signals::listen()?;
    let started = Started::new(&loaded.settings, loaded.file.clone(), &loaded.notices, Arc::new(SteadyClock::start()))?;
    let ended = serve(loaded, request, &started, &mut signals).await;
    started.ended(&ended);
    ended
}

async fn serve(
    loaded: Loaded,
    request: ConfigRequest,
    started: &Started,
    signals: &mut Signals,
) -> Result<(), DaemonError> {
    let settings = loaded.settings.clone();
    let systemd = Systemd::from_environment(started.log.clone());
    let opening = started.open(&settings, signals);
    let Some(opened) = systemd.extend_start(opening).await? else { return Ok(()) };
    // Before any poll: a second daemon on the same socket fails here.
    let listeners = Listeners::take(&settings.api)?;
    let websub = settings.pipeline.websub.as_ref();
    let callbacks = websub.map(|websub| CallbackListener::take(websub.listen)).transpose()?;
    let client = started.client(&settings)?;
    let shared_settings = membership::shared_settings(&loaded.effective);
    let Some(membership) = started.join(&settings, &opened.store, shared_settings, signals).await? else {
        return Ok(());
    };
    let fleet = membership.fleet.clone();
    let parts = started.parts(&settings, &opened.store, client.clone(), &fleet);
    let pipeline = Pipeline::new(parts, Scope::Daemon);
    let handle = pipeline.handle();
    let mut running = actix_rt::spawn(pipeline.run());
    let log_handle = started.telemetry.handle.clone();
    let followers = Followers {
        handle: handle.clone(),
        client,
        access_rules: listeners.access_rules(),
        log_handle: log_handle.clone(),
        log: started.log.clone(),
    };
    let reloader = Reloader::new(loaded.effective, request, followers);
    let service = Service::new(handle.clone(), own_user());
    let readiness = actix_rt::spawn(service.clone().watch_readiness());
    let by_signal = Actor { who: "signal:SIGHUP".to_owned(), user_name: None, address: None };
    let by_signal = service.acting_for(by_signal);
    let hub_service = service.clone();
    let mut listeners = listeners.open(service, log_handle, reloader.listener(), DASHBOARD)?;
    if let (Some(calls), Some(name)) = (fleet.incoming_calls(), fleet.name()) {
        let (socket, within) = (listeners.socket.clone(), settings.api.limits.answer_within);
        actix_rt::spawn(answer_calls(socket, name.to_owned(), calls, within));
    }
    info!(started.log, "api ready";
        "socket" => absolute(&listeners.socket), "listen" => listeners.listen.map(|address| address.to_string()));
    let callbacks = match websub.zip(callbacks) {
        Some((websub, callbacks)) => {
            let callbacks = callbacks.open(hub_service, &websub.public_url)?;
            info!(started.log, "websub callbacks ready"; "public_url" => &websub.public_url,
                "listen" => callbacks.listen.map(|address| address.to_string()));
            Some(callbacks)
        }
        None => None,
    };
    info!(started.log, "daemon ready");
    // Errors of the new configuration are logged, and nothing has changed.
    let reload = || reloader.reload_apart(by_signal.clone());
    systemd.ready();
    let end = tokio::select! {
        end = &mut running => {
            listeners.close().await;
            end
        }
        () = systemd.feed_watchdog(&handle, settings.pipeline.scheduler.tick) => unreachable!("it never ends"),
        () = until_told_to_stop_or(&started.telemetry, &started.log, signals, reload) => {
            systemd.stopping(settings.drain + STOP_WITHIN + CLOSE_WITHIN + STOP_GRACE);
            readiness.abort();
            // Connected clients may wait for a poll in flight.
            listeners.shut();
            if let Some(callbacks) = callbacks {
                callbacks.close().await;
            }
            started.drain(&handle, settings.drain, signals).await;
            listeners.close().await;
            started.stop(&handle, running, signals).await
        }
    };
    fleet.leave(&started.log).await;
    started.close(opened.store.as_ref(), signals).await;
    outcome(end)
}

fn outcome(end: Result<RootEnd, actix_rt::task::JoinError>) -> Result<(), DaemonError> {
    match end {
        Ok(RootEnd::Escalated(crash)) => Err(DaemonError::Escalated(Box::new(crash))),
        // A second signal drops the root before its end.
        Ok(RootEnd::Stopped) | Err(_) => Ok(()),
    }
}

/// Creates a directory that only its owner can use.
fn create_private(path: &Path) -> Result<(), DaemonError> {
    let created = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    created.map_err(|source| DaemonError::StateDirectory { path: path.to_owned(), source })
}

struct Started {
    telemetry: Telemetry,
    log: Logger,
    clock: Arc<dyn Clock>,
    /// By the monotonic clock.
    began: Duration,
}

/// A store with its lock.
struct Opened {
    store: Arc<dyn Store>,
    _lock: Option<InstanceLock>,
}

impl Started {
    fn new(
        settings: &Settings,
        config_file: Option<PathBuf>,
        notices: &[String],
        clock: Arc<dyn Clock>,
    ) -> Result<Started, DaemonError> {
        // URLs of sources can contain credentials, so database and log are readable by their owner only.
        rustix::process::umask(rustix::fs::Mode::RWXO | rustix::fs::Mode::WGRP);
        let telemetry = telemetry::start(&settings.log, clock.clone())?;
        let log = telemetry.logger.new(o!());
        info!(log, "daemon starting";
            "version" => env!("CARGO_PKG_VERSION"),
            "node" => membership::node_name(&settings.fleet),
            "config_file" => config_file.map(|path| absolute(&path)),
            "database_engine" => engine_name(&settings.store.engine),
            "database" => settings.store.engine.location());
        for notice in notices {
            warn!(log, "configuration notice"; "reason" => notice);
        }
        Ok(Started { began: clock.monotonic(), telemetry, log, clock })
    }

    /// Opens the store; none if a stop signal arrives meanwhile.
    async fn open(&self, settings: &Settings, signals: &mut Signals) -> Result<Option<Opened>, DaemonError> {
        if let Some(directory) = &settings.user_state {
            create_private(directory)?;
        }
        store::refuse_foreign_file(&settings.store.engine)?;
        let lock = InstanceLock::take(&settings.store.engine)?;
        let store = tokio::select! {
            opened = store::open(&settings.store, self.clock.now()) => opened?,
            // React to signals while the store opens.
            () = until_told_to_stop(&self.telemetry, &self.log, signals) => return Ok(None),
        };
        let about = store.about();
        self.open_secrets(settings, store.as_ref()).await?;
        self.resume_numbers(store.as_ref()).await?;
        info!(self.log, "store ready"; "engine" => about.engine, "schema_version" => about.schema_version);
        Ok(Some(Opened { store, _lock: lock }))
    }

    /// Refuses to start if the key does not open what is sealed, unless the operator accepts that.
    async fn open_secrets(&self, settings: &Settings, store: &dyn Store) -> Result<(), DaemonError> {
        let secrets = check_secrets(store).await?;
        if secrets.closed() > 0 {
            if !settings.accepts_unreadable_secrets {
                return Err(DaemonError::ClosedSecrets(secrets));
            }
            warn!(self.log, "secrets unreadable"; "count" => secrets.closed(), "reason" => secrets.to_string());
        }
        if secrets.previous() > 0 {
            info!(self.log, "secrets encrypted with the previous key"; "count" => secrets.previous(),
                "reason" => "run `feedwarden store reseal` before the previous key is removed");
        }
        Ok(())
    }

    /// Skips numbers of posts that readers may have seen and the store does not know.
    async fn resume_numbers(&self, store: &dyn Store) -> Result<(), DaemonError> {
        let Some(NumberJump { from, to, reason }) = store.resume_numbers(self.clock.now()).await? else {
            return Ok(());
        };
        let reason_text = reason.to_string();
        match reason.is_restore() {
            true => warn!(self.log, "post numbers skipped"; "from" => from, "to" => to, "reason" => reason_text),
            false => info!(self.log, "post numbers skipped"; "from" => from, "to" => to, "reason" => reason_text),
        }
        Ok(())
    }

    fn client(&self, settings: &Settings) -> Result<Client, SetupError> {
        if !settings.http.has_contact() {
            info!(self.log, "user agent without contact"; "user_agent" => &settings.http.user_agent,
                "reason" => "publishers block clients whose operator they cannot reach; set http.contact-url");
        }
        let clock = self.clock.clone();
        let client = Client::new(settings.http.clone(), move || clock.now())?;
        let log = self.log.clone();
        client.watch_resolver(move |notice| match notice {
            ResolverNotice::Followed { name_servers } => {
                let name_servers: Vec<String> = name_servers.iter().map(ToString::to_string).collect();
                info!(log, "name servers changed"; "name_servers" => name_servers.join(", "));
            }
            ResolverNotice::Unusable { error } => warn!(log, "resolv.conf not usable"; "error" => error,
                "reason" => "the name servers stay as they were; without any, no name is found"),
        });
        Ok(client)
    }

    /// Becomes a node of the fleet; none if a stop signal arrives meanwhile.
    async fn join(
        &self,
        settings: &Settings,
        store: &Arc<dyn Store>,
        shared_settings: String,
        signals: &mut Signals,
    ) -> Result<Option<NodeMembership>, DaemonError> {
        tokio::select! {
            joined = membership::join(store, &settings.fleet, shared_settings, &self.clock, &self.log) => joined.map(Some),
            // A node of the same name may be waited for.
            () = until_told_to_stop(&self.telemetry, &self.log, signals) => Ok(None),
        }
    }

    fn parts(&self, settings: &Settings, store: &Arc<dyn Store>, client: Client, fleet: &Fleet) -> Parts {
        if let Some(window) = fleet.window() {
            client.limit_to(window);
        }
        Parts {
            store: store.clone(),
            clock: self.clock.clone(),
            dice: Arc::new(SeededDice::from_entropy()),
            fetcher: Fetcher::new(client),
            type_settings: settings.types.clone(),
            policy: settings.policy.clone(),
            settings: settings.pipeline.clone(),
            fleet: fleet.clone(),
            log: self.log.clone(),
        }
    }

    /// Starts no new polls and waits for polls in flight; a second signal ends the wait.
    async fn drain(&self, handle: &PipelineHandle, drain: Duration, signals: &mut Signals) {
        let reason = tokio::select! {
            () = handle.drain() => None,
            () = tokio::time::sleep(drain) => Some("they took too long"),
            () = until_told_to_stop(&self.telemetry, &self.log, signals) => Some("a second signal came"),
        };
        if let Some(reason) = reason {
            warn!(self.log, "polls abandoned"; "count" => handle.unsettled(), "reason" => reason);
        }
    }

    /// Stops all actors; a second signal ends the wait.
    async fn stop(
        &self,
        handle: &PipelineHandle,
        mut running: actix_rt::task::JoinHandle<RootEnd>,
        signals: &mut Signals,
    ) -> Result<RootEnd, actix_rt::task::JoinError> {
        handle.stop();
        tokio::select! {
            end = &mut running => return end,
            () = tokio::time::sleep(STOP_WITHIN) => {}
            () = until_told_to_stop(&self.telemetry, &self.log, signals) => {}
        }
        handle.kill();
        running.await
    }

    /// Closes the store within its time limit; a second signal ends the wait. Acknowledged data is
    /// stored in any case.
    async fn close(&self, store: &dyn Store, signals: &mut Signals) {
        let reason = tokio::select! {
            () = store.close() => return,
            () = tokio::time::sleep(CLOSE_WITHIN) => "it took too long",
            () = until_told_to_stop(&self.telemetry, &self.log, signals) => "a second signal came",
        };
        warn!(self.log, "store not closed"; "reason" => reason);
    }

    fn ended<T>(&self, ended: &Result<T, DaemonError>) {
        let uptime = (self.clock.monotonic() - self.began).as_secs();
        match ended {
            Ok(_) => info!(self.log, "daemon stopped"; "uptime_seconds" => uptime),
            Err(error) => slog::crit!(self.log, "daemon failed"; "error" => %error),
        }
    }
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path).as_deref().unwrap_or(path).display().to_string()
}

fn engine_name(engine: &EngineSettings) -> &'static str {
    match engine {
        EngineSettings::Sqlite(_) => "sqlite",
        EngineSettings::Postgres(_) => "postgres",
    }
}
