//! Dashboard, rules and documents name metrics and labels that the daemon has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use feedwarden::store::settings::EngineSettings;
use regex::Regex;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::net::{TcpStream, UnixStream};
use yaml_rust2::{Yaml, YamlLoader};

use super::client::ask;
use super::process::start;
use super::world::SECRET;
use crate::pipeline::run;
use crate::store::Engine::Postgres;

/// Labels that Prometheus adds to every sample.
const ADDED_LABELS: [&str; 2] = ["job", "instance"];
/// Labels with more values than one page shows.
const OPEN_LABELS: [&str; 6] = ["job", "instance", "method", "route", "code", "le"];

/// Values of each label, by the name of the sample.
type Samples = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// What a daemon that is a node of a fleet shows after a few requests.
async fn scrape_node() -> Samples {
    let directory = tempfile::tempdir().unwrap();
    let EngineSettings::Postgres(engine) = Postgres.settings(&directory).await.engine else { unreachable!() };
    let configuration = json!({
        "database": { "url": engine.url.expose_secret() },
        "api": { "listen": "127.0.0.1:0", "jwt-secret": SECRET },
    });
    fs::write(directory.path().join("own.yaml"), configuration.to_string()).unwrap();
    let (_daemon, ready) = start(directory.path(), &["--config", "own.yaml"]);
    // A refusal and an answer: their counters have no values before.
    let stream = TcpStream::connect(ready["listen"].as_str().unwrap()).await.unwrap();
    assert_eq!(ask(stream, "GET", "/api/v1/sources", &[], b"").await.status, 401);
    let socket = ready["socket"].as_str().unwrap();
    let page = async || ask(UnixStream::connect(socket).await.unwrap(), "GET", "/metrics", &[], b"").await.body;
    page().await;
    samples(&page().await)
}

fn samples(page: &str) -> Samples {
    let labels = label_pattern();
    let mut found = Samples::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once(['{', ' ']).unwrap();
        let of_name = found.entry(name.to_owned()).or_default();
        if let Some((inside, _)) = rest.rsplit_once('}') {
            for pair in labels.captures_iter(inside) {
                of_name.entry(pair[1].to_owned()).or_default().insert(pair[3].to_owned());
            }
        }
    }
    found
}

fn label_pattern() -> Regex {
    Regex::new(r#"([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)""#).unwrap()
}

/// What an expression says that the samples do not bear out.
fn complaints(expression: &str, recorded: &BTreeSet<String>, samples: &Samples) -> Vec<String> {
    let mut expression = expression.to_owned();
    recorded.iter().for_each(|name| expression = expression.replace(name, "recorded"));
    let metric = Regex::new(r"\b((?:feedwarden|process)_[a-z0-9_]+)\s*(?:\{([^}]*)\})?").unwrap();
    let (mut complaints, mut labels_of_all) = (Vec::new(), BTreeSet::from(ADDED_LABELS.map(str::to_owned)));
    for named in metric.captures_iter(&expression) {
        let name = &named[1];
        let Some(labels) = samples.get(name) else {
            complaints.push(format!("there is no metric {name}: {expression}"));
            continue;
        };
        labels_of_all.extend(labels.keys().cloned());
        for pair in label_pattern().captures_iter(named.get(2).map_or("", |inside| inside.as_str())) {
            let (label, values) = (&pair[1], &pair[3]);
            if !labels.contains_key(label) && !ADDED_LABELS.contains(&label) {
                complaints.push(format!("{name} has no label {label}: {expression}"));
            } else if !OPEN_LABELS.contains(&label) {
                let unknown = values.split('|').filter(|value| !labels[label].contains(*value));
                complaints.extend(unknown.map(|value| format!("{name} has no {label}=\"{value}\": {expression}")));
            }
        }
    }
    let grouping = Regex::new(r"\b(?:by|on|without|ignoring)\s*\(([^)]*)\)").unwrap();
    let grouped = grouping.captures_iter(&expression);
    let grouped: BTreeSet<String> = grouped
        .flat_map(|group| group[1].split(',').map(|label| label.trim().to_owned()).collect::<Vec<_>>())
        .collect();
    if labels_of_all.len() > ADDED_LABELS.len() {
        complaints.extend(
            grouped.difference(&labels_of_all).map(|label| format!("no metric has the label {label}: {expression}")),
        );
    }
    complaints
}

/// Values of this key, at any depth.
fn values_of<'a>(key: &str, within: &'a Value, found: &mut Vec<&'a str>) {
    match within {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| match value {
            Value::String(text) if name == key => found.push(text),
            _ => values_of(key, value, found),
        }),
        Value::Array(items) => items.iter().for_each(|item| values_of(key, item, found)),
        _ => {}
    }
}

fn yaml_values_of(key: &str, within: &Yaml, found: &mut Vec<String>) {
    match within {
        Yaml::Hash(fields) => fields.iter().for_each(|(name, value)| match value {
            Yaml::String(text) if name.as_str() == Some(key) => found.push(text.clone()),
            _ => yaml_values_of(key, value, found),
        }),
        Yaml::Array(items) => items.iter().for_each(|item| yaml_values_of(key, item, found)),
        _ => {}
    }
}

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn yaml(path: &str, keys: &[&str]) -> Vec<String> {
    let documents = YamlLoader::load_from_str(&text(path)).unwrap();
    let mut found = Vec::new();
    keys.iter().for_each(|key| documents.iter().for_each(|document| yaml_values_of(key, document, &mut found)));
    found
}

#[test]
fn dashboard_rules_and_documents_name_metrics_that_a_node_has() {
    run(async || {
        let samples = scrape_node().await;

        let dashboard: Value = serde_json::from_str(&text("config/grafana/dashboard.json")).unwrap();
        let mut panels = Vec::new();
        ["expr", "query"].iter().for_each(|key| values_of(key, &dashboard, &mut panels));
        assert!(panels.len() > 50, "{} expressions", panels.len());
        let rules = yaml("config/prometheus/rules.yaml", &["expr"]);
        assert!(rules.len() > 20, "{} rules", rules.len());
        let recorded: BTreeSet<String> = yaml("config/prometheus/rules.yaml", &["record"]).into_iter().collect();
        let tests = yaml("config/prometheus/rules_test.yaml", &["series", "expr"]);
        let documents = text("docs/operations.md");

        let expressions = panels.into_iter().map(str::to_owned).chain(rules).chain(tests);
        let found: Vec<String> =
            expressions.flat_map(|expression| complaints(&expression, &recorded, &samples)).collect();
        assert!(found.is_empty(), "{found:#?}");

        for (name, labels) in &samples {
            let name = ["_bucket", "_count", "_sum"].iter().fold(name.as_str(), |name, end| name.trim_end_matches(end));
            let listed = name.strip_prefix("feedwarden_").unwrap_or(name);
            assert!(documents.contains(&format!("`{listed}`")), "docs/operations.md does not list {listed}");
            for (label, value) in
                labels.iter().flat_map(|(label, values)| values.iter().map(move |value| (label, value)))
            {
                assert!(!value.contains(char::is_whitespace), "{name}: {label}={value:?}");
            }
        }
        assert!(samples.len() > 70, "{} names", samples.len());
    });
}

#[test]
fn a_name_label_or_value_that_no_sample_has_is_found() {
    let samples = samples("feedwarden_polls_total{outcome=\"read\"} 1\nprocess_open_fds 3\n");
    let recorded = BTreeSet::from(["job:feedwarden_polls:rate5m".to_owned()]);
    for (expression, complaint) in [
        ("sum by (job, outcome) (rate(feedwarden_polls_total{job=\"a\", outcome!~\"read\"}[5m]))", None),
        ("job:feedwarden_polls:rate5m > 1 and process_open_fds > 3", None),
        ("up{job=\"feedwarden\"} == 0", None),
        ("feedwarden_poll_total", Some("there is no metric feedwarden_poll_total")),
        ("feedwarden_polls_total{kind=\"read\"}", Some("has no label kind")),
        ("feedwarden_polls_total{outcome=~\"read|done\"}", Some("has no outcome=\"done\"")),
        ("sum by (kind) (feedwarden_polls_total)", Some("no metric has the label kind")),
    ] {
        let found = complaints(expression, &recorded, &samples);
        assert_eq!(found.len(), usize::from(complaint.is_some()), "{expression}: {found:?}");
        assert!(complaint.is_none_or(|complaint| found[0].contains(complaint)), "{expression}: {found:?}");
    }
}
