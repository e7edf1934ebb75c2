//! Fills the settings that each module owns from four layers: the built-in file, a file, the environment, `--set`.
//!
//! Later layers win. Every layer is read whole, every key is checked against the schema, and all mistakes are
//! reported at once, each with its key, its origin and its remedy. Only `daemon`, `cli` and `main` see this module.

mod assemble;
mod database_url;
mod directories;
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

use directories::Directories;

pub use effective::{Effective, Shown};
pub use problem::{ConfigProblem, Origin, Problems};
pub use settings::Settings;

/// Where to look for settings beside the built-in ones.
#[derive(Clone, Debug, Default)]
pub struct ConfigRequest {
    /// The file to read. None: the one that `FEEDWARDEN_CONFIG` names, or the user's, if it exists.
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
    /// The file that was read.
    pub file: Option<PathBuf>,
    /// What the operator should know, although it is no mistake.
    pub notices: Vec<String>,
}

/// Environment variable with the path of the configuration.
const FILE_VARIABLE: &str = "FEEDWARDEN_CONFIG";

/// Reads all layers, or says everything that is wrong with them.
pub fn load(request: &ConfigRequest) -> Result<Loaded, Problems> {
    let mut problems = Vec::new();
    let mut effective = Effective::default();
    effective.overlay(layers::built_in(), &mut problems);
    let directories = Directories::of(&request.environment);
    // Only a file that was named has to exist.
    let file = request.named_file().or_else(|| directories.config_file().filter(|path| path.exists()));
    if let Some(path) = &file {
        let layer = layers::file(path, &mut problems);
        effective.overlay(layer, &mut problems);
    }
    let layer = layers::environment(&request.environment, &mut problems);
    effective.overlay(layer, &mut problems);
    let layer = layers::assignments(&request.assignments, &mut problems);
    effective.overlay(layer, &mut problems);
    effective.look_at_files();
    let (settings, notices) = assemble::assemble(&effective, &directories, &mut problems);
    if problems.is_empty() { Ok(Loaded { settings, effective, file, notices }) } else { Err(Problems(problems)) }
}

/// The configuration file to begin with: every key with its meaning and default, all of them commented out.
pub fn commented_defaults() -> String {
    layers::commented_defaults()
}

impl ConfigRequest {
    /// Where a new configuration file is read without being named, or where it is named.
    pub fn file_to_write(&self) -> Option<PathBuf> {
        self.named_file().or_else(|| Directories::of(&self.environment).config_file())
    }

    fn named_file(&self) -> Option<PathBuf> {
        let variable = || {
            let (_, value) = self.environment.iter().find(|(name, _)| name == FILE_VARIABLE)?;
            (!value.is_empty()).then(|| PathBuf::from(value))
        };
        self.file.clone().or_else(variable)
    }
}
