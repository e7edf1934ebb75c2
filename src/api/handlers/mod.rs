//! The table of all endpoints.

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
    DisableBody, EnabledSources, Explanation, FaultsChange, FaultsView, HealthView, HoldBody, HostView, ImportReport,
    KeyBody, KeyView, LabelView, LogLevel, NewSourceBody, Page, PageQuery, PodcastBody, PodcastQuery, PodcastUpdate,
    PodcastView, PollAnswer, PollQuery, PollRecord, PostQuery, PostView, Reloaded, RestBody, SchedulerView,
    SourceChanges, SourceQuery, SourceView, StatisticsReport, StatusView, StreamQuery, TreeQuery, TreeView, UserBody,
    UserQuery, UserView, WebhookBody, WebhookChanges, WebhookTest, WebhookView,
};
use super::{health, metrics, openapi};

type HandlerResult = Result<HttpResponse, Problem>;

/// All endpoints. If two paths match, the first one is used.
pub(super) fn endpoints() -> Vec<Endpoint> {
    let groups =
        [of_sources(), of_actions(), of_people(), of_hosts(), of_posts(), of_webhooks(), of_daemon(), of_others()];
    groups.into_iter().flatten().collect()
}

fn of_sources() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/sources", "List sources", sources::list)
            .query::<SourceQuery>()
            .answers::<Page<SourceView>>(200, "Page of sources"),
        Endpoint::new(Method::POST, "/sources", "Add a source, optionally with a first poll", sources::create)
            .body::<NewSourceBody>()
            .answers::<CreatedSource>(201, "Source added")
            .refuses(409, "Source exists already; context.source_id names it")
            .refuses(
                422,
                "First poll failed, source not added; context contains the poll and the feeds that a page links to",
            ),
        Endpoint::new(Method::POST, "/sources/bulk", "Add many sources", sources::bulk)
            .body::<BulkBody>()
            .answers::<BulkReport>(200, "Outcome for each source"),
        Endpoint::new(Method::GET, "/sources/{id}", "Get a source", sources::one)
            .answers::<SourceView>(200, "Source with its current state")
            .refuses(404, "No such source"),
        Endpoint::new(
            Method::PATCH,
            "/sources/{id}",
            "Change settings of a source, enable or disable it",
            sources::update,
        )
        .body::<SourceChanges>()
        .answers::<SourceView>(200, "Source with its current state")
        .refuses(400, "Invalid field; for one that another endpoint changes, context names its method and path")
        .refuses(404, "No such source")
        .versioned(),
        Endpoint::new(Method::DELETE, "/sources/{id}", "Remove a source with its posts", sources::remove)
            .answers_nothing("Source removed")
            .refuses(404, "No such source")
            .versioned(),
        Endpoint::new(
            Method::GET,
            "/sources/{id}/access",
            "Get the names of the login and headers of a source",
            access::one,
        )
        .answers::<AccessView>(200, "Names without values")
        .refuses(404, "No such source, or nothing stored for it")
        .refuses(409, "Stored login or headers cannot be decrypted"),
        Endpoint::new(Method::PUT, "/sources/{id}/access", "Replace the login and headers of a source", access::put)
            .body::<AccessBody>()
            .answers::<AccessView>(200, "Stored; used from the next poll on")
            .refuses(404, "No such source")
            .refuses(409, "database.encryption-key is not set")
            .versioned(),
        Endpoint::new(
            Method::DELETE,
            "/sources/{id}/access",
            "Remove the login and headers of a source",
            access::remove,
        )
        .answers_nothing("Login and headers removed")
        .refuses(404, "No such source, or nothing stored for it")
        .versioned(),
        Endpoint::new(Method::GET, "/labels", "List labels", sources::labels)
            .query::<PageQuery>()
            .answers::<Page<LabelView>>(200, "Page of labels"),
        Endpoint::new(Method::GET, "/opml", "Export all sources as OPML", opml::export)
            .answers_text("text/x-opml", "OPML document"),
        Endpoint::new(Method::POST, "/opml", "Import sources from OPML; folders become labels", opml::import)
            .text_body("text/x-opml")
            .answers::<ImportReport>(200, "Outcome of the import"),
    ]
}

fn of_actions() -> Vec<Endpoint> {
    vec![
        Endpoint::new(
            Method::PATCH,
            "/sources/{id}/feed-disable",
            "Rest a source: do not poll it for a cooldown, or until feed-enable",
            actions::rest,
        )
        .body::<RestBody>()
        .answers::<SourceView>(200, "Source at rest; feed_disabled_until is the end")
        .versioned(),
        Endpoint::new(Method::PATCH, "/sources/{id}/feed-enable", "End the rest of a source", actions::wake)
            .answers::<SourceView>(200, "Source with rest and failure counters cleared")
            .versioned(),
        Endpoint::new(
            Method::POST,
            "/sources/{id}/enable",
            "Enable a source and clear its failure counters",
            actions::enable,
        )
        .answers::<SourceView>(200, "Source enabled")
        .versioned(),
        Endpoint::new(Method::POST, "/sources/{id}/disable", "Disable a source", actions::disable)
            .body::<DisableBody>()
            .answers::<SourceView>(200, "Source disabled")
            .versioned(),
        Endpoint::new(Method::POST, "/sources/{id}/reset", "Reset the failure counters of a source", actions::reset)
            .answers::<SourceView>(200, "Source with its failure counters reset")
            .versioned(),
        Endpoint::new(
            Method::POST,
            "/sources/{id}/poll",
            "Poll a source now, unless Retry-After or a hold forbids it",
            actions::poll,
        )
        .query::<PollQuery>()
        .answers::<PollAnswer>(200, "Poll finished")
        .answers::<PollAnswer>(202, "Poll scheduled; not_before is null while polling is suspended")
        .refuses(409, "Source is disabled or at rest"),
        Endpoint::new(
            Method::GET,
            "/sources/{id}/explain",
            "Explain when a source is polled next, and why",
            actions::explain,
        )
        .answers::<Explanation>(200, "Explanation"),
        Endpoint::new(Method::GET, "/sources/{id}/history", "List the last polls of a source", actions::history)
            .answers::<Vec<PollRecord>>(200, "Polls, newest first"),
    ]
}

fn of_people() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/users", "List users", users::list)
            .query::<UserQuery>()
            .answers::<Page<UserView>>(200, "Page of users"),
        Endpoint::new(Method::POST, "/users", "Add a user", users::create)
            .body::<UserBody>()
            .answers::<UserView>(201, "User added")
            .refuses(409, "Name is taken"),
        Endpoint::new(Method::GET, "/users/{id}", "Get a user", users::one)
            .answers::<UserView>(200, "User")
            .refuses(404, "No such user"),
        Endpoint::new(Method::PATCH, "/users/{id}", "Rename a user", users::rename)
            .body::<UserBody>()
            .answers::<UserView>(200, "User after the change")
            .refuses(404, "No such user")
            .refuses(409, "Name is taken"),
        Endpoint::new(Method::DELETE, "/users/{id}", "Remove a user and their keys", users::remove)
            .answers_nothing("User removed")
            .refuses(404, "No such user")
            .refuses(409, "User owns podcasts"),
        Endpoint::new(Method::GET, "/users/{id}/keys/x", "Get when a user's X key was set", users::x_key)
            .answers::<KeyView>(200, "Provider and time of the key")
            .refuses(404, "No such user, or no key"),
        Endpoint::new(Method::PUT, "/users/{id}/keys/x", "Store or replace a user's X key", users::put_x_key)
            .body::<KeyBody>()
            .answers::<KeyView>(200, "Stored; used from the next poll on")
            .refuses(404, "No such user")
            .refuses(409, "database.encryption-key is not set"),
        Endpoint::new(Method::DELETE, "/users/{id}/keys/x", "Remove a user's X key", users::remove_x_key)
            .answers_nothing("Key removed")
            .refuses(404, "No such user, or no key"),
        Endpoint::new(Method::GET, "/podcasts", "List podcasts", podcasts::list)
            .query::<PodcastQuery>()
            .answers::<Page<PodcastView>>(200, "Page of podcasts"),
        Endpoint::new(Method::POST, "/podcasts", "Add a podcast", podcasts::create)
            .body::<PodcastBody>()
            .answers::<PodcastView>(201, "Podcast added"),
        Endpoint::new(Method::GET, "/podcasts/{id}", "Get a podcast", podcasts::one)
            .answers::<PodcastView>(200, "Podcast")
            .refuses(404, "No such podcast"),
        Endpoint::new(Method::PATCH, "/podcasts/{id}", "Change the title or owner of a podcast", podcasts::update)
            .body::<PodcastUpdate>()
            .answers::<PodcastView>(200, "Podcast after the change")
            .refuses(404, "No such podcast"),
        Endpoint::new(Method::DELETE, "/podcasts/{id}", "Remove a podcast", podcasts::remove)
            .answers_nothing("Podcast removed")
            .refuses(404, "No such podcast")
            .refuses(409, "Podcast has sources or articles"),
    ]
}

fn of_hosts() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/hosts", "List known hosts", hosts::list)
            .query::<PageQuery>()
            .answers::<Page<HostView>>(200, "Page of hosts"),
        Endpoint::new(Method::GET, "/hosts/{host}", "Get a host", hosts::one)
            .answers::<HostView>(200, "Host with its current state")
            .refuses(404, "Unknown host"),
        Endpoint::new(Method::POST, "/hosts/{host}/hold", "Hold a host", hosts::hold)
            .body::<HoldBody>()
            .answers::<HostView>(200, "Host held"),
        Endpoint::new(Method::POST, "/hosts/{host}/release", "End the hold of a host", hosts::release)
            .answers::<HostView>(200, "Host released")
            .refuses(404, "Unknown host"),
        Endpoint::new(
            Method::POST,
            "/hosts/{host}/reset-breaker",
            "Close the circuit breaker of a host",
            hosts::reset_breaker,
        )
        .answers::<HostView>(200, "Breaker closed")
        .refuses(404, "Unknown host"),
        Endpoint::new(
            Method::POST,
            "/hosts/{host}/enable-sources",
            "Enable every disabled source of a host",
            hosts::enable_sources,
        )
        .answers::<EnabledSources>(200, "Number of sources enabled")
        .refuses(404, "Unknown host"),
    ]
}

fn of_posts() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/posts", "List posts", posts::list)
            .query::<PostQuery>()
            .answers::<Page<PostView>>(200, "Page of posts")
            .refuses(404, "No such source"),
        Endpoint::new(Method::GET, "/posts/stream", "Stream new posts as server-sent events", stream::posts)
            .endless()
            .query::<StreamQuery>()
            .answers_text("text/event-stream", "Events `post`, with the post's id as event id")
            .refuses(404, "No such source"),
        Endpoint::new(Method::GET, "/posts/{id}", "Get a post", posts::one)
            .answers::<PostView>(200, "Post")
            .refuses(404, "No such post"),
        Endpoint::new(Method::GET, "/articles", "List articles", articles::list)
            .query::<PageQuery>()
            .answers::<Page<ArticleView>>(200, "Page of articles"),
        Endpoint::new(Method::POST, "/articles", "Add an article made of posts", articles::create)
            .body::<ArticleBody>()
            .answers::<ArticleView>(201, "Article added"),
        Endpoint::new(Method::GET, "/articles/{id}", "Get an article with its posts", articles::one)
            .answers::<ArticleView>(200, "Article")
            .refuses(404, "No such article"),
        Endpoint::new(Method::PUT, "/articles/{id}/posts/{post_id}", "Link a post to an article", articles::link)
            .answers_nothing("Post linked"),
        Endpoint::new(Method::POST, "/articles/{id}/processed", "Mark an article as processed", articles::processed)
            .answers_nothing("Article processed"),
    ]
}

fn of_webhooks() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/webhooks", "List webhooks", webhooks::list)
            .query::<PageQuery>()
            .answers::<Page<WebhookView>>(200, "Page of webhooks"),
        Endpoint::new(Method::POST, "/webhooks", "Add a webhook for new posts", webhooks::create)
            .body::<WebhookBody>()
            .answers::<WebhookView>(201, "Webhook added; a generated secret is shown only here")
            .refuses(409, "Too many webhooks"),
        Endpoint::new(Method::GET, "/webhooks/{id}", "Get a webhook", webhooks::one)
            .answers::<WebhookView>(200, "Webhook with its current state")
            .refuses(404, "No such webhook"),
        Endpoint::new(Method::PATCH, "/webhooks/{id}", "Change a webhook and retry it", webhooks::update)
            .body::<WebhookChanges>()
            .answers::<WebhookView>(200, "Webhook after the change; a generated secret is shown only here")
            .refuses(404, "No such webhook"),
        Endpoint::new(Method::DELETE, "/webhooks/{id}", "Remove a webhook", webhooks::remove)
            .answers_nothing("Webhook removed")
            .refuses(404, "No such webhook"),
        Endpoint::new(
            Method::POST,
            "/webhooks/{id}/enable",
            "Enable a webhook; deliveries continue where they stopped",
            webhooks::enable,
        )
        .answers::<WebhookView>(200, "Webhook enabled")
        .refuses(404, "No such webhook"),
        Endpoint::new(Method::POST, "/webhooks/{id}/disable", "Disable a webhook", webhooks::disable)
            .body::<DisableBody>()
            .answers::<WebhookView>(200, "Webhook disabled")
            .refuses(404, "No such webhook"),
        Endpoint::new(Method::POST, "/webhooks/{id}/test", "Send a test delivery to a webhook", webhooks::test)
            .answers::<WebhookTest>(200, "Outcome of the delivery")
            .refuses(404, "No such webhook"),
    ]
}

fn of_daemon() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/status", "Get the status of the daemon", daemon::status)
            .answers::<StatusView>(200, "Current status"),
        Endpoint::new(Method::GET, "/scheduler", "Get the status of the scheduler", daemon::scheduler)
            .answers::<SchedulerView>(200, "Current status"),
        Endpoint::new(Method::POST, "/scheduler/pause", "Pause all polling; survives a restart", daemon::pause)
            .answers::<SchedulerView>(200, "Polling paused"),
        Endpoint::new(Method::POST, "/scheduler/resume", "Resume polling", daemon::resume)
            .answers::<SchedulerView>(200, "Polling resumed"),
        Endpoint::new(Method::GET, "/tree", "Get the supervision tree", daemon::tree)
            .query::<TreeQuery>()
            .answers::<TreeView>(200, "Supervision tree"),
        Endpoint::new(Method::GET, "/statistics", "Get counters since the start", daemon::statistics)
            .answers::<StatisticsReport>(200, "Counters since the start"),
        Endpoint::new(
            Method::GET,
            "/configuration",
            "Get the effective configuration, with secrets masked",
            daemon::configuration,
        )
        .answers::<Vec<ConfigurationRow>>(200, "Every key with its value and origin"),
        Endpoint::new(Method::POST, "/configuration/reload", "Reload the configuration", daemon::reload)
            .answers::<Reloaded>(200, "Changed keys")
            .refuses(400, "Invalid configuration; nothing changed"),
        Endpoint::new(Method::GET, "/log-level", "Get the log level", daemon::log_level)
            .answers::<LogLevel>(200, "Current level"),
        Endpoint::new(Method::PUT, "/log-level", "Change the log level", daemon::set_log_level)
            .body::<LogLevel>()
            .answers::<LogLevel>(200, "Current level"),
        Endpoint::new(Method::GET, "/faults", "Get the injected faults", daemon::faults)
            .answers::<FaultsView>(200, "Injected faults")
            .refuses(404, "Fault injection is not enabled"),
        Endpoint::new(Method::PUT, "/faults", "Change the injected faults", daemon::set_faults)
            .body::<FaultsChange>()
            .answers::<FaultsView>(200, "Injected faults")
            .refuses(404, "Fault injection is not enabled"),
        Endpoint::new(Method::GET, "/openapi.json", "Get this document", document)
            .answers::<serde_json::Value>(200, "OpenAPI 3.1 document"),
    ]
}

/// Endpoints outside `/api/v1`: feeds, metrics and health checks.
fn of_others() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, feeds::PATH, "Get the newest posts of a label, or of `all`, as a feed", feeds::feed)
            .at_root()
            .answers_text("application/atom+xml", "Feed of the newest posts")
            .answers_object("application/feed+json", "Feed of the newest posts")
            .conditional()
            .refuses(404, "No source has this label"),
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

async fn document() -> HttpResponse {
    /// Generated once, because that is slow and the document never changes.
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| openapi::document().to_string().into());
    HttpResponse::Ok().content_type("application/json").body(DOCUMENT.clone())
}
