//! One budget of memory for all bodies in flight, so that many large bodies at once cannot exhaust the machine.
//!
//! A body counts with what it holds, from its first byte until it has been read by its parser. While bodies hold more than
//! three quarters of the budget, a body that holds more than [`SMALL_BYTES`] waits before it reads on; smaller ones never
//! wait, so that ordinary feeds keep their schedule. Of those that wait, one goes on at a time, the smallest first: a
//! body that is larger than `http.body-bytes-max` thus reaches that limit and fails for its own reason. One that goes on
//! too slowly while others wait is refused.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};

use crate::clock::Stopwatch;

/// A body that holds no more than this never waits.
const SMALL_BYTES: usize = 256 * 1024;
/// How long a body may go on by itself while others wait.
const TURN_MAX: Duration = Duration::from_secs(3);
/// Bodies with further encodings that are decoded at the same time: these are undone in one go.
const DECODING_MAX: usize = 2;

/// The budget of a client.
pub(super) struct MemoryBudget {
    state: Mutex<BudgetState>,
    changed: Notify,
    decoding: Semaphore,
}

struct BudgetState {
    max: usize,
    used: usize,
    bodies: BTreeMap<u64, Body>,
    next: u64,
    turn_max: Duration,
    /// The body that goes on although the budget is used up, and since when.
    turn: Option<(u64, Stopwatch)>,
    waits: u64,
    refusals: u64,
}

#[derive(Default)]
struct Body {
    held: usize,
    is_waiting: bool,
    is_refused: bool,
    /// Whether it was read whole and only waits for its parser.
    is_complete: bool,
}

/// Use of the budget, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Bytes that bodies in flight hold.
    pub used: usize,
    /// The budget.
    pub max: usize,
    /// Bodies that have waited since the start.
    pub waits: u64,
    /// Bodies that were refused since the start.
    pub refusals: u64,
}

/// A body was refused because others wait for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemoryRefusal {
    pub(super) held: usize,
    pub(super) max: usize,
}

/// What one body holds of the budget, until the last clone is dropped.
#[derive(Clone)]
pub struct MemoryShare(Arc<ShareInner>);

struct ShareInner {
    budget: Arc<MemoryBudget>,
    id: u64,
}

impl MemoryBudget {
    pub(super) fn new(max: usize) -> MemoryBudget {
        let state = BudgetState {
            max,
            used: 0,
            bodies: BTreeMap::new(),
            next: 0,
            turn_max: TURN_MAX,
            turn: None,
            waits: 0,
            refusals: 0,
        };
        MemoryBudget { state: Mutex::new(state), changed: Notify::new(), decoding: Semaphore::new(DECODING_MAX) }
    }

    pub(super) fn set_max(&self, max: usize) {
        self.state.lock().max = max;
        self.changed.notify_waiters();
    }

    pub(super) fn view(&self) -> MemoryUse {
        let BudgetState { used, max, waits, refusals, .. } = *self.state.lock();
        MemoryUse { used, max, waits, refusals }
    }

    /// The share of a new body, which holds nothing yet.
    pub(super) fn share(self: &Arc<MemoryBudget>) -> MemoryShare {
        let mut state = self.state.lock();
        let id = state.next;
        state.next += 1;
        state.bodies.insert(id, Body::default());
        MemoryShare(Arc::new(ShareInner { budget: self.clone(), id }))
    }

    /// Waits for a turn to undo further encodings, which may expand to a whole body at once.
    pub(super) async fn decoding(&self) -> tokio::sync::SemaphorePermit<'_> {
        self.decoding.acquire().await.expect("the semaphore is never closed")
    }
}

impl BudgetState {
    fn turn_id(&self) -> Option<u64> {
        self.turn.as_ref().map(|(id, _)| *id)
    }

    /// A quarter is left for the body that goes on by itself and for what is decoded at the moment.
    fn is_used_up(&self) -> bool {
        self.used > self.max / 4 * 3
    }

    /// Whether the body may read on. If not, it waits.
    fn may_go_on(&mut self, id: u64) -> Result<bool, MemoryRefusal> {
        let (max, is_used_up, is_at_turn) = (self.max, self.is_used_up(), self.turn_id() == Some(id));
        let Some(body) = self.bodies.get_mut(&id) else { return Ok(true) };
        if body.is_refused {
            return Err(MemoryRefusal { held: body.held, max });
        }
        if !is_used_up || body.held <= SMALL_BYTES || is_at_turn {
            body.is_waiting = false;
            return Ok(true);
        }
        self.waits += u64::from(!body.is_waiting);
        body.is_waiting = true;
        self.give_turn();
        Ok(self.turn_id() == Some(id))
    }

    /// Lets the smallest body that waits go on, if none does; one that has taken too long is refused.
    fn give_turn(&mut self) {
        if let Some((turn, since)) = &self.turn {
            if since.elapsed() < self.turn_max {
                return;
            }
            if let Some(body) = self.bodies.get_mut(turn)
                && !body.is_refused
            {
                body.is_refused = true;
                self.refusals += 1;
            }
            self.turn = None;
        }
        let complete: usize = self.bodies.values().filter(|body| body.is_complete).map(|body| body.held).sum();
        if complete > self.max / 4 {
            // Their parsers give it back soon.
            return;
        }
        let waiting = self.bodies.iter_mut().filter(|(_, body)| body.is_waiting && !body.is_refused);
        if let Some((id, body)) = waiting.min_by_key(|(_, body)| body.held) {
            body.is_waiting = false;
            self.turn = Some((*id, Stopwatch::start()));
        }
    }

    fn end_turn(&mut self, id: u64) {
        if self.turn_id() == Some(id) {
            self.turn = None;
        }
    }
}

impl MemoryShare {
    /// Notes what the body holds now, and waits while the budget is used up.
    pub(super) async fn hold(&self, bytes: usize) -> Result<(), MemoryRefusal> {
        let ShareInner { budget, id } = &*self.0;
        {
            let mut state = budget.state.lock();
            let held =
                state.bodies.get_mut(id).map(|body| std::mem::replace(&mut body.held, bytes)).unwrap_or_default();
            state.used = state.used + bytes - held;
            if !state.is_used_up() && state.bodies.get(id).is_some_and(|body| !body.is_refused) {
                state.end_turn(*id);
                return Ok(());
            }
        }
        loop {
            let mut changed = std::pin::pin!(budget.changed.notified());
            changed.as_mut().enable();
            let (may_go_on, is_changed, turn_max) = {
                let mut state = budget.state.lock();
                let before = state.turn_id();
                (state.may_go_on(*id)?, state.turn_id() != before, state.turn_max)
            };
            if is_changed {
                budget.changed.notify_waiters();
            }
            if may_go_on {
                return Ok(());
            }
            // A turn that takes too long ends without a change.
            let _ = tokio::time::timeout(turn_max / 4, changed).await;
        }
    }

    /// Returns when the body is refused.
    pub(super) async fn refused(&self) -> MemoryRefusal {
        let ShareInner { budget, id } = &*self.0;
        loop {
            let mut changed = std::pin::pin!(budget.changed.notified());
            changed.as_mut().enable();
            {
                let state = budget.state.lock();
                if let Some(body) = state.bodies.get(id).filter(|body| body.is_refused) {
                    return MemoryRefusal { held: body.held, max: state.max };
                }
            }
            changed.await;
        }
    }

    /// Notes that the body is complete: it keeps its memory, but no longer the turn of another.
    pub(super) fn complete(&self, bytes: usize) {
        let ShareInner { budget, id } = &*self.0;
        let mut state = budget.state.lock();
        if let Some(body) = state.bodies.get_mut(id) {
            let held = std::mem::replace(&mut body.held, bytes);
            (body.is_waiting, body.is_refused, body.is_complete) = (false, false, true);
            state.used = state.used + bytes - held;
        }
        state.end_turn(*id);
        drop(state);
        budget.changed.notify_waiters();
    }
}

impl Drop for ShareInner {
    fn drop(&mut self) {
        let mut state = self.budget.state.lock();
        let held = state.bodies.remove(&self.id).map_or(0, |body| body.held);
        state.used -= held;
        state.end_turn(self.id);
        drop(state);
        self.budget.changed.notify_waiters();
    }
}

impl PartialEq for MemoryShare {
    /// A share is no part of what a reply says.
    fn eq(&self, _: &MemoryShare) -> bool {
        true
    }
}

impl Eq for MemoryShare {}

impl fmt::Debug for MemoryShare {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MemoryShare")
    }
}

impl fmt::Display for MemoryRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryRefusal { held, max } = self;
        let megabytes = max / 1_000_000;
        write!(
            formatter,
            "the bodies in flight use up the memory for them ({megabytes} MB, http.memory-max-megabytes), and this one of \
             {held} bytes so far came too slowly"
        )
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const MEGABYTE: usize = 1_000_000;

    fn budget() -> Arc<MemoryBudget> {
        Arc::new(MemoryBudget::new(4 * MEGABYTE))
    }

    #[tokio::test]
    async fn bodies_within_the_budget_do_not_wait() {
        let budget = budget();
        let shares: Vec<MemoryShare> = (0..3).map(|_| budget.share()).collect();
        for share in &shares {
            assert_eq!(share.hold(MEGABYTE).now_or_never(), Some(Ok(())));
        }
        assert_eq!(budget.view(), MemoryUse { used: 3 * MEGABYTE, max: 4 * MEGABYTE, waits: 0, refusals: 0 });
        drop(shares);
        assert_eq!(budget.view().used, 0);
    }

    #[tokio::test]
    async fn when_the_budget_is_used_up_one_goes_on_small_ones_never_wait_and_the_others_wait_for_memory() {
        let budget = budget();
        let (first, second, third, small) = (budget.share(), budget.share(), budget.share(), budget.share());
        assert_eq!(first.hold(2 * MEGABYTE).now_or_never(), Some(Ok(())));
        assert_eq!(second.hold(2 * MEGABYTE).now_or_never(), Some(Ok(())), "it goes on by itself");
        assert_eq!(second.hold(3 * MEGABYTE).now_or_never(), Some(Ok(())), "until it ends");
        let mut waiting = Box::pin(third.hold(MEGABYTE));
        assert_eq!((&mut waiting).now_or_never(), None);
        assert_eq!(small.hold(SMALL_BYTES).now_or_never(), Some(Ok(())));
        drop(second);
        assert_eq!(waiting.await, Ok(()));
        assert_eq!((budget.view().waits, budget.view().refusals), (2, 0));
    }

    #[tokio::test]
    async fn the_smallest_goes_on_first_and_one_that_comes_too_slowly_is_refused() {
        let budget = budget();
        budget.state.lock().turn_max = Duration::from_millis(20);
        let (slow, large, medium) = (budget.share(), budget.share(), budget.share());
        assert_eq!(slow.hold(4 * MEGABYTE).now_or_never(), Some(Ok(())));
        let mut of_large = Box::pin(large.hold(2 * MEGABYTE));
        let mut of_medium = Box::pin(medium.hold(MEGABYTE));
        assert!((&mut of_large).now_or_never().is_none() && (&mut of_medium).now_or_never().is_none());
        tokio::select! {
            refusal = slow.refused() => assert_eq!(refusal.held, 4 * MEGABYTE),
            _ = &mut of_large => panic!("a smaller one waits"),
            _ = async { assert_eq!((&mut of_medium).await, Ok(())); std::future::pending::<()>().await } => {}
        }
        assert!(slow.hold(4 * MEGABYTE).await.is_err());
        assert_eq!(budget.view().refusals, 1);
        drop(slow);
        medium.complete(MEGABYTE);
        assert_eq!(of_large.await, Ok(()));
    }

    #[tokio::test]
    async fn a_larger_budget_lets_those_that_wait_go_on() {
        let budget = budget();
        let (first, second, third) = (budget.share(), budget.share(), budget.share());
        assert_eq!(first.hold(4 * MEGABYTE).now_or_never(), Some(Ok(())));
        let mut waiting = Box::pin(second.hold(MEGABYTE));
        assert_eq!((&mut waiting).now_or_never(), None);
        budget.set_max(100 * MEGABYTE);
        assert_eq!(waiting.await, Ok(()));
        assert_eq!(third.hold(MEGABYTE).now_or_never(), Some(Ok(())));
    }
}
