//! What a key is, and how the keys of `sections` are found by their names.
//!
//! Every key and section has a second name with `app.` before it, which is how the specification writes it; values are
//! kept under the key itself.

use super::kind::KeyKind;
use super::sections;

/// The section that may stand around all others (s1005).
pub(super) const ALIAS_SECTION: &str = "app";
/// What stands in a pattern for any host name, dots included.
const HOST: &str = "<host>";

/// One key, or one family of keys that differ in a host's name.
#[derive(Debug)]
pub(super) struct SchemaKey {
    /// The key; `<host>` in it stands for a host's name.
    pub(super) pattern: &'static str,
    /// What may be written there.
    pub(super) kind: KeyKind,
    /// What it is, to follow a key in an error.
    pub(super) meaning: &'static str,
}

/// A key's entry, with the host's name where its pattern has one.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyMatch<'a> {
    pub(super) entry: &'static SchemaKey,
    /// The host as written.
    pub(super) host: Option<&'a str>,
}

impl SchemaKey {
    pub(super) const fn new(pattern: &'static str, kind: KeyKind, meaning: &'static str) -> SchemaKey {
        SchemaKey { pattern, kind, meaning }
    }

    pub(super) const fn count(pattern: &'static str, min: u64, max: u64, meaning: &'static str) -> SchemaKey {
        SchemaKey::new(pattern, KeyKind::Count { min, max }, meaning)
    }

    /// The parts of the pattern before and behind the host, if it has one.
    pub(super) fn around_host(&self) -> Option<(&'static str, &'static str)> {
        // Few patterns have one, and to prepare the search for a word costs more than to look for a character.
        self.pattern.contains('<').then(|| self.pattern.split_once(HOST)).flatten()
    }

    /// The key itself, with this host in it.
    pub(super) fn key_for(&self, host: Option<&str>) -> String {
        host.map_or_else(|| self.pattern.to_owned(), |host| self.pattern.replacen(HOST, host, 1))
    }
}

/// A key as `app.`, or nothing, and the key itself.
pub(super) fn split_alias(key: &str) -> (&str, &str) {
    match key.strip_prefix(ALIAS_SECTION).is_some_and(|rest| rest.starts_with('.')) {
        true => key.split_at(ALIAS_SECTION.len() + 1),
        false => ("", key),
    }
}

/// Finds the entry for a key.
pub(super) fn find(key: &str) -> Option<KeyMatch<'_>> {
    let (_, key) = split_alias(key);
    entries().find_map(|entry| match entry.around_host() {
        None => (entry.pattern == key).then_some(KeyMatch { entry, host: None }),
        Some((before, behind)) => {
            let host = key.strip_prefix(before)?.strip_suffix(behind)?;
            Some(KeyMatch { entry, host: Some(host) })
        }
    })
}

/// Whether keys can lie below this one.
pub(super) fn is_section(key: &str) -> bool {
    if key == ALIAS_SECTION {
        return true;
    }
    let (_, key) = split_alias(key);
    entries().any(|entry| {
        let below = |place: &str| place.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
        match entry.around_host() {
            None => below(entry.pattern),
            Some((before, behind)) => below(before) || (!behind.is_empty() && key.starts_with(before)),
        }
    })
}

pub(super) fn entries() -> impl Iterator<Item = &'static SchemaKey> {
    sections::keys()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_with_dots_is_found_inside_a_key() {
        let found = find("source.host-overrides.nitter.net.poll-delay-seconds").unwrap();
        assert_eq!(found.host, Some("nitter.net"));
        assert_eq!(found.entry.key_for(Some("nitter.net")), "source.host-overrides.nitter.net.poll-delay-seconds");
        assert_eq!(find("http.static-hosts.a.b.example").unwrap().host, Some("a.b.example"));
    }

    #[test]
    fn a_section_is_told_from_a_key_and_from_nothing() {
        for section in
            ["source", "source.rest", "source.host-overrides", "source.host-overrides.a.b", "http.static-hosts"]
        {
            assert!(is_section(section), "{section}");
        }
        for other in ["source.max-failures", "sour", "http.static-hosts.a.b", "nothing"] {
            assert!(!is_section(other), "{other}");
        }
    }

    #[test]
    fn s1005_app_before_a_key_or_a_section_is_the_same_key_or_section() {
        let found = find("app.source.host-overrides.nitter.net.poll-delay-seconds").unwrap();
        assert_eq!((found.host, found.entry.around_host().is_some()), (Some("nitter.net"), true));
        assert_eq!(find("app.source.max-failures").unwrap().entry.pattern, "source.max-failures");
        for section in ["app", "app.source", "app.source.rest", "app.source.host-overrides.a.b"] {
            assert!(is_section(section), "{section}");
        }
        for nothing in ["app.", "app.app", "app.app.source.max-failures", "application.source.max-failures"] {
            assert!(find(nothing).is_none() && !is_section(nothing), "{nothing}");
        }
        assert!(!entries().any(|entry| entry.pattern.starts_with("app.")), "the alias would hide it");
    }

    #[test]
    fn no_key_is_listed_twice() {
        let keys: std::collections::BTreeSet<_> = entries().map(|entry| entry.pattern).collect();
        assert_eq!(keys.len(), entries().count());
    }
}
