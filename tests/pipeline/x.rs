//! X accounts: the owner's key is found, used, renewed and kept; all of them are asked for at one host (s510).

use std::time::Duration;

use feedwarden::actors::Scope;
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::{
    FailureClass, FailureKind, KeyProvider, LastSeen, NewSource, SourceId, SourceSettings, SourceType, UserId,
};
use feedwarden::rules::{hours, minutes};
use rstest::rstest;
use secrecy::ExposeSecret;

use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};
use crate::x::server::{Act, XServer, answer, ok};

const RENEWABLE: &str = r#"{"access_token":"old-access","refresh_token":"old-refresh","client_id":"app"}"#;
const RENEWED: &str = r#"{"token_type":"bearer","expires_in":7200,"access_token":"new-access",
    "refresh_token":"new-refresh"}"#;

fn account(id: u64) -> Act {
    ok(&format!(r#"{{"data":{{"id":"{id}","name":"Somebody","username":"somebody"}}}}"#))
}

fn posts(ids: &[u64]) -> Act {
    let data: Vec<String> = ids.iter().map(|id| format!(r#"{{"id":"{id}","text":"Post {id}"}}"#)).collect();
    ok(&format!(r#"{{"data":[{}],"meta":{{"result_count":{}}}}}"#, data.join(","), ids.len()))
}

fn unauthorized() -> Act {
    answer("401 Unauthorized", &[], r#"{"title":"Unauthorized","status":401,"detail":"Unauthorized"}"#)
}

async fn world(engine: Engine, server: &XServer) -> World {
    let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
    world.types.x.base_url = server.url();
    world
}

/// A podcast's owner with this key, and a source of theirs.
async fn account_of(world: &World, owner: &str, key: Option<&str>, name: &str) -> (UserId, SourceId) {
    let user = world.store.add_user(owner, world.now()).await.unwrap();
    if let Some(key) = key {
        world.store.put_api_key(user, KeyProvider::X, &key.into(), world.now()).await.unwrap();
    }
    (user, source_of(world, user, name).await)
}

async fn source_of(world: &World, user: UserId, name: &str) -> SourceId {
    let podcast = world.store.add_podcast(user, name, world.now()).await.unwrap();
    let url = format!("https://x.com/{name}");
    let settings = SourceSettings { podcast_id: Some(podcast), ..SourceSettings::new(SourceType::Twitter, url) };
    world.add(vec![NewSource { settings, created_at: world.now() }]).await[0]
}

fn keys(server: &XServer) -> Vec<String> {
    server.asked().into_iter().map(|asked| asked.authorization.unwrap_or_default()).collect()
}

#[rstest]
fn s510_the_key_of_the_podcasts_owner_is_used_and_what_was_learned_is_kept(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let server = XServer::play([account(7), posts(&[12, 11]), posts(&[13])]).await;
        let mut world = world(engine, &server).await;
        world.start(Scope::Daemon);
        world.quiet().await;
        account_of(&world, "nobody", Some("another-key"), "unpolled").await;
        let (_, id) = account_of(&world, "ada", Some("token-of-ada"), "somebody").await;
        world.handle().sources_changed(vec![id]);
        world.settled(1).await;
        let state = world.source(id).await.state;
        assert_eq!((state.account_id.as_deref(), state.last_seen), (Some("7"), Some(LastSeen::PostNumber(12))));
        world.advance(minutes(60));
        world.settled(2).await;
        let lines: Vec<String> = server.lines().into_iter().map(|line| line.chars().take(40).collect()).collect();
        assert_eq!(lines[0], "GET /2/users/by/username/somebody");
        assert!(lines[1].starts_with("GET /2/users/7/tweets?") && lines[2].starts_with("GET /2/users/7/tweets?"));
        assert!(server.lines()[2].contains("since_id=12"));
        assert_eq!(keys(&server), ["Bearer token-of-ada"; 3]);
        let mut bodies = world.store.bodies(id).await;
        bodies.sort();
        assert_eq!(bodies, ["Post 11", "Post 12", "Post 13"]);
        world.stop().await;
    });
}

#[rstest]
fn a_renewed_key_is_kept_before_the_next_account_is_asked_for(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let acts =
            [account(7), unauthorized(), ok(RENEWED), posts(&[1]), account(8), posts(&[2]), account(9), posts(&[3])];
        let server = XServer::play(acts).await;
        let mut world = world(engine, &server).await;
        world.start(Scope::Daemon);
        world.quiet().await;
        let (user, first) = account_of(&world, "ada", Some(RENEWABLE), "first").await;
        let (second, third) = (source_of(&world, user, "second").await, source_of(&world, user, "third").await);
        world.handle().sources_changed(vec![first, second, third]);
        world.settled(3).await;
        assert_eq!(world.handle().statistics().view().read, 3, "{:#?}", world.records.all());
        assert_eq!(keys(&server)[3..], ["Bearer new-access"; 5]);
        let key = world.store.api_key(user, KeyProvider::X).await.unwrap().unwrap();
        assert!(key.expose_secret().contains("new-access") && key.expose_secret().contains("new-refresh"));
        let told = format!("{:?}", world.records.all());
        assert!(!told.contains("-access") && !told.contains("-refresh"), "no key in a log");
        world.stop().await;
    });
}

#[rstest]
fn s510_s113_no_key_is_a_failure_with_a_clear_text_and_one_that_comes_later_is_used(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let server = XServer::play([account(7), posts(&[1])]).await;
        let mut world = world(engine, &server).await;
        world.start(Scope::Daemon);
        world.quiet().await;
        let (user, id) = account_of(&world, "ada", None, "somebody").await;
        let alone = SourceSettings::new(SourceType::Twitter, "https://x.com/alone");
        let alone = world.add(vec![NewSource { settings: alone, created_at: world.now() }]).await[0];
        world.handle().sources_changed(vec![id, alone]);
        world.settled(2).await;
        for (id, begins) in [(id, "the owner of podcast 1 has no X key"), (alone, "an X account needs the X key")] {
            let state = world.source(id).await.state;
            let last = state.failures.last.unwrap();
            assert_eq!((last.kind, state.failures.consecutive), (FailureKind::Unauthorized, 1));
            assert_eq!(last.class, FailureClass::Transient);
            assert!(last.error.starts_with(begins), "{}", last.error);
            assert_eq!(state.last_success_at, None, "never a silent success");
        }
        assert_eq!(server.asked(), []);
        // However often that happens, it is never disabled for it.
        world.pass(hours(24 * 30), 120).await;
        let state = world.source(id).await.state;
        assert!(state.enabled && state.rest.is_none() && state.failures.consecutive > 10);
        assert!(world.records.of("feed poll failed").iter().all(|record| record["level"] == "warn"));
        let polls = world.handle().statistics().view().settled();
        world.service().put_x_key(user, &"token".into()).await.unwrap();
        world.settled(polls + 1).await;
        assert_eq!(world.store.bodies(id).await, ["Post 1"], "it is polled as soon as a key is there");
        world.stop().await;
    });
}

#[rstest]
fn s510_s504_all_accounts_are_asked_for_at_one_host(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let server = XServer::play([account(7), posts(&[1]), account(8), posts(&[2])]).await;
        let mut world = world(engine, &server).await;
        let delay = Duration::from_secs(30);
        world.policy.delays.by_type.insert(SourceType::Twitter, delay);
        world.start(Scope::Daemon);
        world.quiet().await;
        let (_, ada) = account_of(&world, "ada", Some("key-1"), "one").await;
        let (_, bob) = account_of(&world, "bob", Some("key-2"), "two").await;
        world.handle().sources_changed(vec![ada, bob]);
        world.advance(delay);
        world.settled_so_far(1).await;
        world.advance(delay - Duration::from_secs(1));
        world.breathe().await;
        assert_eq!(keys(&server), ["Bearer key-1"; 2]);
        world.advance(Duration::from_secs(1));
        world.settled(2).await;
        assert_eq!(keys(&server)[2..], ["Bearer key-2"; 2]);
        assert_eq!(world.handle().hosts(), 1);
        world.stop().await;
    });
}

#[rstest]
fn p17_a_429_of_x_holds_all_accounts(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let limited = answer("429 Too Many Requests", &[("Retry-After", "900")], "{}");
        let server = XServer::play([limited, account(8), posts(&[2])]).await;
        let mut world = world(engine, &server).await;
        world.start(Scope::Daemon);
        world.quiet().await;
        let (_, ada) = account_of(&world, "ada", Some("key-1"), "one").await;
        let (_, bob) = account_of(&world, "bob", Some("key-2"), "two").await;
        world.handle().sources_changed(vec![ada, bob]);
        world.settled_so_far(1).await;
        world.pass(Duration::from_secs(899), 3).await;
        world.quiet().await;
        assert_eq!(server.asked().len(), 1);
        world.advance(Duration::from_secs(1));
        world.settled(2).await;
        assert_eq!(keys(&server)[1..], ["Bearer key-2"; 2]);
        world.stop().await;
    });
}
