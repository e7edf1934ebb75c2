//! Rate limits that answers state: without requests left, no request to the host before the reset (p38).

use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{FullText, HostKey, HostState, NewSource, SourceId, SourceSettings, SourceType};
use feedwarden::rules::minutes;
use feedwarden::service::{BackfillEnd, BackfillRequest};
use rstest::rstest;

use super::publisher::{answer, feed, feed_saying, publisher};
use super::{World, run};
use crate::http::server::Server;
use crate::store::Engine::{self, Postgres, Sqlite};

const MINUTE: Duration = Duration::from_secs(60);
const NONE_LEFT: &str = "no requests left in the rate limit";

async fn world(engine: Engine) -> World {
    let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
    world.policy.interval = minutes(10);
    world.policy.delays.by_type.insert(SourceType::Website, Duration::ZERO);
    world
}

async fn host(world: &World) -> HostState {
    world.store.host(&HostKey::from_canonical("127.0.0.1")).await.unwrap().unwrap()
}

fn paths(server: &Server) -> Vec<String> {
    server.requests().iter().map(|request| request.split(' ').nth(1).unwrap().to_owned()).collect()
}

async fn add_page(world: &World, url: &str) -> SourceId {
    let settings = SourceSettings::new(SourceType::Website, url);
    let ids = world.add(vec![NewSource { settings, created_at: world.now() }]).await;
    world.handle().sources_changed(ids.clone());
    ids[0]
}

#[rstest]
#[case::reddit("200 OK", &["x-ratelimit-remaining: 0.0", "x-ratelimit-reset: 3600"], NONE_LEFT)]
#[case::draft_7("200 OK", &["RateLimit: limit=9, remaining=0, reset=3600"], NONE_LEFT)]
#[case::draft_8("200 OK", &["RateLimit: \"day\";r=5;t=9, \"hour\";r=0;t=3600"], NONE_LEFT)]
#[case::two_headers("200 OK", &["RateLimit-Remaining: 0", "RateLimit-Reset: 3600"], NONE_LEFT)]
#[case::unix_seconds("200 OK", &["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1800003600"], NONE_LEFT)]
#[case::wrong_clock(
    "200 OK",
    &["Date: Fri, 15 Jan 2027 09:00:00 GMT", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1800007200000"],
    NONE_LEFT
)]
#[case::not_modified("304 Not Modified", &["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 3600"], NONE_LEFT)]
#[case::not_found("404 Not Found", &["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 3600"], NONE_LEFT)]
#[case::forbidden("403 Forbidden", &["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 3600"], NONE_LEFT)]
#[case::unavailable("503 Busy", &["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 3600"], NONE_LEFT)]
#[case::broken_body("200 OK", &["Content-Encoding: squeeze", "RateLimit: a;r=0;t=3600"], NONE_LEFT)]
#[case::redirect("302 Found", &["Location: /other", "RateLimit: a;r=0;t=3600"], NONE_LEFT)]
#[case::too_many("429 Slow Down", &["X-RateLimit-Reset: 3600"], "HTTP 429, until the reset of the rate limit")]
#[case::too_many_of_x("429 Slow Down", &["x-rate-limit-reset: 3600"], "HTTP 429, until the reset of the rate limit")]
#[case::retry_after_is_later("429 Slow Down", &["Retry-After: 3600", "RateLimit: a;r=0;t=60"], "HTTP 429 with Retry-After")]
#[case::reset_is_later("429 Slow Down", &["Retry-After: 60", "RateLimit: a;r=0;t=3600"], "HTTP 429, until the reset of the rate limit")]
fn p38_without_requests_left_no_source_of_the_host_is_asked_before_the_reset(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] status: &str,
    #[case] headers: &[&str],
    #[case] reason: &str,
) {
    run(async || {
        let first = match status {
            "200 OK" => feed(headers, &["one"]),
            _ => answer(status, headers, ""),
        };
        let mut all = vec![feed(&[], &["one"]); 12];
        all[0] = first;
        let server = publisher(&all).await;
        let mut world = world(engine).await;
        world.start(Scope::Daemon);
        let ids = [world.add_feed(&server.url("/a")).await];
        world.settled(1).await;
        let heard = world.now();
        let other = world.add_feed(&server.url("/b")).await;
        world.quiet().await;
        let held = host(&world).await;
        let until = held.held_until.unwrap();
        assert_eq!((until.as_seconds(), held.held_reason.as_deref()), (heard.as_seconds() + 3600, Some(reason)));
        let told = world.records.of("host held").remove(0);
        assert_eq!((&told["until"], &told["reason"]), (&until.to_string().into(), &reason.into()));
        let is_refusal = ["4", "5"].iter().any(|digit| status.starts_with(digit)) || headers[0].contains("squeeze");
        assert_eq!(told["level"], if is_refusal { "warn" } else { "info" });
        // The hold is shown, survives a kill and is counted for no source.
        let shown = world.service().explain(other).await.unwrap();
        let terms: Vec<String> = shown.terms.iter().map(|term| term.reason.clone()).collect();
        assert!(terms.contains(&format!("its host is held: {reason}")), "{terms:?}");
        assert_eq!(world.source(other).await.state.failures.consecutive, 0);
        let state = world.source(ids[0]).await.state;
        assert!(state.enabled && state.rest.is_none());
        assert_eq!(state.failures.consecutive_permanent, u32::from(status == "404 Not Found"), "{state:?}");
        world.kill_and_start().await;
        world.quiet().await;
        world.pass(59 * MINUTE, 6).await;
        assert_eq!(paths(&server), ["/a"], "a minute is missing");
        world.pass(MINUTE, 1).await;
        world.pass(minutes(20), 20).await;
        let asked = paths(&server);
        assert!(asked.contains(&"/b".to_owned()) && asked[1..].contains(&"/a".to_owned()), "{asked:?}");
        world.stop().await;
    });
}

#[rstest]
#[case::some_left(&["x-ratelimit-remaining: 1", "x-ratelimit-reset: 3600"])]
#[case::not_stated(&["x-ratelimit-reset: 3600"])]
#[case::no_reset(&["x-ratelimit-remaining: 0"])]
#[case::one_endpoint(&["x-rate-limit-remaining: 0", "x-rate-limit-reset: 3600"])]
#[case::over(&["x-ratelimit-remaining: 0", "x-ratelimit-reset: 1799999999"])]
#[case::words(&["x-ratelimit-remaining: 0", "x-ratelimit-reset: soon", "RateLimit: \"", "RateLimit-Reset: -1"])]
fn p38_anything_else_holds_nothing(#[values(Sqlite, Postgres)] engine: Engine, #[case] headers: &[&str]) {
    run(async || {
        let server = publisher(&vec![feed(headers, &["one"]); 2]).await;
        let mut world = world(engine).await;
        world.start(Scope::Daemon);
        world.add_feed(&server.url("/a")).await;
        world.settled(1).await;
        world.add_feed(&server.url("/b")).await;
        world.settled(2).await;
        assert_eq!((paths(&server).len(), host(&world).await.held_until), (2, None));
        world.stop().await;
    });
}

#[rstest]
#[case::reset_that_has_passed(&["x-ratelimit-reset: 0"], 60, "HTTP 429 without Retry-After")]
#[case::some_left(&["x-ratelimit-remaining: 9", "x-ratelimit-reset: 60"], 60, "HTTP 429 without Retry-After")]
#[case::reset(&["x-ratelimit-remaining: 0", "x-ratelimit-reset: 120"], 2, "HTTP 429, until the reset of the rate limit")]
#[case::ceiling(
    &["x-ratelimit-reset: 999999999"], 7 * 24 * 60,
    "HTTP 429, until the reset of the rate limit, cut to the configured ceiling"
)]
fn p16_p38_a_429_waits_for_its_reset_instead_of_an_hour(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] headers: &[&str],
    #[case] wait_minutes: u32,
    #[case] reason: &str,
) {
    run(async || {
        let server =
            publisher(&[vec![answer("429 Slow Down", headers, "")], vec![feed(&[], &["one"]); 40]].concat()).await;
        let mut world = world(engine).await;
        // Shorter than each of the waits, also after a failure.
        world.policy.interval = MINUTE;
        world.start(Scope::Daemon);
        let id = world.add_feed(&server.url("/a")).await;
        world.settled(1).await;
        let until = world.now() + minutes(wait_minutes);
        let held = host(&world).await;
        assert_eq!((held.held_until, held.held_reason.as_deref()), (Some(until), Some(reason)));
        assert_eq!(world.records.of("feed poll failed")[0]["next_poll_at"], until.to_string());
        world.pass(minutes(wait_minutes) - Duration::from_secs(1), 2).await;
        assert_eq!(paths(&server).len(), 1);
        world.pass(minutes(20), 20).await;
        assert!(paths(&server).len() > 1);
        assert_eq!(world.source(id).await.state.failures.consecutive, 0);
        world.stop().await;
    });
}

#[rstest]
fn p18_p38_any_number_of_refusals_for_the_rate_limit_neither_rests_nor_disables(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[values("403 Forbidden", "429 Slow Down", "503 Busy")] status: &str,
) {
    run(async || {
        let refusal = answer(status, &["x-ratelimit-remaining: 0", "x-ratelimit-reset: 60"], "");
        let server = publisher(&vec![refusal; 15]).await;
        let mut world = world(engine).await;
        world.start(Scope::Daemon);
        let id = world.add_feed(&server.url("/a")).await;
        for polls in 1..=15 {
            world.settled(polls).await;
            world.advance(minutes(24 * 60));
        }
        let state = world.source(id).await.state;
        assert!(state.enabled && state.rest.is_none(), "{state:?}");
        assert_eq!(state.failures.consecutive_permanent, 0);
        world.stop().await;
    });
}

#[rstest]
fn p29_p38_a_robots_txt_without_requests_left_holds_its_page(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[values("200 OK", "404 Not Found")] status: &str,
) {
    run(async || {
        let robots = answer(status, &["x-ratelimit-remaining: 0", "x-ratelimit-reset: 3600"], "");
        let page = answer("200 OK", &["Content-Type: text/html"], "<article><p>Words and more words.</p></article>");
        let server = publisher(&[robots, page.clone(), page]).await;
        let mut world = world(engine).await;
        world.start(Scope::Daemon);
        let id = add_page(&world, &server.url("/page")).await;
        world.settled(1).await;
        assert_eq!(host(&world).await.held_until, Some(world.now() + 60 * MINUTE));
        let state = world.source(id).await.state;
        let error = state.failures.last.unwrap().error;
        assert!(error.ends_with(&format!("held, {NONE_LEFT}")), "{error}");
        assert_eq!(state.failures.consecutive, 0);
        world.pass(59 * MINUTE, 6).await;
        assert_eq!(paths(&server), ["/robots.txt"]);
        world.pass(minutes(20), 20).await;
        assert_eq!(paths(&server)[..2], ["/robots.txt", "/page"], "its robots.txt is known by then");
        world.stop().await;
    });
}

#[rstest]
fn p38_the_page_of_an_entry_without_requests_left_holds_the_next_page(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let item = |id: &str| format!("<item><guid>{id}</guid><title>{id}</title><link>/{id}</link></item>");
        let document = feed_saying(&(item("two") + &item("one")), &[], &[]);
        let page = answer(
            "200 OK",
            &["Content-Type: text/html", "x-ratelimit-remaining: 0", "x-ratelimit-reset: 3600"],
            &format!("<article><h1>One</h1>{}</article>", "<p>The lighthouse is described here.</p>".repeat(20)),
        );
        let server = publisher(&[document, answer("404 Not Found", &[], ""), page.clone(), page]).await;
        let mut world = world(engine).await;
        world.policy.interval = minutes(7 * 24 * 60);
        world.policy.posts.full_text = FullText::Always;
        world.start(Scope::Daemon);
        world.add_feed(&server.url("/feed")).await;
        world.settled(1).await;
        world.until("the first page", async || paths(&server).len() == 3).await;
        world.until("its hold", async || host(&world).await.held_until.is_some()).await;
        assert_eq!(host(&world).await.held_until, Some(world.now() + 60 * MINUTE));
        world.pass_waiting(59 * MINUTE, 6).await;
        assert_eq!(paths(&server).len(), 3);
        world.pass_waiting(minutes(20), 20).await;
        world.until("the second page", async || paths(&server).len() == 4).await;
        world.stop().await;
    });
}

#[rstest]
fn p38_an_older_page_without_requests_left_ends_a_backfill(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let link = "<atom:link xmlns:atom=\"http://www.w3.org/2005/Atom\" rel=\"prev-archive\" href=\"/2\"/>";
        let limit = ["x-ratelimit-remaining: 0", "x-ratelimit-reset: 3600"];
        let server =
            publisher(&[feed_saying(link, &[], &["one"]), feed_saying(link, &limit, &["one"]), feed(&[], &["old"])])
                .await;
        let mut world = world(engine).await;
        world.start(Scope::Daemon);
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled(1).await;
        world.advance(Duration::from_secs(5));
        let request = BackfillRequest { pages: 5, wordpress: false, from: None };
        let report = world.service().backfill_source(id, request).await.unwrap();
        let BackfillEnd::Failed(error) = &report.end else { panic!("{:?}", report.end) };
        assert!(error.contains(NONE_LEFT), "{error}");
        assert_eq!((report.pages, paths(&server).len()), (1, 2));
        assert_eq!(host(&world).await.held_until, Some(world.now() + 60 * MINUTE));
        world.stop().await;
    });
}
