//! The signals that the daemon acts on.

use slog::{Logger, info};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::telemetry::Telemetry;

/// A signal that the daemon acts on.
#[derive(Clone, Copy)]
pub(super) enum Received {
    Hangup,
    Interrupt,
    Terminate,
}

impl Received {
    fn name(self) -> &'static str {
        match self {
            Received::Hangup => "SIGHUP",
            Received::Interrupt => "SIGINT",
            Received::Terminate => "SIGTERM",
        }
    }
}

pub(super) struct Signals {
    hangup: Signal,
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(super) fn listen() -> std::io::Result<Signals> {
        Ok(Signals {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> Received {
        tokio::select! {
            _ = self.hangup.recv() => Received::Hangup,
            _ = self.interrupt.recv() => Received::Interrupt,
            _ = self.terminate.recv() => Received::Terminate,
        }
    }
}

/// Waits for a signal to stop; a hangup meanwhile reopens the log file.
pub(super) async fn until_told_to_stop(telemetry: &Telemetry, log: &Logger, signals: &mut Signals) {
    until_told_to_stop_or(telemetry, log, signals, || {}).await;
}

/// The same, with a custom action for a hangup.
pub(super) async fn until_told_to_stop_or(
    telemetry: &Telemetry,
    log: &Logger,
    signals: &mut Signals,
    on_hangup: impl Fn(),
) {
    loop {
        let received = signals.next().await;
        info!(log, "signal received"; "signal" => received.name());
        match received {
            Received::Hangup => {
                telemetry.handle.reopen();
                on_hangup();
            }
            Received::Interrupt | Received::Terminate => return,
        }
    }
}
