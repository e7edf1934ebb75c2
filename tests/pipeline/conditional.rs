//! Validators: what a publisher gave us to ask "anything new?" with (p01–p09).

use feedwarden::actors::Scope;
use feedwarden::demo::web::{Deed, SiteBehaviour};
use feedwarden::model::{FailureKind, SourceSettings, SourceType, Validators};
use feedwarden::rules::change::Change;
use feedwarden::rules::{hours, minutes};
use rstest::rstest;

use super::publisher::{answer, feed, feed_saying, header, publisher};
use super::{World, run};
use crate::store::Engine::{self, Postgres, Sqlite};

const ETAG: &str = "W/\"Ab, 1\"";
/// An invalid date, which has to be sent back unchanged.
const MODIFIED: &str = "monday, 16-nov-26 8:00:00 +0000";

#[rstest]
fn p01_p05_validators_come_back_byte_for_byte_and_a_304_renews_them(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let (etag, modified) = (format!("ETag: {ETAG}"), format!("Last-Modified: {MODIFIED}"));
        let server = publisher(&[
            feed(&[&etag, &modified], &["one"]),
            answer("304 Not Modified", &["ETag: \"second\""], ""),
            answer("304 Not Modified", &[], ""),
        ])
        .await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled(1).await;
        for polls in 2..=3 {
            world.advance(minutes(60));
            world.settled(polls).await;
        }
        let requests = server.requests();
        let sent = |index: usize| {
            let request = &requests[index];
            (header(request, "if-none-match"), header(request, "if-modified-since"))
        };
        assert_eq!(sent(0), (None, None));
        assert_eq!(sent(1), (Some(ETAG.into()), Some(MODIFIED.into())));
        assert_eq!(sent(2), (Some("\"second\"".into()), Some(MODIFIED.into())));
        assert_eq!(world.handle().statistics().view().unchanged, 2);
        assert_eq!(world.store.bodies(id).await, ["one"]);
        world.stop().await;
    });
}

#[rstest]
fn p02_no_date_is_made_up_where_a_publisher_gives_an_etag_alone(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let dated = "<item><title>one</title><pubDate>Fri, 15 Jan 2027 08:00:00 GMT</pubDate></item>";
        let headers = ["ETag: \"1\"", "Date: Fri, 15 Jan 2027 08:00:00 GMT"];
        let not_modified = answer("304 Not Modified", &["Date: Fri, 15 Jan 2027 09:00:00 GMT"], "");
        let server = publisher(&[feed_saying(dated, &headers, &[]), not_modified.clone(), not_modified]).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        world.add_feed(&server.url("/feed")).await;
        world.settled(1).await;
        for polls in 2..=3 {
            world.advance(minutes(60));
            world.settled(polls).await;
        }
        for request in &server.requests()[1..] {
            assert_eq!(header(request, "if-none-match"), Some("\"1\"".into()));
            assert_eq!(header(request, "if-modified-since"), None);
        }
        world.stop().await;
    });
}

#[rstest]
fn p05_p11_a_304_that_says_how_long_it_stays_fresh_is_believed(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let fresh = answer("304 Not Modified", &["Cache-Control: max-age=14400", "Age: 3600"], "");
        let unchanged = answer("304 Not Modified", &[], "");
        let server = publisher(&[feed(&["ETag: \"1\""], &["one"]), fresh, unchanged]).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        world.add_feed(&server.url("/feed")).await;
        world.settled(1).await;
        world.advance(hours(1));
        world.settled(2).await;
        world.advance(hours(3) - minutes(1));
        world.quiet().await;
        assert_eq!(server.requests().len(), 2, "a minute is missing");
        world.advance(minutes(1));
        world.settled(3).await;
        world.stop().await;
    });
}

#[rstest]
fn p03_p04_the_same_body_with_new_validators_stores_them_and_none_clears_them(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let server = publisher(&[
            feed(&["ETag: \"1\"", "Last-Modified: then"], &["one"]),
            feed(&["ETag: \"2\"", "Last-Modified: then"], &["one"]),
            feed(&[], &["one"]),
            feed(&[], &["one"]),
        ])
        .await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled(1).await;
        for polls in 2..=4 {
            world.advance(minutes(60));
            world.settled(polls).await;
        }
        let etags: Vec<_> = server.requests().iter().map(|request| header(request, "if-none-match")).collect();
        assert_eq!(etags, [None, Some("\"1\"".into()), Some("\"2\"".into()), None]);
        assert_eq!(header(&server.requests()[3], "if-modified-since"), None);
        assert_eq!(world.source(id).await.state.validators, Validators::default());
        assert_eq!(world.store.bodies(id).await, ["one"], "the same text is stored once");
        world.stop().await;
    });
}

#[rstest]
fn p06_the_first_poll_after_a_restart_and_after_a_kill_is_conditional(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.start_and_poll_all().await;
        world.restart().await;
        world.advance(minutes(60));
        world.settled(1).await;
        world.kill_and_start().await;
        world.advance(minutes(60));
        world.settled(1).await;
        let asked = world.asked(0);
        let is_conditional: Vec<bool> =
            asked.iter().map(|asked| asked.if_none_match.is_some() || asked.if_modified_since.is_some()).collect();
        assert_eq!(is_conditional, [false, true, true]);
        assert_eq!(asked[2].deed, Deed::Answered(304));
        world.stop().await;
    });
}

#[rstest]
fn p07_s608_another_url_is_asked_at_once_without_the_validators_of_the_old_one(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy, SiteBehaviour::Healthy]).await;
        world.start(Scope::Daemon);
        let id = world.add_feed(&world.web.sites()[0].url.clone()).await;
        world.settled(1).await;
        assert_ne!(world.source(id).await.state.validators, Validators::default());
        world.advance(minutes(1));
        world.change(id, Change::Update { settings: world.site(1), enabled: None, needs_owner_key: false }).await;
        world.settled(2).await;
        let asked = world.asked(1);
        assert_eq!(asked.len(), 1);
        assert_eq!((&asked[0].if_none_match, &asked[0].if_modified_since), (&None, &None));
        // The next one is conditional again, with what the new URL gave.
        world.advance(minutes(60));
        world.settled(3).await;
        assert_eq!(world.asked(1)[1].deed, Deed::Answered(304));
        assert_eq!(world.asked(0).len(), 1);
        assert_eq!(world.handle().host(&host(&world, 1)).map(|state| state.last_asked_at.is_some()), Some(true));
        world.stop().await;
    });
}

#[rstest]
#[case::url(SourceType::Rss, "/new")]
#[case::source_type(SourceType::Website, "/feed")]
fn s608_another_url_or_type_starts_afresh_with_watermark_validators_and_failures(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[case] source_type: SourceType,
    #[case] path: &str,
) {
    run(async || {
        let dated = "<item><title>one</title><pubDate>Fri, 15 Jan 2027 08:00:00 GMT</pubDate></item>";
        let (gone, broken) = (answer("404 Not Found", &[], ""), answer("500 Internal Server Error", &[], ""));
        // A page's robots.txt is asked for first, and its failure is that of the page.
        let server = publisher(&[feed_saying(dated, &["ETag: \"1\""], &[]), gone.clone(), gone, broken]).await;
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        world.policy.delays.by_type.clear();
        world.start(Scope::Daemon);
        let id = world.add_feed(&server.url("/feed")).await;
        world.settled(1).await;
        for _ in 0..2 {
            world.poll_again(id).await;
        }
        let before = world.source(id).await.state;
        assert_eq!(before.failures.consecutive, 2);
        assert!(before.last_seen.is_some() && before.validators.etag.is_some());
        let changed = SourceSettings::new(source_type, server.url(path));
        world.advance(minutes(1));
        world.change(id, Change::Update { settings: changed, enabled: None, needs_owner_key: false }).await;
        world.settled(4).await;
        assert_eq!(header(&server.requests()[3], "if-none-match"), None);
        let after = world.source(id).await.state;
        assert_eq!((after.last_seen, after.validators), (None, Validators::default()));
        let last = after.failures.last.unwrap();
        assert_eq!((after.failures.consecutive, last.kind), (1, FailureKind::UpstreamFailure));
        assert_eq!(after.failures.consecutive_permanent, 0);
        world.stop().await;
    });
}

fn host(world: &World, site: usize) -> feedwarden::model::HostKey {
    feedwarden::rules::host_key::host_key(&world.web.sites()[site].url).unwrap()
}

#[rstest]
fn p09_s111_a_validator_is_not_kept_without_the_posts_it_vouches_for(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut world = World::of(engine, &[SiteBehaviour::Healthy]).await;
        let bar = "ALTER TABLE posts RENAME TO posts_away";
        let unbar = "ALTER TABLE posts_away RENAME TO posts";
        world.start(Scope::Daemon);
        world.quiet().await;
        world.store.raw(bar).await;
        let ids = world.add_all().await;
        world.handle().sources_changed(ids.clone());
        world.settled(1).await;
        let state = world.source(ids[0]).await.state;
        assert_eq!(state.validators, Validators::default());
        assert_eq!((state.failures.consecutive, state.failures.consecutive_permanent), (0, 0), "no failure is counted");
        assert_eq!(state.failures.last.unwrap().kind, FailureKind::Internal);
        let failed = world.records.of("feed poll failed");
        assert_eq!((failed[0]["level"].as_str(), failed[0]["error_type"].as_str()), (Some("error"), Some("internal")));
        world.store.raw(unbar).await;
        world.advance(minutes(60));
        world.settled(2).await;
        assert_eq!(world.asked(0)[1].deed, Deed::Answered(200));
        assert_eq!(world.store.bodies(ids[0]).await, world.web.served_entries_of(0));
        assert_ne!(world.source(ids[0]).await.state.validators, Validators::default());
        world.stop().await;
    });
}
