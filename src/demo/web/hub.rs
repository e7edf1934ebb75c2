//! A WebSub hub of the simulated web: takes subscriptions, verifies them at their callbacks, and pushes signed bodies;
//! real HTTP on loopback. It can misbehave ([`HubBehaviour`]), and serves documents, such as feeds that name it.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use parking_lot::Mutex;
use sha2::Sha256;
use url::Url;
use url::form_urlencoded::{Serializer, parse};

/// Time limit for every read and write.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest request or answer that is read.
const BYTES_MAX: u64 = 1 << 20;

/// What a hub does with requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HubBehaviour {
    /// Accepts and verifies them before it answers.
    #[default]
    Works,
    /// Accepts them, and verifies only when told to ([`Hub::verify`]).
    VerifiesLater,
    /// Answers with this status.
    Refuses(u16),
    /// Redirects with this status to this URL.
    Redirects(u16, String),
    /// Accepts, and verifies another topic.
    WrongTopic,
    /// Accepts, and denies.
    Denies,
}

/// A request of a subscriber, as it was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubRequestSeen {
    pub mode: String,
    pub topic: String,
    pub callback: String,
    pub secret: String,
    pub lease_seconds: String,
}

/// An answer of a callback: its status and its body.
pub type CallbackReply = (u16, String);

/// A document that is served at a path.
#[derive(Clone, Debug)]
struct Served {
    status: u16,
    headers: Vec<String>,
    body: String,
}

/// A running hub, until it is dropped.
pub struct Hub {
    shared: Arc<HubState>,
    thread: Option<JoinHandle<()>>,
}

struct HubState {
    address: SocketAddr,
    is_over: AtomicBool,
    behaviour: Mutex<HubBehaviour>,
    lease_seconds: Mutex<u64>,
    seen: Mutex<Vec<HubRequestSeen>>,
    /// Verified subscriptions by callback.
    verified: Mutex<BTreeMap<String, HubRequestSeen>>,
    verifications: Mutex<Vec<CallbackReply>>,
    documents: Mutex<HashMap<String, Served>>,
    gets: Mutex<Vec<String>>,
}

impl Hub {
    /// A hub at a loopback address such as `127.0.0.3:0`.
    pub fn start(address: &str) -> io::Result<Hub> {
        let listener = TcpListener::bind(address)?;
        let shared = Arc::new(HubState {
            address: listener.local_addr()?,
            is_over: AtomicBool::new(false),
            behaviour: Mutex::default(),
            lease_seconds: Mutex::new(864_000),
            seen: Mutex::default(),
            verified: Mutex::default(),
            verifications: Mutex::default(),
            documents: Mutex::default(),
            gets: Mutex::default(),
        });
        let state = shared.clone();
        let accepting = move || {
            for stream in listener.incoming() {
                if state.is_over.load(Ordering::Acquire) {
                    return;
                }
                let state = state.clone();
                let _ = std::thread::Builder::new()
                    .name("hub".to_owned())
                    .spawn(move || stream.and_then(|stream| state.serve(stream)));
            }
        };
        let thread = std::thread::Builder::new().name("hub".to_owned()).spawn(accepting)?;
        Ok(Hub { shared, thread: Some(thread) })
    }

    /// The URL of a path at this server; the hub itself is at `/hub`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.shared.address)
    }

    pub fn behave(&self, behaviour: HubBehaviour) {
        *self.shared.behaviour.lock() = behaviour;
    }

    /// Leases of subscriptions that are verified from now on.
    pub fn give_leases(&self, seconds: u64) {
        *self.shared.lease_seconds.lock() = seconds;
    }

    /// Serves a document from now on. A header is a whole line.
    pub fn put(&self, path: &str, status: u16, headers: &[&str], body: &str) {
        let headers = headers.iter().map(ToString::to_string).collect();
        self.shared.documents.lock().insert(path.to_owned(), Served { status, headers, body: body.to_owned() });
    }

    /// Requests of subscribers so far.
    pub fn seen(&self) -> Vec<HubRequestSeen> {
        self.shared.seen.lock().clone()
    }

    /// Verified subscriptions, by callback.
    pub fn subscribers(&self) -> Vec<HubRequestSeen> {
        self.shared.verified.lock().values().cloned().collect()
    }

    /// Answers of callbacks to verifications.
    pub fn verifications(&self) -> Vec<CallbackReply> {
        self.shared.verifications.lock().clone()
    }

    /// How often the document at a path was asked for.
    pub fn gets(&self, path: &str) -> usize {
        self.shared.gets.lock().iter().filter(|asked| *asked == path).count()
    }

    /// Verifies what a subscriber has asked for, of this topic. Blocks.
    pub fn verify(&self, asked: &HubRequestSeen, topic: &str) -> io::Result<CallbackReply> {
        self.shared.verify(asked, topic)
    }

    /// Denies a subscription. Blocks.
    pub fn deny(&self, asked: &HubRequestSeen) -> io::Result<CallbackReply> {
        self.shared.deny(asked)
    }

    /// Pushes a body to all subscribers of a topic, signed with their secrets. Blocks.
    pub fn publish(&self, topic: &str, body: &str) -> io::Result<Vec<CallbackReply>> {
        let subscribers = self.subscribers().into_iter().filter(|one| one.topic == topic);
        subscribers.map(|one| push(&one.callback, Some(&signature(&one.secret, body)), body.as_bytes())).collect()
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect_timeout(&self.shared.address, PATIENCE);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl HubState {
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let (head, body) = read_message(&mut stream)?;
        let mut words = head.split_ascii_whitespace();
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (status, headers, body) = match (method, path) {
            ("POST", "/hub") => self.take(&body),
            ("GET", path) => {
                self.gets.lock().push(path.to_owned());
                let found = self.documents.lock().get(path).cloned();
                found.map_or((404, Vec::new(), String::new()), |found| (found.status, found.headers, found.body))
            }
            _ => (405, Vec::new(), String::new()),
        };
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = body.len();
        write!(stream, "HTTP/1.1 {status} -\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n{body}")
    }

    /// Takes a request of a subscriber.
    fn take(&self, body: &[u8]) -> (u16, Vec<String>, String) {
        let fields: HashMap<String, String> = parse(body).into_owned().collect();
        let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
        let asked = HubRequestSeen {
            mode: field("hub.mode"),
            topic: field("hub.topic"),
            callback: field("hub.callback"),
            secret: field("hub.secret"),
            lease_seconds: field("hub.lease_seconds"),
        };
        self.seen.lock().push(asked.clone());
        match self.behaviour.lock().clone() {
            HubBehaviour::Refuses(status) => return (status, Vec::new(), "no".to_owned()),
            HubBehaviour::Redirects(status, url) => return (status, vec![format!("Location: {url}")], String::new()),
            HubBehaviour::VerifiesLater => {}
            HubBehaviour::Works => self.note(self.verify(&asked, &asked.topic)),
            HubBehaviour::WrongTopic => self.note(self.verify(&asked, "http://wrong.example/")),
            HubBehaviour::Denies => self.note(self.deny(&asked)),
        }
        (202, Vec::new(), String::new())
    }

    fn note(&self, answer: io::Result<CallbackReply>) {
        self.verifications.lock().push(answer.unwrap_or_default());
    }

    fn verify(&self, asked: &HubRequestSeen, topic: &str) -> io::Result<CallbackReply> {
        let challenge = format!("challenge-{}", self.seen.lock().len());
        let lease = self.lease_seconds.lock().to_string();
        let mut fields = vec![("hub.mode", asked.mode.as_str()), ("hub.topic", topic), ("hub.challenge", &challenge)];
        if asked.mode == "subscribe" {
            fields.push(("hub.lease_seconds", &lease));
        }
        let answer = get(&with_query(&asked.callback, &fields))?;
        if answer == (200, challenge) {
            match asked.mode.as_str() {
                "subscribe" => self.verified.lock().insert(asked.callback.clone(), asked.clone()),
                _ => self.verified.lock().remove(&asked.callback),
            };
        }
        Ok(answer)
    }

    fn deny(&self, asked: &HubRequestSeen) -> io::Result<CallbackReply> {
        self.verified.lock().remove(&asked.callback);
        let fields = [("hub.mode", "denied"), ("hub.topic", &*asked.topic), ("hub.reason", "not for you")];
        get(&with_query(&asked.callback, &fields))
    }
}

/// `X-Hub-Signature` of a body.
pub fn signature(secret: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("keys have any length");
    mac.update(body.as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

/// Sends a body to a callback, with this signature. Blocks.
pub fn push(callback: &str, signature: Option<&str>, body: &[u8]) -> io::Result<CallbackReply> {
    let signature = signature.map(|value| format!("X-Hub-Signature: {value}\r\n")).unwrap_or_default();
    let head = format!("Content-Type: application/rss+xml\r\nContent-Length: {}\r\n{signature}", body.len());
    send("POST", callback, &head, body)
}

/// Asks a callback. Blocks.
pub fn get(url: &str) -> io::Result<CallbackReply> {
    send("GET", url, "", &[])
}

/// A callback with these parameters.
pub fn with_query(callback: &str, fields: &[(&str, &str)]) -> String {
    let query = Serializer::new(String::new()).extend_pairs(fields).finish();
    format!("{callback}{}{query}", if callback.contains('?') { '&' } else { '?' })
}

fn send(method: &str, url: &str, headers: &str, body: &[u8]) -> io::Result<CallbackReply> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "no URL of a callback");
    let url = Url::parse(url).map_err(|_| wrong())?;
    let address = url.socket_addrs(|| Some(80))?.first().copied().ok_or_else(wrong)?;
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "{method} {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n")?;
    // A receiver that has read enough answers and closes.
    let _ = stream.write_all(body);
    let (head, body) = read_message(&mut stream)?;
    let status = head.split_ascii_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

/// The head and the body of a request or an answer.
fn read_message(stream: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut stream = stream.take(BYTES_MAX);
    let mut piece = [0; 4096];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        match stream.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(&piece[..count]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head.lines().filter_map(|line| line.split_once(':'));
    let mut length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length")).map(|(_, value)| value);
    let length: usize = length.next().and_then(|value| value.trim().parse().ok()).unwrap_or(0);
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        match stream.read(&mut piece)? {
            0 => break,
            count => body.extend_from_slice(&piece[..count]),
        }
    }
    Ok((head, body))
}
