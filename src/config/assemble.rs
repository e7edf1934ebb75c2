//! Fills the settings structs from the values in force, and finds what no single value shows to be wrong.

use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::SecretString;

use super::database_url::DatabaseUrl;
use super::effective::Effective;
use super::problem::ConfigProblem;
use super::secret;
use super::settings::Settings;
use crate::actors::{FaultSettings, FetchSettings, PipelineSettings, SchedulerSettings};
use crate::api::settings::{ApiLimits, ApiSettings, TokenKey, TokenSettings};
use crate::http::HttpSettings;
use crate::model::SourceType;
use crate::rules::webhook::WebhookPolicy;
use crate::rules::{BreakerPolicy, Delays, OutagePolicy, Policy, RestRule, Rests, hours, minutes};
use crate::sources::{TypeSettings, XSettings};
use crate::store::settings::{EngineSettings, PostgresSettings, SqliteSettings, StoreSettings, Synchronous, Tls};
use crate::supervision::Intensity;
use crate::telemetry::{LogFormat, LogSettings, LogStream};

/// Default directories for paths that no key sets.
#[derive(Clone, Debug, Default)]
pub(super) struct Directories {
    /// For files that survive a reboot.
    pub(super) state: Option<PathBuf>,
    /// For sockets; emptied by a reboot.
    pub(super) runtime: Option<PathBuf>,
}

/// Fills the settings. They are worth something only if no problem was added.
pub(super) fn assemble(values: &Effective, directories: &Directories, problems: &mut Vec<ConfigProblem>) -> Settings {
    let store = store(values, directories.state.as_deref(), problems);
    let api = api(values, socket(values, directories, &store.engine), problems);
    Settings {
        policy: policy(values),
        pipeline: pipeline(values),
        drain: values.seconds("daemon.drain-seconds"),
        http: http(values),
        types: TypeSettings {
            x: XSettings { base_url: values.url("x.base-url").expect("a base URL is never empty").clone() },
        },
        store,
        log: log(values),
        api,
    }
}

fn pipeline(values: &Effective) -> PipelineSettings {
    let milliseconds = |key| Duration::from_millis(values.count(key));
    PipelineSettings {
        scheduler: SchedulerSettings { tick: values.seconds("scheduler.tick-seconds"), ..SchedulerSettings::default() },
        fetch: FetchSettings {
            threads: Some(values.count_usize("fetch.threads")).filter(|threads| *threads > 0),
            concurrency: values.count_usize("fetch.concurrency"),
        },
        intensity: Intensity {
            restarts_max: values.count_u32("supervision.restarts-max"),
            within: values.seconds("supervision.within-seconds"),
            delay_first: milliseconds("supervision.delay-first-milliseconds"),
            delay_max: milliseconds("supervision.delay-max-milliseconds"),
            ..Intensity::default()
        },
        faults: FaultSettings {
            is_enabled: values.flag("faults.enabled"),
            seed: values.count("faults.seed"),
            limit: Some(values.count("faults.limit")).filter(|limit| *limit > 0),
            faults: values.faults("faults.rules").to_vec(),
        },
    }
}

fn policy(values: &Effective) -> Policy {
    let delay = |name| values.seconds(&format!("source.poll-delay-seconds.{name}"));
    let days = |key| hours(24 * values.count_u32(key));
    Policy {
        interval: minutes(values.count_u32("source.default-interval-minutes")),
        max_failures: values.count_u32("source.max-failures"),
        max_backoff: hours(values.count_u32("source.max-backoff-hours")),
        rests: Rests {
            unauthorized: rest(values, "unauthorized"),
            forbidden: rest(values, "forbidden"),
            not_found: rest(values, "not-found"),
            gone: rest(values, "gone"),
            upstream_failure: rest(values, "upstream-failure"),
            network: rest(values, "network"),
            parse_error: rest(values, "parse-error"),
        },
        delays: Delays {
            by_type: SourceType::ALL.into_iter().map(|source_type| (source_type, delay(source_type.name()))).collect(),
            by_host: values.host_delays().collect(),
        },
        article_age_max: days("source.max-article-age-days"),
        cleaned_memory: days("source.remember-cleaned-days"),
        freshness_max: hours(values.count_u32("source.freshness-ceiling-hours")),
        retry_after_max: days("source.retry-after-ceiling-days"),
        breaker: BreakerPolicy {
            after: values.count_u32("host.breaker-after-failures"),
            pause_first: minutes(values.count_u32("host.breaker-pause-minutes")),
            pause_max: minutes(values.count_u32("host.breaker-pause-max-minutes")),
        },
        outage: OutagePolicy {
            hosts: values.count_u32("outage.hosts"),
            probe_first: values.seconds("outage.probe-seconds"),
            probe_max: values.seconds("outage.probe-max-seconds"),
        },
        spread: minutes(values.count_u32("host.spread-minutes")),
        moved_after_days: values.count_u32("source.moved-after-days"),
        webhooks: WebhookPolicy {
            timeout: values.seconds("webhooks.timeout-seconds"),
            posts_max: values.count_u32("webhooks.posts-max"),
            body_bytes_max: values.count_usize("webhooks.body-bytes-max"),
            retry_first: values.seconds("webhooks.retry-first-seconds"),
            retry_max: minutes(values.count_u32("webhooks.retry-max-minutes")),
            failures_max: values.count_u32("webhooks.failures-max"),
        },
    }
}

fn rest(values: &Effective, kind: &str) -> RestRule {
    let after = values.count_u32(&format!("source.rest.{kind}.after"));
    let cooldown = hours(values.count_u32(&format!("source.rest.{kind}.cooldown-hours")));
    RestRule { after, cooldown }
}

fn http(values: &Effective) -> HttpSettings {
    let contact = values.url("http.contact-url").expect("a contact URL is never empty");
    let user_agent = match values.text("http.user-agent") {
        "" => format!("feedwarden/{} (+{contact})", env!("CARGO_PKG_VERSION")),
        own => own.to_owned(),
    };
    HttpSettings {
        deadline: values.seconds("http.deadline-seconds"),
        connect_timeout: values.seconds("http.connect-timeout-seconds"),
        idle_timeout: values.seconds("http.idle-timeout-seconds"),
        body_bytes_max: values.count_usize("http.body-bytes-max"),
        redirects_max: values.count_u32("http.redirects-max"),
        user_agent,
        allow_private_networks: values.flag("http.allow-private-networks"),
        allowed_networks: values.networks("http.allowed-networks").to_vec(),
        proxy: values.url("http.proxy").cloned(),
        authorities: values.path("http.tls-ca-file").map(Path::to_owned),
        static_hosts: values.static_hosts().collect(),
    }
}

fn store(values: &Effective, state_directory: Option<&Path>, problems: &mut Vec<ConfigProblem>) -> StoreSettings {
    let engine = match values.database("database.url") {
        DatabaseUrl::Sqlite(path) => EngineSettings::Sqlite(SqliteSettings {
            // Joining an absolute path leaves it as it is.
            path: state_directory.map_or_else(|| path.clone(), |directory| directory.join(path)),
            synchronous: match values.choice("database.sqlite.synchronous") {
                "normal" => Synchronous::Normal,
                _ => Synchronous::Full,
            },
            readers: values.count_usize("database.sqlite.readers"),
            busy_timeout: values.seconds("database.sqlite.busy-timeout-seconds"),
        }),
        DatabaseUrl::Postgres(url) => EngineSettings::Postgres(postgres(values, url, problems)),
    };
    let encryption_key = one_secret(values, "database.encryption-key", secret::encryption_key, problems);
    StoreSettings { engine, encryption_key }
}

fn postgres(values: &Effective, url: &SecretString, problems: &mut Vec<ConfigProblem>) -> PostgresSettings {
    let tls = match values.choice("database.postgres.tls") {
        "require" => Tls::Require,
        _ => Tls::Disable,
    };
    let tls_ca_file = values.path("database.postgres.tls-ca-file").map(Path::to_owned);
    if let Some(path) = &tls_ca_file {
        let key = "database.postgres.tls-ca-file";
        if tls == Tls::Disable {
            let text =
                "without encryption nothing is verified; set database.postgres.tls to require, or leave this out";
            add(values, key, text.into(), problems);
        } else if let Err(cause) = readable(path) {
            add(values, key, cause, problems);
        }
    }
    PostgresSettings {
        url: url.clone(),
        pool_size: values.count_usize("database.postgres.pool-size"),
        connect_timeout: values.seconds("database.postgres.connect-timeout-seconds"),
        statement_timeout: values.seconds("database.postgres.statement-timeout-seconds"),
        tls,
        tls_ca_file,
    }
}

fn log(values: &Effective) -> LogSettings {
    LogSettings {
        level: match values.choice("logging.level") {
            "critical" => slog::Level::Critical,
            "error" => slog::Level::Error,
            "warn" => slog::Level::Warning,
            "debug" => slog::Level::Debug,
            "trace" => slog::Level::Trace,
            _ => slog::Level::Info,
        },
        format: match values.choice("logging.format") {
            "json" => LogFormat::Json,
            "human" => LogFormat::Human,
            _ => LogFormat::Auto,
        },
        file: values.path("logging.file").map(Path::to_owned),
        stream: LogStream::Output,
        queue_records: values.count_usize("logging.queue-records"),
    }
}

/// The admin socket, unless a place is named: in the runtime directory, or else beside the database.
fn socket(values: &Effective, directories: &Directories, engine: &EngineSettings) -> PathBuf {
    if let Some(path) = values.path("api.socket") {
        return path.to_owned();
    }
    let beside = match engine {
        EngineSettings::Sqlite(sqlite) => sqlite.path.parent().map(Path::to_owned),
        EngineSettings::Postgres(_) => directories.state.clone(),
    };
    directories.runtime.clone().or(beside).unwrap_or_default().join("feedwarden.sock")
}

fn api(values: &Effective, socket: PathBuf, problems: &mut Vec<ConfigProblem>) -> ApiSettings {
    let listen = values.listen("api.listen");
    let key = token_key(values, problems);
    let key_is_wrong =
        problems.iter().any(|problem| problem.key.as_deref().is_some_and(|key| key.starts_with("api.jwt-")));
    if listen.is_some() && key.is_none() && !key_is_wrong {
        let text = match values.choice("api.jwt-algorithm") {
            "HS256" => "no token could be verified; set api.jwt-secret or api.jwt-secret-file too, or leave this out",
            _ => "no token could be verified; set api.jwt-public-key-file too, or leave this out",
        };
        add(values, "api.listen", text.into(), problems);
    }
    let audience = Some(values.text("api.jwt-audience").to_owned()).filter(|audience| !audience.is_empty());
    let leeway = values.seconds("api.jwt-leeway-seconds");
    ApiSettings {
        socket,
        listen,
        tokens: key.map(|key| TokenSettings { key, audience, leeway }),
        limits: ApiLimits {
            body_bytes: values.count_usize("api.body-bytes-max"),
            import_bytes: values.count_usize("api.import-bytes-max"),
            requests_per_second: values.count_u32("api.requests-per-second"),
            connections: values.count_usize("api.connections-max"),
            streams: values.count_usize("api.streams-max"),
            ..ApiLimits::default()
        },
    }
}

/// What tokens are checked with, if anything.
fn token_key(values: &Effective, problems: &mut Vec<ConfigProblem>) -> Option<TokenKey> {
    let secret = one_secret(values, "api.jwt-secret", secret::signing_secret, problems);
    let file_key = "api.jwt-public-key-file";
    let file = values.path(file_key).map(Path::to_owned);
    let algorithm = values.choice("api.jwt-algorithm");
    if algorithm == "HS256" {
        if file.is_some() {
            let text =
                "a public key is of no use for HS256; set api.jwt-algorithm to RS256 or EdDSA, or leave this out";
            add(values, file_key, text.into(), problems);
        }
        return secret.map(TokenKey::Secret);
    }
    let path = file?;
    match std::fs::read_to_string(&path) {
        Ok(pem) if algorithm == "RS256" => Some(TokenKey::Rsa(pem)),
        Ok(pem) => Some(TokenKey::Ed25519(pem)),
        Err(cause) => {
            let name = path.display().to_string();
            add(values, file_key, format!("{} cannot be read: {cause}", name.escape_debug()), problems);
            None
        }
    }
}

/// The secret under this key, or in the file that the key's neighbour `…-file` names.
fn one_secret(
    values: &Effective,
    key: &str,
    check: fn(&str) -> Result<(), String>,
    problems: &mut Vec<ConfigProblem>,
) -> Option<SecretString> {
    let file_key = format!("{key}-file");
    match (values.secret(key), values.path(&file_key)) {
        (Some(_), Some(_)) => {
            let text = format!("{key} is set too ({}); keep one and set the other to \"\"", values.origin(key));
            add(values, &file_key, text, problems);
            None
        }
        (Some(secret), None) => Some(secret.clone()),
        (None, Some(path)) => {
            secret::from_file(path, check).map_err(|complaint| add(values, &file_key, complaint, problems)).ok()
        }
        (None, None) => None,
    }
}

fn readable(path: &Path) -> Result<(), String> {
    let name = path.display().to_string();
    if path.is_dir() {
        return Err(format!("{} is a directory; name a file", name.escape_debug()));
    }
    std::fs::File::open(path).map(drop).map_err(|cause| format!("{} cannot be read: {cause}", name.escape_debug()))
}

fn add(values: &Effective, key: &str, text: String, problems: &mut Vec<ConfigProblem>) {
    problems.push(ConfigProblem { key: Some(key.to_owned()), origin: values.origin(key).clone(), text });
}
