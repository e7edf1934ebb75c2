//! The key `q`, which ends a live view. The terminal passes keys on at once and does not show them meanwhile; Ctrl-C stays
//! a signal.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use tokio::sync::Notify;

/// How long a read waits for a key, in tenths of a second, and the pause after a read without one: a terminal that is
/// gone answers at once.
const READ_DECISECONDS: u8 = 1;
const PAUSE: Duration = Duration::from_millis(50);

/// The keyboard while a live view is shown. Clones share it.
#[derive(Clone)]
pub(super) struct Keyboard {
    /// How the terminal was before; none once it is restored.
    before: Arc<Mutex<Option<Termios>>>,
    is_read: Arc<AtomicBool>,
    pressed: Arc<Notify>,
}

impl Keyboard {
    /// Begins to read keys, if standard input is a terminal and this process is not in its background, where it would be
    /// stopped for it.
    pub(super) fn open() -> Keyboard {
        let keyboard = Keyboard { before: Arc::default(), is_read: Arc::default(), pressed: Arc::default() };
        let input = io::stdin();
        let is_background = tcgetpgrp(&input).is_ok_and(|group| group != rustix::process::getpgrp());
        if !input.is_terminal() || is_background {
            return keyboard;
        }
        let Ok(before) = tcgetattr(&input) else { return keyboard };
        let mut raw = before.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = READ_DECISECONDS;
        *keyboard.before.lock() = Some(before);
        if tcsetattr(&input, OptionalActions::Now, &raw).is_err() {
            *keyboard.before.lock() = None;
            return keyboard;
        }
        keyboard.is_read.store(true, Ordering::Relaxed);
        let reader = keyboard.clone();
        // Without a thread there is no key; Ctrl-C still works.
        let _ = std::thread::Builder::new().name("keyboard".into()).spawn(move || reader.read());
        keyboard
    }

    /// Waits for `q`; for ever without a keyboard.
    pub(super) async fn quit(&self) {
        self.pressed.notified().await;
    }

    /// Makes the terminal as it was.
    pub(super) fn restore(&self) {
        self.is_read.store(false, Ordering::Relaxed);
        if let Some(before) = self.before.lock().take() {
            // Ignore a closed terminal.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
        }
    }

    fn read(&self) {
        let mut keys = [0; 64];
        while self.is_read.load(Ordering::Relaxed) {
            match rustix::io::read(io::stdin(), &mut keys) {
                Ok(0) => std::thread::sleep(PAUSE),
                Ok(length) if keys[..length].iter().any(|key| matches!(key, b'q' | b'Q')) => self.pressed.notify_one(),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}
