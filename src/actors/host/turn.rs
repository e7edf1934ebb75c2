//! Whose turn it is to be asked: the gate, the pause since the last request, the lights and a free slot, in this order.

use std::sync::Arc;
use std::time::Duration;

use super::super::host_table::Seat;
use super::super::poll::Turn;
use super::super::surroundings::Surroundings;
use super::super::traffic::Passed;
use crate::model::Timestamp;
use crate::rules::turn;

/// What waiting for a turn ended with.
pub(super) enum Granted {
    /// The host may be asked.
    Turn(Turn),
    /// Not before this moment, whoever asks.
    Closed { until: Timestamp, because: String },
    /// Our own network was down meanwhile: whoever waited comes back later (p19).
    AfterOutage,
}

/// Who waits.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    /// The pause that the host is to have had.
    pub(super) pause: Duration,
    /// Whether the poll is half done.
    pub(super) has_begun: bool,
    /// Whether a person said that it is to be done whatever the host asked for (p20).
    pub(super) is_forced: bool,
}

/// Waits until the host may be asked.
pub(super) async fn wait_for_turn(seat: Arc<Seat>, around: Arc<Surroundings>, waiting: Waiting) -> Granted {
    let Waiting { pause, has_begun, is_forced } = waiting;
    // First the gate: what is asked meanwhile moves the end of the pause.
    let gate = seat.gate.clone().acquire_owned().await.expect("the gate is never closed");
    loop {
        match decide(&seat, pause, &around) {
            _ if is_forced => break,
            turn::Turn::NotBefore { until, because } => return Granted::Closed { until, because: because.to_string() },
            turn::Turn::At(moment) => around.clock.until(moment).await,
            turn::Turn::Now => break,
        }
    }
    let mut passed = around.traffic.pass(seat.key.as_ref(), has_begun).await;
    let slot = around.traffic.slot().await;
    if passed == Passed::Green {
        // The lights may have turned red while a slot was waited for.
        passed = around.traffic.pass(seat.key.as_ref(), has_begun).await;
    }
    match passed {
        Passed::AfterOutage => Granted::AfterOutage,
        Passed::Green | Passed::AsProbe => Granted::Turn(Turn { seat, _gate: gate, _slot: slot }),
    }
}

/// Whether the host has had this pause.
pub(super) fn is_spaced(seat: &Seat, pause: Duration, around: &Surroundings) -> bool {
    matches!(decide(seat, pause, around), turn::Turn::Now)
}

fn decide(seat: &Seat, pause: Duration, around: &Surroundings) -> turn::Turn {
    let (now, policy) = (around.clock.now(), around.policy());
    let state = seat.change(|state| {
        turn::believe(state, &policy, now);
    });
    match state {
        // Sources without a host share no server with anybody (s506).
        None => turn::Turn::Now,
        Some(state) => turn::turn(&state, pause, around.started_at, &policy, now),
    }
}
