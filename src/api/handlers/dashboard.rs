//! The endpoint that gives the user of the admin socket a way into the dashboard.

use actix_web::http::Method;
use actix_web::{HttpMessage, HttpRequest, HttpResponse, web};

use super::super::endpoint::Endpoint;
use super::super::guard::{CallerService, Identity};
use super::super::input::JsonBody;
use super::super::problem::Problem;
use super::super::sessions::CODE_LASTS;
use super::super::views::{DashboardBody, DashboardLink};
use super::super::{Api, SITE};
use super::HandlerResult;
use crate::model::AuditedChange;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(
            Method::POST,
            "/dashboard",
            "Open the dashboard on loopback and get a link with a one-time code; on the admin socket only",
            open,
        )
        .body::<DashboardBody>()
        .answers::<DashboardLink>(200, "Link for a browser on this machine")
        .refuses(403, "Not the admin socket"),
    ]
}

async fn open(
    api: web::Data<Api>,
    CallerService(service): CallerService,
    request: HttpRequest,
    JsonBody(body): JsonBody<DashboardBody>,
) -> HandlerResult {
    let identity = request.extensions().get::<Identity>().cloned();
    let Some(Identity::Uid(uid)) = identity else {
        let text = format!("only the admin socket gives links; with a token, sign in at {SITE}");
        return Err(Problem::forbidden(text));
    };
    let address = api.loopback.open(body.port.unwrap_or(0)).await.map_err(|error| {
        let port = body.port.map(|port| format!(" on port {port}")).unwrap_or_default();
        Problem::refused(format!("cannot listen on loopback{port}: {error}")).at("port")
    })?;
    service.note_change(AuditedChange::new("dashboard.open", "daemon", None)).await;
    let code = api.sessions.new_code(uid, api.service.uptime());
    Ok(HttpResponse::Ok().json(DashboardLink {
        url: format!("http://{address}{SITE}/enter?code={code}"),
        valid_seconds: CODE_LASTS.as_secs(),
    }))
}
