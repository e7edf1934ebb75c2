//! The pages of the dashboard as a browser gets them: over TCP, with the session of a one-time code; and what an open page
//! costs that follows the changes.

use std::time::Duration;

use feedwarden::clock::Stopwatch;

use crate::client::Client;
use crate::serve::Daemon;

/// The first page of every section, lists with filters and orders, and single things.
pub(crate) const PAGES: [&str; 30] = [
    "",
    "/sources",
    "/sources?text=feeds",
    "/sources?text=needle",
    "/sources?state=backing_off",
    "/sources?label=label-7",
    "/sources?host=www.host-7.example",
    "/sources?failure=upstream_failure",
    "/sources?sort=title",
    "/sources?sort=-last_polled",
    "/sources?sort=next_poll&state=active",
    "/sources?sort=-failures&text=needle",
    "/sources/7",
    "/sources/new",
    "/hosts",
    "/hosts?prefix=www.host-7",
    "/hosts?state=held",
    "/hosts/www.host-7.example",
    "/posts",
    "/posts?source_id=7",
    "/posts?text=post",
    "/posts/7",
    "/supervision",
    "/webhooks",
    "/fleet",
    "/settings",
    "/audit",
    "/audit?who=rare",
    "/audit?target=source&target_id=7",
    "/jobs",
];

/// Pages that are kept open; they are the ones that read the most.
const OPEN: [&str; 3] = ["", "/sources", "/sources?sort=-last_polled"];
const OPEN_FOR: Duration = Duration::from_secs(60);
/// An open page may take this part of a core, in percent.
const OPEN_PERCENT_MAX: f64 = 1.0;

/// A signed-in browser.
pub(crate) struct Browser {
    address: String,
    cookie: String,
}

impl Browser {
    /// Enters with a one-time code, as `feedwarden dashboard` does.
    pub(crate) fn enter(daemon: &Daemon) -> Browser {
        let mut admin = Client::connect(&daemon.socket);
        let head = admin.request("POST", "/api/v1/dashboard", Some("{}"));
        assert_eq!(head.status, 200, "{}", String::from_utf8_lossy(admin.body()));
        let link: serde_json::Value = serde_json::from_slice(admin.body()).unwrap();
        let (address, path) = link["url"].as_str().unwrap().strip_prefix("http://").unwrap().split_once('/').unwrap();
        let entered = Client::connect_tcp(address, None).request("GET", &format!("/{path}"), None);
        let cookie = entered.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        Browser { address: address.to_owned(), cookie }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect_tcp(&self.address, Some(&self.cookie))
    }

    /// What pages cost that stay open, beside what the daemon takes without them. A change every second makes events
    /// come as often as they can; it is part of both.
    pub(crate) fn measure_open(&self, daemon: &Daemon) -> bool {
        let seconds = OPEN_FOR.as_secs();
        println!(
            "\nopen page for {seconds} s, with a change every second; CPU of the daemon (and of its database server)"
        );
        println!("| page | loads | % of a core | without a page | difference |");
        println!("|---|---|---|---|---|");
        let (idle, _) = self.percent(daemon, None);
        let mut is_good = true;
        for page in OPEN {
            let (percent, loads) = self.percent(daemon, Some(page));
            let added = percent - idle;
            is_good &= added < OPEN_PERCENT_MAX;
            let verdict = if added < OPEN_PERCENT_MAX { "" } else { " MISSED" };
            println!("| `/dashboard{page}` | {loads} | {percent:.2} | {idle:.2} | {added:.2} |{verdict}");
        }
        is_good
    }

    /// The part of a core that the daemon takes, and how often the page was loaded.
    fn percent(&self, daemon: &Daemon, page: Option<&str>) -> (f64, usize) {
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut admin = Client::connect(&daemon.socket);
                for number in 0.. {
                    if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                        break;
                    }
                    let change = format!("{{\"title\": \"Changed {number} times\"}}");
                    let head = admin.request("PATCH", "/api/v1/sources/9", Some(&change));
                    assert_eq!(head.status, 200, "{}", String::from_utf8_lossy(admin.body()));
                    std::thread::sleep(Duration::from_secs(1));
                }
            });
            let (before, watch) = (daemon.cpu_time(), Stopwatch::start());
            let loads = match page {
                Some(page) => self.follow(page, &watch),
                None => {
                    std::thread::sleep(OPEN_FOR);
                    0
                }
            };
            let percent = (daemon.cpu_time() - before).as_secs_f64() / watch.elapsed().as_secs_f64() * 100.0;
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            (percent, loads)
        })
    }

    /// Does what the script of the page does: follows the events and loads the page again at each change.
    fn follow(&self, page: &str, watch: &Stopwatch) -> usize {
        let path = format!("/dashboard{page}");
        let mut browser = self.connect();
        let mut events = self.connect().follow("/dashboard/events");
        browser.ask(&path);
        let mut loads = 1;
        while watch.elapsed() < OPEN_FOR {
            match events.next().as_str() {
                "change" => {
                    browser.ask(&path);
                    loads += 1;
                }
                "begin" => {}
                name => panic!("unexpected event: {name}"),
            }
        }
        loads
    }
}
