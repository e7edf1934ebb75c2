//! The simulated web of the demo, the tests and the benchmarks: it behaves as configured, and records all requests.

mod behaviours;
mod content;
mod control;
mod habits;
mod journal;

use std::sync::Arc;
use std::time::Duration;

use feedwarden::clock::HeldClock;
use feedwarden::demo::web::{Exchange, Mix, SiteBehaviour, Web, WebSettings};
use feedwarden::fetch::{Answer, Fetched, Fetcher, Task};
use feedwarden::http::{Client, HttpSettings};
use feedwarden::model::{SourceSettings, Timestamp, Validators};
use feedwarden::sources::{self, TypeSettings};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// A simulated web and a client.
struct Visitor {
    web: Web,
    clock: Arc<HeldClock>,
    client: Client,
    fetcher: Fetcher,
}

impl Visitor {
    fn to(settings: WebSettings) -> Visitor {
        let clock = Arc::new(HeldClock::at(NOW));
        let web = Web::start(settings, Arc::clone(&clock) as _).unwrap();
        let http = HttpSettings {
            allowed_networks: vec!["127.0.0.0/8".parse().unwrap()],
            user_agent: "visitor/1".into(),
            ..HttpSettings::default()
        };
        let client = Client::new(http, || NOW).unwrap();
        let fetcher = Fetcher::new(client.clone());
        Visitor { web, clock, client, fetcher }
    }

    /// A visitor of one site of this behaviour.
    fn of(behaviour: SiteBehaviour) -> Visitor {
        Visitor::to(WebSettings { mix: Mix::only(behaviour), ..WebSettings::default() })
    }

    fn task(&self, site: usize) -> Task {
        let site = &self.web.sites()[site];
        Task::new(SourceSettings::new(site.source_type, site.url.as_str()))
    }

    async fn poll(&self, site: usize) -> Fetched {
        self.poll_task(&self.task(site)).await
    }

    async fn poll_task(&self, task: &Task) -> Fetched {
        sources::poll(&self.fetcher, &TypeSettings::default(), task).await
    }

    /// Polls a site with these validators and returns the new ones, with the texts of its entries; none for a 304.
    async fn read_with(&self, site: usize, validators: Validators) -> (Validators, Option<Vec<String>>) {
        let fetched = self.poll_task(&Task { validators, ..self.task(site) }).await;
        match fetched.answer {
            Answer::Read(reading) => {
                let texts = reading.entries.iter().map(|found| found.content().body().into_owned()).collect();
                (reading.validators, Some(texts))
            }
            Answer::NotModified { validators, .. } => (validators, None),
            Answer::Failed(report) => panic!("{report:?}"),
            Answer::PendingRedirect(pending_redirect) => panic!("not followed: {pending_redirect:?}"),
        }
    }

    async fn read(&self, site: usize) -> Vec<String> {
        self.read_with(site, Validators::default()).await.1.unwrap()
    }

    /// Waits until the first host has heard more requests than this.
    async fn heard(&self, requests: u64) {
        while self.web.load()[0].requests <= requests {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// What the servers wrote down, once there is this much of it: that a client has hung up takes a moment to be
    /// noticed.
    async fn journal(&self, exchanges: usize) -> Vec<Exchange> {
        let enough = async {
            while self.web.journal().len() < exchanges {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), enough).await.expect("the journal has too few exchanges");
        self.web.journal()
    }
}

/// How a poll went, in a word: the number of entries, 304, or the cause of the failure.
fn outcome(fetched: &Fetched) -> String {
    match &fetched.answer {
        Answer::Read(reading) => format!("read {}", reading.entries.len()),
        Answer::NotModified { .. } => "304".into(),
        Answer::Failed(report) => format!("{:?}", report.cause),
        Answer::PendingRedirect(pending_redirect) => panic!("not followed: {pending_redirect:?}"),
    }
}
