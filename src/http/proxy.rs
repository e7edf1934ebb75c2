//! Through a proxy: `CONNECT` for https over an HTTP proxy, SOCKS5 for everything. Plain http over an HTTP proxy is
//! requested in absolute form, by the client.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_socks::TargetAddr;
use tokio_socks::tcp::Socks5Stream;
use url::Url;

use super::request::credentials_of;

/// Maximum size of the response to `CONNECT`, in bytes.
const ANSWER_BYTES_MAX: usize = 8 * 1024;

/// The proxy that requests go through.
#[derive(Clone)]
pub(super) struct Proxy {
    pub(super) kind: ProxyKind,
    pub(super) host: String,
    pub(super) port: u16,
    /// The value of `Proxy-Authorization`.
    pub(super) authorization: Option<String>,
    login: Option<(String, String)>,
    /// Whether it is the proxy of one source: its address is vetted, and its failures say nothing about our own network.
    pub(super) is_of_source: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProxyKind {
    Http,
    /// SOCKS5, with names looked up and vetted on our side.
    Socks,
    /// SOCKS5, with names looked up by the proxy.
    SocksNames,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Proxy({:?} {}:{})", self.kind, self.host, self.port)
    }
}

impl Proxy {
    /// The proxy of one source.
    pub(super) fn of_source(url: &Url) -> Result<Proxy, String> {
        Ok(Proxy { is_of_source: true, ..Proxy::from_setting(url)? })
    }

    /// Parses the setting; the error does not contain the password.
    pub(super) fn from_setting(url: &Url) -> Result<Proxy, String> {
        let (kind, default_port) = match url.scheme() {
            "http" => (ProxyKind::Http, 80),
            "socks5" => (ProxyKind::Socks, 1080),
            "socks5h" => (ProxyKind::SocksNames, 1080),
            other => return Err(format!("{other} is not a kind of proxy: http, socks5 and socks5h are")),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or("the proxy has no host")?;
        let decoded = |text: &str| String::from_utf8(super::request::percent_decoded(text)).unwrap_or_default();
        let login = (!url.username().is_empty())
            .then(|| (decoded(url.username()), decoded(url.password().unwrap_or_default())));
        Ok(Proxy {
            kind,
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(default_port),
            authorization: credentials_of(url),
            login,
            is_of_source: false,
        })
    }
}

#[derive(Clone, Debug)]
pub(super) enum ProxyTarget {
    Address(SocketAddr),
    Name(String, u16),
}

/// Establishes a tunnel to the target.
pub(super) async fn tunnel(proxy: &Proxy, mut stream: TcpStream, target: ProxyTarget) -> Result<TcpStream, String> {
    if proxy.kind == ProxyKind::Http {
        connect(proxy, &mut stream, &target).await?;
        return Ok(stream);
    }
    let target = match target {
        ProxyTarget::Address(address) => TargetAddr::Ip(address),
        ProxyTarget::Name(name, port) => TargetAddr::Domain(name.into(), port),
    };
    let tunnelled = match &proxy.login {
        Some((name, password)) => Socks5Stream::connect_with_password_and_socket(stream, target, name, password).await,
        None => Socks5Stream::connect_with_socket(stream, target).await,
    };
    tunnelled.map(Socks5Stream::into_inner).map_err(|error| format!("the proxy did not connect us: {error}"))
}

async fn connect(proxy: &Proxy, stream: &mut TcpStream, target: &ProxyTarget) -> Result<(), String> {
    let authority = match target {
        ProxyTarget::Address(address) => address.to_string(),
        ProxyTarget::Name(name, port) => format!("{name}:{port}"),
    };
    let authorization =
        proxy.authorization.as_ref().map(|value| format!("Proxy-Authorization: {value}\r\n")).unwrap_or_default();
    let request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{authorization}\r\n");
    let unreadable = |error: io::Error| format!("the proxy did not connect us: {error}");
    stream.write_all(request.as_bytes()).await.map_err(unreadable)?;
    // Reads byte by byte, because bytes after the response belong to the TLS handshake.
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= ANSWER_BYTES_MAX {
            return Err("the proxy's answer is too large".into());
        }
        answer.push(stream.read_u8().await.map_err(unreadable)?);
    }
    let line = String::from_utf8_lossy(&answer);
    match line.split_ascii_whitespace().nth(1) {
        Some(status) if line.starts_with("HTTP/1.") && status.starts_with('2') && status.len() == 3 => Ok(()),
        Some(status) if line.starts_with("HTTP/1.") => {
            Err(format!("the proxy did not connect us: HTTP {}", status.chars().take(3).collect::<String>()))
        }
        _ => Err("the proxy's answer is not HTTP".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p37_a_proxy_is_read_with_its_credentials_and_printed_without() {
        let proxy = Proxy::from_setting(&Url::parse("socks5://ann:se%40cret@[::1]:9050").unwrap()).unwrap();
        assert_eq!((proxy.kind, proxy.host.as_str(), proxy.port), (ProxyKind::Socks, "::1", 9050));
        assert_eq!(proxy.login, Some(("ann".into(), "se@cret".into())));
        assert_eq!(format!("{proxy:?}"), "Proxy(Socks ::1:9050)");
    }

    #[test]
    fn a_proxy_of_another_kind_is_an_error_of_configuration() {
        let error = Proxy::from_setting(&Url::parse("ftp://ann:secret@proxy.example").unwrap()).unwrap_err();
        assert_eq!(error, "ftp is not a kind of proxy: http, socks5 and socks5h are");
    }
}
