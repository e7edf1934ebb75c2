//! Guesses which key a person meant, to say it in an error; nothing is ever done on the strength of a guess.

use super::schema::{entries, split_alias};
use crate::model::misspelling;

/// A longer key is no slip of the finger, and would make the comparison slow.
const KEY_BYTES_MAX: usize = 120;

/// The key that was probably meant, with `app.` before it if that is how it was written.
pub(super) fn nearest(key: &str) -> Option<String> {
    if key.len() > KEY_BYTES_MAX {
        return None;
    }
    let key = key.to_lowercase();
    let (alias, key) = split_alias(&key);
    let meant = same_letters(key).or_else(|| inside_host_family(key));
    let meant = meant.or_else(|| without_section(key)).or_else(|| mistyped(key))?;
    Some(format!("{alias}{meant}"))
}

/// The key that has the same letters and differs in nothing but case, dots, dashes and underscores.
pub(super) fn same_letters(key: &str) -> Option<String> {
    entries().map(|entry| entry.pattern).find(|pattern| letters(pattern).eq(letters(key))).map(str::to_owned)
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// A key below a host's name whose last part is missing or mistyped.
fn inside_host_family(key: &str) -> Option<String> {
    entries().find_map(|entry| {
        let (before, behind) = entry.around_host()?;
        let rest = key.strip_prefix(before).filter(|_| !behind.is_empty())?;
        let host = match rest.rsplit_once('.') {
            Some((host, last)) if misspelling(last, behind.trim_start_matches('.')).is_some() => host,
            _ => rest,
        };
        (!host.is_empty()).then(|| entry.key_for(Some(host)))
    })
}

/// A key without its section, if only one section has it.
fn without_section(key: &str) -> Option<String> {
    let mut ending = entries()
        .map(|entry| entry.pattern)
        .filter(|pattern| pattern.strip_suffix(key).is_some_and(|section| section.ends_with('.')));
    let first = ending.next()?;
    ending.next().is_none().then(|| first.to_owned())
}

fn mistyped(key: &str) -> Option<String> {
    entries()
        .map(|entry| entry.pattern)
        .filter_map(|pattern| Some((misspelling(key, pattern)?, pattern)))
        .min()
        .map(|(_, pattern)| pattern.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("source.max-failure", "source.max-failures")]
    #[case("sources.max-failures", "source.max-failures")]
    #[case("source.max_failures", "source.max-failures")]
    #[case("source.maxFailures", "source.max-failures")]
    #[case("max-failures", "source.max-failures")]
    #[case("lgogging.level", "logging.level")]
    #[case("app.source.max-failure", "app.source.max-failures")]
    #[case("App.Source.maxFailures", "app.source.max-failures")]
    #[case("app.max-failures", "app.source.max-failures")]
    #[case("source.host-overrides.nitter.net", "source.host-overrides.nitter.net.poll-delay-seconds")]
    #[case("source.host-overrides.nitter.net.poll-delay-second", "source.host-overrides.nitter.net.poll-delay-seconds")]
    fn a_slip_is_recognised(#[case] key: &str, #[case] meant: &str) {
        assert_eq!(nearest(key).as_deref(), Some(meant));
    }

    #[rstest]
    #[case("")]
    #[case("connect-timeout-seconds")]
    #[case("colour.of.the.bike-shed")]
    #[case("source.host-overrides.")]
    #[case("app.")]
    #[case("app.colour")]
    fn something_else_is_not_guessed_at(#[case] key: &str) {
        assert_eq!(nearest(key), None);
    }
}
