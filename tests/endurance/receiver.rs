//! A program that new posts are sent to, and that remembers which it got.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// Takes everything, for as long as the process lives.
pub(super) struct Receiver {
    address: SocketAddr,
    taken: Arc<Mutex<BTreeSet<i64>>>,
}

impl Receiver {
    pub(super) fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = Receiver { address: listener.local_addr().unwrap(), taken: Arc::default() };
        let taken = receiver.taken.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // A process that was killed leaves half a request.
                let _ = take(stream, &taken);
            }
        });
        receiver
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// The change numbers of all posts that came, once each.
    pub(super) fn taken(&self) -> BTreeSet<i64> {
        self.taken.lock().unwrap().clone()
    }
}

fn take(stream: TcpStream, taken: &Mutex<BTreeSet<i64>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        match reader.read_line(&mut line)? {
            0 => return Ok(()),
            2 => break,
            _ => {}
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let posts: Vec<Value> = serde_json::from_slice(&body).unwrap();
    taken.lock().unwrap().extend(posts.iter().map(|post| post["change_number"].as_i64().unwrap()));
    reader.into_inner().write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
}
