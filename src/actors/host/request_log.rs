//! The last requests of the process, in memory: what hosts have answered recently.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::model::{HostKey, HostRequest};

/// Requests that are kept, of all hosts together; about 2 MB.
const REQUESTS_MAX: usize = 20_000;

#[derive(Default)]
pub(in crate::actors) struct RequestLog(Mutex<VecDeque<(HostKey, HostRequest)>>);

impl RequestLog {
    pub(in crate::actors) fn note(&self, host: HostKey, request: HostRequest) {
        let mut requests = self.0.lock();
        requests.truncate(REQUESTS_MAX - 1);
        requests.push_front((host, request));
    }

    /// The last requests to a host, newest first.
    pub(in crate::actors) fn of_host(&self, host: &HostKey, limit: usize) -> Vec<HostRequest> {
        let requests = self.0.lock();
        requests.iter().filter(|(key, _)| key == host).take(limit).map(|(_, request)| request.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::{RequestPurpose, Timestamp};

    fn request(second: u64) -> HostRequest {
        HostRequest {
            started_at: Timestamp::EPOCH + Duration::from_secs(second),
            duration: Duration::from_millis(20),
            purpose: RequestPurpose::Poll,
            source_id: None,
            status_code: Some(200),
            error_type: None,
        }
    }

    #[test]
    fn the_last_requests_of_a_host_are_kept_newest_first() {
        let (log, host, other) =
            (RequestLog::default(), HostKey::from_canonical("a.example"), HostKey::from_canonical("b.example"));
        for second in 0..6 {
            log.note(if second % 2 == 0 { host.clone() } else { other.clone() }, request(second));
        }
        assert_eq!(log.of_host(&host, 2), [request(4), request(2)]);
        assert_eq!(log.of_host(&other, 10).len(), 3);
        assert_eq!(log.of_host(&HostKey::from_canonical("c.example"), 10), []);
    }

    #[test]
    fn the_oldest_request_leaves_a_full_log() {
        let (log, host) = (RequestLog::default(), HostKey::from_canonical("a.example"));
        (0..=REQUESTS_MAX as u64).for_each(|second| log.note(host.clone(), request(second)));
        let kept = log.of_host(&host, usize::MAX);
        assert_eq!((kept.len(), kept.last()), (REQUESTS_MAX, Some(&request(1))));
    }
}
