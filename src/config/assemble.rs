//! Fills the settings structs from the effective values, and finds errors that no single value shows.

use std::path::PathBuf;

use super::directories::Directories;
use super::effective::Effective;
use super::problem::ConfigProblem;
use super::sections;
use super::settings::Settings;

/// Fills the settings, and says what the operator should know. They are valid only if no problem was added.
pub(super) fn assemble(
    values: &Effective,
    directories: &Directories,
    problems: &mut Vec<ConfigProblem>,
) -> (Settings, Vec<String>) {
    let mut notices = Vec::new();
    let store = sections::store(values, directories, problems, &mut notices);
    let socket = sections::socket(values, directories, &store.engine);
    let uses = |directory: &&PathBuf| socket.starts_with(directory) || store.engine.is_in(directory);
    let user_state = directories.user_state.as_ref().filter(uses).cloned();
    let api = sections::api(values, socket, problems);
    let settings = Settings {
        user_state,
        policy: sections::policy(values, problems),
        pipeline: sections::pipeline(values, problems),
        drain: sections::drain(values),
        http: sections::http(values),
        types: sections::types(values),
        store,
        accepts_unreadable_secrets: sections::accepts_unreadable_secrets(values),
        fleet: sections::fleet(values),
        log: sections::log(values),
        api,
    };
    (settings, notices)
}
