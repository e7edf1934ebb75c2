//! The pictures of the dashboard in docs/pictures, which `tests/screens` has made: a week of a daemon on the simulated
//! web, with what goes wrong in a week.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use feedwarden::actors::FaultSettings;
use feedwarden::api::settings::{ApiLimits, TokenKey};
use feedwarden::demo::web::SiteBehaviour::{self, *};
use feedwarden::demo::web::{EntryHabit, Habits, Mix, Publishing, RetryAfter, WebSettings};
use serde_json::{Value, json};

use super::DashboardWorld;
use crate::api::{ApiWorld, SECRET};
use crate::pipeline::{Receiver, World, run};
use crate::store::Engine::Sqlite;

/// File, page, width, whether it is dark, and the largest height.
const PICTURES: [(&str, &str, u32, bool, u32); 6] = [
    ("overview", "", 1280, false, 1000),
    ("overview-phone", "", 390, true, 844),
    ("sources", "/sources?sort=-failures", 1280, false, 900),
    ("source", "/sources/{failing}", 1280, true, 1000),
    ("host", "/hosts/{host}", 1280, false, 900),
    ("post", "/posts/{post}", 1280, false, 900),
];

/// Pages that are looked at besides.
const OTHERS: [&str; 11] = [
    "/sources/{source}",
    "/sources/new",
    "/opml",
    "/hosts",
    "/posts",
    "/supervision",
    "/webhooks",
    "/fleet",
    "/settings",
    "/audit",
    "/jobs/{job}",
];

const HOSTS: [&str; 12] = [
    "harbour-gazette.example",
    "blog.lighthouse.example",
    "northern-trains.example",
    "status.cloudshop.example",
    "weather.example",
    "kernel-notes.example",
    "museum.example",
    "members.birdwatch.example",
    "oldradio.example",
    "api.seismology.example",
    "citycouncil.example",
    "archive.example",
];
/// A host where nothing listens.
const DEAD: &str = "gone-fishing.example";

/// Site, title and label, dealt to the hosts in turn.
const SITES: [(SiteBehaviour, &str, &str); 24] = [
    (Healthy, "Harbour Gazette", "news"),
    (Healthy, "Lighthouse Engineering", "engineering"),
    (Gzip, "Northern Trains: disruptions", "transport"),
    (Healthy, "Cloudshop status", "engineering"),
    (NoValidators, "Weather warnings", "weather"),
    (NotFound, "Kernel notes", "engineering"),
    (Healthy, "Museum of Everyday Things", "culture"),
    (Unauthorized, "Birdwatch: members", "nature"),
    (Healthy, "Old Radio", "podcasts"),
    (RateLimited(RetryAfter::Seconds(86_400)), "Earthquakes above 4.5", "science"),
    (Website, "City council: agenda", "news"),
    (Healthy, "The Archive: new scans", "culture"),
    (Healthy, "Harbour Gazette: sport", "news"),
    (Titleless, "Lighthouse: short notes", "engineering"),
    (Flaky, "Northern Trains: timetables", "transport"),
    (Healthy, "Cloudshop changelog", "engineering"),
    (Gone, "Weather almanac", "weather"),
    (Broken(500), "Kernel builds", "engineering"),
    (Healthy, "Museum: talks", "culture"),
    (Healthy, "Birdwatch", "nature"),
    (CacheFor(7200), "Old Radio: letters", "podcasts"),
    (Healthy, "Seismology papers", "science"),
    (Dead, "Gone fishing", "nature"),
    (Healthy, "The Archive: blog", "culture"),
];

const HOUR: Duration = Duration::from_secs(3600);

/// The port 80 is not shown in URLs, but not every user may listen on it.
fn port() -> u16 {
    std::net::TcpListener::bind("127.1.0.1:80").map_or(0, |_| 80)
}

fn name_of(place: usize) -> &'static str {
    if matches!(SITES[place].0, Dead) { DEAD } else { HOSTS[place % HOSTS.len()] }
}

async fn week() -> DashboardWorld {
    let web = WebSettings {
        hosts: HOSTS.len(),
        sites: SITES.len(),
        mix: Mix::InTurn(SITES.map(|(behaviour, ..)| behaviour).to_vec()),
        port: port(),
        entries: 10..=20,
        entry_bytes: 260,
        first_entries: 3,
        publishing: Publishing::Chance(0.12),
        habits: vec![Habits::of(&[EntryHabit::EditsNewest]), Habits::NONE, Habits::NONE],
        habit_chance: 0.04,
        latency: Duration::from_millis(2),
        ..WebSettings::default()
    };
    let mut world = World::with(Sqlite, web).await;
    let sites = world.web.sites().to_vec();
    let addresses =
        sites.iter().enumerate().map(|(place, site)| (name_of(place).to_owned(), site.host.parse().unwrap()));
    world.http.static_hosts = addresses.collect::<HashMap<String, IpAddr>>();
    world.policy.silent_after = Some(120 * HOUR);
    let crashes = vec!["post-sink/PollSucceeded=panic@0.01".parse().unwrap()];
    world.settings.faults = FaultSettings { is_enabled: true, seed: 4, limit: Some(2), faults: crashes };
    let limits = ApiLimits { requests_per_second: 100_000, ..ApiLimits::default() };
    let api = ApiWorld::around(world, TokenKey::Secret(SECRET.into()), limits);
    let mut sources = Vec::new();
    for (place, (site, (_, title, label))) in sites.iter().zip(SITES).enumerate() {
        let url = site.url.replace(&site.host, name_of(place));
        let new = json!({ "url": url, "type": site.source_type, "title": title, "labels": [label] });
        let created = api.tell("POST", "/sources", new).await;
        assert_eq!(created.status, 201, "{created:?}");
        sources.push(created.json()["source"]["id"].as_i64().unwrap());
    }
    let world = DashboardWorld::around(api, sources);
    world.pass(150 * HOUR, 900).await;
    world.act().await;
    world.pass(4 * HOUR, 48).await;
    world.pass(HOUR / 60, 4).await;
    // No time passes on the held clock while a request is made.
    world.api.world.store.raw("UPDATE polls SET duration_ms = 40 + id * 7919 % 380").await;
    world
}

impl DashboardWorld {
    /// Time passes in so many steps, and every poll that has begun ends before the next one. Sources may wait for the
    /// pause of their host.
    async fn pass(&self, duration: Duration, steps: u32) {
        let (world, handle) = (&self.api.world, self.api.world.handle().clone());
        for _ in 0..steps {
            world.advance(duration / steps);
            world.breathe().await;
            world.until("the end of all polls", async || handle.under_way() == 0).await;
        }
    }

    /// What operators do in that week.
    async fn act(&self) {
        let tell = async |method: &str, path: String, body: Value| {
            let answer = self.api.tell(method, &path, body).await;
            assert!(answer.status < 300, "{path}: {answer:?}");
        };
        let source = |place: usize, verb: &str| format!("/sources/{}/{verb}", self.sources[place]);
        tell("POST", source(4, "disable"), json!({ "reason": "duplicates the agency's feed" })).await;
        tell("PATCH", source(18, "feed-disable"), json!({ "reason": "summer break until September" })).await;
        let hold = json!({ "seconds": 172_800, "reason": "they move to new servers until Monday" });
        tell("POST", format!("/hosts/{}/hold", HOSTS[6]), hold).await;
        let receiver = Receiver::start(&[]).await;
        tell("POST", "/webhooks".into(), json!({ "url": receiver.url(), "label": "news" })).await;
        tell("POST", "/webhooks".into(), json!({ "url": "http://127.0.0.1:1/hooks/chat", "label": "engineering" }))
            .await;
        tell("PATCH", format!("/sources/{}", self.sources[8]), json!({ "poll_interval_minutes": 30 })).await;
        tell("POST", "/jobs".into(), json!({ "action": "poll", "matching": { "label": "news" } })).await;
    }
}

#[test]
#[ignore = "writes docs/pictures: tests/screens"]
fn pictures_are_written() {
    run(async || {
        let world = week().await;
        let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/pictures");
        let every = std::env::var_os("FEEDWARDEN_PICTURES_OF_EVERYTHING").map(PathBuf::from);
        let visit = world.enter().await;
        visit.scrollbars(false).await;
        let posts = world.api.get("/posts?order=newest&limit=200").await.json();
        let posts = posts["items"].as_array().unwrap();
        let edited = posts.iter().find(|post| post["revision"].as_u64() > Some(0)).expect("a post was edited");
        let fill_in = |path: &str| {
            path.replace("{post}", &edited["id"].to_string())
                .replace("{host}", HOSTS[6])
                .replace("{source}", &world.sources[0].to_string())
                .replace("{failing}", &world.sources[9].to_string())
                .replace("{job}", "1")
        };
        for (name, path, width, is_dark, height) in PICTURES {
            visit.dark(is_dark).await;
            visit.width(width).await;
            visit.open(&fill_in(path)).await;
            std::fs::write(directory.join(format!("dashboard-{name}.png")), visit.picture(width, height).await)
                .unwrap();
        }
        let Some(every) = every else {
            visit.scrollbars(true).await;
            drop(visit);
            return world.api.stop().await;
        };
        for path in PICTURES.map(|picture| picture.1).iter().chain(&OTHERS) {
            let name = path.replace(['/', '{', '}', '?', '='], "-");
            for (width, is_dark) in [(1280, false), (1280, true), (390, false), (390, true), (2560, false)] {
                visit.dark(is_dark).await;
                visit.width(width).await;
                visit.open(&fill_in(path)).await;
                let tone = if is_dark { "dark" } else { "light" };
                let picture = visit.picture(width, 3000).await;
                std::fs::write(every.join(format!("page{name}-{width}-{tone}.png")), picture).unwrap();
            }
            std::fs::write(every.join(format!("page{name}.html")), visit.source().await).unwrap();
        }
        visit.scrollbars(true).await;
        drop(visit);
        world.api.stop().await;
    });
}
