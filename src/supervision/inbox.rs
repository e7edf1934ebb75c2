//! Mailboxes that are made before their actors and outlive them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use actix::dev::channel::{AddressReceiver, channel};
use actix::dev::{ContextParts, Envelope};
use actix::{Actor, Addr};
use futures_util::Stream;
use parking_lot::Mutex;

use super::MailboxView;

/// The mailbox of an actor that may not exist yet. Addresses can be taken from it at once, also by actors that need
/// each other's; messages wait until the actor runs.
///
/// The capacity binds `send` and `try_send`; **`do_send` ignores it**, as everywhere in actix.
pub struct Inbox<A: Actor> {
    address: Addr<A>,
    receiver: Arc<Mutex<Option<AddressReceiver<A>>>>,
}

impl<A: Actor> Inbox<A> {
    /// A mailbox of this capacity, at least one message.
    pub fn new(capacity: usize) -> Inbox<A> {
        let (sender, receiver) = channel(capacity.max(1));
        Inbox { address: Addr::new(sender), receiver: Arc::new(Mutex::new(Some(receiver))) }
    }

    /// The address, valid from now until the child ends for good.
    pub fn address(&self) -> Addr<A> {
        self.address.clone()
    }

    /// Moves the mailbox to its child.
    ///
    /// # Panics
    /// If it already belongs to one: no mailbox can be read by two.
    pub(super) fn take(&self) -> AddressReceiver<A> {
        self.receiver.lock().take().expect("an inbox belongs to one child only")
    }
}

impl<A: Actor> Clone for Inbox<A> {
    /// The same mailbox.
    fn clone(&self) -> Inbox<A> {
        Inbox { address: self.address.clone(), receiver: self.receiver.clone() }
    }
}

/// The reading end of a mailbox.
///
/// actix does not say how many messages wait in its channel, so counting moves them to a queue of our own. That queue
/// is never longer than the capacity of the channel, so that counting does not enlarge the mailbox.
pub(super) struct Intake<A: Actor> {
    receiver: Option<AddressReceiver<A>>,
    counted: VecDeque<Envelope<A>>,
    /// Wakes the actor; passed to the channel also when another task counts its messages.
    waker: Waker,
}

impl<A: Actor> Intake<A> {
    pub(super) fn new(receiver: AddressReceiver<A>) -> Intake<A> {
        Intake { receiver: Some(receiver), counted: VecDeque::new(), waker: Waker::noop().clone() }
    }

    /// The next message, if there is one; otherwise the actor is woken when one comes.
    pub(super) fn next(&mut self, cx: &Context<'_>) -> Option<Envelope<A>> {
        if !self.waker.will_wake(cx.waker()) {
            self.waker.clone_from(cx.waker());
        }
        self.counted.pop_front().or_else(|| self.receive())
    }

    /// Whether there is still an address of this mailbox.
    pub(super) fn is_addressed(&self) -> bool {
        self.receiver.as_ref().is_some_and(AddressReceiver::connected)
    }

    /// Counts the waiting messages, up to the capacity.
    pub(super) fn view(&mut self) -> Option<MailboxView> {
        let capacity = self.receiver.as_ref()?.capacity();
        while self.counted.len() < capacity {
            let Some(envelope) = self.receive() else { break };
            self.counted.push_back(envelope);
        }
        Some(MailboxView { depth: self.counted.len(), capacity })
    }

    /// What a context needs so that its `address()` is that of this mailbox.
    pub(super) fn context_parts(&self) -> Option<ContextParts<A>>
    where
        A: Actor<Context = actix::Context<A>>,
    {
        self.receiver.as_ref().map(|receiver| ContextParts::new(receiver.sender_producer()))
    }

    /// Closes the mailbox; returns its messages, whose destructors may panic, for the caller to drop.
    pub(super) fn close(&mut self) -> impl Sized + use<A> {
        (self.receiver.take(), std::mem::take(&mut self.counted))
    }

    fn receive(&mut self) -> Option<Envelope<A>> {
        let receiver = self.receiver.as_mut()?;
        match Pin::new(receiver).poll_next(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(envelope) => envelope,
            Poll::Pending => None,
        }
    }
}
