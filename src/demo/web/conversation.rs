//! One connection: reads requests, answers them according to the site's behaviour, and records them.

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};

use super::answer::{self, Act, AnswerPlan, Manner, WebAnswer};
use super::journal::{Deed, Exchange, Visit};
use super::web_state::{SitePart, WebRoute, WebState};
use super::wire::{self, Head, hand_over, hung_up};

/// Serves until one side closes or the host goes down; sends nothing while the network is down.
pub(super) async fn hold(web_state: Arc<WebState>, host: usize, stream: TcpStream, places: Arc<Semaphore>) {
    let mut host_down = web_state.hosts[host].is_down.subscribe();
    let mut network_down = web_state.network_down.subscribe();
    let talk = async {
        let Ok(_place) = places.acquire().await else { return Ending::Reset };
        converse(&web_state, host, &stream).await
    };
    let ending = tokio::select! {
        biased;
        () = becomes(&mut host_down, true) => Ending::Reset,
        () = becomes(&mut network_down, true) => {
            becomes(&mut network_down, false).await;
            Ending::Reset
        }
        ending = talk => ending,
    };
    if ending == Ending::Reset {
        wire::reset(stream);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Close,
    Reset,
}

async fn becomes(state: &mut watch::Receiver<bool>, wanted: bool) {
    if state.wait_for(|state| *state == wanted).await.is_err() {
        std::future::pending().await
    }
}

async fn converse(web_state: &WebState, host: usize, stream: &TcpStream) -> Ending {
    let mut kept = Vec::new();
    loop {
        let reading = wire::read_head(stream, &mut kept);
        let Ok(Some(head)) = tokio::time::timeout(web_state.settings.idle_max, reading).await else {
            return Ending::Close;
        };
        let keep_alive = head.keep_alive;
        let route = web_state.route(host, &head.path);
        let mut entry = ExchangeRecorder::begin(web_state, host, route, &head);
        let AnswerPlan { wait, act } = answer::plan(web_state, host, route, &head);
        if !wait.is_zero() {
            tokio::select! {
                () = hung_up(stream) => {
                    entry.exchange.deed = Deed::Abandoned;
                    return Ending::Close;
                }
                () = tokio::time::sleep(wait) => {}
            }
        }
        match act {
            Act::Reset => return Ending::Reset,
            Act::Hang => {
                hung_up(stream).await;
                entry.exchange.deed = Deed::Hung;
                return Ending::Close;
            }
            Act::Send(answer) => {
                let manner = answer.manner;
                send(web_state, stream, answer, keep_alive, &mut entry).await;
                drop(entry);
                if !keep_alive || manner == Manner::Cut || manner == Manner::Huge {
                    return Ending::Close;
                }
            }
        }
    }
}

async fn send(
    web_state: &WebState,
    stream: &TcpStream,
    answer: WebAnswer,
    keep_alive: bool,
    entry: &mut ExchangeRecorder<'_>,
) {
    let WebAnswer { status, mut head, body, manner, entries } = answer;
    head.push_str(if keep_alive || manner == Manner::Huge { "\r\n" } else { "Connection: close\r\n\r\n" });
    let (head, body) = (head.as_bytes(), body.bytes());
    let outcome = match manner {
        Manner::Whole => hand_over(stream, &web_state.watch, head, body).await,
        Manner::Cut => hand_over(stream, &web_state.watch, head, &body[..body.len() / 2]).await,
        Manner::Dripped => drip(web_state, stream, head, body).await,
        Manner::Huge => huge(web_state, stream, head, body).await,
    };
    // A client that hangs up in the middle leaves an error behind, or nothing that could be noticed.
    let Ok(ended_micros) = outcome else {
        entry.exchange.deed = Deed::Abandoned;
        return;
    };
    entry.ended_micros = Some(ended_micros);
    match manner {
        Manner::Cut => entry.exchange.deed = Deed::Cut(status),
        _ => {
            entry.exchange.deed = Deed::Answered(status);
            entry.exchange.entries = entries;
        }
    }
}

/// The head at once, then the body in drops.
async fn drip(web_state: &WebState, stream: &TcpStream, head: &[u8], body: &[u8]) -> std::io::Result<u64> {
    let mut ended_micros = hand_over(stream, &web_state.watch, head, &[]).await?;
    for drop in body.chunks(body.len().div_ceil(web_state.settings.drops.max(1)).max(1)) {
        tokio::select! {
            () = hung_up(stream) => return Err(std::io::ErrorKind::ConnectionAborted.into()),
            () = tokio::time::sleep(web_state.settings.drip) => {}
        }
        ended_micros = hand_over(stream, &web_state.watch, drop, &[]).await?;
    }
    Ok(ended_micros)
}

/// A beginning, and then prose until it is huge.
async fn huge(web_state: &WebState, stream: &TcpStream, head: &[u8], body: &[u8]) -> std::io::Result<u64> {
    let mut ended_micros = hand_over(stream, &web_state.watch, head, body).await?;
    let mut left = web_state.settings.huge_bytes;
    while left > 0 {
        let words = web_state.prose.words();
        let words = &words[..words.len().min(left)];
        ended_micros = hand_over(stream, &web_state.watch, words, &[]).await?;
        left -= words.len();
    }
    Ok(ended_micros)
}

/// A journal entry being recorded. It is written when it is dropped, so that none is lost: an exchange that ends early
/// without an outcome was reset.
struct ExchangeRecorder<'a> {
    web_state: &'a WebState,
    host: usize,
    visit: Visit,
    exchange: Exchange,
    /// When it ended, if that was before it is dropped.
    ended_micros: Option<u64>,
}

impl<'a> ExchangeRecorder<'a> {
    fn begin(web_state: &'a WebState, host: usize, route: WebRoute, head: &Head) -> ExchangeRecorder<'a> {
        let began_micros = wire::micros(&web_state.watch);
        let (mut site, mut is_hop) = (None, false);
        if let WebRoute::Site(asked, place) = route {
            site = Some(asked);
            is_hop = std::mem::take(&mut web_state.sites[asked].lock().awaits_hop) && place != SitePart::Front;
        }
        let continues = is_hop && site.is_some_and(|site| web_state.host_of[site] == host);
        let visit = web_state.hosts[host].load.lock().begin(began_micros, continues);
        let began_at = web_state.clock.now();
        let exchange = Exchange {
            host: Arc::clone(&web_state.hosts[host].name),
            site,
            path: head.path.clone(),
            began_micros,
            ended_micros: began_micros,
            began_at,
            ended_at: began_at,
            overlapped: false,
            is_hop,
            if_none_match: head.if_none_match.clone(),
            if_modified_since: head.if_modified_since.clone(),
            user_agent: head.user_agent.clone(),
            deed: Deed::Reset,
            entries: Arc::default(),
        };
        ExchangeRecorder { web_state, host, visit, exchange, ended_micros: None }
    }
}

impl Drop for ExchangeRecorder<'_> {
    fn drop(&mut self) {
        let ended_micros = self.ended_micros.unwrap_or_else(|| wire::micros(&self.web_state.watch));
        let by_client = matches!(self.exchange.deed, Deed::Hung | Deed::Abandoned);
        let known_end = Some(ended_micros).filter(|_| !by_client);
        let overlapped = self.web_state.hosts[self.host].load.lock().end(self.visit, known_end);
        if let (Some(site), Deed::Answered(200)) = (self.exchange.site, self.exchange.deed) {
            self.web_state.sites[site].lock().note_served(&self.exchange.entries, self.web_state.clock.now());
        }
        if self.web_state.settings.journal_max == 0 {
            return;
        }
        self.web_state.journal.lock().push(Exchange {
            ended_micros,
            ended_at: self.web_state.clock.now(),
            overlapped,
            ..self.exchange.clone()
        });
    }
}
