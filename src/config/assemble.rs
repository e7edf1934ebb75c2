//! Fills the settings structs from the effective values, and finds errors that no single value shows.

use std::path::PathBuf;

use super::effective::Effective;
use super::problem::ConfigProblem;
use super::sections;
use super::settings::Settings;

/// Default directories for paths that no key sets.
#[derive(Clone, Debug, Default)]
pub(super) struct Directories {
    /// For files that survive a reboot.
    pub(super) state: Option<PathBuf>,
    /// For sockets; emptied by a reboot.
    pub(super) runtime: Option<PathBuf>,
}

/// Fills the settings. They are valid only if no problem was added.
pub(super) fn assemble(values: &Effective, directories: &Directories, problems: &mut Vec<ConfigProblem>) -> Settings {
    let store = sections::store(values, directories.state.as_deref(), problems);
    let socket = sections::socket(values, directories, &store.engine);
    let api = sections::api(values, socket, problems);
    Settings {
        policy: sections::policy(values),
        pipeline: sections::pipeline(values),
        drain: sections::drain(values),
        http: sections::http(values),
        types: sections::types(values),
        store,
        accepts_unreadable_secrets: sections::accepts_unreadable_secrets(values),
        fleet: sections::fleet(values),
        log: sections::log(values),
        api,
    }
}
