//! One supervised actor: its cell, which outlives crashes, and the actors that run in it one after the other.
//!
//! The cell owns the mailbox and the factory. The actor lives in an ordinary actix context whose messages are pumped in
//! from the cell's mailbox, and every call into it is guarded. So a crash costs the actor, its futures and the message
//! in hand, and nothing else: the next actor gets the same mailbox, on the same thread or, if that is gone, on a new
//! one.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use actix::Actor;
use actix::dev::channel::AddressReceiver;
use futures_util::task::AtomicWaker;
use parking_lot::Mutex;

use super::actor_run::ActorRun;
use super::crash::{UndatedCrash, guard};
use super::inbox::Intake;
use super::member::{ChildCommand, ChildFacts, ChildReport, Member, Uplink};
use super::{MailboxView, NodeKind, Thread};

/// What outlives a crash of the actor.
pub(super) struct ActorCell<A: Actor> {
    facts: ChildFacts,
    uplink: Uplink,
    thread: Option<Thread>,
    /// Whether the actor ends when its last address is dropped, as actix actors do.
    pub(super) ends_unaddressed: bool,
    /// Whether the pump has ended for that reason.
    pub(super) is_unpumped: AtomicBool,
    pub(super) factory: Mutex<Box<dyn FnMut() -> A + Send>>,
    pub(super) intake: Mutex<Intake<A>>,
    command_slot: Mutex<CommandSlot>,
    /// Whether the command slot holds a command, readable without its lock.
    has_order: AtomicBool,
    waker: AtomicWaker,
}

/// Holds the command that the task of the actor takes next.
struct CommandSlot {
    order: Option<ChildCommand>,
    /// Whether there is such a task.
    is_running: bool,
    /// Whether the cell was closed: no late command may open it again.
    closed: bool,
}

pub(super) struct ActorCellParts<A: Actor> {
    pub(super) name: Box<str>,
    pub(super) uplink: Uplink,
    pub(super) thread: Option<Thread>,
    pub(super) ends_unaddressed: bool,
    pub(super) factory: Box<dyn FnMut() -> A + Send>,
    pub(super) receiver: AddressReceiver<A>,
}

impl<A: Actor<Context = actix::Context<A>>> ActorCell<A> {
    pub(super) fn new(parts: ActorCellParts<A>) -> Arc<ActorCell<A>> {
        Arc::new(ActorCell {
            facts: ChildFacts::new(&parts.name),
            uplink: parts.uplink,
            thread: parts.thread,
            ends_unaddressed: parts.ends_unaddressed,
            is_unpumped: AtomicBool::new(false),
            factory: Mutex::new(parts.factory),
            intake: Mutex::new(Intake::new(parts.receiver)),
            command_slot: Mutex::new(CommandSlot { order: None, is_running: false, closed: false }),
            has_order: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        })
    }

    fn take_order(&self) -> Option<ChildCommand> {
        if !self.has_order.load(Ordering::Acquire) {
            return None;
        }
        let mut command_slot = self.command_slot.lock();
        self.has_order.store(false, Ordering::Release);
        command_slot.order.take()
    }

    /// Starts the task that runs the actor, on the cell's thread.
    fn attend(self: Arc<Self>) {
        let thread = self.thread.clone();
        let run_guard = RunGuard { cell: self, is_stopping: false, is_occupied: false };
        match thread {
            None => drop(actix_rt::spawn(RunningActor::new(run_guard))),
            // If the thread ends before this runs, the guard is dropped and reports it.
            Some(thread) => thread.run(move || drop(actix_rt::spawn(RunningActor::new(run_guard)))),
        }
    }

    fn close(&self) {
        let left = self.intake.lock().close();
        let _ = guard(move || drop(left));
    }
}

impl<A: Actor<Context = actix::Context<A>>> Member for ActorCell<A> {
    fn order(self: Arc<Self>, order: ChildCommand) {
        let mut command_slot = self.command_slot.lock();
        if command_slot.closed {
            return;
        }
        command_slot.closed = order == ChildCommand::Close;
        if command_slot.is_running {
            command_slot.order = Some(order);
            self.has_order.store(true, Ordering::Release);
            drop(command_slot);
            self.waker.wake();
            return;
        }
        match order {
            ChildCommand::Start => {
                command_slot.is_running = true;
                command_slot.order = Some(order);
                self.has_order.store(true, Ordering::Release);
                drop(command_slot);
                self.attend();
            }
            ChildCommand::Stop | ChildCommand::Kill => self.uplink.report(ChildReport::Stopped(None)),
            ChildCommand::Close => {
                drop(command_slot);
                self.close();
            }
        }
    }

    fn facts(&self) -> &ChildFacts {
        &self.facts
    }

    fn kind(&self) -> NodeKind {
        NodeKind::Actor
    }

    fn mailbox(&self) -> Option<MailboxView> {
        self.intake.lock().view()
    }

    fn children(&self, _: usize) -> (Vec<Arc<dyn Member>>, usize) {
        (Vec::new(), 0)
    }
}

/// Reports when the task of a cell is dropped without a command: its thread is gone.
struct RunGuard<A: Actor<Context = actix::Context<A>>> {
    cell: Arc<ActorCell<A>>,
    /// Whether the supervisor waits for the actor to stop.
    is_stopping: bool,
    /// Whether there is an actor that the end of the thread would drop.
    is_occupied: bool,
}

impl<A: Actor<Context = actix::Context<A>>> Drop for RunGuard<A> {
    fn drop(&mut self) {
        let cell = &self.cell;
        let mut command_slot = cell.command_slot.lock();
        if !command_slot.is_running {
            return;
        }
        command_slot.is_running = false;
        cell.has_order.store(false, Ordering::Release);
        let fault = UndatedCrash::because("the thread it ran on is gone");
        match command_slot.order.take() {
            None if self.is_stopping => cell.uplink.report(ChildReport::Stopped(Some(fault))),
            Some(ChildCommand::Stop | ChildCommand::Kill) => cell.uplink.report(ChildReport::Stopped(Some(fault))),
            Some(ChildCommand::Close) => {
                drop(command_slot);
                cell.close();
            }
            // A cell without an actor loses nothing with its thread: the next start finds another one.
            None if !self.is_occupied => {}
            Some(ChildCommand::Start) | None => cell.uplink.report(ChildReport::Crashed(fault)),
        }
    }
}

/// The task that runs the actors of a cell.
struct RunningActor<A: Actor<Context = actix::Context<A>>> {
    // Before the guard, so that a thread that ends drops the actor first and reports afterwards.
    actor: Option<ActorRun<A>>,
    run_guard: RunGuard<A>,
}

impl<A: Actor<Context = actix::Context<A>>> RunningActor<A> {
    fn new(run_guard: RunGuard<A>) -> RunningActor<A> {
        RunningActor { actor: None, run_guard }
    }

    fn cell(&self) -> &Arc<ActorCell<A>> {
        &self.run_guard.cell
    }

    fn report(&self, report: ChildReport) {
        self.cell().uplink.report(report);
    }

    /// Carries out a command; returns false if the task is to end.
    fn follow(&mut self, order: ChildCommand) -> bool {
        match order {
            ChildCommand::Start => match ActorRun::begin(self.cell()) {
                Ok(run) => {
                    self.actor = Some(run);
                    self.run_guard.is_occupied = true;
                }
                Err(fault) => self.report(ChildReport::Crashed(fault)),
            },
            ChildCommand::Stop => match &mut self.actor {
                Some(run) => {
                    run.ask_to_stop();
                    self.run_guard.is_stopping = true;
                }
                None => self.report(ChildReport::Stopped(None)),
            },
            ChildCommand::Kill => {
                let fault = self.actor.take().and_then(ActorRun::end);
                self.run_guard.is_stopping = false;
                self.run_guard.is_occupied = false;
                self.report(ChildReport::Stopped(fault));
            }
            ChildCommand::Close => {
                drop(self.actor.take());
                self.cell().command_slot.lock().is_running = false;
                self.cell().close();
                return false;
            }
        }
        true
    }

    /// Reports the end of an actor that finished or panicked.
    fn finish(&mut self, outcome: Result<(), UndatedCrash>) {
        let Some(run) = self.actor.take() else { return };
        let has_started = run.has_started;
        self.run_guard.is_occupied = false;
        let is_stopping = std::mem::take(&mut self.run_guard.is_stopping);
        let in_drop = run.end();
        let fault = outcome.err().or(in_drop);
        match fault {
            _ if is_stopping => self.report(ChildReport::Stopped(fault)),
            Some(fault) => self.report(ChildReport::Crashed(fault)),
            None => {
                // The actor may have ended in its first turn, but it was up.
                if !has_started {
                    self.report(ChildReport::Started);
                }
                self.report(ChildReport::Ended);
            }
        }
    }
}

impl<A: Actor<Context = actix::Context<A>>> Future for RunningActor<A> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.cell().waker.register(cx.waker());
        loop {
            if let Some(order) = this.cell().take_order()
                && !this.follow(order)
            {
                return Poll::Ready(());
            }
            // A child that waits for its restart has no actor, so its messages wait, too.
            let Some(run) = &mut this.actor else { return Poll::Pending };
            match run.poll(&this.run_guard.cell, cx) {
                Ok(Poll::Pending) => {
                    if !std::mem::replace(&mut run.has_started, true) {
                        this.report(ChildReport::Started);
                    }
                    return Poll::Pending;
                }
                Ok(Poll::Ready(())) => this.finish(Ok(())),
                Err(fault) => this.finish(Err(fault)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use actix::{Addr, Context};
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use crate::supervision::member::SupervisorMessage;

    struct Idle;

    impl Actor for Idle {
        type Context = Context<Idle>;
    }

    #[test]
    fn a_seat_that_was_closed_stays_closed_whatever_order_comes_late() {
        actix_rt::System::new().block_on(async {
            let (notes, mut reports) = unbounded_channel();
            let (sender, receiver) = actix::dev::channel::channel(1);
            let address = Addr::new(sender);
            let cell = ActorCell::new(ActorCellParts {
                name: "idle".into(),
                uplink: Uplink { notes, id: 0 },
                thread: None,
                ends_unaddressed: true,
                factory: Box::new(|| Idle),
                receiver,
            });
            cell.clone().order(ChildCommand::Stop);
            assert!(matches!(reports.recv().await, Some(SupervisorMessage::Report(0, ChildReport::Stopped(None)))));
            cell.clone().order(ChildCommand::Close);
            assert!(!address.connected());
            cell.clone().order(ChildCommand::Start);
            assert!(!cell.command_slot.lock().is_running);
            drop(cell);
            assert!(reports.recv().await.is_none(), "it reports nothing, and nothing of it is left");
        });
    }
}
