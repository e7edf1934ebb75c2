//! Polls due sources once, for cron and benchmarks.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use slog::info;

use super::signals::{Signals, until_told_to_stop};
use super::{DaemonError, Started, outcome};
use crate::actors::{Pipeline, PipelineHandle, Scope, StatisticsView};
use crate::clock::SteadyClock;
use crate::config::Settings;
use crate::model::SourceSettings;
use crate::rules::shown_url::shown_url;
use crate::service::{ImportedList, add_sources, import_change, own_record};
use crate::store::{Added, Store};

/// Interval of progress reports.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
const ADD_AT_ONCE: usize = 500;
/// Number of URLs in the audit record of an import.
const FIRST_URLS: usize = 10;

#[derive(Default)]
pub struct Once {
    /// Sources to add first, with their labels; duplicates are skipped.
    pub add: Vec<(SourceSettings, Vec<String>)>,
    pub ignores_due_times: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportCounts {
    pub added: usize,
    pub duplicates: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnceSummary {
    pub import: ImportCounts,
    pub done: StatisticsView,
    pub elapsed: Duration,
    pub is_interrupted: bool,
}

/// Polls due sources once, and reports progress regularly.
pub async fn run_once(
    settings: Settings,
    config_file: Option<PathBuf>,
    notices: Vec<String>,
    once: Once,
    watch: impl FnMut(&StatisticsView),
) -> Result<OnceSummary, DaemonError> {
    let mut signals = Signals::listen()?;
    let started = Started::new(&settings, config_file, &notices, Arc::new(SteadyClock::start()))?;
    let ended = serve(&settings, &started, &mut signals, once, watch).await;
    started.ended(&ended);
    ended
}

async fn serve(
    settings: &Settings,
    started: &Started,
    signals: &mut Signals,
    once: Once,
    watch: impl FnMut(&StatisticsView),
) -> Result<OnceSummary, DaemonError> {
    let nothing = OnceSummary {
        import: ImportCounts::default(),
        done: StatisticsView::default(),
        elapsed: Duration::ZERO,
        is_interrupted: true,
    };
    let Some(opened) = started.open(settings, signals).await? else { return Ok(nothing) };
    let scope = Scope::Once { ignores_due_times: once.ignores_due_times };
    // It polls everything, so no other node may.
    let Some(membership) = started.join(settings, &opened.store, String::new(), signals).await? else {
        return Ok(nothing);
    };
    let fleet = membership.fleet.clone();
    if let Err(shared) = fleet.own_all(&started.log).await {
        fleet.leave(&started.log).await;
        return Err(shared.into());
    }
    let import = add(opened.store.as_ref(), once.add, started).await?;
    let parts = started.parts(settings, &opened.store, started.client(settings)?, &fleet);
    let pipeline = Pipeline::new(parts, scope);
    let handle = pipeline.handle();
    let mut running = actix_rt::spawn(pipeline.run());
    info!(started.log, "daemon ready");
    let stop = tokio::select! {
        end = &mut running => Stop::Ended(end),
        () = watch_until_finished(&handle, watch) => Stop::Finished,
        () = until_told_to_stop(&started.telemetry, &started.log, signals) => Stop::Signal,
    };
    let is_interrupted = matches!(stop, Stop::Signal);
    let end = match stop {
        Stop::Ended(end) => end,
        Stop::Finished | Stop::Signal => {
            started.drain(&handle, settings.drain, signals).await;
            started.stop(&handle, running, signals).await
        }
    };
    fleet.leave(&started.log).await;
    started.close(opened.store.as_ref(), signals).await;
    outcome(end)?;
    let elapsed = started.clock.monotonic() - started.began;
    Ok(OnceSummary { import, done: handle.statistics().view(), elapsed, is_interrupted })
}

enum Stop {
    Ended(Result<crate::supervision::RootEnd, actix_rt::task::JoinError>),
    Finished,
    Signal,
}

async fn watch_until_finished(handle: &PipelineHandle, mut watch: impl FnMut(&StatisticsView)) {
    let statistics = handle.statistics();
    let finished = handle.finished();
    tokio::pin!(finished);
    loop {
        tokio::select! {
            () = &mut finished => break,
            () = tokio::time::sleep(PROGRESS_EVERY) => watch(&statistics.view()),
        }
    }
    watch(&statistics.view());
}

async fn add(
    store: &dyn Store,
    sources: Vec<(SourceSettings, Vec<String>)>,
    started: &Started,
) -> Result<ImportCounts, DaemonError> {
    let (mut import, mut first_urls) = (ImportCounts::default(), Vec::new());
    let mut left = sources.into_iter().peekable();
    while left.peek().is_some() {
        let batch: Vec<_> = left.by_ref().take(ADD_AT_ONCE).collect();
        let urls: Vec<String> = batch.iter().map(|(settings, _)| shown_url(&settings.url)).collect();
        for (added, url) in add_sources(store, batch, started.clock.now()).await?.into_iter().zip(urls) {
            match added {
                Added::New(_) => {
                    import.added += 1;
                    first_urls.extend((first_urls.len() < FIRST_URLS).then_some(url));
                }
                Added::Duplicate(_) => import.duplicates += 1,
            }
        }
    }
    if import != ImportCounts::default() {
        info!(started.log, "sources imported"; "added" => import.added, "duplicates" => import.duplicates);
        let ImportCounts { added, duplicates } = import;
        let list = ImportedList { added, duplicates, rejected: 0, is_complete: true, first_urls };
        store.add_audit_record(own_record(import_change(&list), started.clock.now())).await?;
    }
    Ok(import)
}
