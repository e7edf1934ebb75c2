//! The time of the pipeline: its start, the last step of the clock, and whether ages can be judged by it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use slog::{Logger, error, info, warn};
use tokio::sync::watch;

use super::store_watch::{StoreWatch, retry_while_unavailable};
use crate::clock::Clock;
use crate::model::{ClockStep, HostKey, Timestamp};
use crate::rules::minutes;
use crate::rules::time_trust::{TimeTrust, TrustStep};
use crate::store::{Store, StoreError};

/// Time between two notes of the present time in the store.
const NOTE_EVERY: Duration = minutes(10);

pub(super) struct Timeline {
    clock: Arc<dyn Clock>,
    state: Mutex<TimelineState>,
    moves: watch::Sender<Moves>,
    log: Logger,
}

/// Steps of the clock whose waits are moved in memory and in the store: how many have begun, and how many are over.
#[derive(Clone, Copy, Default)]
struct Moves {
    begun: u64,
    over: u64,
}

struct TimelineState {
    /// Start of this process, by the present clock.
    started_at: Timestamp,
    last_step: Option<ClockStep>,
    /// The time from which on the clock was not set, by the present clock: the start, or the last step.
    continuous_since: Timestamp,
    /// None before the newest stored time was read.
    trust: Option<TimeTrust>,
    noted: Option<Duration>,
}

impl Timeline {
    pub(super) fn new(clock: Arc<dyn Clock>, log: Logger) -> Timeline {
        let started_at = clock.now();
        let state =
            TimelineState { started_at, last_step: None, continuous_since: started_at, trust: None, noted: None };
        Timeline { clock, state: Mutex::new(state), moves: watch::Sender::default(), log }
    }

    pub(super) fn started_at(&self) -> Timestamp {
        self.state.lock().started_at
    }

    /// The last step of the clock that this process has seen.
    pub(super) fn last_step(&self) -> Option<ClockStep> {
        self.state.lock().last_step
    }

    /// The time from which on the clock was not set, as far as this process knows.
    pub(super) fn continuous_since(&self) -> Timestamp {
        self.state.lock().continuous_since
    }

    pub(super) fn note_step(&self, step: ClockStep) {
        let mut state = self.state.lock();
        state.started_at = step.moved(state.started_at);
        (state.last_step, state.continuous_since) = (Some(step), step.to);
        drop(state);
        self.check_trust();
    }

    /// The step back that came after this time of something that has happened, if there was one: the time lies in the
    /// future by the present clock.
    pub(super) fn step_since(&self, happened_at: Timestamp) -> Option<ClockStep> {
        let now = self.clock.now();
        self.last_step().filter(|step| step.is_back() && happened_at > now && happened_at <= step.from)
    }

    /// Notes that waits are being moved. A state that is read from the store meanwhile may or may not have moved.
    pub(super) fn begin_move(&self) {
        self.moves.send_modify(|moves| moves.begun += 1);
    }

    pub(super) fn end_move(&self) {
        self.moves.send_modify(|moves| moves.over += 1);
    }

    /// Waits until no waits are being moved; returns the number of moves so far.
    pub(super) async fn until_moved(&self) -> u64 {
        match self.moves.subscribe().wait_for(|moves| moves.begun == moves.over).await {
            Ok(moves) => moves.begun,
            // The sender lives as long as `self`.
            Err(_) => std::future::pending().await,
        }
    }

    /// Number of moves that have begun.
    pub(super) fn moves_begun(&self) -> u64 {
        self.moves.borrow().begun
    }

    /// The time to judge ages by, for something that happened at this time.
    pub(super) fn ages_at(&self, now: Timestamp) -> Timestamp {
        let monotonic = self.clock.monotonic();
        self.state.lock().trust.as_ref().map_or(now, |trust| trust.ages_at(now, monotonic))
    }

    /// The time that ages are judged by while it is not the present one.
    pub(super) fn ages_judged_at(&self) -> Option<Timestamp> {
        let now = self.clock.now();
        Some(self.ages_at(now)).filter(|ages_at| *ages_at != now)
    }

    /// Reads the newest time that an earlier process trusted, if that was not done yet.
    pub(super) async fn read_trust(&self, store: &dyn Store, watch: &StoreWatch) -> Result<(), StoreError> {
        if self.state.lock().trust.is_none() {
            let newest = watch.retry_while_unavailable(|| store.trusted_time()).await?;
            let (now, monotonic) = (self.clock.now(), self.clock.monotonic());
            self.state.lock().trust.get_or_insert_with(|| TimeTrust::new(newest, now, monotonic));
        }
        self.check_trust();
        Ok(())
    }

    /// Stores the newest trusted time now and then.
    pub(super) async fn note_trusted(&self, store: &dyn Store) {
        let (now, monotonic) = (self.clock.now(), self.clock.monotonic());
        let is_due = |noted: Duration| monotonic.saturating_sub(noted) >= NOTE_EVERY;
        if !self.state.lock().noted.is_none_or(is_due) {
            return;
        }
        let newest = |trust: &TimeTrust| trust.newest_trusted(now, monotonic);
        let Some(trusted) = self.state.lock().trust.as_ref().map(newest) else { return };
        match retry_while_unavailable(|| store.note_trusted_time(trusted)).await {
            Ok(()) => self.state.lock().noted = Some(monotonic),
            Err(cause) => error!(self.log, "trusted time not stored"; "error" => %cause),
        }
    }

    /// Notes the clock of a publisher.
    pub(super) fn hear(&self, host: &HostKey, date: Timestamp, hosts_polled: usize) {
        let (now, monotonic) = (self.clock.now(), self.clock.monotonic());
        let hear = |trust: &mut TimeTrust| trust.hear(host, date, hosts_polled, now, monotonic);
        let step = self.state.lock().trust.as_mut().and_then(hear);
        self.tell(step, now);
    }

    fn check_trust(&self) {
        let (now, monotonic) = (self.clock.now(), self.clock.monotonic());
        let step = self.state.lock().trust.as_mut().and_then(|trust| trust.check(now, monotonic));
        self.tell(step, now);
    }

    fn tell(&self, step: Option<TrustStep>, now: Timestamp) {
        match step {
            Some(lost @ TrustStep::Lost { ahead }) => {
                warn!(self.log, "clock not trusted"; "ahead_seconds" => ahead.as_secs(),
                    "ages_judged_at" => %self.ages_at(now), "reason" => lost.to_string());
            }
            Some(lost @ TrustStep::Behind { behind }) => {
                warn!(self.log, "clock not trusted"; "behind_seconds" => behind.as_secs(), "reason" => lost.to_string());
            }
            Some(regained) => info!(self.log, "clock trusted again"; "reason" => regained.to_string()),
            None => {}
        }
    }
}
