//! From a name to its addresses. Says nothing about whether those addresses may be dialled: `address` does.

use std::collections::HashMap;
use std::net::IpAddr;

use futures_util::future::BoxFuture;
use hickory_resolver::TokioResolver;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::rr::Name;

/// Looks names up. A border, so that tests can answer differently from one lookup to the next.
pub trait Resolve: Send + Sync {
    /// The addresses of a name, in the order in which they should be tried.
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, ResolveError>>;
}

/// Why there are no addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The name does not exist, or has no address.
    #[error("name does not resolve")]
    NoSuchName,
    /// The resolver did not answer, or could not: nothing is known about the name.
    #[error("name could not be looked up: {0}")]
    NoAnswer(String),
}

/// The machine's own resolver configuration, with a cache that follows the records' time to live.
pub struct SystemResolver {
    resolver: TokioResolver,
    static_hosts: HashMap<String, IpAddr>,
}

impl SystemResolver {
    /// Reads the machine's configuration; `static_hosts` are never looked up.
    pub fn new(static_hosts: &HashMap<String, IpAddr>) -> Result<SystemResolver, NetError> {
        let static_hosts = static_hosts.iter().map(|(name, address)| (canonical(name), *address)).collect();
        Ok(SystemResolver { resolver: TokioResolver::builder_tokio()?.build()?, static_hosts })
    }
}

impl Resolve for SystemResolver {
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, ResolveError>> {
        Box::pin(async move {
            if !self.static_hosts.is_empty()
                && let Some(address) = self.static_hosts.get(&canonical(name))
            {
                return Ok(vec![*address]);
            }
            // What cannot be a name has no addresses, and nobody needs to be asked about it.
            let name = Name::from_ascii(name).map_err(|_| ResolveError::NoSuchName)?;
            let found = self.resolver.lookup_ip(name).await.map_err(read_error)?;
            let addresses: Vec<IpAddr> = found.iter().collect();
            if addresses.is_empty() { Err(ResolveError::NoSuchName) } else { Ok(addresses) }
        })
    }
}

/// Only the answer "there is no such thing" is the source's fault; a resolver that is down or overloaded is not.
fn read_error(error: NetError) -> ResolveError {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(_)) => ResolveError::NoSuchName,
        NetError::Timeout => ResolveError::NoAnswer("the resolver did not answer".into()),
        NetError::NoConnections => ResolveError::NoAnswer("no resolver can be reached".into()),
        other => ResolveError::NoAnswer(other.to_string()),
    }
}

fn canonical(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_static_host_is_found_whatever_its_spelling() {
        let address: IpAddr = "127.0.0.9".parse().unwrap();
        let resolver = SystemResolver::new(&HashMap::from([("Feeds.Example".into(), address)])).unwrap();
        assert_eq!(resolver.addresses("feeds.example.").await, Ok(vec![address]));
    }

    #[tokio::test]
    async fn s104_a_name_that_cannot_exist_does_not_resolve() {
        let resolver = SystemResolver::new(&HashMap::new()).unwrap();
        let name = format!("{}.example", "a".repeat(64));
        assert_eq!(resolver.addresses(&name).await, Err(ResolveError::NoSuchName));
    }

    #[test]
    fn s104_a_silent_resolver_is_not_a_missing_name() {
        assert_eq!(
            read_error(NetError::Timeout).to_string(),
            "name could not be looked up: the resolver did not answer"
        );
    }
}
