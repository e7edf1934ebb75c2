//! The database's URL: which engine, where, and how it is shown without its password.

use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};
use tokio_postgres::config::{SslMode, SslNegotiation};
use url::form_urlencoded;

use super::kind::{MASK, Raw};
use super::network::without_password;
use super::problem::quoted;
use super::scalar::text;

/// Which engine, and where.
#[derive(Clone, Debug)]
pub(super) enum DatabaseUrl {
    Sqlite(PathBuf),
    /// The server at this URL.
    Postgres(SecretString),
}

impl DatabaseUrl {
    /// Reads a URL. Nothing that could be part of a password is repeated in the error.
    pub(super) fn read(raw: Raw<'_>) -> Result<DatabaseUrl, String> {
        let url = text(raw)?.trim();
        match url.split_once(':') {
            Some(("sqlite", rest)) => sqlite(rest),
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => postgres(url),
            _ => Err("this begins with neither sqlite: nor postgres://; write sqlite:PATH or \
                      postgres://user:password@host:port/database"
                .into()),
        }
    }

    pub(super) fn has_password(&self) -> bool {
        match self {
            DatabaseUrl::Sqlite(_) => false,
            DatabaseUrl::Postgres(url) => url.expose_secret() != self.masked(),
        }
    }

    /// The URL without its password.
    pub(super) fn masked(&self) -> String {
        let url = match self {
            DatabaseUrl::Sqlite(path) => return format!("sqlite:{}", path.display()),
            DatabaseUrl::Postgres(url) => without_password(url.expose_secret()),
        };
        let Some((place, options)) = url.split_once('?') else { return url };
        let shown = options.split('&').map(|option| match option.split_once('=') {
            Some((name, _)) if is_password(name) => format!("{name}={MASK}"),
            _ => option.to_owned(),
        });
        format!("{place}?{}", shown.collect::<Vec<_>>().join("&"))
    }
}

fn sqlite(rest: &str) -> Result<DatabaseUrl, String> {
    // Both spellings are around: `sqlite:PATH`, and `sqlite://PATH` with an empty host.
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if path.is_empty() {
        return Err("this names no file; write one such as sqlite:feedwarden.db".into());
    }
    if path.contains(":memory:") {
        return Err("a database in memory cannot be shared by its readers and its writer; name a file".into());
    }
    if path.contains(['?', '\0']) {
        return Err(format!("{} has options; write the path alone and set database.sqlite.*", quoted(path)));
    }
    if path.starts_with("~/") {
        return Err(format!("{} begins with ~, which only a shell understands; write the whole path", quoted(path)));
    }
    Ok(DatabaseUrl::Sqlite(PathBuf::from(path)))
}

fn postgres(url: &str) -> Result<DatabaseUrl, String> {
    let right = "write postgres://user:password@host:port/database, with special characters of the password as %40";
    let parsed: tokio_postgres::Config =
        url.parse().map_err(|_| format!("this is not the URL of a PostgreSQL server; {right}"))?;
    if parsed.get_hosts().is_empty() {
        return Err(format!("this names no host; {right}"));
    }
    // The URL could otherwise switch off the encryption that database.postgres.tls requires.
    if parsed.get_ssl_mode() != SslMode::Prefer || parsed.get_ssl_negotiation() != SslNegotiation::Postgres {
        return Err("encryption is not set in the URL; leave sslmode out and set database.postgres.tls".into());
    }
    Ok(DatabaseUrl::Postgres(SecretString::from(url)))
}

fn is_password(name: &str) -> bool {
    form_urlencoded::parse(name.as_bytes()).any(|(name, _)| name.to_ascii_lowercase().contains("pass"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("sqlite:feedwarden.db", "sqlite:feedwarden.db")]
    #[case("sqlite:///var/lib/feedwarden.db", "sqlite:/var/lib/feedwarden.db")]
    #[case("postgres://me@host/db", "postgres://me@host/db")]
    #[case("postgres://me:hunter2@host/db", "postgres://me:********@host/db")]
    #[case("postgresql://me:hun%40ter2@a:1,b:2/db", "postgresql://me:********@a:1,b:2/db")]
    #[case("postgres://me:p?a=hunter2@host/db", "postgres://me:********@host/db")]
    #[case(
        "postgres://me@host/db?connect_timeout=3&p%61ssword=hunter2",
        "postgres://me@host/db?connect_timeout=3&p%61ssword=********"
    )]
    fn a_url_is_shown_without_its_password(#[case] url: &str, #[case] shown: &str) {
        assert_eq!(DatabaseUrl::read(Raw::Words(url)).unwrap().masked(), shown);
    }

    #[rstest]
    #[case("mysql://me:hunter2@host/db", "neither sqlite: nor postgres://")]
    #[case("feedwarden.db", "write sqlite:PATH")]
    #[case("sqlite:", "names no file")]
    #[case("sqlite::memory:", "name a file")]
    #[case("sqlite:a.db?mode=ro", "write the path alone")]
    #[case("sqlite:~/a.db", "whole path")]
    #[case("postgres://", "names no host")]
    #[case("postgres://me:hunter2@host:port/db", "not the URL of a PostgreSQL server")]
    #[case("postgres://me:hunter2@host/db?sslmode=disable", "set database.postgres.tls")]
    #[case("postgres://me:p?hunter2@host/db?application_name=a?b&sslmode=disable", "set database.postgres.tls")]
    fn a_url_that_leads_nowhere_is_refused_and_not_repeated(#[case] url: &str, #[case] complaint: &str) {
        let text = DatabaseUrl::read(Raw::Words(url)).unwrap_err();
        assert!(text.contains(complaint) && !text.contains("hunter2"), "{text}");
    }
}
