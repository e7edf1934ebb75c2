//! Resolves names. `address` decides which of the addresses may be dialled.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use hickory_resolver::TokioResolver;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::rr::Name;
use parking_lot::{Mutex, RwLock};

use super::resolver_files::{Contents, ResolverSettings, Stamps};
use super::settings::SetupError;
use crate::clock::Stopwatch;

/// Resolver; a trait, so that tests can vary the result from one lookup to the next.
pub trait Resolve: Send + Sync {
    /// The addresses of a name, in the order in which they should be tried.
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, ResolveError>>;
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The name does not exist, or has no address.
    #[error("name does not resolve")]
    NoSuchName,
    /// The resolver returned an error, such as SERVFAIL.
    #[error("name does not resolve: the resolver says {0}")]
    Refused(String),
    /// The resolver did not respond.
    #[error("name could not be looked up: {0}")]
    NoAnswer(String),
}

/// Uses the system's configuration, with a cache that obeys the TTL of records. The configuration is followed when its
/// files change, when it is asked to (SIGHUP), and when no name server answers. Clones share it.
#[derive(Clone)]
pub struct SystemResolver {
    followed: Arc<Followed>,
    static_hosts: HashMap<String, IpAddr>,
}

/// A change of the system's configuration, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolverNotice {
    /// Names are resolved by these servers from now on.
    Followed { name_servers: Vec<IpAddr> },
    /// `resolv.conf` cannot be used; the last one that could is used on.
    Unusable { error: String },
}

type NoticeHook = Box<dyn Fn(ResolverNotice) + Send + Sync>;

struct Followed {
    settings: ResolverSettings,
    resolver: RwLock<Arc<TokioResolver>>,
    state: Mutex<FollowState>,
    hook: OnceLock<NoticeHook>,
}

struct FollowState {
    stamps: Stamps,
    /// What the resolver was made of.
    contents: Contents,
    /// Why the last version of `resolv.conf` cannot be used.
    problem: Option<String>,
    looked: Stopwatch,
    /// Since the files were read because no name server answered; none if they never were.
    reread: Option<Stopwatch>,
}

impl SystemResolver {
    /// Reads the system's configuration. If it cannot be used, no name is found until it can.
    pub fn new(settings: ResolverSettings) -> Result<SystemResolver, SetupError> {
        let stamps = settings.stamps();
        let contents = settings.read();
        let (resolver, _) = settings.resolver(&contents).map_err(SetupError::Resolver)?;
        let problem = contents.problem().cloned();
        let state = FollowState { stamps, contents, problem, looked: Stopwatch::start(), reread: None };
        let followed = Followed {
            settings,
            resolver: RwLock::new(Arc::new(resolver)),
            state: Mutex::new(state),
            hook: OnceLock::new(),
        };
        Ok(SystemResolver { followed: Arc::new(followed), static_hosts: HashMap::new() })
    }

    /// The same resolver with names that are never looked up.
    pub fn with_static_hosts(&self, static_hosts: &HashMap<String, IpAddr>) -> SystemResolver {
        let static_hosts = static_hosts.iter().map(|(name, address)| (canonical(name), *address)).collect();
        SystemResolver { followed: self.followed.clone(), static_hosts }
    }

    /// Notices go to this function from now on, once; a problem that is known already is the first.
    pub fn watch(&self, hook: impl Fn(ResolverNotice) + Send + Sync + 'static) {
        if self.followed.hook.set(Box::new(hook)).is_ok()
            && let Some(error) = self.followed.state.lock().problem.clone()
        {
            self.followed.notice(ResolverNotice::Unusable { error });
        }
    }

    /// Reads the system's configuration again and forgets all addresses. Blocks.
    pub fn refresh(&self) {
        self.followed.look();
        self.followed.resolver.read().clear_cache();
    }
}

impl Followed {
    fn current(&self) -> Arc<TokioResolver> {
        self.resolver.read().clone()
    }

    fn notice(&self, notice: ResolverNotice) {
        if let Some(hook) = self.hook.get() {
            hook(notice);
        }
    }

    /// Reads the files if they have changed; looks at them now and then only.
    async fn look_if_changed(self: &Arc<Followed>) {
        let has_changed = {
            let Some(mut state) = self.state.try_lock() else { return };
            if state.looked.elapsed() < self.settings.look_pause {
                return;
            }
            state.looked = Stopwatch::start();
            self.settings.stamps() != state.stamps
        };
        if has_changed {
            self.look_apart().await;
        }
    }

    /// Reads the files because no name server answered, now and then only: during an outage every lookup comes here.
    async fn look_again(self: &Arc<Followed>) {
        {
            // Another lookup is at it.
            let Some(mut state) = self.state.try_lock() else { return };
            if state.reread.as_ref().is_some_and(|last| last.elapsed() < self.settings.reread_pause) {
                return;
            }
            state.reread = Some(Stopwatch::start());
        }
        self.look_apart().await;
    }

    /// Reads the files on a thread that may block.
    async fn look_apart(self: &Arc<Followed>) {
        let followed = self.clone();
        // Fails only if the program ends.
        let _ = tokio::task::spawn_blocking(move || followed.look()).await;
    }

    /// Reads the files, and follows them if they say something else. Blocks.
    fn look(&self) {
        let mut state = self.state.lock();
        state.looked = Stopwatch::start();
        state.stamps = self.settings.stamps();
        let contents = self.settings.read();
        let problem = contents.problem().cloned();
        if let Some(error) = problem {
            // The name servers stay as they are; said once for each problem.
            let is_new = state.problem.as_ref() != Some(&error);
            state.problem = Some(error.clone());
            drop(state);
            return if is_new {
                self.notice(ResolverNotice::Unusable { error })
            };
        }
        if contents == state.contents && state.problem.is_none() {
            return;
        }
        match self.settings.resolver(&contents) {
            Ok((resolver, name_servers)) => {
                *self.resolver.write() = Arc::new(resolver);
                (state.contents, state.problem) = (contents, None);
                drop(state);
                self.notice(ResolverNotice::Followed { name_servers });
            }
            Err(error) => {
                state.problem = Some(error.clone());
                drop(state);
                self.notice(ResolverNotice::Unusable { error });
            }
        }
    }

    async fn lookup(&self, resolver: &TokioResolver, name: &Name) -> Result<Vec<IpAddr>, ResolveError> {
        let found = resolver.lookup_ip(name.clone()).await.map_err(|error| self.read_error(error))?;
        let addresses: Vec<IpAddr> = found.iter().collect();
        if addresses.is_empty() { Err(ResolveError::NoSuchName) } else { Ok(addresses) }
    }

    fn read_error(&self, error: NetError) -> ResolveError {
        // Not a wait: another thread may hold it while it reads the files.
        let problem = self.state.try_lock().and_then(|state| state.problem.clone());
        match (read_error(error), problem) {
            (ResolveError::NoAnswer(error), Some(problem)) => {
                let path = self.settings.resolv_conf.display();
                ResolveError::NoAnswer(format!("{error}; {path} cannot be used: {problem}"))
            }
            (error, _) => error,
        }
    }
}

impl Resolve for SystemResolver {
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, ResolveError>> {
        Box::pin(async move {
            if !self.static_hosts.is_empty()
                && let Some(address) = self.static_hosts.get(&canonical(name))
            {
                return Ok(vec![*address]);
            }
            // An invalid name needs no lookup.
            let mut name = Name::from_ascii(name).map_err(|_| ResolveError::NoSuchName)?;
            // Ignore the system's search list, which would resolve a missing name to another one after several
            // lookups. Names of one part are local and use the list.
            if name.num_labels() > 1 {
                name.set_fqdn(true);
            }
            self.followed.look_if_changed().await;
            let resolver = self.followed.current();
            let found = self.followed.lookup(&resolver, &name).await;
            if !matches!(found, Err(ResolveError::NoAnswer(_))) {
                return found;
            }
            // The files may name other servers by now.
            self.followed.look_again().await;
            let other = self.followed.current();
            if Arc::ptr_eq(&resolver, &other) { found } else { self.followed.lookup(&other, &name).await }
        })
    }
}

/// Any response means that the name does not resolve; an unreachable resolver proves nothing (s104).
fn read_error(error: NetError) -> ResolveError {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(_)) => ResolveError::NoSuchName,
        NetError::Dns(DnsError::ResponseCode(code)) => ResolveError::Refused(code.to_str().to_owned()),
        NetError::Dns(other) => ResolveError::Refused(other.to_string()),
        NetError::Timeout => ResolveError::NoAnswer("the resolver did not answer".into()),
        NetError::NoConnections => ResolveError::NoAnswer("no resolver can be reached".into()),
        other => ResolveError::NoAnswer(other.to_string()),
    }
}

fn canonical(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hickory_resolver::proto::op::{Message, ResponseCode};
    use hickory_resolver::proto::rr::{RData, Record, RecordType};
    use tokio::net::UdpSocket;

    use super::super::failure::from_resolve;
    use super::*;
    use crate::model::FailureCause;

    /// Serves names on this address: `known.example` has two addresses that end in this number, everything else gets the
    /// code. Returns the port and the count of what it was asked.
    async fn serve(address: (&str, u16), number: u8, otherwise: ResponseCode) -> (u16, Arc<AtomicUsize>) {
        serve_for(300, address, number, otherwise).await
    }

    /// The same with this TTL, in seconds.
    async fn serve_for(ttl: u32, address: (&str, u16), number: u8, otherwise: ResponseCode) -> (u16, Arc<AtomicUsize>) {
        let socket = UdpSocket::bind(address).await.unwrap();
        let port = socket.local_addr().unwrap().port();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut buffer = [0; 2048];
            loop {
                let (length, client) = socket.recv_from(&mut buffer).await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let mut message = Message::from_vec(&buffer[..length]).unwrap().into_response();
                let query = message.queries[0].clone();
                if query.name().to_ascii().to_lowercase() != "known.example." {
                    message.metadata.response_code = otherwise;
                } else {
                    let address = match query.query_type() {
                        RecordType::A => RData::A(format!("192.0.2.{number}").parse().unwrap()),
                        _ => RData::AAAA(format!("2001:db8::{number}").parse().unwrap()),
                    };
                    message.answers = vec![Record::from_rdata(query.name().clone(), ttl, address)];
                }
                socket.send_to(&message.to_vec().unwrap(), client).await.unwrap();
            }
        });
        (port, asked)
    }

    /// A name server on loopback that knows `known.example`, and answers anything else with this code; and the count
    /// of what it was asked.
    async fn name_server(otherwise: ResponseCode) -> (SystemResolver, Arc<AtomicUsize>) {
        let (port, asked) = serve(("127.0.0.1", 0), 7, otherwise).await;
        (resolver_at(port), asked)
    }

    /// A resolver that asks a name server at this port of loopback.
    fn resolver_at(port: u16) -> SystemResolver {
        let directory = tempfile::tempdir().unwrap();
        SystemResolver::new(files(directory.path(), "nameserver 127.0.0.1\n", port)).unwrap()
    }

    /// Files in this directory, looked at whenever a name is looked up.
    fn files(directory: &Path, resolv_conf: &str, port: u16) -> ResolverSettings {
        let settings = ResolverSettings {
            resolv_conf: directory.join("resolv.conf"),
            hosts: directory.join("hosts"),
            port,
            look_pause: std::time::Duration::ZERO,
            reread_pause: std::time::Duration::ZERO,
        };
        std::fs::write(&settings.resolv_conf, resolv_conf).unwrap();
        std::fs::write(&settings.hosts, "").unwrap();
        settings
    }

    /// Two name servers at the same port of loopback, whose answers end in 1 and 2.
    async fn two_servers() -> u16 {
        let (port, _) = serve(("127.0.0.1", 0), 1, ResponseCode::NXDomain).await;
        serve(("127.0.0.2", port), 2, ResponseCode::NXDomain).await;
        port
    }

    async fn first(resolver: &SystemResolver, name: &str) -> Result<String, ResolveError> {
        let addresses = resolver.addresses(name).await?;
        Ok(addresses.into_iter().filter(IpAddr::is_ipv4).map(|address| address.to_string()).collect())
    }

    fn notices(resolver: &SystemResolver) -> Arc<Mutex<Vec<ResolverNotice>>> {
        let heard: Arc<Mutex<Vec<ResolverNotice>>> = Arc::default();
        let hook = heard.clone();
        resolver.watch(move |notice| hook.lock().push(notice));
        heard
    }

    /// Replaces a file as other programs do: a new one takes its name.
    fn replace(path: &Path, text: &str) {
        let new = path.with_extension("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, path).unwrap();
    }

    #[tokio::test]
    async fn a_resolv_conf_that_changes_is_followed() {
        let directory = tempfile::tempdir().unwrap();
        let settings = files(directory.path(), "nameserver 127.0.0.1\n", two_servers().await);
        let resolver = SystemResolver::new(settings.clone()).unwrap();
        let heard = notices(&resolver);
        assert_eq!(first(&resolver, "known.example").await.unwrap(), "192.0.2.1");
        replace(&settings.resolv_conf, "nameserver 127.0.0.2\n");
        assert_eq!(
            first(&resolver, "known.example").await.unwrap(),
            "192.0.2.2",
            "what is remembered is of the old one"
        );
        // Written in place, and shared by all that use the resolver.
        std::fs::write(&settings.resolv_conf, "# again\nnameserver 127.0.0.1\n").unwrap();
        let shared = resolver.with_static_hosts(&HashMap::new());
        assert_eq!(first(&shared, "known.example").await.unwrap(), "192.0.2.1");
        let followed = |address: &str| ResolverNotice::Followed { name_servers: vec![address.parse().unwrap()] };
        assert_eq!(*heard.lock(), [followed("127.0.0.2"), followed("127.0.0.1")]);
    }

    #[tokio::test]
    async fn a_resolv_conf_that_cannot_be_used_changes_nothing_and_is_told_once() {
        let directory = tempfile::tempdir().unwrap();
        let settings = files(directory.path(), "nameserver 127.0.0.1\n", two_servers().await);
        let resolver = SystemResolver::new(settings.clone()).unwrap();
        let heard = notices(&resolver);
        for text in ["", "\n", "# nothing\n"] {
            replace(&settings.resolv_conf, text);
            assert_eq!(first(&resolver, "known.example").await.unwrap(), "192.0.2.1");
        }
        assert!(matches!(heard.lock().as_slice(), [ResolverNotice::Unusable { .. }]), "{heard:?}");
        std::fs::remove_file(&settings.resolv_conf).unwrap();
        assert_eq!(first(&resolver, "known.example").await.unwrap(), "192.0.2.1");
        assert_eq!(heard.lock().len(), 2, "that it is missing is another problem");
        replace(&settings.resolv_conf, "nameserver 127.0.0.2\n");
        assert_eq!(first(&resolver, "known.example").await.unwrap(), "192.0.2.2");
    }

    #[tokio::test]
    async fn p31_a_daemon_that_starts_before_there_is_a_resolv_conf_finds_names_as_soon_as_there_is() {
        let directory = tempfile::tempdir().unwrap();
        let settings = files(directory.path(), "", two_servers().await);
        let resolver = SystemResolver::new(settings.clone()).unwrap();
        assert!(matches!(notices(&resolver).lock().as_slice(), [ResolverNotice::Unusable { .. }]));
        let error = first(&resolver, "known.example").await.unwrap_err();
        assert!(error.to_string().contains("resolv.conf cannot be used: "), "{error}");
        assert_eq!(from_resolve(error).cause, FailureCause::NoNetwork);
        replace(&settings.resolv_conf, "nameserver 127.0.0.2\n");
        assert_eq!(first(&resolver, "known.example").await.unwrap(), "192.0.2.2");
    }

    #[tokio::test]
    async fn when_no_name_server_answers_the_files_are_read_at_once_and_the_name_is_looked_up_again() {
        let directory = tempfile::tempdir().unwrap();
        let port = two_servers().await;
        // Nothing listens at this address.
        let settings = files(directory.path(), "nameserver 127.0.0.3\noptions timeout:1 attempts:1\n", port);
        let settings = ResolverSettings { look_pause: std::time::Duration::from_secs(3600), ..settings };
        let resolver = SystemResolver::new(settings.clone()).unwrap();
        assert!(matches!(first(&resolver, "known.example").await, Err(ResolveError::NoAnswer(_))));
        replace(&settings.resolv_conf, "nameserver 127.0.0.2\n");
        assert_eq!(first(&resolver, "known.example").await.unwrap(), "192.0.2.2");
        // Not looked at again for an hour, unless asked to.
        replace(&settings.resolv_conf, "nameserver 127.0.0.1\n");
        assert_eq!(first(&resolver, "known.example").await.unwrap(), "192.0.2.2");
        resolver.refresh();
        assert_eq!(first(&resolver, "known.example").await.unwrap(), "192.0.2.1");
    }

    #[tokio::test]
    async fn lookups_without_an_answer_read_the_files_only_now_and_then() {
        let (directory, hour) = (tempfile::tempdir().unwrap(), std::time::Duration::from_secs(3600));
        let port = two_servers().await;
        let silent = "nameserver 127.0.0.3\noptions timeout:1 attempts:1\n";
        let settings = files(directory.path(), silent, port);
        let settings = ResolverSettings { look_pause: hour, reread_pause: hour, ..settings };
        let resolver = SystemResolver::new(settings.clone()).unwrap();
        assert!(matches!(first(&resolver, "known.example").await, Err(ResolveError::NoAnswer(_))));
        // Read a moment ago.
        replace(&settings.resolv_conf, "nameserver 127.0.0.2\n");
        assert!(matches!(first(&resolver, "known.example").await, Err(ResolveError::NoAnswer(_))));
        resolver.refresh();
        assert_eq!(first(&resolver, "known.example").await.unwrap(), "192.0.2.2", "SIGHUP does not wait");
    }

    #[tokio::test]
    async fn the_hosts_file_is_followed_and_comes_before_the_name_servers() {
        let directory = tempfile::tempdir().unwrap();
        let settings = files(directory.path(), "nameserver 127.0.0.1\n", two_servers().await);
        let resolver = SystemResolver::new(settings.clone()).unwrap();
        assert_eq!(first(&resolver, "known.example").await.unwrap(), "192.0.2.1");
        replace(&settings.hosts, "192.0.2.99 known.example\n");
        assert_eq!(first(&resolver, "known.example").await.unwrap(), "192.0.2.99");
        replace(&settings.hosts, "");
        assert_eq!(first(&resolver, "known.example").await.unwrap(), "192.0.2.1");
    }

    #[tokio::test]
    async fn a_name_is_looked_up_once_and_then_remembered() {
        let (resolver, asked) = name_server(ResponseCode::NXDomain).await;
        for _ in 0..2 {
            let mut addresses = resolver.addresses("known.example").await.unwrap();
            addresses.sort();
            assert_eq!(addresses, ["192.0.2.7", "2001:db8::7"].map(|text| text.parse::<IpAddr>().unwrap()));
        }
        assert_eq!(asked.load(Ordering::SeqCst), 2, "asked once for each family, then never again");
    }

    #[tokio::test]
    async fn a_name_is_looked_up_again_when_its_record_has_expired() {
        let (port, asked) = serve_for(1, ("127.0.0.1", 0), 7, ResponseCode::NXDomain).await;
        let resolver = resolver_at(port);
        let watch = Stopwatch::start();
        first(&resolver, "known.example").await.unwrap();
        let mut asked_again_after = None;
        while asked_again_after.is_none() && watch.elapsed() < std::time::Duration::from_secs(20) {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            let before = watch.elapsed();
            first(&resolver, "known.example").await.unwrap();
            asked_again_after = (asked.load(Ordering::SeqCst) > 2).then_some(before);
        }
        let after = asked_again_after.expect("the record expires");
        assert!(after >= std::time::Duration::from_millis(900), "not before its TTL: {after:?}");
    }

    #[tokio::test]
    async fn s104_a_name_that_does_not_exist_does_not_resolve() {
        let (resolver, _) = name_server(ResponseCode::NXDomain).await;
        assert_eq!(resolver.addresses("unknown.example").await, Err(ResolveError::NoSuchName));
        assert_eq!(resolver.addresses("under_score.example").await, Err(ResolveError::NoSuchName));
    }

    #[tokio::test]
    async fn s104_a_name_without_addresses_does_not_resolve() {
        let (resolver, _) = name_server(ResponseCode::NoError).await;
        assert_eq!(resolver.addresses("unknown.example").await, Err(ResolveError::NoSuchName));
    }

    #[tokio::test]
    async fn s104_a_name_does_not_resolve_whatever_the_resolver_says_of_it() {
        for (code, said) in [(ResponseCode::ServFail, "Server Failure"), (ResponseCode::Refused, "Query Refused")] {
            let (resolver, _) = name_server(code).await;
            let error = resolver.addresses("unknown.example").await.unwrap_err();
            assert_eq!(error.to_string(), format!("name does not resolve: the resolver says {said}"));
            assert_eq!(from_resolve(error).cause, FailureCause::ResolverFailed);
        }
    }

    #[tokio::test]
    async fn s104_p31_a_resolver_that_cannot_be_reached_says_nothing_about_the_name() {
        // A port that was free a moment ago: a name server that is not there.
        let port = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let error = resolver_at(port).addresses("unknown.example").await.unwrap_err();
        assert!(matches!(error, ResolveError::NoAnswer(_)), "{error}");
        assert_eq!(from_resolve(error).cause, FailureCause::NoNetwork);
    }

    #[tokio::test]
    async fn s104_what_cannot_be_a_name_does_not_resolve_and_nobody_is_asked() {
        let (resolver, asked) = name_server(ResponseCode::ServFail).await;
        let name = format!("{}.example", "a".repeat(64));
        assert_eq!(resolver.addresses(&name).await, Err(ResolveError::NoSuchName));
        assert_eq!(asked.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn a_static_host_is_found_whatever_its_spelling() {
        let address: IpAddr = "127.0.0.9".parse().unwrap();
        let system = SystemResolver::new(ResolverSettings::default()).unwrap();
        let resolver = system.with_static_hosts(&HashMap::from([("Feeds.Example".into(), address)]));
        assert_eq!(resolver.addresses("feeds.example.").await, Ok(vec![address]));
    }

    #[test]
    fn s104_p31_a_resolver_that_does_not_answer_is_named_as_such() {
        let error = read_error(NetError::Timeout);
        assert_eq!(error.to_string(), "name could not be looked up: the resolver did not answer");
    }
}
