//! The terminal: switches to the alternate screen during the demo, and back at any end.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::quit_key::Keyboard;
use super::render::Size;

/// Another screen, without a cursor and without wrapping lines.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[0m\x1b[?1049l";
/// For terminals that do not say how large they are.
const USUAL: Size = Size { columns: 80, rows: 24 };

pub(crate) struct Screen {
    is_entered: Arc<AtomicBool>,
    keyboard: Keyboard,
}

impl Screen {
    /// Switches to the alternate screen. A panic switches back before its message is printed.
    pub(crate) fn enter() -> io::Result<Screen> {
        let is_entered = Arc::new(AtomicBool::new(true));
        let keyboard = Keyboard::open();
        let of_hook = (is_entered.clone(), keyboard.clone());
        let previous = std::panic::take_hook();
        // Crashes of actors are caught and never come here.
        std::panic::set_hook(Box::new(move |info| {
            leave(&of_hook.0, &of_hook.1);
            previous(info);
        }));
        let screen = Screen { is_entered, keyboard };
        write(ENTER)?;
        Ok(screen)
    }

    pub(super) fn keyboard(&self) -> Keyboard {
        self.keyboard.clone()
    }

    /// How large it is now.
    pub(crate) fn size(&self) -> Size {
        match rustix::termios::tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                Size { columns: size.ws_col.into(), rows: size.ws_row.into() }
            }
            _ => USUAL,
        }
    }

    /// Draws these lines over what was there, in one piece so that nothing flickers.
    pub(crate) fn draw(&self, lines: &[String]) -> io::Result<()> {
        if !self.is_entered.load(Ordering::Relaxed) {
            return Ok(());
        }
        // The last line has no break behind it, which would move everything up.
        write(&format!("\x1b[H{}\x1b[K\x1b[J", lines.join("\x1b[K\r\n")))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave(&self.is_entered, &self.keyboard);
    }
}

fn leave(is_entered: &AtomicBool, keyboard: &Keyboard) {
    keyboard.restore();
    if is_entered.swap(false, Ordering::Relaxed) {
        // Ignore a closed terminal.
        let _ = write(LEAVE);
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}
