//! Plays the answers that the command line gets from a daemon, over a Unix socket, to awc and to hyper as
//! `src/cli/connection.rs` uses it, and prints where the outcome is another than the one wanted; then the time of a
//! request on a fresh connection:
//!     cargo run --release --locked --manifest-path bench/awc/Cargo.toml --bin client

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use actix_rt::net::UnixStream;
use actix_service::fn_service;
use actix_tls::connect::{ConnectError, ConnectInfo, Connection};
use awc::http::Uri;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper_util::rt::TokioIo;

/// Longer than any case takes; awc's own default of 5 s is switched off, as a followed stream needs it.
const WITHIN: Duration = Duration::from_secs(20);
const UPLOAD_PIECES: usize = 1024;
const PIECE: &[u8] = &[b'x'; 16 * 1024];
const REQUESTS: u32 = 2000;

#[derive(Clone, Copy, PartialEq)]
enum Upload {
    No,
    /// 16 MiB, a piece at a time.
    Pieces,
}

enum Expected {
    Answer(u16, &'static str),
    Error,
}

struct Case {
    name: &'static str,
    upload: Upload,
    /// Parts of the answer, with a pause before each but the first.
    answer: Vec<&'static str>,
    pause: Duration,
    wanted: Expected,
}

fn cases() -> Vec<Case> {
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let case = |name, answer: Vec<&'static str>, wanted| {
        Case { name, upload: Upload::No, answer, pause: Duration::ZERO, wanted }
    };
    let refusal = |name, answer: Vec<&'static str>, status, body| Case {
        upload: Upload::Pieces,
        ..case(name, answer, Expected::Answer(status, body))
    };
    vec![
        case("whole, with a length", vec!["HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwhole"], Expected::Answer(200, "whole")),
        case("whole, chunked", vec![CHUNKED, "5\r\nwhole\r\n0\r\n\r\n"], Expected::Answer(200, "whole")),
        case("interim answer first", vec!["HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwhole"], Expected::Answer(200, "whole")),
        Case {
            pause: Duration::from_secs(7),
            ..case("stream with a pause of 7 s", vec![CHUNKED, "5\r\nwhole\r\n", "0\r\n\r\n"], Expected::Answer(200, "whole"))
        },
        case("daemon killed within an answer with a length", vec!["HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf"], Expected::Error),
        case("daemon killed within a chunk (export)", vec![CHUNKED, "50\r\nhalf"], Expected::Error),
        case("daemon killed between chunks (export, follow)", vec![CHUNKED, "4\r\nhalf\r\n"], Expected::Error),
        case("daemon killed before the answer", vec![""], Expected::Error),
        refusal("401 while the list is sent", vec!["HTTP/1.1 401 Unauthorized\r\ncontent-length: 5\r\nconnection: close\r\n\r\ntoken"], 401, "token"),
        refusal("413 while the list is sent", vec!["HTTP/1.1 413 Content Too Large\r\ncontent-length: 5\r\n\r\nlarge"], 413, "large"),
    ]
}

#[actix_rt::main]
async fn main() {
    let directory = std::env::temp_dir().join(format!("awc-client-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory can be made");
    let mut wrong = [0, 0];
    let cases = cases();
    for (number, case) in cases.iter().enumerate() {
        for (place, name) in ["awc", "hyper"].into_iter().enumerate() {
            let socket = directory.join(format!("{number}-{name}"));
            serve(&socket, case.answer.clone(), case.pause);
            let asked = async {
                match name {
                    "awc" => with_awc(&socket, case.upload).await,
                    _ => with_hyper(&socket, case.upload).await,
                }
            };
            let found = actix_rt::time::timeout(WITHIN, asked).await.unwrap_or_else(|_| Err("no end".to_owned()));
            let is_wanted = match (&case.wanted, &found) {
                (Expected::Answer(status, body), Ok(found)) => found == &(*status, (*body).to_owned()),
                (Expected::Error, Err(error)) => error != "no end",
                _ => false,
            };
            if !is_wanted {
                wrong[place] += 1;
            }
            println!("{:<48} {name:<6} {:<6} {found:?}", case.name, if is_wanted { "right" } else { "WRONG" });
        }
    }
    println!("wrong outcomes of {}: awc {}, hyper {}", cases.len(), wrong[0], wrong[1]);
    let nowhere = directory.join("nowhere");
    println!("no daemon: awc {:?}", with_awc(&nowhere, Upload::No).await);
    println!("no daemon: hyper {:?}", with_hyper(&nowhere, Upload::No).await);

    let socket = directory.join("fast");
    repeat(&socket);
    for _ in 0..3 {
        let started = Instant::now();
        for _ in 0..REQUESTS {
            with_awc(&socket, Upload::No).await.expect("it answers");
        }
        let awc = started.elapsed() / REQUESTS;
        let started = Instant::now();
        for _ in 0..REQUESTS {
            with_hyper(&socket, Upload::No).await.expect("it answers");
        }
        println!("a request on a fresh connection: awc {awc:?}, hyper {:?}", started.elapsed() / REQUESTS);
    }
    let _ = std::fs::remove_dir_all(directory);
}

/// A server that takes one connection, reads a head, answers, and closes without reading the rest, as a killed or
/// refusing daemon does.
fn serve(socket: &Path, answer: Vec<&'static str>, pause: Duration) {
    let listener = UnixListener::bind(socket).expect("a socket can be bound");
    std::thread::spawn(move || {
        let Ok((mut stream, _)) = listener.accept() else { return };
        read_head(&mut stream);
        for (place, part) in answer.iter().enumerate() {
            if place > 0 {
                std::thread::sleep(pause);
            }
            let _ = stream.write_all(part.as_bytes());
        }
        // A moment, so that a client that is still sending gets the answer before the reset.
        std::thread::sleep(Duration::from_millis(300));
    });
}

fn repeat(socket: &Path) {
    let listener = UnixListener::bind(socket).expect("a socket can be bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            read_head(&mut stream);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwhole");
        }
    });
}

fn read_head(stream: &mut impl Read) {
    let (mut head, mut buffer) = (Vec::new(), [0; 1024]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(length) if length > 0 => head.extend_from_slice(&buffer[..length]),
            _ => return,
        }
    }
}

fn pieces() -> impl futures_util::Stream<Item = Result<Bytes, std::io::Error>> {
    stream::iter((0..UPLOAD_PIECES).map(|_| Ok(Bytes::from_static(PIECE))))
}

async fn with_awc(socket: &Path, upload: Upload) -> Result<(u16, String), String> {
    let socket: PathBuf = socket.to_owned();
    let connect = fn_service(move |request: ConnectInfo<Uri>| {
        let socket = socket.clone();
        async move {
            let stream = UnixStream::connect(socket).await.map_err(ConnectError::Io)?;
            Ok::<_, ConnectError>(Connection::new(request.request().clone(), stream))
        }
    });
    let connector = awc::Connector::new().connector(connect).timeout(Duration::from_secs(10));
    let client = awc::Client::builder().connector(connector).disable_timeout().disable_redirects().finish();
    let sent = match upload {
        Upload::No => client.get("http://localhost/api/v1/status").no_decompress().send(),
        Upload::Pieces => client.post("http://localhost/api/v1/opml").no_decompress().send_stream(pieces()),
    };
    // A body has a time limit of 5 s and a size limit of 2 MiB unless told otherwise.
    let mut answer = sent.await.map_err(|error| error.to_string())?.timeout(Duration::from_secs(86_400));
    let body = answer.body().limit(usize::MAX).await.map_err(|error| error.to_string())?;
    Ok((answer.status().as_u16(), String::from_utf8_lossy(&body).into_owned()))
}

async fn with_hyper(socket: &Path, upload: Upload) -> Result<(u16, String), String> {
    let stream = UnixStream::connect(socket).await.map_err(|error| error.to_string())?;
    let failed = |error: hyper::Error| error.to_string();
    let request = hyper::Request::builder().header("host", "localhost");
    let answer = match upload {
        Upload::No => {
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
            actix_rt::spawn(connection);
            let request = request.uri("/api/v1/status").body(String::new()).expect("a request");
            sender.send_request(request).await.map_err(failed)?
        }
        Upload::Pieces => {
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
            actix_rt::spawn(connection);
            let frames = futures_util::StreamExt::map(pieces(), |piece| piece.map(Frame::data));
            let request = request.method("POST").uri("/api/v1/opml").body(StreamBody::new(frames)).expect("a request");
            sender.send_request(request).await.map_err(failed)?
        }
    };
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.map_err(failed)?.to_bytes();
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}
