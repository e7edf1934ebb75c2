//! The raw parts of a refresh, each by itself: a bare hyper request, a bare loop over quick-xml's events, a bare
//! multi-row insert, and a grouped settle of what did not change. One after another on one thread.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use feedwarden::clock::{Clock, SystemClock};
use feedwarden::fetch::{Answer, Task};
use feedwarden::model::{HostState, NewPost, Settlement, Source, SourceSettings, SourceType};
use feedwarden::rules::host_key::host_key;
use feedwarden::sources::{TypeSettings, poll};
use feedwarden::store::{self, Store};
use futures_util::StreamExt;
use futures_util::stream;
use hyper::body::Body;
use hyper_util::rt::TokioIo;
use quick_xml::NsReader;
use quick_xml::events::Event;
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, HandshakeKind, RootCertStore};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::cost::{Cost, Meter};
use crate::insert::Raw;
use crate::process::Engine;
use crate::refresh::fetcher;
use crate::tls_front::TlsWeb;

/// Requests under way at once.
const CONCURRENCY: usize = 32;
/// Polls in one transaction.
const GROUP: usize = 50;

/// What the parts cost, for all feeds together.
#[derive(Serialize, Deserialize)]
pub(crate) struct PartCosts {
    pub(crate) fetch: Cost,
    pub(crate) parse: Cost,
    pub(crate) insert: Cost,
    pub(crate) conditional_fetch: Cost,
    pub(crate) settle: Cost,
    /// All posts of all feeds.
    pub(crate) posts: u64,
    /// The size of the feed in the middle.
    pub(crate) median_bytes: usize,
}

/// What bare requests over TLS cost whose answer is a 304, for all feeds together.
#[derive(Serialize, Deserialize)]
pub(crate) struct TlsCosts {
    /// Every connection resumes a session.
    pub(crate) resumed: Cost,
    /// None does.
    pub(crate) full: Cost,
}

/// Measures bare hyper over bare rustls.
pub(crate) async fn measure_tls(web: &TlsWeb) -> TlsCosts {
    let places: Vec<url::Url> = web.urls.iter().map(|url| url.parse().unwrap()).collect();
    let sessions = Resumption::in_memory_sessions(web.urls.len() * 8);
    let resuming = Link::Secure { connector: connector(web, sessions), port: web.port };
    let answers = fetch_all(&resuming, &places, &HashMap::new()).await;
    let known: HashMap<String, Known> = answers.into_iter().map(|answer| (answer.url, answer.validators)).collect();
    let full = Link::Secure { connector: connector(web, Resumption::disabled()), port: web.port };
    let measured = async |link: &Link, resumes: bool| {
        let meter = Meter::start(None);
        let answers = fetch_all(link, &places, &known).await;
        let cost = meter.read();
        assert!(answers.iter().all(|answer| answer.status == 304), "all of them are unchanged");
        assert!(answers.iter().all(|answer| answer.is_resumed == resumes), "sessions are resumed, or none");
        cost
    };
    TlsCosts { resumed: measured(&resuming, true).await, full: measured(&full, false).await }
}

fn connector(web: &TlsWeb, resumption: Resumption) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(web.authority.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut configuration = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    configuration.resumption = resumption;
    TlsConnector::from(Arc::new(configuration))
}

/// How connections are made.
enum Link {
    Plain,
    Secure { connector: TlsConnector, port: u16 },
}

/// Measures the parts over these feeds, with the store they are in.
pub(crate) async fn measure(engine: &Engine, urls: &[String]) -> PartCosts {
    let places: Vec<url::Url> = urls.iter().map(|url| url.parse().unwrap()).collect();
    // Once unmeasured: the simulated web writes its feeds when they are first asked for.
    fetch_all(&Link::Plain, &places, &HashMap::new()).await;
    let meter = Meter::start(None);
    let answers = fetch_all(&Link::Plain, &places, &HashMap::new()).await;
    let fetch = meter.read();
    let meter = Meter::start(None);
    for answer in &answers {
        black_box(bare_loop(&answer.body));
    }
    let parse = meter.read();
    let mut sizes: Vec<usize> = answers.iter().map(|answer| answer.body.len()).collect();
    sizes.sort_unstable();
    let known = answers.into_iter().map(|answer| (answer.url, answer.validators)).collect();
    let meter = Meter::start(None);
    let unchanged = fetch_all(&Link::Plain, &places, &known).await;
    let conditional_fetch = meter.read();
    assert!(unchanged.iter().all(|answer| answer.status == 304), "all of them are unchanged");

    let posts = posts(urls).await;
    let store = store::open(&engine.settings(), SystemClock.now()).await.unwrap();
    let mut raw = Raw::open(&engine.settings().engine).await;
    let polls: Vec<Settlement> =
        sources(store.as_ref()).await.into_iter().map(|source| settlement(source, &posts)).collect();
    raw.prepare(&polls).await;
    let meter = Meter::start(engine.server());
    for group in polls.chunks(GROUP) {
        raw.write(group).await;
    }
    let insert = meter.read();

    let nothing = HashMap::new();
    let polls: Vec<Settlement> =
        sources(store.as_ref()).await.into_iter().map(|source| settlement(source, &nothing)).collect();
    let groups: Vec<Vec<Settlement>> = polls.chunks(GROUP).map(<[_]>::to_vec).collect();
    let meter = Meter::start(engine.server());
    for group in groups {
        store.settle(group).await.unwrap();
    }
    let settle = meter.read();
    store.close().await;
    PartCosts {
        fetch,
        parse,
        insert,
        conditional_fetch,
        settle,
        posts: posts.values().map(|posts| posts.len() as u64).sum(),
        median_bytes: sizes[sizes.len() / 2],
    }
}

struct Answered {
    url: String,
    status: u16,
    validators: Known,
    body: String,
    is_resumed: bool,
}

/// Headers of a conditional request, with what an answer gave for them.
type Known = Vec<(&'static str, String)>;

async fn fetch_all(link: &Link, places: &[url::Url], known: &HashMap<String, Known>) -> Vec<Answered> {
    let asking = places.iter().map(|place| ask(link, place, known.get(place.as_str())));
    stream::iter(asking).buffer_unordered(CONCURRENCY).collect().await
}

/// As the daemon asks: on a connection of its own.
async fn ask(link: &Link, place: &url::Url, known: Option<&Known>) -> Answered {
    let (host, port) = (place.host_str().unwrap(), place.port().unwrap());
    match link {
        Link::Plain => converse(TcpStream::connect((host, port)).await.unwrap(), false, place, known).await,
        Link::Secure { connector, port } => {
            let stream = TcpStream::connect(("127.0.0.1", *port)).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let name = ServerName::try_from(host.to_owned()).unwrap();
            let stream = connector.connect(name, stream).await.unwrap();
            let is_resumed = stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed);
            converse(stream, is_resumed, place, known).await
        }
    }
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    is_resumed: bool,
    place: &url::Url,
    known: Option<&Known>,
) -> Answered {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut request = hyper::Request::get(place.path())
        .header("host", &place[url::Position::BeforeHost..url::Position::AfterPort])
        .header("user-agent", "bare/1")
        .header("connection", "close");
    for (name, value) in known.into_iter().flatten() {
        request = request.header(*name, value);
    }
    let answer = sender.send_request(request.body(String::new()).unwrap()).await.unwrap();
    let status = answer.status().as_u16();
    let given = [("etag", "if-none-match"), ("last-modified", "if-modified-since")].into_iter();
    let given = given.filter_map(|(given, name)| Some((name, answer.headers().get(given)?.to_str().ok()?.to_owned())));
    let validators = given.collect();
    let mut body = answer.into_body();
    let mut bytes = Vec::new();
    while let Some(frame) = std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await {
        bytes.extend_from_slice(frame.unwrap().data_ref().unwrap());
    }
    Answered { url: place.to_string(), status, validators, body: String::from_utf8(bytes).unwrap(), is_resumed }
}

fn bare_loop(feed: &str) -> usize {
    let mut reader = NsReader::from_str(feed);
    let mut count = 0;
    loop {
        match reader.read_resolved_event().unwrap() {
            (_, Event::Eof) => return count,
            (namespace, event) => {
                black_box((namespace, event));
                count += 1;
            }
        }
    }
}

/// The posts of each feed, as the daemon would find them.
async fn posts(urls: &[String]) -> HashMap<String, Vec<NewPost>> {
    let fetcher = fetcher(Arc::new(SystemClock));
    let settings = TypeSettings::default();
    let read = async |url: &String| {
        let task = Task::new(SourceSettings::new(SourceType::Rss, url.as_str()));
        match poll(&fetcher, &settings, &task).await.answer {
            Answer::Read(reading) => (url.clone(), reading.entries),
            other => panic!("{url} is not a good feed: {other:?}"),
        }
    };
    stream::iter(urls.iter().map(read)).buffer_unordered(CONCURRENCY).collect().await
}

async fn sources(store: &dyn Store) -> Vec<Source> {
    store.list_sources(None, u32::MAX / 2).await.unwrap()
}

/// A poll that found these posts, as the daemon would settle it.
fn settlement(mut source: Source, posts: &HashMap<String, Vec<NewPost>>) -> Settlement {
    let now = SystemClock.now();
    source.state.last_polled = Some(now);
    source.state.last_success_at = Some(now);
    let host = host_key(&source.settings.url).map(HostState::new);
    Settlement {
        posts: posts.get(&source.settings.url).cloned().unwrap_or_default(),
        host: host.map(|host| HostState { last_asked_at: Some(now), ..host }),
        ..Settlement::of_state(&source, now)
    }
}
