//! Posts, articles and lists through the listeners.

use std::time::Duration;

use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{
    Enclosure, EntryKey, NewPost, NewSource, PostContent, SourceId, SourceSettings, SourceType, Timestamp,
};
use feedwarden::store::Added;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;

use super::ApiWorld;
use super::client::{ask, read_head, send};
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};
use crate::store::post;

/// A stream with a client.
pub(super) struct Tail(BufReader<UnixStream>);

impl Tail {
    async fn open(api: &ApiWorld, query: &str, last: Option<&str>) -> Tail {
        Tail::open_at(api, &format!("/posts/stream{query}"), last).await
    }

    pub(super) async fn open_at(api: &ApiWorld, path: &str, last: Option<&str>) -> Tail {
        let mut stream = api.socket().await;
        let headers: Vec<_> = last.into_iter().map(|last| ("Last-Event-ID", last)).collect();
        send(&mut stream, "GET", &format!("/api/v1{path}"), &headers, b"").await;
        let mut reader = BufReader::new(stream);
        let head = read_head(&mut reader).await;
        assert!(head.contains("200 OK") && head.contains("text/event-stream"), "{head}");
        let mut tail = Tail(reader);
        // A client that got the first event misses none from then on.
        tail.line(": welcome").await;
        tail
    }

    pub(super) async fn line(&mut self, start: &str) -> String {
        let reading = async {
            loop {
                let mut line = String::new();
                assert_ne!(self.0.read_line(&mut line).await.unwrap(), 0, "the stream ended before {start:?}");
                if line.starts_with(start) {
                    return line.trim_end().to_owned();
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), reading).await.unwrap_or_else(|_| panic!("no {start:?} came"))
    }

    /// The bodies of the next posts, and the id of the last.
    async fn next(&mut self, count: usize) -> (Vec<String>, String) {
        let (mut bodies, mut id) = (Vec::new(), String::new());
        for _ in 0..count {
            id = self.line("id: ").await[4..].to_owned();
            let data: Value = serde_json::from_str(&self.line("data: ").await[6..]).unwrap();
            assert_eq!(data["change_number"].to_string(), id);
            bodies.push(data["body"].as_str().unwrap().to_owned());
        }
        (bodies, id)
    }
}

#[rstest]
fn a_stream_goes_on_where_it_ended_without_gaps_or_repeats(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let mut tail = Tail::open(&api, "", None).await;
        let body = json!({ "url": api.url(0), "first_poll": true });
        let id = api.tell("POST", "/sources", body).await.json()["source"]["id"].as_i64().unwrap();
        let (first, last) = tail.next(1).await;
        assert_eq!(first, api.world.web.served_entries_of(0));
        drop(tail);
        api.world.settled(1).await;
        // More than one batch is stored while no client is connected.
        let posts: Vec<_> = (0..40).map(|number| post(&format!("post {number}"))).collect();
        api.world.store.find(SourceId(id), posts).await;
        let mut tail = Tail::open(&api, "", Some(&last)).await;
        let expected: Vec<String> = (0..40).map(|number| format!("post {number}")).collect();
        let (bodies, _) = tail.next(40).await;
        assert_eq!(bodies, expected);
        // A source that the scheduler does not know.
        let silent = SourceSettings::new(SourceType::Rss, "http://silent.example/feed");
        let silent = NewSource { settings: silent, created_at: api.world.now() };
        let added = api.world.store.add_sources(vec![silent]).await.unwrap();
        let [Added::New(silent)] = added[..] else { panic!("{added:?}") };
        let mut other = Tail::open(&api, &format!("?after=0&source_id={silent}"), None).await;
        drop(tail);
        api.world.web.publish(0, 1);
        // Past what was found by hand a minute from the start.
        api.world.advance(Duration::from_secs(120));
        let mut tail = Tail::open(&api, &format!("?source_id={id}"), None).await;
        api.tell("POST", &format!("/sources/{id}/poll?wait=20"), Value::Null).await;
        let (bodies, _) = tail.next(1).await;
        assert_eq!(bodies[..], api.world.web.served_entries_of(0)[1..]);
        assert!(tokio::time::timeout(Duration::from_millis(50), other.line("data")).await.is_err());
        let wrong = ask(api.socket().await, "GET", "/api/v1/posts/stream", &[("Last-Event-ID", "x")], b"").await;
        wrong.is_problem(400, "invalid", Some("Last-Event-ID"));
        api.stop().await;
    });
}

#[rstest]
fn posts_are_counted_in_all_of_a_source_and_since_a_time(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let one = api.add_quiet("http://a.example/").await;
        api.add_quiet("http://b.example/").await;
        api.world.store.find(SourceId(one), vec![post("a"), post("b")]).await;
        let counted = async |query: &str| api.get(&format!("/posts/count{query}")).await.json()["posts"].clone();
        let stored_at = api.get("/posts").await.json()["items"][0]["created_at"].as_str().unwrap().to_owned();
        assert_eq!(counted("").await, 2);
        assert_eq!(counted(&format!("?source_id={one}")).await, 2);
        assert_eq!(counted("?source_id=2").await, 0);
        assert_eq!(counted(&format!("?since={stored_at}")).await, 2);
        let later = stored_at.parse::<Timestamp>().unwrap() + Duration::from_secs(1);
        assert_eq!(counted(&format!("?since={later}")).await, 0);
        let both = api.get(&format!("/posts/count?source_id={one}&since={stored_at}")).await;
        both.is_problem(400, "invalid", Some("since"));
        api.get("/posts/count?since=yesterday").await.is_problem(400, "invalid", Some("since"));
        api.stop().await;
    });
}

#[rstest]
fn posts_are_listed_from_either_end_by_source_and_by_time(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let one = api.add_quiet("http://a.example/").await;
        let two = api.add_quiet("http://b.example/").await;
        api.world.store.find(SourceId(one), vec![post("a"), post("b")]).await;
        api.world.store.find(SourceId(two), vec![post("c")]).await;
        let listed = async |query: &str| -> (String, Option<String>) {
            let page = api.get(&format!("/posts?{query}")).await.json();
            let bodies = page["items"].as_array().unwrap().iter().map(|item| item["body"].as_str().unwrap());
            (bodies.collect::<String>(), page["next_cursor"].as_str().map(str::to_owned))
        };
        assert_eq!(listed("").await, ("abc".to_owned(), None));
        let (first, cursor) = listed("limit=2").await;
        assert_eq!(first, "ab");
        assert_eq!(listed(&format!("limit=2&cursor={}", cursor.unwrap())).await.0, "c");
        assert_eq!(listed("order=newest&limit=2").await.0, "cb");
        assert_eq!(listed(&format!("source_id={one}")).await.0, "ab");
        let stored = api.get("/posts").await.json()["items"][0]["created_at"].as_str().unwrap().to_owned();
        let (first, cursor) = listed(&format!("since={stored}&limit=2")).await;
        assert_eq!(first, "ab");
        assert_eq!(listed(&format!("since={stored}&limit=2&cursor={}", cursor.unwrap())).await.0, "c");
        assert_eq!(listed(&format!("since={stored}&source_id={two}&limit=1")).await.0, "c");
        assert_eq!(listed(&format!("until={stored}")).await.0, "");
        api.get("/posts?order=best").await.is_problem(400, "invalid", Some("order"));

        let post_id = api.get("/posts").await.json()["items"][0]["id"].as_i64().unwrap();
        assert_eq!(api.get(&format!("/posts/{post_id}")).await.json()["body"], "a");
        let article = json!({ "title": "T", "body": "B", "post_ids": [post_id] });
        let created = api.tell("POST", "/articles", article).await;
        assert_eq!(created.status, 201, "{created:?}");
        let article = created.json()["id"].as_i64().unwrap();
        let link = format!("/articles/{article}/posts/{}", post_id + 1);
        assert_eq!(api.tell("PUT", &link, Value::Null).await.status, 204);
        assert_eq!(api.tell("POST", &format!("/articles/{article}/processed"), Value::Null).await.status, 204);
        let shown = api.get(&format!("/articles/{article}")).await.json();
        assert_eq!((&shown["is_processed"], &shown["post_ids"]), (&json!(true), &json!([post_id, post_id + 1])));
        let missing = json!({ "title": "T", "body": "B", "post_ids": [999] });
        api.tell("POST", "/articles", missing).await.is_problem(400, "invalid", Some("post_ids"));
        api.tell("POST", "/articles/999/processed", Value::Null).await.is_problem(404, "not-found", None);
        api.stop().await;
    });
}

#[rstest]
fn a_list_goes_in_and_comes_out_with_its_folders(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        api.tell("POST", "/scheduler/pause", Value::Null).await;
        let list = r#"<opml><body><outline text="Tech"><outline text="Rust">
            <outline type="rss" text="A &amp; B" xmlUrl="http://a.example/feed"/></outline>
            <outline xmlUrl="http://b.example/feed"/></outline>
            <outline type="rss" text="no url"/><outline xmlUrl="http://c.example/feed"/>
            <outline xmlUrl="http://a.example/feed"/></body></opml>"#;
        let post = async |body: &[u8]| {
            ask(api.socket().await, "POST", "/api/v1/opml", &[("Content-Type", "text/x-opml")], body).await
        };
        let report = post(list.as_bytes()).await.json();
        assert_eq!((&report["added"], &report["duplicates"], &report["rejected"]), (&json!(3), &json!(1), &json!(1)));
        assert_eq!(report["problems"].as_array().unwrap().len(), 2);
        let again = post(list.as_bytes()).await.json();
        assert_eq!((&again["added"], &again["duplicates"]), (&json!(0), &json!(4)));
        assert_eq!(api.get("/labels").await.json()["items"][1], json!({ "label": "Tech", "sources": 2 }));
        let rust = api.get("/sources?label=Rust").await.json();
        assert_eq!(
            (&rust["items"][0]["title"], &rust["items"][0]["labels"]),
            (&json!("A & B"), &json!(["Tech", "Rust"]))
        );
        let exported = api.get("/opml").await;
        assert_eq!(exported.header("content-type"), Some("text/x-opml; charset=utf-8"));
        let round: Vec<_> =
            feedwarden::opml::Reader::new(exported.body.as_bytes()).unwrap().map(Result::unwrap).collect();
        let found: Vec<_> = round.iter().map(|one| (one.feed_url.as_str(), one.labels.join("/"))).collect();
        let expected = ["http://a.example/feed", "http://b.example/feed", "http://c.example/feed"];
        let mut urls: Vec<_> = found.iter().map(|(url, _)| *url).collect();
        urls.sort_unstable();
        assert_eq!(urls, expected);
        assert!(found.contains(&("http://a.example/feed", "Tech/Rust".to_owned())), "{found:?}");
        post(b"{}").await.is_problem(400, "invalid", None);
        let import = async |query: &str, url: &str| {
            let list = format!(r#"<opml><body><outline xmlUrl="{url}"/></body></opml>"#);
            let path = format!("/api/v1/opml{query}");
            ask(api.socket().await, "POST", &path, &[("Content-Type", "text/x-opml")], list.as_bytes()).await
        };
        assert_eq!(import("?backlog=all", "http://d.example/feed").await.json()["added"], 1);
        let wanted = api.get("/sources?url=http://d.example/feed").await.json()["items"][0].clone();
        assert_eq!((&wanted["backlog"], &rust["items"][0]["backlog"]), (&json!("all"), &Value::Null));
        import("?backlog=some", "http://e.example/feed").await.is_problem(400, "invalid", Some("backlog"));
        api.stop().await;
    });
}

#[test]
fn posts_of_a_source_that_is_not_there_are_not_just_none() {
    run(async || {
        let api = ApiWorld::of(Sqlite, &[SiteBehaviour::Healthy]).await;
        for path in ["/posts?source_id=999", "/posts?source_id=999&order=newest", "/posts/stream?source_id=999"] {
            api.get(path).await.is_problem(404, "not-found", Some("source_id"));
        }
        let id = api.add_quiet("http://a.example/feed").await;
        assert_eq!(api.get(&format!("/posts?source_id={id}")).await.json()["items"], json!([]));
        api.stop().await;
    });
}

/// An entry of a podcast with everything that a post can carry.
pub(super) fn full_post() -> NewPost {
    let content = PostContent {
        title: "Episode 1".into(),
        text: "One\ntwo".into(),
        guid: Some("tag:a.example,1".into()),
        url: Some("https://a.example/1".into()),
        author: Some("Ann".into()),
        authors: vec!["Ann".into(), "Bob".into()],
        html: Some("<p onclick=\"x()\">One</p><script>x()</script><ul><li>two</li></ul>".into()),
        summary: Some("Short".into()),
        language: Some("en".into()),
        categories: vec!["tech".into()],
        enclosures: vec![Enclosure {
            url: "https://a.example/1.mp3".into(),
            media_type: Some("audio/mpeg".into()),
            length: Some(1234),
            duration_seconds: Some(61),
            title: None,
        }],
        image_url: Some("https://a.example/1.png".into()),
        comments_url: Some("https://a.example/1#comments".into()),
        updated_at: Some(Timestamp::from_seconds(1_790_000_100)),
        ..PostContent::default()
    };
    NewPost::new(content, Some(Timestamp::from_seconds(1_790_000_000)))
}

#[rstest]
fn a_post_carries_what_the_entry_has_and_names_its_source(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let id = api.add_quiet("http://ann:word@a.example/feed").await;
        let store = &api.world.store;
        store.raw("UPDATE sources SET feed_title = 'Title of the feed'").await;
        store.add_labels(vec![(SourceId(id), vec!["news".into()])], api.world.now()).await.unwrap();
        store.find(SourceId(id), vec![full_post()]).await;
        let listed = api.get("/posts").await.json()["items"][0].clone();
        let source = json!({
            "id": id, "title": "Title of the feed", "url": "http://a.example/feed", "labels": ["news"],
        });
        let enclosure = json!({
            "url": "https://a.example/1.mp3", "media_type": "audio/mpeg", "length": 1234, "duration_seconds": 61,
        });
        let expected = [
            ("source", source),
            ("change_number", listed["id"].clone()),
            ("revision", json!(0)),
            ("guid", json!("tag:a.example,1")),
            ("title", json!("Episode 1")),
            ("body", json!("One two")),
            ("text", json!("One\ntwo")),
            ("html", json!("<p>One</p><ul><li>two</li></ul>")),
            ("summary", json!("Short")),
            ("url", json!("https://a.example/1")),
            ("author", json!("Ann")),
            ("authors", json!(["Ann", "Bob"])),
            ("language", json!("en")),
            ("categories", json!(["tech"])),
            ("enclosures", json!([enclosure])),
            ("image_url", json!("https://a.example/1.png")),
            ("comments_url", json!("https://a.example/1#comments")),
            ("published_at", json!(Timestamp::from_seconds(1_790_000_000))),
            ("updated_at", json!(Timestamp::from_seconds(1_790_000_100))),
            ("changed_at", Value::Null),
            ("text_origin", json!("feed")),
            ("full_text_error", Value::Null),
            ("is_backfill", json!(false)),
        ];
        for (field, value) in expected {
            assert_eq!(listed[field], value, "{field}");
        }
        assert_eq!(api.get(&format!("/posts/{}", listed["id"])).await.json(), listed);
        let mut tail = Tail::open(&api, "?after=0", None).await;
        let streamed: Value = serde_json::from_str(&tail.line("data: ").await[6..]).unwrap();
        assert_eq!(streamed, listed);
        let stored = store.list_posts(None, None, 1).await.unwrap().pop().unwrap();
        assert!(stored.content.html.unwrap().contains("<script>"), "what is stored is as published");
        api.tell("PATCH", &format!("/sources/{id}"), json!({ "title": "Own title" })).await;
        assert_eq!(api.get("/posts").await.json()["items"][0]["source"]["title"], "Own title");
        api.stop().await;
    });
}

fn entry(id: &str, body: &str) -> NewPost {
    post(body).with_key(EntryKey::of("id", &[id.as_bytes()]))
}

#[rstest]
fn changed_posts_are_streamed_and_listed_behind_the_new_ones(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let id = api.add_quiet("http://a.example/").await;
        let store = &api.world.store;
        store.find(SourceId(id), vec![entry("1", "one"), entry("2", "two")]).await;
        let mut tail = Tail::open(&api, "?after=0", None).await;
        let (bodies, last) = tail.next(2).await;
        assert_eq!(bodies, ["one", "two"]);
        drop(tail);
        store.find(SourceId(id), vec![entry("1", "one, edited"), entry("2", "two")]).await;
        for query in ["", &format!("?source_id={id}")] {
            let mut tail = Tail::open(&api, query, Some(&last)).await;
            let number = tail.line("id: ").await[4..].to_owned();
            assert_eq!(tail.line("event: ").await, "event: post-updated");
            let data: Value = serde_json::from_str(&tail.line("data: ").await[6..]).unwrap();
            assert_eq!((&data["body"], &data["revision"]), (&json!("one, edited"), &json!(1)));
            assert_eq!(data["change_number"].to_string(), number);
            assert_ne!(data["change_number"], data["id"]);
            assert!(data["changed_at"].is_string(), "{data}");
        }
        let listed = async |query: &str| -> (Vec<String>, Option<String>) {
            let page = api.get(&format!("/posts?{query}")).await.json();
            let bodies = page["items"].as_array().unwrap().iter().map(|item| item["body"].as_str().unwrap().to_owned());
            (bodies.collect(), page["next_cursor"].as_str().map(str::to_owned))
        };
        let (first, cursor) = listed("changed_after=0&limit=1").await;
        assert_eq!(first, ["two"]);
        let next = format!("changed_after=0&limit=5&cursor={}", cursor.unwrap());
        assert_eq!(listed(&next).await, (vec!["one, edited".to_owned()], None));
        assert_eq!(listed(&format!("changed_after={last}&source_id={id}")).await.0, ["one, edited"]);
        for query in ["order=newest", "text=a", "label=a", "since=2026-01-01T00:00:00Z"] {
            let path = format!("/posts?changed_after=1&{query}");
            api.get(&path).await.is_problem(400, "invalid", Some("changed_after"));
        }
        api.stop().await;
    });
}

#[rstest]
fn an_edited_post_has_its_previous_revisions(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let source = SourceId(api.add_quiet("http://a.example/").await);
        let store = &api.world.store;
        let key = EntryKey::of("id", &[b"1"]);
        let id = store.find(source, vec![full_post().with_key(key)]).await[0];
        let path = format!("/posts/{id}/revisions");
        assert_eq!(api.get(&path).await.json(), json!({ "items": [], "next_cursor": null }));
        for body in ["second", "third"] {
            store.find(source, vec![entry("1", body)]).await;
        }
        let page = api.get(&path).await.json();
        let revisions = page["items"].as_array().unwrap();
        let numbers: Vec<&Value> = revisions.iter().map(|one| &one["revision"]).collect();
        assert_eq!(numbers, [1, 0], "{page:#}");
        let expected = [
            ("title", json!("Episode 1")),
            ("text", json!("One\ntwo")),
            ("html", json!("<p>One</p><ul><li>two</li></ul>")),
            ("summary", json!("Short")),
            ("url", json!("https://a.example/1")),
            ("author", json!("Ann")),
            ("published_at", json!(Timestamp::from_seconds(1_790_000_000))),
        ];
        for (field, value) in expected {
            assert_eq!(revisions[1][field], value, "{field}");
        }
        assert_eq!((&revisions[0]["text"], &revisions[0]["html"]), (&json!("second"), &Value::Null));
        assert!(revisions.iter().all(|one| one["stored_at"].is_string()), "{page:#}");
        assert_eq!(api.get(&format!("/posts/{id}")).await.json()["text"], "third");
        api.get("/posts/4711/revisions").await.is_problem(404, "not-found", None);
        api.get("/posts/one/revisions").await.is_problem(404, "not-found", None);
        api.stop().await;
    });
}

#[rstest]
fn silent_sources_are_counted_and_listed(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        api.tell("POST", "/scheduler/pause", Value::Null).await;
        let store = &api.world.store;
        let days_ago = |days: u64| api.world.now() - Duration::from_secs(days * 86_400);
        for (number, added) in [40, 50, 10].into_iter().enumerate() {
            let settings = SourceSettings::new(SourceType::Rss, format!("http://{number}.example/"));
            let mut source = store.add(NewSource { settings, created_at: days_ago(added) }).await;
            source.state.last_success_at = Some(days_ago(0));
            store.save_source(source, days_ago(0)).await.unwrap();
        }
        let silent = api.get("/sources/silent").await.json();
        let urls: Vec<_> = silent["items"].as_array().unwrap().iter().map(|one| &one["source"]["url"]).collect();
        assert_eq!(silent["total"], 2);
        assert_eq!(urls, ["http://1.example/", "http://0.example/"]);
        assert_eq!(silent["items"][0]["silent_since"], json!(days_ago(50)));
        assert_eq!(api.get("/status").await.json()["store_counts"]["silent_sources"], 2);
        let free = &api.get("/status").await.json()["store_counts"]["free_disk_bytes"];
        assert_eq!(free.is_u64(), engine == Sqlite, "the disk of a server is not ours: {free}");
        api.stop().await;
    });
}

#[rstest]
fn posts_are_found_by_label_and_text(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let one = SourceId(api.add_quiet("http://a.example/").await);
        let two = SourceId(api.add_quiet("http://b.example/").await);
        let store = &api.world.store;
        store.add_labels(vec![(two, vec!["fruit & more".into()])], api.world.now()).await.unwrap();
        store.find(one, vec![post("Red apples"), post("pears")]).await;
        store.find(two, vec![post("green APPLES"), post("plums")]).await;
        let listed = async |query: &str| -> Vec<String> {
            let (mut bodies, mut cursor) = (Vec::new(), String::new());
            loop {
                let page = api.get(&format!("/posts?{query}{cursor}")).await.json();
                bodies
                    .extend(page["items"].as_array().unwrap().iter().map(|item| item["body"].as_str().unwrap().into()));
                match page["next_cursor"].as_str() {
                    Some(next) => cursor = format!("&cursor={next}"),
                    None => return bodies,
                }
            }
        };
        assert_eq!(listed("text=apples").await, ["Red apples", "green APPLES"]);
        assert_eq!(listed("text=apples&order=newest&limit=1").await, ["green APPLES", "Red apples"]);
        assert_eq!(listed("label=fruit%20%26%20more").await, ["green APPLES", "plums"]);
        assert_eq!(listed("label=fruit%20%26%20more&text=apples").await, ["green APPLES"]);
        assert_eq!(listed(&format!("text=apples&source_id={one}")).await, ["Red apples"]);
        // A gap of more ids than one page examines.
        let gap = match engine {
            Sqlite => "UPDATE sqlite_sequence SET seq = seq + 50000 WHERE name = 'posts'",
            Postgres => "SELECT setval(pg_get_serial_sequence('posts', 'id'), 50000)",
        };
        store.raw(gap).await;
        store.find(two, vec![post("grapes")]).await;
        assert_eq!(listed("text=p&order=newest").await, ["grapes", "plums", "green APPLES", "pears", "Red apples"]);
        assert_eq!(listed("text=p").await, ["Red apples", "pears", "green APPLES", "plums", "grapes"]);
        api.get("/posts?text=").await.is_problem(400, "invalid", Some("text"));
        let all = listed("text=p").await;
        assert_eq!(listed("text=p&since=2000-01-01T00:00:00Z").await, all);
        let newest: Vec<String> = all.iter().rev().cloned().collect();
        assert_eq!(listed("text=p&since=2000-01-01T00:00:00Z&until=2200-01-01T00:00:00Z&order=newest").await, newest);
        assert_eq!(listed("text=p&until=2000-01-01T00:00:00Z").await, [""; 0]);
        assert_eq!(listed("text=p&since=2200-01-01T00:00:00Z").await, [""; 0]);
        // Posts of the first source become older than the others.
        let moment = if engine == Sqlite { "1000000" } else { "to_timestamp(1)" };
        store.raw(&format!("UPDATE posts SET created_at = {moment} WHERE source_id = {one}")).await;
        let time = "2000-01-01T00:00:00Z";
        assert_eq!(listed(&format!("text=apples&since={time}")).await, ["green APPLES"]);
        assert_eq!(listed(&format!("text=apples&until={time}")).await, ["Red apples"]);
        assert_eq!(listed(&format!("label=fruit%20%26%20more&until={time}")).await, [""; 0]);
        assert_eq!(listed(&format!("order=newest&since={time}")).await, ["grapes", "plums", "green APPLES"]);
        assert_eq!(listed(&format!("order=newest&until={time}&limit=1")).await, ["pears", "Red apples"]);
        api.stop().await;
    });
}
