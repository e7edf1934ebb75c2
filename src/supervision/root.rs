//! The root: runs a tree, and returns how it ended.

use std::sync::{Arc, OnceLock};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::crash::{UndatedCrash, install_hook};
use super::member::{ChildCommand, ChildReport, Member, SupervisorMessage, Uplink};
use super::tree_context::TreeContext;
use super::watchdog::Watchdog;
use super::{ChildSpec, Crash, Environment, Node, State, SupervisorSpec, Thread, Tree, WatchdogSettings};

/// How a tree ended.
#[derive(Clone, Debug)]
pub enum RootEnd {
    /// The tree was stopped.
    Stopped,
    /// The root supervisor failed. All children were stopped in order.
    Escalated(Crash),
}

impl RootEnd {
    /// The exit code of a process whose tree failed: `EX_SOFTWARE` of sysexits.h, an internal software error.
    pub const ESCALATED_EXIT_CODE: u8 = 70;
}

/// A tree that is ready to run.
pub struct Root {
    spec: SupervisorSpec,
    watchdog: WatchdogSettings,
    handle: RootHandle,
    notes: UnboundedReceiver<SupervisorMessage>,
}

/// Reads and stops a tree, from any thread.
#[derive(Clone)]
pub struct RootHandle {
    tree_context: Arc<TreeContext>,
    member: Arc<OnceLock<Arc<dyn Member>>>,
    notes: UnboundedSender<SupervisorMessage>,
    watchdog: WatchdogSettings,
}

impl Root {
    /// A tree below this supervisor.
    pub fn new(spec: SupervisorSpec, environment: Arc<dyn Environment>) -> Root {
        Root::watched(spec, environment, WatchdogSettings::default())
    }

    /// Sets the intervals of the watchdog.
    pub fn watched(spec: SupervisorSpec, environment: Arc<dyn Environment>, watchdog: WatchdogSettings) -> Root {
        let (sender, notes) = unbounded_channel();
        let handle =
            RootHandle { tree_context: TreeContext::new(environment), member: Arc::default(), notes: sender, watchdog };
        Root { spec, watchdog, handle, notes }
    }

    /// Handle to read and stop the tree.
    pub fn handle(&self) -> RootHandle {
        self.handle.clone()
    }

    /// Runs the tree until it is stopped or fails; on the thread of an actix system. The panics of supervised code no
    /// longer reach the panic hook of the process: they become crashes in the tree.
    ///
    /// Dropping the future drops the whole tree at once.
    pub async fn run(self) -> RootEnd {
        install_hook();
        let Root { spec, watchdog, handle, mut notes } = self;
        let tree_context = handle.tree_context.clone();
        tree_context.look_after(&Thread::of_root());
        let _watchdog = Watchdog::start(tree_context.clone(), watchdog);
        let uplink = Uplink { notes: handle.notes.clone(), id: 0 };
        let member = ChildSpec::supervisor(spec).make(uplink, &tree_context);
        let _ = handle.member.set(member.clone());
        let closing = Closing { member, tree_context };
        closing.enter(State::Starting);
        closing.order(ChildCommand::Start);
        loop {
            match notes.recv().await {
                Some(SupervisorMessage::Command(order)) => {
                    closing.enter(State::Stopping);
                    closing.order(order);
                }
                Some(SupervisorMessage::Report(_, ChildReport::Started)) => closing.enter(State::Up),
                // A tree that is stopped while it fails has failed.
                Some(SupervisorMessage::Report(_, ChildReport::Crashed(fault) | ChildReport::Stopped(Some(fault)))) => {
                    return closing.escalate(fault);
                }
                Some(SupervisorMessage::Report(_, ChildReport::Stopped(None) | ChildReport::Ended)) | None => {
                    closing.enter(State::Stopped);
                    return RootEnd::Stopped;
                }
                Some(SupervisorMessage::Joined(..)) => {}
            }
        }
    }
}

impl RootHandle {
    /// The tree as it is now, with at most so many children of each group; nothing before it runs.
    pub fn tree(&self, children_max: usize) -> Option<Tree> {
        let root = Node::read(self.member.get()?, self.tree_context.now(), children_max);
        let view = |thread: &Thread| thread.view(self.watchdog.interval, self.watchdog.missed_max);
        Some(Tree { root, threads: self.tree_context.threads().iter().map(view).collect() })
    }

    /// Stops all children in the reverse order of their start, each within its limit.
    pub fn stop(&self) {
        let _ = self.notes.send(SupervisorMessage::Command(ChildCommand::Stop));
    }

    /// Drops all children at once.
    pub fn kill(&self) {
        let _ = self.notes.send(SupervisorMessage::Command(ChildCommand::Kill));
    }
}

/// Whatever ends the run, the mailboxes are closed and the threads end.
struct Closing {
    member: Arc<dyn Member>,
    tree_context: Arc<TreeContext>,
}

impl Closing {
    fn order(&self, order: ChildCommand) {
        self.member.clone().order(order);
    }

    fn enter(&self, state: State) {
        self.member.facts().enter(state, self.tree_context.now());
    }

    fn escalate(&self, fault: UndatedCrash) -> RootEnd {
        let crash = self.tree_context.record(fault);
        self.member.facts().note_crash(&crash);
        self.enter(State::GivenUp);
        RootEnd::Escalated(crash)
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.order(ChildCommand::Close);
        // The first thread is the root's own.
        for thread in self.tree_context.threads().iter().skip(1) {
            thread.end();
        }
    }
}
