//! Leases: renewed in time, after restarts, and under another URL.

use feedwarden::actors::Scope;
use feedwarden::demo::web::hub::HubBehaviour;
use feedwarden::model::SubscriptionState::{Active, Waiting};
use rstest::rstest;

use super::super::run;
use super::play::Play;
use crate::store::Engine::{self, Postgres, Sqlite};

#[rstest]
fn p46_a_lease_is_renewed_before_its_end(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut play = Play::new(engine).await;
        play.hub.give_leases(7200);
        let id = play.subscribe().await;
        let first = play.subscription(id).await.unwrap();
        play.pass(79).await;
        play.asked(1).await;
        play.pass(2).await;
        let renewal = play.asked(2).await;
        assert_eq!((renewal.mode.as_str(), renewal.callback), ("subscribe", first.callback()));
        play.world
            .until("a new lease", async || play.subscription(id).await.unwrap().lease_end() > first.lease_end())
            .await;
        // A hub that does not renew is asked again, and the end of the lease is noticed.
        play.hub.behave(HubBehaviour::Refuses(500));
        play.world.pass(std::time::Duration::from_secs(3 * 3600), 36).await;
        play.world.told("websub lease over").await;
        play.reaches(id, Waiting).await;
        play.hub.behave(HubBehaviour::Works);
        play.world.pass(std::time::Duration::from_secs(24 * 3600), 24).await;
        play.reaches(id, Active).await;
        play.stop().await;
    });
}

#[rstest]
fn p46_a_restart_keeps_leases(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut play = Play::new(engine).await;
        let id = play.subscribe().await;
        play.stop().await;
        play.start();
        play.pass(61).await;
        play.asked(1).await;
        play.pass(5).await;
        assert_eq!(play.push().await, [202]);
        play.polled(3).await;
        assert_eq!(play.subscription(id).await.unwrap().state, Active);
        // After a long time off, the lease is renewed at once.
        play.stop().await;
        play.world.advance(std::time::Duration::from_secs(9 * 86_400));
        play.start();
        play.asked(2).await;
        play.stop().await;
    });
}

#[rstest]
fn p46_another_public_url_means_another_subscription() {
    run(async || {
        let mut play = Play::new(Sqlite).await;
        let id = play.subscribe().await;
        let old = play.subscription(id).await.unwrap().callback();
        play.stop().await;
        let settings = play.settings();
        settings.public_url = settings.public_url.replace("/in", "/other");
        play.start();
        play.world
            .until("another callback", async || {
                play.subscription(id).await.is_some_and(|found| found.state == Active && found.callback() != old)
            })
            .await;
        let callback = play.subscription(id).await.unwrap().callback();
        assert!(callback.contains("/other/"), "{callback}");
        play.asked(3).await;
        let modes: Vec<String> = play.hub.seen().into_iter().map(|asked| asked.mode).collect();
        assert!(modes.contains(&"unsubscribe".to_owned()), "{modes:?}");
        play.stop().await;
    });
}

#[rstest]
fn p46_without_the_settings_subscriptions_end_with_their_leases(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut play = Play::new(engine).await;
        let id = play.subscribe().await;
        play.stop().await;
        play.world.settings.websub = None;
        play.world.start(Scope::Daemon);
        play.world.told("websub subscriptions dropped").await;
        assert!(play.subscription(id).await.is_none());
        play.world.stop().await;
    });
}
