//! Certificates, good and bad, and the wrong protocol on the right port.

use std::collections::HashMap;
use std::sync::Arc;

use super::server::{Act, Server, answer, ok, send};
use super::{client, outcome, settings};
use feedwarden::http::{HttpSettings, Request};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rstest::rstest;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, SupportedProtocolVersion};

/// An authority of our own, known to the client through a file.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: tempfile::NamedTempFile,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        Authority::named("An authority of the tests")
    }

    fn named(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), issuer.pem()).unwrap();
        Authority { issuer, file }
    }

    /// Settings under which this authority is trusted and these names are on loopback.
    pub(super) fn settings(&self) -> HttpSettings {
        let loopback = "127.0.0.1".parse().unwrap();
        HttpSettings {
            authorities: Some(self.file.path().to_owned()),
            static_hosts: HashMap::from(
                ["feeds.example", "www.feeds.example", "other.example"].map(|name| (name.to_owned(), loopback)),
            ),
            ..settings()
        }
    }

    /// A server that shows a certificate for this name.
    pub(crate) fn certified(&self, name: &str) -> Act {
        self.certified_with(name, |_| {})
    }

    /// A server of these versions of TLS only, which keeps sessions in tickets.
    fn certified_as(&self, name: &str, versions: &[&'static SupportedProtocolVersion]) -> Act {
        let Act::Secure(configuration) = self.certified(name) else { unreachable!("made here") };
        let mut limited = ServerConfig::builder_with_provider(Arc::clone(configuration.crypto_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&configuration.cert_resolver));
        limited.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
        Act::Secure(Arc::new(limited))
    }

    fn certified_with(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Act {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        secure(certificate.der().clone(), &key)
    }
}

fn secure(certificate: rustls::pki_types::CertificateDer<'static>, key: &KeyPair) -> Act {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let configuration = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    Act::Secure(Arc::new(configuration))
}

/// Asks a server over https under this name.
async fn ask(settings: HttpSettings, name: &str, acts: Vec<Act>) -> String {
    let server = Server::play(acts).await;
    let url = format!("https://{name}:{}/", server.address.port());
    outcome(client(settings).send(&Request::new(url)).await)
}

#[rstest]
#[case::tls12(&rustls::version::TLS12)]
#[case::tls13(&rustls::version::TLS13)]
#[tokio::test]
async fn sessions_of_more_hosts_than_rustls_keeps_are_resumed(#[case] version: &'static SupportedProtocolVersion) {
    const HOSTS: usize = 100;
    let authority = Authority::new();
    let secure = authority.certified_as("*.feeds.example", &[version]);
    let name = |number| format!("host-{number}.feeds.example");
    let loopback = "127.0.0.1".parse().unwrap();
    let static_hosts: HashMap<String, std::net::IpAddr> = (0..HOSTS).map(|number| (name(number), loopback)).collect();
    let visit = [secure, Act::Read, ok("safe"), Act::NextConnection];
    for (kept, resumed) in [(HOSTS, HOSTS..=HOSTS), (10, 0..=HOSTS / 2), (0, 0..=0)] {
        let settings =
            HttpSettings { tls_session_hosts_max: kept, static_hosts: static_hosts.clone(), ..authority.settings() };
        let client = client(settings);
        let server = Server::play(visit.iter().cloned().cycle().take(visit.len() * HOSTS * 2).collect()).await;
        for number in (0..HOSTS).chain(0..HOSTS) {
            let url = format!("https://{}:{}/", name(number), server.address.port());
            assert_eq!(outcome(client.send(&Request::new(url)).await), "200: safe");
        }
        assert!(resumed.contains(&server.resumed()), "{} of {HOSTS} with places for {kept}", server.resumed());
    }
}

#[rstest]
#[case::name("feeds.example", "feeds.example")]
#[case::trailing_dot("feeds.example", "feeds.example.")]
#[case::wildcard("*.feeds.example", "www.feeds.example")]
#[case::address("127.0.0.1", "127.0.0.1")]
#[tokio::test]
async fn a_good_certificate_is_accepted(#[case] certified: &str, #[case] asked: &str) {
    let authority = Authority::new();
    let acts = vec![authority.certified(certified), Act::Read, ok("safe")];
    assert_eq!(ask(authority.settings(), asked, acts).await, "200: safe");
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused_and_both_names_are_told() {
    let authority = Authority::new();
    let acts = vec![authority.certified("other.example"), Act::Read, ok("")];
    let expected = "Connection: TLS certificate is for other.example, not for feeds.example";
    assert_eq!(ask(authority.settings(), "feeds.example", acts).await, expected);
}

#[tokio::test]
async fn an_expired_certificate_is_refused_with_its_last_day() {
    let authority = Authority::new();
    let expired = authority.certified_with("feeds.example", |params| params.not_after = date_time_ymd(2026, 3, 1));
    let outcome = ask(authority.settings(), "feeds.example", vec![expired, Act::Read, ok("")]).await;
    assert_eq!(outcome, "Connection: TLS certificate expired on 2026-03-01");
}

#[tokio::test]
async fn a_certificate_of_the_future_is_refused_with_its_first_day() {
    let authority = Authority::new();
    let future = authority.certified_with("feeds.example", |params| params.not_before = date_time_ymd(2999, 1, 2));
    let outcome = ask(authority.settings(), "feeds.example", vec![future, Act::Read, ok("")]).await;
    assert_eq!(outcome, "Connection: TLS certificate is not valid before 2999-01-02");
}

#[tokio::test]
async fn a_self_signed_certificate_is_refused() {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["feeds.example".to_owned()]).unwrap().self_signed(&key).unwrap();
    let acts = vec![secure(certificate.der().clone(), &key), Act::Read, ok("")];
    let expected = "Connection: TLS certificate is not signed by a known authority";
    let authority = Authority::new();
    assert_eq!(ask(authority.settings(), "feeds.example", acts).await, expected);
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_refused() {
    let acts = vec![Authority::named("Nobody").certified("feeds.example"), Act::Read, ok("")];
    let expected = "Connection: TLS certificate is not signed by a known authority";
    let authority = Authority::new();
    assert_eq!(ask(authority.settings(), "feeds.example", acts).await, expected);
}

#[rstest]
#[case::answers_in_plain(vec![send("HTTP/1.1 400 Bad Request\r\n\r\n"), Act::Mute], "Connection: the server does not speak TLS on this port")]
#[case::closes(vec![send("")], "Connection: connection closed while in the TLS handshake")]
#[case::resets(vec![Act::Reset], "Connection: connection reset while in the TLS handshake")]
#[case::alert(vec![send([0x15, 3, 3, 0, 2, 2, 112]), Act::Mute], "Connection: the server does not know this name (TLS)")]
#[case::alert_old(vec![send([0x15, 3, 3, 0, 2, 2, 70]), Act::Mute], "Connection: the server speaks only a version of TLS that is too old")]
#[tokio::test]
async fn a_server_that_does_not_do_tls_says_how(#[case] acts: Vec<Act>, #[case] expected: &str) {
    let authority = Authority::new();
    assert_eq!(ask(authority.settings(), "feeds.example", acts).await, expected);
}

#[tokio::test]
async fn plain_http_to_a_tls_port_says_so() {
    // What a TLS server sends when it is greeted with "GET": a fatal alert.
    let server = Server::play(answer([0x15, 3, 1, 0, 2, 2, 22])).await;
    let outcome = outcome(client(settings()).send(&Request::new(server.url("/"))).await);
    assert_eq!(outcome, "Other: the server speaks TLS on this port, but the URL says http");
}

#[tokio::test]
async fn p23_https_never_falls_back_to_http() {
    let authority = Authority::new();
    let plain = Server::play(vec![Act::Read, ok("unsafe")]).await;
    let redirect = format!("HTTP/1.1 301 Moved\r\nLocation: http://feeds.example:{}/\r\n\r\n", plain.address.port());
    let acts = vec![authority.certified("feeds.example"), Act::Read, send(redirect)];
    let outcome = ask(authority.settings(), "feeds.example", acts).await;
    assert_eq!(outcome, "Redirect: redirect from https to http refused");
    assert!(plain.requests().is_empty());
}

#[tokio::test]
async fn p23_http_to_https_is_followed_without_the_secrets_of_http() {
    let authority = Authority::new();
    let safe = Server::play(vec![authority.certified("feeds.example"), Act::Read, ok("safe")]).await;
    let location = format!("https://feeds.example:{}/", safe.address.port());
    let plain = Server::play(answer(format!("HTTP/1.1 301 Moved\r\nLocation: {location}\r\n\r\n"))).await;
    let url = plain.url("/").replace("://", "://ann:secret@");
    let reply = client(authority.settings()).send(&Request::new(url)).await.unwrap();
    assert_eq!(reply.moved_to().map(|url| url.as_str()), Some(location.as_str()));
    assert!(!safe.requests()[0].contains("Authorization"));
}

#[tokio::test]
async fn a_body_cut_off_inside_tls_is_an_error() {
    let authority = Authority::new();
    // Closed in good order, but too early; the second answer has no length and ends without TLS saying so.
    let acts = vec![
        authority.certified("feeds.example"),
        Act::Read,
        send("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"),
    ];
    let expected = "Connection: connection closed while reading the body";
    assert_eq!(ask(authority.settings(), "feeds.example", acts).await, expected);
    let acts = vec![authority.certified("feeds.example"), Act::Read, send("HTTP/1.1 200 OK\r\n\r\nhello"), Act::Reset];
    assert_eq!(ask(authority.settings(), "feeds.example", acts).await, expected);
}
