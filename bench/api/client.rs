//! One connection that asks one thing after the other.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use feedwarden::clock::Stopwatch;

pub(crate) struct Client {
    stream: BufReader<UnixStream>,
    body: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(socket: &Path) -> Client {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        Client { stream: BufReader::with_capacity(1 << 20, stream), body: Vec::new() }
    }

    /// Asks for something that is there, and returns how many bytes it has.
    pub(crate) fn ask(&mut self, path: &str) -> usize {
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        let mut length = 0;
        for number in 0.. {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            assert!(number > 0 || line.starts_with("HTTP/1.1 200"), "{path}: {line}");
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body).unwrap();
        length
    }

    /// How long asking takes, from the first byte to the last.
    pub(crate) fn time(&mut self, path: &str) -> Duration {
        let watch = Stopwatch::start();
        self.ask(path);
        watch.elapsed()
    }
}

pub(crate) fn median_micros(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}
