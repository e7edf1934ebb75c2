//! The waits of one supervisor.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::Environment;

/// End of a wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alarm {
    /// Id of the child.
    pub(super) id: u64,
    /// The alarm is valid only if this equals the current ticket of the child.
    pub(super) ticket: u64,
}

/// Pending waits. An invalid one stays until its time is over; the limit on restarts bounds their number.
#[derive(Default)]
pub(super) struct Timers(FuturesUnordered<Pin<Box<dyn Future<Output = Alarm>>>>);

impl Timers {
    pub(super) fn set(&self, environment: &dyn Environment, after: Duration, alarm: Alarm) {
        let sleep = environment.sleep(after);
        self.0.push(Box::pin(async move {
            sleep.await;
            alarm
        }));
    }

    /// The next one that is over; never returns while there is none.
    pub(super) async fn next(&mut self) -> Alarm {
        match self.0.next().await {
            Some(alarm) => alarm,
            None => std::future::pending().await,
        }
    }
}
