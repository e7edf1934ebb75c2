//! What the servers see: the journal, and each host's load.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use feedwarden::demo::web::{Deed, Elsewhere, Mix, SiteBehaviour, WebSettings};
use feedwarden::http::Request;
use feedwarden::model::Validators;

use super::{NOW, Visitor};

/// A connection of one's own to a site's host, and the path of the site.
fn connect(visitor: &Visitor, site: usize) -> (TcpStream, String) {
    let url = url::Url::parse(&visitor.web.sites()[site].url).unwrap();
    let stream = TcpStream::connect((url.host_str().unwrap(), visitor.web.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    (stream, url.path().to_owned())
}

fn ask(stream: &mut TcpStream, path: &str) {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
}

/// Reads one answer whose length is announced; its head.
fn hear(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).map_or(0, |n| n.parse().unwrap());
    stream.read_exact(&mut vec![0; length]).unwrap();
    head
}

#[tokio::test]
async fn the_journal_says_who_asked_for_what_and_what_became_of_it() {
    let visitor = Visitor::to(WebSettings { sites: 2, first_entries: 2, seed: 3, ..WebSettings::default() });
    let (validators, _) = visitor.read_with(1, Validators::default()).await;
    visitor.clock.advance(Duration::from_secs(60));
    visitor.read_with(1, validators.clone()).await;
    let [first, second] = &visitor.journal(2).await[..] else { panic!("two exchanges") };
    assert_eq!((first.site, first.path.as_str(), first.deed), (Some(1), "/1/feed", Deed::Answered(200)));
    let numbers: Vec<u64> = first.entries.iter().map(|entry| entry.number).collect();
    assert_eq!((numbers, first.overlapped, first.is_hop), (vec![1, 0], false, false));
    assert_eq!((&first.if_none_match, &first.if_modified_since), (&None, &None));
    assert_eq!(first.user_agent.as_deref(), Some("visitor/1"));
    assert_eq!(&*first.host, visitor.web.sites()[1].host);
    assert_eq!((first.began_at, second.began_at), (NOW, NOW + Duration::from_secs(60)));
    assert_eq!((second.deed, second.entries.is_empty()), (Deed::Answered(304), true));
    assert_eq!((&second.if_none_match, &second.if_modified_since), (&validators.etag, &validators.last_modified));
    assert!(first.began_micros <= first.ended_micros && first.ended_micros <= second.began_micros);
}

#[tokio::test]
async fn the_journal_keeps_the_last_exchanges_and_load_counts_them_all() {
    for (journal_max, kept) in [(0, 0), (3, 3), (10, 5)] {
        let visitor = Visitor::to(WebSettings { journal_max, ..WebSettings::default() });
        for _ in 0..4 {
            visitor.read(0).await;
        }
        let nowhere = format!("http://{}:{}/nowhere", visitor.web.hosts()[0], visitor.web.port());
        let mut task = visitor.task(0);
        task.settings.url = nowhere;
        assert_eq!(super::outcome(&visitor.poll_task(&task).await), "Status(404)");
        let journal = visitor.journal(kept).await;
        assert_eq!(journal.len(), kept);
        assert!(journal.last().is_none_or(|last| last.path == "/nowhere" && last.site.is_none()));
        assert_eq!(visitor.web.load()[0].requests, 5);
        assert_eq!(visitor.web.served_entries()[0].len(), 1);
    }
}

#[tokio::test]
async fn an_overlap_is_seen_from_both_sides_and_on_its_host_only() {
    let mix = Mix::InTurn(vec![SiteBehaviour::Hanging, SiteBehaviour::Healthy, SiteBehaviour::Healthy]);
    // The first and the third site share a host.
    let visitor = Visitor::to(WebSettings { hosts: 2, sites: 3, mix, ..WebSettings::default() });
    let (mut hanging, path) = connect(&visitor, 0);
    ask(&mut hanging, &path);
    visitor.heard(0).await;
    visitor.read(1).await;
    visitor.read(2).await;
    drop(hanging);
    let journal = visitor.journal(3).await;
    let seen: Vec<_> = journal.iter().map(|exchange| (exchange.site.unwrap(), exchange.overlapped)).collect();
    assert_eq!(seen, [(1, false), (2, true), (0, true)]);
    assert_eq!(journal[2].deed, Deed::Hung);
    let load = visitor.web.load();
    let counts: Vec<_> = load.iter().map(|host| (host.requests, host.overlaps, host.gap_min)).collect();
    assert_eq!(counts, [(2, 1, None), (1, 0, None)]);
}

#[tokio::test]
async fn a_gap_is_measured_from_an_end_to_the_next_beginning() {
    let slow = Duration::from_millis(60);
    let mix = Mix::only(SiteBehaviour::Slow);
    let visitor = Visitor::to(WebSettings { mix, slow, ..WebSettings::default() });
    visitor.read(0).await;
    assert_eq!(visitor.web.load()[0].gap_min, None);
    tokio::time::sleep(Duration::from_millis(30)).await;
    visitor.read(0).await;
    let load = &visitor.web.load()[0];
    let journal = visitor.journal(2).await;
    let gap = Duration::from_micros(journal[1].began_micros - journal[0].ended_micros);
    assert!(gap >= Duration::from_millis(30), "a pause of 30 ms is a gap of {gap:?}");
    assert_eq!((load.overlaps, load.gap_min), (0, Some(gap)));
    // One that is too short is seen, and stays.
    visitor.read(0).await;
    let journal = visitor.journal(3).await;
    let shortest = Duration::from_micros(journal[2].began_micros - journal[1].ended_micros).min(gap);
    assert_eq!(visitor.web.load()[0].gap_min, Some(shortest));
}

#[tokio::test]
async fn a_redirect_within_a_host_leaves_no_gap_and_one_to_another_host_does() {
    for (elsewhere, gaps) in [(Elsewhere::SameHost, [false, false]), (Elsewhere::OtherHost, [false, true])] {
        let mix = Mix::InTurn(vec![SiteBehaviour::Moved(elsewhere), SiteBehaviour::Healthy]);
        let visitor = Visitor::to(WebSettings { hosts: 2, sites: 2, mix, ..WebSettings::default() });
        visitor.read(1).await;
        visitor.read(0).await;
        visitor.journal(3).await;
        assert_eq!([0, 1].map(|host| visitor.web.load()[host].gap_min.is_some()), gaps, "{elsewhere:?}");
    }
}

#[tokio::test]
async fn a_web_of_500_hosts_and_2000_sites_serves_them_all() {
    use futures_util::stream::{self, StreamExt};
    let visitor = Visitor::to(WebSettings {
        hosts: 500,
        sites: 2000,
        entries: 10..=50,
        entry_bytes: 700,
        first_entries: 50,
        journal_max: 100,
        ..WebSettings::default()
    });
    let client = &visitor.client;
    let polls = stream::iter(visitor.web.sites()).map(|site| {
        let request = Request::new(site.url.as_str());
        async move { client.send(&request).await.is_ok() }
    });
    let answered = polls.buffer_unordered(64).filter(|is_ok| std::future::ready(*is_ok)).count().await;
    assert_eq!(answered, 2000);
    let load = visitor.web.load();
    assert_eq!(load.len(), 500);
    assert!(load.iter().all(|host| host.requests == 4));
    assert_eq!(visitor.web.journal().len(), 100);
    assert!(visitor.web.served_entries().iter().all(|texts| (10..=50).contains(&texts.len())));
}

#[tokio::test]
async fn a_connection_serves_many_requests_if_the_client_wants_to() {
    let visitor = Visitor::to(WebSettings { sites: 2, ..WebSettings::default() });
    let (mut stream, _) = connect(&visitor, 0);
    for path in ["/0/feed", "/1/feed", "/0/feed", "/2/feed"] {
        ask(&mut stream, path);
        let head = hear(&mut stream);
        let status = if path == "/2/feed" { "404 Not Found" } else { "200 OK" };
        assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{head}");
    }
    write!(stream, "GET /0/feed HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    assert!(hear(&mut stream).contains("Connection: close\r\n"));
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    assert_eq!(visitor.web.load()[0].requests, 5);
}

#[tokio::test]
async fn what_is_no_request_ends_the_connection() {
    let visitor = Visitor::of(SiteBehaviour::Healthy);
    for nonsense in ["nonsense\r\n\r\n".to_owned(), "x".repeat(40_000)] {
        let (mut stream, _) = connect(&visitor, 0);
        // The server may have had enough before the end.
        let _ = stream.write_all(nonsense.as_bytes());
        let ended = stream.read(&mut [0; 1]);
        assert!(matches!(&ended, Ok(0) | Err(_)), "{ended:?}");
    }
    assert!(visitor.web.journal().is_empty());
    let (mut stream, path) = connect(&visitor, 0);
    write!(stream, "POST {path} HTTP/1.1\r\n\r\n").unwrap();
    assert!(hear(&mut stream).starts_with("HTTP/1.1 405 "));
}
