//! The settings of the HTTP client.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::{IpNet, Ipv6Net};
use url::Url;

use super::request::without_credentials;
use super::resolver_files::ResolverSettings;

#[derive(Clone, PartialEq)]
pub struct HttpSettings {
    /// Deadline from name resolution to the last byte of the body.
    pub deadline: Duration,
    /// Timeout of one connection attempt, TLS included.
    pub connect_timeout: Duration,
    /// Time after which an idle connection is closed.
    pub idle_timeout: Duration,
    /// Maximum size of a decoded body.
    pub body_bytes_max: usize,
    /// Maximum size of all bodies in flight together.
    pub memory_bytes_max: usize,
    pub redirects_max: u32,
    pub user_agent: String,
    /// Whether addresses outside the public internet are allowed.
    pub allow_private_networks: bool,
    /// Allowed networks that are not public.
    pub allowed_networks: Vec<IpNet>,
    /// Prefixes of the network's own translators to IPv4 (NAT64), besides 64:ff9b::/96.
    pub nat64_prefixes: Vec<Ipv6Net>,
    /// The proxy that all requests go through: `http://…`, `socks5://…` or `socks5h://…`, credentials included. With
    /// `socks5` names are looked up and vetted here; with the other two the proxy looks names up, so that only
    /// addresses written in URLs can be vetted here.
    pub proxy: Option<Url>,
    /// PEM file of additional certificate authorities.
    pub authorities: Option<PathBuf>,
    /// Hosts whose TLS sessions are kept, so that the next connection is cheap.
    pub tls_session_hosts_max: usize,
    /// Fixed addresses of names.
    pub static_hosts: HashMap<String, IpAddr>,
    /// Where the system says how other names are resolved; read when the client is made.
    pub resolver: ResolverSettings,
}

impl HttpSettings {
    /// Whether publishers find a URL or an address of the operator in the user agent.
    pub fn has_contact(&self) -> bool {
        self.user_agent.contains("://") || self.user_agent.contains('@')
    }
}

impl Default for HttpSettings {
    fn default() -> HttpSettings {
        HttpSettings {
            deadline: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(10),
            body_bytes_max: 10 * 1024 * 1024,
            memory_bytes_max: 96_000_000,
            redirects_max: 5,
            user_agent: concat!("feedwarden/", env!("CARGO_PKG_VERSION")).into(),
            allow_private_networks: false,
            allowed_networks: Vec::new(),
            nat64_prefixes: Vec::new(),
            proxy: None,
            authorities: None,
            tls_session_hosts_max: 10_000,
            static_hosts: HashMap::new(),
            resolver: ResolverSettings::default(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The machine's resolver configuration.
    #[error("the machine's resolver configuration cannot be used: {0}")]
    Resolver(String),
    /// The file of further authorities.
    #[error("the certificate authorities cannot be used: {0}")]
    Authorities(String),
    #[error("the proxy cannot be used: {0}")]
    Proxy(String),
    #[error("the user agent holds characters that cannot be sent")]
    UserAgent,
}

impl fmt::Debug for HttpSettings {
    /// Leaves out the proxy's password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Taken apart, so that a new field cannot be forgotten here.
        let HttpSettings {
            deadline,
            connect_timeout,
            idle_timeout,
            body_bytes_max,
            memory_bytes_max,
            redirects_max,
            user_agent,
            allow_private_networks,
            allowed_networks,
            nat64_prefixes,
            proxy,
            authorities,
            tls_session_hosts_max,
            static_hosts,
            resolver,
        } = self;
        formatter
            .debug_struct("HttpSettings")
            .field("deadline", deadline)
            .field("connect_timeout", connect_timeout)
            .field("idle_timeout", idle_timeout)
            .field("body_bytes_max", body_bytes_max)
            .field("memory_bytes_max", memory_bytes_max)
            .field("redirects_max", redirects_max)
            .field("user_agent", user_agent)
            .field("allow_private_networks", allow_private_networks)
            .field("allowed_networks", allowed_networks)
            .field("nat64_prefixes", nat64_prefixes)
            .field("proxy", &proxy.as_ref().map(|url| without_credentials(url).to_string()))
            .field("authorities", authorities)
            .field("tls_session_hosts_max", tls_session_hosts_max)
            .field("static_hosts", static_hosts)
            .field("resolver", resolver)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p37_the_proxys_credentials_do_not_show_when_settings_are_printed() {
        for proxy in ["http://ann:hidden@proxy.example:3128", "socks5://ann:hidden@proxy.example"] {
            let settings = HttpSettings { proxy: Some(Url::parse(proxy).unwrap()), ..HttpSettings::default() };
            let printed = format!("{settings:?}");
            assert!(printed.contains("proxy.example") && !printed.contains("hidden"), "{printed}");
        }
    }
}
