//! An actor that fails wherever it is told to, and writes down what happens to it.

use std::future::{pending, ready};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::{
    Actor, ActorContext, ActorFutureExt, AsyncContext, Context, Handler, Message, MessageResult, ResponseActFuture,
    ResponseFuture, Running, WrapFuture,
};
use actix_rt::Arbiter;
use feedwarden::supervision::{ChildSpec, Inbox};

use super::world::until;

/// What happened, in order, to all probes that share it.
pub(super) type Diary = Arc<Mutex<Vec<String>>>;

/// Where the probes of one child will fail. Each number says how often.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) panics_in_factory: AtomicU32,
    pub(super) panics_in_started: AtomicU32,
    pub(super) panics_in_stopping: AtomicU32,
    pub(super) panics_in_stopped: AtomicU32,
    pub(super) panics_in_drop: AtomicU32,
    pub(super) refuses_to_stop: AtomicBool,
    made: AtomicU32,
}

pub(super) struct Probe {
    name: String,
    plan: Arc<Plan>,
    diary: Diary,
    /// Which of the actors of its child it is, from 1.
    generation: u32,
}

/// A child made of probes, and everything to steer it by.
pub(super) struct Cast {
    pub(super) name: String,
    pub(super) inbox: Inbox<Probe>,
    pub(super) plan: Arc<Plan>,
    pub(super) diary: Diary,
}

impl Cast {
    pub(super) fn new(name: &str) -> Cast {
        Cast::with_diary(name, &Diary::default())
    }

    pub(super) fn with_diary(name: &str, diary: &Diary) -> Cast {
        Cast { name: name.to_owned(), inbox: Inbox::new(16), plan: Arc::default(), diary: diary.clone() }
    }

    pub(super) fn spec(&self) -> ChildSpec {
        ChildSpec::actor(&self.name, &self.inbox, self.factory())
    }

    pub(super) fn factory(&self) -> impl FnMut() -> Probe + Send + 'static {
        let (name, plan, diary) = (self.name.clone(), self.plan.clone(), self.diary.clone());
        move || {
            let generation = plan.made.fetch_add(1, Ordering::SeqCst) + 1;
            trip(&plan.panics_in_factory, "in the factory");
            Probe { name: name.clone(), plan: plan.clone(), diary: diary.clone(), generation }
        }
    }

    pub(super) fn diary(&self) -> Vec<String> {
        self.diary.lock().unwrap().clone()
    }

    /// Waits until this is the last thing that happened.
    pub(super) async fn until_last(&self, line: &str) {
        until(line, || self.diary().last().is_some_and(|last| last == line)).await;
    }

    /// How many actors the factory was asked for.
    pub(super) fn made(&self) -> u32 {
        self.plan.made.load(Ordering::SeqCst)
    }
}

/// Panics as long as the number says so.
pub(super) fn trip(left: &AtomicU32, place: &str) {
    let take_one = |left: u32| left.checked_sub(1);
    if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take_one).is_ok() {
        panic!("{place}");
    }
}

impl Probe {
    fn write(&self, what: &str) {
        self.diary.lock().unwrap().push(format!("{} {what}", self.name));
    }
}

impl Actor for Probe {
    type Context = Context<Probe>;

    fn started(&mut self, _: &mut Context<Probe>) {
        trip(&self.plan.panics_in_started, "in started");
        self.write("started");
    }

    fn stopping(&mut self, _: &mut Context<Probe>) -> Running {
        trip(&self.plan.panics_in_stopping, "in stopping");
        if self.plan.refuses_to_stop.load(Ordering::SeqCst) { Running::Continue } else { Running::Stop }
    }

    fn stopped(&mut self, _: &mut Context<Probe>) {
        trip(&self.plan.panics_in_stopped, "in stopped");
        self.write("stopped");
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        trip(&self.plan.panics_in_drop, "in drop");
    }
}

/// Asks which of the actors of its child this is.
pub(super) struct Generation;

impl Message for Generation {
    type Result = u32;
}

impl Handler<Generation> for Probe {
    type Result = MessageResult<Generation>;

    fn handle(&mut self, _: Generation, _: &mut Context<Probe>) -> MessageResult<Generation> {
        MessageResult(self.generation)
    }
}

pub(super) struct Note(pub(super) u32);

impl Message for Note {
    type Result = ();
}

impl Handler<Note> for Probe {
    type Result = ();

    fn handle(&mut self, note: Note, _: &mut Context<Probe>) {
        self.write(&format!("got {}", note.0));
    }
}

/// Ends the actor in one way or another.
pub(super) enum Fail {
    InHandler,
    WithBadPayload,
    InSpawnedFuture,
    InTimer,
    InWaitedFuture,
    /// Not a failure: stops its context.
    Stop,
    /// Ends the thread it runs on.
    EndThread,
    /// Blocks the thread until something is sent.
    Block(Receiver<()>),
}

impl Message for Fail {
    type Result = ();
}

impl Handler<Fail> for Probe {
    type Result = ();

    fn handle(&mut self, fail: Fail, ctx: &mut Context<Probe>) {
        match fail {
            Fail::InHandler => panic!("in the handler"),
            Fail::WithBadPayload => std::panic::panic_any(PanicsWhenDropped),
            Fail::InSpawnedFuture => {
                let future = ready(()).into_actor(self).map(|(), _, _| panic!("in a spawned future"));
                ctx.spawn(future);
            }
            Fail::InTimer => {
                ctx.run_later(Duration::ZERO, |_, _| panic!("in a timer"));
            }
            Fail::InWaitedFuture => {
                let future = ready(()).into_actor(self).map(|(), _, _| panic!("in a waited future"));
                ctx.wait(future);
            }
            Fail::Stop => ctx.stop(),
            Fail::EndThread => {
                Arbiter::current().stop();
            }
            Fail::Block(until) => {
                self.write("blocks");
                until.recv_timeout(Duration::from_secs(30)).expect("the test forgot to unblock");
            }
        }
    }
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("in the payload of a panic");
    }
}

/// Is answered by a future of the actor that panics, or never.
pub(super) enum Respond {
    Panicking,
    Never,
}

impl Message for Respond {
    type Result = ();
}

impl Handler<Respond> for Probe {
    type Result = ResponseActFuture<Probe, ()>;

    fn handle(&mut self, respond: Respond, _: &mut Context<Probe>) -> ResponseActFuture<Probe, ()> {
        match respond {
            Respond::Panicking => Box::pin(ready(()).into_actor(self).map(|(), _, _| panic!("in a response future"))),
            Respond::Never => Box::pin(pending().into_actor(self)),
        }
    }
}

/// Is answered by a future that is a task of its own, as actix does it, and panics.
pub(super) struct RespondApart;

impl Message for RespondApart {
    type Result = ();
}

impl Handler<RespondApart> for Probe {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: RespondApart, _: &mut Context<Probe>) -> ResponseFuture<()> {
        Box::pin(async { panic!("in a response future of its own") })
    }
}
