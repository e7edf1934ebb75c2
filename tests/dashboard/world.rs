//! A daemon with sources, posts and failures, and the ways into its dashboard.

use std::time::Duration;

use feedwarden::api::SITE;
use feedwarden::api::settings::{ApiLimits, TokenKey};
use feedwarden::api::tokens::TokenScope;
use feedwarden::demo::web::{Mix, SiteBehaviour, WebSettings};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::Visit;
use crate::api::{Answer, ApiWorld, SECRET, ask};
use crate::pipeline::World;
use crate::store::Engine;

const SITES: [SiteBehaviour; 5] = [
    SiteBehaviour::Healthy,
    SiteBehaviour::Gzip,
    SiteBehaviour::NotFound,
    SiteBehaviour::Unauthorized,
    SiteBehaviour::Website,
];

pub(super) struct DashboardWorld {
    pub(super) api: ApiWorld,
    /// Ids of the sources, in the order of the sites: two feeds, a missing one, a locked one, a page.
    pub(super) sources: Vec<i64>,
}

impl DashboardWorld {
    /// Every source has been polled once.
    pub(super) async fn of(engine: Engine) -> DashboardWorld {
        DashboardWorld::with(engine, |_| ()).await
    }

    /// The same with a world that is changed before it starts.
    pub(super) async fn with(engine: Engine, change: impl FnOnce(&mut World)) -> DashboardWorld {
        let (hosts, mix) = (SITES.len(), Mix::InTurn(SITES.to_vec()));
        let web = WebSettings { hosts, sites: hosts, mix, first_entries: 4, ..WebSettings::default() };
        let mut world = World::with(engine, web).await;
        change(&mut world);
        // The rate limit goes by the clock, which stands still.
        let limits = ApiLimits { requests_per_second: 100_000, ..ApiLimits::default() };
        let api = ApiWorld::around(world, TokenKey::Secret(SECRET.into()), limits);
        let mut sources = Vec::new();
        for site in 0..SITES.len() {
            let created = api.tell("POST", "/sources", json!({ "url": api.url(site) })).await;
            assert_eq!(created.status, 201, "{created:?}");
            sources.push(created.json()["source"]["id"].as_i64().unwrap());
        }
        api.world.settled(SITES.len() as u64).await;
        // It sends nothing: no source has the label.
        let webhook = api.tell("POST", "/webhooks", json!({ "url": "http://127.0.0.1:1/", "label": "quiet" })).await;
        assert_eq!(webhook.status, 201, "{webhook:?}");
        let job = api.tell("POST", "/jobs", json!({ "action": "poll", "ids": sources })).await;
        assert!(job.status < 300, "{job:?}");
        DashboardWorld::around(api, sources)
    }

    /// The same around what a test has set up by itself.
    pub(super) fn around(api: ApiWorld, sources: Vec<i64>) -> DashboardWorld {
        DashboardWorld { api, sources }
    }

    /// A path with the names of things that exist: `{source}`, `{failing}` (a source), `{host}`, `{post}`, `{webhook}`
    /// and `{job}`.
    pub(super) async fn fill_in(&self, path: &str) -> String {
        let first = async |path: &str| self.api.get(path).await.json()["items"][0]["id"].to_string();
        let mut path = path.replace("{source}", &self.sources[0].to_string());
        path = path.replace("{failing}", &self.sources[2].to_string());
        path = path.replace("{host}", &self.api.world.web.sites()[0].host).replace("{job}", "1");
        if path.contains("{post}") {
            path = path.replace("{post}", &first("/posts?limit=1").await);
        }
        if path.contains("{webhook}") {
            path = path.replace("{webhook}", &first("/webhooks?limit=1").await);
        }
        path
    }

    /// `http://ADDRESS:PORT` of `api.listen`.
    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.api.tcp_address())
    }

    /// A link with a one-time code.
    pub(super) async fn link(&self) -> String {
        let link = self.api.tell("POST", "/dashboard", json!({})).await;
        assert_eq!(link.status, 200, "{link:?}");
        link.json()["url"].as_str().unwrap().to_owned()
    }

    /// A browser that entered by a link. Its session outlives an hour, after which tokens of tests end.
    pub(super) async fn enter(&self) -> Visit {
        let link = self.link().await;
        let visit = Visit::to(link.split_once(SITE).unwrap().0).await;
        visit.goto(&link).await;
        visit.wait_for_text("h1", "Overview").await;
        visit
    }

    /// A browser that signed in with a token.
    pub(super) async fn sign_in(&self, scope: TokenScope) -> Visit {
        let visit = Visit::to(&self.origin()).await;
        visit.open("").await;
        visit.sign_in(&self.api.token(scope)).await;
        visit.wait_for_text("h1", "Overview").await;
        visit
    }

    /// The `name=value` of a session that was opened without a browser, over `api.listen`.
    pub(super) async fn cookie(&self, scope: TokenScope) -> String {
        let body = format!("token={}&next={SITE}", self.api.token(scope));
        let signed_in = self.send("POST", "/sign-in", &[("Content-Type", FORM)], &body).await;
        assert_eq!(signed_in.status, 303, "{signed_in:?}");
        signed_in.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
    }

    /// Sends a request to a page over `api.listen` without a browser.
    pub(super) async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let stream = TcpStream::connect(self.api.tcp_address()).await.unwrap();
        ask(stream, method, &format!("{SITE}{path}"), headers, body.as_bytes()).await
    }

    /// A source, as the API shows it.
    pub(super) async fn source(&self, id: i64) -> Value {
        let found = self.api.get(&format!("/sources/{id}")).await;
        assert_eq!(found.status, 200, "{found:?}");
        found.json()
    }

    /// Actions of the changes that a browser made which signed in with a token, newest first.
    pub(super) async fn audited_by_browser(&self) -> Vec<String> {
        let records = self.audit().await;
        let records = records.as_array().unwrap().iter();
        let own = records.filter(|record| record["who"].as_str().unwrap().contains("ada"));
        own.map(|record| record["action"].as_str().unwrap().to_owned()).collect()
    }

    /// All audit records: one more for each change.
    pub(super) async fn audit(&self) -> Value {
        self.api.get("/audit?limit=100").await.json()["items"].clone()
    }

    /// Has the first site publish and waits until its post is stored.
    pub(super) async fn publish(&self) {
        self.api.world.web.publish(0, 1);
        self.api.world.advance(Duration::from_secs(1));
        let path = format!("/sources/{}/poll?wait=20&force=true", self.sources[0]);
        let polled = self.api.tell("POST", &path, Value::Null).await;
        assert_eq!(polled.status, 200, "{polled:?}");
        assert_eq!(polled.json()["poll"]["new_posts"], 1, "{polled:?}");
    }
}

pub(super) const FORM: &str = "application/x-www-form-urlencoded";
