//! All settings together. Each module owns its struct.

use std::path::PathBuf;
use std::time::Duration;

use crate::actors::{FleetSettings, PipelineSettings};
use crate::api::settings::ApiSettings;
use crate::http::HttpSettings;
use crate::rules::{Delays, Policy};
use crate::sources::{TypeSettings, default_delays};
use crate::store::settings::{EngineSettings, SqliteSettings, StoreSettings, Synchronous};
use crate::telemetry::LogSettings;

/// Everything an operator can decide.
#[derive(Clone, Debug)]
pub struct Settings {
    /// When, how often and for how long sources are polled.
    pub policy: Policy,
    /// How the pipeline runs.
    pub pipeline: PipelineSettings,
    /// How long polls under way may take to end.
    pub drain: Duration,
    /// Bounds and headers of requests.
    pub http: HttpSettings,
    pub types: TypeSettings,
    /// Where things are kept.
    pub store: StoreSettings,
    /// Directory below the user's home that is created at the start if it is missing, because it is used.
    pub user_state: Option<PathBuf>,
    /// Whether the daemon starts although some stored secrets cannot be opened.
    pub accepts_unreadable_secrets: bool,
    /// This process as a node of a fleet.
    pub fleet: FleetSettings,
    pub log: LogSettings,
    pub api: ApiSettings,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            policy: Policy { delays: Delays { by_type: default_delays(), ..Delays::default() }, ..Policy::default() },
            pipeline: PipelineSettings::default(),
            drain: Duration::from_secs(20),
            http: HttpSettings::default(),
            types: TypeSettings::default(),
            store: StoreSettings {
                engine: EngineSettings::Sqlite(SqliteSettings {
                    path: PathBuf::from("feedwarden.db"),
                    synchronous: Synchronous::Full,
                    readers: 2,
                    busy_timeout: Duration::from_secs(5),
                }),
                encryption_key: None,
            },
            user_state: None,
            accepts_unreadable_secrets: false,
            fleet: FleetSettings::default(),
            log: LogSettings::default(),
            api: ApiSettings::default(),
        }
    }
}
