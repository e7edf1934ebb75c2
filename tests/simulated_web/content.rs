//! What is published, and that it arrives as it was written.

use std::collections::HashSet;
use std::time::Duration;

use feedwarden::demo::web::{Mix, Publishing, SiteBehaviour, WebSettings};
use feedwarden::fetch::{Answer, Document};
use feedwarden::model::Timestamp;
use feedwarden::parse::feed::Format;

use super::{NOW, Visitor};

#[tokio::test]
async fn entries_are_read_as_they_were_served_in_every_format() {
    let visitor = Visitor::to(WebSettings { sites: 30, hosts: 3, first_entries: 4, ..WebSettings::default() });
    let (mut formats, mut texts) = (HashSet::new(), HashSet::new());
    for site in 0..30 {
        let Answer::Read(reading) = visitor.poll(site).await.answer else { panic!("not read") };
        let Document::Feed { format, notes, .. } = &reading.document else { panic!("{:?}", reading.document) };
        assert!(notes.is_empty(), "{notes:?}");
        formats.insert(format!("{format:?}"));
        assert!(reading.entries.iter().all(|found| found.published_at() == Some(NOW)));
        // Newest first.
        let read: Vec<_> = reading.entries.iter().rev().map(|found| found.content().body().into_owned()).collect();
        assert_eq!(read, visitor.web.served_entries_of(site));
        texts.extend(read);
    }
    assert_eq!(texts.len(), 30 * 4, "every text is unique");
    let wanted = [Format::Rss20, Format::Atom10, Format::JsonFeed11].map(|format| format!("{format:?}"));
    assert_eq!(formats, wanted.into());
}

#[tokio::test]
async fn an_entry_is_never_dated_before_it_was_published() {
    let visitor = Visitor::to(WebSettings { sites: 30, ..WebSettings::default() });
    visitor.clock.advance(Duration::from_micros(500_001));
    for site in 0..30 {
        let Answer::Read(reading) = visitor.poll(site).await.answer else { panic!("not read") };
        let published = reading.entries[0].published_at().unwrap();
        assert!(published.since(NOW) >= Duration::from_micros(500_001), "{published}");
        assert!(published.since(NOW) <= Duration::from_secs(1), "{published}");
    }
}

#[tokio::test]
async fn a_backlog_is_dated_before_the_start() {
    let visitor = Visitor::to(WebSettings { backlog: 3, ..WebSettings::default() });
    let Answer::Read(reading) = visitor.poll(0).await.answer else { panic!("not read") };
    let dates: Vec<_> = reading.entries.iter().map(|found| found.published_at().unwrap()).collect();
    let hours = |hours: u64| NOW - Duration::from_secs(3600 * hours);
    assert_eq!(dates, [NOW, hours(1), hours(2), hours(3)]);
}

#[tokio::test]
async fn a_feed_shows_its_newest_entries_and_those_alone_were_served() {
    let visitor = Visitor::to(WebSettings { entries: 3..=3, first_entries: 2, ..WebSettings::default() });
    assert_eq!(visitor.read(0).await.len(), 2);
    visitor.web.publish(0, 7);
    assert_eq!(visitor.read(0).await.len(), 3);
    let served = visitor.web.served_entries();
    let numbers: Vec<&str> = served[0].iter().map(|text| text.split(' ').nth(3).unwrap()).collect();
    assert_eq!(numbers, ["0", "1", "6", "7", "8"]);
}

#[tokio::test]
async fn sites_publish_by_requests_by_time_and_by_chance() {
    let publishing = |publishing| Visitor::to(WebSettings { publishing, entries: 50..=50, ..WebSettings::default() });
    let count = async |visitor: &Visitor| visitor.read(0).await.len();

    let visitor = publishing(Publishing::EveryRequests(3));
    let mut counts = Vec::new();
    for _ in 0..7 {
        counts.push(count(&visitor).await);
    }
    assert_eq!(counts, [1, 1, 2, 2, 2, 3, 3]);

    let visitor = publishing(Publishing::Every(Duration::from_secs(60)));
    assert_eq!(count(&visitor).await, 1);
    visitor.clock.advance(Duration::from_secs(59));
    assert_eq!(count(&visitor).await, 1);
    visitor.clock.advance(Duration::from_secs(121));
    assert_eq!(count(&visitor).await, 4);
    visitor.clock.advance(Duration::from_secs(365 * 86_400));
    assert_eq!(count(&visitor).await, 50);

    let visitor = publishing(Publishing::Chance(0.3));
    for _ in 0..60 {
        visitor.read(0).await;
    }
    let published = visitor.web.served_entries()[0].len();
    assert!((5..40).contains(&published), "{published}");
}

#[tokio::test]
async fn feeds_are_as_large_as_asked_for() {
    let visitor = Visitor::to(WebSettings {
        sites: 101,
        entries: 10..=50,
        entry_bytes: 700,
        first_entries: 50,
        ..WebSettings::default()
    });
    let mut sizes = Vec::new();
    for site in 0..101 {
        let fetched = visitor.poll(site).await;
        let Answer::Read(reading) = &fetched.answer else { panic!("not read") };
        assert!((10..=50).contains(&reading.entries.len()));
        sizes.push(fetched.trace.body_bytes);
    }
    sizes.sort_unstable();
    assert!((25_000..35_000).contains(&sizes[50]), "median {}", sizes[50]);
}

#[tokio::test]
async fn the_same_seed_makes_the_same_web() {
    let story = async |seed| {
        let settings =
            WebSettings { hosts: 5, sites: 40, seed, mix: Mix::lifelike(), port: 0, ..WebSettings::default() };
        let visitor = Visitor::to(settings);
        let port = format!(":{}", visitor.web.port());
        let mut story: Vec<String> = Vec::new();
        for (number, site) in visitor.web.sites().iter().enumerate() {
            let answers = match site.behaviour {
                // Their answers take long, or are the same for every seed.
                SiteBehaviour::Hanging | SiteBehaviour::Huge | SiteBehaviour::Slow | SiteBehaviour::Dripping => {
                    String::new()
                }
                _ => super::outcome(&visitor.poll(number).await),
            };
            story.push(format!("{site:?} {answers}").replace(&port, ""));
        }
        (story, visitor.web.served_entries())
    };
    let first = story(1).await;
    assert_eq!(first, story(1).await);
    assert_ne!(first.0, story(2).await.0);
}

#[test]
fn settings_that_make_no_web_are_refused() {
    let clock = || std::sync::Arc::new(feedwarden::clock::HeldClock::at(Timestamp::EPOCH));
    for settings in [
        WebSettings { hosts: 0, ..WebSettings::default() },
        WebSettings { mix: Mix::InTurn(Vec::new()), ..WebSettings::default() },
        WebSettings { mix: Mix::Weighted(vec![(SiteBehaviour::Gone, 0)]), ..WebSettings::default() },
        WebSettings { entries: 0..=3, ..WebSettings::default() },
        WebSettings { first_address: [127, 255, 255, 250].into(), hosts: 10, ..WebSettings::default() },
        WebSettings { first_address: [192, 0, 2, 1].into(), ..WebSettings::default() },
    ] {
        let error = feedwarden::demo::web::Web::start(settings, clock()).err().unwrap();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{error}");
    }
}
