//! Signals and the key that end a demo or another live view.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::quit_key::Keyboard;
use super::screen::Screen;

pub(crate) struct StopSignals {
    signals: [Signal; 4],
    keyboard: Option<Keyboard>,
}

impl StopSignals {
    pub(crate) fn listen() -> io::Result<StopSignals> {
        let hear = |kind| signal(kind);
        Ok(StopSignals {
            signals: [
                hear(SignalKind::interrupt())?,
                hear(SignalKind::terminate())?,
                hear(SignalKind::hangup())?,
                hear(SignalKind::quit())?,
            ],
            keyboard: None,
        })
    }

    /// Lets the key `q` of this screen end the view, too.
    pub(crate) fn add_quit_key(&mut self, screen: &Screen) {
        self.keyboard = Some(screen.keyboard());
    }

    pub(crate) async fn next(&mut self) {
        let [interrupt, terminate, hangup, quit] = &mut self.signals;
        let keyboard = &self.keyboard;
        let key = async {
            match keyboard {
                Some(keyboard) => keyboard.quit().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = key => {}
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = quit.recv() => {}
        }
    }
}
