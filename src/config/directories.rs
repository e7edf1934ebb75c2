//! Directories that the environment gives to a service, a session and a user, for paths that no key sets.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Our part of the user's directories.
const OWN: &str = "feedwarden";

#[derive(Clone, Debug, Default)]
pub(super) struct Directories {
    /// For files of a service that survive a reboot.
    pub(super) service_state: Option<PathBuf>,
    /// The same for a user (XDG Base Directory Specification).
    pub(super) user_state: Option<PathBuf>,
    user_config: Option<PathBuf>,
    /// For sockets; emptied by a reboot.
    pub(super) runtime: Option<PathBuf>,
}

impl Directories {
    pub(super) fn of(environment: &[(OsString, OsString)]) -> Directories {
        let value = |variable: &str| {
            let (_, value) = environment.iter().find(|(name, _)| name == variable)?;
            value.to_str().filter(|value| !value.is_empty())
        };
        // systemd separates several by colons.
        let first =
            |variable: &str| value(variable)?.split(':').next().filter(|path| !path.is_empty()).map(PathBuf::from);
        // The specification has relative paths ignored.
        let absolute = |variable: &str| value(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        let below_home = |name: &str| absolute("HOME").map(|home| home.join(name));
        let of_user = |variable: &str, usual: &str| absolute(variable).or_else(|| below_home(usual));
        Directories {
            service_state: first("STATE_DIRECTORY"),
            user_state: of_user("XDG_STATE_HOME", ".local/state").map(|directory| directory.join(OWN)),
            user_config: of_user("XDG_CONFIG_HOME", ".config").map(|directory| directory.join(OWN)),
            runtime: first("RUNTIME_DIRECTORY").or_else(|| first("XDG_RUNTIME_DIR")),
        }
    }

    /// The configuration file that is read if none is named.
    pub(super) fn config_file(&self) -> Option<PathBuf> {
        // A service is told everything by its unit.
        let directory = self.user_config.as_ref().filter(|_| self.service_state.is_none())?;
        Some(directory.join("feedwarden.yaml"))
    }

    /// Where state is kept that no key places.
    pub(super) fn state(&self) -> Option<&Path> {
        self.service_state.as_deref().or(self.user_state.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::home(&[("HOME", "/home/ada")], Some("/home/ada/.local/state/feedwarden"), Some("/home/ada/.config/feedwarden/feedwarden.yaml"))]
    #[case::xdg(
        &[("HOME", "/home/ada"), ("XDG_STATE_HOME", "/s"), ("XDG_CONFIG_HOME", "/c")],
        Some("/s/feedwarden"),
        Some("/c/feedwarden/feedwarden.yaml")
    )]
    #[case::relative(&[("HOME", "/h"), ("XDG_STATE_HOME", "s")], Some("/h/.local/state/feedwarden"), Some("/h/.config/feedwarden/feedwarden.yaml"))]
    #[case::empty(&[("HOME", ""), ("XDG_STATE_HOME", "")], None, None)]
    #[case::service(&[("HOME", "/h"), ("STATE_DIRECTORY", "/var/lib/a:/var/lib/b")], Some("/var/lib/a"), None)]
    fn the_environment_places_state_and_configuration(
        #[case] variables: &[(&str, &str)],
        #[case] state: Option<&str>,
        #[case] config_file: Option<&str>,
    ) {
        let environment: Vec<_> = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let directories = Directories::of(&environment);
        assert_eq!(directories.state(), state.map(Path::new));
        assert_eq!(directories.config_file(), config_file.map(PathBuf::from));
    }
}
