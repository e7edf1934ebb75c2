//! Makes this process a node of the fleet of its database, if the database can have several.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use slog::Logger;

use super::DaemonError;
use crate::actors::{Fleet, FleetSettings, NodeSettings};
use crate::clock::Clock;
use crate::config::Effective;
use crate::store::{FleetStore, Store};

/// Settings that may differ between nodes.
const OWN_SECTIONS: [&str; 5] = ["api.", "database.", "fetch.", "fleet.", "logging."];
const OWN_KEYS: [&str; 3] = ["http.user-agent", "http.proxy", "websub.listen"];

/// What a node holds while it runs.
pub(super) struct NodeMembership {
    pub(super) fleet: Fleet,
    /// The system releases it when the process ends, however it ends.
    _lock: Option<UnixListener>,
}

/// Joins the fleet of the store; a process that shares its store with no other is alone.
pub(super) async fn join(
    store: &Arc<dyn Store>,
    settings: &FleetSettings,
    shared_settings: String,
    clock: &Arc<dyn Clock>,
    log: &Logger,
) -> Result<NodeMembership, DaemonError> {
    let Some(fleet_store) = store.fleet() else {
        return Ok(NodeMembership { fleet: Fleet::alone(), _lock: None });
    };
    let name = node_name(settings);
    let lock = lock(fleet_store.as_ref(), &name).await?;
    let node = NodeSettings {
        name,
        boot: boot(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        settings: shared_settings,
        lease: settings.lease,
    };
    let fleet = Fleet::join(fleet_store, node, clock.clone(), log).await?;
    Ok(NodeMembership { fleet, _lock: Some(lock) })
}

/// A name that one process at a time can have in this place: an abstract socket, which ends with the process. So an
/// earlier run under this name is known to be over.
async fn lock(store: &dyn FleetStore, name: &str) -> Result<UnixListener, DaemonError> {
    let place = hex(&format!("{} {name}", store.place().await?));
    let address = SocketAddr::from_abstract_name(format!("feedwarden-node-{place}")).map_err(DaemonError::NodeLock)?;
    UnixListener::bind_addr(&address).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => DaemonError::NodeRuns { name: name.to_owned() },
        _ => DaemonError::NodeLock(error),
    })
}

/// The same for all processes that can see each other's abstract sockets.
fn boot() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let network = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    format!("{} {}", boot.trim(), network.display())
}

/// The name of this process among nodes.
pub(super) fn node_name(settings: &FleetSettings) -> String {
    settings.name.clone().unwrap_or_else(host_name)
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Hash of the settings that all nodes should share.
pub(super) fn shared_settings(effective: &Effective) -> String {
    let is_shared =
        |key: &str| !OWN_SECTIONS.iter().any(|section| key.starts_with(section)) && !OWN_KEYS.contains(&key);
    let lines =
        effective.shown().filter(|shown| is_shared(shown.key)).map(|shown| format!("{}={}", shown.key, shown.value));
    hex(&lines.collect::<Vec<_>>().join("\n"))
}

fn hex(text: &str) -> String {
    Sha256::digest(text.as_bytes())[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}
