//! One supervised actor: its seat, which lasts, and the actors that sit on it one after the other.
//!
//! The seat owns the mailbox and the factory. The actor lives in an ordinary actix context whose messages are pumped in
//! from the seat's mailbox, and every call into it is guarded. So a crash costs the actor, its futures and the message in
//! hand, and nothing else: the next actor gets the same mailbox, on the same thread or, if that is gone, on a new one.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use actix::Actor;
use actix::dev::channel::AddressReceiver;
use futures_util::task::AtomicWaker;

use super::crash::{Fault, guard};
use super::house::lock;
use super::inbox::Intake;
use super::life::Life;
use super::member::{Facts, Member, Order, Report, Uplink};
use super::{Kind, MailboxView, Thread};

/// What stays when an actor crashes.
pub(super) struct Seat<A: Actor> {
    facts: Facts,
    uplink: Uplink,
    thread: Option<Thread>,
    /// Whether the actor ends when nobody holds its address any more, as actix actors do.
    pub(super) ends_unaddressed: bool,
    /// Whether the pump has ended for that reason.
    pub(super) is_unpumped: AtomicBool,
    pub(super) factory: Mutex<Box<dyn FnMut() -> A + Send>>,
    pub(super) intake: Mutex<Intake<A>>,
    desk: Mutex<Desk>,
    /// Whether there is an order on the desk, to be seen without locking it.
    has_order: AtomicBool,
    waker: AtomicWaker,
}

/// Where orders lie until the task that runs the actor picks them up.
struct Desk {
    order: Option<Order>,
    /// Whether there is such a task.
    attended: bool,
    /// Whether the seat was closed: no order that comes late may open it again.
    closed: bool,
}

/// What a seat is made of.
pub(super) struct SeatParts<A: Actor> {
    pub(super) name: Box<str>,
    pub(super) uplink: Uplink,
    pub(super) thread: Option<Thread>,
    pub(super) ends_unaddressed: bool,
    pub(super) factory: Box<dyn FnMut() -> A + Send>,
    pub(super) receiver: AddressReceiver<A>,
}

impl<A: Actor<Context = actix::Context<A>>> Seat<A> {
    pub(super) fn new(parts: SeatParts<A>) -> Arc<Seat<A>> {
        Arc::new(Seat {
            facts: Facts::new(&parts.name),
            uplink: parts.uplink,
            thread: parts.thread,
            ends_unaddressed: parts.ends_unaddressed,
            is_unpumped: AtomicBool::new(false),
            factory: Mutex::new(parts.factory),
            intake: Mutex::new(Intake::new(parts.receiver)),
            desk: Mutex::new(Desk { order: None, attended: false, closed: false }),
            has_order: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        })
    }

    fn take_order(&self) -> Option<Order> {
        if !self.has_order.load(Ordering::Acquire) {
            return None;
        }
        let mut desk = lock(&self.desk);
        self.has_order.store(false, Ordering::Release);
        desk.order.take()
    }

    /// Starts the task that runs the actor, on the seat's thread.
    fn attend(self: Arc<Self>) {
        let thread = self.thread.clone();
        let attendant = Attendant { seat: self, is_stopping: false, is_occupied: false };
        match thread {
            None => drop(actix_rt::spawn(Running::new(attendant))),
            // Should the thread end before it gets to this, the attendant is dropped and reports it.
            Some(thread) => thread.run(move || drop(actix_rt::spawn(Running::new(attendant)))),
        }
    }

    fn close(&self) {
        let left = lock(&self.intake).close();
        let _ = guard(move || drop(left));
    }
}

impl<A: Actor<Context = actix::Context<A>>> Member for Seat<A> {
    fn order(self: Arc<Self>, order: Order) {
        let mut desk = lock(&self.desk);
        if desk.closed {
            return;
        }
        desk.closed = order == Order::Close;
        if desk.attended {
            desk.order = Some(order);
            self.has_order.store(true, Ordering::Release);
            drop(desk);
            self.waker.wake();
            return;
        }
        match order {
            Order::Start => {
                desk.attended = true;
                desk.order = Some(order);
                self.has_order.store(true, Ordering::Release);
                drop(desk);
                self.attend();
            }
            Order::Stop | Order::Kill => self.uplink.report(Report::Stopped(None)),
            Order::Close => {
                drop(desk);
                self.close();
            }
        }
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn kind(&self) -> Kind {
        Kind::Actor
    }

    fn mailbox(&self) -> Option<MailboxView> {
        lock(&self.intake).view()
    }

    fn children(&self, _: usize) -> (Vec<Arc<dyn Member>>, usize) {
        (Vec::new(), 0)
    }
}

/// Notices when the task of a seat is dropped without having been told to end: its thread is gone.
struct Attendant<A: Actor<Context = actix::Context<A>>> {
    seat: Arc<Seat<A>>,
    /// Whether the supervisor waits for the actor to stop.
    is_stopping: bool,
    /// Whether there is an actor that the end of the thread would cost.
    is_occupied: bool,
}

impl<A: Actor<Context = actix::Context<A>>> Drop for Attendant<A> {
    fn drop(&mut self) {
        let seat = &self.seat;
        let mut desk = lock(&seat.desk);
        if !desk.attended {
            return;
        }
        desk.attended = false;
        seat.has_order.store(false, Ordering::Release);
        let fault = Fault::because("the thread it ran on is gone");
        match desk.order.take() {
            None if self.is_stopping => seat.uplink.report(Report::Stopped(Some(fault))),
            Some(Order::Stop | Order::Kill) => seat.uplink.report(Report::Stopped(Some(fault))),
            Some(Order::Close) => {
                drop(desk);
                seat.close();
            }
            // A seat without an actor loses nothing with its thread: the next start finds another one.
            None if !self.is_occupied => {}
            Some(Order::Start) | None => seat.uplink.report(Report::Crashed(fault)),
        }
    }
}

/// The task that runs the actors of a seat.
struct Running<A: Actor<Context = actix::Context<A>>> {
    // Before the attendant, so that a thread that ends drops the actor first and reports afterwards.
    actor: Option<Life<A>>,
    attendant: Attendant<A>,
}

impl<A: Actor<Context = actix::Context<A>>> Running<A> {
    fn new(attendant: Attendant<A>) -> Running<A> {
        Running { actor: None, attendant }
    }

    fn seat(&self) -> &Arc<Seat<A>> {
        &self.attendant.seat
    }

    fn report(&self, report: Report) {
        self.seat().uplink.report(report);
    }

    /// Follows an order; false ends the task.
    fn follow(&mut self, order: Order) -> bool {
        match order {
            Order::Start => match Life::begin(self.seat()) {
                Ok(life) => {
                    self.actor = Some(life);
                    self.attendant.is_occupied = true;
                }
                Err(fault) => self.report(Report::Crashed(fault)),
            },
            Order::Stop => match &mut self.actor {
                Some(life) => {
                    life.ask_to_stop();
                    self.attendant.is_stopping = true;
                }
                None => self.report(Report::Stopped(None)),
            },
            Order::Kill => {
                let fault = self.actor.take().and_then(Life::end);
                self.attendant.is_stopping = false;
                self.attendant.is_occupied = false;
                self.report(Report::Stopped(fault));
            }
            Order::Close => {
                drop(self.actor.take());
                lock(&self.seat().desk).attended = false;
                self.seat().close();
                return false;
            }
        }
        true
    }

    /// Says goodbye to an actor that finished or panicked.
    fn finish(&mut self, outcome: Result<(), Fault>) {
        let Some(life) = self.actor.take() else { return };
        let has_started = life.has_started;
        self.attendant.is_occupied = false;
        let is_stopping = std::mem::take(&mut self.attendant.is_stopping);
        let in_drop = life.end();
        let fault = outcome.err().or(in_drop);
        match fault {
            _ if is_stopping => self.report(Report::Stopped(fault)),
            Some(fault) => self.report(Report::Crashed(fault)),
            None => {
                // It may have ended in its very first turn, but it was up.
                if !has_started {
                    self.report(Report::Started);
                }
                self.report(Report::Ended);
            }
        }
    }
}

impl<A: Actor<Context = actix::Context<A>>> Future for Running<A> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.seat().waker.register(cx.waker());
        loop {
            if let Some(order) = this.seat().take_order()
                && !this.follow(order)
            {
                return Poll::Ready(());
            }
            // A child that waits out its delay has no actor, so its messages wait, too.
            let Some(life) = &mut this.actor else { return Poll::Pending };
            match life.poll(&this.attendant.seat, cx) {
                Ok(Poll::Pending) => {
                    if !std::mem::replace(&mut life.has_started, true) {
                        this.report(Report::Started);
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
    use crate::supervision::member::Note;

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
            let seat = Seat::new(SeatParts {
                name: "idle".into(),
                uplink: Uplink { notes, id: 0 },
                thread: None,
                ends_unaddressed: true,
                factory: Box::new(|| Idle),
                receiver,
            });
            seat.clone().order(Order::Stop);
            assert!(matches!(reports.recv().await, Some(Note::Report(0, Report::Stopped(None)))));
            seat.clone().order(Order::Close);
            assert!(!address.connected());
            seat.clone().order(Order::Start);
            assert!(!lock(&seat.desk).attended);
            drop(seat);
            assert!(reports.recv().await.is_none(), "it reports nothing, and nothing of it is left");
        });
    }
}
