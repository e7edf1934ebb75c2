//! Everything that can be asked and told, in one table.

mod access;
mod actions;
mod articles;
mod daemon;
mod feeds;
mod hosts;
mod opml;
mod podcasts;
mod posts;
mod source_fields;
mod source_settings;
mod sources;
mod stream;
mod users;
mod webhooks;

use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::Method;
use actix_web::web::Bytes;

use super::endpoint::Endpoint;
use super::problem::Problem;
use super::views::{
    AccessBody, AccessView, ArticleBody, ArticleView, BulkBody, BulkReport, ConfigurationRow, CreatedSource,
    DisableBody, EnabledSources, FaultsChange, FaultsView, HealthView, HoldBody, ImportReport, KeyBody, KeyView,
    LabelView, LogLevel, NewSourceBody, Page, PageQuery, PodcastBody, PodcastQuery, PodcastUpdate, PodcastView,
    PollQuery, PostQuery, PostView, Reloaded, RestBody, SchedulerView, SourceChanges, SourceQuery, SourceView,
    StatisticsReport, StatusView, StreamQuery, TreeQuery, UserBody, UserQuery, UserView, WebhookBody, WebhookChanges,
    WebhookTest, WebhookView,
};
use super::{health, metrics, openapi};
use crate::actors::control::{Explanation, HostView, PollAnswer, PollRecord, TreeView};

/// What a handler returns.
type Answer = Result<HttpResponse, Problem>;

/// Every endpoint. Of two paths that fit, the first counts.
pub(super) fn endpoints() -> Vec<Endpoint> {
    let groups =
        [of_sources(), of_actions(), of_people(), of_hosts(), of_posts(), of_webhooks(), of_daemon(), of_others()];
    groups.into_iter().flatten().collect()
}

fn of_sources() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/sources", "List sources", sources::list)
            .query::<SourceQuery>()
            .answers::<Page<SourceView>>(200, "Some of them."),
        Endpoint::new(Method::POST, "/sources", "Add a source, and perhaps poll it at once", sources::create)
            .body::<NewSourceBody>()
            .answers::<CreatedSource>(201, "It is there.")
            .refuses(409, "It is there already; context.source_id says which one.")
            .refuses(
                422,
                "Its first poll failed, so it was not added; context says how, and which feeds a page links to.",
            ),
        Endpoint::new(Method::POST, "/sources/bulk", "Add many sources", sources::bulk)
            .body::<BulkBody>()
            .answers::<BulkReport>(200, "What became of each."),
        Endpoint::new(Method::GET, "/sources/{id}", "One source", sources::one)
            .answers::<SourceView>(200, "It.")
            .refuses(404, "There is none."),
        Endpoint::new(
            Method::PATCH,
            "/sources/{id}",
            "Change some settings of a source, enable or disable it",
            sources::update,
        )
        .body::<SourceChanges>()
        .answers::<SourceView>(200, "Source with its current state")
        .refuses(400, "Invalid field; for one that another endpoint changes, context names its method and path.")
        .refuses(404, "No such source.")
        .versioned(),
        Endpoint::new(Method::DELETE, "/sources/{id}", "Remove a source with its posts", sources::remove)
            .answers_nothing("It is gone.")
            .refuses(404, "There is none.")
            .versioned(),
        Endpoint::new(
            Method::GET,
            "/sources/{id}/access",
            "What is sent to let a source in: names, no values",
            access::one,
        )
        .answers::<AccessView>(200, "These.")
        .refuses(404, "There is no such source, or nothing is kept for it.")
        .refuses(409, "What is kept cannot be opened."),
        Endpoint::new(
            Method::PUT,
            "/sources/{id}/access",
            "Keep a source's login and headers instead of earlier ones",
            access::put,
        )
        .body::<AccessBody>()
        .answers::<AccessView>(200, "They are kept, and used from the next poll on.")
        .refuses(404, "There is no such source.")
        .refuses(409, "There is no database.encryption-key to keep them with.")
        .versioned(),
        Endpoint::new(Method::DELETE, "/sources/{id}/access", "Forget a source's login and headers", access::remove)
            .answers_nothing("They are forgotten.")
            .refuses(404, "There is no such source, or nothing is kept for it.")
            .versioned(),
        Endpoint::new(Method::GET, "/labels", "List labels", sources::labels)
            .query::<PageQuery>()
            .answers::<Page<LabelView>>(200, "Some of them."),
        Endpoint::new(Method::GET, "/opml", "All sources as OPML", opml::export)
            .answers_text("text/x-opml", "The list."),
        Endpoint::new(Method::POST, "/opml", "Add the sources of an OPML list; folders become labels", opml::import)
            .text_body("text/x-opml")
            .answers::<ImportReport>(200, "What became of them."),
    ]
}

fn of_actions() -> Vec<Endpoint> {
    vec![
        Endpoint::new(
            Method::PATCH,
            "/sources/{id}/feed-disable",
            "Let a source rest for the cooldown of a kind of failure, or until feed-enable",
            actions::rest,
        )
        .body::<RestBody>()
        .answers::<SourceView>(200, "The source rests; feed_disabled_until says until when.")
        .versioned(),
        Endpoint::new(Method::PATCH, "/sources/{id}/feed-enable", "End the rest of a source", actions::wake)
            .answers::<SourceView>(200, "It is awake, with a clean slate.")
            .versioned(),
        Endpoint::new(Method::POST, "/sources/{id}/enable", "Enable a source, with a clean slate", actions::enable)
            .answers::<SourceView>(200, "It is enabled.")
            .versioned(),
        Endpoint::new(
            Method::POST,
            "/sources/{id}/disable",
            "Never poll a source until it is enabled",
            actions::disable,
        )
        .body::<DisableBody>()
        .answers::<SourceView>(200, "It is disabled.")
        .versioned(),
        Endpoint::new(Method::POST, "/sources/{id}/reset", "Forget the failures of a source", actions::reset)
            .answers::<SourceView>(200, "They are forgotten.")
            .versioned(),
        Endpoint::new(
            Method::POST,
            "/sources/{id}/poll",
            "Poll a source as soon as its publisher and host allow",
            actions::poll,
        )
        .query::<PollQuery>()
        .answers::<PollAnswer>(200, "It was polled.")
        .answers::<PollAnswer>(202, "It will be, and not before the moment given; without one, nobody knows when.")
        .refuses(409, "It is disabled or rests."),
        Endpoint::new(Method::GET, "/sources/{id}/explain", "Why a source is or is not polled", actions::explain)
            .answers::<Explanation>(200, "Why."),
        Endpoint::new(
            Method::GET,
            "/sources/{id}/history",
            "The last polls of a source, as far as is remembered",
            actions::history,
        )
        .answers::<Vec<PollRecord>>(200, "The newest first."),
    ]
}

fn of_people() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/users", "List users", users::list)
            .query::<UserQuery>()
            .answers::<Page<UserView>>(200, "Some of them."),
        Endpoint::new(Method::POST, "/users", "Add a user", users::create)
            .body::<UserBody>()
            .answers::<UserView>(201, "It is there.")
            .refuses(409, "Another user has this name."),
        Endpoint::new(Method::GET, "/users/{id}", "One user", users::one)
            .answers::<UserView>(200, "It.")
            .refuses(404, "There is none."),
        Endpoint::new(Method::PATCH, "/users/{id}", "Give a user another name", users::rename)
            .body::<UserBody>()
            .answers::<UserView>(200, "It, as it is now.")
            .refuses(404, "There is none.")
            .refuses(409, "Another user has this name."),
        Endpoint::new(Method::DELETE, "/users/{id}", "Remove a user with their keys", users::remove)
            .answers_nothing("It is gone.")
            .refuses(404, "There is none.")
            .refuses(409, "It owns podcasts."),
        Endpoint::new(Method::GET, "/users/{id}/keys/x", "Whether a user lends an X key, and since when", users::x_key)
            .answers::<KeyView>(200, "So.")
            .refuses(404, "There is none."),
        Endpoint::new(
            Method::PUT,
            "/users/{id}/keys/x",
            "Keep a user's X key, in the place of an earlier one",
            users::put_x_key,
        )
        .body::<KeyBody>()
        .answers::<KeyView>(200, "It is kept, and used from the next poll on.")
        .refuses(404, "There is no such user.")
        .refuses(409, "There is no database.encryption-key to keep it with."),
        Endpoint::new(Method::DELETE, "/users/{id}/keys/x", "Forget a user's X key", users::remove_x_key)
            .answers_nothing("It is forgotten.")
            .refuses(404, "There is none."),
        Endpoint::new(Method::GET, "/podcasts", "List podcasts", podcasts::list)
            .query::<PodcastQuery>()
            .answers::<Page<PodcastView>>(200, "Some of them."),
        Endpoint::new(Method::POST, "/podcasts", "Add a podcast", podcasts::create)
            .body::<PodcastBody>()
            .answers::<PodcastView>(201, "It is there."),
        Endpoint::new(Method::GET, "/podcasts/{id}", "One podcast", podcasts::one)
            .answers::<PodcastView>(200, "It.")
            .refuses(404, "There is none."),
        Endpoint::new(Method::PATCH, "/podcasts/{id}", "Give a podcast another title or owner", podcasts::update)
            .body::<PodcastUpdate>()
            .answers::<PodcastView>(200, "It, as it is now.")
            .refuses(404, "There is none."),
        Endpoint::new(Method::DELETE, "/podcasts/{id}", "Remove a podcast", podcasts::remove)
            .answers_nothing("It is gone.")
            .refuses(404, "There is none.")
            .refuses(409, "It has sources or articles."),
    ]
}

fn of_hosts() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/hosts", "List hosts that were asked or held", hosts::list)
            .query::<PageQuery>()
            .answers::<Page<HostView>>(200, "Some of them."),
        Endpoint::new(Method::GET, "/hosts/{host}", "One host", hosts::one)
            .answers::<HostView>(200, "It.")
            .refuses(404, "Nobody ever had to do with it."),
        Endpoint::new(Method::POST, "/hosts/{host}/hold", "Leave a host alone for a while", hosts::hold)
            .body::<HoldBody>()
            .answers::<HostView>(200, "It is held."),
        Endpoint::new(Method::POST, "/hosts/{host}/release", "End the hold of a host", hosts::release)
            .answers::<HostView>(200, "It is free.")
            .refuses(404, "Nobody ever had to do with it."),
        Endpoint::new(
            Method::POST,
            "/hosts/{host}/reset-breaker",
            "Forget that a host did not answer",
            hosts::reset_breaker,
        )
        .answers::<HostView>(200, "It is tried again.")
        .refuses(404, "Nobody ever had to do with it."),
        Endpoint::new(
            Method::POST,
            "/hosts/{host}/enable-sources",
            "Enable every disabled source of a host",
            hosts::enable_sources,
        )
        .answers::<EnabledSources>(200, "How many that were.")
        .refuses(404, "Nobody ever had to do with it."),
    ]
}

fn of_posts() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/posts", "List posts", posts::list)
            .query::<PostQuery>()
            .answers::<Page<PostView>>(200, "Some of them.")
            .refuses(404, "There is no such source."),
        Endpoint::new(Method::GET, "/posts/stream", "New posts as they come, as server-sent events", stream::posts)
            .endless()
            .query::<StreamQuery>()
            .answers_text("text/event-stream", "Events `post` with the post's number as their id.")
            .refuses(404, "There is no such source."),
        Endpoint::new(Method::GET, "/posts/{id}", "One post", posts::one)
            .answers::<PostView>(200, "It.")
            .refuses(404, "There is none."),
        Endpoint::new(Method::GET, "/articles", "List articles", articles::list)
            .query::<PageQuery>()
            .answers::<Page<ArticleView>>(200, "Some of them."),
        Endpoint::new(Method::POST, "/articles", "Add an article, made of these posts", articles::create)
            .body::<ArticleBody>()
            .answers::<ArticleView>(201, "It is there."),
        Endpoint::new(Method::GET, "/articles/{id}", "One article with its posts", articles::one)
            .answers::<ArticleView>(200, "It.")
            .refuses(404, "There is none."),
        Endpoint::new(
            Method::PUT,
            "/articles/{id}/posts/{post_id}",
            "Say that an article was made of a post",
            articles::link,
        )
        .answers_nothing("It was."),
        Endpoint::new(Method::POST, "/articles/{id}/processed", "Make an article part of history", articles::processed)
            .answers_nothing("It is."),
    ]
}

fn of_webhooks() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/webhooks", "List webhooks", webhooks::list)
            .query::<PageQuery>()
            .answers::<Page<WebhookView>>(200, "Some of them."),
        Endpoint::new(Method::POST, "/webhooks", "Send new posts to a program elsewhere from now on", webhooks::create)
            .body::<WebhookBody>()
            .answers::<WebhookView>(201, "It is there; if its secret was made, this is the only time it is shown.")
            .refuses(409, "There are too many already."),
        Endpoint::new(Method::GET, "/webhooks/{id}", "One webhook", webhooks::one)
            .answers::<WebhookView>(200, "It.")
            .refuses(404, "There is none."),
        Endpoint::new(Method::PATCH, "/webhooks/{id}", "Change a webhook, and try it anew", webhooks::update)
            .body::<WebhookChanges>()
            .answers::<WebhookView>(200, "It, as it is now; if its secret was made, this is the only time it is shown.")
            .refuses(404, "There is none."),
        Endpoint::new(Method::DELETE, "/webhooks/{id}", "Remove a webhook", webhooks::remove)
            .answers_nothing("It is gone.")
            .refuses(404, "There is none."),
        Endpoint::new(Method::POST, "/webhooks/{id}/enable", "Go on where a webhook stopped", webhooks::enable)
            .answers::<WebhookView>(200, "It is enabled, with a clean slate.")
            .refuses(404, "There is none."),
        Endpoint::new(
            Method::POST,
            "/webhooks/{id}/disable",
            "Send nothing to a webhook until it is enabled",
            webhooks::disable,
        )
        .body::<DisableBody>()
        .answers::<WebhookView>(200, "It is disabled.")
        .refuses(404, "There is none."),
        Endpoint::new(Method::POST, "/webhooks/{id}/test", "Send a webhook a delivery without posts", webhooks::test)
            .answers::<WebhookTest>(200, "Whether it was taken.")
            .refuses(404, "There is none."),
    ]
}

fn of_daemon() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/status", "How the daemon does", daemon::status).answers::<StatusView>(200, "So."),
        Endpoint::new(Method::GET, "/scheduler", "How the scheduler does", daemon::scheduler)
            .answers::<SchedulerView>(200, "So."),
        Endpoint::new(
            Method::POST,
            "/scheduler/pause",
            "Hand out nothing until told otherwise, also after a restart",
            daemon::pause,
        )
        .answers::<SchedulerView>(200, "It is paused."),
        Endpoint::new(Method::POST, "/scheduler/resume", "Go on", daemon::resume)
            .answers::<SchedulerView>(200, "It goes on."),
        Endpoint::new(Method::GET, "/tree", "The supervision tree", daemon::tree)
            .query::<TreeQuery>()
            .answers::<TreeView>(200, "As it is now."),
        Endpoint::new(Method::GET, "/statistics", "What was done so far", daemon::statistics)
            .answers::<StatisticsReport>(200, "Counters since the start."),
        Endpoint::new(
            Method::GET,
            "/configuration",
            "The configuration in force, secrets masked",
            daemon::configuration,
        )
        .answers::<Vec<ConfigurationRow>>(200, "Every key."),
        Endpoint::new(Method::POST, "/configuration/reload", "Read the configuration anew", daemon::reload)
            .answers::<Reloaded>(200, "What changed.")
            .refuses(400, "It is wrong, and nothing changed."),
        Endpoint::new(Method::GET, "/log-level", "The least severe level that is logged", daemon::log_level)
            .answers::<LogLevel>(200, "It."),
        Endpoint::new(Method::PUT, "/log-level", "Change what is logged", daemon::set_log_level)
            .body::<LogLevel>()
            .answers::<LogLevel>(200, "It."),
        Endpoint::new(Method::GET, "/faults", "What goes wrong on purpose", daemon::faults)
            .answers::<FaultsView>(200, "This.")
            .refuses(404, "The configuration allows for no faults."),
        Endpoint::new(Method::PUT, "/faults", "Make things go wrong on purpose, or not", daemon::set_faults)
            .body::<FaultsChange>()
            .answers::<FaultsView>(200, "This.")
            .refuses(404, "The configuration allows for no faults."),
        Endpoint::new(Method::GET, "/openapi.json", "This document", document)
            .answers::<serde_json::Value>(200, "OpenAPI 3.1."),
    ]
}

/// For readers of feeds, for Prometheus, and for who looks whether the daemon is alive.
fn of_others() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, feeds::PATH, "The newest posts as a feed, of a label or of `all`", feeds::feed)
            .at_root()
            .answers_text("application/atom+xml", "The feed.")
            .answers_object("application/feed+json", "The feed.")
            .conditional()
            .refuses(404, "No source has this label."),
        Endpoint::new(Method::GET, "/metrics", "Counters and gauges in Prometheus' text format", metrics::metrics)
            .at_root()
            .answers_text("text/plain", "What docs/operations.md names."),
        Endpoint::new(Method::GET, "/healthz", "Whether the process is there", health::healthz)
            .at_root()
            .answers::<HealthView>(200, "It is."),
        Endpoint::new(Method::GET, "/readyz", "Whether the daemon does its work", health::readyz)
            .at_root()
            .answers::<HealthView>(200, "It does.")
            .answers::<HealthView>(503, "It does not; the reasons say why."),
    ]
}

async fn document() -> HttpResponse {
    /// It never changes, and takes longer to make than any other answer.
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| openapi::document().to_string().into());
    HttpResponse::Ok().content_type("application/json").body(DOCUMENT.clone())
}
