//! What one request costs: `cargo bench --bench http`.
//!
//! Requests per CPU second of this process on loopback, on fresh and on kept connections, for our client, for a bare
//! hyper client and for a raw socket, in turns within one run. The server is a process of its own, so that its time
//! does not count. Ends with an error if our client takes more than 1.5 times the CPU of bare hyper.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use feedwarden::http::{Client, Content, HttpSettings, Request};
use feedwarden::model::Timestamp;
use hyper::body::Body;
use hyper_util::rt::TokioIo;
use rustix::thread::CpuSet;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ROUNDS: usize = 40;
const REQUESTS_PER_ROUND: usize = 300;
const BODY_BYTES: usize = 16 * 1024;
const RATIO_MAX: f64 = 1.5;
const SERVER: &str = "FEEDWARDEN_BENCH_SERVER";
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\nETag: \"0123456789abcdef\"\r\n\
                    Last-Modified: Mon, 16 Nov 2026 08:00:00 GMT\r\nCache-Control: max-age=600\r\n\
                    Date: Mon, 16 Nov 2026 08:00:00 GMT\r\nServer: bench\r\n";

fn main() -> ExitCode {
    if std::env::var_os(SERVER).is_some() {
        serve();
        return ExitCode::SUCCESS;
    }
    stay_on_one_core();
    let server = ServerProcess::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be built");
    let (fresh, kept) = runtime.block_on(async {
        let fresh = compare(&server, false).await;
        (fresh, compare(&server, true).await)
    });
    drop(server);
    println!("{:<12} {:>18} {:>18} {:>18} {:>8}", "connections", "raw socket", "bare hyper", "feedwarden", "ratio");
    let mut passed = true;
    for (name, seconds) in [("fresh", fresh), ("kept", kept)] {
        let [raw, hyper, ours] = seconds.map(|seconds| format!("{:.0}/s {:.1} µs", 1.0 / seconds, seconds * 1e6));
        let ratio = seconds[2] / seconds[1];
        passed &= ratio <= RATIO_MAX;
        println!("{name:<12} {raw:>18} {hyper:>18} {ours:>18} {ratio:>8.2}");
    }
    println!(
        "requests per CPU second and CPU time per request; {BODY_BYTES} bytes of body; the ratio is to bare hyper"
    );
    println!("bar {RATIO_MAX}: {}", if passed { "kept" } else { "MISSED" });
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Waking a process on another core costs the waker, or does not, as the scheduler likes, and can double the figures of
/// whole runs. The server inherits this.
fn stay_on_one_core() {
    let allowed = rustix::thread::sched_getaffinity(None).expect("the kernel says where we may run");
    let last = (0..CpuSet::MAX_CPU).rfind(|core| allowed.is_set(*core)).expect("we run somewhere");
    let mut one = CpuSet::new();
    one.set(last);
    rustix::thread::sched_setaffinity(None, &one).expect("we may run on one core that we may run on");
}

/// The CPU seconds per request of the raw socket, bare hyper and our client: the best of many short rounds in turns,
/// since whatever else the machine does can only add to them.
async fn compare(server: &ServerProcess, keep: bool) -> [f64; 3] {
    let mut best = [f64::INFINITY; 3];
    for _ in 0..ROUNDS {
        // A client of its own for each round, so that no kept connection outlives its round; made before the clock
        // starts, since it loads the platform's certificates.
        let client = client(server.address);
        let measured = [
            measure(async || raw(server.address, keep, REQUESTS_PER_ROUND).await).await,
            measure(async || bare(server.address, keep, REQUESTS_PER_ROUND).await).await,
            measure(async || ours(&client, server.address, keep, REQUESTS_PER_ROUND).await).await,
        ];
        best.iter_mut().zip(measured).for_each(|(best, seconds)| *best = best.min(seconds));
    }
    best
}

async fn measure(work: impl AsyncFnOnce()) -> f64 {
    let before = cpu_seconds();
    work().await;
    (cpu_seconds() - before) / REQUESTS_PER_ROUND as f64
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn client(address: SocketAddr) -> Client {
    let settings = HttpSettings {
        allowed_networks: vec!["127.0.0.0/8".parse().expect("a network")],
        static_hosts: HashMap::from([("feeds.example".to_owned(), address.ip())]),
        ..HttpSettings::default()
    };
    Client::new(settings, || Timestamp::EPOCH).expect("a client can be built")
}

async fn ours(client: &Client, address: SocketAddr, keep_alive: bool, count: usize) {
    let mut request =
        Request { keep_alive, ..Request::new(format!("http://feeds.example:{}/feed.xml", address.port())) };
    request.validators.etag = Some("\"fedcba9876543210\"".into());
    for _ in 0..count {
        let reply = client.send(&request).await.expect("the server answers");
        assert!(matches!(reply.content, Content::Body { bytes, .. } if bytes.len() == BODY_BYTES));
    }
}

async fn bare(address: SocketAddr, keep: bool, count: usize) {
    let mut sender = None;
    for _ in 0..count {
        if sender.is_none() || !keep {
            let stream = tokio::net::TcpStream::connect(address).await.expect("the server listens");
            let io = TokioIo::new(stream);
            let (new, connection) = hyper::client::conn::http1::handshake(io).await.expect("hyper shakes hands");
            tokio::spawn(connection);
            sender = Some(new);
        }
        let sender = sender.as_mut().expect("just made");
        let request = hyper::Request::get("/feed.xml")
            .header("host", "feeds.example")
            .header("user-agent", "bare/1")
            .header("connection", if keep { "keep-alive" } else { "close" })
            .body(String::new())
            .expect("the request is well-formed");
        sender.ready().await.expect("the connection is free");
        let mut body = sender.send_request(request).await.expect("the server answers").into_body();
        let mut bytes = Vec::new();
        while let Some(frame) = std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await
        {
            let frame = frame.expect("the body is whole");
            bytes.extend_from_slice(frame.data_ref().expect("the body is data"));
        }
        assert_eq!(bytes.len(), BODY_BYTES);
    }
}

async fn raw(address: SocketAddr, keep: bool, count: usize) {
    let mut stream = None;
    let connection = if keep { "keep-alive" } else { "close" };
    let request = format!("GET /feed.xml HTTP/1.1\r\nHost: feeds.example\r\nConnection: {connection}\r\n\r\n");
    let answer_bytes = answer(keep).len();
    let mut buffer = vec![0; answer_bytes];
    for _ in 0..count {
        if stream.is_none() || !keep {
            stream = Some(tokio::net::TcpStream::connect(address).await.expect("the server listens"));
        }
        let stream = stream.as_mut().expect("just made");
        stream.write_all(request.as_bytes()).await.expect("the server reads");
        stream.read_exact(&mut buffer).await.expect("the server answers");
    }
}

fn answer(keep: bool) -> Vec<u8> {
    let connection = if keep { "keep-alive" } else { "close" };
    let head = format!("{HEAD}Connection: {connection}\r\nContent-Length: {BODY_BYTES}\r\n\r\n");
    [head.as_bytes(), &vec![b'x'; BODY_BYTES]].concat()
}

/// The server: a process of its own that ends when its standard input does.
struct ServerProcess {
    child: Child,
    address: SocketAddr,
}

impl ServerProcess {
    fn start() -> ServerProcess {
        let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
            .env(SERVER, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("the server's output is ours");
        BufReader::new(output).read_line(&mut line).expect("the server says its address");
        ServerProcess { child, address: line.trim().parse().expect("the server's line is an address") }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().expect("the server ends");
    }
}

fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
    println!("{}", listener.local_addr().expect("the listener has an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || converse(stream));
        }
    });
    let mut nothing = Vec::new();
    std::io::stdin().read_to_end(&mut nothing).expect("the bench holds the other end");
}

fn converse(mut stream: TcpStream) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    let answers = [answer(false), answer(true)];
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        head.clear();
        while !head.ends_with(b"\r\n\r\n") {
            let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
            head.extend_from_slice(&buffer[..count]);
        }
        let close = head.windows(5).any(|window| window.eq_ignore_ascii_case(b"close"));
        stream.write_all(&answers[usize::from(!close)]).ok()?;
        if close {
            return None;
        }
    }
}
