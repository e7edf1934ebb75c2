//! The pool that asks publishers: an actor on each of its threads, and a task of its own for every request, so that a
//! poisonous document harms its own poll alone.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use actix::{Actor, Context, Handler};
use futures_util::FutureExt;
use tokio::sync::Semaphore;

use super::host_table::Seat;
use super::messages::{FetchFinished, FetchSource, Found};
use super::poll::{NextRequest, Poll};
use super::surroundings::Surroundings;
use crate::clock::{Clock, Stopwatch};
use crate::fetch::{Answer, Fetched, Fetcher, Learned, RobotsAnswer, RobotsFetched, RobotsTask, Trace};
use crate::model::{FailureCause, FailureReport};

/// Fetches on its thread.
pub(super) struct FetchActor {
    around: Arc<Surroundings>,
    fetcher: Fetcher,
    /// How many requests this thread makes at once.
    places: Arc<Semaphore>,
}

impl FetchActor {
    /// What the fault injection calls it.
    const NAME: &'static str = "fetch";

    pub(super) fn new(around: Arc<Surroundings>, fetcher: Fetcher) -> FetchActor {
        let settings = &around.settings.fetch;
        // Polls go around in turn, so one thread gets more than its share only while others are slow.
        let share = settings.concurrency.div_ceil(settings.threads()).saturating_mul(2);
        FetchActor { around, fetcher, places: Arc::new(Semaphore::new(share)) }
    }
}

impl Actor for FetchActor {
    type Context = Context<FetchActor>;
}

impl Handler<FetchSource> for FetchActor {
    type Result = ();

    fn handle(&mut self, FetchSource { mut poll, host }: FetchSource, ctx: &mut Context<FetchActor>) {
        if self.around.faults.befall(FetchActor::NAME, "FetchSource", ctx) {
            return;
        }
        let (around, fetcher, places) = (self.around.clone(), self.fetcher.clone(), self.places.clone());
        // Not as a local task: those are woken through the thread's own queue, which costs a system call each time.
        tokio::spawn(async move {
            let _place = places.acquire().await;
            let asked_at = around.clock.now();
            let watch = Stopwatch::start();
            let found = {
                let _asking = Asking::begin(&poll, &around);
                ask(&fetcher, &poll).await
            };
            poll.ended_at = around.clock.now();
            poll.asking += poll.ended_at.since(asked_at);
            poll.time_used += watch.elapsed();
            host.do_send(FetchFinished { poll, found });
        });
    }
}

async fn ask(fetcher: &Fetcher, poll: &Poll) -> Found {
    match (&poll.request, poll.robots_url()) {
        (NextRequest::Robots(onward), Some(url)) => {
            let task =
                RobotsTask { url, onward: onward.as_deref().cloned(), keep_alive: false, time_used: poll.time_used };
            let fetched = AssertUnwindSafe(fetcher.robots(&task)).catch_unwind().await.unwrap_or_else(|_| {
                RobotsFetched { answer: RobotsAnswer::Unreachable(panicked()), trace: Trace::default() }
            });
            Found::Robots(Box::new(fetched))
        }
        _ => {
            // Connections are not kept: one that broke would have to be asked again at once, without the host's pause.
            let task = poll.task(false);
            let fetched = AssertUnwindSafe(fetcher.fetch(&task)).catch_unwind().await;
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

/// Notes on the seat when the host is asked, at both ends of the request and however it ends: the next request is
/// spaced from there.
struct Asking {
    seat: Option<Arc<Seat>>,
    clock: Arc<dyn Clock>,
}

impl Asking {
    fn begin(poll: &Poll, around: &Surroundings) -> Asking {
        let asking = Asking { seat: poll.turn.as_ref().map(|turn| turn.seat.clone()), clock: around.clock.clone() };
        asking.note();
        asking
    }

    fn note(&self) {
        if let Some(seat) = &self.seat {
            seat.change(|state| state.last_asked_at = Some(self.clock.now()));
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.note();
    }
}
