//! Client for the daemon's API: finds the daemon, sends requests, prints responses.

use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use hyper::{Method, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::{Host, Url, form_urlencoded};

use super::arguments::Layers;
use super::connection::{ConnectionArguments, RequestBody, Sent, TokenSource, Transport};
use super::error::CliError;
use super::source_names::find_source;
use super::{Exit, complain, print, request};
use crate::api::ProblemView;
use crate::config::load;
use crate::model::SourceId;

/// Timeout of a response that is not a stream; a poll may take up to 50 seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(90);
/// Delay after a 429, and maximum number of retries.
const COME_BACK_AFTER: Duration = Duration::from_secs(1);
const TOO_FAST_MAX: usize = 10;
/// Maximum size of a response, in bytes.
const ANSWER_BYTES_MAX: usize = 256 << 20;

/// Socket of the systemd service, whose configuration the caller may not know.
const SERVICE_SOCKET: &str = "/run/feedwarden/feedwarden.sock";

pub(super) struct ApiClient {
    transport: Transport,
    /// Node of the fleet that answers.
    node: Option<String>,
    pub(super) is_json: bool,
}

pub(super) type Done = Result<Exit, CliError>;

pub(super) fn with_daemon(
    connection: ConnectionArguments,
    layers: Layers,
    command: impl AsyncFnOnce(&ApiClient) -> Done,
) -> Exit {
    let (is_json, node) = (connection.json, connection.node.clone());
    let done = transport(connection, layers).and_then(|transport| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| CliError::Failed(format!("there is no runtime: {error}")))?;
        let client = ApiClient { transport, node, is_json };
        runtime.block_on(command(&client))
    });
    match done {
        Ok(exit) => exit,
        Err(refusal) => {
            if is_json {
                let _ = print(&format!("{:#}\n", serde_json::to_value(refusal.problem()).unwrap_or_default()));
            }
            complain(&refusal);
            refusal.exit()
        }
    }
}

pub(super) async fn until_interrupted(command: impl Future<Output = Done>) -> Done {
    tokio::select! {
        done = command => done,
        _ = tokio::signal::ctrl_c() => Ok(Exit::Success),
    }
}

fn transport(connection: ConnectionArguments, layers: Layers) -> Result<Transport, CliError> {
    match (connection.url, connection.socket) {
        (Some(url), _) if !["http", "https"].contains(&url.scheme()) => {
            Err(CliError::Usage(format!("--url {url}: write http://… or https://…, or use --socket")))
        }
        (Some(url), _) => {
            let token = connection.token_file.map(TokenSource::File).or(connection.token.map(TokenSource::Given));
            if token.is_some() && url.scheme() == "http" && !is_this_machine(&url) {
                complain(&format_args!(
                    "warning: the token is sent to {url} unencrypted; put TLS in front of the daemon"
                ));
            }
            Ok(Transport::Url(url, token))
        }
        (None, Some(path)) => Ok(Transport::Socket(path)),
        // Resolve the configuration as the daemon does, so that both use the same socket.
        (None, None) => match load(&request(layers)) {
            Ok(loaded) => {
                let configured = loaded.settings.api.socket;
                let is_service = !configured.exists() && Path::new(SERVICE_SOCKET).exists();
                Ok(Transport::Socket(if is_service { SERVICE_SOCKET.into() } else { configured }))
            }
            Err(problems) => Err(CliError::Usage(problems.to_string())),
        },
    }
}

/// Whether the URL is not a loopback address.
fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

impl ApiClient {
    /// The file with the token, if it is in one and can be replaced there.
    pub(super) fn token_file(&self) -> Option<&Path> {
        match &self.transport {
            Transport::Url(_, Some(TokenSource::File(path))) => Some(path),
            _ => None,
        }
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, CliError> {
        self.exchange(Method::GET, path, Sent::default()).await
    }

    /// Waits and retries after a 429, for commands that take many requests.
    pub(super) async fn get_patiently(&self, path: &str) -> Result<Value, CliError> {
        for _ in 0..TOO_FAST_MAX {
            match self.get(path).await {
                Err(CliError::Problem(problem)) if problem.status == 429 => tokio::time::sleep(COME_BACK_AFTER).await,
                answer => return answer,
            }
        }
        self.get(path).await
    }

    pub(super) async fn post(&self, path: &str) -> Result<Value, CliError> {
        self.exchange(Method::POST, path, Sent::default()).await
    }

    pub(super) async fn send(&self, method: Method, path: &str, body: &Value) -> Result<Value, CliError> {
        self.exchange(method, path, Sent { body: Some(as_json(body)), headers: Vec::new() }).await
    }

    /// Sends `If-Match`.
    pub(super) async fn send_if(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        version: Option<i64>,
    ) -> Result<Value, CliError> {
        let headers = version.map(|version| ("If-Match", format!("\"{version}\""))).into_iter().collect();
        self.exchange(method, path, Sent { body: body.map(as_json), headers }).await
    }

    /// Uploads a large body; without a timeout.
    pub(super) async fn upload(
        &self,
        path: &str,
        media_type: &'static str,
        body: RequestBody,
    ) -> Result<Value, CliError> {
        let sent = Sent { body: Some((media_type, body)), headers: Vec::new() };
        let answer = self.opened(Method::POST, path, sent).await?;
        self.value(self.whole(answer).await?)
    }

    pub(super) async fn opened(&self, method: Method, path: &str, sent: Sent) -> Result<Response<Incoming>, CliError> {
        let answer = self.transport.ask(method, path, sent).await?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let body = self.whole(answer).await?;
        match serde_json::from_slice::<ProblemView>(&body) {
            Ok(problem) => Err(CliError::Problem(Box::new(problem))),
            Err(_) => Err(self.broken(format!("HTTP {status} from something that is no Feedwarden"))),
        }
    }

    /// None at the end of the body.
    pub(super) async fn piece(&self, body: &mut Incoming) -> Result<Option<Bytes>, CliError> {
        let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
        match frame {
            None => Ok(None),
            Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
            Some(Err(error)) => Err(self.broken(error.to_string())),
        }
    }

    /// Finds a source by id, URL or a part of URL or title.
    pub(super) async fn source(&self, name: &str) -> Result<SourceId, CliError> {
        Ok(find_source(self, name).await?.id)
    }

    /// Prints the response as JSON or as text.
    pub(super) fn show<T: DeserializeOwned>(&self, value: Value, words: impl FnOnce(T) -> String) -> Done {
        if self.is_json {
            return Ok(print(&format!("{value:#}\n")));
        }
        Ok(print(&words(read(value)?)))
    }

    pub(super) async fn remove(&self, path: &str, version: Option<i64>, said: &str) -> Done {
        self.send_if(Method::DELETE, path, None, version).await?;
        // The response has no body.
        Ok(print(&if self.is_json { format!("{:#}\n", json!({ "removed": path })) } else { said.to_owned() }))
    }

    /// Sends a request to this node of the fleet.
    pub(super) async fn post_to(&self, node: &str, path: &str) -> Result<Value, CliError> {
        self.exchange(Method::POST, &with_node(path, Some(node)), Sent::default()).await
    }

    async fn exchange(&self, method: Method, path: &str, sent: Sent) -> Result<Value, CliError> {
        let path = &with_node(path, self.node.as_deref());
        let exchange = async {
            let answer = self.opened(method, path, sent).await?;
            self.value(self.whole(answer).await?)
        };
        let late = |_| Err(self.broken(format!("no answer within {} s", ANSWER_WITHIN.as_secs())));
        tokio::time::timeout(ANSWER_WITHIN, exchange).await.unwrap_or_else(late)
    }

    async fn whole(&self, answer: Response<Incoming>) -> Result<Vec<u8>, CliError> {
        let mut body = answer.into_body();
        let mut bytes = Vec::new();
        while let Some(piece) = self.piece(&mut body).await? {
            if bytes.len() + piece.len() > ANSWER_BYTES_MAX {
                return Err(self.broken(format!("it is larger than {ANSWER_BYTES_MAX} bytes")));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    fn value(&self, bytes: Vec<u8>) -> Result<Value, CliError> {
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes).map_err(|error| self.broken(format!("it is no JSON: {error}")))
    }

    fn broken(&self, cause: String) -> CliError {
        CliError::Broken { place: self.transport.place(), cause }
    }
}

pub(super) fn query(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

pub(super) fn read<T: DeserializeOwned>(value: Value) -> Result<T, CliError> {
    serde_json::from_value(value)
        .map_err(|error| CliError::Failed(format!("the daemon is of another version: {error}")))
}

fn as_json(body: &Value) -> (&'static str, RequestBody) {
    ("application/json", RequestBody::Whole(Some(body.to_string().into())))
}

/// A path with the node that answers, unless it has one.
fn with_node(path: &str, node: Option<&str>) -> String {
    match node {
        Some(node) if !path.contains("node=") => {
            let node: String = form_urlencoded::byte_serialize(node.as_bytes()).collect();
            format!("{path}{}node={node}", if path.contains('?') { '&' } else { '?' })
        }
        _ => path.to_owned(),
    }
}
