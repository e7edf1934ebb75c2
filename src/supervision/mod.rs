//! Supervision in the manner of Erlang/OTP, over actix: actors that panic are started again behind the same address.
//!
//! A tree is described by values ([`ChildSpec`], [`SupervisorSpec`], [`Group`]), run by a [`Root`] and read as a value
//! ([`Tree`]). An [`Inbox`] is made before its actor and outlives it: every `Addr` taken from it stays valid, and what
//! is queued survives a restart. `docs/supervision.md` states what is promised and what is not.
//!
//! This module knows nothing of feeds and uses nothing of ours: clock, dice, timers and log are handed in as an
//! [`Environment`].

mod actor_run;
mod child;
mod crash;
mod environment;
mod group;
mod group_task;
mod inbox;
mod intensity;
mod member;
mod mode;
mod root;
mod slot;
mod spec;
mod strategy;
mod supervisor;
mod thread;
mod timers;
mod tree;
mod tree_context;
mod watchdog;

pub use crash::Crash;
pub use environment::{Environment, Event, Timer};
pub use group::{Group, GroupSettings, JoinError, WhenGivenUp};
pub use inbox::Inbox;
pub use intensity::Intensity;
pub use root::{Root, RootEnd, RootHandle};
pub use spec::{ChildSpec, Restart, SupervisorSpec};
pub use thread::Thread;
pub use tree::{MailboxView, Node, NodeKind, State, ThreadState, ThreadView, Tree};
pub use watchdog::WatchdogSettings;
