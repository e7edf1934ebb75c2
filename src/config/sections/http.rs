//! `http.*`, and the settings of source types: `x.*`.

use std::path::Path;

use ipnet::{IpNet, Ipv6Net};

use super::super::effective::Effective;
use super::super::kind::KeyKind;
use super::super::schema::SchemaKey;
use crate::http::{HttpSettings, ResolverSettings};
use crate::sources::{TypeSettings, XSettings};

pub(super) const KEYS: &[SchemaKey] = &[
    SchemaKey::count("http.deadline-seconds", 1, 3_600, "seconds that a request may take in all"),
    SchemaKey::count("http.connect-timeout-seconds", 1, 300, "seconds that one attempt to connect may take"),
    SchemaKey::count("http.idle-timeout-seconds", 0, 300, "seconds that an unused connection is kept"),
    SchemaKey::count("http.body-bytes-max", 1_024, 1 << 30, "bytes of the largest body, after decoding"),
    SchemaKey::count("http.memory-max-megabytes", 1, 1 << 20, "megabytes that all bodies in flight may hold"),
    SchemaKey::count("http.redirects-max", 0, 20, "redirects that are followed at most"),
    SchemaKey::new("http.user-agent", KeyKind::UserAgent, "the User-Agent header"),
    SchemaKey::new("http.contact-url", KeyKind::ContactUrl, "contact for publishers"),
    SchemaKey::new(
        "http.allow-private-networks",
        KeyKind::Flag,
        "whether requests to addresses outside the public internet are allowed",
    ),
    SchemaKey::new("http.allowed-networks", KeyKind::Networks, "allowed networks that are not public"),
    SchemaKey::new("http.nat64-prefixes", KeyKind::Nat64Prefixes, "prefixes of the network's own NAT64"),
    SchemaKey::new("http.proxy", KeyKind::ProxyUrl, "the proxy that all requests go through"),
    SchemaKey::new("http.tls-ca-file", KeyKind::Path, "further certificate authorities to trust"),
    SchemaKey::count("http.tls-session-hosts-max", 0, 1_000_000, "hosts whose TLS sessions are kept"),
    SchemaKey::new("http.static-hosts.<host>", KeyKind::Address, "fixed address of this name"),
    SchemaKey::new("x.base-url", KeyKind::BaseUrl, "base URL of X's API"),
];

pub(in crate::config) fn http(values: &Effective) -> HttpSettings {
    let program = concat!("feedwarden/", env!("CARGO_PKG_VERSION"));
    let user_agent = match (values.text("http.user-agent"), values.url("http.contact-url")) {
        ("", Some(contact)) => format!("{program} (+{contact})"),
        ("", None) => program.to_owned(),
        (own, _) => own.to_owned(),
    };
    HttpSettings {
        deadline: values.seconds("http.deadline-seconds"),
        connect_timeout: values.seconds("http.connect-timeout-seconds"),
        idle_timeout: values.seconds("http.idle-timeout-seconds"),
        body_bytes_max: values.count_usize("http.body-bytes-max"),
        memory_bytes_max: values.count_usize("http.memory-max-megabytes").saturating_mul(1_000_000),
        redirects_max: values.count_u32("http.redirects-max"),
        user_agent,
        allow_private_networks: values.flag("http.allow-private-networks"),
        allowed_networks: values.networks("http.allowed-networks").to_vec(),
        nat64_prefixes: values.networks("http.nat64-prefixes").iter().filter_map(six).collect(),
        proxy: values.url("http.proxy").cloned(),
        authorities: values.path("http.tls-ca-file").map(Path::to_owned),
        tls_session_hosts_max: values.count_usize("http.tls-session-hosts-max"),
        static_hosts: values.static_hosts().collect(),
        resolver: ResolverSettings::default(),
    }
}

fn six(network: &IpNet) -> Option<Ipv6Net> {
    match network {
        IpNet::V6(network) => Some(*network),
        IpNet::V4(_) => None,
    }
}

pub(in crate::config) fn types(values: &Effective) -> TypeSettings {
    TypeSettings { x: XSettings { base_url: values.url("x.base-url").expect("a base URL is never empty").clone() } }
}
