//! Whether the store takes writes, by the last one of any caller.

use parking_lot::Mutex;
use tokio::sync::watch;

use super::{Result, StoreError};
use crate::model::HostKey;

/// What keeps the store from taking writes. Shared by all connections of a store.
#[derive(Default)]
pub struct StoreHealth {
    trouble: watch::Sender<Option<StoreTrouble>>,
    /// Hosts whose rows other sessions lock, and changes of this set that were not read yet.
    locked_hosts: Mutex<LockedHosts>,
}

/// Why the store takes no writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreTrouble {
    pub error: String,
    /// The database is damaged: no later success makes up for it.
    is_corrupt: bool,
}

#[derive(Default)]
struct LockedHosts {
    now: Vec<HostKey>,
    news: Vec<(HostKey, bool)>,
}

impl StoreHealth {
    /// The error of the last write, unless a later one has succeeded; damage stays until the end of the process.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.borrow().as_ref().map(|trouble| trouble.error.clone())
    }

    pub fn watch(&self) -> watch::Receiver<Option<StoreTrouble>> {
        self.trouble.subscribe()
    }

    /// The damage that was found, if any: then even a write that succeeds keeps nothing for certain.
    pub(super) fn check_intact(&self) -> Result<()> {
        match &*self.trouble.borrow() {
            Some(StoreTrouble { error, is_corrupt: true }) => Err(StoreError::Corrupt(error.clone())),
            _ => Ok(()),
        }
    }

    /// Notes the result of a write.
    pub(super) fn note_write<T>(&self, result: &Result<T>) {
        match result {
            Err(error @ (StoreError::Unavailable(_) | StoreError::Unusable(_))) => {
                self.set(StoreTrouble { error: error.to_string(), is_corrupt: false });
            }
            Err(_) => self.note_read(result),
            Ok(_) => {
                self.trouble.send_if_modified(|trouble| {
                    let is_over = trouble.as_ref().is_some_and(|trouble| !trouble.is_corrupt);
                    if is_over {
                        *trouble = None;
                    }
                    is_over
                });
            }
        }
    }

    /// Notes the result of a read, which shows damage only: that others can be read says nothing of writes.
    pub(super) fn note_read<T>(&self, result: &Result<T>) {
        if let Err(StoreError::Corrupt(text)) = result {
            self.set(StoreTrouble { error: text.clone(), is_corrupt: true });
        }
    }

    fn set(&self, new: StoreTrouble) {
        self.trouble.send_if_modified(|trouble| {
            let is_worse = trouble.as_ref().is_none_or(|known| !known.is_corrupt && *known != new);
            if is_worse {
                *trouble = Some(new);
            }
            is_worse
        });
    }

    /// Hosts whose rows became locked (true) or are not locked any more (false) since the last call.
    pub fn take_lock_news(&self) -> Vec<(HostKey, bool)> {
        std::mem::take(&mut self.locked_hosts.lock().news)
    }

    /// Notes which of the hosts that were to be written are locked.
    pub(super) fn note_hosts(&self, written: &[HostKey], locked: &[HostKey]) {
        let mut hosts = self.locked_hosts.lock();
        for host in written {
            if let Some(place) = hosts.now.iter().position(|known| known == host) {
                let host = hosts.now.swap_remove(place);
                hosts.news.push((host, false));
            }
        }
        for host in locked {
            if !hosts.now.contains(host) {
                hosts.now.push(host.clone());
                hosts.news.push((host.clone(), true));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Result<()> {
        Err(StoreError::Unavailable("full".into()))
    }

    #[test]
    fn a_failed_write_is_trouble_until_a_write_succeeds() {
        let health = StoreHealth::default();
        health.note_read(&full());
        assert_eq!(health.trouble(), None, "a read that fails says nothing of writes");
        health.note_write(&full());
        health.note_read(&Ok(()));
        assert!(health.trouble().unwrap().contains("full"), "reads still succeed");
        health.note_write::<()>(&Err(StoreError::NameTaken("ada".into())));
        assert!(health.trouble().is_some(), "a refused value says nothing of the store");
        health.note_write(&Ok(()));
        assert_eq!(health.trouble(), None);
    }

    #[test]
    fn damage_outlives_every_success() {
        let health = StoreHealth::default();
        health.note_read::<()>(&Err(StoreError::Corrupt("malformed".into())));
        health.note_write(&Ok(()));
        health.note_write(&full());
        assert!(health.trouble().unwrap().contains("malformed"));
        assert!(health.check_intact().is_err());
    }
}
