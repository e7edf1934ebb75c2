//! As much of an HTTP client as these tests need, over any stream.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// It is a problem of this kind, at this field.
    pub(crate) fn is_problem(&self, status: u16, kind: &str, field: Option<&str>) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let problem = self.json();
        assert_eq!(problem["type"], format!("urn:feedwarden:problem:{kind}"), "{problem}");
        assert_eq!(problem["field"].as_str(), field, "{problem}");
        assert_eq!(problem["status"], status);
    }
}

/// Sends one request and reads the whole answer.
pub(crate) async fn ask(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let asking = async {
        send(&mut stream, method, path, headers, body).await;
        read_answer(&mut BufReader::new(stream)).await
    };
    // Far longer than any answer takes: a bound, not a wait.
    let patience = std::time::Duration::from_secs(60);
    tokio::time::timeout(patience, asking).await.expect("an answer comes")
}

/// Reads the whole answer to a request that was sent.
pub(crate) async fn read_answer(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Answer {
    let head = read_head(reader).await;
    let status = head.split(' ').nth(1).unwrap_or_default().parse().unwrap_or_else(|_| panic!("no status: {head:?}"));
    let mut answer = Answer { status, head, body: String::new() };
    // A server that refuses a body waits a while for the rest of it before it closes.
    let length = answer.header("content-length").map_or(u64::MAX, |length| length.parse().unwrap());
    let mut rest = Vec::new();
    // Or it resets the connection after its answer.
    let _ = reader.take(length).read_to_end(&mut rest).await;
    let is_chunked = answer.head.to_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { unchunk(&rest) } else { rest };
    answer.body = String::from_utf8(body).unwrap();
    answer
}

pub(crate) async fn send(
    stream: &mut (impl AsyncWrite + Unpin),
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) {
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    // Who is refused half way need not have sent everything.
    let _ = stream.write_all(body).await;
}

/// Reads up to the empty line.
pub(crate) async fn read_head(reader: &mut (impl AsyncBufReadExt + Unpin)) -> String {
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await.unwrap() == 0 || line == "\r\n" {
            return head;
        }
        head.push_str(&line);
    }
}

fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap().trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
    body
}
