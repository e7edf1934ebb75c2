//! Health checks.

use std::time::Duration;

use actix_web::{HttpResponse, web};

use super::Api;
use super::views::HealthView;
use crate::actors::messages::SchedulerStatus;
use crate::model::Timestamp;

/// Timeout of the store.
const STORE_WITHIN: Duration = Duration::from_secs(2);
/// Without a success for this long, a daemon that fails or keeps sources waiting is not ready.
const SUCCESS_WITHIN: Duration = Duration::from_secs(15 * 60);
/// Tolerated delay of a tick.
const TICK_GRACE: Duration = Duration::from_secs(30);

pub(super) async fn healthz() -> HttpResponse {
    HttpResponse::Ok().json(HealthView::of(Vec::new()))
}

pub(super) async fn readyz(api: web::Data<Api>) -> HttpResponse {
    let health = HealthView::of(ailments(&api, api.handle.scheduler_status().await.as_ref()).await);
    match health.reasons.is_empty() {
        true => HttpResponse::Ok().json(health),
        false => HttpResponse::ServiceUnavailable().json(health),
    }
}

/// Reasons for not being ready; the caller passes the status of the scheduler.
pub(super) async fn ailments(api: &Api, scheduler: Option<&SchedulerStatus>) -> Vec<String> {
    let mut ailments = Vec::new();
    ailments.extend(trouble_of_store(api).await);
    let now = api.handle.clock().now();
    let Some(scheduler) = scheduler else {
        ailments.push("the scheduler does not answer".to_owned());
        return ailments;
    };
    let latest = now - (api.handle.tick() + TICK_GRACE);
    if scheduler.last_tick_at.is_none_or(|at| at < latest) {
        ailments.push("the scheduler does not tick".to_owned());
    }
    let done = api.handle.statistics().view();
    let is_wanted = scheduler.waiting > 0 || done.failed_in_a_row > 0;
    if is_wanted && scheduler.paused_since.is_none() && is_long_ago(done.last_success_at, api.started_at, now) {
        let since = done.last_success_at.map_or_else(|| "the start".to_owned(), |at| at.to_string());
        ailments.push(format!("no poll has succeeded since {since}"));
    }
    ailments
}

/// Error of the store: it does not answer, or it rejects writes of the pipeline.
pub(super) async fn trouble_of_store(api: &Api) -> Option<String> {
    match tokio::time::timeout(STORE_WITHIN, api.handle.store().ping()).await {
        Ok(Ok(())) => api.handle.store_trouble(),
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("the database does not answer".to_owned()),
    }
}

fn is_long_ago(last_success_at: Option<Timestamp>, started_at: Timestamp, now: Timestamp) -> bool {
    last_success_at.unwrap_or(started_at) < now - SUCCESS_WITHIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_has_a_while_after_its_start_and_after_each_success() {
        let start = Timestamp::from_seconds(1_800_000_000);
        let minutes = |count: u64| start + Duration::from_secs(count * 60);
        assert!(!is_long_ago(None, start, minutes(15)));
        assert!(is_long_ago(None, start, minutes(16)));
        assert!(!is_long_ago(Some(minutes(10)), start, minutes(25)));
        assert!(is_long_ago(Some(minutes(10)), start, minutes(26)));
    }
}
