//! The settings of the listeners.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use secrecy::SecretString;

#[derive(Clone, Debug)]
pub struct ApiSettings {
    pub socket: PathBuf,
    pub listen: Option<SocketAddr>,
    /// Token settings; always present if `listen` is.
    pub tokens: Option<TokenSettings>,
    /// Networks of reverse proxies whose `Forwarded` and `X-Forwarded-For` name the client.
    pub trusted_proxies: Vec<IpNet>,
    /// Host names of the TCP listener besides `localhost` and IP addresses, in lower case.
    pub allowed_hosts: Vec<String>,
    pub limits: ApiLimits,
}

#[derive(Clone, Debug)]
pub struct TokenSettings {
    pub key: TokenKey,
    pub audience: Option<String>,
    /// Tolerated clock difference to the issuer of tokens.
    pub leeway: Duration,
}

#[derive(Clone, Debug)]
pub enum TokenKey {
    /// HS256: the secret that also signs them.
    Secret(SecretString),
    /// RS256: the public key in PEM.
    Rsa(String),
    /// EdDSA: the public key in PEM.
    Ed25519(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiLimits {
    /// The largest JSON body.
    pub body_bytes: usize,
    /// The largest OPML list.
    pub import_bytes: usize,
    /// Requests per second over TCP for each token, and for each address without a valid one; bursts of twice as many.
    /// Health checks do not count.
    pub requests_per_second: u32,
    /// Maximum number of connections per listener.
    pub connections: usize,
    /// Maximum number of streams per listener; fewer than connections, so that other requests get through.
    pub streams: usize,
    /// Time limit of a response that is not a stream or an export. A client that reads and sends nothing for a quarter
    /// longer is disconnected.
    pub answer_within: Duration,
}

impl Default for ApiSettings {
    fn default() -> ApiSettings {
        ApiSettings {
            socket: PathBuf::from("feedwarden.sock"),
            listen: None,
            tokens: None,
            trusted_proxies: Vec::new(),
            allowed_hosts: Vec::new(),
            limits: ApiLimits::default(),
        }
    }
}

impl Default for ApiLimits {
    fn default() -> ApiLimits {
        ApiLimits {
            body_bytes: 1 << 20,
            import_bytes: 64 << 20,
            requests_per_second: 50,
            connections: 512,
            streams: 256,
            answer_within: Duration::from_secs(60),
        }
    }
}
