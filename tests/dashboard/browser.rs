//! One headless Chromium for all tests of this process; one test at a time has it.

use std::sync::LazyLock;

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use hyper::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Mutex, MutexGuard, OnceCell};
use url::{ParseError, Url};

/// A name that leads to the daemon and that the daemon does not know.
pub(super) const REBOUND: &str = "rebound.example";

const FLAGS: [&str; 10] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--lang=en-US",
];

/// The connection to the driver outlives the runtimes of the tests.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap());
static BROWSER: OnceCell<Mutex<Client>> = OnceCell::const_new();

/// The browser, when the tests before have ended. It ends with the driver.
pub(super) async fn browser() -> MutexGuard<'static, Client> {
    BROWSER.get_or_init(async || Mutex::new(start().await)).await.lock().await
}

/// axe-core, as a script.
pub(super) fn axe() -> String {
    let path = std::env::var("FEEDWARDEN_TEST_AXE")
        .expect("tests of accessibility need axe-core, which tests/with-browser fetches from the npm registry");
    std::fs::read_to_string(path).unwrap()
}

async fn start() -> Client {
    let driver = std::env::var("FEEDWARDEN_TEST_WEBDRIVER").expect(
        "these tests need a browser: run `tests/run`, or `tests/with-browser cargo test dashboard::` for these alone",
    );
    let mut flags: Vec<String> = FLAGS.map(str::to_owned).to_vec();
    flags.push(format!("--host-resolver-rules=MAP {REBOUND} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"));
    let mut options = json!({ "args": flags });
    if let Ok(binary) = std::env::var("FEEDWARDEN_TEST_CHROMIUM") {
        options["binary"] = binary.into();
    }
    let Value::Object(capabilities) = json!({
        "browserName": "chrome",
        "goog:chromeOptions": options,
        "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        "timeouts": { "pageLoad": 60_000, "script": 60_000 },
    }) else {
        unreachable!("it is an object")
    };
    let connecting = RUNTIME.spawn(async move {
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities).connect(&driver).await
    });
    connecting.await.unwrap().expect("chromedriver starts Chromium")
}

/// A command of chromedriver that the standard does not have.
#[derive(Debug)]
pub(super) struct DriverCommand {
    /// Below the session.
    path: &'static str,
    body: Value,
}

impl DriverCommand {
    /// Entries of a log since they were read last.
    pub(super) fn log(kind: &str) -> DriverCommand {
        DriverCommand { path: "se/log", body: json!({ "type": kind }) }
    }

    /// A command of the DevTools protocol.
    pub(super) fn devtools(name: &str, parameters: Value) -> DriverCommand {
        DriverCommand { path: "goog/cdp/execute", body: json!({ "cmd": name, "params": parameters }) }
    }
}

impl WebDriverCompatibleCommand for DriverCommand {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}
