//! The keys with their bounds, and the settings that they fill, a file for each settings struct.
//!
//! Defaults are in `config/default.yaml`; a test keeps the keys there and here the same.

mod api;
mod database;
mod fleet;
mod http;
mod intervals;
mod logging;
mod pipeline;
mod policy;
mod websub;

use std::path::Path;

use secrecy::SecretString;

use super::effective::Effective;
use super::problem::ConfigProblem;
use super::schema::SchemaKey;
use super::secret;

pub(super) use api::{api, socket};
pub(super) use database::{accepts_unreadable_secrets, store};
pub(super) use fleet::fleet;
pub(super) use http::{http, types};
pub(super) use logging::log;
pub(super) use pipeline::{drain, pipeline};
pub(super) use policy::policy;

const DAY_SECONDS: u64 = 86_400;
const WEEK_MINUTES: u64 = 10_080;

/// Every key, or family of keys.
pub(super) fn keys() -> impl Iterator<Item = &'static SchemaKey> {
    let fixed = [
        policy::KEYS,
        intervals::KEYS,
        pipeline::KEYS,
        http::KEYS,
        database::KEYS,
        fleet::KEYS,
        logging::KEYS,
        api::KEYS,
        websub::KEYS,
    ];
    fixed.into_iter().flatten().chain(policy::DERIVED_KEYS.iter())
}

/// The secret under this key, or in the file that the key's neighbour `…-file` names.
fn one_secret(
    values: &Effective,
    key: &str,
    check: fn(&str) -> Result<(), String>,
    problems: &mut Vec<ConfigProblem>,
) -> Option<SecretString> {
    let file_key = format!("{key}-file");
    match (values.secret(key), values.path(&file_key)) {
        (Some(_), Some(_)) => {
            let text = format!("{key} is set too ({}); keep one and set the other to \"\"", values.origin(key));
            add(values, &file_key, text, problems);
            None
        }
        (Some(secret), None) => Some(secret.clone()),
        (None, Some(path)) => {
            secret::from_file(path, check).map_err(|complaint| add(values, &file_key, complaint, problems)).ok()
        }
        (None, None) => None,
    }
}

fn readable(path: &Path) -> Result<(), String> {
    let name = path.display().to_string();
    if path.is_dir() {
        return Err(format!("{} is a directory; name a file", name.escape_debug()));
    }
    std::fs::File::open(path).map(drop).map_err(|cause| format!("{} cannot be read: {cause}", name.escape_debug()))
}

fn add(values: &Effective, key: &str, text: String, problems: &mut Vec<ConfigProblem>) {
    problems.push(ConfigProblem { key: Some(key.to_owned()), origin: values.origin(key).clone(), text });
}
