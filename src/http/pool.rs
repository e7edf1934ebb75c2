//! Idle connections, kept shortly for further requests to the same host.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use url::Url;

use super::wire::HttpConnection;

/// Small, because idle connections also cost the publisher.
const IDLE_MAX: usize = 64;

pub(super) struct Pool {
    kept: Arc<Mutex<KeptConnections>>,
    idle_timeout: Duration,
}

/// The kept connections, oldest first.
#[derive(Default)]
struct KeptConnections {
    links: Vec<(ConnectionKey, u64, HttpConnection)>,
    /// Ids of connections, so that a late timer does not drop another one.
    last_number: u64,
}

type ConnectionKey = (String, String, Option<u16>);

impl Pool {
    pub(super) fn new(idle_timeout: Duration) -> Pool {
        Pool { kept: Arc::default(), idle_timeout }
    }

    /// A usable connection to the URL's origin.
    pub(super) fn take(&self, url: &Url) -> Option<HttpConnection> {
        let mut kept = self.kept.lock();
        let origin = origin(url);
        while let Some(index) = kept.links.iter().rposition(|(of, ..)| *of == origin) {
            let (_, _, mut link) = kept.links.remove(index);
            if link.is_idle() {
                return Some(link);
            }
        }
        None
    }

    /// Keeps a connection whose last response was read completely.
    pub(super) fn keep(&self, url: &Url, mut link: HttpConnection) {
        if !link.is_idle() {
            return;
        }
        let mut kept = self.kept.lock();
        kept.last_number += 1;
        let number = kept.last_number;
        if kept.links.len() >= IDLE_MAX {
            kept.links.remove(0);
        }
        kept.links.push((origin(url), number, link));
        drop(kept);
        let (kept, idle_timeout) = (Arc::downgrade(&self.kept), self.idle_timeout);
        tokio::spawn(async move {
            tokio::time::sleep(idle_timeout).await;
            if let Some(kept) = kept.upgrade() {
                kept.lock().links.retain(|(_, of, _)| *of != number);
            }
        });
    }

    pub(super) fn count(&self) -> usize {
        self.kept.lock().links.len()
    }
}

fn origin(url: &Url) -> ConnectionKey {
    (url.scheme().to_owned(), url.host_str().unwrap_or_default().to_owned(), url.port_or_known_default())
}
