//! HTTP/1.1 by hand on a socket, so that it can be broken on purpose.

use std::io::{self, IoSlice};

use tokio::net::TcpStream;

use crate::clock::Stopwatch;

/// The longest head of a request.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// What is looked at in the head of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) if_none_match: Option<String>,
    pub(super) if_modified_since: Option<String>,
    pub(super) user_agent: Option<String>,
    /// Whether the client wants to ask again on the same connection.
    pub(super) keep_alive: bool,
}

/// Reads the head of the next request. `kept` holds what was read beyond the last one. None once the client has hung up
/// or sends what is no request.
pub(super) async fn read_head(stream: &TcpStream, kept: &mut Vec<u8>) -> Option<Head> {
    loop {
        if let Some(end) = kept.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = parse_head(&kept[..end]);
            kept.drain(..end + 4);
            return head;
        }
        if kept.len() > HEAD_BYTES_MAX {
            return None;
        }
        stream.readable().await.ok()?;
        let mut bytes = [0; 2048];
        match stream.try_read(&mut bytes) {
            Ok(0) => return None,
            Ok(count) => kept.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
}

fn parse_head(bytes: &[u8]) -> Option<Head> {
    // One character for each byte: validators may hold anything.
    let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    let mut lines = text.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let path = target.split('?').next().unwrap_or(target);
    let mut head =
        Head { method: method.to_owned(), path: path.to_owned(), keep_alive: version == "HTTP/1.1", ..Head::default() };
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = || Some(value.trim().to_owned());
        match name {
            _ if name.eq_ignore_ascii_case("if-none-match") => head.if_none_match = value(),
            _ if name.eq_ignore_ascii_case("if-modified-since") => head.if_modified_since = value(),
            _ if name.eq_ignore_ascii_case("user-agent") => head.user_agent = value(),
            _ if name.eq_ignore_ascii_case("connection") => {
                head.keep_alive &= !value().is_some_and(|value| value.eq_ignore_ascii_case("close"));
            }
            _ => {}
        }
    }
    Some(head)
}

/// Hands all of this to the socket. Returns the moment at which the last byte was handed over: taken right before,
/// since the client may already act upon it when we are woken again.
pub(super) async fn hand_over(
    stream: &TcpStream,
    watch: &Stopwatch,
    mut head: &[u8],
    mut body: &[u8],
) -> io::Result<u64> {
    loop {
        stream.writable().await?;
        let moment = micros(watch);
        match stream.try_write_vectored(&[IoSlice::new(head), IoSlice::new(body)]) {
            Ok(count) => {
                let from_head = count.min(head.len());
                head = &head[from_head..];
                body = &body[count - from_head..];
                if head.is_empty() && body.is_empty() {
                    return Ok(moment);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// Waits until the client hangs up.
pub(super) async fn hung_up(stream: &TcpStream) {
    let mut bytes = [0; 256];
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut bytes) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

/// Makes the end of the stream a reset.
pub(super) fn reset(stream: TcpStream) {
    // If it cannot be, the client has gone before.
    let _ = stream.set_zero_linger();
}

pub(super) fn micros(watch: &Stopwatch) -> u64 {
    u64::try_from(watch.elapsed().as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_whatever_the_case_of_its_names() {
        let head = parse_head(
            b"GET /7/feed?x=1 HTTP/1.1\r\nHost: a\r\nIF-NONE-MATCH: W/\"\xe4\"\r\nif-modified-since: Mon\r\n\
              User-agent:  feedwarden/1 \r\nConnection: Close",
        );
        let wanted = Head {
            method: "GET".into(),
            path: "/7/feed".into(),
            if_none_match: Some("W/\"ä\"".into()),
            if_modified_since: Some("Mon".into()),
            user_agent: Some("feedwarden/1".into()),
            keep_alive: false,
        };
        assert_eq!(head, Some(wanted));
        assert_eq!(parse_head(b"nonsense"), None);
        assert!(!parse_head(b"GET / HTTP/1.0").unwrap().keep_alive);
    }
}
