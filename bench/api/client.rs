//! One connection that asks one thing after the other.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use feedwarden::clock::Stopwatch;

const READ_TIMEOUT: Duration = Duration::from_secs(120);

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

pub(crate) struct Client {
    stream: BufReader<Box<dyn Stream>>,
    /// Header lines of every request.
    headers: String,
    body: Vec<u8>,
}

/// The head of a response.
pub(crate) struct Head {
    pub(crate) status: u16,
    lines: Vec<String>,
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.lines.iter().find_map(|line| {
            let (given, value) = line.split_once(':')?;
            given.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Client {
    pub(crate) fn connect(socket: &Path) -> Client {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        Client::new(stream, "Host: x\r\n".to_owned())
    }

    /// `cookie` is that of a session, if there is one.
    pub(crate) fn connect_tcp(address: &str, cookie: Option<&str>) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        let cookie = cookie.map(|cookie| format!("Cookie: {cookie}\r\n")).unwrap_or_default();
        Client::new(stream, format!("Host: {address}\r\n{cookie}"))
    }

    fn new(stream: impl Stream + 'static, headers: String) -> Client {
        Client { stream: BufReader::with_capacity(1 << 20, Box::new(stream)), headers, body: Vec::new() }
    }

    /// Asks for something that is there, and returns how many bytes it has.
    pub(crate) fn ask(&mut self, path: &str) -> usize {
        let head = self.request("GET", path, None);
        assert_eq!(head.status, 200, "{path}");
        self.body.len()
    }

    /// How long asking takes, from the first byte to the last.
    pub(crate) fn time(&mut self, path: &str) -> Duration {
        let watch = Stopwatch::start();
        self.ask(path);
        watch.elapsed()
    }

    /// Sends a request, with JSON if some is given, and reads the whole response.
    pub(crate) fn request(&mut self, method: &str, path: &str, json: Option<&str>) -> Head {
        self.send(method, path, json);
        let head = self.read_head();
        let length = head.header("content-length").map_or(0, |value| value.parse().unwrap());
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body).unwrap();
        head
    }

    /// The body of the last response.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Begins to read a stream of events.
    pub(crate) fn follow(mut self, path: &str) -> Events {
        self.send("GET", path, None);
        assert_eq!(self.read_head().status, 200, "{path}");
        Events(self.stream)
    }

    fn send(&mut self, method: &str, path: &str, json: Option<&str>) {
        let mut request = format!("{method} {path} HTTP/1.1\r\n{}", self.headers);
        if let Some(json) = json {
            request += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", json.len());
        }
        request += "\r\n";
        request += json.unwrap_or_default();
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
    }

    fn read_head(&mut self) -> Head {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            assert!(!line.is_empty(), "the connection was closed");
            if line == "\r\n" {
                break;
            }
            lines.push(line);
        }
        let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        Head { status, lines }
    }
}

/// A stream of events, in chunks as they come.
pub(crate) struct Events(BufReader<Box<dyn Stream>>);

impl Events {
    /// Waits for the next event; returns its name.
    pub(crate) fn next(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
            if let Some(name) = line.strip_prefix("event: ") {
                return name.trim().to_owned();
            }
        }
    }
}

pub(crate) fn median_micros(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}
