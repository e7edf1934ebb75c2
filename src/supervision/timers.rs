//! The waits of one supervisor.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::Environment;

/// A wait that is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alarm {
    /// Whom it concerns.
    pub(super) id: u64,
    /// Tells it from waits that have lost their reason: it counts only if it equals the child's current ticket.
    pub(super) ticket: u64,
}

/// Waits under way. One that lost its reason stays until its time is over: there are at most as many as crashes are borne.
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
