//! Groups: many children of one kind, independent of each other, that are started on demand and end by themselves.
//!
//! Restarts are counted for each child, so that one that crashes again and again is given up without harm to its
//! siblings.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use actix::dev::channel::channel;
use actix::{Actor, Addr, Context};
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::child::{ActorCell, ActorCellParts};
use super::group_task::GroupTask;
use super::member::{ChildCommand, ChildFacts, Member, SupervisorMessage, Uplink};
use super::tree_context::TreeContext;
use super::{Intensity, MailboxView, NodeKind, Restart};

/// How many children that were given up the tree still shows.
const GIVEN_UP_SHOWN_MAX: usize = 64;

/// How a group treats its children.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupSettings {
    /// When a child that ended is started again.
    pub restart: Restart,
    /// Limits on the restarts of each child.
    pub intensity: Intensity,
    /// What happens when a child crashes more often than that.
    pub when_given_up: WhenGivenUp,
    /// The most children at once.
    pub children_max: usize,
    /// Time limit for all children together to stop.
    pub stop_within: Duration,
}

impl Default for GroupSettings {
    fn default() -> GroupSettings {
        GroupSettings {
            restart: Restart::Transient,
            intensity: Intensity::default(),
            when_given_up: WhenGivenUp::Leave,
            children_max: 1_000_000,
            stop_within: Duration::from_secs(5),
        }
    }
}

/// What follows when a child of a group has crashed too often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenGivenUp {
    /// The child is given up: its address closes, and its siblings go on.
    #[default]
    Leave,
    /// The group has failed, and its supervisor decides.
    Escalate,
}

/// Why a child could not join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// The group does not run: not yet, not now or no longer.
    #[error("the group does not run")]
    Closed,
    /// The group is full.
    #[error("the group is full")]
    Full,
}

/// A group of children that come and go. Clones are the same group; they can be used from any thread.
#[derive(Clone)]
pub struct Group(Arc<GroupCell>);

/// A group as its children, its supervisor and the tree see it.
pub(super) struct GroupCell {
    pub(super) facts: ChildFacts,
    pub(super) settings: GroupSettings,
    notes: UnboundedSender<SupervisorMessage>,
    /// Until the group is made.
    unheard: Mutex<Option<UnboundedReceiver<SupervisorMessage>>>,
    pub(super) is_open: AtomicBool,
    id_next: AtomicU64,
    pub(super) count: AtomicUsize,
    /// For the tree.
    pub(super) roster: Mutex<HashMap<u64, Arc<dyn Member>>>,
    pub(super) given_up: Mutex<VecDeque<Arc<dyn Member>>>,
}

impl Group {
    /// A group. It takes children as soon as its supervisor has started it.
    pub fn new(name: &str, settings: GroupSettings) -> Group {
        let (notes, receiver) = unbounded_channel();
        Group(Arc::new(GroupCell {
            facts: ChildFacts::new(name),
            settings,
            notes,
            unheard: Mutex::new(Some(receiver)),
            is_open: AtomicBool::new(false),
            id_next: AtomicU64::new(0),
            count: AtomicUsize::new(0),
            roster: Mutex::default(),
            given_up: Mutex::default(),
        }))
    }

    /// Name of the group.
    pub fn name(&self) -> &str {
        &self.0.facts.name
    }

    pub fn len(&self) -> usize {
        self.0.count.load(Ordering::Relaxed)
    }

    /// Whether the group has no children.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Starts a child on the calling thread, which must run actix. The child ends when it stops its own context, or
    /// when its last address is dropped and it has nothing left to do. If the thread ends, the child is restarted on
    /// the root's.
    pub fn start<A>(
        &self,
        name: &str,
        mailbox_capacity: usize,
        factory: impl FnMut() -> A + Send + 'static,
    ) -> Result<Addr<A>, JoinError>
    where
        A: Actor<Context = Context<A>>,
    {
        let group = &self.0;
        if !group.is_open.load(Ordering::Acquire) {
            return Err(JoinError::Closed);
        }
        if group.count.fetch_add(1, Ordering::AcqRel) >= group.settings.children_max {
            group.count.fetch_sub(1, Ordering::AcqRel);
            return Err(JoinError::Full);
        }
        let (sender, receiver) = channel(mailbox_capacity.max(1));
        let id = group.id_next.fetch_add(1, Ordering::Relaxed);
        let uplink = Uplink { notes: group.notes.clone(), id };
        let member = ActorCell::new(ActorCellParts {
            name: name.into(),
            uplink,
            thread: None,
            ends_unaddressed: true,
            factory: Box::new(factory),
            receiver,
        });
        if group.notes.send(SupervisorMessage::Joined(id, member.clone())).is_err() {
            return Err(JoinError::Closed);
        }
        member.order(ChildCommand::Start);
        Ok(Addr::new(sender))
    }

    /// # Panics
    /// If the group already belongs to a supervisor.
    pub(super) fn spawn(self, uplink: Uplink, tree_context: &Arc<TreeContext>) -> Arc<dyn Member> {
        let notes = self.0.unheard.lock().take().expect("a group belongs to one supervisor only");
        GroupTask::spawn(self.0.clone(), notes, uplink, tree_context);
        self.0
    }
}

impl GroupCell {
    /// Lets the tree show a child that was given up, until others take its place.
    pub(super) fn remember(&self, member: Arc<dyn Member>) {
        let mut given_up = self.given_up.lock();
        given_up.truncate(GIVEN_UP_SHOWN_MAX - 1);
        given_up.push_front(member);
    }
}

impl Member for GroupCell {
    fn order(self: Arc<Self>, order: ChildCommand) {
        let _ = self.notes.send(SupervisorMessage::Command(order));
    }

    fn facts(&self) -> &ChildFacts {
        &self.facts
    }

    fn kind(&self) -> NodeKind {
        NodeKind::Group
    }

    fn mailbox(&self) -> Option<MailboxView> {
        None
    }

    fn children(&self, children_max: usize) -> (Vec<Arc<dyn Member>>, usize) {
        let mut children: Vec<Arc<dyn Member>> = self.given_up.lock().iter().cloned().collect();
        children.extend(self.roster.lock().values().cloned());
        let total = children.len();
        children.sort_by_cached_key(|child| (std::cmp::Reverse(child.facts().restarts()), child.facts().name.clone()));
        children.truncate(children_max);
        (children, total)
    }
}
