//! The files of the system that say how names are resolved: `resolv.conf` and `hosts`.

use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::Hosts;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ResolveHosts, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::system_conf::parse_resolv_conf;

/// The most that is read of a file; lists of blocked hosts have some megabytes.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The most answers that are remembered until their TTL ends, two for each name: addresses of 16,000 hosts. The default
/// of the library is a quarter of it.
const ANSWERS_REMEMBERED_MAX: u64 = 32_768;

/// Where the system says how names are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolverSettings {
    pub resolv_conf: PathBuf,
    pub hosts: PathBuf,
    /// Port of the name servers, which `resolv.conf` cannot name.
    pub port: u16,
    /// Shortest time between two looks at the files.
    pub look_pause: Duration,
    /// Shortest time between two readings of the files because no name server answers.
    pub reread_pause: Duration,
}

impl Default for ResolverSettings {
    fn default() -> ResolverSettings {
        ResolverSettings {
            resolv_conf: "/etc/resolv.conf".into(),
            hosts: "/etc/hosts".into(),
            port: 53,
            look_pause: Duration::from_secs(2),
            reread_pause: Duration::from_secs(1),
        }
    }
}

/// What tells one version of the files from another without reading them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamps([Option<FileStamp>; 2]);

/// Device, inode, size, and the times of content and attributes, in nanoseconds.
type FileStamp = (u64, u64, u64, i128, i128);

/// What the files say. `resolv_conf` is an error if it cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contents {
    resolv_conf: Result<Vec<u8>, String>,
    hosts: Vec<u8>,
}

impl ResolverSettings {
    pub(super) fn stamps(&self) -> Stamps {
        Stamps([&self.resolv_conf, &self.hosts].map(|path| stamp(path)))
    }

    pub(super) fn read(&self) -> Contents {
        let resolv_conf = read(&self.resolv_conf).map_err(|error| error.to_string());
        let resolv_conf = resolv_conf.and_then(|text| match parse_resolv_conf(&text) {
            Ok(_) => Ok(text),
            Err(error) => Err(error.to_string()),
        });
        Contents { resolv_conf, hosts: read(&self.hosts).unwrap_or_default() }
    }

    /// A resolver that follows these contents, and its name servers. Without a usable `resolv.conf` it has no name
    /// servers and knows the hosts only.
    pub(super) fn resolver(&self, contents: &Contents) -> Result<(TokioResolver, Vec<IpAddr>), String> {
        let (parsed, mut options) = match &contents.resolv_conf {
            Ok(text) => parse_resolv_conf(text).map_err(|error| error.to_string())?,
            Err(_) => (ResolverConfig::from_parts(None, Vec::new(), Vec::new()), ResolverOpts::default()),
        };
        let mut servers = parsed.name_servers().to_vec();
        for connection in servers.iter_mut().flat_map(|server| &mut server.connections) {
            connection.port = self.port;
        }
        let addresses = servers.iter().map(|server| server.ip).collect();
        let config = ResolverConfig::from_parts(parsed.domain().cloned(), parsed.search().to_vec(), servers);
        options.use_hosts_file = ResolveHosts::Never;
        options.cache_size = ANSWERS_REMEMBERED_MAX;
        let builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        let mut resolver = builder.with_options(options).build().map_err(|error| error.to_string())?;
        let mut hosts = Hosts::default();
        // A line that cannot be read is skipped; an error comes from the file, which is read already.
        let _ = hosts.read_hosts_conf(contents.hosts.as_slice());
        resolver.set_hosts(Arc::new(hosts));
        Ok((resolver, addresses))
    }
}

impl Contents {
    /// Why `resolv.conf` cannot be used.
    pub(super) fn problem(&self) -> Option<&String> {
        self.resolv_conf.as_ref().err()
    }
}

fn stamp(path: &Path) -> Option<FileStamp> {
    let found = std::fs::metadata(path).ok()?;
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let written = nanoseconds(found.mtime(), found.mtime_nsec());
    Some((found.dev(), found.ino(), found.size(), written, nanoseconds(found.ctime(), found.ctime_nsec())))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}
