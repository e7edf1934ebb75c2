//! Pushes: what they make due, and what they cannot do.

use std::time::Duration;

use feedwarden::demo::web::hub::signature;
use feedwarden::rules::due::{Wait, terms};
use rstest::rstest;

use super::super::run;
use super::play::{Play, rss};
use crate::store::Engine::{self, Postgres, Sqlite};

#[rstest]
fn p47_a_verified_push_makes_the_source_due_and_the_feed_is_polled(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut play = Play::new(engine).await;
        let id = play.subscribe().await;
        play.pass(5).await;
        play.publish(&["two", "one"]);
        assert_eq!(play.push().await, [202]);
        play.polled(2).await;
        let source = play.world.source(id).await;
        assert_eq!((source.state.push.pushed_at, source.state.push.streak), (None, 1));
        let posts = play.world.store.count_posts().await.unwrap();
        assert_eq!(posts, 2, "nothing of the body of the push is stored");
        assert_eq!(play.subscription(id).await.unwrap().figures.pushes, 1);
        // The next poll is an interval after this one.
        play.pass(58).await;
        assert_eq!(play.polls(), 2);
        play.pass(3).await;
        assert_eq!(play.polls(), 3);
        play.stop().await;
    });
}

#[rstest]
fn p47_forged_pushes_change_nothing(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut play = Play::new(engine).await;
        let id = play.subscribe().await;
        let one = play.hub.subscribers().remove(0);
        for (number, header) in [
            None,
            Some(signature("another secret", "body")),
            Some("sha256=".to_owned()),
            Some("sha256=zz".to_owned()),
            Some(signature(&one.secret, "other body")),
        ]
        .into_iter()
        .enumerate()
        {
            play.world.advance(Duration::from_secs(31));
            assert_eq!(play.send(&one.callback, header, b"body".to_vec()).await.0, 202, "{number}");
        }
        play.world.quiet().await;
        assert_eq!(play.polls(), 1);
        let figures = play.subscription(id).await.unwrap().figures;
        assert_eq!((figures.pushes, figures.rejected), (0, 5));
        assert_eq!(play.world.records.of("websub push rejected").len(), 5);
        play.stop().await;
    });
}

#[rstest]
fn p47_the_listener_answers_callbacks_and_nothing_else_and_bounds_them() {
    run(async || {
        let mut play = Play::new(Sqlite).await;
        play.subscribe().await;
        let one = play.hub.subscribers().remove(0);
        let (base, token) = one.callback.rsplit_once('/').unwrap();
        let (server, _) = base.rsplit_once('/').unwrap();
        for path in ["/", "/in/", "/in/x", "/api/v1/sources", "/healthz", "/metrics", &format!("/out/{token}")] {
            assert_eq!(play.get(format!("{server}{path}")).await.0, 404, "{path}");
        }
        let unknown = token.chars().rev().collect::<String>();
        assert_eq!(play.send(&format!("{base}/{unknown}"), None, b"x".to_vec()).await.0, 410);
        // A reverse proxy may take the path of the public URL away.
        let body = "<rss/>";
        let signed = signature(&one.secret, body);
        assert_eq!(play.send(&format!("{server}/{token}"), Some(signed), body.into()).await.0, 202);
        play.world.advance(Duration::from_secs(9));
        let huge = vec![b'x'; (8 << 20) + 1];
        assert_eq!(play.send(&one.callback, Some(signature(&one.secret, "x")), huge).await.0, 413);
        play.stop().await;
    });
}

#[rstest]
fn p47_a_flood_of_pushes_makes_few_polls(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut play = Play::new(engine).await;
        play.subscribe().await;
        play.world.advance(Duration::from_secs(5));
        let mut answers = Vec::new();
        for _ in 0..20 {
            answers.extend(play.push().await);
        }
        assert_eq!(answers.iter().filter(|status| **status == 202).count(), 2, "{answers:?}");
        assert_eq!(answers.iter().filter(|status| **status == 429).count(), 18, "{answers:?}");
        // A second after another, for five minutes: a poll each half minute, and one for what came after the last.
        for _ in 0..300 {
            play.world.advance(Duration::from_secs(1));
            play.push().await;
            play.world.quiet().await;
        }
        assert!((10..=12).contains(&play.polls()), "{} polls", play.polls());
        play.stop().await;
    });
}

#[rstest]
fn p47_a_push_overrides_neither_holds_nor_rests_nor_a_pause(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut play = Play::new(engine).await;
        let id = play.subscribe().await;
        play.publisher.put("/feed", 429, &["Retry-After: 7200"], "");
        play.pass(61).await;
        assert_eq!(play.polls(), 2);
        assert_eq!(play.push().await, [202]);
        play.pass(100).await;
        assert_eq!(play.polls(), 2, "the publisher asked for two hours");
        play.publish(&["two", "one"]);
        play.pass(30).await;
        assert!(play.polls() > 2);
        assert_eq!(play.world.source(id).await.state.push.pushed_at, None);
        play.stop().await;
    });
}

#[rstest]
fn p48_the_interval_stretches_while_pushes_tell_of_what_is_new_and_one_miss_ends_it(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    run(async || {
        let mut play = Play::new(engine).await;
        let id = play.subscribe().await;
        let mut names: Vec<String> = vec!["one".into()];
        let publish = |play: &Play, names: &mut Vec<String>| {
            names.insert(0, format!("entry {}", names.len()));
            play.publish(&names.iter().map(String::as_str).collect::<Vec<_>>());
        };
        for number in 1..=5 {
            publish(&play, &mut names);
            play.pass(10).await;
            assert_eq!(play.push().await, [202]);
            play.polled(number + 1).await;
        }
        let source = play.world.source(id).await;
        assert_eq!(source.state.push.streak, 5);
        let stretched = terms(&source, None, &play.world.policy, play.world.now())
            .find(|term| term.wait == Wait::Stretched)
            .map(|term| term.until.since(source.state.last_polled.unwrap()).as_secs() / 60);
        assert_eq!(stretched, Some(240));
        play.pass(239).await;
        assert_eq!(play.polls(), 6);
        // The backup poll never ends, and what it finds without a push before it shortens the interval.
        publish(&play, &mut names);
        play.pass(2).await;
        assert_eq!(play.polls(), 7);
        assert_eq!(play.world.source(id).await.state.push.streak, 0);
        play.pass(61).await;
        assert_eq!(play.polls(), 8);
        play.pass(2).await;
        let figures = async || play.subscription(id).await.unwrap().figures;
        play.world.until("the counts", async || figures().await.missed > 0).await;
        assert_eq!((figures().await.useful, figures().await.missed), (5, 1));
        play.stop().await;
    });
}

#[rstest]
fn p48_a_hub_that_never_pushes_is_not_believed() {
    run(async || {
        let mut play = Play::new(Sqlite).await;
        play.subscribe().await;
        for hour in 1..=8 {
            play.publisher.put("/feed", 200, &[], &rss(&play.hub_link(), &[&format!("entry {hour}"), "one"]));
            play.pass(61).await;
            assert_eq!(play.polls(), 1 + hour);
        }
        play.stop().await;
    });
}
