//! Health checks. They have no rate limit, so their cost is bounded here: one check runs at a time, and all requests that
//! arrived before it began get its result.

use actix_web::{HttpResponse, web};
use tokio::sync::Mutex;

use super::Api;
use super::views::HealthView;
use crate::clock::Stopwatch;

/// Result of the last check and when it began.
#[derive(Default)]
pub(super) struct ReadinessCheck(Mutex<Option<(Stopwatch, HealthView)>>);

pub(super) async fn healthz() -> HttpResponse {
    HttpResponse::Ok().json(HealthView::of(Vec::new()))
}

pub(super) async fn readyz(api: web::Data<Api>) -> HttpResponse {
    let health = readiness(&api).await;
    match health.reasons.is_empty() {
        true => HttpResponse::Ok().json(health),
        false => HttpResponse::ServiceUnavailable().json(health),
    }
}

async fn readiness(api: &Api) -> HealthView {
    let arrival = Stopwatch::start();
    let mut last = api.readiness.0.lock().await;
    if let Some((begun, health)) = &*last
        && begun.elapsed() < arrival.elapsed()
    {
        return health.clone();
    }
    let begun = Stopwatch::start();
    let scheduler = api.pipeline().scheduler_status().await;
    let health = HealthView::of(api.service.not_ready_because(scheduler.as_ref()).await);
    *last = Some((begun, health.clone()));
    health
}
