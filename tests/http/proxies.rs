//! Through a proxy, and what the proxy is told.

use super::server::{Act, Server, answer, ok, unused_address};
use super::tls::Authority;
use super::{client, outcome, settings};
use feedwarden::http::{HttpSettings, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

fn through(proxy: &str, settings: HttpSettings) -> HttpSettings {
    HttpSettings { proxy: Some(proxy.parse().unwrap()), ..settings }
}

#[tokio::test]
async fn plain_http_is_asked_of_an_http_proxy_in_absolute_form() {
    let proxy = Server::play(vec![Act::Read, ok("by proxy")]).await;
    let settings = through(&proxy.url("").replace("://", "://ann:s%3Acret@"), settings());
    // The name exists only for the proxy.
    let result = client(settings).send(&Request::new("http://bob:word@feeds.invalid/feed?a=1#b")).await;
    assert_eq!(outcome(result), "200: by proxy");
    let head = &proxy.requests()[0];
    assert!(head.starts_with("GET http://feeds.invalid/feed?a=1 HTTP/1.1\r\nHost: feeds.invalid\r\n"), "{head}");
    assert!(head.contains("\r\nProxy-Authorization: Basic YW5uOnM6Y3JldA==\r\n"), "{head}");
    assert!(head.contains("\r\nAuthorization: Basic Ym9iOndvcmQ=\r\n"), "{head}");
}

/// A proxy that answers `CONNECT` with this text and then passes bytes on to the target.
async fn tunnelling(target: std::net::SocketAddr, text: &'static str) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://ann:secret@{}", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut target = TcpStream::connect(target).await.unwrap();
        // Either side may reset what it no longer needs.
        let _ = copy_bidirectional(&mut stream, &mut target).await;
        String::from_utf8(head).unwrap()
    });
    (url, task)
}

#[tokio::test]
async fn https_goes_through_a_tunnel_and_the_proxy_never_sees_credentials() {
    let authority = Authority::new();
    let server = Server::play(vec![authority.certified("feeds.example"), Act::Read, ok("safe")]).await;
    let (proxy, seen) = tunnelling(server.address, "HTTP/1.1 200 Connection established\r\n\r\n").await;
    let settings = through(&proxy, authority.settings());
    let result = client(settings).send(&Request::new("https://bob:word@feeds.example/feed")).await;
    assert_eq!(outcome(result), "200: safe");
    assert_eq!(
        seen.await.unwrap(),
        "CONNECT feeds.example:443 HTTP/1.1\r\nHost: feeds.example:443\r\n\
         Proxy-Authorization: Basic YW5uOnNlY3JldA==\r\n\r\n"
    );
    let head = &server.requests()[0];
    assert!(head.starts_with("GET /feed HTTP/1.1\r\n") && !head.contains("Proxy-"), "{head}");
}

#[tokio::test]
async fn a_proxy_that_does_not_connect_us_is_named_as_the_cause() {
    for (text, expected) in [
        ("HTTP/1.1 407 Login\r\n\r\n", "Connection: the proxy did not connect us: HTTP 407"),
        ("HTTP/1.1 502 Bad\r\n\r\n", "Connection: the proxy did not connect us: HTTP 502"),
        ("SSH-2.0\r\n\r\n", "Connection: the proxy's answer is not HTTP"),
    ] {
        let proxy = Server::play(answer(text)).await;
        let settings = through(&proxy.url("").replace("://", "://ann:secret@"), settings());
        assert_eq!(outcome(client(settings).send(&Request::new("https://feeds.invalid/")).await), expected);
    }
}

#[tokio::test]
async fn p36_an_address_written_in_the_url_is_vetted_before_a_proxy_is_asked() {
    for scheme in ["http", "socks5", "socks5h"] {
        let proxy = Server::play(vec![Act::Read, ok("")]).await;
        let settings = HttpSettings {
            allow_private_networks: false,
            ..through(&format!("{scheme}://{}", proxy.address), settings())
        };
        let result = client(settings).send(&Request::new("http://10.0.0.1/")).await;
        assert_eq!(
            outcome(result),
            "AddressRefused: address 10.0.0.1 is refused: private; see http.allowed-networks",
            "{scheme}"
        );
        assert!(proxy.requests().is_empty());
    }
}

/// What a SOCKS5 client says to connect, and what it is told.
struct Socks {
    login: bool,
    /// The request without its port.
    request: Vec<u8>,
    answer: u8,
}

/// Plays a SOCKS5 server for one connection, checks what it is told, and passes bytes on to the target.
async fn socks(target: std::net::SocketAddr, script: Socks) -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut greeting = [0; 2];
        stream.read_exact(&mut greeting).await.unwrap();
        let mut methods = vec![0; usize::from(greeting[1])];
        stream.read_exact(&mut methods).await.unwrap();
        if script.login {
            assert!(methods.contains(&2));
            stream.write_all(&[5, 2]).await.unwrap();
            let mut login = [0; 13];
            stream.read_exact(&mut login).await.unwrap();
            assert_eq!(&login, b"\x01\x03ann\x07s:ecret");
            stream.write_all(&[1, 0]).await.unwrap();
        } else {
            stream.write_all(&[5, 0]).await.unwrap();
        }
        let mut request = vec![0; script.request.len() + 2];
        stream.read_exact(&mut request).await.unwrap();
        assert_eq!(&request[..script.request.len()], script.request);
        stream.write_all(&[5, script.answer, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
        if script.answer == 0 {
            let mut target = TcpStream::connect(target).await.unwrap();
            // Either side may reset what it no longer needs.
            let _ = copy_bidirectional(&mut stream, &mut target).await;
        }
    });
    (address, task)
}

#[tokio::test]
async fn socks5_is_told_the_address_that_was_vetted_here() {
    let server = Server::play(vec![Act::Read, ok("by socks")]).await;
    let request = vec![5, 1, 0, 1, 127, 0, 0, 1];
    let (address, task) = socks(server.address, Socks { login: true, request, answer: 0 }).await;
    let authority = Authority::new();
    let settings = through(&format!("socks5://ann:s%3Aecret@{address}"), authority.settings());
    assert_eq!(outcome(client(settings).send(&Request::new("http://feeds.example/")).await), "200: by socks");
    task.await.unwrap();
    assert!(server.requests()[0].starts_with("GET / HTTP/1.1\r\nHost: feeds.example\r\n"));
}

#[tokio::test]
async fn socks5h_is_told_the_name() {
    let server = Server::play(vec![Act::Read, ok("by socks")]).await;
    let request = [b"\x05\x01\x00\x03\x0d".as_slice(), b"feeds.invalid"].concat();
    let (address, task) = socks(server.address, Socks { login: false, request, answer: 0 }).await;
    let settings = through(&format!("socks5h://{address}"), settings());
    assert_eq!(outcome(client(settings).send(&Request::new("http://feeds.invalid/")).await), "200: by socks");
    task.await.unwrap();
}

#[tokio::test]
async fn a_socks_proxy_that_refuses_is_named_as_the_cause() {
    let request = [b"\x05\x01\x00\x03\x0d".as_slice(), b"feeds.invalid"].concat();
    let (address, task) = socks("127.0.0.1:9".parse().unwrap(), Socks { login: false, request, answer: 5 }).await;
    let settings = through(&format!("socks5h://{address}"), settings());
    let outcome = outcome(client(settings).send(&Request::new("http://feeds.invalid/")).await);
    assert_eq!(outcome, "Connection: the proxy did not connect us: Connection refused");
    task.await.unwrap();
}

#[tokio::test]
async fn p37_a_proxy_that_cannot_be_reached_does_not_show_its_password() {
    let settings = through(&format!("http://ann:hidden@{}", unused_address()), settings());
    let outcome = outcome(client(settings).send(&Request::new("http://feeds.invalid/")).await);
    assert_eq!(outcome, "NoNetwork: the proxy: connection refused while connecting to 127.0.0.1:PORT");
}

fn with_proxy(url: &str, proxy: &str) -> Request {
    Request { proxy: Some(proxy.parse().unwrap()), ..Request::new(url) }
}

#[tokio::test]
async fn a_request_goes_through_its_own_proxy_or_none_instead_of_the_configured_one() {
    let configured = Server::play(vec![Act::Read, ok("configured")]).await;
    let own = Server::play(vec![Act::Read, ok("own")]).await;
    let host = Server::play(vec![Act::Read, ok("itself")]).await;
    let client = client(through(&configured.url(""), settings()));
    let url = host.url("/feed");
    let asked = async |request: Request| outcome(client.send(&request).await);
    assert_eq!(asked(with_proxy(&url, &own.url(""))).await, "200: own");
    assert_eq!(asked(with_proxy(&url, "none")).await, "200: itself");
    assert_eq!(asked(Request::new(url.clone())).await, "200: configured");
    assert!(own.requests()[0].starts_with(&format!("GET {url} HTTP/1.1\r\n")), "{}", own.requests()[0]);
    assert!(host.requests()[0].starts_with("GET /feed HTTP/1.1\r\n"));
}

#[tokio::test]
async fn a_kept_connection_is_not_used_for_another_proxy() {
    let one = Server::play(vec![Act::Read, ok("one"), Act::Read, ok("one again")]).await;
    let other = Server::play(vec![Act::Read, ok("other")]).await;
    let client = client(settings());
    let asked = async |proxy: &Server| {
        let request = Request { keep_alive: true, ..with_proxy("http://feeds.invalid/", &proxy.url("")) };
        outcome(client.send(&request).await)
    };
    assert_eq!(asked(&one).await, "200: one");
    assert_eq!(client.idle_connections(), 1);
    assert_eq!(asked(&other).await, "200: other");
    assert_eq!(asked(&one).await, "200: one again");
    assert_eq!((one.requests().len(), other.requests().len()), (2, 1));
}

#[tokio::test]
async fn p31_a_source_proxy_that_is_away_says_nothing_about_the_host_or_our_network() {
    let away = unused_address();
    let result = client(settings()).send(&with_proxy("http://feeds.invalid/", &format!("http://{away}"))).await;
    let said = outcome(result);
    assert!(said.starts_with("SourceProxy: the source's proxy: ") && said.contains("refused"), "{said}");
    let result = client(settings()).send(&with_proxy("http://feeds.invalid/", "socks5://proxy.invalid")).await;
    let said = outcome(result);
    assert!(said.starts_with("SourceProxy: the source's proxy: DNS"), "{said}");
}

#[tokio::test]
async fn p36_the_address_of_a_source_proxy_is_vetted() {
    let proxy = Server::play(vec![Act::Read, ok("")]).await;
    for scheme in ["http", "socks5", "socks5h"] {
        let settings = HttpSettings { allow_private_networks: false, ..settings() };
        let own = format!("{scheme}://{}", proxy.address);
        let said = outcome(client(settings).send(&with_proxy("http://feeds.invalid/", &own)).await);
        assert!(said.starts_with("AddressRefused: the source's proxy: address 127.0.0.1 is refused"), "{said}");
    }
    assert!(proxy.requests().is_empty());
}
