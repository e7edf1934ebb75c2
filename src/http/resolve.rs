//! Resolves names. `address` decides which of the addresses may be dialled.

use std::collections::HashMap;
use std::net::IpAddr;

use futures_util::future::BoxFuture;
use hickory_resolver::TokioResolver;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::rr::Name;

use super::settings::SetupError;

/// Resolver; a trait, so that tests can vary the result from one lookup to the next.
pub trait Resolve: Send + Sync {
    /// The addresses of a name, in the order in which they should be tried.
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, ResolveError>>;
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The name does not exist, or has no address.
    #[error("name does not resolve")]
    NoSuchName,
    /// The resolver returned an error, such as SERVFAIL.
    #[error("name does not resolve: the resolver says {0}")]
    Refused(String),
    /// The resolver did not respond.
    #[error("name could not be looked up: {0}")]
    NoAnswer(String),
}

/// Uses the system's configuration, with a cache that obeys the TTL of records.
pub struct SystemResolver {
    resolver: TokioResolver,
    static_hosts: HashMap<String, IpAddr>,
}

impl SystemResolver {
    /// Reads the system's configuration; `static_hosts` are never looked up.
    pub fn new(static_hosts: &HashMap<String, IpAddr>) -> Result<SystemResolver, SetupError> {
        let static_hosts = static_hosts.iter().map(|(name, address)| (canonical(name), *address)).collect();
        let resolver = TokioResolver::builder_tokio()
            .and_then(|builder| builder.build())
            .map_err(|error| SetupError::Resolver(error.to_string()))?;
        Ok(SystemResolver { resolver, static_hosts })
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
            // An invalid name needs no lookup.
            let mut name = Name::from_ascii(name).map_err(|_| ResolveError::NoSuchName)?;
            // Ignore the system's search list, which would resolve a missing name to another one after several
            // lookups. Names of one part are local and use the list.
            if name.num_labels() > 1 {
                name.set_fqdn(true);
            }
            let found = self.resolver.lookup_ip(name).await.map_err(read_error)?;
            let addresses: Vec<IpAddr> = found.iter().collect();
            if addresses.is_empty() { Err(ResolveError::NoSuchName) } else { Ok(addresses) }
        })
    }
}

/// Any response means that the name does not resolve; an unreachable resolver proves nothing (s104).
fn read_error(error: NetError) -> ResolveError {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(_)) => ResolveError::NoSuchName,
        NetError::Dns(DnsError::ResponseCode(code)) => ResolveError::Refused(code.to_str().to_owned()),
        NetError::Dns(other) => ResolveError::Refused(other.to_string()),
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
    use hickory_resolver::net::runtime::TokioRuntimeProvider;
    use hickory_resolver::proto::op::{Message, ResponseCode};
    use hickory_resolver::proto::rr::{RData, Record, RecordType};
    use tokio::net::UdpSocket;

    use super::super::failure::from_resolve;
    use super::*;
    use crate::model::FailureCause;

    /// A name server on loopback that knows `known.example`, and answers anything else with this code; and the count
    /// of what it was asked.
    async fn name_server(otherwise: ResponseCode) -> (SystemResolver, Arc<AtomicUsize>) {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = socket.local_addr().unwrap().port();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut buffer = [0; 2048];
            loop {
                let (length, client) = socket.recv_from(&mut buffer).await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let mut message = Message::from_vec(&buffer[..length]).unwrap().into_response();
                let query = message.queries[0].clone();
                if query.name().to_ascii().to_lowercase() != "known.example." {
                    message.metadata.response_code = otherwise;
                } else {
                    let address = match query.query_type() {
                        RecordType::A => RData::A("192.0.2.7".parse().unwrap()),
                        _ => RData::AAAA("2001:db8::7".parse().unwrap()),
                    };
                    message.answers = vec![Record::from_rdata(query.name().clone(), 300, address)];
                }
                socket.send_to(&message.to_vec().unwrap(), client).await.unwrap();
            }
        });
        (resolver_at(port), asked)
    }

    /// A resolver that asks a name server at this port of loopback.
    fn resolver_at(port: u16) -> SystemResolver {
        let mut connection = ConnectionConfig::udp();
        connection.port = port;
        let server = NameServerConfig::new("127.0.0.1".parse().unwrap(), true, vec![connection]);
        let configuration = ResolverConfig::from_name_servers(vec![server]);
        let resolver = TokioResolver::builder_with_config(configuration, TokioRuntimeProvider::default());
        SystemResolver { resolver: resolver.build().unwrap(), static_hosts: HashMap::new() }
    }

    #[tokio::test]
    async fn a_name_is_looked_up_once_and_then_remembered() {
        let (resolver, asked) = name_server(ResponseCode::NXDomain).await;
        for _ in 0..2 {
            let mut addresses = resolver.addresses("known.example").await.unwrap();
            addresses.sort();
            assert_eq!(addresses, ["192.0.2.7", "2001:db8::7"].map(|text| text.parse::<IpAddr>().unwrap()));
        }
        assert_eq!(asked.load(Ordering::SeqCst), 2, "asked once for each family, then never again");
    }

    #[tokio::test]
    async fn s104_a_name_that_does_not_exist_does_not_resolve() {
        let (resolver, _) = name_server(ResponseCode::NXDomain).await;
        assert_eq!(resolver.addresses("unknown.example").await, Err(ResolveError::NoSuchName));
        assert_eq!(resolver.addresses("under_score.example").await, Err(ResolveError::NoSuchName));
    }

    #[tokio::test]
    async fn s104_a_name_without_addresses_does_not_resolve() {
        let (resolver, _) = name_server(ResponseCode::NoError).await;
        assert_eq!(resolver.addresses("unknown.example").await, Err(ResolveError::NoSuchName));
    }

    #[tokio::test]
    async fn s104_a_name_does_not_resolve_whatever_the_resolver_says_of_it() {
        for (code, said) in [(ResponseCode::ServFail, "Server Failure"), (ResponseCode::Refused, "Query Refused")] {
            let (resolver, _) = name_server(code).await;
            let error = resolver.addresses("unknown.example").await.unwrap_err();
            assert_eq!(error.to_string(), format!("name does not resolve: the resolver says {said}"));
            assert_eq!(from_resolve(error).cause, FailureCause::Dns);
        }
    }

    #[tokio::test]
    async fn s104_p31_a_resolver_that_cannot_be_reached_says_nothing_about_the_name() {
        // A port that was free a moment ago: a name server that is not there.
        let port = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let error = resolver_at(port).addresses("unknown.example").await.unwrap_err();
        assert!(matches!(error, ResolveError::NoAnswer(_)), "{error}");
        assert_eq!(from_resolve(error).cause, FailureCause::NoNetwork);
    }

    #[tokio::test]
    async fn s104_what_cannot_be_a_name_does_not_resolve_and_nobody_is_asked() {
        let (resolver, asked) = name_server(ResponseCode::ServFail).await;
        let name = format!("{}.example", "a".repeat(64));
        assert_eq!(resolver.addresses(&name).await, Err(ResolveError::NoSuchName));
        assert_eq!(asked.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn a_static_host_is_found_whatever_its_spelling() {
        let address: IpAddr = "127.0.0.9".parse().unwrap();
        let resolver = SystemResolver::new(&HashMap::from([("Feeds.Example".into(), address)])).unwrap();
        assert_eq!(resolver.addresses("feeds.example.").await, Ok(vec![address]));
    }

    #[test]
    fn s104_p31_a_resolver_that_does_not_answer_is_named_as_such() {
        let error = read_error(NetError::Timeout);
        assert_eq!(error.to_string(), "name could not be looked up: the resolver did not answer");
    }
}
