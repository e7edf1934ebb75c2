//! `api.*`.

use std::path::{Path, PathBuf};

use super::super::directories::Directories;
use super::super::effective::Effective;
use super::super::kind::KeyKind;
use super::super::problem::{ConfigProblem, Origin};
use super::super::schema::SchemaKey;
use super::super::secret;
use super::{add, one_secret};
use crate::api::settings::{ApiLimits, ApiSettings, TokenKey, TokenSettings};
use crate::store::settings::EngineSettings;

pub(super) const KEYS: &[SchemaKey] = &[
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
    SchemaKey::new("api.trusted-proxies", KeyKind::Networks, "networks of reverse proxies that name the client"),
    SchemaKey::new("api.allowed-hosts", KeyKind::HostNames, "host names that the TCP listener answers for"),
    SchemaKey::count("api.body-bytes-max", 1_024, 1 << 28, "bytes of the largest JSON body"),
    SchemaKey::count("api.import-bytes-max", 1_024, 1 << 30, "bytes of the largest OPML list"),
    SchemaKey::count("api.requests-per-second", 1, 1_000_000, "requests a second over TCP with one token"),
    SchemaKey::count("api.connections-max", 2, 100_000, "connections of each listener at once"),
    SchemaKey::count("api.streams-max", 1, 100_000, "streams of posts of each listener at once"),
];

/// The admin socket, unless a path is set: in the runtime directory, or else beside a database that a key places, or
/// else in the directory for state, where commands find it from every working directory.
pub(in crate::config) fn socket(values: &Effective, directories: &Directories, engine: &EngineSettings) -> PathBuf {
    if let Some(path) = values.path("api.socket") {
        return path.to_owned();
    }
    let beside = match engine {
        EngineSettings::Sqlite(sqlite) if *values.origin("database.url") != Origin::BuiltIn => {
            sqlite.path.parent().map(Path::to_owned)
        }
        _ => directories.state().map(Path::to_owned),
    };
    directories.runtime.clone().or(beside).unwrap_or_default().join("feedwarden.sock")
}

pub(in crate::config) fn api(values: &Effective, socket: PathBuf, problems: &mut Vec<ConfigProblem>) -> ApiSettings {
    let listen = values.listen("api.listen");
    let key = token_key(values, problems);
    let key_is_wrong =
        problems.iter().any(|problem| problem.key.as_deref().is_some_and(|key| key.starts_with("api.jwt-")));
    if listen.is_some() && key.is_none() && !key_is_wrong {
        let text = match values.choice("api.jwt-algorithm") {
            "HS256" => "no token could be verified; set api.jwt-secret or api.jwt-secret-file too, or leave this out",
            _ => "no token could be verified; set api.jwt-public-key-file too, or leave this out",
        };
        add(values, "api.listen", text.into(), problems);
    }
    if values.networks("api.trusted-proxies").iter().any(|network| network.prefix_len() == 0) {
        let text =
            "this trusts every address, so that no client could be told from a proxy; name the networks of the proxies";
        add(values, "api.trusted-proxies", text.into(), problems);
    }
    let audience = Some(values.text("api.jwt-audience").to_owned()).filter(|audience| !audience.is_empty());
    let leeway = values.seconds("api.jwt-leeway-seconds");
    ApiSettings {
        socket,
        listen,
        tokens: key.map(|key| TokenSettings { key, audience, leeway }),
        trusted_proxies: values.networks("api.trusted-proxies").to_vec(),
        allowed_hosts: values.host_names("api.allowed-hosts").to_vec(),
        limits: ApiLimits {
            body_bytes: values.count_usize("api.body-bytes-max"),
            import_bytes: values.count_usize("api.import-bytes-max"),
            requests_per_second: values.count_u32("api.requests-per-second"),
            connections: values.count_usize("api.connections-max"),
            streams: values.count_usize("api.streams-max"),
            ..ApiLimits::default()
        },
    }
}

/// What tokens are checked with, if anything.
fn token_key(values: &Effective, problems: &mut Vec<ConfigProblem>) -> Option<TokenKey> {
    let secret = one_secret(values, "api.jwt-secret", secret::signing_secret, problems);
    let file_key = "api.jwt-public-key-file";
    let file = values.path(file_key).map(Path::to_owned);
    let algorithm = values.choice("api.jwt-algorithm");
    if algorithm == "HS256" {
        if file.is_some() {
            let text =
                "a public key is of no use for HS256; set api.jwt-algorithm to RS256 or EdDSA, or leave this out";
            add(values, file_key, text.into(), problems);
        }
        return secret.map(TokenKey::Secret);
    }
    let path = file?;
    match std::fs::read_to_string(&path) {
        Ok(pem) if algorithm == "RS256" => Some(TokenKey::Rsa(pem)),
        Ok(pem) => Some(TokenKey::Ed25519(pem)),
        Err(cause) => {
            let name = path.display().to_string();
            add(values, file_key, format!("{} cannot be read: {cause}", name.escape_debug()), problems);
            None
        }
    }
}
