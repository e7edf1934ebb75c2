//! Idle connections, kept shortly for further requests to the same host.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use url::Url;

use super::wire::HttpConnection;
use crate::model::SourceProxy;

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

/// Origin, and the proxy that a request asks for.
type ConnectionKey = (String, String, Option<u16>, Option<SourceProxy>);

impl Pool {
    pub(super) fn new(idle_timeout: Duration) -> Pool {
        Pool { kept: Arc::default(), idle_timeout }
    }

    /// A usable connection to the URL's origin, through the same proxy.
    pub(super) fn take(&self, url: &Url, proxy: Option<&SourceProxy>) -> Option<HttpConnection> {
        let mut kept = self.kept.lock();
        let key = key(url, proxy);
        while let Some(index) = kept.links.iter().rposition(|(of, ..)| *of == key) {
            let (_, _, mut link) = kept.links.remove(index);
            if link.is_idle() {
                return Some(link);
            }
        }
        None
    }

    /// Keeps a connection whose last response was read completely.
    pub(super) fn keep(&self, url: &Url, proxy: Option<&SourceProxy>, mut link: HttpConnection) {
        if !link.is_idle() {
            return;
        }
        let mut kept = self.kept.lock();
        kept.last_number += 1;
        let number = kept.last_number;
        if kept.links.len() >= IDLE_MAX {
            kept.links.remove(0);
        }
        kept.links.push((key(url, proxy), number, link));
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

fn key(url: &Url, proxy: Option<&SourceProxy>) -> ConnectionKey {
    let host = url.host_str().unwrap_or_default().to_owned();
    (url.scheme().to_owned(), host, url.port_or_known_default(), proxy.cloned())
}
