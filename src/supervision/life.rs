//! One actor from its start to its end, guarded at every step.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use actix::dev::{AsyncContextParts, ContextFut, EnvelopeProxy};
use actix::{Actor, ActorContext, ActorFuture, AsyncContext};

use super::child::Seat;
use super::crash::{Fault, guard};
use super::house::lock;

/// After so many messages an actor lets others on its thread run. actix alone would go on until the mailbox is empty.
const MESSAGES_PER_TURN: usize = 256;

/// One actor from its start to its end. Can be dropped whatever its destructor does.
pub(super) struct Life<A: Actor<Context = actix::Context<A>>> {
    context: Option<ContextFut<A, actix::Context<A>>>,
    /// Whether its supervisor knows that it is up.
    pub(super) has_started: bool,
}

impl<A: Actor<Context = actix::Context<A>>> Life<A> {
    pub(super) fn begin(seat: &Arc<Seat<A>>) -> Result<Life<A>, Fault> {
        let actor = guard(|| lock(&seat.factory)())?;
        let parts = lock(&seat.intake).context_parts().ok_or_else(|| Fault::because("its mailbox is closed"))?;
        let mut context = actix::Context::new();
        // The context has a mailbox of its own, which nobody can address; its address becomes that of the seat's.
        *context.parts() = parts;
        pump_into(&mut context, seat);
        Ok(Life { context: Some(context.into_future(actor)), has_started: false })
    }

    pub(super) fn poll(&mut self, seat: &Arc<Seat<A>>, cx: &mut Context<'_>) -> Result<Poll<()>, Fault> {
        let Some(context) = &mut self.context else { return Ok(Poll::Ready(())) };
        if seat.is_unpumped.load(Ordering::Relaxed) && lock(&seat.intake).is_addressed() {
            // Its address was given up by everybody, but the actor had more to do and has handed out a new one.
            pump_into(context.ctx(), seat);
        }
        guard(|| Pin::new(context).poll(cx))
    }

    pub(super) fn ask_to_stop(&mut self) {
        if let Some(context) = &mut self.context {
            context.ctx().stop();
        }
    }

    /// Drops the actor and its futures, and tells if that panicked.
    pub(super) fn end(mut self) -> Option<Fault> {
        self.drop_context()
    }

    fn drop_context(&mut self) -> Option<Fault> {
        let mut context = self.context.take()?;
        // Dropped alive, a context would run its actor once more, crashed or not.
        context.ctx().terminate();
        guard(move || drop(context)).err()
    }
}

impl<A: Actor<Context = actix::Context<A>>> Drop for Life<A> {
    fn drop(&mut self) {
        let _ = self.drop_context();
    }
}

fn pump_into<A: Actor<Context = actix::Context<A>>>(context: &mut actix::Context<A>, seat: &Arc<Seat<A>>) {
    seat.is_unpumped.store(false, Ordering::Relaxed);
    context.spawn(Pump(seat.clone()));
}

/// Hands the messages of a seat to its actor. A future of the actor's context, like those it spawns itself.
struct Pump<A: Actor>(Arc<Seat<A>>);

impl<A: Actor<Context = actix::Context<A>>> ActorFuture<A> for Pump<A> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, actor: &mut A, ctx: &mut actix::Context<A>, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..MESSAGES_PER_TURN {
            // Before a future that the actor waits for, and while it stops, messages are left in the mailbox.
            if ctx.waiting() {
                return Poll::Pending;
            }
            // The lock is not held while the message is handled: the tree can be read meanwhile.
            let mut intake = lock(&self.0.intake);
            let Some(mut envelope) = intake.next(cx) else {
                if self.0.ends_unaddressed && !intake.is_addressed() {
                    self.0.is_unpumped.store(true, Ordering::Relaxed);
                    return Poll::Ready(());
                }
                return Poll::Pending;
            };
            drop(intake);
            envelope.handle(actor, ctx);
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
