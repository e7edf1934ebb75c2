//! Descriptions of children and supervisors.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context};

use super::child::{ActorCell, ActorCellParts};
use super::member::{Member, Uplink};
use super::supervisor::Supervisor;
use super::tree_context::TreeContext;
use super::{Group, Inbox, Intensity, Thread};

/// Default time limit for an actor to stop, as in OTP.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// When a child that ended is started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    /// Always: it must not end.
    #[default]
    Permanent,
    /// After a crash, but not when the child ends by itself.
    Transient,
    /// Never.
    Temporary,
}

/// One child of a supervisor: an actor, a supervisor or a group.
pub struct ChildSpec {
    pub(super) name: Box<str>,
    pub(super) restart: Restart,
    pub(super) stop_within: Option<Duration>,
    thread: Option<Thread>,
    make: Make,
}

type Make = Box<dyn FnOnce(Making<'_>) -> Arc<dyn Member>>;

/// What is known only when a child is made.
struct Making<'a> {
    name: Box<str>,
    uplink: Uplink,
    tree_context: &'a Arc<TreeContext>,
    thread: Option<Thread>,
}

impl ChildSpec {
    /// An actor that reads this inbox. The factory makes a fresh one for every start, on the actor's own thread.
    pub fn actor<A>(name: &str, inbox: &Inbox<A>, factory: impl FnMut() -> A + Send + 'static) -> ChildSpec
    where
        A: Actor<Context = Context<A>>,
    {
        let inbox = inbox.clone();
        let make = move |making: Making<'_>| -> Arc<dyn Member> {
            if let Some(thread) = &making.thread {
                making.tree_context.look_after(thread);
            }
            ActorCell::new(ActorCellParts {
                name: making.name,
                uplink: making.uplink,
                thread: making.thread,
                ends_unaddressed: false,
                factory: Box::new(factory),
                receiver: inbox.take(),
            })
        };
        ChildSpec::new(name, Some(STOP_WITHIN), make)
    }

    /// A supervisor. It has no limit for its stop: its children have theirs.
    pub fn supervisor(spec: SupervisorSpec) -> ChildSpec {
        let name = spec.name.clone();
        ChildSpec::new(&name, None, move |making| Supervisor::spawn(spec, making.uplink, making.tree_context))
    }

    /// A group of children that come and go.
    pub fn group(group: &Group) -> ChildSpec {
        let group = group.clone();
        let name = group.name().to_owned();
        ChildSpec::new(&name, None, move |making| group.spawn(making.uplink, making.tree_context))
    }

    fn new(
        name: &str,
        stop_within: Option<Duration>,
        make: impl FnOnce(Making<'_>) -> Arc<dyn Member> + 'static,
    ) -> ChildSpec {
        ChildSpec { name: name.into(), restart: Restart::default(), stop_within, thread: None, make: Box::new(make) }
    }

    /// When it is started again.
    pub fn restart(self, restart: Restart) -> ChildSpec {
        ChildSpec { restart, ..self }
    }

    /// How long it may take to stop before it is dropped.
    pub fn stop_within(self, limit: Duration) -> ChildSpec {
        ChildSpec { stop_within: Some(limit), ..self }
    }

    /// Runs an actor on this thread instead of the root's. Supervisors and groups always run on the root's.
    pub fn on(self, thread: &Thread) -> ChildSpec {
        ChildSpec { thread: Some(thread.clone()), ..self }
    }

    pub(super) fn make(self, uplink: Uplink, tree_context: &Arc<TreeContext>) -> Arc<dyn Member> {
        (self.make)(Making { name: self.name, uplink, tree_context, thread: self.thread })
    }
}

/// A supervisor with its strategy and limits.
pub struct SupervisorSpec {
    pub(super) name: Box<str>,
    pub(super) intensity: Intensity,
    pub(super) list: Box<dyn FnMut() -> Vec<ChildSpec>>,
}

impl SupervisorSpec {
    /// A supervisor of these children, in the order in which they start. The supervisor calls the function when it
    /// starts, and again if it panics, which counts as a crash. Once made, the list stays the same.
    pub fn new(name: &str, children: impl FnMut() -> Vec<ChildSpec> + 'static) -> SupervisorSpec {
        SupervisorSpec { name: name.into(), intensity: Intensity::default(), list: Box::new(children) }
    }

    /// Limits on the restarts of all its children together.
    pub fn intensity(self, intensity: Intensity) -> SupervisorSpec {
        SupervisorSpec { intensity, ..self }
    }
}
