//! What a piece of work costs: the CPU time of this process and of every PostgreSQL server process, and the time it
//! took.

use std::future::Future;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// What a piece of work cost.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    cpu: Duration,
    wall: Duration,
}

impl Cost {
    pub(crate) fn cheaper(self, other: Option<Cost>) -> Cost {
        other.filter(|other| other.cpu < self.cpu).unwrap_or(self)
    }

    pub(crate) fn cpu_micros(self, count: usize) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / count as f64
    }

    pub(crate) fn wall_micros(self, count: usize) -> f64 {
        self.wall.as_secs_f64() * 1e6 / count as f64
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures the real clock")]
pub(crate) async fn measure(work: impl Future<Output = ()>) -> Cost {
    let (cpu, started) = (cpu_time(), Instant::now());
    work.await;
    Cost { wall: started.elapsed(), cpu: cpu_time() - cpu }
}

fn cpu_time() -> Duration {
    let own = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(own.tv_sec.cast_unsigned(), own.tv_nsec.try_into().unwrap()) + server_time()
}

/// User and system time of all processes called `postgres`, ended sessions included, in ticks of a hundredth second.
fn server_time() -> Duration {
    let ticks: u64 = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok())
        .filter_map(|stat| {
            let fields = stat.split_once(" (postgres) ")?.1;
            Some(fields.split(' ').skip(11).take(4).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>())
        })
        .sum();
    Duration::from_millis(ticks * 10)
}
