//! A person at the browser: opens pages, reads, clicks and types.

use std::time::Duration;

use fantoccini::cookies::Cookie;
use fantoccini::elements::Element;
use fantoccini::error::CmdError;
use fantoccini::key::Key;
use fantoccini::{Client, Locator};
use feedwarden::api::SITE;
use serde_json::{Value, json};
use tokio::sync::MutexGuard;

use super::browser::{DriverCommand, axe, browser};

/// Far longer than anything should take: a bound, not a wait.
const PATIENCE: Duration = Duration::from_secs(30);
const HEIGHT: u32 = 900;
/// Updates of a page that may replace an element before it is used.
const REPLACED_MAX: usize = 10;

/// The browser, without cookies, without settings of earlier tests, and for this test only.
pub(super) struct Visit {
    pub(super) client: MutexGuard<'static, Client>,
    /// `http://ADDRESS:PORT` of the daemon.
    pub(super) origin: String,
}

impl Visit {
    pub(super) async fn to(origin: &str) -> Visit {
        let visit = Visit { client: browser().await, origin: origin.to_owned() };
        visit.javascript(true).await;
        // Ends what the last page still loads.
        visit.client.goto("about:blank").await.unwrap();
        visit.devtools("Network.clearBrowserCookies", json!({})).await;
        visit.dark(false).await;
        visit.width(1280).await;
        visit.log("browser").await;
        visit.log("performance").await;
        visit
    }

    /// Opens a page of the dashboard.
    pub(super) async fn open(&self, path: &str) {
        self.goto(&format!("{}{SITE}{path}", self.origin)).await;
    }

    pub(super) async fn goto(&self, url: &str) {
        self.client.goto(url).await.unwrap_or_else(|error| panic!("{url}: {error}"));
    }

    /// Signs in with a token, on the page that asks for it.
    pub(super) async fn sign_in(&self, token: &str) {
        self.fill("#token", token).await;
        self.click("main button[type=submit]").await;
    }

    /// The path of the page, with its query.
    pub(super) async fn path(&self) -> String {
        let url = self.client.current_url().await.unwrap();
        url[url::Position::BeforePath..].to_owned()
    }

    /// Does something with the first such element, and again if an update of the page has replaced it meanwhile.
    async fn with_element<T>(
        &self,
        name: &str,
        locator: Locator<'_>,
        act: impl AsyncFn(Element) -> Result<T, CmdError>,
    ) -> T {
        for _ in 0..REPLACED_MAX {
            let element = self.client.find(locator).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            match act(element).await {
                Err(error) if error.is_stale_element_reference() => {}
                done => return done.unwrap_or_else(|error| panic!("{name}: {error}")),
            }
        }
        panic!("{name} is replaced all the time");
    }

    pub(super) async fn click(&self, selector: &str) {
        self.with_element(selector, Locator::Css(selector), async |element| element.click().await).await;
    }

    /// Replaces the text of a field.
    pub(super) async fn fill(&self, selector: &str, text: &str) {
        let fill = async |element: Element| {
            element.clear().await?;
            element.send_keys(text).await
        };
        self.with_element(selector, Locator::Css(selector), fill).await;
    }

    /// Presses a button by its words.
    pub(super) async fn press_button(&self, words: &str) {
        let path = format!("//main//button[normalize-space()='{words}']");
        self.with_element(words, Locator::XPath(&path), async |button| button.click().await).await;
    }

    /// Chooses an option by its value.
    pub(super) async fn choose(&self, selector: &str, value: &str) {
        let choose = async |element: Element| element.select_by_value(value).await;
        self.with_element(selector, Locator::Css(selector), choose).await;
    }

    /// The document as it is now.
    pub(super) async fn source(&self) -> String {
        self.client.source().await.unwrap()
    }

    /// Presses a key where the focus is.
    pub(super) async fn press(&self, key: Key) {
        self.client.active_element().await.unwrap().send_keys(&char::from(key).to_string()).await.unwrap();
    }

    /// How many elements there are.
    pub(super) async fn count(&self, selector: &str) -> usize {
        self.client.find_all(Locator::Css(selector)).await.unwrap().len()
    }

    /// The visible text of the first such element.
    pub(super) async fn text(&self, selector: &str) -> String {
        self.with_element(selector, Locator::Css(selector), async |element| element.text().await).await
    }

    /// Runs the body of a function in the page.
    pub(super) async fn script(&self, body: &str) -> Value {
        self.client.execute(body, Vec::new()).await.unwrap_or_else(|error| panic!("{body}: {error}"))
    }

    /// Waits until the text of such an element satisfies a condition. Elements may be replaced meanwhile.
    pub(super) async fn wait_until(&self, selector: &str, is_so: impl Fn(&str) -> bool) {
        let mut last = String::new();
        let waiting = async {
            loop {
                if let Ok(element) = self.client.find(Locator::Css(selector)).await
                    && let Ok(text) = element.text().await
                {
                    if is_so(&text) {
                        return;
                    }
                    last = text;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
            panic!("never came, in {selector}; it reads: {last:?}");
        }
    }

    pub(super) async fn wait_for_text(&self, selector: &str, text: &str) {
        self.wait_until(selector, |found| found.contains(text)).await;
    }

    pub(super) async fn cookies(&self) -> Vec<Cookie<'static>> {
        self.client.get_all_cookies().await.unwrap()
    }

    /// Errors and warnings of the console since the last call, violations of the Content-Security-Policy among them. An
    /// answer with one of these statuses, which the test wants, is none.
    pub(super) async fn console_errors(&self, wanted_statuses: &[u16]) -> Vec<String> {
        let is_wanted = |message: &str| {
            wanted_statuses.iter().any(|status| message.contains(&format!("responded with a status of {status}")))
        };
        let entries = self.log("browser").await;
        let bad = entries.iter().filter(|entry| ["SEVERE", "WARNING"].contains(&entry["level"].as_str().unwrap()));
        let messages = bad.map(|entry| entry["message"].as_str().unwrap().to_owned());
        messages.filter(|message| !is_wanted(message)).collect()
    }

    /// URLs of all requests since the last call.
    pub(super) async fn requests(&self) -> Vec<String> {
        let entries = self.log("performance").await;
        let events = entries.iter().map(|entry| {
            let message: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
            message["message"].clone()
        });
        let sent = events.filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.map(|event| event["params"]["request"]["url"].as_str().unwrap().to_owned()).collect()
    }

    /// Nothing in the console, and no request to any other place than the daemon.
    pub(super) async fn is_clean(&self, wanted_statuses: &[u16]) {
        let errors = self.console_errors(wanted_statuses).await;
        assert!(errors.is_empty(), "{}: {errors:#?}", self.path().await);
        let requests = self.requests().await;
        assert!(!requests.is_empty(), "the log has the requests");
        let start = format!("{}{SITE}", self.origin);
        let elsewhere: Vec<&String> = requests.iter().filter(|url| !url.starts_with(&start)).collect();
        assert!(elsewhere.is_empty(), "{}: {elsewhere:?}", self.path().await);
    }

    /// Serious findings of axe-core on the page.
    pub(super) async fn accessibility_faults(&self) -> Vec<String> {
        // Through the driver, since the page itself takes no foreign scripts.
        self.client.execute(&axe(), Vec::new()).await.unwrap();
        let script = "const done = arguments[arguments.length - 1]; \
                      axe.run().then((found) => done(found), (error) => done(String(error)));";
        let found = self.client.execute_async(script, Vec::new()).await.unwrap();
        let checked = found["passes"].as_array().map_or(0, Vec::len);
        assert!(checked > 5, "axe has checked the page: {found}");
        let violations = found["violations"].as_array().unwrap().iter();
        let serious =
            violations.filter(|violation| ["serious", "critical"].iter().any(|it| violation["impact"] == *it));
        serious
            .map(|violation| {
                let nodes = violation["nodes"].as_array().unwrap().iter();
                let places: Vec<String> =
                    nodes.map(|node| format!("{} {}", node["html"], node["failureSummary"])).collect();
                format!("{}: {}\n{}", violation["id"], violation["help"], places.join("\n"))
            })
            .collect()
    }

    /// The width of the page in pixels.
    pub(super) async fn width(&self, width: u32) {
        self.size(width, HEIGHT).await;
    }

    async fn size(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Whether pages show scrollbars that take room.
    pub(super) async fn scrollbars(&self, are_shown: bool) {
        self.devtools("Emulation.setScrollbarsHidden", json!({ "hidden": !are_shown })).await;
    }

    /// The page as PNG, from its top to its end or to this height.
    pub(super) async fn picture(&self, width: u32, height_max: u32) -> Vec<u8> {
        let height = self.script("return document.documentElement.scrollHeight").await.as_u64().unwrap();
        self.size(width, height_max.min(u32::try_from(height).unwrap())).await;
        let picture = self.client.screenshot().await.unwrap();
        self.width(width).await;
        picture
    }

    /// Whether pages opened from now on run their scripts.
    pub(super) async fn javascript(&self, is_on: bool) {
        self.devtools("Emulation.setScriptExecutionDisabled", json!({ "value": !is_on })).await;
    }

    /// Whether the reader prefers dark pages.
    pub(super) async fn dark(&self, is_dark: bool) {
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", features).await;
    }

    async fn devtools(&self, name: &str, parameters: Value) -> Value {
        let answer = self.client.issue_cmd(DriverCommand::devtools(name, parameters)).await;
        answer.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    async fn log(&self, kind: &str) -> Vec<Value> {
        let Value::Array(entries) = self.client.issue_cmd(DriverCommand::log(kind)).await.unwrap() else {
            panic!("a log is a list")
        };
        entries
    }
}
