//! One actor from its start to its end, guarded at every step.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use actix::dev::{AsyncContextParts, ContextFut, EnvelopeProxy};
use actix::{Actor, ActorContext, ActorFuture, AsyncContext};

use super::child::ActorCell;
use super::crash::{UndatedCrash, guard};

/// Messages after which an actor lets others on its thread run. actix alone would go on until the mailbox is empty.
const MESSAGES_PER_TURN: usize = 256;

/// One actor from its start to its end. Can be dropped whatever its destructor does.
pub(super) struct ActorRun<A: Actor<Context = actix::Context<A>>> {
    context: Option<ContextFut<A, actix::Context<A>>>,
    /// Whether its supervisor knows that it is up.
    pub(super) has_started: bool,
}

impl<A: Actor<Context = actix::Context<A>>> ActorRun<A> {
    pub(super) fn begin(cell: &Arc<ActorCell<A>>) -> Result<ActorRun<A>, UndatedCrash> {
        let actor = guard(|| cell.factory.lock()())?;
        let parts = cell.intake.lock().context_parts().ok_or_else(|| UndatedCrash::because("its mailbox is closed"))?;
        let mut context = actix::Context::new();
        // The context has a mailbox of its own without an address; its address becomes that of the cell's.
        *context.parts() = parts;
        pump_into(&mut context, cell);
        Ok(ActorRun { context: Some(context.into_future(actor)), has_started: false })
    }

    pub(super) fn poll(&mut self, cell: &Arc<ActorCell<A>>, cx: &mut Context<'_>) -> Result<Poll<()>, UndatedCrash> {
        let Some(context) = &mut self.context else { return Ok(Poll::Ready(())) };
        if cell.is_unpumped.load(Ordering::Relaxed) && cell.intake.lock().is_addressed() {
            // All addresses were dropped, but the actor had more to do and has given out a new one.
            pump_into(context.ctx(), cell);
        }
        guard(|| Pin::new(context).poll(cx))
    }

    pub(super) fn ask_to_stop(&mut self) {
        if let Some(context) = &mut self.context {
            context.ctx().stop();
        }
    }

    /// Drops the actor and its futures; returns the crash if that panicked.
    pub(super) fn end(mut self) -> Option<UndatedCrash> {
        self.drop_context()
    }

    fn drop_context(&mut self) -> Option<UndatedCrash> {
        let mut context = self.context.take()?;
        // Dropped alive, a context would run its actor once more, crashed or not.
        context.ctx().terminate();
        guard(move || drop(context)).err()
    }
}

impl<A: Actor<Context = actix::Context<A>>> Drop for ActorRun<A> {
    fn drop(&mut self) {
        let _ = self.drop_context();
    }
}

fn pump_into<A: Actor<Context = actix::Context<A>>>(context: &mut actix::Context<A>, cell: &Arc<ActorCell<A>>) {
    cell.is_unpumped.store(false, Ordering::Relaxed);
    context.spawn(Pump(cell.clone()));
}

/// Hands the messages of a cell to its actor. A future of the actor's context, like those it spawns itself.
struct Pump<A: Actor>(Arc<ActorCell<A>>);

impl<A: Actor<Context = actix::Context<A>>> ActorFuture<A> for Pump<A> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, actor: &mut A, ctx: &mut actix::Context<A>, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..MESSAGES_PER_TURN {
            // Before a future that the actor waits for, and while it stops, messages are left in the mailbox.
            if ctx.waiting() {
                return Poll::Pending;
            }
            // The lock is not held while the message is handled: the tree can be read meanwhile.
            let mut intake = self.0.intake.lock();
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
