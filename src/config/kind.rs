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
pub(super) enum Kind {
    /// A whole number within bounds.
    Count { min: u64, max: u64 },
    /// True or false.
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
    /// A list of networks.
    Networks,
    /// A list of faults.
    Faults,
    /// An IP address.
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

/// What was read.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Count(u64),
    Flag(bool),
    Choice(&'static str),
    Path(Option<PathBuf>),
    Text(String),
    Url(Option<Url>),
    Networks(Vec<IpNet>),
    Faults(Vec<Fault>),
    Address(IpAddr),
    Listen(Option<SocketAddr>),
    Database(DatabaseUrl),
    Secret(Option<SecretString>),
}

impl Kind {
    /// Reads a value of this kind, or says what is wrong with it and what would be right.
    pub(super) fn read(&self, raw: Raw<'_>) -> Result<Value, String> {
        match self {
            Kind::Count { min, max } => scalar::count(raw, *min, *max).map(Value::Count),
            Kind::Flag => scalar::flag(raw).map(Value::Flag),
            Kind::Choice(choices) => scalar::choice(raw, choices).map(Value::Choice),
            Kind::Path => scalar::path(raw).map(Value::Path),
            Kind::UserAgent => scalar::user_agent(raw).map(Value::Text),
            Kind::Words => scalar::words(raw).map(Value::Text),
            Kind::ContactUrl => network::contact_url(raw).map(|url| Value::Url(Some(url))),
            Kind::BaseUrl => network::base_url(raw).map(|url| Value::Url(Some(url))),
            Kind::ProxyUrl => network::proxy_url(raw).map(Value::Url),
            Kind::Networks => network::networks(raw).map(Value::Networks),
            Kind::Faults => network::faults(raw).map(Value::Faults),
            Kind::Address => network::address(raw).map(Value::Address),
            Kind::Listen => network::listen(raw).map(Value::Listen),
            Kind::Database => DatabaseUrl::read(raw).map(Value::Database),
            Kind::EncryptionKey => secret::read(raw, secret::encryption_key).map(Value::Secret),
            Kind::SigningSecret => secret::read(raw, secret::signing_secret).map(Value::Secret),
        }
    }
}

impl Value {
    /// The value for people and programs to see: nothing secret is in it.
    pub(super) fn shown(&self) -> serde_json::Value {
        match self {
            Value::Count(count) => json!(count),
            Value::Flag(flag) => json!(flag),
            Value::Choice(word) => json!(word),
            Value::Path(path) => json!(path.as_ref().map_or_else(String::new, |path| path.display().to_string())),
            Value::Text(text) => json!(text),
            Value::Url(url) => json!(url.as_ref().map_or_else(String::new, network::masked)),
            Value::Networks(networks) => json!(networks.iter().map(IpNet::to_string).collect::<Vec<_>>()),
            Value::Faults(faults) => json!(faults.iter().map(Fault::to_string).collect::<Vec<_>>()),
            Value::Address(address) => json!(address.to_string()),
            Value::Listen(address) => json!(address.map_or_else(String::new, |address| address.to_string())),
            Value::Database(url) => json!(url.masked()),
            Value::Secret(secret) => json!(secret.as_ref().map_or("", |_| MASK)),
        }
    }

    /// Whether the other value means the same, what is never shown included.
    pub(super) fn is_same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Secret(mine), Value::Secret(others)) => {
                mine.as_ref().map(ExposeSecret::expose_secret) == others.as_ref().map(ExposeSecret::expose_secret)
            }
            (Value::Database(DatabaseUrl::Postgres(mine)), Value::Database(DatabaseUrl::Postgres(others))) => {
                mine.expose_secret() == others.expose_secret()
            }
            (Value::Url(mine), Value::Url(others)) => mine == others,
            (mine, others) => mine.shown() == others.shown(),
        }
    }
}
