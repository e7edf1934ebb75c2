//! The dashboard: pages for a browser, rendered here and served by the listeners of the API below `/dashboard`.
//!
//! A page asks the API inside the process (`api::LocalApi`) and shows its wire types, so that pages, programs and the
//! command line see the same facts, and a change is validated, recorded and passed to the right node in one place.
//! Every page works without JavaScript: changes are forms, and `live` only reloads parts of the page that changed.
//!
//! `page` has the frame of all pages, `elements` what they are made of, `form` reads what they send. The other files
//! have one page or group of pages each, and list their routes.

mod assets;
mod audit;
mod chart;
mod difference;
mod elements;
mod fleet;
mod form;
mod host;
mod hosts;
mod jobs;
mod live;
mod new_source;
mod overview;
mod page;
mod poll_timeline;
mod post;
mod posts;
mod problem;
mod request_chart;
mod settings;
mod sign_in;
mod source;
mod source_actions;
mod sources;
mod supervision;
mod webhooks;

use actix_web::web;

use crate::api::MountedSite;

/// What the listeners of the API need of the dashboard.
pub const DASHBOARD: MountedSite = MountedSite { mount, problem_page: problem::problem_page };

fn mount(config: &mut web::ServiceConfig) {
    assets::routes(config);
    sign_in::routes(config);
    live::routes(config);
    overview::routes(config);
    sources::routes(config);
    new_source::routes(config);
    source::routes(config);
    source_actions::routes(config);
    jobs::routes(config);
    hosts::routes(config);
    host::routes(config);
    supervision::routes(config);
    fleet::routes(config);
    posts::routes(config);
    post::routes(config);
    webhooks::routes(config);
    settings::routes(config);
    audit::routes(config);
}
