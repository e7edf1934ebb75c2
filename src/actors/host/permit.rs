//! The wait for a request permit: the permit of the host, the pause since the last request, admission and a free slot,
//! in this order.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::HostEntry;
use crate::actors::admission::Admission;
use crate::actors::context::PipelineContext;
use crate::actors::fleet::BorrowEnd;
use crate::actors::poll::RequestPermit;
use crate::model::Timestamp;
use crate::rules::turn::{Turn, turn};

pub(in crate::actors) enum WaitEnd {
    Permitted(RequestPermit),
    /// The host takes no requests before this moment.
    Closed {
        until: Timestamp,
        because: String,
    },
    /// Our own network was down meanwhile: the polls that waited come back later (p19).
    AfterOutage,
}

#[derive(Clone, Copy)]
pub(in crate::actors) struct PermitRequest {
    /// Time that has to pass since the last request to the host.
    pub(in crate::actors) pause: Duration,
    /// Whether the poll has made a request already.
    pub(in crate::actors) has_begun: bool,
    /// Whether hold, breaker and pause of the host are ignored (p20).
    pub(in crate::actors) is_forced: bool,
    /// Whether the last poll of the source succeeded.
    pub(in crate::actors) is_healthy: bool,
}

pub(in crate::actors) async fn wait_for_permit(
    host_entry: Arc<HostEntry>,
    context: Arc<PipelineContext>,
    request: PermitRequest,
) -> WaitEnd {
    loop {
        // The host's permit comes first: requests that are made meanwhile move the end of the pause.
        let permit = host_entry.request_permit.clone().acquire_owned().await.expect("the semaphore is never closed");
        // Held until the request is over: a shard that is handed over meanwhile would let two nodes ask the host.
        let Some(claim) = context.fleet.hold_turns_of(host_entry.key.as_ref(), &context.type_settings) else {
            match borrow(&host_entry, permit, &context, request).await {
                Some(end) => return end,
                None => continue,
            }
        };
        // The shard was lost and taken again: this entry knows nothing of the requests in between, and holds none up.
        if host_entry.is_forgotten() {
            let until = context.clock.now() + context.settings.scheduler.tick;
            return WaitEnd::Closed { until, because: "another node had the host meanwhile".to_owned() };
        }
        loop {
            match decide(&host_entry, request.pause, &context) {
                _ if request.is_forced => break,
                Turn::NotBefore { until, because } => return WaitEnd::Closed { until, because: because.to_string() },
                Turn::At(moment) => context.clock.until(moment).await,
                Turn::Now => break,
            }
        }
        let mut blockers = context.admission.watch();
        let end = tokio::select! {
            biased;
            // The permit is given back: a document that has begun may need it to end, which the drain waits for.
            _ = blockers.wait_for(|blockers| blockers.is_draining), if !request.has_begun => None,
            end = admitted(host_entry.clone(), permit, &context, &request) => Some(end),
        };
        match end {
            // The shard was lost during the waits: its new owner decides.
            Some(WaitEnd::Permitted(permit)) if claim.is_lost() => {
                drop(permit);
                continue;
            }
            Some(WaitEnd::Permitted(permit)) => {
                return WaitEnd::Permitted(RequestPermit { _host_claim: Some(claim), ..permit });
            }
            Some(end) => return end,
            None => drop(claim),
        }
        let _ = blockers.wait_for(|blockers| !blockers.is_draining).await;
    }
}

/// Waits for admission and a slot, then for a turn at a host of another node; none if the host has become one of this
/// node meanwhile.
async fn borrow(
    host_entry: &Arc<HostEntry>,
    permit: OwnedSemaphorePermit,
    context: &PipelineContext,
    request: PermitRequest,
) -> Option<WaitEnd> {
    let admission = context.admission.admit(host_entry.key.as_ref(), request.is_healthy, request.has_begun).await;
    if admission == Admission::AfterOutage {
        return Some(WaitEnd::AfterOutage);
    }
    // The slot comes first: a turn that is granted has to be used at once.
    let slot = context.admission.slot().await;
    match context.fleet.borrow_turn(host_entry, request, context).await {
        BorrowEnd::Granted(turn) => Some(WaitEnd::Permitted(RequestPermit {
            host_entry: host_entry.clone(),
            _permit: Some(permit),
            _slot: slot,
            _borrowed: Some(turn),
            _host_claim: None,
        })),
        BorrowEnd::Refused { until, because } => Some(WaitEnd::Closed { until, because }),
        BorrowEnd::Owned => None,
    }
}

/// Waits for admission and a slot, with the permit of the host.
async fn admitted(
    host_entry: Arc<HostEntry>,
    permit: OwnedSemaphorePermit,
    context: &PipelineContext,
    request: &PermitRequest,
) -> WaitEnd {
    let PermitRequest { has_begun, is_healthy, .. } = *request;
    loop {
        let admission = context.admission.admit(host_entry.key.as_ref(), is_healthy, has_begun).await;
        if admission == Admission::AfterOutage {
            return WaitEnd::AfterOutage;
        }
        let slot = context.admission.slot().await;
        // Requests may have been suspended during the wait for the slot. Then it is given back: the probe that ends the
        // suspension needs one.
        if admission == Admission::AsProbe || context.admission.is_open(has_begun) {
            return WaitEnd::Permitted(RequestPermit {
                host_entry,
                _permit: Some(permit),
                _slot: slot,
                _borrowed: None,
                _host_claim: None,
            });
        }
    }
}

/// Whether the host takes a request now, after this pause.
pub(super) fn is_spaced(host_entry: &HostEntry, pause: Duration, context: &PipelineContext) -> bool {
    matches!(decide(host_entry, pause, context), Turn::Now)
}

fn decide(host_entry: &HostEntry, pause: Duration, context: &PipelineContext) -> Turn {
    let (now, policy) = (context.clock.now(), context.policy());
    match host_entry.state() {
        // Sources without a host share no server (s506).
        None => Turn::Now,
        Some(state) => {
            let (host, settings) = (host_entry.key.as_ref(), &context.type_settings);
            let begun_at = context.fleet.turns_begin_at(host, settings, context.started_at(), now);
            turn(&state, pause, begun_at, &policy, now)
        }
    }
}
