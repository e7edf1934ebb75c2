//! Requests of the API that another node answers: by the right of a shard, or because a person named the node.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::Fleet;
use super::wire::{FleetAnswer, FleetRequest, MessageBody};
use crate::dice::unique_number;
use crate::model::{NodeId, Receiver};

/// Requests of other nodes that wait to be answered here.
const INCOMING_MAX: usize = 256;

/// A request of another node, to be answered by this one.
pub struct IncomingCall {
    pub request: FleetRequest,
    caller: NodeId,
    call: u64,
    fleet: Fleet,
}

#[derive(Debug, thiserror::Error)]
pub enum FleetCallError {
    #[error("no node answered within {} s: the node that should answer may have just ended; try again in a moment", .0.as_secs())]
    NoAnswer(Duration),
    #[error("this process shares its store with no other")]
    Alone,
}

pub(super) struct Calls {
    waiting: Mutex<HashMap<u64, oneshot::Sender<FleetAnswer>>>,
    incoming: mpsc::Sender<IncomingCall>,
    /// Taken by the part that answers.
    receiver: Mutex<Option<mpsc::Receiver<IncomingCall>>>,
}

impl Default for Calls {
    fn default() -> Calls {
        let (incoming, receiver) = mpsc::channel(INCOMING_MAX);
        Calls { waiting: Mutex::default(), incoming, receiver: Mutex::new(Some(receiver)) }
    }
}

/// A call whose answer is waited for.
struct WaitingCall<'a>(&'a Calls, u64);

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.waiting.lock().remove(&self.1);
    }
}

impl Fleet {
    /// Has another node answer a request.
    pub async fn call(
        &self,
        receiver: Receiver,
        request: FleetRequest,
        within: Duration,
    ) -> Result<FleetAnswer, FleetCallError> {
        let Some(shared) = &self.0 else { return Err(FleetCallError::Alone) };
        let (call, (sender, answer)) = (unique_number(), oneshot::channel());
        shared.calls.waiting.lock().insert(call, sender);
        let _waiting = WaitingCall(&shared.calls, call);
        self.send(receiver, MessageBody::Call { call, request });
        match tokio::time::timeout(within, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) | Err(_) => Err(FleetCallError::NoAnswer(within)),
        }
    }

    /// Requests of other nodes, for the part that answers them. The first caller gets them.
    pub fn incoming_calls(&self) -> Option<mpsc::Receiver<IncomingCall>> {
        self.0.as_ref()?.calls.receiver.lock().take()
    }

    pub(super) fn take_call(&self, caller: NodeId, call: u64, request: FleetRequest) {
        let Some(shared) = &self.0 else { return };
        let incoming = IncomingCall { request, caller, call, fleet: self.clone() };
        // Without room the caller gets no answer, and says so.
        let _ = shared.calls.incoming.try_send(incoming);
    }

    pub(super) fn take_answer(&self, call: u64, answer: FleetAnswer) {
        let Some(shared) = &self.0 else { return };
        if let Some(sender) = shared.calls.waiting.lock().remove(&call) {
            let _ = sender.send(answer);
        }
    }
}

impl IncomingCall {
    pub fn answer(self, answer: FleetAnswer) {
        self.fleet.send(Receiver::Node(self.caller), MessageBody::Answer { call: self.call, answer });
    }
}
