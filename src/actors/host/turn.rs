//! Waiting for a request to a host: the host's permit, the pause since the last request, admission and a free slot, in
//! this order.

use std::sync::Arc;
use std::time::Duration;

use super::super::admission::Admission;
use super::super::context::PipelineContext;
use super::super::host_table::HostEntry;
use super::super::poll::Turn;
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
pub(super) async fn wait_for_turn(
    host_entry: Arc<HostEntry>,
    context: Arc<PipelineContext>,
    waiting: Waiting,
) -> Granted {
    let Waiting { pause, has_begun, is_forced } = waiting;
    // First the permit: what is asked meanwhile moves the end of the pause.
    let request_permit =
        host_entry.request_permit.clone().acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match decide(&host_entry, pause, &context) {
            _ if is_forced => break,
            turn::Turn::NotBefore { until, because } => return Granted::Closed { until, because: because.to_string() },
            turn::Turn::At(moment) => context.clock.until(moment).await,
            turn::Turn::Now => break,
        }
    }
    let mut admission = context.admission.admit(host_entry.key.as_ref(), has_begun).await;
    let slot = context.admission.slot().await;
    if admission == Admission::Open {
        // Requests may have been suspended while a slot was waited for.
        admission = context.admission.admit(host_entry.key.as_ref(), has_begun).await;
    }
    match admission {
        Admission::AfterOutage => Granted::AfterOutage,
        Admission::Open | Admission::AsProbe => {
            Granted::Turn(Turn { host_entry, _permit: request_permit, _slot: slot })
        }
    }
}

/// Whether the host has had this pause.
pub(super) fn is_spaced(host_entry: &HostEntry, pause: Duration, context: &PipelineContext) -> bool {
    matches!(decide(host_entry, pause, context), turn::Turn::Now)
}

fn decide(host_entry: &HostEntry, pause: Duration, context: &PipelineContext) -> turn::Turn {
    let (now, policy) = (context.clock.now(), context.policy());
    let state = host_entry.change(|state| {
        turn::clamp_future_times(state, &policy, now);
    });
    match state {
        // Sources without a host share no server with anybody (s506).
        None => turn::Turn::Now,
        Some(state) => turn::turn(&state, pause, context.started_at, &policy, now),
    }
}
