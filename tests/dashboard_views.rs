//! Pages of the dashboard for posts, webhooks, settings and audit records: what they show, what their forms do, and
//! that nothing a publisher writes gets out of its place. Over the admin socket, which needs no session.

use feedwarden::api::ConfigHandle;
use feedwarden::api::tokens::TokenScope;
use feedwarden::api::views::{ConfigurationRow, Reloaded};
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{Enclosure, NewPost, PostContent, SourceId};
use serde_json::{Value, json};

use crate::api::{Answer, ApiWorld, ask};
use crate::pipeline::{Receiver, run};
use crate::store::Engine::Sqlite;
use crate::store::post;

async fn world() -> ApiWorld {
    ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await
}

async fn page(api: &ApiWorld, path: &str) -> String {
    let answer = look(api, path).await;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    assert!(answer.header("content-security-policy").unwrap().contains("default-src 'none'"), "{answer:?}");
    answer.body
}

async fn look(api: &ApiWorld, path: &str) -> Answer {
    ask(api.socket().await, "GET", &format!("/dashboard{path}"), &[], b"").await
}

/// Sends a form.
async fn send(api: &ApiWorld, path: &str, fields: &[(&str, &str)]) -> Answer {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Content-Length", "0")];
    let headers = if body.is_empty() { &headers[..] } else { &headers[..1] };
    ask(api.socket().await, "POST", &format!("/dashboard{path}"), headers, body.as_bytes()).await
}

/// Sends a form that succeeds, and returns the page that the browser goes to.
async fn sent(api: &ApiWorld, path: &str, fields: &[(&str, &str)]) -> String {
    let answer = send(api, path, fields).await;
    assert_eq!(answer.status, 303, "{path}: {answer:?}");
    let target = answer.header("location").unwrap().strip_prefix("/dashboard").unwrap().to_owned();
    page(api, &target).await
}

/// The newest audit record.
async fn last_record(api: &ApiWorld) -> Value {
    api.get("/audit?limit=1").await.json()["items"][0].clone()
}

fn entry(guid: &str, title: &str, text: &str) -> NewPost {
    let content = PostContent {
        guid: Some(guid.to_owned()),
        title: title.to_owned(),
        text: text.to_owned(),
        ..PostContent::default()
    };
    NewPost::new(content, None)
}

/// Where these texts begin in a page, in the order given.
fn in_order(page: &str, texts: &[&str]) {
    let mut rest = page;
    for text in texts {
        let at = rest.find(text).unwrap_or_else(|| panic!("no {text:?} where it should be in {page}"));
        rest = &rest[at + text.len()..];
    }
}

#[test]
fn posts_are_listed_newest_first_and_selected_by_text_label_source_and_page() {
    run(async || {
        let api = world().await;
        assert!(page(&api, "/posts").await.contains("There are no posts yet"));
        let (one, two) = (api.add_quiet("http://a.example/").await, api.add_quiet("http://b.example/").await);
        let store = &api.world.store;
        store.add_labels(vec![(SourceId(one), vec!["news & more".into()])], api.world.now()).await.unwrap();
        store.find(SourceId(one), vec![entry("1", "First", "alpha"), entry("2", "Second", "beta")]).await;
        store.find(SourceId(two), vec![entry("3", "Third", "gamma")]).await;
        let all = page(&api, "/posts").await;
        in_order(&all, &["Third", "Second", "First"]);
        assert!(all.contains("data-live") && all.contains("news &amp; more"), "{all}");
        assert!(all.contains(&format!("href=\"/dashboard/sources/{one}\"")));
        for (query, expected, missing) in [
            ("text=ALPHA".to_owned(), "First", "Second"),
            ("label=news+%26+more".to_owned(), "Second", "Third"),
            (format!("source_id={two}"), "Third", "First"),
        ] {
            let found = page(&api, &format!("/posts?{query}")).await;
            assert!(found.contains(expected) && !found.contains(missing), "{query}: {found}");
            assert!(found.contains("(remove)"), "{query}: {found}");
        }
        assert!(page(&api, "/posts?text=nowhere").await.contains("No post matches"));
        assert_eq!(look(&api, "/posts?source_id=999").await.status, 404);
        let many = (0..120).map(|number| post(&format!("n{number:03}"))).collect();
        store.find(SourceId(two), many).await;
        let first = page(&api, "/posts").await;
        in_order(&first, &["n119", "n070", "rel=\"next\""]);
        assert!(!first.contains("n069"));
        let next = first.split("rel=\"next\" href=\"/dashboard").nth(1).unwrap().split('"').next().unwrap();
        let second = page(&api, &next.replace("&amp;", "&")).await;
        in_order(&second, &["n069", "n020"]);
        assert!(!second.contains("data-live"), "pages that do not begin with the newest post stay as they are");
        api.stop().await;
    });
}

#[test]
fn a_post_shows_what_the_publisher_says_and_its_revisions_beside_each_other() {
    run(async || {
        let api = world().await;
        let source = SourceId(api.add_quiet("http://a.example/").await);
        let store = &api.world.store;
        let content = PostContent {
            title: "Episode".into(),
            text: "One\ntwo".into(),
            url: Some("https://a.example/1".into()),
            authors: vec!["Ann".into(), "Bob".into()],
            categories: vec!["tech".into()],
            html: Some("<p class=published>One</p>".into()),
            full_text_error: Some("the page is gone".into()),
            enclosures: vec![
                file("https://a.example/1.mp3", "audio/mpeg"),
                file("https://a.example/1.mp4", "video/mp4"),
                file("https://a.example/1.pdf", "application/pdf"),
            ],
            ..PostContent::default()
        };
        let id = store.find(source, vec![NewPost::new(content, None)]).await[0];
        let shown = look(&api, &format!("/posts/{id}")).await;
        assert!(shown.header("content-security-policy").unwrap().contains("media-src http: https:"));
        for text in [
            "One\ntwo",
            "Ann",
            "Bob",
            "tech",
            "the page is gone",
            "<audio controls preload=\"none\" src=\"https://a.example/1.mp3\">",
            "<video controls preload=\"none\" src=\"https://a.example/1.mp4\">",
            "<a href=\"https://a.example/1.pdf\"",
            "application/pdf",
            "12 kB",
            "<a href=\"https://a.example/1\" rel=\"noopener noreferrer\"",
        ] {
            assert!(shown.body.contains(text), "{text}: {}", shown.body);
        }
        assert!(!shown.body.contains("published>") && !shown.body.contains("id=\"revisions\""), "{}", shown.body);
        for path in ["/posts/999", "/posts/x", "/posts/-1"] {
            assert_eq!(look(&api, path).await.status, 404, "{path}");
        }
        api.stop().await;
    });
}

fn file(url: &str, media_type: &str) -> Enclosure {
    let (url, media_type) = (url.to_owned(), Some(media_type.to_owned()));
    Enclosure { url, media_type, length: Some(12_345), duration_seconds: Some(61), title: None }
}

#[test]
fn nothing_that_a_publisher_writes_gets_out_of_its_place() {
    run(async || {
        let api = world().await;
        let source = SourceId(api.add_quiet("http://a.example/").await);
        let store = &api.world.store;
        let script = "<script>alert(1)</script>";
        let content = PostContent {
            title: format!("{script}\u{202e}evil"),
            text: format!("</div>{script}<img src=x onerror=alert(1)>{}", "y".repeat(10_000)),
            summary: Some(script.into()),
            guid: Some(format!("\"><{script}")),
            url: Some("javascript:alert(1)".into()),
            comments_url: Some("data:text/html,x".into()),
            language: Some("\"><b>".into()),
            authors: vec![script.into()],
            categories: vec![script.into()],
            full_text_error: Some(script.into()),
            enclosures: vec![
                file("javascript:alert(2)", "audio/mpeg"),
                file("data:audio/mpeg,x", "video/mp4"),
                file("https://a.example/\"><script>alert(3)</script>.mp3", "audio/\"><script>"),
                file("//evil.example/x", "audio/mpeg"),
            ],
            ..PostContent::default()
        };
        let id = store.find(source, vec![NewPost::new(content, None)]).await[0];
        let long = entry("long", &format!("{}<script>", "w".repeat(10_000)), "x");
        store.find(source, vec![long]).await;
        store.raw("UPDATE sources SET feed_title = '<script>alert(4)</script>'").await;
        store.add_labels(vec![(source, vec!["<script>alert(5)</script>".into()])], api.world.now()).await.unwrap();
        for path in [
            "/posts".to_owned(),
            "/posts?text=%3Cscript%3Ealert(6)%3C/script%3E".to_owned(),
            format!("/posts?source_id={}&label=%3Cscript%3Ealert(5)%3C/script%3E", source.0),
            format!("/posts/{id}"),
            "/webhooks".to_owned(),
            "/audit?who=%22%3E%3Cscript%3E".to_owned(),
        ] {
            let shown = page(&api, &path).await;
            assert_eq!(shown.matches("<script").count(), 1, "only our own script: {path}: {shown}");
            for danger in ["<img", "href=\"javascript:", "href=\"data:", "src=\"javascript:", "src=\"data:", "src=\"//"]
            {
                assert!(!shown.contains(danger), "{path}: {danger}: {shown}");
            }
        }
        let list = page(&api, "/posts").await;
        assert!(list.contains("<bdi>&lt;script&gt;alert(1)&lt;/script&gt;\u{202e}evil</bdi>"), "{list}");
        assert!(!list.contains(&"w".repeat(2_001)), "a long title is cut");
        let shown = page(&api, &format!("/posts/{id}")).await;
        assert!(shown.contains(&"y".repeat(10_000)), "the text is whole");
        api.stop().await;
    });
}

#[test]
fn webhooks_are_added_changed_tested_switched_and_removed_with_records() {
    run(async || {
        let api = world().await;
        assert!(page(&api, "/webhooks").await.contains("There are no webhooks"));
        let receiver = Receiver::start(&[]).await;
        let added = send(&api, "/webhooks", &[("url", &receiver.url()), ("label", "news")]).await;
        assert_eq!((added.status, added.header("cache-control")), (200, Some("no-store")), "{added:?}");
        let secret = added.body.split("<pre>").nth(1).unwrap().split('<').next().unwrap().to_owned();
        assert!(secret.len() >= 16, "{secret}");
        assert_eq!(last_record(&api).await["action"], "webhook.add");
        let path = format!("/webhooks/{}", api.get("/webhooks").await.json()["items"][0]["id"]);
        for shown in [page(&api, "/webhooks").await, page(&api, &path).await] {
            assert!(shown.contains("news") && shown.contains("enabled") && !shown.contains(&secret), "{shown}");
        }
        let tested = sent(&api, &format!("{path}/test"), &[]).await;
        assert!(tested.contains("The receiver accepted the test delivery."), "{tested}");
        assert_eq!(last_record(&api).await["action"], "webhook.test");

        // An empty label is none; a URL that is not given stays.
        sent(&api, &format!("{path}/change"), &[("url", ""), ("label", "")]).await;
        assert_eq!(api.get(&path).await.json()["label"], Value::Null);
        assert!(api.get(&path).await.json()["url"].as_str().unwrap().starts_with(&receiver.url()));
        let changed =
            send(&api, &format!("{path}/change"), &[("url", "http://127.0.0.1:1/x"), ("new_secret", "yes")]).await;
        assert!(
            changed.status == 200 && changed.body.contains("<pre>") && !changed.body.contains(&secret),
            "{changed:?}"
        );
        assert_eq!(last_record(&api).await["after"]["secret"], "changed");
        assert!(sent(&api, &format!("{path}/test"), &[]).await.contains("The test delivery failed"));

        let disabled = sent(&api, &format!("{path}/disable"), &[("reason", "<b>moves")]).await;
        assert!(disabled.contains("&lt;b&gt;moves") && disabled.contains("state bad"), "{disabled}");
        assert_eq!(last_record(&api).await["action"], "webhook.disable");
        sent(&api, &format!("{path}/enable"), &[]).await;
        assert_eq!(api.get(&path).await.json()["enabled"], true);
        assert_eq!(last_record(&api).await["action"], "webhook.enable");

        assert_eq!(send(&api, &format!("{path}/remove"), &[]).await.status, 400, "without its confirmation");
        assert_eq!(api.get(&path).await.status, 200);
        assert!(sent(&api, &format!("{path}/remove"), &[("confirmed", "yes")]).await.contains("There are no webhooks"));
        assert_eq!(last_record(&api).await["action"], "webhook.remove");
        assert_eq!(look(&api, &path).await.status, 404);
        assert_eq!(send(&api, "/webhooks", &[("url", "javascript:alert(1)")]).await.status, 400);
        api.stop().await;
    });
}

#[test]
fn a_webhook_says_since_when_it_is_behind() {
    run(async || {
        let api = world().await;
        let source = SourceId(api.add_quiet("http://a.example/").await);
        send(&api, "/webhooks", &[("url", "http://127.0.0.1:1/")]).await;
        assert!(page(&api, "/webhooks").await.contains("all posts are delivered or skipped"));
        api.world.store.find(source, vec![post("new")]).await;
        assert!(page(&api, "/webhooks").await.contains("oldest waiting post is from"));
        api.stop().await;
    });
}

#[test]
fn settings_show_values_with_their_origin_and_switch_polling_and_the_log_level() {
    run(async || {
        let rows = || {
            let row = |key: &str, value: Value, origin: &str| ConfigurationRow {
                key: key.into(),
                value,
                origin: origin.into(),
            };
            vec![
                row("http.agent", json!("<script>"), "file \"x\" line 3"),
                row("source.interval", json!(900), "built-in"),
                row("source.max-failures", json!(10), "environment variable X"),
            ]
        };
        let reload = || Ok(Reloaded { changed: vec!["a.b".into()], needs_restart: vec!["c.d".into()] });
        let configuration = ConfigHandle { effective: Box::new(rows), reload: Box::new(reload) };
        let api = ApiWorld::with_configuration(configuration).await;
        let shown = page(&api, "/settings").await;
        in_order(&shown, &["<h3>http</h3>", "class=\"marked\"", "&lt;script&gt;", "line 3", "<h3>source</h3>", "900"]);
        assert_eq!(shown.matches("class=\"marked\"").count(), 2, "{shown}");
        let found = page(&api, "/settings?text=INTERVAL").await;
        assert!(found.contains("source.interval") && !found.contains("http.agent"), "{found}");
        let set = page(&api, "/settings?show=changed").await;
        assert!(set.contains("source.max-failures") && !set.contains("source.interval"), "{set}");
        assert!(page(&api, "/settings?text=nowhere").await.contains("No key matches"));

        let paused = sent(&api, "/settings/pause", &[]).await;
        assert!(paused.contains("Polling is paused.") && paused.contains("Resume polling"), "{paused}");
        assert_eq!(api.get("/scheduler").await.json()["is_paused"], true);
        assert_eq!(last_record(&api).await["action"], "polling.pause");
        assert!(sent(&api, "/settings/resume", &[]).await.contains("Pause polling"));
        assert_eq!(api.get("/scheduler").await.json()["is_paused"], false);
        assert_eq!(last_record(&api).await["action"], "polling.resume");

        let reloaded = sent(&api, "/settings/reload", &[]).await;
        in_order(&reloaded, &["New values apply now: a.b.", "after a restart: c.d."]);
        assert_eq!(last_record(&api).await["action"], "settings.reload");

        assert!(sent(&api, "/settings/log-level", &[("level", "debug")]).await.contains("The log level is debug."));
        assert_eq!(api.get("/log-level").await.json()["level"], "debug");
        assert_eq!(last_record(&api).await["action"], "log.level");
        assert_eq!(send(&api, "/settings/log-level", &[("level", "loud")]).await.status, 400);
        api.stop().await;
    });
}

#[test]
fn a_configuration_with_mistakes_is_explained() {
    run(async || {
        let reload = || Err(vec!["source.interval: <b>not a number".to_owned(), "http.agent: empty".to_owned()]);
        let configuration = ConfigHandle { effective: Box::new(Vec::new), reload: Box::new(reload) };
        let api = ApiWorld::with_configuration(configuration).await;
        let refused = send(&api, "/settings/reload", &[]).await;
        assert_eq!(refused.status, 400);
        in_order(&refused.body, &["Nothing changed", "&lt;b&gt;not a number", "http.agent: empty"]);
        api.stop().await;
    });
}

#[test]
fn audit_records_show_changed_fields_and_are_selected_by_action_thing_caller_and_time() {
    run(async || {
        let api = world().await;
        assert!(page(&api, "/audit").await.contains("There are no records yet."));
        let id = api.add_quiet("http://a.example/").await;
        api.tell("PATCH", &format!("/sources/{id}"), json!({ "title": "Old" })).await;
        api.tell("PATCH", &format!("/sources/{id}"), json!({ "title": "<b>New" })).await;
        api.tell("POST", "/webhooks", json!({ "url": "http://hook.example/" })).await;
        let all = page(&api, "/audit").await;
        in_order(
            &all,
            &["webhook.add", "source.edit", "<del><bdi>Old</bdi></del> → <ins><bdi>&lt;b&gt;New", "source.add"],
        );
        assert!(
            all.contains(&format!("href=\"/dashboard/sources/{id}\"")) && all.contains("/dashboard/webhooks#webhook-")
        );
        let who = last_record(&api).await["who"].as_str().unwrap().to_owned();
        for (query, expected, missing) in [
            ("action=source.edit".to_owned(), "&lt;b&gt;New", ">webhook.add<"),
            ("target=webhook".to_owned(), ">webhook.add<", ">source.edit<"),
            (format!("target=source&target_id={id}"), ">source.edit<", ">webhook.add<"),
            (format!("who={who}&since=day"), ">source.edit<", "No record matches"),
            ("who=uid:4242424".to_owned(), "No record matches", ">source.edit<"),
            ("since=9000-01-01T00:00:00Z".to_owned(), "No record matches", ">source.edit<"),
        ] {
            let found = page(&api, &format!("/audit?{query}")).await;
            assert!(found.contains(expected) && !found.contains(missing), "{query}: {found}");
        }
        for query in ["since=yesterday", "target_id=1", "cursor=x"] {
            assert_eq!(look(&api, &format!("/audit?{query}")).await.status, 400, "{query}");
        }
        api.stop().await;
    });
}

#[test]
fn audit_records_are_for_those_who_may_change_things() {
    run(async || {
        let api = world().await;
        let reader = api.token(TokenScope::Read);
        let form = url::form_urlencoded::Serializer::new(String::new()).append_pair("token", &reader).finish();
        let headers = [("Content-Type", "application/x-www-form-urlencoded")];
        let entered = ask(api.tcp().await, "POST", "/dashboard/sign-in", &headers, form.as_bytes()).await;
        let cookie = entered.header("set-cookie").unwrap_or_else(|| panic!("{entered:?}")).split(';').next().unwrap();
        let look = async |path: &str| ask(api.tcp().await, "GET", path, &[("Cookie", cookie)], b"").await;
        assert_eq!(look("/dashboard/audit").await.status, 403);
        for path in ["/dashboard/webhooks", "/dashboard/settings", "/dashboard/posts"] {
            let shown = look(path).await;
            assert_eq!(shown.status, 200, "{shown:?}");
            let changes = shown.body.matches("method=\"post\"").count();
            assert_eq!(changes, 1, "a reader can only sign out: {}", shown.body);
        }
        api.stop().await;
    });
}
