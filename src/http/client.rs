//! The client: settings and connections, and [`Client::send`], which makes a request and follows its redirects.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::{HeaderValue, LOCATION};
use parking_lot::RwLock;
use url::Url;

use super::address::AddressPolicy;
use super::body::{self, BodyLimits};
use super::dial::Dialer;
use super::failure::{from_hyper, from_redirect, from_status, other, window_closed, with_waits};
use super::headers::{self, Caching};
use super::memory::{MemoryBudget, MemoryUse};
use super::outgoing::{RequestContext, build};
use super::pending_redirect::PendingRedirect;
use super::pool::Pool;
use super::progress::{RequestProgress, RequestStage};
use super::proxy::{Proxy, ProxyKind};
use super::rate_limit::rate_limit;
use super::redirect::{self, RedirectError};
use super::reply::{Content, Failure, Headers, Redirect, Reply};
use super::request::{Request, without_credentials};
use super::resolve::{Resolve, ResolverNotice, SystemResolver};
use super::send_window::SendWindow;
use super::settings::{HttpSettings, SetupError};
use super::tls;
use super::wire::HttpConnection;
use crate::clock::Stopwatch;
use crate::model::{FailureReport, SourceProxy, Timestamp};

/// Maximum size of the body of an error response, in bytes; larger ones are pages for browsers.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;

/// Asks publishers. Cheap to clone; clones share settings, connections and the cache of names.
#[derive(Clone)]
pub struct Client(Arc<SharedClient>);

struct SharedClient {
    inner: RwLock<Arc<ClientState>>,
    now: Now,
    resolver: ClientResolver,
    memory: Arc<MemoryBudget>,
    window: OptionalWindow,
}

/// The time in which requests may be sent, if it is limited.
pub(super) type OptionalWindow = Arc<OnceLock<SendWindow>>;

/// How names are resolved, whatever the settings.
#[derive(Clone)]
enum ClientResolver {
    System(SystemResolver),
    Other(Arc<dyn Resolve>),
}

type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

struct ClientState {
    settings: HttpSettings,
    user_agent: HeaderValue,
    dialer: Dialer,
    pool: Pool,
    now: Now,
    memory: Arc<MemoryBudget>,
    window: OptionalWindow,
}

impl Client {
    /// Uses the system's resolver.
    pub fn new(
        settings: HttpSettings,
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Result<Client, SetupError> {
        Client::with(settings, Arc::new(now), None)
    }

    /// Uses another resolver, which has to handle `static_hosts`.
    pub fn with_resolver(
        settings: HttpSettings,
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Client, SetupError> {
        Client::with(settings, Arc::new(now), Some(resolver))
    }

    fn with(settings: HttpSettings, now: Now, resolver: Option<Arc<dyn Resolve>>) -> Result<Client, SetupError> {
        let resolver = match resolver {
            Some(resolver) => ClientResolver::Other(resolver),
            None => ClientResolver::System(SystemResolver::new(settings.resolver.clone())?),
        };
        let memory = Arc::new(MemoryBudget::new(settings.memory_bytes_max));
        let window = OptionalWindow::default();
        let inner = RwLock::new(Arc::new(ClientState::new(settings, &now, &resolver, &memory, &window)?));
        Ok(Client(Arc::new(SharedClient { inner, now, resolver, memory, window })))
    }

    /// Sends requests within this window only, in all clones. To be called once.
    pub fn limit_to(&self, window: SendWindow) {
        let _ = self.0.window.set(window);
    }

    /// Applies new settings from the next request on, in all clones; running requests are not affected. Invalid
    /// settings change nothing.
    pub fn reconfigure(&self, settings: HttpSettings) -> Result<(), SetupError> {
        let SharedClient { inner, now, resolver, memory, window } = &*self.0;
        let memory_bytes_max = settings.memory_bytes_max;
        let new = Arc::new(ClientState::new(settings, now, resolver, memory, window)?);
        memory.set_max(memory_bytes_max);
        *inner.write() = new;
        Ok(())
    }

    /// Tells this function when the system's configuration of name servers changes or cannot be used.
    pub fn watch_resolver(&self, hook: impl Fn(ResolverNotice) + Send + Sync + 'static) {
        if let ClientResolver::System(resolver) = &self.0.resolver {
            resolver.watch(hook);
        }
    }

    /// Reads the system's configuration of name servers again and forgets all addresses. Blocks.
    pub fn refresh_resolver(&self) {
        if let ClientResolver::System(resolver) = &self.0.resolver {
            resolver.refresh();
        }
    }

    /// Sends a request and follows redirects, if the request says so. Ends within what is left of the deadline,
    /// whatever the other side does.
    pub async fn send(&self, request: &Request) -> Result<Reply, Failure> {
        let hops = request
            .pending_redirect
            .as_ref()
            .map_or_else(Vec::new, |pending_redirect| pending_redirect.hops().to_vec());
        let mut progress = RequestProgress { hops, ..RequestProgress::default() };
        let inner = self.inner();
        let deadline = inner.settings.deadline;
        let time_left = deadline.saturating_sub(request.time_used);
        let outcome = match inner.within_window(time_left, inner.travel(request, &mut progress)).await {
            RequestEnd::Over(outcome) => outcome,
            RequestEnd::Late => Err(progress.refusal.take().unwrap_or_else(|| progress.too_late(deadline))),
            RequestEnd::Cut => Err(window_closed()),
        };
        let RequestProgress { hops, headers, rate_limit, body, .. } = progress;
        outcome.map_err(|report| Failure { report, hops, rate_limit, headers, body })
    }

    /// Deadline of one request.
    pub fn deadline(&self) -> Duration {
        self.inner().settings.deadline
    }

    /// What the bodies in flight hold.
    pub fn memory(&self) -> MemoryUse {
        self.0.memory.view()
    }

    pub fn idle_connections(&self) -> usize {
        self.inner().pool.count()
    }

    fn inner(&self) -> Arc<ClientState> {
        self.0.inner.read().clone()
    }
}

impl ClientState {
    fn new(
        settings: HttpSettings,
        now: &Now,
        resolver: &ClientResolver,
        memory: &Arc<MemoryBudget>,
        window: &OptionalWindow,
    ) -> Result<ClientState, SetupError> {
        let dialer = Dialer {
            resolver: match resolver {
                ClientResolver::Other(resolver) => resolver.clone(),
                ClientResolver::System(system) => Arc::new(system.with_static_hosts(&settings.static_hosts)),
            },
            policy: AddressPolicy::new(
                settings.allow_private_networks,
                &settings.allowed_networks,
                &settings.nat64_prefixes,
            ),
            proxy: settings.proxy.as_ref().map(Proxy::from_setting).transpose().map_err(SetupError::Proxy)?,
            tls: tls::configuration(settings.authorities.as_deref(), settings.tls_session_hosts_max)
                .map_err(SetupError::Authorities)?,
            connect_timeout: settings.connect_timeout,
            window: window.clone(),
        };
        let user_agent = settings.user_agent.parse().map_err(|_| SetupError::UserAgent)?;
        let pool = Pool::new(settings.idle_timeout);
        let (now, memory, window) = (now.clone(), memory.clone(), window.clone());
        Ok(ClientState { settings, user_agent, dialer, pool, now, memory, window })
    }

    /// Awaits a request for this time, or until requests under way are cut. Renewals of the right to send move that
    /// moment.
    async fn within_window<T>(&self, time_left: Duration, request: impl Future<Output = T>) -> RequestEnd<T> {
        let Some(window) = self.window.get() else {
            return tokio::time::timeout(time_left, request).await.map_or(RequestEnd::Late, RequestEnd::Over);
        };
        let (mut request, mut closed) = (std::pin::pin!(request), std::pin::pin!(window.closed()));
        let watch = Stopwatch::start();
        loop {
            let left = time_left.saturating_sub(watch.elapsed());
            let until_cut = window.left().unwrap_or(Duration::MAX);
            tokio::select! {
                over = &mut request => return RequestEnd::Over(over),
                () = &mut closed => return RequestEnd::Cut,
                () = tokio::time::sleep(left.min(until_cut)) => {}
            }
            if window.left() == Some(Duration::ZERO) {
                return RequestEnd::Cut;
            }
            if time_left <= watch.elapsed() {
                return RequestEnd::Late;
            }
        }
    }

    async fn travel(&self, request: &Request, progress: &mut RequestProgress) -> Result<Reply, FailureReport> {
        let (mut url, mut trusted) = match &request.pending_redirect {
            Some(pending_redirect) => (pending_redirect.target().clone(), pending_redirect.trusted()),
            None => (read_url(&request.url)?, true),
        };
        loop {
            let (link, body, status) = self.ask(request, &url, trusted, progress).await?;
            if Redirect::of(status.as_u16()).is_none() {
                return self.read(request, &url, (link, body, status), progress).await;
            }
            if request.method.body().is_some() {
                return Err(from_redirect(RedirectError::Post, status.as_u16()));
            }
            let location = progress.headers.0.get(LOCATION).map(HeaderValue::as_bytes);
            let target = redirect::target(&url, location, &progress.hops, self.settings.redirects_max)
                .map_err(|error| from_redirect(error, status.as_u16()))?;
            // After leaving the origin, send no secrets, even if a redirect leads back.
            trusted = trusted && redirect::same_origin(&url, &target);
            let target = if trusted { with_credentials_of(&url, target) } else { target };
            if !request.follows {
                let pending_redirect = PendingRedirect::new(target, progress.hops.clone(), trusted);
                return Ok(Self::reply(Content::Redirect(pending_redirect), &url, (self.now)(), progress));
            }
            url = target;
        }
    }

    /// One hop: sends the request and receives the head of the response.
    async fn ask(
        &self,
        request: &Request,
        url: &Url,
        trusted: bool,
        progress: &mut RequestProgress,
    ) -> Result<(HttpConnection, Incoming, StatusCode), FailureReport> {
        progress.depart(url);
        let proxy = self.proxy_for(request)?;
        let proxy = proxy.as_deref();
        let http_proxy = proxy.filter(|proxy| proxy.kind == ProxyKind::Http && url.scheme() == "http");
        let own_agent = request.user_agent.as_deref().map(HeaderValue::from_str).transpose();
        let own_agent = own_agent.map_err(|_| other("the source's user agent cannot be sent"))?;
        let user_agent = own_agent.as_ref().unwrap_or(&self.user_agent);
        let outgoing = build(request, url, &RequestContext { user_agent, trusted, proxy: http_proxy })?;
        let (link, answer) = match self.ask_kept(request, url, &outgoing, progress).await {
            Some(answered) => answered,
            None => self.ask_afresh(url, outgoing, proxy, request.is_operators, progress).await?,
        };
        let (head, body) = answer.into_parts();
        progress.rate_limit = rate_limit(&head.headers, (self.now)());
        progress.headers = Headers(head.headers);
        progress.note(|hop| hop.status = Some(head.status.as_u16()));
        Ok((link, body, head.status))
    }

    /// The proxy that a request goes through.
    fn proxy_for(&self, request: &Request) -> Result<Option<Cow<'_, Proxy>>, FailureReport> {
        match &request.proxy {
            None => Ok(self.dialer.proxy.as_ref().map(Cow::Borrowed)),
            Some(SourceProxy::Direct) => Ok(None),
            Some(SourceProxy::Through(url)) => {
                let proxy = Proxy::of_source(url).map_err(|error| other(format!("the source's proxy: {error}")))?;
                Ok(Some(Cow::Owned(proxy)))
            }
        }
    }

    /// Uses a kept connection, if there is one. It may be closed at any moment, so a failure is ignored.
    async fn ask_kept(
        &self,
        request: &Request,
        url: &Url,
        outgoing: &hyper::Request<String>,
        progress: &mut RequestProgress,
    ) -> Option<(HttpConnection, hyper::Response<Incoming>)> {
        // A POST must not be sent twice, so it does not use a connection that may be closed.
        if outgoing.method() != hyper::Method::GET {
            return None;
        }
        let mut link = self.pool.take(url, request.proxy.as_ref())?;
        progress.stage = RequestStage::Waiting;
        progress.note(|hop| hop.address = link.address);
        check_window(&self.window).ok()?;
        let answer = link.ask(outgoing.clone()).await.ok()?;
        Some((link, answer))
    }

    async fn ask_afresh(
        &self,
        url: &Url,
        outgoing: hyper::Request<String>,
        proxy: Option<&Proxy>,
        is_operators: bool,
        progress: &mut RequestProgress,
    ) -> Result<(HttpConnection, hyper::Response<Incoming>), FailureReport> {
        let stream = self.dialer.dial(url, proxy, is_operators, progress).await?;
        progress.stage = RequestStage::Waiting;
        let first_byte = stream.first_byte();
        let failed = |error: hyper::Error| from_hyper(&error, RequestStage::Waiting, first_byte.is_tls());
        let address = progress.hops.last().and_then(|hop| hop.address);
        let mut link = HttpConnection::open(stream, address).await.map_err(failed)?;
        // The process may have been stopped while it connected.
        check_window(&self.window)?;
        let answer = link.ask(outgoing).await.map_err(failed)?;
        Ok((link, answer))
    }

    async fn read(
        &self,
        request: &Request,
        url: &Url,
        (mut link, mut body, status): (HttpConnection, Incoming, StatusCode),
        progress: &mut RequestProgress,
    ) -> Result<Reply, FailureReport> {
        let answered_at = (self.now)();
        // A challenge page is not the publisher's content, whatever its status (p30).
        let challenged = progress.headers.get("cf-mitigated").is_some_and(|value| value == "challenge");
        let content = match status {
            StatusCode::NOT_MODIFIED => Content::NotModified,
            StatusCode::OK if !challenged => {
                body::read(&mut link, &mut body, self.limits(request), &self.memory, progress).await?
            }
            status => {
                let retry_after = headers::retry_after(&progress.headers.0, answered_at);
                let report = with_waits(from_status(status, challenged), retry_after, progress.rate_limit);
                if request.wants_refusal {
                    progress.refusal = Some(report.clone());
                    progress.body = self.read_refusal(&mut link, &mut body, progress).await;
                }
                return Err(report);
            }
        };
        if request.keep_alive {
            drop(body);
            self.pool.keep(url, request.proxy.as_ref(), link);
        }
        Ok(Self::reply(content, url, answered_at, progress))
    }

    fn reply(content: Content, url: &Url, answered_at: Timestamp, progress: &mut RequestProgress) -> Reply {
        let headers = std::mem::take(&mut progress.headers);
        Reply {
            content,
            url: without_credentials(url),
            hops: std::mem::take(&mut progress.hops),
            rate_limit: progress.rate_limit.take(),
            answered_at,
            validators: headers::validators(&headers.0),
            caching: Caching::of(&headers.0),
            headers,
            memory: progress.memory.take(),
        }
    }

    fn limits(&self, request: &Request) -> BodyLimits {
        let all = BodyLimits::refuse_over(self.settings.body_bytes_max);
        match request.cut_at_bytes {
            Some(bytes_max) => BodyLimits { bytes_max: bytes_max.min(all.bytes_max), cuts: true, ..all },
            None => all,
        }
    }

    /// The body of an error response, if it is small, complete and fast; the error is reported in any case.
    async fn read_refusal(
        &self,
        link: &mut HttpConnection,
        body: &mut Incoming,
        progress: &mut RequestProgress,
    ) -> Vec<u8> {
        let limit = REFUSAL_BYTES_MAX.min(self.settings.body_bytes_max);
        let reading = body::read(link, body, BodyLimits::refuse_over(limit), &self.memory, progress);
        match tokio::time::timeout(self.settings.deadline / 4, reading).await {
            Ok(Ok(Content::Body { bytes, .. })) => bytes,
            _ => Vec::new(),
        }
    }
}

enum RequestEnd<T> {
    Over(T),
    /// The deadline has passed.
    Late,
    /// The window for requests was closed.
    Cut,
}

/// Fails if no request may be sent now.
pub(super) fn check_window(window: &OptionalWindow) -> Result<(), FailureReport> {
    match window.get() {
        Some(window) if !window.is_open() => Err(window_closed()),
        _ => Ok(()),
    }
}

/// Parses the URL of a request.
fn read_url(text: &str) -> Result<Url, FailureReport> {
    let url = Url::parse(text).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => other("the URL begins with neither https:// nor http://"),
        error => other(format!("the URL cannot be read: {error}")),
    })?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        scheme => Err(other(format!("the URL says {scheme}, which is neither http nor https"))),
    }
}

/// A redirect within an origin keeps the credentials that came with the URL, unless it brings its own.
fn with_credentials_of(from: &Url, mut target: Url) -> Url {
    if target.username().is_empty() && target.password().is_none() {
        // Both fail only for URLs that cannot hold credentials; http and https can.
        let _ = target.set_username(from.username());
        let _ = target.set_password(from.password());
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_can_be_moved_between_threads() {
        fn check<T: Send>(_: T) {}
        let client = Client::new(HttpSettings::default(), || Timestamp::EPOCH).unwrap();
        check(client.send(&Request::new("http://feeds.example/")));
        check(client);
    }

    #[test]
    fn settings_that_cannot_be_followed_are_named() {
        let error = |settings| Client::new(settings, || Timestamp::EPOCH).err().unwrap().to_string();
        let user_agent = "two\nlines".into();
        assert_eq!(
            error(HttpSettings { user_agent, ..HttpSettings::default() }),
            "the user agent holds characters that cannot be sent"
        );
        let proxy = Some(Url::parse("ftp://ann:hidden@proxy.example/").unwrap());
        assert_eq!(
            error(HttpSettings { proxy, ..HttpSettings::default() }),
            "the proxy cannot be used: ftp is not a kind of proxy: http, socks5 and socks5h are"
        );
    }
}
