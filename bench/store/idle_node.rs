//! What an idle node asks of the database: the daemon itself, with sources that are not due.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::POLLS;
use crate::raw::{connect, fresh_database};
use crate::writers::add_sources;

/// Statements per second.
const RATE_MAX: f64 = 1.0;
const SECONDS: u64 = 60;

/// Prints the statements per second, and says whether the bar is kept.
pub(crate) async fn compare(server_url: &str) -> bool {
    count_statements(server_url).await;
    let (url, _) = fresh_database(server_url).await;
    add_sources(&url).await;
    let client = connect(server_url).await;
    let polled = "UPDATE sources SET first_polled_at = now(), last_polled = now(), last_success_at = now(), \
                  last_read_at = now()";
    connect(&url).await.batch_execute(polled).await.unwrap();

    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let log = std::fs::File::create(directory.path().join("log")).unwrap();
    let mut daemon = Command::new(env!("CARGO_BIN_EXE_feedwarden"))
        .args(["run", "--set", &format!("database.url={url}")])
        .env("STATE_DIRECTORY", directory.path())
        .env("RUNTIME_DIRECTORY", directory.path())
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap();
    until_loaded(&mut daemon, directory.path()).await;
    client.batch_execute("SELECT pg_stat_statements_reset()").await.unwrap();
    tokio::time::sleep(Duration::from_secs(SECONDS)).await;
    let count = "SELECT query, calls FROM pg_stat_statements \
                 WHERE dbid = (SELECT oid FROM pg_database WHERE datname = 'bench') ORDER BY calls DESC";
    let rows = client.query(count, &[]).await.unwrap();
    daemon.kill().unwrap();
    daemon.wait().unwrap();

    println!("Idle: `feedwarden run` with {} sources of which none is due, {SECONDS} s\n", POLLS);
    println!("| statement | calls | a second |");
    println!("|---|---|---|");
    let mut total = 0;
    for row in rows {
        let (text, calls): (String, i64) = (row.get(0), row.get(1));
        let text = text.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join(" ");
        let start: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
        println!("| `{start}` | {calls} | {:.2} |", calls as f64 / SECONDS as f64);
        total += calls;
    }
    let rate = total as f64 / SECONDS as f64;
    let is_good = total > 0 && rate <= RATE_MAX;
    println!("| all | {total} | {rate:.2} |");
    println!("\nat most {RATE_MAX} statement a second: {}", if is_good { "kept" } else { "MISSED" });
    is_good
}

/// Waits until the daemon polls by its schedule and has settled down.
async fn until_loaded(daemon: &mut std::process::Child, directory: &Path) {
    let log = directory.join("log");
    while !std::fs::read_to_string(&log).unwrap().contains("shards taken") {
        assert!(daemon.try_wait().unwrap().is_none(), "{}", std::fs::read_to_string(&log).unwrap());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
}

/// Has the server count statements, which takes a restart.
async fn count_statements(server_url: &str) {
    let preload = "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'";
    connect(server_url).await.batch_execute(preload).await.unwrap();
    for program in ["FEEDWARDEN_TEST_POSTGRES_STOP", "FEEDWARDEN_TEST_POSTGRES_START"] {
        let program = std::env::var_os(program).expect("tests/with-postgres says how to restart its server");
        assert!(Command::new(program).status().unwrap().success(), "the server is restarted");
    }
    connect(server_url).await.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").await.unwrap();
}
