//! The pool that asks publishers: an actor on each of its threads, and a task of its own for every request, so that a
//! poisonous document harms its own poll alone.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use actix::{Actor, Context, Handler};
use futures_util::FutureExt;
use tokio::sync::Semaphore;

use super::context::PipelineContext;
use super::host_table::HostEntry;
use super::messages::{FetchFinished, FetchSource, Found};
use super::poll::{NextRequest, Poll};
use crate::clock::{Clock, Stopwatch};
use crate::fetch::{Answer, Fetched, Fetcher, Learned, RobotsAnswer, RobotsFetched, RobotsTask, Trace};
use crate::model::{FailureCause, FailureReport};
use crate::sources::{self, TypeSettings};

/// Fetches on its thread.
pub(super) struct FetchActor {
    context: Arc<PipelineContext>,
    fetcher: Fetcher,
    /// How many requests this thread makes at once.
    places: Arc<Semaphore>,
}

impl FetchActor {
    /// What the fault injection calls it.
    const NAME: &'static str = "fetch";

    pub(super) fn new(context: Arc<PipelineContext>, fetcher: Fetcher) -> FetchActor {
        let settings = &context.settings.fetch;
        // Polls go round in turn, so one thread gets more than its share only while others are slow.
        let share = settings.concurrency.div_ceil(settings.threads()).saturating_mul(2);
        FetchActor { context, fetcher, places: Arc::new(Semaphore::new(share)) }
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
        let (context, fetcher, places) = (self.context.clone(), self.fetcher.clone(), self.places.clone());
        // Not as a local task: those are woken through the thread's own queue, which costs a system call each time.
        tokio::spawn(async move {
            let _place = places.acquire().await;
            let asked_at = context.clock.now();
            let watch = Stopwatch::start();
            let found = {
                let _asking = Asking::begin(&poll, &context);
                ask(&fetcher, &context.type_settings, &poll).await
            };
            poll.ended_at = context.clock.now();
            poll.asking += poll.ended_at.since(asked_at);
            poll.time_used += watch.elapsed();
            host.do_send(FetchFinished { poll, found });
        });
    }
}

async fn ask(fetcher: &Fetcher, settings: &TypeSettings, poll: &Poll) -> Found {
    match (&poll.request, poll.robots_url()) {
        (NextRequest::Robots(pending_redirect), Some(url)) => {
            let task = RobotsTask {
                url,
                pending_redirect: pending_redirect.as_deref().cloned(),
                keep_alive: false,
                time_used: poll.time_used,
            };
            let fetched = AssertUnwindSafe(fetcher.robots(&task)).catch_unwind().await.unwrap_or_else(|_| {
                RobotsFetched { answer: RobotsAnswer::Unreachable(panicked()), trace: Trace::default() }
            });
            Found::Robots(Box::new(fetched))
        }
        _ => {
            // Connections are not kept: one that broke would have to be asked again at once, without the host's pause.
            let task = poll.task(false);
            let fetched = AssertUnwindSafe(sources::poll(fetcher, settings, &task)).catch_unwind().await;
            Found::Document(Box::new(fetched.unwrap_or_else(|_| Fetched {
                answer: Answer::Failed(panicked()),
                trace: Trace::default(),
                learned: Learned::default(),
            })))
        }
    }
}

fn panicked() -> FailureReport {
    let error = "this program failed while it read the answer; the publisher is not to blame".to_owned();
    FailureReport { cause: FailureCause::Internal, error, retry_after: None }
}

/// Notes in the host's entry when the host is asked, at both ends of the request and however it ends: the next request is
/// spaced from there.
struct Asking {
    host_entry: Option<Arc<HostEntry>>,
    clock: Arc<dyn Clock>,
}

impl Asking {
    fn begin(poll: &Poll, context: &PipelineContext) -> Asking {
        let asking =
            Asking { host_entry: poll.turn.as_ref().map(|turn| turn.host_entry.clone()), clock: context.clock.clone() };
        asking.note();
        asking
    }

    fn note(&self) {
        if let Some(host_entry) = &self.host_entry {
            host_entry.change(|state| state.last_asked_at = Some(self.clock.now()));
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.note();
    }
}
