//! One test for each behaviour.

use std::time::Duration;

use feedwarden::demo::web::{Deed, Elsewhere, Mix, RetryAfter, RobotsPolicy, SiteBehaviour, WebSettings};
use feedwarden::fetch::{Answer, Document};
use feedwarden::http::{Client, Content, HttpSettings, Request};
use feedwarden::model::{FailureCause, FailureReport, Validators};

use super::{NOW, Visitor, outcome};

/// Polls a site of this behaviour once and compares what the client and what the server say about it.
async fn check(behaviour: SiteBehaviour, wanted: &str, deed: Deed) -> Visitor {
    let visitor = Visitor::of(behaviour);
    assert_eq!(outcome(&visitor.poll(0).await), wanted, "{behaviour:?}");
    let journal = visitor.journal(1).await;
    assert_eq!((journal[0].deed, journal[0].site), (deed, Some(0)), "{behaviour:?}");
    visitor
}

async fn failure(visitor: &Visitor) -> FailureReport {
    match visitor.poll(0).await.answer {
        Answer::Failed(report) => report,
        answer => panic!("{answer:?}"),
    }
}

#[tokio::test]
async fn healthy_answers_304_until_there_is_something_new() {
    // The seed gives these sites every pair of validators.
    let visitor = Visitor::to(WebSettings { sites: 12, ..WebSettings::default() });
    let mut pairs = std::collections::HashSet::new();
    for site in 0..12 {
        let (validators, texts) = visitor.read_with(site, Validators::default()).await;
        assert_eq!(texts.map(|texts| texts.len()), Some(1));
        let (same, texts) = visitor.read_with(site, validators.clone()).await;
        assert_eq!((&same, texts), (&validators, None));
        visitor.web.publish(site, 2);
        let (new, texts) = visitor.read_with(site, validators.clone()).await;
        assert_eq!(texts.map(|texts| texts.len()), Some(3));
        assert_ne!(new, validators);
        pairs.insert((new.etag.is_some(), new.last_modified.is_some()));
    }
    assert_eq!(pairs, [(true, true), (true, false), (false, true)].into());
}

#[tokio::test]
async fn no_validators_sends_the_same_again() {
    let visitor = check(SiteBehaviour::NoValidators, "read 1", Deed::Answered(200)).await;
    assert_eq!(visitor.read_with(0, Validators::default()).await.0, Validators::default());
    assert_eq!(visitor.read(0).await, visitor.read(0).await);
}

#[tokio::test]
async fn busy_has_one_more_at_every_request() {
    let visitor = check(SiteBehaviour::Busy, "read 1", Deed::Answered(200)).await;
    let (validators, texts) = visitor.read_with(0, Validators::default()).await;
    assert_eq!(texts.map(|texts| texts.len()), Some(2));
    assert_eq!(visitor.read_with(0, validators).await.1.map(|texts| texts.len()), Some(3));
}

#[tokio::test]
async fn titleless_entries_have_no_titles_in_any_format() {
    let mix = Mix::only(SiteBehaviour::Titleless);
    let visitor = Visitor::to(WebSettings { sites: 20, mix, ..WebSettings::default() });
    for site in 0..20 {
        let Answer::Read(reading) = visitor.poll(site).await.answer else { panic!("not read") };
        let text = reading.entries[0].content();
        // Made of the body, for want of a title.
        assert!(text.title.starts_with("This is entry 0 of site"), "{}", text.title);
    }
}

#[tokio::test]
async fn gzip_is_gzip_and_reads_the_same() {
    let visitor = check(SiteBehaviour::Gzip, "read 1", Deed::Answered(200)).await;
    let fetched = visitor.poll(0).await;
    assert!(fetched.trace.wire_bytes < fetched.trace.body_bytes);
    assert_eq!(visitor.read(0).await, visitor.web.served_entries()[0]);
}

#[tokio::test]
async fn cache_for_says_how_long_it_stays_fresh() {
    let visitor = check(SiteBehaviour::CacheFor(90), "read 1", Deed::Answered(200)).await;
    let Answer::Read(reading) = visitor.poll(0).await.answer else { panic!("not read") };
    assert_eq!(reading.hints.fresh_until, Some(NOW + Duration::from_secs(90)));
}

#[tokio::test]
async fn refusals_have_their_status() {
    for (behaviour, status) in [
        (SiteBehaviour::NotFound, 404),
        (SiteBehaviour::Gone, 410),
        (SiteBehaviour::Forbidden, 403),
        (SiteBehaviour::Unauthorized, 401),
        (SiteBehaviour::Broken(500), 500),
        (SiteBehaviour::Broken(502), 502),
    ] {
        let wanted = format!("Status({status})");
        check(behaviour, &wanted, Deed::Answered(status)).await;
    }
}

#[tokio::test]
async fn rate_limited_and_unavailable_say_when_to_come_back_or_nothing() {
    let moment = Some(NOW + Duration::from_secs(120));
    for (retry_after, wanted) in
        [(RetryAfter::Unsaid, None), (RetryAfter::Seconds(120), moment), (RetryAfter::Date(120), moment)]
    {
        for (behaviour, status) in
            [(SiteBehaviour::RateLimited(retry_after), 429), (SiteBehaviour::Unavailable(retry_after), 503)]
        {
            let report = failure(&Visitor::of(behaviour)).await;
            assert_eq!((report.cause, report.retry_after), (FailureCause::Status(status), wanted), "{behaviour:?}");
        }
    }
}

#[tokio::test]
async fn slow_answers_late() {
    let visitor = Visitor::to(WebSettings {
        mix: Mix::only(SiteBehaviour::Slow),
        slow: Duration::from_millis(80),
        ..WebSettings::default()
    });
    assert_eq!(outcome(&visitor.poll(0).await), "read 1");
    let exchange = &visitor.journal(1).await[0];
    assert!(exchange.ended_micros - exchange.began_micros >= 80_000, "{exchange:?}");
}

#[tokio::test]
async fn slow_notices_a_client_that_has_gone_and_serves_nothing() {
    let visitor = Visitor::to(WebSettings {
        mix: Mix::only(SiteBehaviour::Slow),
        slow: Duration::from_secs(600),
        ..WebSettings::default()
    });
    tokio::select! {
        fetched = visitor.poll(0) => panic!("{:?}", fetched.answer),
        // Stops asking once it was heard.
        () = visitor.heard(0) => {}
    }
    assert_eq!(visitor.journal(1).await[0].deed, Deed::Abandoned);
    assert!(visitor.web.served_entries()[0].is_empty());
}

#[tokio::test]
async fn dripping_takes_its_time_over_the_body() {
    let visitor = Visitor::to(WebSettings {
        mix: Mix::only(SiteBehaviour::Dripping),
        drip: Duration::from_millis(10),
        drops: 5,
        ..WebSettings::default()
    });
    assert_eq!(outcome(&visitor.poll(0).await), "read 1");
    let exchange = &visitor.journal(1).await[0];
    assert!(exchange.ended_micros - exchange.began_micros >= 50_000, "{exchange:?}");
    assert_eq!(visitor.read(0).await, visitor.web.served_entries()[0]);
}

#[tokio::test]
async fn hanging_never_answers() {
    let visitor = Visitor::of(SiteBehaviour::Hanging);
    let http =
        HttpSettings { allow_private_networks: true, deadline: Duration::from_secs(1), ..HttpSettings::default() };
    let client = Client::new(http, || NOW).unwrap();
    let failure = client.send(&Request::new(visitor.web.sites()[0].url.as_str())).await.unwrap_err();
    assert_eq!(failure.report.cause, FailureCause::Stalled, "{failure}");
    assert_eq!(visitor.journal(1).await[0].deed, Deed::Hung);
}

#[tokio::test]
async fn cut_ends_in_the_middle_and_serves_no_entry() {
    let visitor = check(SiteBehaviour::Cut, "Connection", Deed::Cut(200)).await;
    assert!(visitor.web.served_entries()[0].is_empty());
}

#[tokio::test]
async fn reset_resets() {
    let visitor = check(SiteBehaviour::Reset, "Connection", Deed::Reset).await;
    let report = failure(&visitor).await;
    assert!(report.error.contains("reset"), "{}", report.error);
}

#[tokio::test]
async fn broken_xml_and_pages_are_no_feeds() {
    check(SiteBehaviour::BrokenXml, "Unreadable", Deed::Answered(200)).await;
    let visitor = check(SiteBehaviour::NotAFeed, "Unreadable", Deed::Answered(200)).await;
    assert!(failure(&visitor).await.error.contains("web page"), "{}", failure(&visitor).await.error);
}

#[tokio::test]
async fn huge_is_over_the_limit() {
    let visitor = Visitor::of(SiteBehaviour::Huge);
    let report = failure(&visitor).await;
    assert_eq!((report.cause, report.error.as_str()), (FailureCause::Other, "body over 10 MiB"));
    assert_eq!(visitor.journal(1).await[0].deed, Deed::Abandoned);
}

#[tokio::test]
async fn moved_and_found_lead_to_the_feed_on_this_host_or_the_next() {
    for (behaviour, is_permanent, host) in [
        (SiteBehaviour::Moved(Elsewhere::SameHost), true, 0),
        (SiteBehaviour::Moved(Elsewhere::OtherHost), true, 1),
        (SiteBehaviour::Found(Elsewhere::SameHost), false, 0),
        (SiteBehaviour::Found(Elsewhere::OtherHost), false, 1),
    ] {
        let visitor = Visitor::to(WebSettings { hosts: 2, mix: Mix::only(behaviour), ..WebSettings::default() });
        let fetched = visitor.poll(0).await;
        assert_eq!(outcome(&fetched), "read 1");
        assert_eq!(fetched.trace.hops.len(), 2);
        assert_eq!(fetched.trace.moved_to.is_some(), is_permanent, "{behaviour:?}");
        let journal = visitor.journal(2).await;
        let seen: Vec<_> = journal.iter().map(|exchange| (&*exchange.host, exchange.site, exchange.is_hop)).collect();
        let hosts = visitor.web.hosts();
        assert_eq!(seen, [(hosts[0].as_str(), Some(0), false), (hosts[host].as_str(), Some(0), true)]);
        assert_eq!(visitor.web.served_entries()[0].len(), 1);
    }
}

#[tokio::test]
async fn a_loop_goes_in_a_circle() {
    let visitor = Visitor::of(SiteBehaviour::Loop);
    let report = failure(&visitor).await;
    assert_eq!(report.cause, FailureCause::Redirect);
    assert!(report.error.contains("loop") || report.error.contains("circle"), "{}", report.error);
    let journal = visitor.journal(2).await;
    assert!(journal.iter().skip(1).all(|exchange| exchange.is_hop) && !journal[0].is_hop, "{journal:?}");
}

#[tokio::test]
async fn a_website_is_a_page_whose_article_changes() {
    let visitor = check(SiteBehaviour::Website, "read 1", Deed::Answered(200)).await;
    let fetched = visitor.poll(0).await;
    let Answer::Read(reading) = &fetched.answer else { panic!("not read") };
    assert!(matches!(reading.document, Document::Page { .. }), "{:?}", reading.document);
    // It is dated a month before it appears, and has comments as soon as it changes.
    assert_eq!(reading.entries[0].published_at(), Some(NOW - Duration::from_secs(30 * 86_400)));
    let before = visitor.read(0).await;
    visitor.web.publish(0, 1);
    let after = visitor.read(0).await;
    assert_eq!(visitor.web.served_entries()[0], [before, after].concat());
}

#[tokio::test]
async fn robots_allow_forbid_or_are_not_there() {
    let mix = Mix::InTurn(vec![SiteBehaviour::Website, SiteBehaviour::Healthy]);
    let visitor = Visitor::to(WebSettings { sites: 2, mix, ..WebSettings::default() });
    let host = visitor.web.hosts()[0].clone();
    let url = format!("http://{host}:{}/robots.txt", visitor.web.port());
    for (robots, wanted) in [
        (RobotsPolicy::Allowing, Ok("User-agent: *\nDisallow: /private/\n")),
        (RobotsPolicy::Forbidding, Ok("User-agent: *\nDisallow: /0/\nDisallow: /private/\n")),
        (RobotsPolicy::Missing, Err(FailureCause::Status(404))),
        (RobotsPolicy::Broken, Err(FailureCause::Status(500))),
    ] {
        visitor.web.set_robots(&host, robots).unwrap();
        assert_eq!(visitor.web.robots(&host).unwrap(), robots);
        match (visitor.client.send(&Request::new(url.as_str())).await, wanted) {
            (Ok(reply), Ok(text)) => {
                let Content::Body { bytes, .. } = reply.content else { panic!("no body") };
                assert_eq!(String::from_utf8(bytes).unwrap(), text);
            }
            (Err(failure), Err(cause)) => assert_eq!(failure.report.cause, cause),
            (answer, _) => panic!("{robots:?}: {answer:?}"),
        }
    }
}

#[tokio::test]
async fn flaky_is_a_mixture_that_the_seed_decides() {
    let outcomes = async || {
        let visitor = Visitor::of(SiteBehaviour::Flaky);
        let mut outcomes = Vec::new();
        for _ in 0..40 {
            outcomes.push(outcome(&visitor.poll(0).await));
        }
        outcomes
    };
    let first = outcomes().await;
    for wanted in ["read 1", "Status(404)", "Status(500)", "Connection"] {
        assert!(first.iter().any(|outcome| outcome == wanted), "{wanted}: {first:?}");
    }
    assert_eq!(first, outcomes().await);
}

#[tokio::test]
async fn dead_sites_refuse_and_have_addresses_of_their_own() {
    let mix = Mix::InTurn(vec![SiteBehaviour::Dead, SiteBehaviour::Healthy]);
    let visitor = Visitor::to(WebSettings { sites: 2, mix, ..WebSettings::default() });
    let report = failure(&visitor).await;
    assert_eq!(report.cause, FailureCause::Connection);
    assert!(report.error.contains("refused"), "{}", report.error);
    assert_eq!(outcome(&visitor.poll(1).await), "read 1");
    assert_ne!(visitor.web.sites()[0].host, visitor.web.sites()[1].host);
}
