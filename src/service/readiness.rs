//! Notes with an event that the daemon has stopped to be ready.

use std::time::Duration;

use slog::warn;

use super::Service;
use crate::model::{EventType, NewEvent};

/// Time between two checks. What is over at the next one has no event.
const CHECK_EVERY: Duration = Duration::from_secs(15);

impl Service {
    /// Checks the readiness without end. The event of a time without a store is stored when the store is back, with the
    /// time at which it began.
    pub async fn watch_readiness(self) {
        let (mut checks, mut is_told, mut untold) = (0_u32, false, None);
        loop {
            self.clock.until(self.now() + CHECK_EVERY).await;
            let scheduler = self.pipeline.scheduler_status().await;
            let reasons = self.not_ready_because(scheduler.as_ref()).await;
            if reasons.is_empty() {
                (checks, is_told) = (0, false);
            } else {
                checks += 1;
            }
            if checks >= 2 && !is_told {
                is_told = true;
                let event = NewEvent {
                    node: self.pipeline.fleet().name().map(str::to_owned),
                    reason: Some(reasons.join("; ")),
                    ..NewEvent::new(EventType::DaemonNotReady, self.now())
                };
                warn!(self.pipeline.log(), "daemon not ready"; "reason" => event.reason.as_deref());
                untold = Some(event);
            }
            if let Some(event) = untold.take() {
                match self.pipeline.store().add_events(vec![event.clone()]).await {
                    Ok(()) => self.pipeline.events().note_arrival(),
                    Err(_) => untold = Some(event),
                }
            }
        }
    }
}
