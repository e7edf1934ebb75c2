//! The process that is asked: the daemon's pipeline and listeners, and the bare handler beside them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use actix_web::{App, HttpResponse, HttpServer, web};
use feedwarden::actors::{Fleet, Parts, Pipeline, PipelineSettings, Scope};
use feedwarden::api::settings::{ApiLimits, ApiSettings};
use feedwarden::api::views::Reloaded;
use feedwarden::api::{ConfigHandle, Listeners};
use feedwarden::clock::{Clock, SystemClock};
use feedwarden::dashboard::DASHBOARD;
use feedwarden::dice::SeededDice;
use feedwarden::fetch::Fetcher;
use feedwarden::http::{Client, HttpSettings};
use feedwarden::rules::{Policy, minutes};
use feedwarden::service::{Service, own_user};
use feedwarden::sources::TypeSettings;
use feedwarden::store;
use feedwarden::telemetry::{self, LogSettings};

use crate::population::Engine;

const ROLE: &str = "FEEDWARDEN_BENCH_ROLE";
/// As many as the listeners have.
const WORKERS: usize = 2;

/// The process, and where it is asked.
pub(crate) struct Daemon {
    child: Child,
    pub(crate) socket: PathBuf,
    pub(crate) bare: PathBuf,
    /// The same bare handler over TCP.
    pub(crate) bare_address: String,
    /// First process of the PostgreSQL server, if there is one.
    database_server: Option<u32>,
}

impl Daemon {
    /// Starts it and waits until it has loaded everything.
    pub(crate) fn start(engine: &Engine, directory: &Path) -> Daemon {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .current_dir(directory)
            .env(ROLE, serde_json::to_string(engine).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let bare_address = line.trim().strip_prefix("ready ").unwrap().to_owned();
        Daemon {
            child,
            socket: directory.join("admin.sock"),
            bare: directory.join("bare.sock"),
            bare_address,
            database_server: engine.server_process(),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// User and system time of the process and of its database server, in ticks of a hundredth second.
    pub(crate) fn cpu_time(&self) -> Duration {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let process: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
            let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
            let parent: u32 = fields.get(1)?.parse().ok()?;
            let is_server = self.database_server.is_some_and(|server| process == server || parent == server);
            // A server counts its ended sessions as its children.
            let count = if is_server { 4 } else { 2 };
            let is_ours = is_server || process == self.id();
            is_ours
                .then(|| fields.iter().skip(11).take(count).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>())
        });
        Duration::from_millis(processes.sum::<u64>() * 10)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

/// A line of the process's `status` in MB: `VmRSS` is what is resident, `VmHWM` the most that ever was.
pub(crate) fn memory_mb(process: u32, line: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let found = status.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(':'));
    let kibibytes: f64 = found.unwrap().trim().trim_end_matches(" kB").parse().unwrap();
    kibibytes * 1024.0 / 1e6
}

/// What this process was started to serve, if it was started by the bench.
pub(crate) fn own_role() -> Option<Engine> {
    std::env::var(ROLE).ok().map(|text| serde_json::from_str(&text).unwrap())
}

/// The work of that process, in its working directory, until its standard input ends.
pub(crate) fn serve(engine: &Engine) {
    let log = LogSettings { file: Some("log".into()), ..LogSettings::default() };
    let telemetry = telemetry::start(&log, Arc::new(SystemClock)).unwrap();
    actix_rt::System::new().block_on(async {
        let store = store::open(&engine.settings(), SystemClock.now()).await.unwrap();
        let fetcher = Fetcher::new(Client::new(HttpSettings::default(), || SystemClock.now()).unwrap());
        let parts = Parts {
            store: store.clone(),
            clock: Arc::new(SystemClock),
            dice: Arc::new(SeededDice::new(1)),
            fetcher,
            type_settings: TypeSettings::default(),
            // Nothing falls due while the listeners are asked.
            policy: Policy { interval: minutes(24 * 60), adaptive: None, ..Policy::default() },
            settings: PipelineSettings::default(),
            fleet: Fleet::alone(),
            log: telemetry.logger.clone(),
        };
        let pipeline = Pipeline::new(parts, Scope::Daemon);
        let handle = pipeline.handle();
        let running = actix_rt::spawn(pipeline.run());
        while !handle.scheduler_status().await.is_some_and(|status| status.is_loaded) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // The client asks faster than a browser may.
        let limits = ApiLimits { requests_per_second: 1_000_000, ..ApiSettings::default().limits };
        let settings = ApiSettings { socket: "admin.sock".into(), limits, ..ApiSettings::default() };
        let configuration =
            ConfigHandle { effective: Box::new(Vec::new), reload: Box::new(|| Ok(Reloaded::default())) };
        let listeners = Listeners::take(&settings).unwrap();
        let service = Service::new(handle.clone(), own_user());
        let listeners = listeners.open(service, telemetry.handle.clone(), configuration, DASHBOARD).unwrap();
        let (bare, bare_address) = bare_handler();
        println!("ready {bare_address}");
        std::io::stdout().flush().unwrap();
        web::block(|| std::io::stdin().read_to_end(&mut Vec::new()).unwrap()).await.unwrap();
        bare.stop(false).await;
        listeners.close().await;
        handle.drain().await;
        handle.stop();
        running.await.unwrap();
        store.close().await;
    });
}

/// Answers `/SIZE` with so many bytes that are in memory already.
fn bare_handler() -> (actix_web::dev::ServerHandle, SocketAddr) {
    let bytes = web::Bytes::from(vec![b'x'; 16 << 20]);
    let app = move || {
        let bytes = bytes.clone();
        let answer = move |size: web::Path<usize>| std::future::ready(HttpResponse::Ok().body(bytes.slice(..*size)));
        App::new().route("/{size}", web::get().to(answer))
    };
    let _ = std::fs::remove_file("bare.sock");
    let server = HttpServer::new(app).workers(WORKERS).disable_signals().bind_uds("bare.sock").unwrap();
    let server = server.bind(("127.0.0.1", 0)).unwrap();
    // The socket has an entry of its own before.
    let address = server.addrs().pop().unwrap();
    let server = server.run();
    let handle = server.handle();
    actix_rt::spawn(server);
    (handle, address)
}
