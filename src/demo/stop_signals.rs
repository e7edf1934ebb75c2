//! Signals that end a demo.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

pub(super) struct StopSignals {
    signals: [Signal; 4],
}

impl StopSignals {
    pub(super) fn listen() -> io::Result<StopSignals> {
        let hear = |kind| signal(kind);
        Ok(StopSignals {
            signals: [
                hear(SignalKind::interrupt())?,
                hear(SignalKind::terminate())?,
                hear(SignalKind::hangup())?,
                hear(SignalKind::quit())?,
            ],
        })
    }

    pub(super) async fn next(&mut self) {
        let [interrupt, terminate, hangup, quit] = &mut self.signals;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = quit.recv() => {}
        }
    }
}
