//! The layers laid over one another: for each key the value in force, and where it came from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use ::config::ValueKind;
use ipnet::IpNet;
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use url::Url;

use super::database_url::DatabaseUrl;
use super::kind::{Raw, SettingValue};
use super::layers::{LayerEntry, LayerValue, variable_name};
use super::network::canonical_host;
use super::problem::{ConfigProblem, Origin};
use super::{schema, suggest};
use crate::actors::Fault;

/// How much of a file is looked at to see whether it has changed; what keys name is smaller.
const LOOKED_AT_BYTES_MAX: u64 = 4 << 20;

/// The value in force for every key.
#[derive(Clone, Debug, Default)]
pub struct Effective {
    leaves: BTreeMap<String, (SettingValue, Origin)>,
    /// Digests of what is in the files that keys ending in `-file` name.
    files: BTreeMap<String, [u8; 32]>,
}

/// One key as it is shown, with nothing secret in it.
#[derive(Clone, Debug)]
pub struct Shown<'a> {
    pub key: &'a str,
    /// The value in force, or a mask.
    pub value: serde_json::Value,
    /// Where it came from.
    pub origin: &'a Origin,
}

impl Effective {
    /// Every key in order.
    pub fn shown(&self) -> impl Iterator<Item = Shown<'_>> {
        self.leaves.iter().map(|(key, (value, origin))| Shown { key, value: value.shown(), origin })
    }

    /// The keys that mean something else in the other configuration, or are in one of the two alone. A secret counts,
    /// and so does what is in a file.
    pub fn differences(&self, other: &Effective) -> Vec<String> {
        let is_other = |key: &&String| {
            let (mine, others) = (self.leaves.get(*key), other.leaves.get(*key));
            let is_same = mine.zip(others).is_some_and(|((mine, _), (others, _))| mine.is_same(others));
            !is_same || self.files.get(*key) != other.files.get(*key)
        };
        let keys: BTreeSet<&String> = self.leaves.keys().chain(other.leaves.keys()).collect();
        keys.into_iter().filter(is_other).cloned().collect()
    }

    /// Takes these keys as they are in the other configuration.
    pub fn adopt(&mut self, keys: &[String], other: &Effective) {
        for key in keys {
            take(&mut self.leaves, key, &other.leaves);
            take(&mut self.files, key, &other.files);
        }
    }

    /// Notes what is in the files that keys name. A file that cannot be read is reported by the part that needs it.
    pub(super) fn look_at_files(&mut self) {
        let digest = |path: &Path| {
            let mut bytes = Vec::new();
            File::open(path).ok()?.take(LOOKED_AT_BYTES_MAX).read_to_end(&mut bytes).ok()?;
            Some(Sha256::digest(&bytes).into())
        };
        let files = self.leaves.iter().filter_map(|(key, (value, _))| match value {
            SettingValue::Path(Some(path)) if key.ends_with("-file") => Some((key.clone(), digest(path)?)),
            _ => None,
        });
        self.files = files.collect();
    }

    /// Lays one layer over the others, and collects what is wrong with it.
    pub(super) fn overlay(&mut self, layer: Vec<LayerEntry>, problems: &mut Vec<ConfigProblem>) {
        let mut taken: BTreeMap<String, (String, Origin)> = BTreeMap::new();
        for said in layer {
            // Repeating --set is a correction, and the last one holds; elsewhere it is not clear which one is meant.
            let is_correction = said.origin == Origin::CommandLine;
            let judged = judge(&said).and_then(|judged| {
                let key = judged.as_ref().filter(|_| !is_correction).map(|(key, _)| key);
                match key.and_then(|key| taken.get_key_value(key)) {
                    None => Ok(judged),
                    Some((key, (spelling, origin))) => {
                        let spelling = spelling.escape_debug();
                        Err(format!("{key} is given twice, here and as {spelling} ({origin}); keep one"))
                    }
                }
            });
            match judged {
                Ok(Some((key, value))) => {
                    taken.insert(key.clone(), (said.key, said.origin.clone()));
                    self.leaves.insert(key, (value, said.origin));
                }
                Ok(None) => {}
                Err(text) => problems.push(ConfigProblem { key: Some(said.key), origin: said.origin, text }),
            }
        }
    }

    /// Where a key's value came from.
    pub(super) fn origin(&self, key: &str) -> &Origin {
        &self.leaf(key).1
    }

    pub(super) fn count(&self, key: &str) -> u64 {
        let SettingValue::Count(count) = self.value(key) else { mistaken(key) };
        *count
    }

    pub(super) fn count_u32(&self, key: &str) -> u32 {
        u32::try_from(self.count(key)).expect("the schema bounds every count below 2^32")
    }

    pub(super) fn optional_count_u32(&self, key: &str) -> Option<u32> {
        let SettingValue::OptionalCount(count) = self.value(key) else { mistaken(key) };
        count.map(|count| u32::try_from(count).expect("the schema bounds every count below 2^32"))
    }

    pub(super) fn count_usize(&self, key: &str) -> usize {
        usize::try_from(self.count(key)).expect("the schema bounds every count below 2^32")
    }

    pub(super) fn seconds(&self, key: &str) -> Duration {
        Duration::from_secs(self.count(key))
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        let SettingValue::Flag(flag) = self.value(key) else { mistaken(key) };
        *flag
    }

    pub(super) fn choice(&self, key: &str) -> &'static str {
        let SettingValue::Choice(choice) = self.value(key) else { mistaken(key) };
        choice
    }

    pub(super) fn text(&self, key: &str) -> &str {
        let SettingValue::Text(text) = self.value(key) else { mistaken(key) };
        text
    }

    pub(super) fn path(&self, key: &str) -> Option<&Path> {
        let SettingValue::Path(path) = self.value(key) else { mistaken(key) };
        path.as_deref()
    }

    pub(super) fn url(&self, key: &str) -> Option<&Url> {
        let SettingValue::Url(url) = self.value(key) else { mistaken(key) };
        url.as_ref()
    }

    pub(super) fn networks(&self, key: &str) -> &[IpNet] {
        let SettingValue::Networks(networks) = self.value(key) else { mistaken(key) };
        networks
    }

    pub(super) fn host_names(&self, key: &str) -> &[String] {
        let SettingValue::HostNames(names) = self.value(key) else { mistaken(key) };
        names
    }

    pub(super) fn faults(&self, key: &str) -> &[Fault] {
        let SettingValue::Faults(faults) = self.value(key) else { mistaken(key) };
        faults
    }

    pub(super) fn listen(&self, key: &str) -> Option<SocketAddr> {
        let SettingValue::Listen(address) = self.value(key) else { mistaken(key) };
        *address
    }

    pub(super) fn database(&self, key: &str) -> &DatabaseUrl {
        let SettingValue::Database(url) = self.value(key) else { mistaken(key) };
        url
    }

    pub(super) fn secret(&self, key: &str) -> Option<&SecretString> {
        let SettingValue::Secret(secret) = self.value(key) else { mistaken(key) };
        secret.as_ref()
    }

    /// The pauses for single hosts.
    pub(super) fn host_delays(&self) -> impl Iterator<Item = (String, Duration)> {
        self.hosts("source.host-overrides.<host>.poll-delay-seconds").map(|(host, value)| match value {
            SettingValue::Count(seconds) => (host.to_owned(), Duration::from_secs(*seconds)),
            _ => mistaken(host),
        })
    }

    /// The names with a fixed address.
    pub(super) fn static_hosts(&self) -> impl Iterator<Item = (String, IpAddr)> {
        self.hosts("http.static-hosts.<host>").map(|(host, value)| match value {
            SettingValue::Address(address) => (host.to_owned(), *address),
            _ => mistaken(host),
        })
    }

    fn hosts<'a>(&'a self, pattern: &'a str) -> impl Iterator<Item = (&'a str, &'a SettingValue)> {
        self.leaves.iter().filter_map(move |(key, (value, _))| {
            schema::find(key).filter(|found| found.entry.pattern == pattern)?.host.map(|host| (host, value))
        })
    }

    fn value(&self, key: &str) -> &SettingValue {
        &self.leaf(key).0
    }

    fn leaf(&self, key: &str) -> &(SettingValue, Origin) {
        self.leaves.get(key).expect("config/default.yaml has every key, and a test proves it")
    }
}

/// Makes a key in one map what it is in the other.
fn take<T: Clone>(into: &mut BTreeMap<String, T>, key: &str, from: &BTreeMap<String, T>) {
    match from.get(key) {
        Some(value) => into.insert(key.to_owned(), value.clone()),
        None => into.remove(key),
    };
}

/// Checks one thing that a layer says. An empty section says nothing.
fn judge(said: &LayerEntry) -> Result<Option<(String, SettingValue)>, String> {
    let raw = match &said.content {
        LayerValue::Typed(kind) => Raw::Typed(kind),
        LayerValue::Words(words) => Raw::Words(words),
    };
    if let Some(found) = schema::find(&said.key) {
        let host = found.host.map(canonical_host).transpose()?;
        if said.origin == Origin::CommandLine && found.entry.kind.holds_secret(raw) {
            return Err(on_command_line(found.entry.pattern));
        }
        let value = found.entry.kind.read(raw).map_err(|complaint| format!("{complaint} [{}]", found.entry.meaning))?;
        return Ok(Some((found.entry.key_for(host.as_deref()), value)));
    }
    if schema::is_section(&said.key) {
        return match raw {
            Raw::Typed(ValueKind::Nil | ValueKind::Table(_)) => Ok(None),
            _ => Err(suggest::nearest(&said.key).map_or_else(
                || "this is a section, not a key; write its keys below it".to_owned(),
                |key| format!("this is a section, not a key; did you mean {key}?"),
            )),
        };
    }
    if said.key.is_empty() {
        return Err("this names no key; `feedwarden config show` lists all there are".to_owned());
    }
    Err(match suggest::nearest(&said.key) {
        Some(key) => format!("there is no such key; did you mean {key}?"),
        None => "there is no such key; `feedwarden config show` lists all there are".to_owned(),
    })
}

/// Why a secret after `--set` is refused, and where it may stand.
fn on_command_line(key: &str) -> String {
    let file_key = format!("{key}-file");
    let file = match schema::find(&file_key) {
        Some(_) => format!("put it into a file of its own and name that with {file_key}, or set it"),
        None => "set it".to_owned(),
    };
    format!(
        "a secret on the command line is visible to every user in the list of processes; {file} in the file of --config or \
         in the environment variable {}",
        variable_name(key)
    )
}

/// Ends the program over a contradiction between the schema and its reader, which every start and every test meets.
fn mistaken(key: &str) -> ! {
    panic!("{key} is read as another kind than the schema gives it")
}
