//! The tree as a plain value, to be shown.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Crash;
use super::member::Member;

/// Snapshot of a tree. Each child is read on its own, while the others go on.
#[derive(Clone, Debug)]
pub struct Tree {
    pub root: Node,
    /// The threads, the root's first.
    pub threads: Vec<ThreadView>,
}

#[derive(Clone, Debug)]
pub struct Node {
    /// The name that its spec gave it.
    pub name: String,
    /// Kind of the child.
    pub kind: NodeKind,
    /// State of the child.
    pub state: State,
    /// Number of restarts since the tree began.
    pub restarts: u32,
    /// The last crash, if there ever was one.
    pub last_crash: Option<Crash>,
    /// Actors only.
    pub mailbox: Option<MailboxView>,
    /// Time since its start, if the child is up.
    pub uptime: Option<Duration>,
    /// In the order in which they start; in a group those with most restarts first if not all are here.
    pub children: Vec<Node>,
    /// Number of all children, also those that the snapshot leaves out.
    pub children_total: usize,
}

/// What a node of the tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum NodeKind {
    Actor,
    /// A supervisor with a fixed list of children.
    Supervisor,
    /// A group of children that come and go.
    Group,
}

/// State of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum State {
    /// Not started yet.
    Waiting,
    Starting,
    Up,
    /// Crashed, and waiting for its restart. Its messages wait, too.
    #[strum(serialize = "waiting to restart")]
    Delayed,
    Stopping,
    /// Stopped by its supervisor. Its messages wait.
    Stopped,
    /// Ended by itself.
    Ended,
    /// Crashed too often, or once if it is temporary; not started again.
    #[strum(serialize = "given up")]
    GivenUp,
    /// Did not stop, not even by force: its thread is blocked.
    Abandoned,
}

/// Mailbox of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailboxView {
    /// Number of waiting messages, counted up to the capacity.
    pub depth: usize,
    /// Messages that may wait before `send` waits and `try_send` refuses. `do_send` does neither.
    pub capacity: usize,
}

/// A thread of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadView {
    /// Name of the thread.
    pub name: String,
    /// State of the thread.
    pub state: ThreadState,
    /// Number of times that it was replaced by a new one.
    pub replaced: u32,
}

/// State of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadState {
    /// No child has needed it yet, or the tree has ended.
    NotStarted,
    /// The thread answers the watchdog.
    Responsive,
    /// The thread does not answer: something on it blocks.
    Blocked {
        /// Time without an answer, in steps of the watchdog's interval.
        silent: Duration,
    },
    /// The thread has ended. It is replaced as soon as one of its children is started again.
    Gone,
}

impl Node {
    pub(super) fn read(member: &Arc<dyn Member>, now: Duration, children_max: usize) -> Node {
        let facts = member.facts();
        let changing = facts.read();
        let (children, children_total) = member.children(children_max);
        Node {
            name: facts.name.to_string(),
            kind: member.kind(),
            state: changing.state,
            restarts: changing.restarts(),
            last_crash: changing.last_crash.map(|record| record.to_crash()),
            mailbox: member.mailbox(),
            uptime: (changing.state == State::Up).then(|| now.saturating_sub(changing.since)),
            children: children.iter().map(|child| Node::read(child, now, children_max)).collect(),
            children_total,
        }
    }

    /// The first node with this name, this one included.
    pub fn find(&self, name: &str) -> Option<&Node> {
        if self.name == name {
            return Some(self);
        }
        self.children.iter().find_map(|child| child.find(name))
    }

    fn write(&self, formatter: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        write!(formatter, "{:indent$}{}: {}", "", self.name, self.state, indent = 2 * depth)?;
        if let Some(uptime) = self.uptime {
            write!(formatter, " for {} s", uptime.as_secs())?;
        }
        if let Some(mailbox) = self.mailbox {
            write!(formatter, ", {} of {} messages", mailbox.depth, mailbox.capacity)?;
        }
        if self.restarts > 0 {
            write!(formatter, ", {} restarts", self.restarts)?;
        }
        if let Some(crash) = &self.last_crash {
            let message = crash.message.lines().next().unwrap_or_default();
            write!(formatter, ", last crash: {message}")?;
            if let Some(place) = &crash.place {
                write!(formatter, " ({place})")?;
            }
        }
        writeln!(formatter)?;
        for child in &self.children {
            child.write(formatter, depth + 1)?;
        }
        let hidden = self.children_total.saturating_sub(self.children.len());
        if hidden > 0 {
            writeln!(formatter, "{:indent$}and {hidden} more", "", indent = 2 * (depth + 1))?;
        }
        Ok(())
    }
}

impl fmt::Display for Tree {
    /// One line per child, then one per thread.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.write(formatter, 0)?;
        for thread in &self.threads {
            write!(formatter, "thread {}: {}", thread.name, thread.state)?;
            if thread.replaced > 0 {
                write!(formatter, ", replaced {} times", thread.replaced)?;
            }
            writeln!(formatter)?;
        }
        Ok(())
    }
}

impl fmt::Display for ThreadState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThreadState::NotStarted => formatter.write_str("not started"),
            ThreadState::Responsive => formatter.write_str("responsive"),
            ThreadState::Blocked { silent } => write!(formatter, "blocked for {} s", silent.as_secs()),
            ThreadState::Gone => formatter.write_str("gone"),
        }
    }
}
