//! Requests to hosts of other nodes, such as the target of a redirect: the owner of the host grants a turn, keeps the
//! permit of the host meanwhile, and takes it back when the request is over or has taken too long.

use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use slog::warn;
use tokio::sync::oneshot;

use super::Fleet;
use super::wire::{MessageBody, WireHost, millis};
use crate::actors::context::PipelineContext;
use crate::actors::host::{HostEntry, HostTable, PermitRequest, WaitEnd, wait_for_permit};
use crate::dice::unique_number;
use crate::model::{HostKey, HostState, NodeId, Receiver, Timestamp};
use crate::sources::{TypeSettings, host_shard};

/// How long an owner may take to grant a turn.
const GRANTED_WITHIN: Duration = Duration::from_secs(60);
/// A grant that is older is not used: the owner may take the turn back before the request is over.
const GRANT_AGE_MAX: Duration = Duration::from_secs(5);
/// Time that the owner adds to the deadline of the request.
const TAKE_BACK_AFTER: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct Turns {
    /// Turns that this node has asked for.
    asked: Mutex<HashMap<u64, oneshot::Sender<TurnAnswer>>>,
    /// Turns that other nodes wait for or have.
    lending: Mutex<HashSet<(NodeId, u64)>>,
    /// Turns that other nodes have, until they return them.
    lent: Mutex<HashMap<(NodeId, u64), oneshot::Sender<HostState>>>,
    borrowed_count: AtomicU64,
    lent_count: AtomicU64,
}

enum TurnAnswer {
    Granted(HostState),
    Refused { until: Timestamp, because: String },
}

/// Another node wants to send a request to a host of this node.
pub(super) struct TurnWish {
    pub(super) borrower: NodeId,
    pub(super) turn: u64,
    pub(super) host: HostKey,
    pub(super) request: PermitRequest,
}

/// What became of the wish for a turn.
pub(in crate::actors) enum BorrowEnd {
    Granted(BorrowedTurn),
    Refused { until: Timestamp, because: String },
}

/// A turn at a host of another node. It is returned when it is dropped, with what is known of the host by then.
pub(in crate::actors) struct BorrowedTurn {
    fleet: Fleet,
    owner: Receiver,
    turn: u64,
    host_entry: Arc<HostEntry>,
}

impl Drop for BorrowedTurn {
    fn drop(&mut self) {
        if let Some(state) = self.host_entry.state() {
            self.fleet.send(self.owner, MessageBody::Returned { turn: self.turn, state: WireHost::from(&state) });
        }
    }
}

/// A turn that another node waits for or has.
struct Lending<'a>(&'a Turns, (NodeId, u64));

impl Lending<'_> {
    /// None if it is waited for or lent already.
    fn begin(turns: &Turns, borrower: NodeId, turn: u64) -> Option<Lending<'_>> {
        turns.lending.lock().insert((borrower, turn)).then(|| Lending(turns, (borrower, turn)))
    }
}

impl Drop for Lending<'_> {
    fn drop(&mut self) {
        self.0.lending.lock().remove(&self.1);
    }
}

impl Turns {
    pub(super) fn borrowed(&self) -> u64 {
        self.borrowed_count.load(Ordering::Relaxed)
    }

    pub(super) fn lent(&self) -> u64 {
        self.lent_count.load(Ordering::Relaxed)
    }
}

impl Fleet {
    /// Asks the owner of a host for a turn.
    pub(in crate::actors) async fn borrow_turn(
        &self,
        host_entry: &Arc<HostEntry>,
        request: PermitRequest,
        context: &PipelineContext,
    ) -> BorrowEnd {
        let later = || context.clock.now() + context.settings.scheduler.tick;
        let no_turn = |because: &str| BorrowEnd::Refused { until: later(), because: because.to_owned() };
        let (Some(shared), Some(host)) = (&self.0, &host_entry.key) else { return no_turn("it has no owner") };
        let owner = Receiver::Shard(host_shard(Some(host), &context.type_settings));
        let (turn, (sender, answer)) = (unique_number(), oneshot::channel());
        shared.turns.asked.lock().insert(turn, sender);
        let PermitRequest { pause, is_forced, .. } = request;
        let asking = async {
            let mut answer = pin!(answer);
            loop {
                // A node that is killed, or loses the shard, answers nothing: the next owner is asked.
                let host = host.to_string();
                self.send(owner, MessageBody::Borrow { turn, host, pause_ms: millis(pause), is_forced });
                tokio::select! {
                    answer = &mut answer => return answer,
                    () = tokio::time::sleep(shared.lease / 2) => {}
                }
            }
        };
        let answer = tokio::time::timeout(GRANTED_WITHIN, asking).await;
        shared.turns.asked.lock().remove(&turn);
        match answer {
            Ok(Ok(TurnAnswer::Granted(state))) => {
                shared.turns.borrowed_count.fetch_add(1, Ordering::Relaxed);
                host_entry.change(|known| *known = state);
                let host_entry = host_entry.clone();
                BorrowEnd::Granted(BorrowedTurn { fleet: self.clone(), owner, turn, host_entry })
            }
            Ok(Ok(TurnAnswer::Refused { until, because })) => BorrowEnd::Refused { until, because },
            Ok(Err(_)) | Err(_) => no_turn("the node that has its turns granted none in time"),
        }
    }

    pub(super) fn take_grant(&self, turn: u64, state: WireHost, age: Duration, settings: &TypeSettings) {
        let host: HostState = state.into();
        let owner = Receiver::Shard(host_shard(Some(&host.host), settings));
        let unused = MessageBody::Returned { turn, state: WireHost::from(&host) };
        // An old grant may be over before the request is. A turn that is not waited for any more is given back.
        if age >= GRANT_AGE_MAX || !self.end_asking(turn, TurnAnswer::Granted(host)) {
            self.send(owner, unused);
        }
    }

    pub(super) fn take_refusal(&self, turn: u64, until: i64, because: String) {
        self.end_asking(turn, TurnAnswer::Refused { until: Timestamp::from_micros(until), because });
    }

    /// Whether the answer is waited for.
    fn end_asking(&self, turn: u64, answer: TurnAnswer) -> bool {
        let sender = self.0.as_ref().and_then(|shared| shared.turns.asked.lock().remove(&turn));
        sender.is_some_and(|sender| sender.send(answer).is_ok())
    }

    pub(super) fn take_return(&self, borrower: NodeId, turn: u64, state: WireHost) {
        let Some(shared) = &self.0 else { return };
        if let Some(sender) = shared.turns.lent.lock().remove(&(borrower, turn)) {
            let _ = sender.send(state.into());
        }
    }

    /// Waits for the turn of a host of this node, and lends it to another one.
    pub(super) async fn lend_turn(
        &self,
        wish: TurnWish,
        context: &Arc<PipelineContext>,
        table: &HostTable,
        deadline: Duration,
    ) {
        let Some(shared) = &self.0 else { return };
        let TurnWish { borrower, turn, host, request } = wish;
        // A borrower asks again while it waits.
        let Some(_lending) = Lending::begin(&shared.turns, borrower, turn) else { return };
        let answer = |body| self.send(Receiver::Node(borrower), body);
        let refuse = |until: Timestamp, because: String| {
            answer(MessageBody::Refused { turn, until: until.as_micros(), because });
        };
        let later = || context.clock.now() + context.settings.scheduler.tick;
        let key = Some(host.clone());
        if let Err(error) = table.open(HashSet::from([key.clone()]), context).await {
            return refuse(later(), format!("the host cannot be read: {error}"));
        }
        let Some((host_entry, _presence)) = table.enter(&key, context.clock.monotonic()) else {
            return refuse(later(), "the host was removed from the table".to_owned());
        };
        if !self.has_turns_of(Some(&host), &context.type_settings) {
            return refuse(later(), "its shard has just moved to another node".to_owned());
        }
        let Some(claim) = self.claim(host_shard(Some(&host), &context.type_settings)) else {
            return refuse(later(), "its shard is being released".to_owned());
        };
        let permit =
            match tokio::time::timeout(GRANTED_WITHIN, wait_for_permit(host_entry.clone(), context.clone(), request))
                .await
            {
                Ok(WaitEnd::Permitted(permit)) if claim.is_usable() => permit,
                Ok(WaitEnd::Closed { until, because }) => return refuse(until, because),
                Ok(WaitEnd::Permitted(_) | WaitEnd::AfterOutage) | Err(_) => return,
            };
        let Some(state) = host_entry.state() else { return };
        let (sender, returned) = oneshot::channel();
        shared.turns.lent.lock().insert((borrower, turn), sender);
        shared.turns.lent_count.fetch_add(1, Ordering::Relaxed);
        host_entry.change(|state| state.last_asked_at = Some(context.clock.now()));
        answer(MessageBody::Granted { turn, state: WireHost::from(&state) });
        let limit = GRANT_AGE_MAX + deadline + TAKE_BACK_AFTER;
        match tokio::time::timeout(limit, returned).await {
            Ok(Ok(heard)) => drop(host_entry.change(|state| *state = latest(state, heard))),
            Ok(Err(_)) | Err(_) => {
                warn!(context.log, "lent turn not returned"; "host" => host.as_str(),
                    "reason" => "the node that had it may have ended; the pause of the host counts from now");
            }
        }
        host_entry.change(|state| {
            let now = context.clock.now();
            state.last_asked_at = Some(state.last_asked_at.map_or(now, |asked_at| asked_at.max(now)));
        });
        shared.turns.lent.lock().remove(&(borrower, turn));
        drop((permit, claim));
    }
}

/// What the borrower heard; a hold that a person set meanwhile stays.
fn latest(known: &HostState, heard: HostState) -> HostState {
    let known_lasts = known.held_until > heard.held_until;
    HostState {
        last_asked_at: known.last_asked_at.max(heard.last_asked_at),
        held_until: known.held_until.max(heard.held_until),
        held_reason: if known_lasts { known.held_reason.clone() } else { heard.held_reason },
        ..heard
    }
}
