//! Characters change, hosts go down and come back, and all of it ends with its handle.

use std::net::TcpStream;
use std::time::Duration;

use feedwarden::demo::web::{Deed, Mix, SiteBehaviour, WebSettings};
use feedwarden::fetch::Answer;
use feedwarden::model::FailureCause;

use super::{Visitor, outcome};

#[tokio::test]
async fn a_site_can_fall_ill_and_recover() {
    let visitor = Visitor::of(SiteBehaviour::Healthy);
    assert_eq!(outcome(&visitor.poll(0).await), "read 1");
    visitor.web.set_behaviour(0, SiteBehaviour::Gone).unwrap();
    assert_eq!(visitor.web.behaviour(0), SiteBehaviour::Gone);
    assert_eq!(outcome(&visitor.poll(0).await), "Status(410)");
    visitor.web.set_behaviour(0, SiteBehaviour::Healthy).unwrap();
    assert_eq!(outcome(&visitor.poll(0).await), "read 1");
}

#[tokio::test]
async fn a_dead_site_can_come_to_life_and_die_again() {
    let visitor = Visitor::of(SiteBehaviour::Dead);
    for _ in 0..3 {
        assert_eq!(outcome(&visitor.poll(0).await), "Connection");
        visitor.web.set_behaviour(0, SiteBehaviour::Healthy).unwrap();
        assert_eq!(outcome(&visitor.poll(0).await), "read 1");
        visitor.web.set_behaviour(0, SiteBehaviour::Dead).unwrap();
    }
    assert_eq!(visitor.web.journal().len(), 3);
}

#[tokio::test]
async fn a_site_that_dies_on_a_shared_host_resets() {
    let visitor = Visitor::to(WebSettings { sites: 2, ..WebSettings::default() });
    visitor.web.set_behaviour(0, SiteBehaviour::Dead).unwrap();
    assert_eq!(outcome(&visitor.poll(0).await), "Connection");
    assert_eq!(visitor.web.journal()[0].deed, Deed::Reset);
    assert_eq!(outcome(&visitor.poll(1).await), "read 1");
}

#[tokio::test]
async fn a_host_that_is_down_refuses_and_the_others_do_not() {
    let visitor = Visitor::to(WebSettings { hosts: 2, sites: 2, ..WebSettings::default() });
    let host = visitor.web.sites()[0].host.clone();
    for _ in 0..3 {
        // Connections that are open, or were closed by the server, are no hindrance.
        let _idle = TcpStream::connect((host.as_str(), visitor.web.port())).unwrap();
        visitor.web.set_down(&host, true).unwrap();
        let Answer::Failed(report) = visitor.poll(0).await.answer else { panic!("an answer from a host that is down") };
        assert!(report.error.contains("refused"), "{}", report.error);
        assert_eq!(outcome(&visitor.poll(1).await), "read 1");
        visitor.web.set_down(&host, false).unwrap();
        assert_eq!(outcome(&visitor.poll(0).await), "read 1");
    }
    assert!(visitor.web.set_down("127.9.9.9", true).is_err());
}

#[tokio::test]
async fn going_down_resets_what_is_being_served_and_a_network_that_goes_away_does_not() {
    let visitor = Visitor::to(WebSettings { mix: Mix::only(SiteBehaviour::Hanging), ..WebSettings::default() });
    let host = visitor.web.hosts()[0].clone();
    for network in [false, true] {
        let poll = visitor.poll(0);
        let fall = async {
            visitor.heard(u64::from(network)).await;
            if network { visitor.web.set_network_down(true) } else { visitor.web.set_down(&host, true) }.unwrap();
        };
        let (fetched, ()) = tokio::join!(poll, fall);
        let Answer::Failed(report) = fetched.answer else { panic!("an answer from a host that is down") };
        let wanted = if network { FailureCause::Stalled } else { FailureCause::Connection };
        assert_eq!(report.cause, wanted, "{}", report.error);
        visitor.web.set_down(&host, false).unwrap();
    }
}

#[tokio::test]
async fn with_the_network_down_nothing_comes_back_from_any_host() {
    let visitor = Visitor::to(WebSettings { hosts: 3, sites: 3, ..WebSettings::default() });
    for _ in 0..2 {
        visitor.web.set_network_down(true).unwrap();
        for site in 0..3 {
            assert_eq!(outcome(&visitor.poll(site).await), "Unreachable");
        }
        visitor.web.set_network_down(false).unwrap();
        for site in 0..3 {
            assert_eq!(outcome(&visitor.poll(site).await), "read 1");
        }
    }
    assert_eq!(visitor.web.journal().len(), 6);
}

#[tokio::test]
async fn nothing_is_left_of_a_web_that_was_dropped() {
    // Addresses that no other test uses: its web could be given the same port.
    let first_address = [127, 2, 0, 1].into();
    let visitor = Visitor::to(WebSettings { hosts: 3, first_address, ..WebSettings::default() });
    let addresses: Vec<(String, u16)> =
        visitor.web.hosts().into_iter().map(|host| (host, visitor.web.port())).collect();
    let open = TcpStream::connect(&addresses[0]).unwrap();
    drop(visitor);
    // Not accepted yet or accepted, the connection has ended.
    open.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let left = std::io::Read::read(&mut &open, &mut [0; 1]);
    assert!(matches!(&left, Ok(0)) || left.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset));
    for address in &addresses {
        let error = TcpStream::connect(address).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    }
}
