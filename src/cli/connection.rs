//! One HTTP request to the running daemon, over the admin socket or over TCP with a token.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use clap::Args;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use url::{Host, Url};

use super::error::CliError;
use crate::api::BASE;
use crate::http::tls;

const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Address of the daemon, and output format.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct ConnectionArguments {
    /// Read the daemon's socket from this YAML configuration
    // A separate id, because clap would mix a global argument with the root's argument of the same id.
    #[arg(id = "daemon_config", long = "config", value_name = "FILE", global = true, help_heading = "The daemon")]
    pub(super) config: Option<PathBuf>,
    /// Admin socket of the daemon [default: the configured one]
    #[arg(long, value_name = "PATH", global = true, conflicts_with = "url", help_heading = "The daemon")]
    pub(super) socket: Option<PathBuf>,
    /// URL of a daemon that listens on TCP, such as http://127.0.0.1:7300
    #[arg(long, value_name = "URL", global = true, help_heading = "The daemon")]
    pub(super) url: Option<Url>,
    /// Token for --url; prefer the environment or a file, because other users can see arguments
    #[arg(
        long,
        value_name = "TOKEN",
        global = true,
        env = "FEEDWARDEN_TOKEN",
        hide_env_values = true,
        help_heading = "The daemon"
    )]
    pub(super) token: Option<SecretString>,
    /// File with the token for --url
    #[arg(long, value_name = "FILE", global = true, help_heading = "The daemon")]
    pub(super) token_file: Option<PathBuf>,
    /// Node of the fleet that answers, if not the one that is asked
    #[arg(long, value_name = "NAME", global = true, help_heading = "The daemon")]
    pub(super) node: Option<String>,
    /// Print the API's JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
}

pub(super) enum Transport {
    Socket(PathBuf),
    Url(Url, Option<TokenSource>),
}

pub(super) enum TokenSource {
    Given(SecretString),
    /// Read for every request, because a command that runs for days outlives a token.
    File(PathBuf),
}

impl TokenSource {
    fn read(&self) -> Result<SecretString, CliError> {
        match self {
            TokenSource::Given(token) => Ok(token.clone()),
            TokenSource::File(path) => {
                let read = std::fs::read_to_string(path).map(SecretString::from);
                let read =
                    read.map_err(|error| CliError::Usage(format!("--token-file {}: {error}", path.display())))?;
                Ok(read.expose_secret().trim().into())
            }
        }
    }
}

#[derive(Default)]
pub(super) struct Sent {
    /// Media type and body.
    pub(super) body: Option<(&'static str, RequestBody)>,
    pub(super) headers: Vec<(&'static str, String)>,
}

pub(super) enum RequestBody {
    Whole(Option<Bytes>),
    Pieces(Box<dyn Iterator<Item = std::io::Result<Bytes>> + Send>),
}

impl Transport {
    /// Sends a request and returns the response as soon as its head has arrived.
    pub(super) async fn ask(&self, method: Method, path: &str, sent: Sent) -> Result<Response<Incoming>, CliError> {
        let (content_type, body) = match sent.body {
            Some((content_type, body)) => (Some(content_type), body),
            None => (None, RequestBody::Whole(None)),
        };
        let mut request = Request::builder().method(method).uri(format!("{}{BASE}{path}", self.prefix()));
        request = request.header(HOST, self.host()).header(ACCEPT, "application/json, */*");
        if let Some(content_type) = content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        for (name, value) in sent.headers {
            request = request.header(name, value);
        }
        if let Transport::Url(_, Some(token)) = self {
            let value = HeaderValue::try_from(format!("Bearer {}", token.read()?.expose_secret()));
            let mut value = value
                .map_err(|_| CliError::Usage("the token contains characters that are not allowed in a token".into()))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let request = request.body(body).map_err(|error| CliError::Usage(error.to_string()))?;
        match self {
            Transport::Socket(path) => self.send(self.within(UnixStream::connect(path)).await?, request).await,
            Transport::Url(url, _) => {
                let stream = self.within(dial(url)).await?;
                if url.scheme() == "https" {
                    return self.send(self.within(encrypt(url, stream)).await?, request).await;
                }
                self.send(stream, request).await
            }
        }
    }

    pub(super) fn place(&self) -> String {
        match self {
            // A relative path would not help in the wrong directory.
            Transport::Socket(path) => std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string(),
            Transport::Url(url, _) => url.origin().ascii_serialization(),
        }
    }

    async fn send<S>(&self, stream: S, request: Request<RequestBody>) -> Result<Response<Incoming>, CliError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let broken = |error: hyper::Error| CliError::Broken { place: self.place(), cause: cause_of(&error) };
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // The task ends with the response, or with the program.
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(broken)
    }

    async fn within<T>(&self, connecting: impl Future<Output = std::io::Result<T>>) -> Result<T, CliError> {
        let unreachable = |cause: String| CliError::Unreachable {
            place: self.place(),
            is_socket: matches!(self, Transport::Socket(_)),
            cause,
        };
        match tokio::time::timeout(CONNECT_WITHIN, connecting).await {
            Ok(Ok(connected)) => Ok(connected),
            Ok(Err(error)) => Err(match self {
                Transport::Socket(path) if error.kind() == ErrorKind::PermissionDenied => CliError::Forbidden {
                    place: self.place(),
                    owner: std::fs::metadata(path).ok().map(|socket| socket.uid()),
                    cause: error.to_string(),
                },
                _ => unreachable(in_words(&error)),
            }),
            Err(_) => Err(unreachable(format!("no answer within {} s", CONNECT_WITHIN.as_secs()))),
        }
    }

    fn prefix(&self) -> &str {
        match self {
            Transport::Socket(_) => "",
            Transport::Url(url, _) => url.path().trim_end_matches('/'),
        }
    }

    fn host(&self) -> String {
        match self {
            Transport::Socket(_) => "localhost".to_owned(),
            Transport::Url(url, _) => {
                let host = url.host_str().unwrap_or_default();
                url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
            }
        }
    }
}

async fn dial(url: &Url) -> std::io::Result<TcpStream> {
    let port = url.port_or_known_default().unwrap_or(80);
    match url.host() {
        Some(Host::Domain(name)) => TcpStream::connect((name, port)).await,
        Some(Host::Ipv4(address)) => TcpStream::connect((address, port)).await,
        Some(Host::Ipv6(address)) => TcpStream::connect((address, port)).await,
        None => Err(std::io::Error::other("the URL names no host")),
    }
}

async fn encrypt(
    url: &Url,
    stream: TcpStream,
) -> std::io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
    let configuration = tls::configuration(None, 0).map_err(std::io::Error::other)?;
    let name = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let name = ServerName::try_from(name).map_err(std::io::Error::other)?;
    tokio_rustls::TlsConnector::from(configuration).connect(name, stream).await
}

/// TLS errors are wrapped in I/O errors.
fn in_words(error: &std::io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(error) => tls::describe(error),
        None => error.to_string(),
    }
}

/// The source of a hyper error has the details.
fn cause_of(error: &hyper::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let next = match self.get_mut() {
            RequestBody::Whole(bytes) => bytes.take().map(Ok),
            RequestBody::Pieces(pieces) => pieces.next(),
        };
        Poll::Ready(next.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, RequestBody::Whole(None))
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            RequestBody::Whole(bytes) => hyper::body::SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            RequestBody::Pieces(_) => hyper::body::SizeHint::default(),
        }
    }
}
