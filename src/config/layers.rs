//! The layers: what the built-in file, a file, the environment and the command line say, before it is checked.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use ::config::{ConfigError, Environment, File, Source, Value, ValueKind};

use super::problem::{ConfigProblem, Origin, quoted};
use super::secret::small_file;
use super::yaml::{YamlWithLines, line};
use super::{schema, suggest};

/// Every key with its default.
pub(super) const DEFAULTS: &str = include_str!("../../config/default.yaml");
/// What the names of our environment variables begin with; the separator follows.
const PREFIX: &str = "FEEDWARDEN";
const SEPARATOR: &str = "__";
/// The largest file that is read.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

const COMMENTED_HEAD: &str = "\
# Configuration of Feedwarden. Every key is shown with its default, commented out: remove the # before a key to set it.
# `feedwarden config check` finds mistakes, `feedwarden config show` prints every value with its origin, and
# `feedwarden reload` applies changes to the running daemon.

";

/// One key that a layer sets.
#[derive(Debug)]
pub(super) struct LayerEntry {
    /// The key with its sections, joined by dots.
    pub(super) key: String,
    pub(super) origin: Origin,
    pub(super) content: LayerValue,
}

/// A file knows types, the environment and the command line only words.
#[derive(Debug)]
pub(super) enum LayerValue {
    Typed(ValueKind),
    Words(String),
}

/// What the file at this path says.
pub(super) fn file(path: &Path, problems: &mut Vec<ConfigProblem>) -> Vec<LayerEntry> {
    let origin = |line| Origin::File { path: path.to_owned(), line };
    small_file(path, FILE_BYTES_MAX).and_then(|text| yaml(&text, origin)).unwrap_or_else(|text| {
        problems.push(ConfigProblem { key: None, origin: origin(None), text });
        Vec::new()
    })
}

/// What the built-in file says.
pub(super) fn built_in() -> Vec<LayerEntry> {
    yaml(DEFAULTS, |_| Origin::BuiltIn).expect("config/default.yaml is YAML, and a test proves it")
}

/// The built-in file with all values commented out. Sections stay, so that uncommenting one line sets one key.
pub(super) fn commented_defaults() -> String {
    let mut text = String::from(COMMENTED_HEAD);
    for line in DEFAULTS.lines() {
        let key = line.trim_start();
        let is_section = key.ends_with(':') && schema::find(key.trim_end_matches(':')).is_none();
        if key.is_empty() || key.starts_with('#') || is_section {
            text += line;
        } else {
            let indent = &line[..line.len() - key.len()];
            text += &format!("{indent}#{key}");
        }
        text.push('\n');
    }
    text
}

/// What this YAML says; `origin` makes the origin of a line.
fn yaml(text: &str, origin: impl Fn(Option<usize>) -> Origin) -> Result<Vec<LayerEntry>, String> {
    let text = text.trim_start_matches('\u{feff}');
    // A file in which everything is commented out is as good as an empty one, but `---` alone makes YAML see a null.
    if text.lines().all(|line| ["", "---", "..."].contains(&line.split('#').next().unwrap_or("").trim())) {
        return Ok(Vec::new());
    }
    let table = File::from_str(text, YamlWithLines).collect().map_err(|error| match error {
        ConfigError::FileParse { cause, .. } => cause.to_string(),
        other => other.to_string(),
    })?;
    let mut said = Vec::new();
    let mut waiting: Vec<(String, Value)> = table.into_iter().collect();
    while let Some((key, value)) = waiting.pop() {
        let origin = origin(line(&value));
        match value.kind {
            ValueKind::Table(table) if !table.is_empty() && schema::find(&key).is_none() => {
                waiting.extend(table.into_iter().map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            kind => said.push(LayerEntry { key, origin, content: LayerValue::Typed(kind) }),
        }
    }
    said.sort_by(|one, other| one.key.cmp(&other.key));
    Ok(said)
}

/// What the environment says.
pub(super) fn environment(variables: &[(OsString, OsString)], problems: &mut Vec<ConfigProblem>) -> Vec<LayerEntry> {
    let mut said: Vec<LayerEntry> = Vec::new();
    for (name, value) in variables {
        match variable(name, value) {
            Ok(Some(one)) => said.push(one),
            Ok(None) => {}
            Err(text) => {
                let origin = Origin::Environment(name.to_string_lossy().into_owned());
                problems.push(ConfigProblem { key: None, origin, text });
            }
        }
    }
    said.sort_by(|one, other| one.key.cmp(&other.key));
    said
}

/// What the assignments after `--set` say, in their order.
pub(super) fn assignments(assignments: &[String], problems: &mut Vec<ConfigProblem>) -> Vec<LayerEntry> {
    let mut said = Vec::new();
    for assignment in assignments {
        match assignment.split_once('=') {
            Some((key, value)) => said.push(LayerEntry {
                key: key.trim().to_owned(),
                origin: Origin::CommandLine,
                content: LayerValue::Words(value.to_owned()),
            }),
            None => {
                // What follows the key's name may be a secret behind the wrong sign, so only the name is repeated.
                let ends = |letter: char| !letter.is_ascii_alphanumeric() && !['.', '-', '_'].contains(&letter);
                let key = assignment.split(ends).next().unwrap_or("");
                let text =
                    format!("{} is not followed by =; write KEY=VALUE, such as source.max-failures=3", quoted(key));
                problems.push(ConfigProblem { key: None, origin: Origin::CommandLine, text });
            }
        }
    }
    said
}

/// What one environment variable says, if it is one of ours.
fn variable(name: &OsStr, value: &OsStr) -> Result<Option<LayerEntry>, String> {
    let Some(text) = name.to_str() else {
        let ours = name.to_string_lossy().to_uppercase().starts_with(&format!("{PREFIX}{SEPARATOR}"));
        return if ours { Err("the name is not UTF-8 text".into()) } else { Ok(None) };
    };
    let upper = text.to_uppercase();
    if !upper.starts_with(&format!("{PREFIX}{SEPARATOR}")) {
        // Other programs may set FEEDWARDEN_…; only what spells one of our keys with too few underscores is a mistake.
        let rest = upper.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('_'));
        return match rest.and_then(key_with_letters) {
            Some(key) => {
                Err(format!("this is not read; sections are parted by two underscores: {}", variable_name(&key)))
            }
            None => Ok(None),
        };
    }
    let value = value.to_str().ok_or("the value is not UTF-8 text")?;
    // One variable at a time, because the source forgets the names of the variables.
    let collected = Environment::with_prefix(PREFIX)
        .separator(SEPARATOR)
        .source(Some(HashMap::from([(text.to_owned(), value.to_owned())])))
        .collect()
        .map_err(|error| error.to_string())?;
    Ok(collected.into_keys().next().map(|key| LayerEntry {
        key: key.replace('_', "-"),
        origin: Origin::Environment(text.to_owned()),
        content: LayerValue::Words(value.to_owned()),
    }))
}

/// The key that the name of a variable has the letters of, also with `app` before it.
fn key_with_letters(name: &str) -> Option<String> {
    let below_alias = || {
        let rest = name.strip_prefix(&schema::ALIAS_SECTION.to_uppercase())?.strip_prefix('_')?;
        Some(format!("{}.{}", schema::ALIAS_SECTION, suggest::same_letters(rest)?))
    };
    suggest::same_letters(name).or_else(below_alias)
}

/// The environment variable that stands for a key.
pub(super) fn variable_name(key: &str) -> String {
    format!("{PREFIX}{SEPARATOR}{}", key.replace('.', SEPARATOR).replace('-', "_").to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn keys(text: &str) -> Vec<String> {
        yaml(text, |_| Origin::BuiltIn).unwrap().into_iter().map(|said| said.key).collect()
    }

    fn words(said: &LayerEntry) -> (&str, &str) {
        match &said.content {
            LayerValue::Words(words) => (&said.key, words),
            LayerValue::Typed(kind) => panic!("{kind} is typed"),
        }
    }

    #[test]
    fn a_tree_becomes_keys_joined_by_dots() {
        let text = "source:\n  max-failures: 3\n  host-overrides:\n    nitter.net: {poll-delay-seconds: 3}\n";
        assert_eq!(keys(text), ["source.host-overrides.nitter.net.poll-delay-seconds", "source.max-failures"]);
    }

    #[rstest]
    #[case("")]
    #[case("# only words\n")]
    #[case("---\n")]
    #[case("\u{feff}---\n# words\n...\n")]
    fn an_empty_file_says_nothing(#[case] text: &str) {
        assert_eq!(keys(text), [""; 0]);
    }

    #[rstest]
    #[case::tab("source:\n\tmax-failures: 3\n", "(there is a tab: YAML is indented with spaces)")]
    #[case::twice("source:\n  max-failures: 3\n  max-failures: 4\n", "max-failures\": duplicated key in mapping")]
    #[case::open("source: [1,\n", "line")]
    #[case::list("- source\n- http\n", "holds no sections")]
    #[case::word("hunter2hunter2", "holds no sections")]
    #[case::alias("source: &a {}\nhttp: *a\n", "line 2 has an alias")]
    #[case::two("a: 1\n---\nb: 2\n", "2 YAML documents")]
    fn what_is_no_yaml_says_where(#[case] text: &str, #[case] complaint: &str) {
        let error = yaml(text, |_| Origin::BuiltIn).unwrap_err();
        assert!(error.contains(complaint) && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn a_variable_stands_for_a_key_and_is_remembered_by_its_name() {
        let variables = [
            ("FEEDWARDEN__SOURCE__MAX_FAILURES", "3"),
            ("FEEDWARDEN__SOURCE__HOST_OVERRIDES__WEB2__NITTER__NET__POLL_DELAY_SECONDS", "4"),
            ("FEEDWARDEN_SERVICE_HOST", "10.0.0.1"),
            ("HOME", "/"),
        ];
        let mut problems = Vec::new();
        let said = environment(&variables.map(|(name, value)| (name.into(), value.into())), &mut problems);
        assert_eq!(problems, []);
        assert_eq!(
            said.iter().map(words).collect::<Vec<_>>(),
            [("source.host-overrides.web2.nitter.net.poll-delay-seconds", "4"), ("source.max-failures", "3")]
        );
        assert_eq!(said[1].origin, Origin::Environment("FEEDWARDEN__SOURCE__MAX_FAILURES".into()));
    }

    #[test]
    fn too_few_underscores_are_noticed() {
        let mut problems = Vec::new();
        let said = environment(&[("FEEDWARDEN_SOURCE_MAX_FAILURES".into(), "3".into())], &mut problems);
        assert!(said.is_empty());
        assert!(problems[0].text.ends_with("FEEDWARDEN__SOURCE__MAX_FAILURES"), "{}", problems[0]);
    }

    #[test]
    fn s1005_too_few_underscores_are_noticed_behind_app_too() {
        let mut problems = Vec::new();
        environment(&[("FEEDWARDEN_APP_SOURCE_MAX_FAILURES".into(), "3".into())], &mut problems);
        assert!(problems[0].text.ends_with("FEEDWARDEN__APP__SOURCE__MAX_FAILURES"), "{}", problems[0]);
        assert_eq!(environment(&[("FEEDWARDEN_APP_NAME".into(), "x".into())], &mut problems).len(), 0);
        assert_eq!(problems.len(), 1, "a variable of another program");
    }

    #[test]
    fn an_assignment_ends_its_key_at_the_first_equals_sign() {
        let mut problems = Vec::new();
        let said =
            assignments(&["database.encryption-key=AAA=".into(), "api.jwt-secret:hunter2".into()], &mut problems);
        assert_eq!(said.iter().map(words).collect::<Vec<_>>(), [("database.encryption-key", "AAA=")]);
        assert!(problems[0].text.starts_with("\"api.jwt-secret\" is not followed by ="));
        assert!(!problems[0].text.contains("hunter2"));
    }
}
