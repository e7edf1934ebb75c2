//! The simulated web over TLS: one listener that ends TLS for all hosts, by their names, and passes the bytes on.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// How the web is reached over TLS.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct TlsWeb {
    pub(crate) urls: Vec<String>,
    /// The names of all hosts.
    pub(crate) names: Vec<String>,
    pub(crate) port: u16,
    /// The authority that signed the certificate, in PEM.
    pub(crate) authority: String,
}

impl TlsWeb {
    /// Where the names are.
    pub(crate) fn addresses(&self) -> HashMap<String, IpAddr> {
        self.names.iter().map(|name| (name.clone(), IpAddr::from([127, 0, 0, 1]))).collect()
    }
}

/// Serves these sites, which are on these hosts, over TLS for as long as the process runs.
pub(crate) fn start(urls: &[String]) -> TlsWeb {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (configuration, authority) = certified("*.feeds.example");
    let mut hosts: Vec<SocketAddr> = Vec::new();
    let mut names = Vec::new();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut secure_urls = Vec::new();
    let mut numbers: HashMap<SocketAddr, usize> = HashMap::new();
    for url in urls {
        let url: url::Url = url.parse().unwrap();
        let address = url.socket_addrs(|| None).unwrap()[0];
        let number = *numbers.entry(address).or_insert_with(|| {
            hosts.push(address);
            names.push(name(hosts.len() - 1));
            hosts.len() - 1
        });
        secure_urls.push(format!("https://{}:{port}{}", name(number), url.path()));
    }
    std::thread::spawn(move || runtime.block_on(serve(listener, TlsAcceptor::from(configuration), hosts.into())));
    TlsWeb { urls: secure_urls, names, port, authority }
}

fn name(number: usize) -> String {
    format!("host-{number}.feeds.example")
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, hosts: Arc<[SocketAddr]>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (acceptor, hosts) = (acceptor.clone(), hosts.clone());
        tokio::spawn(async move {
            let mut stream = acceptor.accept(stream).await.unwrap();
            let name = stream.get_ref().1.server_name().unwrap();
            let number: usize = name.strip_prefix("host-").unwrap().split('.').next().unwrap().parse().unwrap();
            let mut upstream = TcpStream::connect(hosts[number]).await.unwrap();
            // Ends with an error if the client does not say that it ends TLS.
            let _ = tokio::io::copy_bidirectional(&mut stream, &mut upstream).await;
        });
    }
}

/// A server with a certificate for this name, which keeps sessions in tickets, and the authority that signed it.
fn certified(name: &str) -> (Arc<ServerConfig>, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "An authority of the benchmark");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut configuration = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    configuration.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
    (Arc::new(configuration), issuer.pem())
}
