//! Several nodes on one PostgreSQL.
//!
//! - `race`: the statements of a fleet against each other
//! - `short`: three real processes with faults, in every test run
//! - `long`: more nodes, a standby and every fault, by `tests/fleet`
//! - `commands`: commands at nodes that do not own what they are about
//! - `websub`: a callback that reaches another node than its source has
//! - `fleet`: the parts of a run together: `node` (a process), `proxy` (between node and database), `server` (own
//!   PostgreSQL servers with standbys), `publisher` (what publishers see), `load` (requests for polls at every node),
//!   `readers` (cursor reader and webhook receiver), `report` (takeover times)

mod commands;
mod fleet;
mod load;
mod long;
mod node;
mod proxy;
mod publisher;
mod race;
mod readers;
mod report;
mod server;
mod short;
mod websub;
