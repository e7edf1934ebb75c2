//! The settings of the HTTP client.

use std::collections::HashMap;
use std::net::IpAddr;
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
    /// The proxy that all requests go through: `http://…` or `socks5://…`.
    pub proxy: Option<Url>,
    /// Names whose address is not looked up.
    pub static_hosts: HashMap<String, IpAddr>,
}

impl Default for HttpSettings {
    fn default() -> HttpSettings {
        HttpSettings {
            deadline: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            body_bytes_max: 10 * 1024 * 1024,
            redirects_max: 5,
            user_agent: concat!("feedwarden/", env!("CARGO_PKG_VERSION"), " (+https://feedwarden.example/contact)")
                .into(),
            allow_private_networks: false,
            allowed_networks: Vec::new(),
            proxy: None,
            static_hosts: HashMap::new(),
        }
    }
}
