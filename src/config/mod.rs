//! Fills the settings that each module owns from four layers: the built-in file, a file, the environment, `--set`.
//!
//! Later layers win. Every layer is read whole, every key is checked against the schema, and all mistakes are
//! reported at once, each with its key, its origin and its remedy. Only `daemon`, `cli` and `main` see this module.

mod assemble;
mod database_url;
mod effective;
mod kind;
mod layers;
mod network;
mod problem;
mod scalar;
mod schema;
mod secret;
mod sections;
mod settings;
mod suggest;
#[cfg(test)]
mod tests;
mod yaml;

use std::ffi::OsString;
use std::path::PathBuf;

pub use effective::{Effective, Shown};
pub use problem::{ConfigProblem, Origin, Problems};
pub use settings::Settings;

/// Where to look for settings beside the built-in ones.
#[derive(Clone, Debug, Default)]
pub struct ConfigRequest {
    /// The file to read, if there is one.
    pub file: Option<PathBuf>,
    /// All environment variables, ours and others'.
    pub environment: Vec<(OsString, OsString)>,
    /// What followed each `--set`.
    pub assignments: Vec<String>,
}

/// A configuration without mistakes.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub settings: Settings,
    pub effective: Effective,
}

/// Reads all layers, or says everything that is wrong with them.
pub fn load(request: &ConfigRequest) -> Result<Loaded, Problems> {
    let mut problems = Vec::new();
    let mut effective = Effective::default();
    effective.overlay(layers::built_in(), &mut problems);
    if let Some(path) = &request.file {
        let layer = layers::file(path, &mut problems);
        effective.overlay(layer, &mut problems);
    }
    let layer = layers::environment(&request.environment, &mut problems);
    effective.overlay(layer, &mut problems);
    let layer = layers::assignments(&request.assignments, &mut problems);
    effective.overlay(layer, &mut problems);
    effective.look_at_files();
    let settings = assemble::assemble(&effective, &directories(request), &mut problems);
    if problems.is_empty() { Ok(Loaded { settings, effective }) } else { Err(Problems(problems)) }
}

/// The directories that the environment gives a service or a session.
fn directories(request: &ConfigRequest) -> assemble::Directories {
    let first = |variable: &str| {
        let (_, directories) = request.environment.iter().find(|(name, _)| name == variable)?;
        // systemd parts several by colons.
        let first = directories.to_str()?.split(':').next()?;
        (!first.is_empty()).then(|| PathBuf::from(first))
    };
    assemble::Directories {
        state: first("STATE_DIRECTORY"),
        runtime: first("RUNTIME_DIRECTORY").or_else(|| first("XDG_RUNTIME_DIR")),
    }
}
