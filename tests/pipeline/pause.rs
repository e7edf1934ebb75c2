//! Polling that a person paused stays paused, whatever is started again, until a person says otherwise.

use feedwarden::actors::{FaultSettings, Scope};
use feedwarden::demo::web::SiteBehaviour;
use feedwarden::model::Timestamp;
use feedwarden::rules::hours;
use rstest::rstest;

use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

async fn paused_since(world: &World) -> Option<Timestamp> {
    world.handle().scheduler_status().await.unwrap().paused_since
}

#[rstest]
fn a_pause_survives_the_process_and_nobody_is_asked_before_it_is_known(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy; 3]).await;
        world.start_and_poll_all().await;
        world.service().pause_polling().await.unwrap();
        let began = world.now();
        world.advance(hours(2));
        world.service().pause_polling().await.unwrap();
        world.kill_and_start().await;
        world.told("polling is paused").await;
        world.quiet_but_waiting(3).await;
        world.breathe().await;
        assert_eq!(world.web.journal().len(), 3, "no request was sent again");
        assert_eq!(paused_since(&world).await, Some(began), "since the first word");
        let told = &world.records.of("polling is paused")[0];
        assert_eq!((&told["level"], &told["since"]), (&"warn".into(), &began.to_string().into()));
        world.service().resume_polling().await.unwrap();
        world.settled(3).await;
        world.restart().await;
        world.advance(hours(1));
        world.settled(3).await;
        assert_eq!(paused_since(&world).await, None, "the end of a pause is kept as well");
        assert!(world.records.of("polling is paused").is_empty());
        world.stop().await;
    });
}

#[rstest]
fn a_pause_survives_a_crash_of_the_scheduler(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy; 2]).await;
        let faults = vec!["scheduler/SourcesChanged=panic@1".parse().unwrap()];
        world.settings.faults = FaultSettings { is_enabled: true, seed: 1, limit: Some(1), faults };
        world.start(Scope::Daemon);
        world.service().pause_polling().await.unwrap();
        let ids = world.add_all().await;
        world.handle().sources_changed(ids);
        world.told("actor crashed").await;
        world.quiet_but_waiting(2).await;
        world.breathe().await;
        assert_eq!((world.web.journal().len(), paused_since(&world).await), (0, Some(world.now())));
        world.service().resume_polling().await.unwrap();
        world.settled(2).await;
        world.stop().await;
    });
}

#[rstest]
fn a_single_round_is_an_order_to_poll_and_leaves_the_pause_as_it_is(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy; 2]).await;
        let began = world.store.pause_polling(world.now()).await.unwrap();
        world.add_all().await;
        world.start(Scope::Once { ignores_due_times: false });
        world.handle().finished().await;
        assert_eq!(world.web.journal().len(), 2);
        assert_eq!(world.store.paused_since().await.unwrap(), Some(began));
        world.stop().await;
    });
}
