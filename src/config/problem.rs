//! What is wrong with a configuration, for the person who wrote it: the key, where it came from, what would be right.
//!
//! A problem never carries a secret: its text leaves out the value of a secret key.

use std::fmt;
use std::path::PathBuf;

/// The most problems that are printed; a file of another program would otherwise fill the screen.
const SHOWN_MAX: usize = 50;
/// The most characters of a key or a value that are repeated to its author.
const QUOTED_CHARACTERS_MAX: usize = 120;

/// The layer that a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `config/default.yaml`, inside the program.
    BuiltIn,
    /// The file named by `--config`.
    File {
        /// Its name, as it was given.
        path: PathBuf,
        /// The key's line, where it is known.
        line: Option<usize>,
    },
    /// The environment variable of this name.
    Environment(String),
    /// A `--set` on the command line.
    CommandLine,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The key, or nothing where a whole layer is unreadable.
    pub key: Option<String>,
    /// Where it was written.
    pub origin: Origin,
    /// What is wrong and what would be right.
    pub text: String,
}

/// Every mistake that was found, in the order of the layers; never empty.
#[derive(Debug, thiserror::Error)]
pub struct Problems(pub Vec<ConfigProblem>);

/// Someone's text in quotes, cut to a bearable length, with nothing in it that a terminal would obey.
pub(super) fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(QUOTED_CHARACTERS_MAX).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut:?}{more}")
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::BuiltIn => formatter.write_str("built-in"),
            Origin::File { path, line } => {
                write!(formatter, "file {}", path.display().to_string().escape_debug())?;
                line.map_or(Ok(()), |line| write!(formatter, " line {line}"))
            }
            Origin::Environment(name) => write!(formatter, "environment variable {}", name.escape_debug()),
            Origin::CommandLine => formatter.write_str("--set"),
        }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) if !key.is_empty() => {
                let cut: String = key.chars().take(QUOTED_CHARACTERS_MAX).collect();
                write!(formatter, "{} ({}): {}", cut.escape_debug(), self.origin, self.text)
            }
            _ => write!(formatter, "{}: {}", self.origin, self.text),
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => write!(formatter, "the configuration has a mistake:")?,
            count => write!(formatter, "the configuration has {count} mistakes:")?,
        }
        for problem in self.0.iter().take(SHOWN_MAX) {
            write!(formatter, "\n  {problem}")?;
        }
        match self.0.len().saturating_sub(SHOWN_MAX) {
            0 => Ok(()),
            more => write!(formatter, "\n  … and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_names_key_origin_and_remedy_on_one_line() {
        let problem = ConfigProblem {
            key: Some("source.max-failures".into()),
            origin: Origin::Environment("FEEDWARDEN__SOURCE__MAX_FAILURES".into()),
            text: "\"x\" is not a whole number".into(),
        };
        assert_eq!(
            problem.to_string(),
            "source.max-failures (environment variable FEEDWARDEN__SOURCE__MAX_FAILURES): \"x\" is not a whole number"
        );
    }

    #[test]
    fn a_terminal_is_not_commanded_by_a_key() {
        let problem =
            ConfigProblem { key: Some("a\u{1b}[2Jb".into()), origin: Origin::CommandLine, text: String::new() };
        assert!(!problem.to_string().contains('\u{1b}'));
        assert!(!quoted("a\u{1b}[2Jb").contains('\u{1b}'));
    }

    #[test]
    fn a_thousand_problems_are_counted_but_not_all_printed() {
        let problem = ConfigProblem { key: None, origin: Origin::CommandLine, text: "wrong".into() };
        let text = Problems(vec![problem; 1000]).to_string();
        assert!(text.starts_with("the configuration has 1000 mistakes:"));
        assert!(text.ends_with("… and 950 more"));
        assert_eq!(text.lines().count(), 52);
    }
}
