//! Everything that can be asked and told, in one table.

mod actions;
mod articles;
mod daemon;
mod feeds;
mod hosts;
mod opml;
mod posts;
mod sources;
mod stream;
mod webhooks;

use actix_web::HttpResponse;

use super::endpoint::Endpoint;
use super::openapi;
use super::problem::Problem;
use super::views::{
    ArticleBody, ArticleView, BulkBody, BulkReport, ConfigurationRow, CreatedSource, DisableBody, EnabledSources,
    FaultsChange, FaultsView, HoldBody, ImportReport, LabelView, LogLevel, NewSourceBody, Page, PageQuery, PollQuery,
    PostQuery, PostView, Reloaded, RestBody, SchedulerView, SourceChanges, SourceQuery, SourceView, StatisticsReport,
    StatusView, StreamQuery, TreeQuery, WebhookBody, WebhookView,
};
use crate::actors::control::{Explanation, HostView, PollAnswer, PollRecord, TreeView};

pub(super) use feeds::{PATH as FEEDS_PATH, feed};

/// What a handler returns.
type Answer = Result<HttpResponse, Problem>;

/// Every endpoint. Of two paths that fit, the first counts.
pub(super) fn endpoints() -> Vec<Endpoint> {
    [of_sources(), of_actions(), of_hosts(), of_posts(), of_webhooks(), of_daemon()].into_iter().flatten().collect()
}

fn of_sources() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/sources", "List sources", sources::list)
            .query::<SourceQuery>()
            .answers::<Page<SourceView>>(200, "Some of them."),
        Endpoint::post("/sources", "Add a source, and perhaps poll it at once", sources::create)
            .body::<NewSourceBody>()
            .answers::<CreatedSource>(201, "It is there.")
            .refuses(409, "It is there already; context.source_id says which one.")
            .refuses(
                422,
                "Its first poll failed, so it was not added; context says how, and which feeds a page links to.",
            ),
        Endpoint::post("/sources/bulk", "Add many sources", sources::bulk)
            .body::<BulkBody>()
            .answers::<BulkReport>(200, "What became of each."),
        Endpoint::get("/sources/{id}", "One source", sources::one)
            .answers::<SourceView>(200, "It.")
            .refuses(404, "There is none."),
        Endpoint::patch("/sources/{id}", "Change some settings of a source", sources::update)
            .body::<SourceChanges>()
            .answers::<SourceView>(200, "It, as it is now.")
            .refuses(404, "There is none.")
            .versioned(),
        Endpoint::delete("/sources/{id}", "Remove a source with its posts", sources::remove)
            .answers_nothing("It is gone.")
            .refuses(404, "There is none.")
            .versioned(),
        Endpoint::get("/labels", "List labels", sources::labels)
            .query::<PageQuery>()
            .answers::<Page<LabelView>>(200, "Some of them."),
        Endpoint::get("/opml", "All sources as OPML", opml::export).answers_text("text/x-opml", "The list."),
        Endpoint::post("/opml", "Add the sources of an OPML list; folders become labels", opml::import)
            .text_body("text/x-opml")
            .answers::<ImportReport>(200, "What became of them."),
    ]
}

fn of_actions() -> Vec<Endpoint> {
    vec![
        Endpoint::patch("/sources/{id}/feed-disable", "Let a source rest until it is woken", actions::rest)
            .body::<RestBody>()
            .answers::<SourceView>(200, "It rests.")
            .versioned(),
        Endpoint::patch("/sources/{id}/feed-enable", "End the rest of a source", actions::wake)
            .answers::<SourceView>(200, "It is awake, with a clean slate.")
            .versioned(),
        Endpoint::post("/sources/{id}/enable", "Enable a source, with a clean slate", actions::enable)
            .answers::<SourceView>(200, "It is enabled.")
            .versioned(),
        Endpoint::post("/sources/{id}/disable", "Never poll a source until it is enabled", actions::disable)
            .body::<DisableBody>()
            .answers::<SourceView>(200, "It is disabled.")
            .versioned(),
        Endpoint::post("/sources/{id}/reset", "Forget the failures of a source", actions::reset)
            .answers::<SourceView>(200, "They are forgotten.")
            .versioned(),
        Endpoint::post("/sources/{id}/poll", "Poll a source as soon as its publisher and host allow", actions::poll)
            .query::<PollQuery>()
            .answers::<PollAnswer>(200, "It was polled.")
            .answers::<PollAnswer>(202, "It will be, and not before the moment given.")
            .refuses(409, "It is disabled or rests."),
        Endpoint::get("/sources/{id}/explain", "Why a source is or is not polled", actions::explain)
            .answers::<Explanation>(200, "Why."),
        Endpoint::get("/sources/{id}/history", "The last polls of a source, as far as is remembered", actions::history)
            .answers::<Vec<PollRecord>>(200, "The newest first."),
    ]
}

fn of_hosts() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/hosts", "List hosts that were asked or held", hosts::list)
            .query::<PageQuery>()
            .answers::<Page<HostView>>(200, "Some of them."),
        Endpoint::get("/hosts/{host}", "One host", hosts::one)
            .answers::<HostView>(200, "It.")
            .refuses(404, "Nobody ever had to do with it."),
        Endpoint::post("/hosts/{host}/hold", "Leave a host alone for a while", hosts::hold)
            .body::<HoldBody>()
            .answers::<HostView>(200, "It is held."),
        Endpoint::post("/hosts/{host}/release", "End the hold of a host", hosts::release)
            .answers::<HostView>(200, "It is free."),
        Endpoint::post("/hosts/{host}/reset-breaker", "Forget that a host did not answer", hosts::reset_breaker)
            .answers::<HostView>(200, "It is tried again."),
        Endpoint::post("/hosts/{host}/enable-sources", "Enable every disabled source of a host", hosts::enable_sources)
            .answers::<EnabledSources>(200, "How many that were."),
    ]
}

fn of_posts() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/posts", "List posts", posts::list)
            .query::<PostQuery>()
            .answers::<Page<PostView>>(200, "Some of them."),
        Endpoint::get("/posts/stream", "New posts as they come, as server-sent events", stream::posts)
            .query::<StreamQuery>()
            .answers_text("text/event-stream", "Events `post` with the post's number as their id."),
        Endpoint::get("/posts/{id}", "One post", posts::one)
            .answers::<PostView>(200, "It.")
            .refuses(404, "There is none."),
        Endpoint::get("/articles", "List articles", articles::list)
            .query::<PageQuery>()
            .answers::<Page<ArticleView>>(200, "Some of them."),
        Endpoint::post("/articles", "Add an article, made of these posts", articles::create)
            .body::<ArticleBody>()
            .answers::<ArticleView>(201, "It is there."),
        Endpoint::get("/articles/{id}", "One article with its posts", articles::one)
            .answers::<ArticleView>(200, "It.")
            .refuses(404, "There is none."),
        Endpoint::put("/articles/{id}/posts/{post_id}", "Say that an article was made of a post", articles::link)
            .answers_nothing("It was."),
        Endpoint::post("/articles/{id}/processed", "Make an article part of history", articles::processed)
            .answers_nothing("It is."),
    ]
}

fn of_webhooks() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/webhooks", "List webhooks", webhooks::list).answers::<Vec<WebhookView>>(200, "All of them."),
        Endpoint::post("/webhooks", "Send new posts to a program elsewhere from now on", webhooks::create)
            .body::<WebhookBody>()
            .answers::<WebhookView>(201, "It is there."),
        Endpoint::delete("/webhooks/{id}", "Remove a webhook", webhooks::remove)
            .answers_nothing("It is gone.")
            .refuses(404, "There is none."),
        Endpoint::post("/webhooks/{id}/enable", "Go on where a webhook stopped", webhooks::enable)
            .answers::<WebhookView>(200, "It is enabled, with a clean slate.")
            .refuses(404, "There is none."),
        Endpoint::post("/webhooks/{id}/disable", "Send nothing to a webhook until it is enabled", webhooks::disable)
            .answers::<WebhookView>(200, "It is disabled.")
            .refuses(404, "There is none."),
    ]
}

fn of_daemon() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/status", "How the daemon does", daemon::status).answers::<StatusView>(200, "So."),
        Endpoint::get("/scheduler", "How the scheduler does", daemon::scheduler).answers::<SchedulerView>(200, "So."),
        Endpoint::post("/scheduler/pause", "Hand out nothing until told otherwise", daemon::pause)
            .answers::<SchedulerView>(200, "It is paused."),
        Endpoint::post("/scheduler/resume", "Go on", daemon::resume).answers::<SchedulerView>(200, "It goes on."),
        Endpoint::get("/tree", "The supervision tree", daemon::tree)
            .query::<TreeQuery>()
            .answers::<TreeView>(200, "As it is now."),
        Endpoint::get("/statistics", "What was done so far", daemon::statistics)
            .answers::<StatisticsReport>(200, "Counters since the start."),
        Endpoint::get("/configuration", "The configuration in force, secrets masked", daemon::configuration)
            .answers::<Vec<ConfigurationRow>>(200, "Every key."),
        Endpoint::post("/configuration/reload", "Read the configuration anew", daemon::reload)
            .answers::<Reloaded>(200, "What changed.")
            .refuses(400, "It is wrong, and nothing changed."),
        Endpoint::get("/log-level", "The least severe level that is logged", daemon::log_level)
            .answers::<LogLevel>(200, "It."),
        Endpoint::put("/log-level", "Change what is logged", daemon::set_log_level)
            .body::<LogLevel>()
            .answers::<LogLevel>(200, "It."),
        Endpoint::get("/faults", "What goes wrong on purpose", daemon::faults)
            .answers::<FaultsView>(200, "This.")
            .refuses(404, "The configuration allows for no faults."),
        Endpoint::put("/faults", "Make things go wrong on purpose, or not", daemon::set_faults)
            .body::<FaultsChange>()
            .answers::<FaultsView>(200, "This.")
            .refuses(404, "The configuration allows for no faults."),
        Endpoint::get("/openapi.json", "This document", document).answers::<serde_json::Value>(200, "OpenAPI 3.1."),
    ]
}

async fn document() -> HttpResponse {
    HttpResponse::Ok().json(openapi::document())
}
