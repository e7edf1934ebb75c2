//! Every key there is: its place, its kind with its bounds, and its meaning in a few words.
//!
//! Defaults are not here but in `config/default.yaml`; a test keeps both lists the same. Every key and section has a
//! second spelling with `app.` before it, which is how the specification writes it; values are kept under the key itself.

use std::sync::LazyLock;

use super::kind::KeyKind;
use crate::model::SourceType;

/// The section that may stand around all others (s1005).
pub(super) const ALIAS_SECTION: &str = "app";
/// What stands in a pattern for any host name, dots included.
const HOST: &str = "<host>";
const YEAR_HOURS: u64 = 8_760;
const DAY_SECONDS: u64 = 86_400;
const WEEK_MINUTES: u64 = 10_080;

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
    /// The host, as it was spelled.
    pub(super) host: Option<&'a str>,
}

impl SchemaKey {
    const fn new(pattern: &'static str, kind: KeyKind, meaning: &'static str) -> SchemaKey {
        SchemaKey { pattern, kind, meaning }
    }

    const fn count(pattern: &'static str, min: u64, max: u64, meaning: &'static str) -> SchemaKey {
        SchemaKey::new(pattern, KeyKind::Count { min, max }, meaning)
    }

    /// The parts of the pattern before and behind the host, if it has one.
    pub(super) fn around_host(&self) -> Option<(&'static str, &'static str)> {
        self.pattern.split_once(HOST)
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
    FIXED.iter().chain(TYPE_DELAYS.iter())
}

/// The delay of each source type.
static TYPE_DELAYS: LazyLock<Vec<SchemaKey>> = LazyLock::new(|| {
    let delay = |source_type: SourceType| {
        // Made once, so the texts live as long as the program.
        let pattern = format!("source.poll-delay-seconds.{source_type}").leak();
        let meaning = format!("seconds between two requests to a host for sources of type {source_type}").leak();
        SchemaKey::count(pattern, 0, DAY_SECONDS, meaning)
    };
    SourceType::ALL.map(delay).into()
});

/// The keys that do not depend on what types of source there are.
static FIXED: &[SchemaKey] = &[
    SchemaKey::count("source.default-interval-minutes", 1, 525_600, "minutes between two polls of an active source"),
    SchemaKey::count("source.max-failures", 1, 1_000_000, "permanent failures in a row that disable a source"),
    SchemaKey::count("source.max-backoff-hours", 1, YEAR_HOURS, "hours that backoff waits at most"),
    SchemaKey::count("source.max-article-age-days", 1, 36_500, "days after which an article is too old"),
    SchemaKey::count("source.remember-cleaned-days", 1, 36_500, "days that a cleaned post is remembered"),
    SchemaKey::count(
        "source.freshness-ceiling-hours",
        0,
        YEAR_HOURS,
        "hours that an answer's freshness can ask for at most",
    ),
    SchemaKey::count("source.retry-after-ceiling-days", 1, 365, "days that Retry-After can ask for at most"),
    SchemaKey::count("source.moved-after-days", 1, 365, "days of permanent redirects after which a new URL is saved"),
    SchemaKey::count(
        "source.host-overrides.<host>.poll-delay-seconds",
        0,
        DAY_SECONDS,
        "seconds between two requests to this host",
    ),
    SchemaKey::count("source.rest.not-found.after", 0, 1_000_000, "404s in a row that start a rest"),
    SchemaKey::count("source.rest.not-found.cooldown-hours", 1, YEAR_HOURS, "hours of rest after 404s"),
    SchemaKey::count("source.rest.gone.after", 0, 1_000_000, "410s in a row that start a rest"),
    SchemaKey::count("source.rest.gone.cooldown-hours", 1, YEAR_HOURS, "hours of rest after 410s"),
    SchemaKey::count("source.rest.forbidden.after", 0, 1_000_000, "403s in a row that start a rest"),
    SchemaKey::count("source.rest.forbidden.cooldown-hours", 1, YEAR_HOURS, "hours of rest after 403s"),
    SchemaKey::count("source.rest.upstream-failure.after", 0, 1_000_000, "5xx answers in a row that start a rest"),
    SchemaKey::count("source.rest.upstream-failure.cooldown-hours", 1, YEAR_HOURS, "hours of rest after 5xx answers"),
    SchemaKey::count("source.rest.network.after", 0, 1_000_000, "network failures in a row that start a rest"),
    SchemaKey::count("source.rest.network.cooldown-hours", 1, YEAR_HOURS, "hours of rest after network failures"),
    SchemaKey::count("source.rest.parse-error.after", 0, 1_000_000, "unreadable answers in a row that start a rest"),
    SchemaKey::count("source.rest.parse-error.cooldown-hours", 1, YEAR_HOURS, "hours of rest after unreadable answers"),
    SchemaKey::count("source.rest.unauthorized.after", 0, 1_000_000, "401s in a row that start a rest"),
    SchemaKey::count("source.rest.unauthorized.cooldown-hours", 1, YEAR_HOURS, "hours of rest after 401s"),
    SchemaKey::count(
        "host.breaker-after-failures",
        1,
        1_000_000,
        "requests in a row without an answer that open the breaker",
    ),
    SchemaKey::count(
        "host.breaker-pause-minutes",
        1,
        WEEK_MINUTES,
        "minutes that a silent host is left alone at first",
    ),
    SchemaKey::count(
        "host.breaker-pause-max-minutes",
        1,
        WEEK_MINUTES,
        "minutes that a silent host is left alone at most",
    ),
    SchemaKey::count("host.spread-minutes", 0, 1_440, "minutes over which sources that were freed together come back"),
    SchemaKey::count("outage.hosts", 2, 1_000, "silent hosts, with none answering, that mean an outage of our own"),
    SchemaKey::count("outage.probe-seconds", 1, 3_600, "seconds before the first probe of an outage"),
    SchemaKey::count("outage.probe-max-seconds", 1, 3_600, "seconds between two probes of an outage at most"),
    SchemaKey::count("scheduler.tick-seconds", 1, 3_600, "seconds between two looks at what is due"),
    SchemaKey::count("http.deadline-seconds", 1, 3_600, "seconds that a request may take in all"),
    SchemaKey::count("http.connect-timeout-seconds", 1, 300, "seconds that one attempt to connect may take"),
    SchemaKey::count("http.idle-timeout-seconds", 0, 300, "seconds that an unused connection is kept"),
    SchemaKey::count("http.body-bytes-max", 1_024, 1 << 30, "bytes of the largest body, after decoding"),
    SchemaKey::count("http.redirects-max", 0, 20, "redirects that are followed at most"),
    SchemaKey::new("http.user-agent", KeyKind::UserAgent, "who we say we are"),
    SchemaKey::new("http.contact-url", KeyKind::ContactUrl, "where publishers reach the operator"),
    SchemaKey::new("http.allow-private-networks", KeyKind::Flag, "whether addresses that are not public may be asked"),
    SchemaKey::new(
        "http.allowed-networks",
        KeyKind::Networks,
        "networks that may be asked although they are not public",
    ),
    SchemaKey::new("http.proxy", KeyKind::ProxyUrl, "the proxy that all requests go through"),
    SchemaKey::new("http.tls-ca-file", KeyKind::Path, "further certificate authorities to trust"),
    SchemaKey::new("http.static-hosts.<host>", KeyKind::Address, "the address of this name, instead of looking it up"),
    SchemaKey::new("x.base-url", KeyKind::BaseUrl, "where X's API is"),
    SchemaKey::new("database.url", KeyKind::Database, "where sources and posts are kept"),
    SchemaKey::new("database.encryption-key", KeyKind::EncryptionKey, "the key under which API keys are kept"),
    SchemaKey::new("database.encryption-key-file", KeyKind::Path, "the file that holds the encryption key"),
    SchemaKey::new(
        "database.sqlite.synchronous",
        KeyKind::Choice(&["full", "normal"]),
        "what a power failure may cost",
    ),
    SchemaKey::count("database.sqlite.readers", 1, 64, "threads that read"),
    SchemaKey::count("database.sqlite.busy-timeout-seconds", 0, 300, "seconds to wait for another process"),
    SchemaKey::count("database.postgres.pool-size", 1, 1_000, "connections held at once at most"),
    SchemaKey::count("database.postgres.connect-timeout-seconds", 1, 300, "seconds to wait for a connection"),
    SchemaKey::count("database.postgres.statement-timeout-seconds", 1, 3_600, "seconds that one statement may take"),
    SchemaKey::new(
        "database.postgres.tls",
        KeyKind::Choice(&["disable", "require"]),
        "whether the connection is encrypted",
    ),
    SchemaKey::new("database.postgres.tls-ca-file", KeyKind::Path, "the certificate authorities to trust"),
    SchemaKey::new(
        "logging.level",
        KeyKind::Choice(&["critical", "error", "warn", "info", "debug", "trace"]),
        "the least severe level that is written",
    ),
    SchemaKey::new("logging.format", KeyKind::Choice(&["auto", "json", "human"]), "the shape of a record"),
    SchemaKey::new("logging.file", KeyKind::Path, "the file to append to"),
    SchemaKey::count("logging.queue-records", 1, 1 << 20, "records that may wait to be written"),
    SchemaKey::count("webhooks.timeout-seconds", 1, 50, "seconds that a webhook may take to answer"),
    SchemaKey::count("webhooks.posts-max", 1, 1_000, "posts of one delivery to a webhook"),
    SchemaKey::count("webhooks.body-bytes-max", 1_024, 1 << 28, "bytes of one delivery to a webhook"),
    SchemaKey::count("webhooks.retry-first-seconds", 1, 3_600, "seconds before a failed delivery is made again"),
    SchemaKey::count(
        "webhooks.retry-max-minutes",
        1,
        WEEK_MINUTES,
        "minutes before a failed delivery is made again at most",
    ),
    SchemaKey::count("webhooks.failures-max", 1, 1_000_000, "failures in a row that disable a webhook"),
    SchemaKey::count("fetch.concurrency", 1, 10_000, "polls under way at once"),
    SchemaKey::count("fetch.threads", 0, 64, "threads that fetch"),
    SchemaKey::count("daemon.drain-seconds", 0, 3_600, "seconds that polls under way may take to end"),
    SchemaKey::count("supervision.restarts-max", 0, 1_000_000, "restarts that are borne within the window"),
    SchemaKey::count("supervision.within-seconds", 1, DAY_SECONDS, "the window, in seconds"),
    SchemaKey::count("supervision.delay-first-milliseconds", 0, 60_000, "milliseconds before the first restart"),
    SchemaKey::count("supervision.delay-max-milliseconds", 0, 3_600_000, "milliseconds before a restart at most"),
    SchemaKey::new("faults.enabled", KeyKind::Flag, "whether things go wrong on purpose"),
    SchemaKey::count("faults.seed", 0, u64::MAX, "where the dice of the faults start"),
    SchemaKey::count("faults.limit", 0, u64::MAX, "the most faults"),
    SchemaKey::new("faults.rules", KeyKind::Faults, "what goes wrong on purpose"),
    SchemaKey::new("api.socket", KeyKind::Path, "the admin socket"),
    SchemaKey::new("api.listen", KeyKind::Listen, "the address and port for HTTP"),
    SchemaKey::new("api.jwt-secret", KeyKind::SigningSecret, "the secret that signs tokens"),
    SchemaKey::new("api.jwt-secret-file", KeyKind::Path, "the file that holds the secret"),
    SchemaKey::new("api.jwt-algorithm", KeyKind::Choice(&["HS256", "RS256", "EdDSA"]), "how tokens are signed"),
    SchemaKey::new(
        "api.jwt-public-key-file",
        KeyKind::Path,
        "the file that holds the public key tokens are checked with",
    ),
    SchemaKey::new("api.jwt-audience", KeyKind::Words, "audience that tokens must have"),
    SchemaKey::count("api.jwt-leeway-seconds", 0, 300, "seconds that clocks of token issuers may be off"),
    SchemaKey::count("api.body-bytes-max", 1_024, 1 << 28, "bytes of the largest JSON body"),
    SchemaKey::count("api.import-bytes-max", 1_024, 1 << 30, "bytes of the largest OPML list"),
    SchemaKey::count("api.requests-per-second", 1, 1_000_000, "requests a second over TCP with one token"),
    SchemaKey::count("api.connections-max", 2, 100_000, "connections of each listener at once"),
    SchemaKey::count("api.streams-max", 1, 100_000, "streams of posts of each listener at once"),
];

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
