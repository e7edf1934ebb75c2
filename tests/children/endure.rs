//! A daemon with accelerated intervals, for the tests that crash and kill it. Argument: a file of JSON that says what
//! to do. Ends on SIGTERM, after draining.
#![allow(clippy::unwrap_used, reason = "a test's child: whatever fails ends it, and the test looks at what is left")]

#[path = "../endurance/plan.rs"]
mod plan;

use std::io::Write;
use std::sync::{Arc, Mutex};

use feedwarden::actors::{Fleet, Parts, Pipeline, PipelineHandle, Scope};
use feedwarden::clock::{Clock, SystemClock};
use feedwarden::dice::SeededDice;
use feedwarden::fetch::Fetcher;
use feedwarden::http::Client;
use feedwarden::sources::TypeSettings;
use feedwarden::store;
use feedwarden::supervision::RootEnd;
use plan::Plan;
use slog::{Drain, Logger, o};
use tokio::signal::unix::{SignalKind, signal};

fn main() {
    let plan = Plan::read(&std::env::args().nth(1).unwrap());
    actix_rt::System::new().block_on(async {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let store = store::open(&plan.store(), clock.now()).await.unwrap();
        let client = Client::new(plan.http(), || SystemClock.now()).unwrap();
        let parts = Parts {
            store: store.clone(),
            clock: clock.clone(),
            dice: Arc::new(SeededDice::new(plan.seed)),
            fetcher: Fetcher::new(client),
            type_settings: TypeSettings::default(),
            policy: plan.policy(),
            settings: plan.pipeline(),
            fleet: Fleet::alone(),
            log: logger(&plan.log),
        };
        let pipeline = Pipeline::new(parts, Scope::Daemon);
        let handle = pipeline.handle();
        let running = actix_rt::spawn(pipeline.run());
        actix_rt::spawn(tell_when_silent(handle.clone()));
        println!("ready");
        signal(SignalKind::terminate()).unwrap().recv().await;
        println!("{}", handle.tree(3).unwrap());
        handle.drain().await;
        handle.stop();
        let end = running.await.unwrap();
        store.close().await;
        std::process::exit(i32::from(!matches!(end, RootEnd::Stopped)));
    });
}

/// A daemon that polls nothing for a while says what it is waiting for.
async fn tell_when_silent(handle: PipelineHandle) {
    let mut settled = 0;
    loop {
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        let before = std::mem::replace(&mut settled, handle.statistics().view().settled());
        if before == settled {
            let status = handle.scheduler_status().await;
            let (under_way, unsettled) = (handle.under_way(), handle.unsettled());
            eprintln!("silent: {status:?}, {under_way} under way, {unsettled} unsettled\n{}", handle.tree(3).unwrap());
        }
    }
}

/// Every record is in the file before its caller goes on: what was told is known, even after a kill.
fn logger(path: &str) -> Logger {
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    let drain = slog_json::Json::new(LineByLine { file, line: Vec::new() })
        .add_key_value(o!(
            "msg" => slog::PushFnValue(|record, serializer| serializer.emit(record.msg())),
            "level" => slog::FnValue(|record| feedwarden::telemetry::level_name(record.level())),
        ))
        .build();
    let drain = slog::LevelFilter::new(Mutex::new(drain).map(slog::Fuse), slog::Level::Info);
    Logger::root(drain.map(slog::Fuse), o!())
}

/// One write for one line.
struct LineByLine {
    file: std::fs::File,
    line: Vec<u8>,
}

impl Write for LineByLine {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if self.line.ends_with(b"\n") {
            self.file.write_all(&self.line)?;
            self.line.clear();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
