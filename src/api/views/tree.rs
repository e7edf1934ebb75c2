//! The supervision tree as it is shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Timestamp;
use crate::supervision::{Node, Tree};

/// Supervision tree.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TreeView {
    /// Root supervisor.
    pub root: TreeNode,
    /// Threads, the root's first.
    pub threads: Vec<ThreadLine>,
}

/// Supervisor or actor with its state.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TreeNode {
    /// Name of the child.
    pub name: String,
    /// Type: actor, supervisor or group.
    pub kind: String,
    /// State of the child.
    pub state: String,
    /// Number of restarts.
    pub restarts: u32,
    /// Last crash.
    pub last_crash: Option<CrashView>,
    /// Number of queued messages, up to the capacity; actors only.
    pub mailbox_depth: Option<usize>,
    /// Capacity of the mailbox; actors only.
    pub mailbox_capacity: Option<usize>,
    /// Seconds since the last start; null while not running.
    pub uptime_seconds: Option<u64>,
    /// Number of children; a group lists only some of them.
    pub children_total: usize,
    /// Children of a supervisor.
    pub children: Vec<TreeNode>,
}

/// Crash of an actor.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CrashView {
    /// Panic message.
    pub message: String,
    /// File and line of the panic.
    pub place: Option<String>,
    /// Time of the crash.
    pub at: Timestamp,
    /// Backtrace, from the code that panicked outwards, cut after 16 KiB. Only with `backtraces=true`, and only for the
    /// latest 64 crashes of the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<String>,
}

/// Thread with its state.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ThreadLine {
    /// Name of the thread.
    pub name: String,
    /// Whether the thread responds.
    pub state: String,
    /// Number of replacements.
    pub replaced: u32,
}

impl TreeView {
    /// The tree with the backtraces of the last crashes. Their names are resolved first, which takes some milliseconds
    /// for each new crash.
    pub(in crate::api) fn with_backtraces(tree: &Tree) -> TreeView {
        TreeView { root: node(&tree.root, true), ..TreeView::from(tree) }
    }
}

impl From<&Tree> for TreeView {
    fn from(tree: &Tree) -> TreeView {
        let threads = tree.threads.iter().map(|thread| ThreadLine {
            name: thread.name.clone(),
            state: thread.state.to_string(),
            replaced: thread.replaced,
        });
        TreeView { root: node(&tree.root, false), threads: threads.collect() }
    }
}

fn node(found: &Node, has_backtraces: bool) -> TreeNode {
    let crash = found.last_crash.as_ref();
    TreeNode {
        name: found.name.clone(),
        kind: found.kind.to_string(),
        state: found.state.to_string(),
        restarts: found.restarts,
        last_crash: crash.map(|crash| CrashView {
            message: crash.message.clone(),
            place: crash.place.clone(),
            at: Timestamp::EPOCH + crash.at,
            backtrace: if has_backtraces { crash.backtrace_text() } else { None },
        }),
        mailbox_depth: found.mailbox.map(|mailbox| mailbox.depth),
        mailbox_capacity: found.mailbox.map(|mailbox| mailbox.capacity),
        uptime_seconds: found.uptime.map(|uptime| uptime.as_secs()),
        children_total: found.children_total,
        children: found.children.iter().map(|child| node(child, has_backtraces)).collect(),
    }
}
