//! What a piece of work costs: the CPU time of this process and of the PostgreSQL server it uses, and the time it took.

use std::time::Duration;

use feedwarden::clock::Stopwatch;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// What a piece of work cost.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) cpu_seconds: f64,
    pub(crate) wall_seconds: f64,
}

impl Cost {
    pub(crate) fn cpu_micros(self, count: usize) -> f64 {
        self.cpu_seconds * 1e6 / count as f64
    }
}

/// Measures from its start on.
pub(crate) struct Meter {
    server: Option<u32>,
    cpu: Duration,
    stopwatch: Stopwatch,
}

impl Meter {
    /// `server` is the first process of the PostgreSQL server whose time counts, if one does.
    pub(crate) fn start(server: Option<u32>) -> Meter {
        Meter { server, cpu: cpu_time(server), stopwatch: Stopwatch::start() }
    }

    pub(crate) fn read(&self) -> Cost {
        let wall_seconds = self.stopwatch.elapsed().as_secs_f64();
        Cost { cpu_seconds: cpu_time(self.server).saturating_sub(self.cpu).as_secs_f64(), wall_seconds }
    }
}

/// A line of `/proc/self/status` in MB: `VmRSS` is what is resident, `VmHWM` the most that ever was.
pub(crate) fn memory_mb(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let found = status.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(':'));
    let kibibytes: f64 = found.unwrap().trim().trim_end_matches(" kB").parse().unwrap();
    kibibytes * 1024.0 / 1e6
}

/// The process that started this session of a server.
pub(crate) fn parent_of(process: i32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').nth(1).unwrap().parse().unwrap()
}

fn cpu_time(server: Option<u32>) -> Duration {
    let own = clock_gettime(ClockId::ProcessCPUTime);
    let own = Duration::new(own.tv_sec.cast_unsigned(), own.tv_nsec.try_into().unwrap());
    own + server.map_or(Duration::ZERO, server_time)
}

/// User and system time of a server and its sessions, ended ones included, in ticks of a hundredth second. Other
/// servers on the same machine do not count.
fn server_time(server: u32) -> Duration {
    let of_process = |entry: std::fs::DirEntry| {
        let process: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let fields: Vec<&str> = stat.split_once(" (postgres) ")?.1.split(' ').collect();
        let is_ours = process == server || fields.get(1)?.parse() == Ok(server);
        is_ours.then(|| fields.iter().skip(11).take(4).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>())
    };
    let ticks: u64 = std::fs::read_dir("/proc").unwrap().filter_map(|entry| of_process(entry.ok()?)).sum();
    Duration::from_millis(ticks * 10)
}
