//! Fifty bombs at once beside healthy feeds, each of which holds 9 MiB for a second: the bodies in flight share one budget of memory, and healthy feeds are read.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::http::{Client, Content, HttpSettings, Request};
use feedwarden::model::Timestamp;
use flate2::Compression;
use flate2::write::GzEncoder;

pub(crate) const NAME: &str = "fifty bombs beside healthy feeds";

const BOMBS: usize = 50;
const HEALTHY: usize = 50;
/// What a healthy feed has: too much to be let through as small.
const HEALTHY_BYTES: usize = 600_000;
/// How long a bomb holds what it has.
const PAUSE: Duration = Duration::from_secs(1);
/// What the server sends again and again.
static PIECE: [u8; 10_000] = [b'x'; 10_000];
/// The budget, and what a hundred connections (256 KiB each) and the tables and windows of decoders take beside the bodies.
/// Without a budget it is over 400 MB.
const PEAK_BYTES_MAX: usize = 96_000_000 + 80_000_000;

/// Asks for all of it at once, and reports what that took.
pub(crate) fn child(status_bytes: fn(&str) -> usize) -> ExitCode {
    let server = serve();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let deadline = Duration::from_secs(10);
    let settings = HttpSettings { allow_private_networks: true, deadline, ..HttpSettings::default() };
    let client = Client::new(settings, || Timestamp::EPOCH).expect("a client");
    std::fs::write("/proc/self/clear_refs", "5").expect("a process may reset its own peak");
    let before = status_bytes("VmRSS:");
    let (failures, healthy) = runtime.block_on(async {
        let bombs: Vec<_> = (0..BOMBS)
            .map(|number| {
                let (client, path) = (client.clone(), ["gzip", "endless", "head", "brotli", "zstd"][number % 5]);
                tokio::spawn(async move { client.send(&Request::new(format!("http://{server}/{path}"))).await })
            })
            .collect();
        // The bombs come first.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let feeds: Vec<_> = (0..HEALTHY)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move {
                    // As a parser does: it reads the body, and drops it with its memory.
                    client.send(&Request::new(format!("http://{server}/feed"))).await.map(|reply| match reply.content {
                        Content::Body { bytes, .. } => bytes.len(),
                        _ => 0,
                    })
                })
            })
            .collect();
        let mut healthy = 0;
        for feed in feeds {
            match feed.await.expect("no panic") {
                Ok(length) => healthy += usize::from(length == HEALTHY_BYTES),
                Err(failure) => eprintln!("a healthy feed failed: {}", failure.report.error),
            }
        }
        let mut failures = Vec::new();
        for bomb in bombs {
            failures.push(bomb.await.expect("no panic").expect_err("a bomb is refused").report.error);
        }
        (failures, healthy)
    });
    let peak = status_bytes("VmHWM:").saturating_sub(before);
    let is_known = |error: &&String| {
        ["body over 10 MiB", "message head is too large", "http.memory-max-megabytes", "timed out"]
            .iter()
            .any(|text| error.contains(text))
    };
    let unknown: Vec<&String> = failures.iter().filter(|error| !is_known(error)).collect();
    let own_limit = failures.iter().filter(|error| error.contains("body over")).count();
    let use_of_memory = client.memory();
    println!(
        "{:>6} KB peak  {healthy} feeds read, {own_limit} bombs over their own limit, {} waited, {} refused",
        peak / 1024,
        use_of_memory.waits,
        use_of_memory.refusals
    );
    unknown.iter().for_each(|error| eprintln!("an unknown failure: {error}"));
    let is_right = peak <= PEAK_BYTES_MAX && healthy == HEALTHY && unknown.is_empty() && use_of_memory.used == 0;
    ExitCode::from(u8::from(!is_right))
}

/// A server on loopback with a thread for each connection, which holds next to nothing itself.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let zeros = plain();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&zeros).expect("a vector takes all");
    let gzip = Arc::new(gzip.finish().expect("a vector takes all"));
    let zstd = Arc::new(zstd::encode_all(zeros.as_slice(), 3).expect("zeros are encoded"));
    let mut brotli = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams { quality: 5, ..Default::default() };
    brotli::BrotliCompress(&mut zeros.as_slice(), &mut brotli, &parameters).expect("zeros are encoded");
    let brotli = Arc::new(brotli);
    drop(zeros);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (gzip, brotli, zstd) = (gzip.clone(), brotli.clone(), zstd.clone());
            // The end of a connection is the client's to decide.
            std::thread::spawn(move || drop(answer(stream.expect("a connection"), &gzip, &brotli, &zstd)));
        }
    });
    address
}

/// 64 MiB that every encoding makes small, but not so small that they come in one piece.
fn plain() -> Vec<u8> {
    let mut bytes = vec![0_u8; 64 << 20];
    for (number, block) in bytes.chunks_mut(2048).enumerate() {
        block[..8].copy_from_slice(&(number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes());
    }
    bytes
}

fn answer(mut stream: TcpStream, gzip: &[u8], brotli: &[u8], zstd: &[u8]) -> std::io::Result<()> {
    let mut head = [0_u8; 2048];
    let length = stream.read(&mut head)?;
    let head = String::from_utf8_lossy(&head[..length]).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let mut encoded = |name: &str, bytes: &[u8]| {
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Encoding: {name}\r\nContent-Length: {}\r\n\r\n", bytes.len())?;
        // About 9 MiB at once, and the rest later, so that all bombs are in flight together.
        let (first, rest) = bytes.split_at(bytes.len() * 14 / 100);
        stream.write_all(first)?;
        std::thread::sleep(PAUSE);
        stream.write_all(rest)?;
        Ok(())
    };
    match path {
        "/gzip" => encoded("gzip", gzip),
        "/brotli" => encoded("br", brotli),
        "/zstd" => encoded("zstd", zstd),
        "/feed" => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {HEALTHY_BYTES}\r\n\r\n")?;
            (0..HEALTHY_BYTES / PIECE.len()).try_for_each(|_| stream.write_all(&PIECE))
        }
        "/head" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
            loop {
                stream.write_all(format!("X-Long: {}\r\n", "x".repeat(1000)).as_bytes())?;
            }
        }
        _ => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            (0..900).try_for_each(|_| stream.write_all(&PIECE))?;
            std::thread::sleep(PAUSE);
            loop {
                stream.write_all(&PIECE)?;
            }
        }
    }
}
