//! A pipeline with open listeners.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::api::settings::{ApiLimits, ApiSettings, TokenKey, TokenSettings};
use feedwarden::api::tokens::{Signer, TokenRequest, TokenScope, issue};
use feedwarden::api::views::Reloaded;
use feedwarden::api::{AccessRules, ApiServer, ConfigHandle, Listeners, SharedAccessRules};
use feedwarden::clock::SystemClock;
use feedwarden::dashboard::DASHBOARD;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::telemetry::{self, LogSettings, Telemetry};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::{TcpStream, UnixStream};

use super::Answer;
use super::client::ask;
use crate::pipeline::World;
use crate::store::Engine;

pub(crate) const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// A world whose listeners are open. Nothing is polled before it is added.
pub(crate) struct ApiWorld {
    pub(crate) world: World,
    listeners: ApiServer,
    settings: ApiSettings,
    rules: SharedAccessRules,
    directory: TempDir,
    _telemetry: Telemetry,
}

impl ApiWorld {
    pub(crate) async fn of(engine: Engine, behaviours: &[SiteBehaviour]) -> ApiWorld {
        let world = World::of(engine, behaviours).await;
        ApiWorld::around(world, TokenKey::Secret(SECRET.into()), ApiLimits::default())
    }

    /// The same with limits of one's own.
    pub(crate) async fn with_limits(limits: ApiLimits) -> ApiWorld {
        let world = World::of(Engine::Sqlite, &[SiteBehaviour::Healthy]).await;
        ApiWorld::around(world, TokenKey::Secret(SECRET.into()), limits)
    }

    /// The same with listeners that are set up in another way.
    pub(crate) async fn with_settings(change: impl FnOnce(&mut ApiSettings)) -> ApiWorld {
        let world = World::of(Engine::Sqlite, &[SiteBehaviour::Healthy]).await;
        ApiWorld::set_up(world, TokenKey::Secret(SECRET.into()), change)
    }

    /// The same around a world of one's own, with tokens checked by this key.
    pub(crate) fn around(world: World, key: TokenKey, limits: ApiLimits) -> ApiWorld {
        ApiWorld::set_up(world, key, |settings| settings.limits = limits)
    }

    /// The same with a configuration of one's own.
    pub(crate) async fn with_configuration(configuration: ConfigHandle) -> ApiWorld {
        let world = World::of(Engine::Sqlite, &[SiteBehaviour::Healthy]).await;
        ApiWorld::open(world, TokenKey::Secret(SECRET.into()), configuration, |_| ())
    }

    fn set_up(world: World, key: TokenKey, change: impl FnOnce(&mut ApiSettings)) -> ApiWorld {
        let configuration =
            ConfigHandle { effective: Box::new(Vec::new), reload: Box::new(|| Ok(Reloaded::default())) };
        ApiWorld::open(world, key, configuration, change)
    }

    fn open(
        mut world: World,
        key: TokenKey,
        configuration: ConfigHandle,
        change: impl FnOnce(&mut ApiSettings),
    ) -> ApiWorld {
        world.start(Scope::Daemon);
        let directory = tempfile::tempdir().unwrap();
        let log = LogSettings { file: Some(directory.path().join("log")), ..LogSettings::default() };
        let telemetry = telemetry::start(&log, Arc::new(SystemClock)).unwrap();
        let tokens = TokenSettings { key, audience: Some("feeds".into()), leeway: Duration::ZERO };
        let mut settings = ApiSettings {
            socket: directory.path().join("admin.sock"),
            listen: Some("127.0.0.1:0".parse().unwrap()),
            tokens: Some(tokens),
            ..ApiSettings::default()
        };
        change(&mut settings);
        let listeners = Listeners::take(&settings).unwrap();
        let rules = listeners.access_rules();
        let listeners = listeners.open(world.service(), telemetry.handle.clone(), configuration, DASHBOARD).unwrap();
        ApiWorld { world, listeners, settings, rules, directory, _telemetry: telemetry }
    }

    /// Changes the rules of the open listener, as a reload of the configuration does.
    pub(crate) fn reload(&mut self, change: impl FnOnce(&mut ApiSettings)) {
        change(&mut self.settings);
        self.rules.follow(AccessRules::new(&self.settings).unwrap());
    }

    pub(crate) async fn stop(mut self) {
        self.listeners.close().await;
        self.world.stop().await;
        drop(self.directory);
    }

    pub(crate) fn socket_path(&self) -> PathBuf {
        self.listeners.socket.clone()
    }

    pub(crate) async fn socket(&self) -> UnixStream {
        UnixStream::connect(&self.listeners.socket).await.unwrap()
    }

    pub(crate) async fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.tcp_address()).await.unwrap()
    }

    pub(crate) fn tcp_address(&self) -> SocketAddr {
        self.listeners.listen.unwrap()
    }

    /// Asks through the socket.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        ask(self.socket().await, "GET", &format!("/api/v1{path}"), &[], b"").await
    }

    /// Tells through the socket.
    pub(crate) async fn tell(&self, method: &str, path: &str, body: Value) -> Answer {
        self.tell_if(method, path, body, None).await
    }

    /// Tells through the socket, if the version is still this one.
    pub(crate) async fn tell_if(&self, method: &str, path: &str, body: Value, version: Option<&str>) -> Answer {
        let mut headers = vec![("Content-Type", "application/json")];
        headers.extend(version.map(|version| ("If-Match", version)));
        let body = if body.is_null() { String::new() } else { body.to_string() };
        ask(self.socket().await, method, &format!("/api/v1{path}"), &headers, body.as_bytes()).await
    }

    /// Tells through TCP, with this token.
    pub(crate) async fn tell_tcp(&self, method: &str, path: &str, body: &str, token: Option<&str>) -> Answer {
        let authorization = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![("Content-Type", "application/json")];
        headers.extend(authorization.as_deref().map(|value| ("Authorization", value)));
        ask(self.tcp().await, method, &format!("/api/v1{path}"), &headers, body.as_bytes()).await
    }

    /// A token that is taken.
    pub(crate) fn token(&self, scope: TokenScope) -> String {
        self.token_of("ada", scope, &Signer::Secret(SECRET.into()))
    }

    /// A token of this person, signed by this key.
    pub(crate) fn token_of(&self, subject: &str, scope: TokenScope, signer: &Signer) -> String {
        let lifetime = Duration::from_secs(3600);
        let request = TokenRequest { subject: subject.into(), scope, lifetime, audience: Some("feeds".into()) };
        issue(&request, signer, self.world.now()).unwrap()
    }

    /// The URL of a site.
    pub(crate) fn url(&self, site: usize) -> String {
        self.world.web.sites()[site].url.clone()
    }

    /// Adds a source that is not polled, and returns its number.
    pub(crate) async fn add_quiet(&self, url: &str) -> i64 {
        self.tell("POST", "/scheduler/pause", Value::Null).await;
        let created = self.tell("POST", "/sources", serde_json::json!({ "url": url })).await;
        assert_eq!(created.status, 201, "{created:?}");
        created.json()["source"]["id"].as_i64().unwrap()
    }
}
