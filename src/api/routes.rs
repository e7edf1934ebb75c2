//! Registers the routes of all endpoints. No other file does, so every route is in the OpenAPI document.

use actix_web::guard::{GuardContext, fn_guard};
use actix_web::http::Method;
use actix_web::web;

use super::endpoint::Endpoint;
use super::handlers::endpoints;
use super::problem::Problem;

/// Registers everything; other methods of a known path get 405 with the allowed ones.
pub(super) fn mount(config: &mut web::ServiceConfig) {
    let mut resources: Vec<(String, Vec<Endpoint>)> = Vec::new();
    for endpoint in endpoints() {
        let path = format!("{}{}", endpoint.base, endpoint.path);
        match resources.iter_mut().find(|(known, _)| *known == path) {
            Some((_, of_path)) => of_path.push(endpoint),
            None => resources.push((path, vec![endpoint])),
        }
    }
    for (path, of_path) in resources {
        let allowed: Vec<Method> = of_path.iter().flat_map(Endpoint::methods).collect();
        let allowed = allowed.iter().map(Method::as_str).collect::<Vec<_>>().join(", ");
        let mut resource = web::resource(path);
        for endpoint in of_path {
            let methods = endpoint.methods();
            let is_asked = move |request: &GuardContext<'_>| methods.contains(&request.head().method);
            resource = resource.route(endpoint.route.guard(fn_guard(is_asked)));
        }
        let refuse = move || std::future::ready(Problem::wrong_method(&allowed).answer());
        config.service(resource.default_service(web::to(refuse)));
    }
}
