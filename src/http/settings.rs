//! The settings of the HTTP client.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use url::Url;

/// Bounds and manners of every request.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpSettings {
    /// Everything from name resolution to the last byte of the body happens within this.
    pub deadline: Duration,
    /// One attempt to connect, TLS included, ends within this.
    pub connect_timeout: Duration,
    /// A connection that is kept because more is wanted from its host is let go when it was not used for this long.
    pub idle_timeout: Duration,
    /// The largest body, after decoding.
    pub body_bytes_max: usize,
    /// The most redirects that are followed.
    pub redirects_max: u32,
    /// Who we say we are.
    pub user_agent: String,
    /// Whether addresses that are not on the public internet may be asked.
    pub allow_private_networks: bool,
    /// Networks that may be asked although they are not public.
    pub allowed_networks: Vec<IpNet>,
    /// The proxy that all requests go through: `http://…`, `socks5://…` or `socks5h://…`, credentials included. With
    /// `socks5` names are looked up and vetted here; with the other two the proxy looks names up, so that only
    /// addresses written in URLs can be vetted here.
    pub proxy: Option<Url>,
    /// A PEM file of further certificate authorities, for publishers inside a network of one's own.
    pub authorities: Option<PathBuf>,
    /// Names whose address is not looked up.
    pub static_hosts: HashMap<String, IpAddr>,
}

impl Default for HttpSettings {
    fn default() -> HttpSettings {
        HttpSettings {
            deadline: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(10),
            body_bytes_max: 10 * 1024 * 1024,
            redirects_max: 5,
            user_agent: concat!("feedwarden/", env!("CARGO_PKG_VERSION"), " (+https://feedwarden.example/contact)")
                .into(),
            allow_private_networks: false,
            allowed_networks: Vec::new(),
            proxy: None,
            authorities: None,
            static_hosts: HashMap::new(),
        }
    }
}
