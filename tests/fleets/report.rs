//! Takeover times and what is printed of them.

use std::fmt;
use std::time::Duration;

/// How a node was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// SIGTERM: shards are handed over.
    Stop,
    /// SIGKILL.
    Kill,
    /// SIGSTOP for longer than the lease.
    Freeze,
    /// No way to the database for longer than the lease.
    Cut,
    /// Crash and start of the database.
    Restart,
    /// Failover of the database to its standby.
    Failover,
}

/// How long the hosts of a lost node were without one.
#[derive(Clone, Debug)]
pub(super) struct Takeover {
    pub(super) fault: Fault,
    pub(super) victim: String,
    pub(super) shards: usize,
    /// From the fault until all shards had an owner.
    pub(super) owned: Duration,
    /// From the fault until each host was asked by another node.
    pub(super) asked: Vec<Duration>,
}

impl Takeover {
    pub(super) fn longest(&self) -> Duration {
        self.asked.iter().max().copied().unwrap_or_default()
    }
}

impl fmt::Display for Takeover {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:?} of {}: {} shards owned again after {:.2?}; {} hosts asked again: {}",
            self.fault,
            self.victim,
            self.shards,
            self.owned,
            self.asked.len(),
            Quantiles::of(&self.asked),
        )
    }
}

/// p50, p99 and maximum.
pub(super) struct Quantiles {
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    pub(super) max: Duration,
}

impl Quantiles {
    pub(super) fn of(times: &[Duration]) -> Quantiles {
        let mut sorted = times.to_vec();
        sorted.sort();
        let at = |share: f64| {
            let place = (sorted.len() as f64 * share).ceil() as usize;
            sorted.get(place.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or_default()
        };
        Quantiles { p50: at(0.5), p99: at(0.99), max: at(1.0) }
    }
}

impl fmt::Display for Quantiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "p50 {:.2?}, p99 {:.2?}, max {:.2?}", self.p50, self.p99, self.max)
    }
}

/// A table of all faults of a run, by kind.
pub(super) fn table(takeovers: &[Takeover]) -> String {
    let mut text =
        String::from("| fault | times | hosts | owned max | asked p50 | p99 | max |\n|---|---|---|---|---|---|---|\n");
    for fault in [Fault::Stop, Fault::Kill, Fault::Freeze, Fault::Cut, Fault::Restart, Fault::Failover] {
        let of_kind: Vec<&Takeover> = takeovers.iter().filter(|takeover| takeover.fault == fault).collect();
        let asked: Vec<Duration> = of_kind.iter().flat_map(|takeover| takeover.asked.iter().copied()).collect();
        let Some(owned) = of_kind.iter().map(|takeover| takeover.owned).max() else { continue };
        let Quantiles { p50, p99, max } = Quantiles::of(&asked);
        text.push_str(&format!(
            "| {fault:?} | {} | {} | {owned:.1?} | {p50:.1?} | {p99:.1?} | {max:.1?} |\n",
            of_kind.len(),
            asked.len(),
        ));
    }
    text
}

#[test]
fn quantiles_are_the_times_that_so_many_do_not_exceed() {
    let times: Vec<Duration> = (1..=200).rev().map(Duration::from_secs).collect();
    let Quantiles { p50, p99, max } = Quantiles::of(&times);
    assert_eq!((p50.as_secs(), p99.as_secs(), max.as_secs()), (100, 198, 200));
    let Quantiles { p50, p99, max } = Quantiles::of(&[Duration::from_secs(3)]);
    assert_eq!((p50, p99, max), (Duration::from_secs(3), Duration::from_secs(3), Duration::from_secs(3)));
    assert_eq!(Quantiles::of(&[]).max, Duration::ZERO);
}
