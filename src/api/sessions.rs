//! Sessions of browsers on the dashboard, in memory: a restart of the daemon ends them.
//!
//! A session is opened with a token (over TCP) or with a one-time code, which only the admin socket hands out. The token
//! stays with the session and is verified at every request, so the session has its scope and ends with it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{COOKIE, HOST, HeaderMap};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::dice::new_secret;

/// How long a session lasts that no token ends earlier.
pub(crate) const SESSION_LASTS: Duration = Duration::from_secs(12 * 60 * 60);
/// How long a one-time code can be used.
pub(crate) const CODE_LASTS: Duration = Duration::from_secs(2 * 60);
/// Further sessions and codes replace the oldest ones.
const SESSIONS_MAX: usize = 1000;
const CODES_MAX: usize = 100;

/// SHA-256 of a secret: a look-up takes the same time for every guess.
type Digested = [u8; 32];

/// Whom a session was opened for.
#[derive(Clone, Debug)]
pub(crate) enum SessionHolder {
    Token(Arc<str>),
    /// The user of the system who asked for the one-time code.
    Uid(u32),
}

#[derive(Clone, Debug)]
pub(super) struct BrowserSession {
    pub(super) holder: SessionHolder,
    /// Value that every form of the session repeats.
    pub(super) form_token: Arc<str>,
    ends: Duration,
}

/// All times are monotonic, since the start of the daemon.
#[derive(Default)]
pub(super) struct Sessions {
    sessions: Mutex<HashMap<Digested, BrowserSession>>,
    codes: Mutex<HashMap<Digested, (u32, Duration)>>,
}

impl Sessions {
    /// Returns the secret of the cookie.
    pub(super) fn open(&self, holder: SessionHolder, now: Duration) -> String {
        let secret = new_secret();
        let session = BrowserSession { holder, form_token: new_secret().into(), ends: now + SESSION_LASTS };
        let mut sessions = self.sessions.lock();
        sessions.retain(|_, session| session.ends > now);
        make_room(&mut sessions, SESSIONS_MAX, |session| session.ends);
        sessions.insert(digest(&secret), session);
        secret
    }

    pub(super) fn find(&self, secret: &str, now: Duration) -> Option<BrowserSession> {
        self.sessions.lock().get(&digest(secret)).filter(|session| session.ends > now).cloned()
    }

    pub(super) fn close(&self, secret: &str) {
        self.sessions.lock().remove(&digest(secret));
    }

    /// A code for one session of this user.
    pub(super) fn new_code(&self, uid: u32, now: Duration) -> String {
        let code = new_secret();
        let mut codes = self.codes.lock();
        codes.retain(|_, (_, ends)| *ends > now);
        make_room(&mut codes, CODES_MAX, |(_, ends)| *ends);
        codes.insert(digest(&code), (uid, now + CODE_LASTS));
        code
    }

    /// The user of a code, once.
    pub(super) fn redeem(&self, code: &str, now: Duration) -> Option<u32> {
        let (uid, ends) = self.codes.lock().remove(&digest(code))?;
        (ends > now).then_some(uid)
    }
}

/// Browsers send cookies to every port of a host, so each port has a cookie of its own.
pub(crate) fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port).filter(|port| port.parse::<u16>().is_ok());
    format!("feedwarden-{}", port.unwrap_or("session"))
}

/// The secret in the cookie of a request.
pub(super) fn cookie(headers: &HeaderMap) -> Option<String> {
    let name = cookie_name(headers);
    let lines = headers.get_all(COOKIE).filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(given, _)| *given == name).map(|(_, secret)| secret.to_owned())
}

fn digest(secret: &str) -> Digested {
    Sha256::digest(secret.as_bytes()).into()
}

fn make_room<V>(map: &mut HashMap<Digested, V>, most: usize, ends: impl Fn(&V) -> Duration) {
    while map.len() >= most {
        let Some(oldest) = map.iter().min_by_key(|(_, value)| ends(value)).map(|(key, _)| *key) else { return };
        map.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    const NOW: Duration = Duration::from_secs(100);

    #[test]
    fn a_code_opens_one_session_and_ends_unused() {
        let sessions = Sessions::default();
        let code = sessions.new_code(7, NOW);
        assert_eq!(sessions.redeem("guess", NOW), None);
        assert_eq!(sessions.redeem(&code, NOW), Some(7));
        assert_eq!(sessions.redeem(&code, NOW), None, "used twice");
        let late = sessions.new_code(7, NOW);
        assert_eq!(sessions.redeem(&late, NOW + CODE_LASTS), None);
    }

    #[test]
    fn a_session_ends_when_it_is_closed_and_when_its_time_is_over() {
        let sessions = Sessions::default();
        let (one, other) = (sessions.open(SessionHolder::Uid(7), NOW), sessions.open(SessionHolder::Uid(7), NOW));
        assert_ne!(one, other);
        assert!(sessions.find(&one, NOW).is_some());
        sessions.close(&one);
        assert!(sessions.find(&one, NOW).is_none());
        assert!(sessions.find(&other, NOW + SESSION_LASTS - Duration::from_secs(1)).is_some());
        assert!(sessions.find(&other, NOW + SESSION_LASTS).is_none());
    }

    #[test]
    fn the_newest_sessions_are_kept() {
        let sessions = Sessions::default();
        let at = |number: usize| NOW + Duration::from_millis(number as u64);
        let secrets: Vec<String> =
            (0..SESSIONS_MAX + 2).map(|number| sessions.open(SessionHolder::Uid(7), at(number))).collect();
        assert_eq!(sessions.sessions.lock().len(), SESSIONS_MAX);
        let is_open = |number: usize| sessions.find(&secrets[number], at(SESSIONS_MAX)).is_some();
        assert!(!is_open(0) && !is_open(1) && is_open(2) && is_open(SESSIONS_MAX + 1));
    }

    #[test]
    fn each_port_has_its_own_cookie() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("127.0.0.1:8080"));
        let cookies = "a=b; feedwarden-80=no; feedwarden-8080=yes";
        headers.insert(COOKIE, HeaderValue::from_static(cookies));
        assert_eq!(cookie(&headers).as_deref(), Some("yes"));
        headers.insert(HOST, HeaderValue::from_static("[::1]"));
        assert_eq!(cookie_name(&headers), "feedwarden-session");
        assert_eq!(cookie(&headers), None);
    }
}
