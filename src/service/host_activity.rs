//! What happens at a host: its last requests and its queue. And the hosts that do not take requests or do not answer.

use std::cmp::Reverse;
use std::time::Duration;

use super::{HostCondition, HostStatus, Result, Service};
use crate::model::{HostKey, HostQueueStatus, HostRequest, RequestPurpose, Timestamp};

/// The most requests that one call returns.
pub const HOST_REQUESTS_MAX: usize = 200;
/// The most sources of a host whose histories complete the list of requests.
const SOURCES_MAX: u32 = 50;

impl Service {
    /// The last requests to a host, newest first, at most [`HOST_REQUESTS_MAX`]: those that the process has in memory, and
    /// before them stored polls of up to 50 sources of the host.
    pub async fn host_requests(&self, name: &str, limit: usize) -> Result<Vec<HostRequest>> {
        let key = self.known(name).await?;
        let limit = limit.min(HOST_REQUESTS_MAX);
        let mut requests = self.pipeline.requests_of(&key, limit);
        if requests.len() < limit {
            let before = requests.last().map(|oldest| oldest.started_at);
            requests.extend(self.stored_requests(&key, before, limit - requests.len(), limit).await?);
        }
        Ok(requests)
    }

    /// Polls of sources of a host that ended before this moment, newest first. A poll stands for all its requests. Of
    /// each source the last `examined_max` polls are read.
    async fn stored_requests(
        &self,
        key: &HostKey,
        before: Option<Timestamp>,
        limit: usize,
        examined_max: usize,
    ) -> Result<Vec<HostRequest>> {
        let mut requests = Vec::new();
        for source in self.store.select_sources(self.at_host(key), None, SOURCES_MAX).await? {
            // The newest polls of a source may be in memory, too.
            let polls = self.polls_before(source.id, None, examined_max as u32).await?;
            let older = polls.into_iter().map(|stored| stored.poll).filter(|poll| before.is_none_or(|at| poll.at < at));
            requests.extend(older.take(limit).map(|poll| {
                let duration = Duration::from_millis(poll.duration_ms);
                HostRequest {
                    started_at: poll.at - duration,
                    duration,
                    purpose: RequestPurpose::Poll,
                    source_id: Some(source.id),
                    status_code: poll.status_code,
                    error_type: poll.error_type,
                }
            }));
        }
        requests.sort_by_key(|request| Reverse(request.started_at));
        requests.truncate(limit);
        Ok(requests)
    }

    /// Sources of a host that wait for it and that are in flight; none if the scheduler does not answer.
    pub async fn host_queue(&self, name: &str) -> Result<Option<HostQueueStatus>> {
        Ok(self.pipeline.host_queue(&self.named(name)?).await)
    }

    /// Hosts with an open breaker, then held ones, then those with unanswered requests; in each group the longest wait
    /// first. Only hosts that this node has in memory: those with recent polls, and up to 10,000 that take no requests.
    pub fn troubled_hosts(&self, limit: usize) -> Vec<HostStatus> {
        self.troubled_hosts_in(None, limit)
    }

    /// The same for hosts in one condition.
    pub fn troubled_hosts_in(&self, condition: Option<HostCondition>, limit: usize) -> Vec<HostStatus> {
        let statuses = self.pipeline.troubled_hosts().into_iter().map(|state| self.status_of(state));
        let mut found: Vec<HostStatus> =
            statuses.filter(|status| condition.is_none_or(|wanted| status.condition == wanted)).collect();
        found.sort_by(|one, other| badness(other).cmp(&badness(one)).then_with(|| one.host.cmp(&other.host)));
        found.truncate(limit);
        found
    }
}

/// Greater is worse.
fn badness(status: &HostStatus) -> (u8, Option<Timestamp>, u32) {
    let (rank, until) = match status.condition {
        HostCondition::BreakerOpen => (2, status.breaker_open_until),
        HostCondition::Held => (1, status.held_until),
        HostCondition::Available => (0, None),
    };
    (rank, until, status.unanswered_requests)
}
