//! The stored robots.txt files of a host.

use std::collections::BTreeSet;

use super::{Result, Service};
use crate::model::RobotsRecord;
use crate::rules::robots::origin;

/// The most sources of a host whose origins are looked up.
const SOURCES_MAX: u32 = 500;
/// The most origins of a host that are looked up.
const ORIGINS_MAX: usize = 20;

impl Service {
    /// The stored robots.txt files of a host, by origin: of its default ports, and of the ports of its sources.
    pub async fn host_robots(&self, name: &str) -> Result<Vec<RobotsRecord>> {
        let key = self.known(name).await?;
        let sources = self.store.select_sources(self.at_host(&key), None, SOURCES_MAX).await?;
        let defaults = [format!("https://{key}"), format!("http://{key}")];
        let others: BTreeSet<String> = sources.iter().filter_map(|source| origin(&source.settings.url)).collect();
        let others = others.into_iter().filter(|other| !defaults.contains(other)).take(ORIGINS_MAX);
        let mut found = Vec::new();
        for origin in defaults.iter().cloned().chain(others) {
            found.extend(self.store.robots(&origin).await?);
        }
        Ok(found)
    }
}
