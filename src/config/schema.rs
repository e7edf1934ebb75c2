//! Every key there is: its place, its kind with its bounds, and its meaning in a few words.
//!
//! Defaults are not here but in `config/default.yaml`; a test keeps both lists the same. Every key and section has a
//! second spelling with `app.` before it, which is how the specification writes it; values are kept under the key itself.

use std::sync::LazyLock;

use super::kind::Kind;
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
pub(super) struct Entry {
    /// The key; `<host>` in it stands for a host's name.
    pub(super) pattern: &'static str,
    /// What may be written there.
    pub(super) kind: Kind,
    /// What it is, to follow a key in an error.
    pub(super) meaning: &'static str,
}

/// A key's entry, with the host's name where its pattern has one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<'a> {
    /// The entry.
    pub(super) entry: &'static Entry,
    /// The host, as it was spelled.
    pub(super) host: Option<&'a str>,
}

impl Entry {
    const fn new(pattern: &'static str, kind: Kind, meaning: &'static str) -> Entry {
        Entry { pattern, kind, meaning }
    }

    const fn count(pattern: &'static str, min: u64, max: u64, meaning: &'static str) -> Entry {
        Entry::new(pattern, Kind::Count { min, max }, meaning)
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
pub(super) fn find(key: &str) -> Option<Found<'_>> {
    let (_, key) = split_alias(key);
    entries().find_map(|entry| match entry.around_host() {
        None => (entry.pattern == key).then_some(Found { entry, host: None }),
        Some((before, behind)) => {
            let host = key.strip_prefix(before)?.strip_suffix(behind)?;
            Some(Found { entry, host: Some(host) })
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

/// All keys.
pub(super) fn entries() -> impl Iterator<Item = &'static Entry> {
    FIXED.iter().chain(TYPE_DELAYS.iter())
}

/// The delay of each source type.
static TYPE_DELAYS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let delay = |source_type: SourceType| {
        // Made once, so the texts live as long as the program.
        let pattern = format!("source.poll-delay-seconds.{source_type}").leak();
        let meaning = format!("seconds between two requests to a host for sources of type {source_type}").leak();
        Entry::count(pattern, 0, DAY_SECONDS, meaning)
    };
    SourceType::ALL.map(delay).into()
});

/// The keys that do not depend on what types of source there are.
static FIXED: &[Entry] = &[
    Entry::count("source.default-interval-minutes", 1, 525_600, "minutes between two polls of a healthy source"),
    Entry::count("source.max-failures", 1, 1_000_000, "permanent failures in a row that disable a source"),
    Entry::count("source.max-backoff-hours", 1, YEAR_HOURS, "hours that backoff waits at most"),
    Entry::count("source.max-article-age-days", 0, 36_500, "days after which a post is too old; 0 for never"),
    Entry::new("source.backlog", Kind::Choice(&["skip", "keep"]), "what becomes of entries older than their source"),
    Entry::new(
        "source.on-edit",
        Kind::Choice(&["update", "keep", "new"]),
        "what becomes of a post whose entry changed",
    ),
    Entry::new(
        "source.full-text",
        Kind::Choice(&["off", "when-short", "always"]),
        "whether the pages of entries are fetched for their text",
    ),
    Entry::new("posts.keep-html", Kind::Flag, "whether the HTML of entries is stored"),
    Entry::count("posts.size-max", 1024, 268_435_456, "bytes of text and HTML that a post may have"),
    Entry::count("source.remember-cleaned-days", 1, 36_500, "days that a cleaned post is remembered"),
    Entry::count(
        "source.freshness-ceiling-hours",
        0,
        YEAR_HOURS,
        "hours that an answer's freshness can ask for at most",
    ),
    Entry::count("source.retry-after-ceiling-days", 1, 365, "days that Retry-After can ask for at most"),
    Entry::count("source.moved-after-days", 1, 365, "days of permanent redirects after which a new URL is saved"),
    Entry::count(
        "source.host-overrides.<host>.poll-delay-seconds",
        0,
        DAY_SECONDS,
        "seconds between two requests to this host",
    ),
    Entry::count("source.rest.not-found.after", 0, 1_000_000, "404s in a row that start a rest"),
    Entry::count("source.rest.not-found.cooldown-hours", 1, YEAR_HOURS, "hours of rest after 404s"),
    Entry::count("source.rest.gone.after", 0, 1_000_000, "410s in a row that start a rest"),
    Entry::count("source.rest.gone.cooldown-hours", 1, YEAR_HOURS, "hours of rest after 410s"),
    Entry::count("source.rest.forbidden.after", 0, 1_000_000, "403s in a row that start a rest"),
    Entry::count("source.rest.forbidden.cooldown-hours", 1, YEAR_HOURS, "hours of rest after 403s"),
    Entry::count("source.rest.upstream-failure.after", 0, 1_000_000, "5xx answers in a row that start a rest"),
    Entry::count("source.rest.upstream-failure.cooldown-hours", 1, YEAR_HOURS, "hours of rest after 5xx answers"),
    Entry::count("source.rest.network.after", 0, 1_000_000, "network failures in a row that start a rest"),
    Entry::count("source.rest.network.cooldown-hours", 1, YEAR_HOURS, "hours of rest after network failures"),
    Entry::count("source.rest.parse-error.after", 0, 1_000_000, "unreadable answers in a row that start a rest"),
    Entry::count("source.rest.parse-error.cooldown-hours", 1, YEAR_HOURS, "hours of rest after unreadable answers"),
    Entry::count("source.rest.unauthorized.after", 0, 1_000_000, "401s in a row that start a rest"),
    Entry::count("source.rest.unauthorized.cooldown-hours", 1, YEAR_HOURS, "hours of rest after 401s"),
    Entry::count(
        "host.breaker-after-failures",
        1,
        1_000_000,
        "requests in a row without an answer that open the breaker",
    ),
    Entry::count("host.breaker-pause-minutes", 1, WEEK_MINUTES, "minutes that a silent host is left alone at first"),
    Entry::count("host.breaker-pause-max-minutes", 1, WEEK_MINUTES, "minutes that a silent host is left alone at most"),
    Entry::count("host.spread-minutes", 0, 1_440, "minutes over which sources that were freed together come back"),
    Entry::count("outage.hosts", 2, 1_000, "silent hosts, with none answering, that mean an outage of our own"),
    Entry::count("outage.probe-seconds", 1, 3_600, "seconds before the first probe of an outage"),
    Entry::count("outage.probe-max-seconds", 1, 3_600, "seconds between two probes of an outage at most"),
    Entry::count("scheduler.tick-seconds", 1, 3_600, "seconds between two looks at what is due"),
    Entry::count("http.deadline-seconds", 1, 3_600, "seconds that a request may take in all"),
    Entry::count("http.connect-timeout-seconds", 1, 300, "seconds that one attempt to connect may take"),
    Entry::count("http.idle-timeout-seconds", 0, 300, "seconds that an unused connection is kept"),
    Entry::count("http.body-bytes-max", 1_024, 1 << 30, "bytes of the largest body, after decoding"),
    Entry::count("http.redirects-max", 0, 20, "redirects that are followed at most"),
    Entry::new("http.user-agent", Kind::UserAgent, "who we say we are"),
    Entry::new("http.contact-url", Kind::ContactUrl, "where publishers reach the operator"),
    Entry::new("http.allow-private-networks", Kind::Flag, "whether addresses that are not public may be asked"),
    Entry::new("http.allowed-networks", Kind::Networks, "networks that may be asked although they are not public"),
    Entry::new("http.proxy", Kind::ProxyUrl, "the proxy that all requests go through"),
    Entry::new("http.tls-ca-file", Kind::Path, "further certificate authorities to trust"),
    Entry::new("http.static-hosts.<host>", Kind::Address, "the address of this name, instead of looking it up"),
    Entry::new("x.base-url", Kind::BaseUrl, "where X's API is"),
    Entry::new("database.url", Kind::Database, "where sources and posts are kept"),
    Entry::new("database.encryption-key", Kind::EncryptionKey, "the key under which API keys are kept"),
    Entry::new("database.encryption-key-file", Kind::Path, "the file that holds the encryption key"),
    Entry::new("database.sqlite.synchronous", Kind::Choice(&["full", "normal"]), "what a power failure may cost"),
    Entry::count("database.sqlite.readers", 1, 64, "threads that read"),
    Entry::count("database.sqlite.busy-timeout-seconds", 0, 300, "seconds to wait for another process"),
    Entry::count("database.postgres.pool-size", 1, 1_000, "connections held at once at most"),
    Entry::count("database.postgres.connect-timeout-seconds", 1, 300, "seconds to wait for a connection"),
    Entry::count("database.postgres.statement-timeout-seconds", 1, 3_600, "seconds that one statement may take"),
    Entry::new("database.postgres.tls", Kind::Choice(&["disable", "require"]), "whether the connection is encrypted"),
    Entry::new("database.postgres.tls-ca-file", Kind::Path, "the certificate authorities to trust"),
    Entry::new(
        "logging.level",
        Kind::Choice(&["critical", "error", "warn", "info", "debug", "trace"]),
        "the least severe level that is written",
    ),
    Entry::new("logging.format", Kind::Choice(&["auto", "json", "human"]), "the shape of a record"),
    Entry::new("logging.file", Kind::Path, "the file to append to"),
    Entry::count("logging.queue-records", 1, 1 << 20, "records that may wait to be written"),
    Entry::count("webhooks.timeout-seconds", 1, 50, "seconds that a webhook may take to answer"),
    Entry::count("webhooks.posts-max", 1, 1_000, "posts of one delivery to a webhook"),
    Entry::count("webhooks.body-bytes-max", 1_024, 1 << 28, "bytes of one delivery to a webhook"),
    Entry::count("webhooks.retry-first-seconds", 1, 3_600, "seconds before a failed delivery is made again"),
    Entry::count(
        "webhooks.retry-max-minutes",
        1,
        WEEK_MINUTES,
        "minutes before a failed delivery is made again at most",
    ),
    Entry::count("webhooks.failures-max", 1, 1_000_000, "failures in a row that disable a webhook"),
    Entry::count("fetch.concurrency", 1, 10_000, "polls under way at once"),
    Entry::count("fetch.threads", 0, 64, "threads that fetch"),
    Entry::count("daemon.drain-seconds", 0, 3_600, "seconds that polls under way may take to end"),
    Entry::count("supervision.restarts-max", 0, 1_000_000, "restarts that are borne within the window"),
    Entry::count("supervision.within-seconds", 1, DAY_SECONDS, "the window, in seconds"),
    Entry::count("supervision.delay-first-milliseconds", 0, 60_000, "milliseconds before the first restart"),
    Entry::count("supervision.delay-max-milliseconds", 0, 3_600_000, "milliseconds before a restart at most"),
    Entry::new("faults.enabled", Kind::Flag, "whether things go wrong on purpose"),
    Entry::count("faults.seed", 0, u64::MAX, "where the dice of the faults start"),
    Entry::count("faults.limit", 0, u64::MAX, "the most faults"),
    Entry::new("faults.rules", Kind::Faults, "what goes wrong on purpose"),
    Entry::new("api.socket", Kind::Path, "the admin socket"),
    Entry::new("api.listen", Kind::Listen, "the address and port for HTTP"),
    Entry::new("api.jwt-secret", Kind::SigningSecret, "the secret that signs tokens"),
    Entry::new("api.jwt-secret-file", Kind::Path, "the file that holds the secret"),
    Entry::new("api.jwt-algorithm", Kind::Choice(&["HS256", "RS256", "EdDSA"]), "how tokens are signed"),
    Entry::new("api.jwt-public-key-file", Kind::Path, "the file that holds the public key tokens are checked with"),
    Entry::new("api.jwt-audience", Kind::Words, "audience that tokens must have"),
    Entry::count("api.jwt-leeway-seconds", 0, 300, "seconds that clocks of token issuers may be off"),
    Entry::count("api.body-bytes-max", 1_024, 1 << 28, "bytes of the largest JSON body"),
    Entry::count("api.import-bytes-max", 1_024, 1 << 30, "bytes of the largest OPML list"),
    Entry::count("api.requests-per-second", 1, 1_000_000, "requests a second over TCP with one token"),
    Entry::count("api.connections-max", 2, 100_000, "connections of each listener at once"),
    Entry::count("api.streams-max", 1, 100_000, "streams of posts of each listener at once"),
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
