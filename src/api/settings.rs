//! The settings of the listeners.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

/// The listeners through which the running daemon is asked and told things.
#[derive(Clone, Debug)]
pub struct ApiSettings {
    /// The admin socket.
    pub socket: PathBuf,
    /// The TCP listener's address; none without one.
    pub listen: Option<SocketAddr>,
    /// Who is let in by TCP; always there if `listen` is.
    pub tokens: Option<TokenSettings>,
    /// What nobody may exceed.
    pub limits: Limits,
}

/// Who is let in by TCP.
#[derive(Clone, Debug)]
pub struct TokenSettings {
    /// What tokens are checked with.
    pub key: TokenKey,
    /// Whom tokens have to be meant for, if anybody in particular.
    pub audience: Option<String>,
    /// How far the clocks of whoever issues tokens may be off.
    pub leeway: Duration,
}

/// What tokens are checked with.
#[derive(Clone, Debug)]
pub enum TokenKey {
    /// HS256: the secret that also signs them.
    Secret(SecretString),
    /// RS256: the public key in PEM.
    Rsa(String),
    /// EdDSA: the public key in PEM.
    Ed25519(String),
}

/// What nobody may exceed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest JSON body.
    pub body_bytes: usize,
    /// The largest OPML list.
    pub import_bytes: usize,
    /// Requests over TCP with one token, or from one address without a good one, in the long run; twice as many at once.
    pub requests_per_second: u32,
    /// Connections of each listener.
    pub connections: usize,
    /// Streams of posts of each listener; fewer than connections, so that others get through.
    pub streams: usize,
    /// How long an answer may take that is no stream or list of everything. A client that takes or sends nothing for a
    /// quarter longer is let go of.
    pub answer_within: Duration,
}

impl Default for ApiSettings {
    fn default() -> ApiSettings {
        ApiSettings { socket: PathBuf::from("feedwarden.sock"), listen: None, tokens: None, limits: Limits::default() }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body_bytes: 1 << 20,
            import_bytes: 64 << 20,
            requests_per_second: 50,
            connections: 512,
            streams: 256,
            answer_within: Duration::from_secs(60),
        }
    }
}
