//! Health checks.

use actix_web::{HttpResponse, web};

use super::Api;
use super::views::HealthView;

pub(super) async fn healthz() -> HttpResponse {
    HttpResponse::Ok().json(HealthView::of(Vec::new()))
}

pub(super) async fn readyz(api: web::Data<Api>) -> HttpResponse {
    let scheduler = api.pipeline().scheduler_status().await;
    let health = HealthView::of(api.service.not_ready_because(scheduler.as_ref()).await);
    match health.reasons.is_empty() {
        true => HttpResponse::Ok().json(health),
        false => HttpResponse::ServiceUnavailable().json(health),
    }
}
