//! TLS sessions that were agreed on with servers, so that the next connection to them takes a cheap handshake. rustls
//! keeps those of 32 servers; a daemon visits thousands in turn.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use parking_lot::Mutex;
use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// Sessions of a bounded number of servers. A new server takes the place of any other one: servers are visited in
/// turn, and the one that was visited longest ago is the next.
pub(super) struct TlsSessions {
    servers: Mutex<Servers>,
    servers_max: usize,
}

#[derive(Default)]
struct Servers {
    places: HashMap<ServerName<'static>, usize>,
    sessions: Vec<ServerSession>,
    replaced: u64,
}

struct ServerSession {
    server: ServerName<'static>,
    /// The key exchange that the server preferred.
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    /// A ticket is used once, and each connection brings a new one.
    tls13: Option<Tls13ClientSessionValue>,
}

impl TlsSessions {
    pub(super) fn new(servers_max: usize) -> TlsSessions {
        TlsSessions { servers: Mutex::default(), servers_max }
    }

    fn read<T>(&self, server: &ServerName<'_>, read: impl FnOnce(&mut ServerSession) -> Option<T>) -> Option<T> {
        let mut servers = self.servers.lock();
        let place = *servers.places.get(server)?;
        read(&mut servers.sessions[place])
    }

    fn write(&self, server: ServerName<'static>, write: impl FnOnce(&mut ServerSession)) {
        let mut servers = self.servers.lock();
        if let Some(session) = servers.session(server, self.servers_max) {
            write(session);
        }
    }
}

impl Servers {
    fn session(&mut self, server: ServerName<'static>, servers_max: usize) -> Option<&mut ServerSession> {
        let vacant = match self.places.entry(server) {
            Entry::Occupied(place) => return self.sessions.get_mut(*place.get()),
            Entry::Vacant(vacant) => vacant,
        };
        let new = ServerSession { server: vacant.key().clone(), group: None, tls12: None, tls13: None };
        if self.sessions.len() < servers_max {
            vacant.insert(self.sessions.len());
            self.sessions.push(new);
            return self.sessions.last_mut();
        }
        let place = usize::try_from(scattered(self.replaced) % u64::try_from(servers_max.max(1)).ok()?).ok()?;
        let session = self.sessions.get_mut(place)?;
        vacant.insert(place);
        self.replaced += 1;
        let old = std::mem::replace(session, new);
        self.places.remove(&old.server);
        self.sessions.get_mut(place)
    }
}

/// The steps of SplitMix64: places in no order that servers could follow, the same in every run.
fn scattered(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl ClientSessionStore for TlsSessions {
    fn set_kx_hint(&self, server: ServerName<'static>, group: NamedGroup) {
        self.write(server, |session| session.group = Some(group));
    }

    fn kx_hint(&self, server: &ServerName<'_>) -> Option<NamedGroup> {
        self.read(server, |session| session.group)
    }

    fn set_tls12_session(&self, server: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.write(server, |session| session.tls12 = Some(value));
    }

    fn tls12_session(&self, server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.read(server, |session| session.tls12.clone())
    }

    fn remove_tls12_session(&self, server: &ServerName<'static>) {
        self.read(server, |session| session.tls12.take());
    }

    fn insert_tls13_ticket(&self, server: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.write(server, |session| session.tls13 = Some(value));
    }

    fn take_tls13_ticket(&self, server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.read(server, |session| session.tls13.take())
    }
}

impl fmt::Debug for TlsSessions {
    /// Leaves out the sessions, which are secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TlsSessions").field("servers", &self.servers.lock().sessions.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(number: usize) -> ServerName<'static> {
        ServerName::try_from(format!("feeds-{number}.example")).unwrap()
    }

    fn known(sessions: &TlsSessions, numbers: std::ops::Range<usize>) -> usize {
        numbers.filter(|number| sessions.kx_hint(&server(*number)).is_some()).count()
    }

    #[test]
    fn no_more_servers_are_kept_than_allowed_and_the_newest_is_among_them() {
        let sessions = TlsSessions::new(10);
        for number in 0..1_000 {
            sessions.set_kx_hint(server(number), NamedGroup::X25519);
            assert!(sessions.kx_hint(&server(number)).is_some(), "{number}");
        }
        assert_eq!(known(&sessions, 0..1_000), 10);
        assert_eq!(sessions.servers.lock().places.len(), 10);
    }

    #[test]
    fn some_of_more_servers_than_there_are_places_for_are_known_when_they_are_visited_in_turn() {
        let sessions = TlsSessions::new(100);
        let mut found = 0;
        for number in (0..120).cycle().take(120 * 20) {
            found += usize::from(sessions.kx_hint(&server(number)).is_some());
            sessions.set_kx_hint(server(number), NamedGroup::X25519);
        }
        // Replacing the oldest would find none.
        assert!(found > 120 * 20 / 2, "{found}");
    }

    #[test]
    fn nothing_is_kept_if_nothing_may_be() {
        let sessions = TlsSessions::new(0);
        sessions.set_kx_hint(server(1), NamedGroup::X25519);
        assert_eq!(sessions.kx_hint(&server(1)), None);
    }
}
