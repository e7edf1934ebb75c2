//! What a supervisor and its children have to say to each other, whatever the child is: an actor, a supervisor, a group.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedSender;

use super::crash::{Crash, CrashRecord, Fault};
use super::{Kind, MailboxView, State};

/// What a supervisor tells a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Start, with a fresh actor. Answered by `Started` or `Crashed`.
    Start,
    /// Stop in good order, and keep the mailbox. Answered by `Stopped`.
    Stop,
    /// Drop everything but the mailbox at once. Answered by `Stopped`.
    Kill,
    /// Never run again: drop the mailbox, too. Not answered.
    Close,
}

/// What a child tells its supervisor. A child that has reported a crash or its end does nothing until it is told to.
#[derive(Debug)]
pub(super) enum Report {
    Started,
    /// It stopped by its own wish.
    Ended,
    Crashed(Fault),
    /// It stopped because it was told to; perhaps with a crash on the way.
    Stopped(Option<Fault>),
}

/// One note in the queue of a supervisor. The queue is unbounded but short: a child has one report under way at a time.
pub(super) enum Note {
    Order(Order),
    Report(u64, Report),
    /// A group has a new child.
    Joined(u64, Arc<dyn Member>),
}

/// The way from a child to its supervisor.
#[derive(Clone)]
pub(super) struct Uplink {
    pub(super) notes: UnboundedSender<Note>,
    pub(super) id: u64,
}

impl Uplink {
    pub(super) fn report(&self, report: Report) {
        // Nobody listens when the tree itself is being dropped.
        let _ = self.notes.send(Note::Report(self.id, report));
    }
}

/// A child as its supervisor and the tree see it.
pub(super) trait Member: Send + Sync {
    fn order(self: Arc<Self>, order: Order);
    fn facts(&self) -> &Facts;
    fn kind(&self) -> Kind;
    fn mailbox(&self) -> Option<MailboxView>;
    /// The children to be shown, those with most restarts first if there are more than `children_max`; and how many there
    /// are.
    fn children(&self, children_max: usize) -> (Vec<Arc<dyn Member>>, usize);
}

/// What the tree shows of a child, written by its supervisor.
pub(super) struct Facts {
    pub(super) name: Box<str>,
    changing: Mutex<Changing>,
}

#[derive(Clone)]
pub(super) struct Changing {
    pub(super) state: State,
    pub(super) since: Duration,
    starts: u32,
    pub(super) last_crash: Option<Box<CrashRecord>>,
}

impl Facts {
    pub(super) fn new(name: &str) -> Facts {
        let changing = Changing { state: State::Waiting, since: Duration::ZERO, starts: 0, last_crash: None };
        Facts { name: name.into(), changing: Mutex::new(changing) }
    }

    pub(super) fn read(&self) -> Changing {
        self.changing.lock().clone()
    }

    pub(super) fn restarts(&self) -> u32 {
        self.changing.lock().restarts()
    }

    pub(super) fn enter(&self, state: State, now: Duration) {
        let mut changing = self.changing.lock();
        changing.state = state;
        changing.since = now;
        if state == State::Starting {
            changing.starts = changing.starts.saturating_add(1);
        }
    }

    pub(super) fn note_crash(&self, crash: &Crash) {
        self.changing.lock().last_crash = Some(Box::new(crash.to_record()));
    }
}

impl Changing {
    pub(super) fn restarts(&self) -> u32 {
        self.starts.saturating_sub(1)
    }
}
