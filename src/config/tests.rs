//! The four layers together, and the promise that schema, built-in file and the modules' defaults say the same.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use ::config::{File, FileFormat, Source, ValueKind};
use proptest::prelude::*;
use secrecy::ExposeSecret;

use super::*;
use crate::api::settings::TokenKey;
use crate::model::{FailureKind, SourceType};
use crate::rules::webhook::WebhookPolicy;
use crate::rules::{BreakerPolicy, OutagePolicy, Policy, RestRule, hours, minutes};
use crate::store::settings::{EngineSettings, StoreSettings, Synchronous, Tls};

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn set(assignments: &[&str]) -> ConfigRequest {
    ConfigRequest { assignments: assignments.iter().map(ToString::to_string).collect(), ..ConfigRequest::default() }
}

/// The same, and these variables of the environment, where secrets may stand.
fn set_with(variables: &[(&str, &str)], assignments: &[&str]) -> ConfigRequest {
    let environment = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
    ConfigRequest { environment, ..set(assignments) }
}

#[test]
fn a_secret_on_the_command_line_is_refused_with_where_it_may_stand() {
    for (assignment, remedy) in [
        (format!("database.encryption-key={KEY}"), "database.encryption-key-file"),
        (format!("app.database.encryption-key={KEY}"), "FEEDWARDEN__DATABASE__ENCRYPTION_KEY"),
        (format!("database.encryption-key-previous={KEY}"), "database.encryption-key-previous-file"),
        (format!("api.jwt-secret={SECRET}"), "FEEDWARDEN__API__JWT_SECRET"),
        ("api.jwt-secret=short".to_owned(), "api.jwt-secret-file"),
        ("database.url=postgres://ann:hunter2@db.example/feeds".to_owned(), "FEEDWARDEN__DATABASE__URL"),
        ("database.url=postgres://ann@db.example/feeds?password=hunter2".to_owned(), "FEEDWARDEN__DATABASE__URL"),
        ("http.proxy=http://ann:hunter2@proxy.example:3128".to_owned(), "FEEDWARDEN__HTTP__PROXY"),
    ] {
        let found = mistakes(&set(&[&assignment]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("visible to every user in the list of processes"), "{found:?}");
        assert!(found[0].contains(remedy), "{found:?}");
        assert!(![KEY, SECRET, "hunter2"].iter().any(|secret| found[0].contains(secret)), "{found:?}");
    }
    // What is empty or has no password is no secret.
    let harmless =
        ["database.encryption-key=", "database.url=postgres://ann@db.example/feeds", "http.proxy=http://a:1"];
    assert!(load(&set(&harmless)).is_ok());
}

#[test]
fn a_previous_key_needs_a_current_one() {
    let previous = ("FEEDWARDEN__DATABASE__ENCRYPTION_KEY_PREVIOUS", KEY);
    let found = mistakes(&set_with(&[previous], &[]));
    assert!(found[0].contains("set that one, too"), "{found:?}");
    let other = KEY.replace("AAEC", "BBEC");
    let both = set_with(&[previous, ("FEEDWARDEN__DATABASE__ENCRYPTION_KEY", &other)], &[]);
    let settings = load(&both).unwrap().settings;
    let keys = settings.store.encryption_key.unwrap();
    assert_eq!((keys.current.expose_secret(), keys.previous.unwrap().expose_secret()), (other.as_str(), KEY));
    assert!(!settings.accepts_unreadable_secrets);
}

fn mistakes(request: &ConfigRequest) -> Vec<String> {
    load(request).unwrap_err().0.iter().map(ToString::to_string).collect()
}

/// What can be compared of the store's settings, secrets included.
fn comparable(store: &StoreSettings) -> (String, Option<&str>) {
    (format!("{:?}", store.engine), store.encryption_key.as_ref().map(|keys| keys.current.expose_secret()))
}

#[test]
fn the_built_in_file_says_what_the_rooms_say() {
    let (built_in, own) = (load(&ConfigRequest::default()).unwrap().settings, Settings::default());
    assert_eq!(built_in.policy, own.policy);
    assert_eq!(built_in.pipeline, own.pipeline);
    assert_eq!(built_in.drain, own.drain);
    assert_eq!(built_in.http, own.http);
    assert_eq!(built_in.types, own.types);
    assert_eq!(comparable(&built_in.store), comparable(&own.store));
    assert_eq!(built_in.log, own.log);
    assert_eq!(format!("{:?}", built_in.api), format!("{:?}", own.api));
}

#[test]
fn the_built_in_file_has_the_keys_of_the_schema_and_no_others() {
    let of_schema: BTreeSet<String> = schema::entries()
        .map(|entry| match entry.around_host() {
            Some((family, _)) => family.trim_end_matches('.').to_owned(),
            None => entry.pattern.to_owned(),
        })
        .collect();
    assert_eq!(layers::built_in().into_iter().map(|said| said.key).collect::<BTreeSet<_>>(), of_schema);
}

#[test]
fn every_key_of_the_built_in_file_is_preceded_by_its_explanation() {
    let lines: Vec<&str> = layers::DEFAULTS.lines().collect();
    for pair in lines.windows(2).filter(|pair| !pair[1].trim().is_empty() && !pair[1].trim().starts_with('#')) {
        assert!(pair[0].trim().starts_with('#'), "{} is not explained", pair[1]);
    }
}

#[test]
fn every_bound_in_the_built_in_file_is_the_schemas() {
    let lines = yaml::lines(layers::DEFAULTS);
    let comment = |key: &str| {
        let mut above: Vec<&str> = layers::DEFAULTS.lines().map(str::trim).take(lines[key] - 1).collect();
        above.drain(..above.iter().rposition(|line| !line.starts_with('#')).map_or(0, |last| last + 1));
        above.join(" ")
    };
    for entry in schema::entries() {
        let kind::KeyKind::Count { min, max } = entry.kind else { continue };
        let key = entry.around_host().map_or(entry.pattern, |(family, _)| family.trim_end_matches('.'));
        // A family of keys is explained once, above its section.
        let sections = key.match_indices('.').map(|(dot, _)| &key[..dot]).skip(1);
        let explained = sections.chain([key]).any(|place| comment(place).contains(&format!(" {min} to {max}")));
        assert!(explained, "{key} goes from {min} to {max}, but its comment says {:?}", comment(key));
    }
}

#[test]
fn what_is_said_about_silence_reaches_the_rules() {
    let settings = load(&set(&[
        "source.moved-after-days=2",
        "host.breaker-after-failures=3",
        "host.breaker-pause-minutes=4",
        "host.breaker-pause-max-minutes=5",
        "host.spread-minutes=6",
        "outage.hosts=7",
        "outage.probe-seconds=9",
        "outage.probe-max-seconds=10",
        "outage.probe-url=http://192.0.2.1/",
    ]))
    .unwrap()
    .settings;
    let Policy { breaker, outage, spread, moved_after_days, .. } = settings.policy;
    assert_eq!(breaker, BreakerPolicy { after: 3, pause_first: minutes(4), pause_max: minutes(5) });
    let [probe_first, probe_max] = [9, 10].map(Duration::from_secs);
    let probe_url = Some("http://192.0.2.1/".parse().unwrap());
    assert_eq!(outage, OutagePolicy { hosts: 7, probe_first, probe_max, probe_url });
    assert_eq!((spread, moved_after_days), (minutes(6), 2));
}

#[test]
fn s304_s405_s418_s505_what_is_said_about_failures_and_delays_reaches_the_rules() {
    let kinds = || FailureKind::ALL.into_iter().filter(|kind| kind.has_cooldown());
    let mut said = vec![
        "source.max-failures=3".to_owned(),
        "source.max-backoff-hours=6".to_owned(),
        "source.poll-delay-seconds.rss=4".to_owned(),
        "source.poll-delay-seconds.twitter=5".to_owned(),
        "source.host-overrides.nitter.net.poll-delay-seconds=9".to_owned(),
    ];
    for (number, kind) in (20..).zip(kinds()) {
        let kind = kind.name().replace('_', "-");
        said.push(format!("source.rest.{kind}.after={number}"));
        said.push(format!("source.rest.{kind}.cooldown-hours={}", 2 * number));
    }
    let request = ConfigRequest { assignments: said, ..ConfigRequest::default() };
    let Policy { max_failures, max_backoff, rests, delays, .. } = load(&request).unwrap().settings.policy;
    assert_eq!((max_failures, max_backoff), (3, hours(6)));
    let rest = |after| RestRule { after, cooldown: hours(2 * after) };
    assert_eq!(rests, (20..).zip(kinds()).map(|(after, kind)| (kind, rest(after))).collect());
    let seconds = |source_type| delays.by_type[&source_type].as_secs();
    assert_eq!((seconds(SourceType::Rss), seconds(SourceType::Twitter)), (4, 5));
    assert_eq!(delays.by_host["nitter.net"], Duration::from_secs(9));
}

#[test]
fn what_is_said_about_webhooks_reaches_the_rules() {
    let settings = load(&set(&[
        "webhooks.timeout-seconds=2",
        "webhooks.posts-max=3",
        "webhooks.body-bytes-max=4096",
        "webhooks.retry-first-seconds=5",
        "webhooks.retry-max-minutes=6",
        "webhooks.failures-max=7",
    ]));
    let [timeout, retry_first, retry_max] = [2, 5, 360].map(Duration::from_secs);
    let wanted = WebhookPolicy { timeout, posts_max: 3, body_bytes_max: 4096, retry_first, retry_max, failures_max: 7 };
    assert_eq!(settings.unwrap().settings.policy.webhooks, wanted);
    assert_eq!(load(&set(&[])).unwrap().settings.policy.webhooks, WebhookPolicy::default());
    assert!(load(&set(&["webhooks.timeout-seconds=51"])).is_err(), "a test is answered within a minute");
}

#[test]
fn every_value_of_every_kind_reaches_its_settings() {
    let secrets = [
        ("FEEDWARDEN__HTTP__PROXY", "socks5://me:pw@127.0.0.1:1080"),
        ("FEEDWARDEN__DATABASE__ENCRYPTION_KEY", KEY),
        ("FEEDWARDEN__API__JWT_SECRET", SECRET),
    ];
    let assignments = [
        "source.poll-delay-seconds.website=7",
        "source.host-overrides.Bücher.example.poll-delay-seconds=3",
        "source.rest.unauthorized.after=2",
        "source.rest.gone.after=0",
        "source.max-article-age-days=2",
        "scheduler.tick-seconds=5",
        "http.contact-url=mailto:me@example.org",
        "http.allow-private-networks=true",
        "http.allowed-networks=10.0.0.0/8,fd00::/8",
        "http.static-hosts.Feeds.Example=192.0.2.7",
        "x.base-url=http://127.0.0.1:8000/x",
        "database.sqlite.synchronous=normal",
        "logging.level=trace",
        "logging.format=json",
        "logging.file=/tmp/log",
        "api.listen=[::1]:8080",
        "api.trusted-proxies=10.0.0.0/8",
        "api.allowed-hosts=Feeds.example.org",
    ];
    let settings = load(&set_with(&secrets, &assignments)).unwrap().settings;
    assert_eq!(settings.policy.delays.by_type[&SourceType::Website], Duration::from_secs(7));
    assert_eq!(settings.policy.delays.by_host["xn--bcher-kva.example"], Duration::from_secs(3));
    let rest = |kind| settings.policy.rests.for_kind(kind).unwrap();
    assert_eq!(rest(FailureKind::Unauthorized).after, 2);
    assert_eq!((rest(FailureKind::Gone).after, rest(FailureKind::Gone).cooldown), (0, hours(72)));
    assert_eq!(settings.policy.article_age_max, Duration::from_secs(2 * 86_400));
    assert_eq!(settings.pipeline.scheduler.tick, Duration::from_secs(5));
    let expected = concat!("feedwarden/", env!("CARGO_PKG_VERSION"), " (+mailto:me@example.org)");
    assert_eq!(settings.http.user_agent, expected, "p27");
    assert!(settings.http.allow_private_networks);
    assert_eq!(settings.http.allowed_networks.len(), 2);
    assert_eq!(settings.http.proxy.unwrap().password(), Some("pw"));
    assert_eq!(settings.http.static_hosts["feeds.example"].to_string(), "192.0.2.7");
    assert_eq!(settings.types.x.base_url.as_str(), "http://127.0.0.1:8000/x");
    assert_eq!(settings.store.encryption_key.unwrap().current.expose_secret(), KEY);
    let EngineSettings::Sqlite(sqlite) = settings.store.engine else { panic!("SQLite is the default") };
    assert_eq!(sqlite.synchronous, Synchronous::Normal);
    assert_eq!(settings.log.level, slog::Level::Trace);
    assert_eq!(settings.log.file.unwrap(), Path::new("/tmp/log"));
    assert_eq!(settings.api.listen.unwrap().port(), 8080);
    assert_eq!(settings.api.trusted_proxies, ["10.0.0.0/8".parse().unwrap()]);
    assert_eq!(settings.api.allowed_hosts, ["feeds.example.org"]);
    let TokenKey::Secret(secret) = settings.api.tokens.unwrap().key else { panic!("HS256 is the default") };
    assert_eq!(secret.expose_secret(), SECRET);
}

/// The example of the specification of poll rate limiting, as it stands there.
const SEED_EXAMPLE: &str = "\
app:
  source:
    poll-delay-seconds:
      rss: 0
      website: 2
      twitter: 0
    host-overrides:
      nitter.net:
        poll-delay-seconds: 3
";

fn in_file(text: &str) -> (tempfile::TempDir, ConfigRequest) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("application.yaml");
    std::fs::write(&file, text).unwrap();
    (directory, ConfigRequest { file: Some(file), ..ConfigRequest::default() })
}

#[test]
fn s1005_the_seeds_example_reaches_the_rules_as_it_stands() {
    let (_directory, request) = in_file(SEED_EXAMPLE);
    let loaded = load(&request).unwrap();
    let delays = loaded.settings.policy.delays;
    assert_eq!(delays.by_host, [("nitter.net".to_owned(), Duration::from_secs(3))].into());
    let by_type = [SourceType::Rss, SourceType::Website, SourceType::Twitter].map(|of| delays.by_type[&of].as_secs());
    assert_eq!(by_type, [0, 2, 0]);
    let said = loaded.effective.shown().filter(|shown| *shown.origin != Origin::BuiltIn);
    let said: Vec<&str> = said.map(|shown| shown.key).collect();
    let delay = |of: &str| format!("source.poll-delay-seconds.{of}");
    let host = "source.host-overrides.nitter.net.poll-delay-seconds".to_owned();
    assert_eq!(said, [host, delay("rss"), delay("twitter"), delay("website")], "under our names");
}

#[test]
fn s1005_the_seeds_other_keys_reach_the_rules_from_every_layer() {
    let (_directory, mut request) = in_file("app:\n  source:\n    max-failures: 3\n    max-article-age-days: 14\n");
    request.environment = vec![("FEEDWARDEN__APP__SOURCE__MAX_BACKOFF_HOURS".into(), "6".into())];
    request.assignments = vec!["app.source.poll-delay-seconds.website=9".into()];
    let Policy { max_failures, max_backoff, article_age_max, delays, .. } = load(&request).unwrap().settings.policy;
    assert_eq!((max_failures, max_backoff), (3, hours(6)));
    assert_eq!(article_age_max, hours(14 * 24));
    assert_eq!(delays.by_type[&SourceType::Website], Duration::from_secs(9));
}

#[test]
fn s1005_a_later_layer_wins_whichever_spelling_it_uses() {
    let (_directory, mut request) = in_file("app: {source: {max-failures: 3, max-backoff-hours: 3}}\n");
    request.environment = vec![("FEEDWARDEN__SOURCE__MAX_FAILURES".into(), "4".into())];
    assert_eq!(load(&request).unwrap().settings.policy.max_failures, 4);
    request.assignments = vec!["source.max-failures=5".into(), "app.source.max-failures=6".into()];
    assert_eq!(load(&request).unwrap().settings.policy.max_failures, 6, "of two assignments the last holds");
}

#[test]
fn postgres_has_the_defaults_of_the_built_in_file() {
    let settings =
        load(&set_with(&[("FEEDWARDEN__DATABASE__URL", "postgres://me:hunter2@host/db")], &[])).unwrap().settings;
    let EngineSettings::Postgres(postgres) = settings.store.engine else { panic!("the URL is PostgreSQL's") };
    assert_eq!(postgres.url.expose_secret(), "postgres://me:hunter2@host/db");
    assert_eq!(postgres.pool_size, 8);
    assert_eq!(postgres.connect_timeout, Duration::from_secs(10));
    assert_eq!(postgres.statement_timeout, Duration::from_secs(30));
    assert_eq!((postgres.tls, postgres.tls_ca_file), (Tls::Disable, None));
}

#[test]
fn a_relative_database_lies_in_the_state_directory() {
    let path = |directories: &str, url: &str| {
        let mut request = set(&[&format!("database.url={url}")]);
        request.environment = vec![("STATE_DIRECTORY".into(), directories.into())];
        match load(&request).unwrap().settings.store.engine {
            EngineSettings::Sqlite(sqlite) => sqlite.path.display().to_string(),
            EngineSettings::Postgres(_) => panic!("the URL is SQLite's"),
        }
    };
    assert_eq!(path("/var/lib/a:/var/lib/b", "sqlite:x.db"), "/var/lib/a/x.db");
    assert_eq!(path("/var/lib/a", "sqlite:/srv/x.db"), "/srv/x.db");
    assert_eq!(path("", "sqlite:x.db"), "x.db");
}

#[test]
fn two_places_for_one_secret_are_one_too_many() {
    let key = ("FEEDWARDEN__DATABASE__ENCRYPTION_KEY", KEY);
    let both = set_with(&[key], &["database.encryption-key-file=/nowhere"]);
    assert_eq!(
        mistakes(&both),
        ["database.encryption-key-file (--set): database.encryption-key is set too (environment variable \
             FEEDWARDEN__DATABASE__ENCRYPTION_KEY); keep one and set the other to \"\""]
    );
}

#[test]
fn a_listener_without_a_secret_is_refused_but_a_wrong_secret_is_blamed_only_once() {
    assert!(
        mistakes(&set(&["api.listen=127.0.0.1:80"]))[0].starts_with("api.listen (--set): no token could be verified")
    );
    let everyone = mistakes(&set(&["api.trusted-proxies=10.0.0.0/8,::/0"]));
    assert!(everyone[0].contains("name the networks of the proxies"), "{everyone:?}");
    let short = ("FEEDWARDEN__API__JWT_SECRET", "hunter2");
    let wrong = mistakes(&set_with(&[short], &["api.listen=127.0.0.1:80"]));
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].contains("FEEDWARDEN__API__JWT_SECRET): 7 bytes can be guessed"), "{wrong:?}");
}

#[test]
fn a_certificate_file_must_be_there_and_of_use() {
    let url = "database.url=postgres://host/db";
    let useless = mistakes(&set(&[url, "database.postgres.tls-ca-file=/nowhere"]));
    assert!(useless[0].contains("set database.postgres.tls to require"), "{useless:?}");
    let missing = mistakes(&set(&[url, "database.postgres.tls=require", "database.postgres.tls-ca-file=/nowhere"]));
    assert!(missing[0].contains("/nowhere cannot be read"), "{missing:?}");
}

#[test]
fn a_repeated_assignment_is_a_correction() {
    let settings = load(&set(&["source.max-failures=3", "source.max-failures=4"])).unwrap().settings;
    assert_eq!(settings.policy.max_failures, 4);
}

#[test]
fn two_variables_for_one_key_are_refused() {
    let environment = vec![
        ("FEEDWARDEN__SOURCE__MAX_FAILURES".into(), "3".into()),
        ("feedwarden__source__max_failures".into(), "4".into()),
    ];
    let wrong = mistakes(&ConfigRequest { environment, ..ConfigRequest::default() });
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].contains("given twice"), "{wrong:?}");
}

#[test]
fn every_number_just_outside_its_bounds_is_refused_and_every_bound_is_taken() {
    for entry in schema::entries() {
        let kind::KeyKind::Count { min, max } = entry.kind else { continue };
        let key = entry.key_for(entry.around_host().map(|_| "example.org"));
        for taken in [min, max] {
            let mut assignments = vec![format!("{key}={taken}")];
            // The shortest interval is at most the longest one.
            if key == "source.interval-max-minutes" {
                assignments.push(format!("source.interval-min-minutes={min}"));
            }
            load(&set(&assignments.iter().map(String::as_str).collect::<Vec<_>>())).unwrap();
        }
        for refused in [i128::from(min) - 1, i128::from(max) + 1] {
            assert_eq!(mistakes(&set(&[&format!("{key}={refused}")])).len(), 1, "{key}={refused}");
        }
    }
}

#[test]
fn every_key_can_be_set_from_the_environment_to_what_is_shown() {
    let loaded = load(&ConfigRequest::default()).unwrap();
    let environment = loaded.effective.shown().map(|shown| {
        let name = format!("FEEDWARDEN__{}", shown.key.replace('.', "__").replace('-', "_").to_uppercase());
        let value = match shown.value {
            serde_json::Value::String(text) => text,
            serde_json::Value::Array(_) => String::new(),
            other => other.to_string(),
        };
        (name.into(), value.into())
    });
    let again = load(&ConfigRequest { environment: environment.collect(), ..ConfigRequest::default() }).unwrap();
    for (one, other) in loaded.effective.shown().zip(again.effective.shown()) {
        assert_eq!((one.key, one.value), (other.key, other.value));
        assert!(matches!(other.origin, Origin::Environment(_)), "{}", other.key);
    }
}

#[test]
fn the_built_in_file_is_one_that_other_readers_of_yaml_understand_too() {
    let table = File::from_str(layers::DEFAULTS, FileFormat::Yaml).collect().unwrap();
    assert!(table.values().all(|section| matches!(section.kind, ValueKind::Table(_))));
    assert!(!layers::DEFAULTS.contains('\t'));
}

proptest! {
    #[test]
    fn no_secret_is_so_odd_that_an_error_tells_it(odd in "\\PC{0,40}") {
        let secret = format!("hunter2{odd}hunter2");
        for assignment in [
            format!("api.jwt-secret={secret}"),
            format!("database.encryption-key={secret}"),
            format!("database.url=postgres://me:{secret}@host:port/db"),
            format!("database.url={secret}"),
            format!("http.proxy=ftp://me:{secret}@host"),
            format!("api.jwt-secre={secret}"),
        ] {
            if let Err(problems) = load(&set(&[&assignment])) {
                prop_assert!(!problems.to_string().contains("hunter2"), "{}", problems);
            }
        }
    }
}

#[test]
fn a_change_of_a_secret_or_of_what_is_in_a_file_is_a_difference_although_neither_shows() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    std::fs::write(&file, SECRET).unwrap();
    let name = format!("api.jwt-secret-file={}", file.display());
    let other_key = KEY.replace("AAEC", "BBEC");
    let effective = |password: &str, key: &str, more: &str| {
        let proxy = format!("http://ann:{password}@proxy.example:3128");
        let database = format!("postgres://ann:{password}@db.example/feeds");
        let variables = [
            ("FEEDWARDEN__HTTP__PROXY", proxy.as_str()),
            ("FEEDWARDEN__DATABASE__URL", &database),
            ("FEEDWARDEN__DATABASE__ENCRYPTION_KEY", key),
        ];
        load(&set_with(&variables, &[&name, more])).unwrap().effective
    };
    let before = effective("one", KEY, "source.max-failures=5");
    assert_eq!(before.differences(&before), [""; 0]);
    std::fs::write(&file, SECRET.to_uppercase()).unwrap();
    let after = effective("two", &other_key, "fetch.concurrency=7");
    let all = ["api.jwt-secret-file", "database.encryption-key", "database.url", "fetch.concurrency", "http.proxy"];
    assert_eq!(before.differences(&after), all);
    let mut adopted = before.clone();
    adopted.adopt(&all.map(str::to_owned), &after);
    assert_eq!(adopted.differences(&after), [""; 0]);
}

#[test]
fn a_key_that_only_one_of_two_configurations_has_is_a_difference() {
    let with = load(&set(&["source.host-overrides.slow.example.poll-delay-seconds=9"])).unwrap().effective;
    let without = load(&ConfigRequest::default()).unwrap().effective;
    let key = "source.host-overrides.slow.example.poll-delay-seconds";
    assert_eq!((with.differences(&without), without.differences(&with)), (vec![key.into()], vec![key.into()]));
    let mut adopted = with.clone();
    adopted.adopt(&[key.to_owned()], &without);
    assert_eq!(adopted.differences(&without), [""; 0]);
}

#[test]
fn p46_hubs_need_a_listener_and_a_public_url_or_neither() {
    let both = ["websub.public-url=https://feeds.example.org/websub/", "websub.listen=127.0.0.1:8786"];
    let websub = load(&set(&both)).unwrap().settings.pipeline.websub.unwrap();
    assert_eq!((websub.public_url.as_str(), websub.listen.port()), ("https://feeds.example.org/websub", 8786));
    assert_eq!(load(&set(&[])).unwrap().settings.pipeline.websub, None);
    assert_eq!(
        mistakes(&set(&both[..1])),
        ["websub.public-url (--set): hubs would push to nothing; set websub.listen too, or leave this out"]
    );
    assert_eq!(
        mistakes(&set(&both[1..])),
        ["websub.listen (--set): no hub would know of it; set websub.public-url too, or leave this out"]
    );
    for wrong in ["feeds.example.org", "ftp://feeds.example.org", "https://ann:word@feeds.example.org", "https://a/?b"]
    {
        let mistakes = mistakes(&set(&[&format!("websub.public-url={wrong}"), both[1]]));
        assert!(mistakes[0].contains("is nothing that hubs could push to"), "{mistakes:?}");
        assert!(!mistakes[0].contains("word"), "{mistakes:?}");
    }
}
