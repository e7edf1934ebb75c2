//! What the system says about this process, for metrics. Only files below `/proc/self` are read: the systemd unit hides
//! the others (`ProcSubset=pid`).

use std::fs;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use crate::clock::process_cpu_time;

/// Figures of this process; the system does not tell all of them everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessFigures {
    /// Time on processors, of all threads, in user and system mode.
    pub cpu: Duration,
    pub resident_bytes: Option<u64>,
    pub virtual_bytes: Option<u64>,
    pub open_fds: Option<u64>,
    /// The soft limit; none if there is no limit.
    pub max_fds: Option<u64>,
}

impl ProcessFigures {
    pub fn read() -> ProcessFigures {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        // The directory that is read is open itself.
        let open_fds = fs::read_dir("/proc/self/fd").map(|found| (found.count() as u64).saturating_sub(1));
        ProcessFigures {
            cpu: process_cpu_time(),
            resident_bytes: status_bytes(&status, "VmRSS"),
            virtual_bytes: status_bytes(&status, "VmSize"),
            open_fds: open_fds.ok(),
            max_fds: getrlimit(Resource::Nofile).current,
        }
    }
}

/// A line such as `VmRSS:     1234 kB`, in bytes.
fn status_bytes(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim_end().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_status_are_read_in_bytes() {
        let status = "Name:\tfeedwarden\nVmPeak:\t  999 kB\nVmSize:\t  2048 kB\nVmRSS:\t   10 kB\nRssAnon:\t 5 kB\n";
        assert_eq!(status_bytes(status, "VmSize"), Some(2 << 20));
        assert_eq!(status_bytes(status, "VmRSS"), Some(10 << 10));
        assert_eq!(status_bytes(status, "VmSwap"), None);
        assert_eq!(status_bytes("VmRSS:\tmany kB\n", "VmRSS"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_open_file_counts() {
        let before = ProcessFigures::read();
        let files: Vec<_> = (0..64).map(|_| fs::File::open("/proc/self/status").unwrap()).collect();
        let after = ProcessFigures::read();
        // Tests that run beside this one open and close files of their own.
        assert!(after.open_fds.unwrap() >= before.open_fds.unwrap() + 32, "{before:?} {after:?}");
        assert!(after.open_fds < after.max_fds && after.cpu >= before.cpu);
        assert!(after.resident_bytes.unwrap() > 1 << 20 && after.resident_bytes < after.virtual_bytes, "{after:?}");
        drop(files);
    }
}
