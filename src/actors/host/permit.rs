//! The wait for a request permit: the permit of the host, the pause since the last request, admission and a free slot,
//! in this order.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::HostEntry;
use crate::actors::admission::Admission;
use crate::actors::context::PipelineContext;
use crate::actors::fleet::{BorrowEnd, ShardClaim};
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
        let Some(claim) = context.fleet.claim_host(host_entry.key.as_ref(), &context.type_settings) else {
            return borrow(host_entry, permit, &context, request).await;
        };
        loop {
            match decide(&host_entry, request.pause, &context) {
                _ if request.is_forced => break,
                Turn::NotBefore { until, because } => return WaitEnd::Closed { until, because: because.to_string() },
                Turn::At(moment) => context.clock.until(moment).await,
                Turn::Now => break,
            }
        }
        if request.has_begun {
            match admitted(host_entry.clone(), permit, claim, &context, &request).await {
                WaitEnd::Permitted(permit) if permit.is_lost() => continue,
                end => return end,
            }
        }
        let mut blockers = context.admission.watch();
        tokio::select! {
            biased;
            // The permit is given back: a document that has begun may need it to end, which the drain waits for.
            _ = blockers.wait_for(|blockers| blockers.is_draining) => {}
            end = admitted(host_entry.clone(), permit, claim, &context, &request) => match end {
                WaitEnd::Permitted(permit) if permit.is_lost() => continue,
                end => return end,
            },
        }
        let _ = blockers.wait_for(|blockers| !blockers.is_draining).await;
    }
}

/// Waits for a turn at a host of another node, then for admission and a slot.
async fn borrow(
    host_entry: Arc<HostEntry>,
    permit: OwnedSemaphorePermit,
    context: &PipelineContext,
    request: PermitRequest,
) -> WaitEnd {
    let admission = context.admission.admit(host_entry.key.as_ref(), request.is_healthy, request.has_begun).await;
    if admission == Admission::AfterOutage {
        return WaitEnd::AfterOutage;
    }
    // The slot comes first: a turn that is granted has to be used at once.
    let slot = context.admission.slot().await;
    match context.fleet.borrow_turn(&host_entry, request, context).await {
        BorrowEnd::Granted(turn) => WaitEnd::Permitted(RequestPermit {
            host_entry,
            _permit: Some(permit),
            _slot: slot,
            claim: None,
            _borrowed: Some(turn),
        }),
        BorrowEnd::Refused { until, because } => WaitEnd::Closed { until, because },
    }
}

/// Waits for admission and a slot, with the permit of the host.
async fn admitted(
    host_entry: Arc<HostEntry>,
    permit: OwnedSemaphorePermit,
    claim: ShardClaim,
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
                claim: Some(claim),
                _borrowed: None,
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
