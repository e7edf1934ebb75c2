//! The endpoints, one file a noun: each lists its endpoints and handles their requests.

mod access;
mod actions;
mod articles;
mod audit;
mod daemon;
mod dashboard;
mod events;
mod feeds;
mod fleet;
mod hosts;
mod jobs;
mod opml;
mod podcasts;
mod posts;
mod source_fields;
mod sources;
mod stream;
mod users;
mod webhooks;

use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::Method;
use actix_web::http::header::LINK;
use actix_web::web::Bytes;

use super::endpoint::Endpoint;
use super::problem::Problem;
use super::views::{HealthView, IndexView};
use super::{BASE, health, metrics, openapi};

type HandlerResult = Result<HttpResponse, Problem>;

/// All endpoints. If two paths match, the first one is used, so the stream of posts comes before the posts.
pub(super) fn endpoints() -> Vec<Endpoint> {
    let groups = [
        sources::endpoints(),
        access::endpoints(),
        opml::endpoints(),
        actions::endpoints(),
        users::endpoints(),
        podcasts::endpoints(),
        hosts::endpoints(),
        jobs::endpoints(),
        stream::endpoints(),
        posts::endpoints(),
        articles::endpoints(),
        webhooks::endpoints(),
        daemon::endpoints(),
        dashboard::endpoints(),
        audit::endpoints(),
        events::endpoints(),
        fleet::endpoints(),
        feeds::endpoints(),
        of_the_server(),
    ];
    groups.into_iter().flatten().collect()
}

/// The OpenAPI document, and what is outside `/api/v1`: metrics and health checks.
fn of_the_server() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/openapi.json", "Get this document", document)
            .answers_object("application/json", "OpenAPI 3.1 document"),
        Endpoint::new(Method::GET, "", "Get links to the description of this API", index)
            .answers::<IndexView>(200, "Links"),
        Endpoint::new(Method::GET, "/", "Get links to the description of this API", index)
            .at_root()
            .answers::<IndexView>(200, "Links"),
        Endpoint::new(Method::GET, "/metrics", "Get metrics in a text format of Prometheus", metrics::metrics)
            .at_root()
            .answers_text(
                "text/plain",
                "Metrics, as OpenMetrics if the request accepts it; docs/operations.md lists them",
            ),
        Endpoint::new(Method::GET, "/healthz", "Check that the process answers", health::healthz)
            .at_root()
            .answers::<HealthView>(200, "Process answers"),
        Endpoint::new(Method::GET, "/readyz", "Check that the daemon works", health::readyz)
            .at_root()
            .answers::<HealthView>(200, "Daemon works")
            .answers::<HealthView>(503, "Daemon does not work; `reasons` says why"),
    ]
}

/// Needs a token over TCP like everything else, so it tells strangers nothing.
async fn index() -> HttpResponse {
    let openapi = format!("{BASE}/openapi.json");
    // RFC 8631.
    let link = (LINK, format!("<{openapi}>; rel=\"service-desc\""));
    HttpResponse::Ok().insert_header(link).json(IndexView {
        name: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        api: BASE.to_owned(),
        openapi,
        metrics: "/metrics".to_owned(),
        health: "/readyz".to_owned(),
    })
}

async fn document() -> HttpResponse {
    /// Generated once, because that is slow and the document never changes.
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| openapi::document().to_string().into());
    HttpResponse::Ok().content_type("application/json").body(DOCUMENT.clone())
}
