//! Requests to hosts of other nodes, such as the target of a redirect: the owner of the host grants a turn, keeps the
//! permit of the host meanwhile, and takes it back when the request is over or has taken too long.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use slog::warn;
use tokio::sync::oneshot;

use super::wire::{MessageBody, WireHost, millis};
use super::{Fleet, FleetShared};
use crate::actors::context::PipelineContext;
use crate::actors::host::{HostEntry, HostTable, PermitRequest, WaitEnd, wait_for_permit};
use crate::clock::Stopwatch;
use crate::dice::unique_number;
use crate::model::{HostKey, HostState, NodeId, Receiver, Timestamp};
use crate::sources::{TypeSettings, host_shard};

/// How long an owner may take to grant a turn.
const GRANTED_WITHIN: Duration = Duration::from_secs(60);
/// A grant that is older is not used: the owner may take the turn back before the request is over. With a short lease,
/// the limit is a third of it, so that the owner cannot be replaced between grant and request.
const GRANT_AGE_MAX: Duration = Duration::from_secs(5);
/// Time that the owner adds to the deadline of the request.
const TAKE_BACK_AFTER: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct Turns {
    /// Turns that this node has asked for.
    asked: Mutex<HashMap<u64, oneshot::Sender<TurnAnswer>>>,
    /// Turns that other nodes have, until they return them.
    lent: Mutex<HashMap<(NodeId, u64), oneshot::Sender<HostState>>>,
    /// Turns that other nodes have or wait for: a question that is repeated is answered once.
    lending: Mutex<HashSet<(NodeId, u64)>>,
    /// Nodes that were live at the last renewal, and those that have ended since the start.
    borrowers: Mutex<Borrowers>,
    borrowed_count: AtomicU64,
    lent_count: AtomicU64,
}

#[derive(Default)]
struct Borrowers {
    live: HashSet<NodeId>,
    ended: HashSet<NodeId>,
}

impl FleetShared {
    fn grant_age_max(&self) -> Duration {
        GRANT_AGE_MAX.min(self.lease / 3)
    }
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
    Refused {
        until: Timestamp,
        because: String,
    },
    /// The host is one of this node by now.
    Owned,
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

impl Turns {
    pub(super) fn borrowed(&self) -> u64 {
        self.borrowed_count.load(Ordering::Relaxed)
    }

    pub(super) fn lent(&self) -> u64 {
        self.lent_count.load(Ordering::Relaxed)
    }

    /// Takes back the turns of nodes that are not live any more: they send no requests.
    pub(super) fn follow_nodes(&self, live: HashSet<NodeId>) {
        let mut borrowers = self.borrowers.lock();
        let ended: Vec<NodeId> = borrowers.live.difference(&live).copied().collect();
        borrowers.ended.extend(ended);
        borrowers.live = live;
        self.lent.lock().retain(|(borrower, _), _| !borrowers.ended.contains(borrower));
    }

    fn has_ended(&self, borrower: NodeId) -> bool {
        self.borrowers.lock().ended.contains(&borrower)
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
        let ask = || {
            let host = host.to_string();
            self.send(owner, MessageBody::Borrow { turn, host, pause_ms: millis(pause), is_forced });
            Stopwatch::start()
        };
        let (mut answer, watch, mut asked) = (answer, Stopwatch::start(), ask());
        let answer = loop {
            let look = tokio::time::timeout(shared.windows().renew_every(), &mut answer).await;
            if look.is_ok() || watch.elapsed() >= GRANTED_WITHIN {
                break look;
            }
            // The owner that was asked has ended, or has released the shard.
            if self.has_turns_of(Some(host), &context.type_settings) {
                shared.turns.asked.lock().remove(&turn);
                return BorrowEnd::Owned;
            }
            // An owner that ended, or released the shard, may have taken the question with it.
            if asked.elapsed() >= shared.lease {
                asked = ask();
            }
        };
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

    /// A grant that came too late, or that is not waited for any more, is returned: its owner waits for that.
    pub(super) fn take_grant(&self, turn: u64, state: WireHost, age: Duration, settings: &TypeSettings) {
        let Some(shared) = &self.0 else { return };
        let state = HostState::from(state);
        let asking = shared.turns.asked.lock().remove(&turn).filter(|_| age < shared.grant_age_max());
        let unused = match asking {
            Some(sender) => match sender.send(TurnAnswer::Granted(state)) {
                Ok(()) | Err(TurnAnswer::Refused { .. }) => return,
                Err(TurnAnswer::Granted(state)) => state,
            },
            None => state,
        };
        let owner = Receiver::Shard(host_shard(Some(&unused.host), settings));
        self.send(owner, MessageBody::Returned { turn, state: WireHost::from(&unused) });
    }

    pub(super) fn take_refusal(&self, turn: u64, until: i64, because: String) {
        self.end_asking(turn, TurnAnswer::Refused { until: Timestamp::from_micros(until), because });
    }

    fn end_asking(&self, turn: u64, answer: TurnAnswer) {
        let Some(shared) = &self.0 else { return };
        if let Some(sender) = shared.turns.asked.lock().remove(&turn) {
            let _ = sender.send(answer);
        }
    }

    pub(super) fn take_return(&self, borrower: NodeId, turn: u64, state: WireHost) {
        let Some(shared) = &self.0 else { return };
        if let Some(sender) = shared.turns.lent.lock().remove(&(borrower, turn)) {
            let _ = sender.send(state.into());
        }
    }

    /// Waits for the turn of a host of this node, and lends it to another one. A question that is repeated meanwhile is
    /// ignored.
    pub(super) async fn lend_turn_once(
        &self,
        wish: TurnWish,
        context: &Arc<PipelineContext>,
        table: &HostTable,
        deadline: Duration,
    ) {
        let Some(shared) = &self.0 else { return };
        let key = (wish.borrower, wish.turn);
        if shared.turns.lending.lock().insert(key) {
            self.lend_turn(wish, context, table, deadline).await;
            shared.turns.lending.lock().remove(&key);
        }
    }

    async fn lend_turn(&self, wish: TurnWish, context: &Arc<PipelineContext>, table: &HostTable, deadline: Duration) {
        let TurnWish { borrower, turn, host, request } = wish;
        // A node that has become the owner of the host does not wait for the answer any more.
        let Some(shared) = self.0.as_ref().filter(|_| self.node() != Some(borrower)) else { return };
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
        let Some(state) = host_entry.state().filter(|_| !shared.turns.has_ended(borrower)) else { return };
        let (sender, returned) = oneshot::channel();
        shared.turns.lent.lock().insert((borrower, turn), sender);
        shared.turns.lent_count.fetch_add(1, Ordering::Relaxed);
        host_entry.change(|state| state.last_asked_at = Some(context.clock.now()));
        answer(MessageBody::Granted { turn, state: WireHost::from(&state) });
        let limit = shared.grant_age_max() + deadline + TAKE_BACK_AFTER;
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
