//! Idle connections, kept shortly for further requests to the same host.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use url::Url;

use super::wire::HttpConnection;
use crate::model::SourceProxy;

/// Idle connections cost the publisher, too. Enough for the hosts that are being polled at once.
const IDLE_MAX: usize = 256;

pub(super) struct Pool {
    kept: Arc<Mutex<KeptConnections>>,
    idle_timeout: Duration,
}

/// The kept connections of each origin, oldest first.
#[derive(Default)]
struct KeptConnections {
    links: HashMap<ConnectionKey, Vec<(u64, HttpConnection)>>,
    /// The number of connections.
    count: usize,
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
        if kept.count == 0 {
            return None;
        }
        let key = key(url, proxy);
        while let Some(mut link) = kept.take_newest(&key) {
            if link.is_idle() {
                return Some(link);
            }
        }
        None
    }

    /// Keeps a connection whose last response was read completely, if there is a place for it.
    pub(super) fn keep(&self, url: &Url, proxy: Option<&SourceProxy>, mut link: HttpConnection) {
        if !link.is_idle() {
            return;
        }
        let key = key(url, proxy);
        let number = {
            let mut kept = self.kept.lock();
            if kept.count >= IDLE_MAX {
                return;
            }
            kept.add(key.clone(), link)
        };
        let (kept, idle_timeout) = (Arc::downgrade(&self.kept), self.idle_timeout);
        tokio::spawn(async move {
            tokio::time::sleep(idle_timeout).await;
            if let Some(kept) = kept.upgrade() {
                kept.lock().drop_number(&key, number);
            }
        });
    }

    pub(super) fn count(&self) -> usize {
        self.kept.lock().count
    }
}

impl KeptConnections {
    fn take_newest(&mut self, key: &ConnectionKey) -> Option<HttpConnection> {
        let links = self.links.get_mut(key)?;
        let newest = links.pop();
        self.count -= usize::from(newest.is_some());
        if links.is_empty() {
            self.links.remove(key);
        }
        newest.map(|(_, link)| link)
    }

    fn add(&mut self, key: ConnectionKey, link: HttpConnection) -> u64 {
        self.last_number += 1;
        self.count += 1;
        self.links.entry(key).or_default().push((self.last_number, link));
        self.last_number
    }

    fn drop_number(&mut self, key: &ConnectionKey, number: u64) {
        let Some(links) = self.links.get_mut(key) else { return };
        let before = links.len();
        links.retain(|(of, _)| *of != number);
        self.count -= before - links.len();
        if links.is_empty() {
            self.links.remove(key);
        }
    }
}

fn key(url: &Url, proxy: Option<&SourceProxy>) -> ConnectionKey {
    let host = url.host_str().unwrap_or_default().to_owned();
    (url.scheme().to_owned(), host, url.port_or_known_default(), proxy.cloned())
}
