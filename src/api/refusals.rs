//! Refused requests over TCP: counted by reason, and logged without letting a flood fill the log.

use std::net::IpAddr;

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use slog::info;

use super::Api;
use super::problem::Problem;
use crate::model::Timestamp;

#[derive(Default)]
pub(super) struct Refusals {
    /// By the name of the problem; shared by all listeners.
    pub(super) counts: Family<[(&'static str, &'static str); 1], Counter>,
    unreported: Mutex<Unreported>,
}

#[derive(Default)]
struct Unreported {
    /// Second of the last record.
    reported_at: Option<i64>,
    /// Refusals since then.
    count: u64,
}

impl Refusals {
    /// Counts a refusal, and logs the first one of each second.
    pub(super) fn note(&self, api: &Api, client: IpAddr, path: &str, problem: &Problem) {
        self.counts.get_or_create(&[("reason", problem.name())]).inc();
        if let Some(count) = self.unreported.lock().report(api.service.now()) {
            info!(api.pipeline().log(), "request refused"; "client" => %client, "path" => path,
                "reason" => problem.to_string(), "count" => count);
        }
    }
}

impl Unreported {
    /// The number of refusals to report now, if any.
    fn report(&mut self, now: Timestamp) -> Option<u64> {
        self.count += 1;
        let second = now.as_seconds();
        if self.reported_at == Some(second) {
            return None;
        }
        self.reported_at = Some(second);
        Some(std::mem::take(&mut self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_makes_one_record_a_second_that_counts_all() {
        let mut unreported = Unreported::default();
        let reports: Vec<u64> =
            (0..3000).filter_map(|number| unreported.report(Timestamp::from_seconds(number / 1000))).collect();
        assert_eq!(reports, [1, 1000, 1000]);
    }
}
