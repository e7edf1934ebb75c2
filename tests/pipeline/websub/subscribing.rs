//! From a feed that names a hub to a subscription that the hub has verified.

use feedwarden::demo::web::hub::{HubBehaviour, with_query};
use feedwarden::model::SubscriptionState::{Active, Denied, Requested, Waiting};
use feedwarden::rules::change::Change;
use rstest::rstest;

use super::super::run;
use super::play::{Play, rss};
use crate::store::Engine::{self, Postgres, Sqlite};

#[rstest]
fn p46_hubs_are_found_in_headers_in_atom_in_rss_and_in_json(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut play = Play::new(engine).await;
        let (hub, topic) = (play.hub.url("/hub"), |path: &str| play.publisher.url(path));
        let header = format!("Link: <{hub}>; rel=\"hub\", <{}>; rel=\"self\"", topic("/header?own"));
        play.publisher.put(
            "/header",
            200,
            &[&header],
            &rss("<atom:link rel=\"hub\" href=\"http://127.0.0.9:1/\"/>", &[]),
        );
        let links = format!("<atom:link rel=\"hub\" href=\"{hub}\"/><atom:link rel=\"self\" href=\"/rss?own\"/>");
        play.publisher.put("/rss", 200, &[], &rss(&links, &["one"]));
        let atom = format!(
            "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>A</title><link rel=\"hub\" href=\"{hub}\"/>\
             <link rel=\"self\" href=\"{}\"/><entry><id>1</id><title>one</title></entry></feed>",
            topic("/atom?own")
        );
        play.publisher.put("/atom", 200, &["Content-Type: application/atom+xml"], &atom);
        let json = format!(
            "{{\"version\": \"https://jsonfeed.org/version/1.1\", \"title\": \"A\", \"feed_url\": \"{}\", \
             \"hubs\": [{{\"type\": \"rssCloud\", \"url\": \"http://127.0.0.9:1/\"}}, {{\"type\": \"WebSub\", \
             \"url\": \"{hub}\"}}], \"items\": []}}",
            topic("/json?own")
        );
        play.publisher.put("/json", 200, &["Content-Type: application/feed+json"], &json);
        play.publisher.put("/plain", 200, &[], &rss(&format!("<atom:link rel=\"hub\" href=\"{hub}\"/>"), &["one"]));
        for (number, path, own) in
            [(1, "/header", "?own"), (2, "/rss", "?own"), (3, "/atom", "?own"), (4, "/json", "?own"), (5, "/plain", "")]
        {
            let id = play.add(path).await;
            play.reaches(id, Active).await;
            let asked = play.asked(number).await;
            assert_eq!((asked.mode.as_str(), asked.topic), ("subscribe", topic(&format!("{path}{own}"))), "{path}");
            assert_eq!(asked.lease_seconds, "864000");
            assert!(asked.secret.len() >= 32 && asked.secret.len() < 200);
        }
        let callbacks: std::collections::HashSet<String> =
            play.hub.subscribers().into_iter().map(|one| one.callback).collect();
        assert_eq!(callbacks.len(), 5, "each has a URL of its own");
        play.stop().await;
    });
}

#[rstest]
fn p46_hubs_are_found_behind_redirects_of_the_feed(#[values(301, 302, 307, 308)] status: u16) {
    run(async || {
        let mut play = Play::new(Sqlite).await;
        play.publish(&["one"]);
        play.publisher.put("/old", status, &[&format!("Location: {}", play.publisher.url("/feed"))], "");
        let id = play.add("/old").await;
        play.reaches(id, Active).await;
        // Without a link to itself, a feed is known by its URL: a temporary redirect does not change that.
        let topic = if [301, 308].contains(&status) { "/feed" } else { "/old" };
        assert_eq!(play.asked(1).await.topic, play.publisher.url(topic));
        play.stop().await;
    });
}

#[rstest]
fn p46_redirects_of_the_hub_are_followed(#[values((307, true), (308, true), (302, false))] case: (u16, bool)) {
    run(async || {
        let (status, is_followed) = case;
        let mut play = Play::new(Sqlite).await;
        let second = std::sync::Arc::new(feedwarden::demo::web::hub::Hub::start("127.0.0.4:0").unwrap());
        play.hub.behave(HubBehaviour::Redirects(status, second.url("/hub")));
        play.publish(&["one"]);
        let id = play.add("/feed").await;
        let wanted = if is_followed { Active } else { Waiting };
        play.asked(1).await;
        play.reaches(id, wanted).await;
        assert_eq!(second.subscribers().len(), usize::from(is_followed));
        if !is_followed {
            play.world.told("websub request failed").await;
        }
        play.stop().await;
    });
}

#[rstest]
fn p46_only_what_was_asked_for_is_confirmed_to_a_hub(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut play = Play::new(engine).await;
        play.hub.behave(HubBehaviour::WrongTopic);
        play.publish(&["one"]);
        let id = play.add("/feed").await;
        let asked = play.asked(1).await;
        play.world.until("a verification", async || !play.hub.verifications().is_empty()).await;
        assert_eq!(play.hub.verifications()[0].0, 404);
        play.reaches(id, Requested).await;
        // The right topic is confirmed, once.
        let topic = asked.topic.clone();
        let right = asked.clone();
        let answer = play.at_hub(move |hub| hub.verify(&right, &topic).unwrap()).await;
        assert_eq!(answer.0, 200);
        play.reaches(id, Active).await;
        play.world.advance(std::time::Duration::from_secs(5));
        let (again, topic) = (asked.clone(), asked.topic.clone());
        assert_eq!(play.at_hub(move |hub| hub.verify(&again, &topic).unwrap()).await.0, 404, "nothing is pending");
        play.world.advance(std::time::Duration::from_secs(5));
        let fields = [("hub.mode", "unsubscribe"), ("hub.topic", &*asked.topic), ("hub.challenge", "x")];
        assert_eq!(play.get(with_query(&asked.callback, &fields)).await.0, 404, "somebody else wants it to end");
        play.world.advance(std::time::Duration::from_secs(5));
        let without_challenge = [("hub.mode", "subscribe"), ("hub.topic", &*asked.topic)];
        assert_eq!(play.get(with_query(&asked.callback, &without_challenge)).await.0, 400);
        assert_eq!(play.subscription(id).await.unwrap().state, Active);
        play.stop().await;
    });
}

#[rstest]
fn p46_a_denied_subscription_is_asked_for_again_after_a_day(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut play = Play::new(engine).await;
        play.hub.behave(HubBehaviour::Denies);
        play.publish(&["one"]);
        let id = play.add("/feed").await;
        play.reaches(id, Denied).await;
        play.world.until("the answer", async || !play.hub.verifications().is_empty()).await;
        assert_eq!(play.hub.verifications()[0].0, 200);
        let error = play.subscription(id).await.unwrap().last_error;
        assert_eq!(error.as_deref(), Some("the hub denied the subscription: not for you"));
        play.hub.behave(HubBehaviour::Works);
        play.pass(23 * 60).await;
        play.asked(1).await;
        play.pass(61).await;
        play.reaches(id, Active).await;
        play.stop().await;
    });
}

#[rstest]
fn p46_hubs_that_fail_are_asked_again_later_and_the_next_one_at_once() {
    run(async || {
        let mut play = Play::new(Sqlite).await;
        let second = feedwarden::demo::web::hub::Hub::start("127.0.0.4:0").unwrap();
        second.behave(HubBehaviour::Refuses(500));
        play.hub.behave(HubBehaviour::Refuses(400));
        let links = format!("{}<atom:link rel=\"hub\" href=\"{}\"/>", play.hub_link(), second.url("/hub"));
        play.publisher.put("/feed", 200, &[], &rss(&links, &["one"]));
        let id = play.add("/feed").await;
        play.world.until("both refused", async || !second.seen().is_empty()).await;
        play.asked(1).await;
        play.world
            .until("a retry", async || {
                play.subscription(id)
                    .await
                    .is_some_and(|found| found.hub == play.hub.url("/hub") && found.attempts == 2)
            })
            .await;
        second.behave(HubBehaviour::Works);
        play.pass(2).await;
        play.asked(1).await;
        play.pass(10).await;
        play.reaches(id, Active).await;
        assert_eq!(play.subscription(id).await.unwrap().hub, second.url("/hub"));
        play.stop().await;
    });
}

#[rstest]
fn p46_what_is_not_wanted_any_more_is_unsubscribed(
    #[values(Sqlite, Postgres)] engine: Engine,
    #[values("removed", "disabled", "off", "no hub")] how: &str,
) {
    run(async || {
        let mut play = Play::new(engine).await;
        let id = play.subscribe().await;
        play.hub.behave(HubBehaviour::VerifiesLater);
        match how {
            "removed" => {
                play.world.store.remove_source(id).await.unwrap();
                play.world.handle().sources_changed(vec![id]);
            }
            "disabled" => play.world.change(id, Change::Disable(None)).await,
            "off" => {
                let mut settings = play.world.source(id).await.settings;
                settings.websub = Some(feedwarden::model::PushUse::Off);
                let change = Change::Update { settings, enabled: None, needs_owner_key: false };
                play.world.change(id, change).await;
            }
            _ => {
                play.publisher.put("/feed", 200, &[], &rss("", &["one"]));
                play.pass(61).await;
            }
        }
        let asked = play.asked(2).await;
        assert_eq!((asked.mode.as_str(), &asked.topic), ("unsubscribe", &play.publisher.url("/feed")));
        // The callback lives until the hub has confirmed the end, and takes no pushes.
        play.world.advance(std::time::Duration::from_secs(5));
        assert_eq!(play.push().await, [410]);
        play.world.advance(std::time::Duration::from_secs(5));
        let end = asked.clone();
        assert_eq!(play.at_hub(move |hub| hub.verify(&end, &end.topic).unwrap()).await.0, 200);
        assert!(play.subscription(id).await.is_none());
        assert_eq!(play.hub.subscribers(), []);
        play.world.advance(std::time::Duration::from_secs(5));
        assert_eq!(play.send(&asked.callback, None, b"late".to_vec()).await.0, 410);
        play.stop().await;
    });
}

#[rstest]
fn p46_another_topic_is_followed(#[values(Sqlite, Postgres)] engine: Engine) {
    run(async || {
        let mut play = Play::new(engine).await;
        let id = play.subscribe().await;
        let links = format!("{}<atom:link rel=\"self\" href=\"/new\"/>", play.hub_link());
        play.publisher.put("/feed", 200, &[], &rss(&links, &["one"]));
        play.pass(61).await;
        let new = play.publisher.url("/new");
        play.world
            .until("the new topic", async || {
                play.subscription(id).await.is_some_and(|found| found.topic == new && found.state == Active)
            })
            .await;
        play.asked(3).await;
        let modes: Vec<String> = play.hub.seen().into_iter().map(|asked| asked.mode).collect();
        assert_eq!(modes.iter().filter(|mode| *mode == "unsubscribe").count(), 1, "{modes:?}");
        play.world.until("one subscriber", async || play.hub.subscribers().len() == 1).await;
        play.stop().await;
    });
}
