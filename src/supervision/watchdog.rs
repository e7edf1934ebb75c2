//! Notices threads that are blocked or gone. Runs on a thread of its own, since any other may be the blocked one, and
//! needs no clock: it counts its own rounds.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::tree_context::TreeContext;
use super::{Event, ThreadState};

/// Intervals of the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogSettings {
    /// Time between two heartbeats of every thread.
    pub interval: Duration,
    /// Intervals without an answer after which a thread counts as blocked.
    pub missed_max: u32,
}

impl Default for WatchdogSettings {
    fn default() -> WatchdogSettings {
        WatchdogSettings { interval: Duration::from_secs(1), missed_max: 5 }
    }
}

/// Watches until it is dropped.
pub(super) struct Watchdog {
    /// Closing the channel ends the thread within one round.
    _until_dropped: Sender<()>,
}

impl Watchdog {
    /// Starts no watchdog if no thread can be started; the tree works without it.
    pub(super) fn start(tree_context: Arc<TreeContext>, settings: WatchdogSettings) -> Option<Watchdog> {
        let (sender, receiver) = channel::<()>();
        let watch = move || {
            let mut troubled = HashMap::new();
            while receiver.recv_timeout(settings.interval) == Err(RecvTimeoutError::Timeout) {
                round(&tree_context, settings, &mut troubled);
            }
        };
        std::thread::Builder::new().name("watchdog".to_owned()).spawn(watch).ok()?;
        Some(Watchdog { _until_dropped: sender })
    }
}

/// Checks every thread, and reports what has changed since the last round. `troubled` holds the position of each thread
/// that was reported, and whether as gone.
fn round(tree_context: &TreeContext, settings: WatchdogSettings, troubled: &mut HashMap<usize, bool>) {
    for (index, thread) in tree_context.threads().iter().enumerate() {
        thread.beat();
        let name = thread.name();
        match thread.view(settings.interval, settings.missed_max).state {
            ThreadState::Blocked { silent } => {
                if troubled.insert(index, false).is_none() {
                    tree_context.observe(&Event::ThreadBlocked { name, silent });
                }
            }
            ThreadState::Gone => {
                if troubled.insert(index, true) != Some(true) {
                    tree_context.observe(&Event::ThreadGone { name });
                }
            }
            ThreadState::Responsive | ThreadState::NotStarted => {
                if troubled.remove(&index).is_some() {
                    tree_context.observe(&Event::ThreadRecovered { name });
                }
            }
        }
    }
}
