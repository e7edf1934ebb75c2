//! `feedwarden check`: polls once without storing anything, and shows the consequences.

use secrecy::ExposeSecret;

use super::arguments::Check;
use super::check_report::{CheckedFailure, Report};
use super::check_robots::{RobotsVerdict, poll_page};
use super::{Exit, complain, print};
use crate::clock::{Clock, SystemClock};
use crate::config::Settings;
use crate::fetch::{Answer, Fetched, Fetcher, Task};
use crate::http::{Client, SetupError};
use crate::model::{
    EntryCounts, FailureCause, FailureReport, HostKey, HostState, KnownEntries, NewSource, RateLimit, Source, SourceId,
    SourceSettings, Timestamp,
};
use crate::rules::hold::{self, Hold};
use crate::rules::{Policy, due, failure, reading, success};
use crate::sources::{self, Preparation, kind};

pub(super) fn check(arguments: &Check, settings: Settings) -> Exit {
    let source_type = arguments.source_type.parse().expect("the argument's values are types of source");
    let mut task = Task::new(SourceSettings::new(source_type, arguments.url.trim()));
    if let Some(path) = &arguments.key_file {
        match std::fs::read_to_string(path) {
            Ok(key) => task.key = Some(key.trim().into()),
            Err(error) => {
                complain(&format_args!("the key file {} cannot be read: {error}", path.display()));
                return Exit::Usage;
            }
        }
    }
    let added_at = SystemClock.now();
    let (fetched, robots) = match actix_rt::System::new().block_on(poll(&task, &settings)) {
        Ok(polled) => polled,
        Err(error) => {
            complain(&error);
            return Exit::Usage;
        }
    };
    if let (Some(path), Some(key)) = (&arguments.key_file, &fetched.learned.key) {
        // The old token is invalid once it was renewed.
        if let Err(error) = std::fs::write(path, key.expose_secret()) {
            complain(&format_args!("the renewed key cannot be written to {}: {error}", path.display()));
            return Exit::Failure;
        }
    }
    let report = Report { robots, ..judge(task.settings, fetched, &settings.policy, added_at) };
    let text = if arguments.json { format!("{:#}\n", report.for_programs()) } else { report.for_people() };
    match print(&text) {
        Exit::Success if report.would_work() => Exit::Success,
        _ => Exit::Failure,
    }
}

async fn poll(task: &Task, settings: &Settings) -> Result<(Fetched, Vec<RobotsVerdict>), SetupError> {
    let client = Client::new(settings.http.clone(), || SystemClock.now())?;
    let fetcher = Fetcher::new(client);
    Ok(match kind(task.settings.source_type).preparation() {
        Preparation::RobotsTxt => poll_page(&fetcher, &settings.types, task).await,
        Preparation::Nothing | Preparation::OwnerKey(_) => {
            (sources::poll(&fetcher, &settings.types, task).await, Vec::new())
        }
    })
}

/// Applies the rules to a source that was added just before the poll.
fn judge(settings: SourceSettings, fetched: Fetched, policy: &Policy, added_at: Timestamp) -> Report {
    let mut source = Source::fresh(SourceId(0), NewSource { settings, created_at: added_at });
    let now = SystemClock.now();
    let (mut entries, mut counts) = (Vec::new(), EntryCounts::default());
    let mut step = None;
    let Fetched { answer, trace, learned: _ } = fetched;
    let mut found = None;
    let failure = if let Answer::Failed(report) = &answer { Some(report) } else { None };
    let host = held_host(&source, failure, trace.rate_limit, policy, now);
    match answer {
        Answer::Failed(report) => step = Some(fail(&mut source, report, policy, now)),
        // Redirects have been followed before.
        Answer::PendingRedirect(pending_redirect) => {
            let error = format!("the redirect to {} was not followed", pending_redirect.url());
            let report = FailureReport { cause: FailureCause::Internal, error, retry_after: None };
            step = Some(fail(&mut source, report, policy, now));
        }
        Answer::NotModified { validators, fresh_until } => {
            source.state = success::after_success(
                &source.state,
                success::SourceAnswer::NotModified { validators, fresh_until },
                now,
                now,
            );
        }
        Answer::Read(read) => {
            let kind = kind(source.settings.source_type).watermark();
            let decision = reading::decide(&source, kind, &read.entries, &KnownEntries::default(), policy, now, now);
            let answer = success::SourceAnswer::Read(success::ReadAnswer {
                validators: read.validators.clone(),
                hints: read.hints.clone(),
                last_seen: decision.watermark(kind, source.state.last_seen, &read.entries, read.newest_number, now),
                ..success::ReadAnswer::default()
            });
            counts = EntryCounts { blank: read.blank as u64, ..decision.counts };
            entries = decision.entries;
            source.state = success::after_success(&source.state, answer, now, now);
            found = Some(read);
        }
    }
    let next = due::next_poll(&source, host.as_ref(), policy, now);
    Report { source, robots: Vec::new(), trace, reading: found, entries, counts, step, next }
}

/// The host of the source after the answer, as far as it holds up the next poll.
fn held_host(
    source: &Source,
    failure: Option<&FailureReport>,
    rate_limit: Option<RateLimit>,
    policy: &Policy,
    now: Timestamp,
) -> Option<HostState> {
    let failures =
        failure.map_or_else(Default::default, |report| failure::failures_after(&source.state.failures, report));
    let Hold { until, reason } = hold::hold(failure, rate_limit, &failures, policy, now)?;
    let host = HostKey::of_url(&source.settings.url)?;
    Some(HostState { held_until: Some(until), held_reason: Some(reason), ..HostState::new(host) })
}

fn fail(source: &mut Source, report: FailureReport, policy: &Policy, now: Timestamp) -> CheckedFailure {
    let decision = failure::after_failure(source, &report, policy, now);
    source.state = decision.state;
    (decision.classified, decision.step, report.error)
}
