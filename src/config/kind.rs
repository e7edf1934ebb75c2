//! What may be written for a key: every kind reads what a layer holds, or says what is wrong and what would be right.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use ::config::ValueKind;
use ipnet::IpNet;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::Url;

use super::database_url::DatabaseUrl;
use super::{network, scalar, secret};
use crate::actors::Fault;

/// What is shown instead of a secret.
pub(super) const MASK: &str = "********";

/// What may be written for a key.
#[derive(Debug)]
pub(super) enum KeyKind {
    /// A whole number within bounds.
    Count {
        min: u64,
        max: u64,
    },
    /// A whole number within bounds, or nothing.
    OptionalCount {
        min: u64,
        max: u64,
    },
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A path, or nothing.
    Path,
    /// The value of a `User-Agent` header, or nothing.
    UserAgent,
    /// A line of text, or nothing.
    Words,
    /// Where the operator can be reached.
    ContactUrl,
    /// Where a service is.
    BaseUrl,
    /// A proxy, or nothing.
    ProxyUrl,
    /// What a probe asks, or nothing.
    ProbeUrl,
    /// Where hubs reach this program, or nothing.
    CallbackUrl,
    /// A list of networks.
    Networks,
    /// A list of host names.
    HostNames,
    /// A list of prefixes of NAT64.
    Nat64Prefixes,
    /// A list of faults.
    Faults,
    Address,
    /// An IP address with a port, or nothing.
    Listen,
    /// One of the two engines.
    Database,
    /// 32 bytes in Base64, or nothing. Secret.
    EncryptionKey,
    /// A long text, or nothing. Secret.
    SigningSecret,
}

/// What a layer holds for a key: a file knows types, the environment and the command line only words.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raw<'a> {
    /// Out of a file.
    Typed(&'a ValueKind),
    /// Out of the environment or the command line.
    Words(&'a str),
}

#[derive(Clone, Debug)]
pub(super) enum SettingValue {
    Count(u64),
    OptionalCount(Option<u64>),
    Flag(bool),
    Choice(&'static str),
    Path(Option<PathBuf>),
    Text(String),
    Url(Option<Url>),
    Networks(Vec<IpNet>),
    HostNames(Vec<String>),
    Faults(Vec<Fault>),
    Address(IpAddr),
    Listen(Option<SocketAddr>),
    Database(DatabaseUrl),
    Secret(Option<SecretString>),
}

impl KeyKind {
    /// Reads a value of this kind, or says what is wrong with it and what would be right.
    pub(super) fn read(&self, raw: Raw<'_>) -> Result<SettingValue, String> {
        match self {
            KeyKind::Count { min, max } => scalar::count(raw, *min, *max).map(SettingValue::Count),
            KeyKind::OptionalCount { min, max } => {
                scalar::optional_count(raw, *min, *max).map(SettingValue::OptionalCount)
            }
            KeyKind::Flag => scalar::flag(raw).map(SettingValue::Flag),
            KeyKind::Choice(choices) => scalar::choice(raw, choices).map(SettingValue::Choice),
            KeyKind::Path => scalar::path(raw).map(SettingValue::Path),
            KeyKind::UserAgent => scalar::user_agent(raw).map(SettingValue::Text),
            KeyKind::Words => scalar::words(raw).map(SettingValue::Text),
            KeyKind::ContactUrl => network::contact_url(raw).map(SettingValue::Url),
            KeyKind::BaseUrl => network::base_url(raw).map(|url| SettingValue::Url(Some(url))),
            KeyKind::ProxyUrl => network::proxy_url(raw).map(SettingValue::Url),
            KeyKind::ProbeUrl => network::probe_url(raw).map(SettingValue::Url),
            KeyKind::CallbackUrl => network::callback_url(raw).map(SettingValue::Url),
            KeyKind::Networks => network::networks(raw).map(SettingValue::Networks),
            KeyKind::HostNames => network::host_names(raw).map(SettingValue::HostNames),
            KeyKind::Nat64Prefixes => network::nat64_prefixes(raw).map(SettingValue::Networks),
            KeyKind::Faults => network::faults(raw).map(SettingValue::Faults),
            KeyKind::Address => network::address(raw).map(SettingValue::Address),
            KeyKind::Listen => network::listen(raw).map(SettingValue::Listen),
            KeyKind::Database => DatabaseUrl::read(raw).map(SettingValue::Database),
            KeyKind::EncryptionKey => secret::read(raw, secret::encryption_key).map(SettingValue::Secret),
            KeyKind::SigningSecret => secret::read(raw, secret::signing_secret).map(SettingValue::Secret),
        }
    }
}

impl KeyKind {
    /// Whether what is written for this key contains a secret, or would if it were right.
    pub(super) fn holds_secret(&self, raw: Raw<'_>) -> bool {
        let Raw::Words(words) = raw else { return false };
        match self {
            KeyKind::EncryptionKey | KeyKind::SigningSecret => !words.trim().is_empty(),
            KeyKind::Database => DatabaseUrl::read(raw).is_ok_and(|url| url.has_password()),
            KeyKind::ProxyUrl => {
                network::proxy_url(raw).is_ok_and(|url| url.is_some_and(|url| url.password().is_some()))
            }
            _ => false,
        }
    }
}

impl SettingValue {
    /// The value for people and programs to see: nothing secret is in it.
    pub(super) fn shown(&self) -> serde_json::Value {
        match self {
            SettingValue::Count(count) => json!(count),
            SettingValue::OptionalCount(count) => count.map_or_else(|| json!(""), |count| json!(count)),
            SettingValue::Flag(flag) => json!(flag),
            SettingValue::Choice(word) => json!(word),
            SettingValue::Path(path) => {
                json!(path.as_ref().map_or_else(String::new, |path| path.display().to_string()))
            }
            SettingValue::Text(text) => json!(text),
            SettingValue::Url(url) => json!(url.as_ref().map_or_else(String::new, network::masked)),
            SettingValue::Networks(networks) => json!(networks.iter().map(IpNet::to_string).collect::<Vec<_>>()),
            SettingValue::HostNames(names) => json!(names),
            SettingValue::Faults(faults) => json!(faults.iter().map(Fault::to_string).collect::<Vec<_>>()),
            SettingValue::Address(address) => json!(address.to_string()),
            SettingValue::Listen(address) => json!(address.map_or_else(String::new, |address| address.to_string())),
            SettingValue::Database(url) => json!(url.masked()),
            SettingValue::Secret(secret) => json!(secret.as_ref().map_or("", |_| MASK)),
        }
    }

    /// Whether the other value means the same, what is never shown included.
    pub(super) fn is_same(&self, other: &SettingValue) -> bool {
        match (self, other) {
            (SettingValue::Secret(mine), SettingValue::Secret(others)) => {
                mine.as_ref().map(ExposeSecret::expose_secret) == others.as_ref().map(ExposeSecret::expose_secret)
            }
            (
                SettingValue::Database(DatabaseUrl::Postgres(mine)),
                SettingValue::Database(DatabaseUrl::Postgres(others)),
            ) => mine.expose_secret() == others.expose_secret(),
            (SettingValue::Url(mine), SettingValue::Url(others)) => mine == others,
            (mine, others) => mine.shown() == others.shown(),
        }
    }
}
