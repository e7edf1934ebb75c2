//! What an endurance run is made of: handed from the test to its child, and the same rules on both sides.

#![allow(dead_code, unreachable_pub, reason = "the child uses what the test does not, and the other way around")]

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use feedwarden::actors::{FaultSettings, FetchSettings, PipelineSettings, SchedulerSettings};
use feedwarden::http::HttpSettings;
use feedwarden::model::{FailureKind, SourceType};
use feedwarden::rules::{BreakerPolicy, Delays, OutagePolicy, Policy, PostPolicy, RestRule, Rests};
use feedwarden::store::settings::{EngineSettings, PostgresSettings, SqliteSettings, StoreSettings, Synchronous};
use feedwarden::supervision::Intensity;
use serde::{Deserialize, Serialize};

/// The pause between two requests to one host.
pub const PAUSE: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    pub seed: u64,
    /// A path, or a URL that begins with `postgres:`.
    pub database: String,
    pub log: String,
    /// The interval of a healthy source.
    pub interval_ms: u64,
    pub faults_max: u64,
    /// What goes wrong, as the configuration writes it.
    pub faults: Vec<String>,
}

impl Plan {
    pub fn read(path: &str) -> Plan {
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// The rules at the pace of the test: hours become seconds.
    pub fn policy(&self) -> Policy {
        let interval = Duration::from_millis(self.interval_ms);
        let rest = |after, cooldown| RestRule { after, cooldown: interval * cooldown };
        Policy {
            interval,
            adaptive: None,
            max_backoff: interval * 4,
            rests: Rests::from_iter([
                (FailureKind::Unauthorized, rest(0, 2)),
                (FailureKind::Forbidden, rest(5, 2)),
                (FailureKind::NotFound, rest(3, 4)),
                (FailureKind::Gone, rest(1, 6)),
                (FailureKind::UpstreamFailure, rest(10, 2)),
                (FailureKind::Network, rest(10, 2)),
                (FailureKind::ParseError, rest(5, 2)),
            ]),
            delays: Delays {
                by_type: SourceType::ALL.into_iter().map(|source_type| (source_type, PAUSE)).collect(),
                by_host: HashMap::new(),
            },
            breaker: BreakerPolicy { after: 5, pause_first: interval, pause_max: interval * 2 },
            outage: OutagePolicy {
                hosts: 20,
                probe_first: Duration::from_millis(200),
                probe_max: Duration::from_secs(1),
                probe_url: None,
            },
            spread: interval / 2,
            posts: PostPolicy { page_retries: [interval, interval], ..PostPolicy::default() },
            ..Policy::default()
        }
    }

    pub fn pipeline(&self) -> PipelineSettings {
        PipelineSettings {
            websub: None,
            scheduler: SchedulerSettings { tick: Duration::from_secs(1), look_gap: Duration::from_millis(50) },
            fetch: FetchSettings { threads: Some(2), concurrency: 128 },
            // A thousand crashes within minutes are what the test is about.
            intensity: Intensity {
                restarts_max: 1_000_000,
                delay_first: Duration::from_millis(1),
                delay_max: Duration::from_millis(20),
                ..Intensity::default()
            },
            faults: FaultSettings {
                is_enabled: !self.faults.is_empty(),
                seed: self.seed,
                limit: Some(self.faults_max),
                faults: self.faults.iter().map(|fault| fault.parse().unwrap()).collect(),
            },
            ..PipelineSettings::default()
        }
    }

    pub fn http(&self) -> HttpSettings {
        HttpSettings {
            allowed_networks: vec!["127.0.0.0/8".parse().unwrap()],
            deadline: Duration::from_secs(2),
            body_bytes_max: 1024 * 1024,
            ..HttpSettings::default()
        }
    }

    pub fn store(&self) -> StoreSettings {
        let engine = if self.database.starts_with("postgres:") {
            EngineSettings::Postgres(PostgresSettings {
                connect_timeout: Duration::from_secs(20),
                statement_timeout: Duration::from_secs(60),
                response_timeout: Duration::from_secs(65),
                ..PostgresSettings::new(self.database.as_str().into())
            })
        } else {
            EngineSettings::Sqlite(SqliteSettings {
                path: self.database.as_str().into(),
                synchronous: Synchronous::Normal,
                readers: 2,
                busy_timeout: Duration::from_secs(20),
            })
        };
        StoreSettings { engine, encryption_key: Some(STANDARD.encode([7; 32]).into()) }
    }
}
