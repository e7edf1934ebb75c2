//! Requests to the API from inside the process, for the dashboard: the same handlers, checks, audit records and
//! forwarding to other nodes as for every client, without a connection.

use std::rc::Rc;

use actix_http::Request;
use actix_service::{IntoServiceFactory, Service as _, ServiceFactory};
use actix_web::body::{self, BoxBody};
use actix_web::dev::{AppConfig, Payload, ServiceResponse};
use actix_web::http::header::{CONTENT_TYPE, HeaderValue};
use actix_web::http::{Method, Uri};
use actix_web::middleware::from_fn;
use actix_web::{App, Error, FromRequest, HttpMessage, HttpRequest, HttpResponse, web};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{OnceCell, OwnedSemaphorePermit};

use super::forwarding::forward;
use super::guard::{Browser, Caller, Identity, READS_ONLY, is_signed_in};
use super::problem::{Problem, ProblemView};
use super::sessions::{SessionHolder, cookie};
use super::{Api, BASE, routes};
use crate::model::Timestamp;

/// The largest answer that is read.
const ANSWER_BYTES_MAX: usize = 64 << 20;

type Handle = Rc<dyn Fn(Request) -> LocalBoxFuture<'static, Result<ServiceResponse<BoxBody>, Error>>>;

/// The handlers of the API on one thread, made at their first use.
#[derive(Clone, Default)]
pub(super) struct LocalHandlers(Rc<OnceCell<Handle>>);

/// The API for the caller of a request to the dashboard.
#[derive(Clone)]
pub(crate) struct LocalApi {
    api: web::Data<Api>,
    handlers: LocalHandlers,
    identity: Option<Identity>,
    pub(crate) browser: Browser,
}

/// An answer that is not an error.
pub(crate) struct LocalAnswer {
    pub(crate) body: web::Bytes,
}

impl LocalApi {
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ProblemView> {
        self.send(Method::GET, path, None::<&()>).await?.json().map_err(|problem| problem.view())
    }

    pub(crate) async fn change<T: Serialize>(
        &self,
        method: Method,
        path: &str,
        body: Option<&T>,
    ) -> Result<LocalAnswer, ProblemView> {
        self.check_scope().map_err(|problem| problem.view())?;
        self.send(method, path, body).await
    }

    /// Sends a body that is not JSON.
    pub(crate) async fn upload(
        &self,
        path: &str,
        content_type: &'static str,
        body: web::Bytes,
    ) -> Result<LocalAnswer, ProblemView> {
        self.check_scope().map_err(|problem| problem.view())?;
        self.request(Method::POST, path, Some((content_type, body))).await
    }

    fn check_scope(&self) -> Result<(), Problem> {
        match self.browser.can_write {
            true => Ok(()),
            false => Err(Problem::forbidden(READS_ONLY)),
        }
    }

    async fn send<T: Serialize>(
        &self,
        method: Method,
        path: &str,
        body: Option<&T>,
    ) -> Result<LocalAnswer, ProblemView> {
        let json = body.map(serde_json::to_vec).transpose();
        let json = json.map_err(|error| Problem::internal(error).view())?;
        self.request(method, path, json.map(|json| ("application/json", json.into()))).await
    }

    /// The answer as it comes, for documents that are streamed.
    pub(crate) async fn pass(&self, path: &str) -> Result<HttpResponse, ProblemView> {
        self.response(Method::GET, path, None).await
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, web::Bytes)>,
    ) -> Result<LocalAnswer, ProblemView> {
        let internal = |error: String| Problem::internal(error).view();
        let answer = self.response(method, path, body).await?;
        let status = answer.status();
        let bytes = body::to_bytes_limited(answer.into_body(), ANSWER_BYTES_MAX).await;
        let body = bytes.map_err(|_| internal("the answer is too large".to_owned()))?;
        let body = body.map_err(|error| internal(error.to_string()))?;
        if status.is_success() {
            return Ok(LocalAnswer { body });
        }
        Err(serde_json::from_slice(&body).unwrap_or_else(|_| internal(format!("the API answers {status}"))))
    }

    async fn response(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, web::Bytes)>,
    ) -> Result<HttpResponse, ProblemView> {
        let internal = |error: String| Problem::internal(error).view();
        let uri: Uri = format!("{BASE}{path}").parse().map_err(|_| Problem::invalid("not a path").view())?;
        let mut request = Request::new();
        request.head_mut().method = method;
        request.head_mut().uri = uri;
        if let Some((content_type, body)) = body {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            let (_, mut payload) = actix_http::h1::Payload::create(true);
            payload.unread_data(body);
            *request.payload() = Payload::from(payload);
        }
        if let Some(identity) = &self.identity {
            request.extensions_mut().insert(identity.clone());
        }
        // Pages show no credentials, whoever looks at them.
        request.extensions_mut().insert(Caller {
            sees_secrets: false,
            sees_callers: self.browser.can_write,
            is_operator: false,
        });
        let handle = self.handlers.0.get_or_try_init(|| handlers(self.api.clone())).await;
        let handle = handle.map_err(|()| internal("the handlers cannot be made".to_owned()))?;
        Ok(match handle(request).await {
            Ok(answer) => answer.into_parts().1,
            Err(error) => error.error_response(),
        })
    }

    /// A number that changes whenever something happened that pages may show.
    pub(crate) fn activity(&self) -> u64 {
        self.api.activity()
    }

    pub(crate) fn is_fleet(&self) -> bool {
        self.api.pipeline().fleet().is_shared()
    }

    /// Opens a session with a one-time code; returns the secret of its cookie.
    pub(crate) fn enter(&self, code: &str) -> Result<String, Problem> {
        let now = self.api.service.uptime();
        let uid = self.api.sessions.redeem(code, now).ok_or_else(|| {
            Problem::unauthorized("the link was used already or is too old; get a new one with `feedwarden dashboard`")
        })?;
        Ok(self.api.sessions.open(SessionHolder::Uid(uid), now))
    }

    /// Opens a session with a token; returns the secret of its cookie.
    pub(crate) fn sign_in(&self, token: &str) -> Result<String, Problem> {
        let rules = self.api.access_rules.rules();
        let Some(verifier) = &rules.verifier else {
            return Err(Problem::unauthorized("this daemon takes no tokens; get a link with `feedwarden dashboard`"));
        };
        verifier.verify(token, self.api.service.now()).map_err(Problem::unauthorized)?;
        Ok(self.api.sessions.open(SessionHolder::Token(token.into()), self.api.service.uptime()))
    }

    /// Ends the session of a request.
    pub(crate) fn sign_out(&self, request: &HttpRequest) {
        if let Some(secret) = cookie(request.headers()) {
            self.api.sessions.close(&secret);
        }
    }

    /// Whether the session of a request is still valid, for responses that outlive its first check.
    pub(crate) fn is_signed_in(&self, request: &HttpRequest) -> bool {
        is_signed_in(&self.api, request)
    }

    /// A place among the open streams.
    pub(crate) fn stream_place(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let place = self.api.streams.clone().try_acquire_owned();
        place.map_err(|_| Problem::unavailable("too many streams are open (api.streams-max)"))
    }

    /// The largest OPML list.
    pub(crate) fn import_bytes_max(&self) -> usize {
        self.api.limits.import_bytes
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.api.service.now()
    }
}

impl LocalAnswer {
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        serde_json::from_slice(&self.body).map_err(Problem::internal)
    }
}

impl FromRequest for LocalApi {
    type Error = Problem;
    type Future = std::future::Ready<Result<LocalApi, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let api = request.app_data::<web::Data<Api>>().cloned();
        let handlers = request.app_data::<LocalHandlers>().cloned();
        let identity = request.extensions().get::<Identity>().cloned();
        let browser = request.extensions().get::<Browser>().cloned().unwrap_or_else(Browser::stranger);
        let local = api.zip(handlers).map(|(api, handlers)| LocalApi { api, handlers, identity, browser });
        std::future::ready(local.ok_or_else(|| Problem::internal("no state")))
    }
}

async fn handlers(api: web::Data<Api>) -> Result<Handle, ()> {
    let app = App::new().app_data(api).wrap(from_fn(forward)).configure(routes::mount);
    let service = Rc::new(app.into_factory().new_service(AppConfig::default()).await?);
    Ok(Rc::new(move |request| {
        service.call(request).map(|answer| answer.map(|answer| answer.map_into_boxed_body())).boxed_local()
    }))
}
