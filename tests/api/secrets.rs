//! Secrets in URLs are for those who may change them: the admin socket and `write` tokens.

use feedwarden::api::tokens::TokenScope;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::SourceId;
use rstest::rstest;
use serde_json::json;

use super::ApiWorld;
use super::client::ask;
use crate::pipeline::run;
use crate::store::Engine::{self, Postgres, Sqlite};

/// Part of every URL here; clients that may only read do not see it.
const HIDDEN: &str = "c0ffee";

#[rstest]
fn read_tokens_see_no_secret_of_a_url_anywhere(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let api = ApiWorld::of(engine, &[SiteBehaviour::Healthy]).await;
        let hook = format!("https://hooks.example/services/{HIDDEN}?token={HIDDEN}");
        let created = api.tell("POST", "/webhooks", json!({ "url": hook })).await.json();
        assert_eq!(created["url"], hook);
        let feed = format!("https://a.example/feed?page=1&rss_token={HIDDEN}");
        let source = api.add_quiet(&feed).await;
        let path = format!("/sources/{source}");
        let moved = format!("moved_to = 'https://b.example/?key={HIDDEN}', moved_days = 1, moved_last_at = updated_at");
        api.world.store.raw(&format!("UPDATE sources SET {moved}")).await;
        let webhook = format!("/webhooks/{}", created["id"]);
        let (read, write) = (api.token(TokenScope::Read), api.token(TokenScope::Write));
        let seen = async |token: &str, path: &str| {
            let authorization = format!("Bearer {token}");
            ask(api.tcp().await, "GET", path, &[("Authorization", &authorization)], b"").await
        };
        let paths = [
            "/webhooks",
            &webhook,
            "/sources",
            &path,
            &format!("{path}/explain"),
            &format!("{path}/history"),
            "/opml",
            "/posts",
            "/status",
            "/configuration",
            "/statistics",
            "/tree",
        ];
        for path in paths.map(|path| format!("/api/v1{path}")).into_iter().chain(["/metrics".to_owned()]) {
            let answer = seen(&read, &path).await;
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
            assert!(!answer.body.contains(HIDDEN), "{path}: {}", answer.body);
        }
        let of_reader = seen(&read, &format!("/api/v1{webhook}")).await.json();
        assert_eq!(of_reader["url"], "https://hooks.example/********");
        let of_reader = seen(&read, &format!("/api/v1{path}")).await.json();
        assert_eq!(of_reader["url"], "https://a.example/feed?page=1&rss_token=********");
        assert_eq!(of_reader["moved_to"], "https://b.example/?key=********");
        // Nor can it be found by guessing.
        for filter in
            [format!("url=https%3A%2F%2Fa.example%2Ffeed%3Fpage%3D1%26rss_token%3D{HIDDEN}"), format!("text={HIDDEN}")]
        {
            let found = seen(&read, &format!("/api/v1/sources?{filter}")).await.json();
            assert_eq!(found["items"], json!([]), "{filter}");
        }
        for (path, url) in [(&webhook, &hook), (&path, &feed)] {
            assert_eq!(seen(&write, &format!("/api/v1{path}")).await.json()["url"], *url);
            assert_eq!(api.get(path).await.json()["url"], *url);
        }
        assert!(seen(&write, "/api/v1/opml").await.body.contains(HIDDEN), "a backup has whole URLs");
        assert_eq!(api.world.source(SourceId(source)).await.settings.url, feed);
        api.stop().await;
    });
}
