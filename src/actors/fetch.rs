//! The fetch pool: one actor on each of its threads, and one task for each request, so that a panic on a document harms
//! only the poll of that document.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context, Handler};
use futures_util::FutureExt;
use tokio::sync::Semaphore;

use super::context::PipelineContext;
use super::host::HostEntry;
use super::messages::{FetchFinished, FetchOutcome, FetchSource};
use super::poll::{NextRequest, Poll, RequestPermit};
use crate::clock::{Clock, Stopwatch};
use crate::fetch::{Answer, Fetched, Fetcher, Learned, RobotsAnswer, RobotsFetched, RobotsTask, Trace};
use crate::model::{
    FailureCause, FailureKind, FailureReport, HostRequest, RequestPurpose, SourceId, SourceType, Timestamp, Watermark,
};
use crate::rules::classify::classify;
use crate::rules::identity;
use crate::sources::{self, kind};

pub(super) struct FetchActor {
    context: Arc<PipelineContext>,
    fetcher: Fetcher,
    /// Requests that this thread makes at once.
    slots: Arc<Semaphore>,
}

impl FetchActor {
    /// Name in fault rules.
    const NAME: &'static str = "fetch";

    pub(super) fn new(context: Arc<PipelineContext>, fetcher: Fetcher) -> FetchActor {
        let settings = &context.settings.fetch;
        // Polls go to the threads in turn, so a thread gets more than its share only while others are slow.
        let share = settings.concurrency.div_ceil(settings.threads()).saturating_mul(2);
        FetchActor { context, fetcher, slots: Arc::new(Semaphore::new(share)) }
    }
}

impl Actor for FetchActor {
    type Context = Context<FetchActor>;
}

impl Handler<FetchSource> for FetchActor {
    type Result = ();

    fn handle(&mut self, FetchSource { mut poll, host }: FetchSource, ctx: &mut Context<FetchActor>) {
        if self.context.faults.inject(FetchActor::NAME, "FetchSource", ctx) {
            return;
        }
        let (context, fetcher, slots) = (self.context.clone(), self.fetcher.clone(), self.slots.clone());
        // Not a local task: waking one costs a system call each time.
        tokio::spawn(async move {
            let _slot = slots.acquire().await;
            let began_at = context.clock.now();
            let watch = Stopwatch::start();
            let outcome = {
                let host_entry = poll.permit.as_ref().map(|permit| permit.host_entry.clone());
                let span = RequestSpan::begin(host_entry, &context);
                // The node may have lost its shards, and have joined again, while the request waited for this thread.
                if poll.permit.as_ref().is_some_and(RequestPermit::is_lost) {
                    FetchOutcome::Document(Box::new(failed(lost_host())))
                } else {
                    let outcome = request(&fetcher, &context, &poll).await;
                    let (purpose, result) = match &outcome {
                        FetchOutcome::Document(fetched) => (RequestPurpose::Poll, RequestResult::of(fetched)),
                        FetchOutcome::Robots(fetched) => (RequestPurpose::RobotsTxt, RequestResult::of_robots(fetched)),
                    };
                    span.finish(purpose, Some(poll.source.id), result, &context);
                    outcome
                }
            };
            poll.ended_at = context.clock.now();
            poll.request_time += poll.ended_at.since(began_at);
            poll.time_used += watch.elapsed();
            host.do_send(FetchFinished { poll, outcome });
        });
    }
}

async fn request(fetcher: &Fetcher, context: &PipelineContext, poll: &Poll) -> FetchOutcome {
    // Only a request for robots.txt has a URL of it.
    let robots_url = matches!(poll.request, NextRequest::Robots(_)).then(|| poll.robots_url()).flatten();
    match (&poll.request, robots_url) {
        (NextRequest::Robots(pending_redirect), Some(url)) => {
            let task = RobotsTask {
                url,
                pending_redirect: pending_redirect.as_deref().cloned(),
                keep_alive: false,
                time_used: poll.time_used,
                user_agent: poll.source.settings.user_agent.clone(),
                proxy: poll.source.settings.proxy.clone(),
            };
            let fetched = AssertUnwindSafe(fetcher.robots(&task)).catch_unwind().await.unwrap_or_else(|_| {
                RobotsFetched { answer: RobotsAnswer::Unreachable(panicked()), trace: Trace::default() }
            });
            FetchOutcome::Robots(Box::new(fetched))
        }
        _ => {
            let mut task = poll.task();
            task.keeps_html = context.policy().posts.keeps_html;
            let polling = async {
                let mut fetched = sources::poll(fetcher, &context.type_settings, &task).await;
                // Here, because the entries are still in the cache of this thread.
                identify(task.settings.source_type, &mut fetched);
                fetched
            };
            let fetched = AssertUnwindSafe(polling).catch_unwind().await;
            FetchOutcome::Document(Box::new(fetched.unwrap_or_else(|_| failed(panicked()))))
        }
    }
}

fn failed(report: FailureReport) -> Fetched {
    Fetched { answer: Answer::Failed(report), trace: Trace::default(), learned: Learned::default() }
}

fn lost_host() -> FailureReport {
    let error = "another node of the fleet may have its host by now".to_owned();
    FailureReport { cause: FailureCause::Internal, error, retry_after: None }
}

/// Gives the entries of an answer their keys. A page is identified by its content.
fn identify(source_type: SourceType, fetched: &mut Fetched) {
    let Answer::Read(reading) = &mut fetched.answer else { return };
    if kind(source_type).watermark() != Watermark::None {
        let keys = identity::keys(&reading.entries);
        reading.entries.iter_mut().zip(keys).for_each(|(post, key)| post.set_key(key));
    }
}

pub(super) fn panicked() -> FailureReport {
    let error = "this program failed while it read the answer; the publisher is not to blame".to_owned();
    FailureReport { cause: FailureCause::Internal, error, retry_after: None }
}

/// Notes the time of a request in the host's entry, at its beginning and at its end, however it ends: the pause before
/// the next request counts from there.
pub(super) struct RequestSpan {
    host_entry: Option<Arc<HostEntry>>,
    clock: Arc<dyn Clock>,
    started_at: Timestamp,
    /// By the monotonic clock.
    started: Duration,
}

/// Result of a request, as the log of requests has it.
pub(super) struct RequestResult {
    status_code: Option<u16>,
    error_type: Option<FailureKind>,
}

impl RequestResult {
    pub(super) fn of(fetched: &Fetched) -> RequestResult {
        let failure = if let Answer::Failed(report) = &fetched.answer { Some(report) } else { None };
        RequestResult::new(&fetched.trace, failure)
    }

    pub(super) fn of_robots(fetched: &RobotsFetched) -> RequestResult {
        let failure = if let RobotsAnswer::Unreachable(report) = &fetched.answer { Some(report) } else { None };
        RequestResult::new(&fetched.trace, failure)
    }

    fn new(trace: &Trace, failure: Option<&FailureReport>) -> RequestResult {
        RequestResult::of_answer(trace.status, failure)
    }

    pub(super) fn of_answer(status_code: Option<u16>, failure: Option<&FailureReport>) -> RequestResult {
        RequestResult { status_code, error_type: failure.map(|report| classify(report.cause).kind) }
    }
}

impl RequestSpan {
    pub(super) fn begin(host_entry: Option<Arc<HostEntry>>, context: &PipelineContext) -> RequestSpan {
        let clock = context.clock.clone();
        let span = RequestSpan { host_entry, started_at: clock.now(), started: clock.monotonic(), clock };
        span.note();
        span
    }

    /// Ends the span with an entry in the log of requests.
    pub(super) fn finish(
        self,
        purpose: RequestPurpose,
        source_id: Option<SourceId>,
        RequestResult { status_code, error_type }: RequestResult,
        context: &PipelineContext,
    ) {
        let Some(host) = self.host_entry.as_ref().and_then(|host_entry| host_entry.key.clone()) else { return };
        let (started_at, duration) = (self.started_at, self.clock.monotonic().saturating_sub(self.started));
        let request = HostRequest { started_at, duration, purpose, source_id, status_code, error_type };
        context.requests.note(host, request);
    }

    fn note(&self) {
        if let Some(host_entry) = &self.host_entry {
            host_entry.change(|state| state.last_asked_at = Some(self.clock.now()));
        }
    }
}

impl Drop for RequestSpan {
    fn drop(&mut self) {
        self.note();
    }
}
