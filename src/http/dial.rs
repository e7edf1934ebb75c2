//! Connects to the host of a URL: resolve, vet, connect, TLS. Dials exactly the vetted address.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use super::address::AddressPolicy;
use super::client::{OptionalWindow, check_window};
use super::failure::{connection, from_io, from_resolve, no_network, no_route, other, refused_address, report};
use super::progress::{RequestProgress, RequestStage};
use super::proxy::{Proxy, ProxyKind, ProxyTarget, tunnel};
use super::resolve::Resolve;
use super::stream::Stream;
use crate::model::{FailureCause, FailureReport};

/// Maximum number of addresses to try.
const ADDRESSES_MAX: usize = 4;

pub(super) struct Dialer {
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) policy: AddressPolicy,
    pub(super) proxy: Option<Proxy>,
    pub(super) tls: Arc<ClientConfig>,
    pub(super) connect_timeout: Duration,
    pub(super) window: OptionalWindow,
}

impl Dialer {
    /// Connects to the host of the URL, trying its addresses one after the other.
    /// The address of a host that the operator chose is not vetted.
    pub(super) async fn dial(
        &self,
        url: &Url,
        proxy: Option<&Proxy>,
        is_operators: bool,
        progress: &mut RequestProgress,
    ) -> Result<Stream, FailureReport> {
        let host = url.host().ok_or_else(|| other("the URL has no host"))?;
        let port = url.port_or_known_default().ok_or_else(|| other("the URL has no port"))?;
        let server = if url.scheme() == "https" { Some(server_name(&host)?) } else { None };
        let routes = self.routes(&host, port, proxy, is_operators).await?;
        let tried = routes.len();
        let mut failure: Option<FailureReport> = None;
        for route in routes {
            let attempt = self.attempt(route, proxy, server.clone(), progress);
            let error = match tokio::time::timeout(self.connect_timeout, attempt).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => error,
                Err(_) => progress.too_late(self.connect_timeout),
            };
            let is_of_proxy = matches!(progress.stage, RequestStage::Connecting(_));
            let error = match proxy {
                Some(proxy) if proxy.is_of_source && is_of_proxy => source_proxy(&error.error),
                _ => error,
            };
            // Prefer the error of an address that responded: a machine without IPv6 has no route to half
            // of the addresses of every host.
            let weight = |cause| match cause {
                FailureCause::NoNetwork | FailureCause::NoRoute => 0,
                FailureCause::Unreachable => 1,
                _ => 2,
            };
            if failure.as_ref().is_none_or(|known| weight(known.cause) <= weight(error.cause)) {
                failure = Some(error);
            }
        }
        let mut failure = failure.unwrap_or_else(|| report(FailureCause::Dns, "DNS: the name has no addresses"));
        if tried > 1 {
            failure.error = format!("{} (one of {tried} addresses)", failure.error);
        }
        Err(failure)
    }

    /// All allowed routes to the host.
    async fn routes(
        &self,
        host: &Host<&str>,
        port: u16,
        proxy: Option<&Proxy>,
        is_operators: bool,
    ) -> Result<Vec<Route>, FailureReport> {
        let Some(proxy) = proxy else {
            let addresses = self.vetted(host, is_operators).await?;
            return Ok(addresses.into_iter().map(|address| Route::direct(address, port)).collect());
        };
        // The address of the configured proxy is not vetted, because the operator chose it.
        let proxy_address = match proxy.host.parse() {
            _ if proxy.is_of_source => self.vetted_proxy(proxy).await?,
            Ok(address) => address,
            Err(_) => *self
                .resolver
                .addresses(&proxy.host)
                .await
                .map_err(|error| no_network(format!("the proxy's {error}")))?
                .first()
                .ok_or_else(|| no_network("the proxy's name has no addresses"))?,
        };
        let first_hop = SocketAddr::new(proxy_address, proxy.port);
        let targets = match (proxy.kind, host) {
            // The proxy resolves the name, so there is no address to vet.
            (ProxyKind::Http | ProxyKind::SocksNames, Host::Domain(name)) => {
                vec![ProxyTarget::Name((*name).into(), port)]
            }
            _ => {
                let addresses = self.vetted(host, is_operators).await?;
                addresses.into_iter().map(|address| ProxyTarget::Address(SocketAddr::new(address, port))).collect()
            }
        };
        Ok(targets.into_iter().map(|target| Route { first_hop, target: Some(target) }).collect())
    }

    /// The address of the proxy of a source, if it is allowed.
    async fn vetted_proxy(&self, proxy: &Proxy) -> Result<IpAddr, FailureReport> {
        let host = match proxy.host.parse::<IpAddr>() {
            Ok(IpAddr::V4(address)) => Host::Ipv4(address),
            Ok(IpAddr::V6(address)) => Host::Ipv6(address),
            Err(_) => Host::Domain(proxy.host.as_str()),
        };
        let addresses = self.vetted(&host, false).await.map_err(|error| match error.cause {
            FailureCause::AddressRefused => report(error.cause, format!("the source's proxy: {}", error.error)),
            _ => source_proxy(&error.error),
        })?;
        addresses.first().copied().ok_or_else(|| source_proxy("its name has no addresses"))
    }

    /// Allowed addresses of the host; at least one.
    async fn vetted(&self, host: &Host<&str>, is_operators: bool) -> Result<Vec<IpAddr>, FailureReport> {
        let addresses = match host {
            Host::Domain(name) => self.resolver.addresses(name).await.map_err(from_resolve)?,
            Host::Ipv4(address) => vec![IpAddr::V4(*address)],
            Host::Ipv6(address) => vec![IpAddr::V6(*address)],
        };
        let mut refusal = report(FailureCause::Dns, "DNS: the name has no addresses");
        let mut vetted = Vec::new();
        for address in addresses {
            match self.policy.objection(address).filter(|_| !is_operators) {
                Some(objection) => refusal = refused_address(address, &objection),
                None => vetted.push(address),
            }
        }
        if vetted.is_empty() { Err(refusal) } else { Ok(families_in_turns(vetted)) }
    }

    async fn attempt(
        &self,
        route: Route,
        proxy: Option<&Proxy>,
        server: Option<ServerName<'static>>,
        progress: &mut RequestProgress,
    ) -> Result<Stream, FailureReport> {
        progress.stage = RequestStage::Connecting(route.first_hop);
        progress.note(|hop| hop.address = Some(route.first_hop));
        check_window(&self.window)?;
        let mut stream = TcpStream::connect(route.first_hop).await.map_err(|error| {
            let failure = no_route(from_io(&error, progress.stage), has_other_route(route.first_hop));
            // A refusing proxy belongs to our own network, and proves nothing about the publisher (p31).
            match proxy {
                Some(proxy) if !proxy.is_of_source => no_network(format!("the proxy: {}", failure.error)),
                _ => failure,
            }
        })?;
        if let (Some(proxy), Some(target)) = (proxy, route.target) {
            progress.stage = RequestStage::Waiting;
            // Plain http through an HTTP proxy needs no tunnel.
            if proxy.kind != ProxyKind::Http || server.is_some() {
                stream = tunnel(proxy, stream, target).await.map_err(connection)?;
            }
        }
        let Some(server) = server else {
            return Ok(Stream::plain(stream));
        };
        progress.stage = RequestStage::Securing;
        // Disable Nagle's algorithm: the end of the handshake and the request are two small writes.
        stream.set_nodelay(true).map_err(|error| from_io(&error, progress.stage))?;
        let stream = TlsConnector::from(Arc::clone(&self.tls))
            .connect(server, stream)
            .await
            .map_err(|error| from_io(&error, progress.stage))?;
        Ok(Stream::Tls(Box::new(stream)))
    }
}

fn source_proxy(error: &str) -> FailureReport {
    report(FailureCause::SourceProxy, format!("the source's proxy: {error}"))
}

/// Whether this machine has a route to the other kind of public addresses. Sends nothing: a UDP socket only looks the
/// route up.
fn has_other_route(address: SocketAddr) -> bool {
    let (from, to) = match address {
        SocketAddr::V4(_) => {
            (IpAddr::from(Ipv6Addr::UNSPECIFIED), IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)))
        }
        SocketAddr::V6(_) => (IpAddr::from(Ipv4Addr::UNSPECIFIED), IpAddr::from(Ipv4Addr::new(192, 0, 2, 1))),
    };
    UdpSocket::bind((from, 0)).and_then(|socket| socket.connect((to, 9))).is_ok()
}

/// One way to a host: directly, or over a proxy to a target behind it.
struct Route {
    first_hop: SocketAddr,
    target: Option<ProxyTarget>,
}

impl Route {
    fn direct(address: IpAddr, port: u16) -> Route {
        Route { first_hop: SocketAddr::new(address, port), target: None }
    }
}

/// The first few addresses, alternating between families: a machine without IPv6 must reach the IPv4 addresses of a
/// host with many IPv6 addresses.
fn families_in_turns(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let six_first = addresses.first().is_some_and(IpAddr::is_ipv6);
    let (mut first, mut second): (VecDeque<IpAddr>, VecDeque<IpAddr>) =
        addresses.into_iter().partition(|address| address.is_ipv6() == six_first);
    let turns = std::iter::from_fn(|| {
        let next = first.pop_front().or_else(|| second.pop_front());
        std::mem::swap(&mut first, &mut second);
        next
    });
    turns.take(ADDRESSES_MAX).collect()
}

fn server_name(host: &Host<&str>) -> Result<ServerName<'static>, FailureReport> {
    Ok(match host {
        Host::Domain(name) => ServerName::try_from(name.trim_end_matches('.').to_owned())
            .map_err(|_| other("the host cannot be the name on a TLS certificate"))?,
        Host::Ipv4(address) => ServerName::from(IpAddr::V4(*address)),
        Host::Ipv6(address) => ServerName::from(IpAddr::V6(*address)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("::1 ::2 ::3 ::4 ::5 1.1.1.1", "::1 1.1.1.1 ::2 ::3")]
    #[case("1.1.1.1 2.2.2.2 3.3.3.3 ::1 ::2", "1.1.1.1 ::1 2.2.2.2 ::2")]
    #[case("1.1.1.1 2.2.2.2", "1.1.1.1 2.2.2.2")]
    #[case("::1", "::1")]
    #[case("", "")]
    fn a_few_addresses_are_tried_the_families_in_turns(#[case] found: &str, #[case] tried: &str) {
        let parse = |text: &str| text.split_whitespace().map(|address| address.parse().unwrap()).collect::<Vec<_>>();
        assert_eq!(families_in_turns(parse(found)), parse(tried));
    }
}
