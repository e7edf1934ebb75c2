//! Counts and durations of all requests to the API, refused ones included, for the page of metrics.
//!
//! The number of series is bounded: routes are those of the endpoints, never paths of clients.

use std::time::Duration;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;
use actix_web::{Error, web};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::Api;
use super::openapi::without_patterns;
use crate::clock::Stopwatch;

/// The upper ends of the buckets, in seconds: few, since there is a histogram for each route.
const BUCKET_SECONDS: [f64; 7] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0];
/// Route of a path that no endpoint has.
const NO_ROUTE: &str = "none";

/// Method and route.
type RouteLabels = [(&'static str, String); 2];

/// Shared by all listeners.
pub(super) struct RequestMetrics {
    /// By method, route and status code.
    counts: Family<[(&'static str, String); 3], Counter>,
    durations: Family<RouteLabels, Histogram, fn() -> Histogram>,
}

impl Default for RequestMetrics {
    fn default() -> RequestMetrics {
        let durations = Family::new_with_constructor((|| Histogram::new(BUCKET_SECONDS)) as fn() -> Histogram);
        RequestMetrics { counts: Family::default(), durations }
    }
}

impl RequestMetrics {
    pub(super) fn register(&self, page: &mut Registry) {
        page.register("api_requests", "Requests to the API, by method, route and status code", self.counts.clone());
        let help = "Time from the head of a request to the head of its response";
        page.register("api_request_duration_seconds", help, self.durations.clone());
    }

    fn note(&self, method: &'static str, route: String, code: u16, took: Duration) {
        let labels = [("method", method.to_owned()), ("route", route.clone()), ("code", code.to_string())];
        self.counts.get_or_create(&labels).inc();
        let labels = [("method", method.to_owned()), ("route", route)];
        self.durations.get_or_create(&labels).observe(took.as_secs_f64());
    }
}

/// Measures a request. It is the outermost layer, so it sees the response as the client does.
pub(super) async fn measure<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let Some(api) = request.app_data::<web::Data<Api>>().cloned() else { return next.call(request).await };
    let method = method_label(request.method());
    let route = request.match_pattern().map_or_else(|| NO_ROUTE.to_owned(), |pattern| without_patterns(&pattern));
    let watch = Stopwatch::start();
    let answer = next.call(request).await;
    let code = match &answer {
        Ok(answer) => answer.status(),
        Err(error) => error.as_response_error().status_code(),
    };
    api.requests.note(method, route, code.as_u16(), watch.elapsed());
    answer
}

/// Clients can invent methods, so only those that some endpoint has are told apart.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
