//! Catching panics: what is run inside [`guard`] can panic, in any way, without hurting its caller.
//!
//! A panic hook notes message, place and backtrace in a thread-local while a guard is active on the thread, and leaves
//! all other panics to the hook that was there before.

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Arc, Once, Weak};
use std::time::Duration;

/// Length limit of a panic message.
const MESSAGE_BYTES_MAX: usize = 1024;
/// Length limit of a backtrace as text.
const BACKTRACE_BYTES_MAX: usize = 16 * 1024;

/// Functions that code calls to panic, by the beginning of their names.
const PANIC_FUNCTIONS: [&str; 3] = ["core::panicking::", "std::panicking::begin_panic", "std::panic::panic_any"];

/// A crash of a child.
#[derive(Clone, Debug)]
pub struct Crash {
    /// The panic's message, or why the end counts as a crash. Cut after a kilobyte.
    pub message: String,
    /// File, line and column of the panic.
    pub place: Option<String>,
    /// When the crash was reported to the supervisor, by the clock of the environment.
    pub at: Duration,
    /// Where the panic came from. Only the latest crashes of a tree keep theirs. Printing resolves the names, which
    /// takes milliseconds the first time.
    pub backtrace: Option<Arc<Backtrace>>,
}

/// A crash as the guard returns it, without a time.
#[derive(Debug)]
pub(super) struct UndatedCrash {
    pub(super) message: String,
    place: Option<String>,
    pub(super) backtrace: Option<Arc<Backtrace>>,
}

/// A crash as the tree keeps it: the backtrace belongs to a bounded list elsewhere.
#[derive(Clone, Debug)]
pub(super) struct CrashRecord {
    message: String,
    place: Option<String>,
    at: Duration,
    backtrace: Weak<Backtrace>,
}

impl UndatedCrash {
    /// A failure that is no panic.
    pub(super) fn because(message: impl Into<String>) -> UndatedCrash {
        UndatedCrash { message: cut(message.into()), place: None, backtrace: None }
    }

    /// The same failure, seen from one level further up.
    pub(super) fn within(self, reason: &str) -> UndatedCrash {
        UndatedCrash { message: cut(format!("{reason}: {}", self.message)), ..self }
    }

    pub(super) fn happened_at(self, at: Duration) -> Crash {
        Crash { message: self.message, place: self.place, at, backtrace: self.backtrace }
    }
}

impl Crash {
    /// The backtrace as text, from the code that panicked outwards, cut after 16 KiB. None if the tree no longer keeps
    /// it.
    pub fn backtrace_text(&self) -> Option<String> {
        let text = self.backtrace.as_ref()?.to_string();
        Some(cut_after(without_panic_frames(&text).to_owned(), BACKTRACE_BYTES_MAX))
    }

    pub(super) fn to_record(&self) -> CrashRecord {
        CrashRecord {
            message: self.message.clone(),
            place: self.place.clone(),
            at: self.at,
            backtrace: self.backtrace.as_ref().map(Arc::downgrade).unwrap_or_default(),
        }
    }

    pub(super) fn to_fault(&self) -> UndatedCrash {
        UndatedCrash { message: self.message.clone(), place: self.place.clone(), backtrace: self.backtrace.clone() }
    }
}

impl CrashRecord {
    pub(super) fn to_crash(&self) -> Crash {
        Crash {
            message: self.message.clone(),
            place: self.place.clone(),
            at: self.at,
            backtrace: self.backtrace.upgrade(),
        }
    }
}

thread_local! {
    /// How many guards are active on this thread.
    static GUARDS: Cell<u32> = const { Cell::new(0) };
    /// The last panic while a guard was active.
    static SEEN: RefCell<Option<UndatedCrash>> = const { RefCell::new(None) };
}

/// Runs a function that may panic. The payload of the panic is dropped, too, although its destructor may panic.
pub(super) fn guard<T>(work: impl FnOnce() -> T) -> Result<T, UndatedCrash> {
    GUARDS.set(GUARDS.get() + 1);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDS.set(GUARDS.get() - 1);
    let seen = take_seen();
    outcome.map_err(|payload| {
        // A resumed panic does not call the hook.
        let fault = seen.unwrap_or_else(|| UndatedCrash::because(message_of(payload.as_ref())));
        if let Err(payload_of_drop) = panic::catch_unwind(AssertUnwindSafe(move || drop(payload))) {
            // A second payload whose destructor may panic is leaked.
            std::mem::forget(payload_of_drop);
            take_seen();
        }
        fault
    })
}

/// Threads that are ending may have lost their locals already.
fn take_seen() -> Option<UndatedCrash> {
    SEEN.try_with(RefCell::take).ok().flatten()
}

/// Puts the hook in place, once for the whole process.
pub(super) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // A panic in a hook aborts the process, so a thread whose locals are already gone is left to the other
            // hook.
            if GUARDS.try_with(Cell::get).unwrap_or(0) > 0 {
                let _ = SEEN.try_with(|seen| seen.replace(Some(see(info))));
            } else {
                previous(info);
            }
        }));
    });
}

fn see(info: &PanicHookInfo<'_>) -> UndatedCrash {
    UndatedCrash {
        message: message_of(info.payload()),
        place: info.location().map(ToString::to_string),
        backtrace: Some(Arc::new(Backtrace::force_capture())),
    }
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    cut(text.unwrap_or("panicked with a value that is not text").to_owned())
}

/// Leaves out the frames between the hook and the code that panicked, which are the same for all panics. A backtrace
/// without names, as of a program without symbols, stays as it is.
fn without_panic_frames(text: &str) -> &str {
    let mut rest = text;
    let mut has_panicked = false;
    while let Some(frame) = rest.lines().next() {
        // A frame begins with its number; the line after it names the place.
        let name = frame.trim_start().split_once(": ").map(|(_, name)| name);
        let is_panic = name.is_some_and(|name| PANIC_FUNCTIONS.iter().any(|prefix| name.starts_with(prefix)));
        if has_panicked && !is_panic && name.is_some_and(|name| !name.starts_with("core::")) {
            return rest;
        }
        has_panicked |= is_panic;
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    text
}

fn cut(message: String) -> String {
    cut_after(message, MESSAGE_BYTES_MAX)
}

fn cut_after(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        let end = (0..=bytes_max).rev().find(|index| text.is_char_boundary(*index)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    struct PanicsWhenDropped(&'static str);

    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            panic!("{}", self.0);
        }
    }

    #[test]
    fn a_panic_is_caught_with_message_place_and_backtrace() {
        install_hook();
        let fault = guard::<()>(|| panic!("number {}", 7)).unwrap_err();
        assert_eq!(fault.message, "number 7");
        assert!(fault.place.as_deref().unwrap().contains("crash.rs:"), "{:?}", fault.place);
        let backtrace = fault.backtrace.unwrap().to_string();
        assert!(backtrace.contains("a_panic_is_caught_with_message_place_and_backtrace"), "{backtrace}");
    }

    #[test]
    fn the_text_of_a_backtrace_begins_with_the_code_that_panicked() {
        install_hook();
        let crash = guard::<()>(|| panic!("here")).unwrap_err().happened_at(Duration::ZERO);
        let text = crash.backtrace_text().unwrap();
        let first = text.lines().next().unwrap();
        assert!(first.contains("the_text_of_a_backtrace_begins_with_the_code_that_panicked"), "{text}");
        assert_eq!(without_panic_frames("   0: <unknown>\n   1: <unknown>\n"), "   0: <unknown>\n   1: <unknown>\n");
    }

    #[test]
    fn the_text_of_a_deep_backtrace_is_cut() {
        fn descend(levels: usize) -> usize {
            assert!(levels > 0, "at the bottom");
            std::hint::black_box(descend(levels - 1)) + 1
        }
        install_hook();
        let crash = guard(|| descend(400)).unwrap_err().happened_at(Duration::ZERO);
        let text = crash.backtrace_text().unwrap();
        assert!(text.contains("descend") && text.ends_with('…'), "{text}");
        assert_eq!(text.len(), BACKTRACE_BYTES_MAX + "…".len());
    }

    #[test]
    fn a_payload_whose_destructor_panics_is_survived() {
        install_hook();
        let payload = || panic::panic_any(PanicsWhenDropped("in the payload"));
        assert_eq!(guard::<()>(payload).unwrap_err().message, "panicked with a value that is not text");
        // The payload's own panic is not mistaken for the next one.
        let resumed = || panic::resume_unwind(Box::new("resumed"));
        assert_eq!(guard::<()>(resumed).unwrap_err().message, "resumed");
    }

    #[test]
    fn a_panic_that_other_code_caught_is_not_reported_later() {
        install_hook();
        guard(|| panic::catch_unwind(|| panic!("an earlier one")).unwrap_err()).map(|_| ()).unwrap();
        let fault = guard::<()>(|| panic::resume_unwind(Box::new("a later one"))).unwrap_err();
        assert_eq!(fault.message, "a later one");
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        install_hook();
        let fault = guard::<()>(|| panic!("{}", "é".repeat(2_000))).unwrap_err();
        assert_eq!(fault.message.len(), MESSAGE_BYTES_MAX + "…".len());
        assert!(fault.message.ends_with("é…"));
    }

    #[test]
    fn a_panic_outside_a_guard_is_left_to_the_hook_that_was_there() {
        install_hook();
        assert!(std::thread::spawn(|| panic!("not ours")).join().is_err());
        assert!(take_seen().is_none());
        assert!(guard(|| 3).is_ok_and(|three| three == 3));
    }
}
