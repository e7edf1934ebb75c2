//! Polls a web page as the daemon does: obeys robots.txt at each hop of a redirect.

use std::collections::HashMap;

use url::Url;

use crate::clock::Stopwatch;
use crate::fetch::{
    Answer, Fetched, Fetcher, Learned, PRODUCT, RobotsAnswer, RobotsTask, Task, Trace, robots_refusal,
    robots_unreachable, robots_url,
};
use crate::model::FailureReport;
use crate::parse::robots::Robots;
use crate::sources::{self, TypeSettings};

/// Verdict of a robots.txt about a page.
pub(super) struct RobotsVerdict {
    pub(super) page: Url,
    pub(super) robots: Url,
    pub(super) is_allowed: bool,
    pub(super) reason: String,
}

/// Polls a page; also returns the verdicts of robots.txt.
pub(super) async fn poll_page(
    fetcher: &Fetcher,
    settings: &TypeSettings,
    task: &Task,
) -> (Fetched, Vec<RobotsVerdict>) {
    let watch = Stopwatch::start();
    let mut task = Task { follows: false, ..task.clone() };
    let mut files = HashMap::new();
    let mut said = Vec::new();
    loop {
        let next = task
            .pending_redirect
            .as_ref()
            .map_or(task.settings.url.as_str(), |pending_redirect| pending_redirect.url().as_str());
        if let Some((page, robots)) = Url::parse(next).ok().zip(robots_url(next)) {
            if !files.contains_key(&robots) {
                files.insert(robots.clone(), ask(fetcher, &robots, watch).await);
            }
            let (reason, refusal) = judge(&files[&robots], &page);
            let hops = task
                .pending_redirect
                .as_ref()
                .map_or_else(Vec::new, |pending_redirect| pending_redirect.hops().to_vec());
            said.push(RobotsVerdict { page: shown(&page), robots, is_allowed: refusal.is_none(), reason });
            if let Some(report) = refusal {
                let trace = Trace { status: hops.last().and_then(|hop| hop.status), hops, ..Trace::default() };
                return (Fetched { answer: Answer::Failed(report), trace, learned: Learned::default() }, said);
            }
        }
        task.time_used = watch.elapsed();
        let fetched = sources::poll(fetcher, settings, &task).await;
        match fetched.answer {
            Answer::PendingRedirect(pending_redirect) => task.pending_redirect = Some(pending_redirect),
            _ => return (fetched, said),
        }
    }
}

/// Fetches robots.txt, following redirects; the deadline counts from the start of `watch`.
async fn ask(fetcher: &Fetcher, robots: &Url, watch: Stopwatch) -> RobotsAnswer {
    let mut task = RobotsTask {
        url: robots.clone(),
        pending_redirect: None,
        keep_alive: true,
        time_used: watch.elapsed(),
        user_agent: None,
        proxy: None,
    };
    loop {
        match fetcher.robots(&task).await.answer {
            RobotsAnswer::PendingRedirect(pending_redirect) => {
                task.pending_redirect = Some(pending_redirect);
                task.time_used = watch.elapsed();
            }
            answer => return answer,
        }
    }
}

/// The verdict of a response, and the failure if it disallows the page.
fn judge(answer: &RobotsAnswer, page: &Url) -> (String, Option<FailureReport>) {
    match answer {
        RobotsAnswer::Found(text) => {
            let verdict = Robots::parse(text.as_bytes()).allows(PRODUCT, page);
            (verdict.to_string(), robots_refusal(&verdict))
        }
        RobotsAnswer::Absent | RobotsAnswer::PendingRedirect(_) => ("allowed, since there is none".to_owned(), None),
        RobotsAnswer::Unreachable(report) => {
            (format!("refused, since it cannot be had: {}", report.error), Some(robots_unreachable(report)))
        }
    }
}

fn shown(page: &Url) -> Url {
    let mut shown = page.clone();
    // Both calls fail only for URLs that cannot have credentials.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_fragment(None);
    shown
}
