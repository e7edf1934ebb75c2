//! Logins and headers of sources: checked before they are stored, and stored for the origin that they were given for.

use secrecy::ExposeSecret;

use super::audit::{HIDDEN_CHANGE, of_source};
use super::sources::ROUNDS_MAX;
use super::{Result, Service, ServiceError};
use crate::http::header_problem;
use crate::model::{AuditedChange, Source, SourceAccess, SourceId, SourceType};
use crate::sources::kind;
use crate::store::{Saved, Store};

/// How many headers a source can have of its own.
const HEADERS_MAX: usize = 16;
const HEADER_BYTES_MAX: usize = 8 * 1024;
const LOGIN_BYTES_MAX: usize = 1024;

/// Rejects a login or headers that cannot or must not be sent. The error never repeats one of their values.
pub(super) fn check(access: &SourceAccess, source_type: SourceType) -> Result<()> {
    if let Some(why) = kind(source_type).access_refusal() {
        return Err(ServiceError::invalid("login", why));
    }
    let SourceAccess { headers, login, .. } = access;
    if headers.is_empty() && login.is_none() {
        return Err(ServiceError::invalid("login", "give a login, headers or both"));
    }
    if headers.len() > HEADERS_MAX {
        return Err(ServiceError::invalid("headers", format!("at most {HEADERS_MAX} headers")));
    }
    for (index, (name, value)) in headers.iter().enumerate() {
        let field = || format!("headers.{}", name.chars().take(64).collect::<String>());
        if name.len() + value.expose_secret().len() > HEADER_BYTES_MAX {
            return Err(ServiceError::invalid(field(), format!("a header has at most {HEADER_BYTES_MAX} bytes")));
        }
        if let Some(problem) = header_problem(name, value.expose_secret()) {
            return Err(ServiceError::invalid(field(), problem));
        }
        if headers[..index].iter().any(|(earlier, _)| earlier.eq_ignore_ascii_case(name)) {
            return Err(ServiceError::invalid(field(), "this header is there twice"));
        }
        if login.is_some() && name.eq_ignore_ascii_case("authorization") {
            let detail = "give a login or this header, not both: a login is sent in it";
            return Err(ServiceError::invalid(field(), detail));
        }
    }
    let Some((name, password)) = login else { return Ok(()) };
    let password = password.expose_secret();
    let is_wrong = |text: &str| text.len() > LOGIN_BYTES_MAX || text.chars().any(char::is_control);
    if name.is_empty() || name.contains(':') || is_wrong(name) {
        let right = format!("a name has 1 to {LOGIN_BYTES_MAX} bytes, no colon and no control characters");
        return Err(ServiceError::invalid("login.name", right));
    }
    if is_wrong(password) {
        let right = format!("a password has at most {LOGIN_BYTES_MAX} bytes and no control characters");
        return Err(ServiceError::invalid("login.password", right));
    }
    Ok(())
}

impl Service {
    /// Login and headers of a source with the source's version.
    pub async fn source_access(&self, id: SourceId) -> Result<(SourceAccess, i64)> {
        let source = self.source(id).await?;
        let access = self.store.source_access(id).await?.ok_or_else(|| no_access(id))?;
        Ok((access, source.version))
    }

    /// Replaces login and headers of a source; if a version is named, only if the source still has it. The next poll
    /// uses them. Returns what is stored and the new version.
    pub async fn put_source_access(
        &self,
        id: SourceId,
        expected_version: Option<i64>,
        access: SourceAccess,
    ) -> Result<(SourceAccess, i64)> {
        let version = self.save_access(id, expected_version, Some(access)).await?;
        let access = self.store.source_access(id).await?.ok_or_else(|| no_access(id))?;
        Ok((access, version))
    }

    /// Removes login and headers of a source, also those that cannot be decrypted any more. Returns the new version.
    pub async fn remove_source_access(&self, id: SourceId, expected_version: Option<i64>) -> Result<i64> {
        self.source(id).await?;
        if self.store.sources_with_access(vec![id]).await?.is_empty() {
            return Err(no_access(id));
        }
        self.save_access(id, expected_version, None).await
    }

    async fn save_access(
        &self,
        id: SourceId,
        expected_version: Option<i64>,
        access: Option<SourceAccess>,
    ) -> Result<i64> {
        let mut source = self.source(id).await?;
        for _ in 0..=ROUNDS_MAX {
            if expected_version.is_some_and(|expected| expected != source.version) {
                break;
            }
            if let Some(access) = &access {
                check(access, source.settings.source_type)?;
            }
            let origin = SourceAccess::origin_of(&source.settings.url);
            let access = access.clone().map(|access| SourceAccess { origin, ..access });
            // On the version whose URL was checked: a login must not be stored for an origin that it was not given for.
            let (version, now) = (Some(source.version), self.now());
            let save = async |store: &dyn Store| store.save_source_access(id, access.as_ref(), version, now).await;
            match self.audited(access_change(&source, access.as_ref()), save).await? {
                Saved::Written(version) => {
                    self.pipeline.sources_changed(vec![id]);
                    return Ok(version);
                }
                Saved::Stale(fresh) => source = *fresh,
                Saved::Duplicate(other) => return Err(ServiceError::Duplicate(other)),
                Saved::Gone => return Err(ServiceError::not_found("source", id)),
            }
        }
        Err(ServiceError::Conflict { version: source.version })
    }
}

/// Names only; a login and the values of headers are secrets.
fn access_change(source: &Source, access: Option<&SourceAccess>) -> AuditedChange {
    let Some(SourceAccess { headers, login, .. }) = access else {
        return of_source("source.access-remove", source).before("access", HIDDEN_CHANGE);
    };
    let names: Vec<String> = headers.iter().map(|(name, _)| name.clone()).collect();
    let change = of_source("source.access", source).after("login", login.as_ref().map(|_| HIDDEN_CHANGE));
    change.after("headers", names.as_slice())
}

fn no_access(id: SourceId) -> ServiceError {
    ServiceError::NoAccess(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn field(headers: &[(&str, &str)], login: Option<(&str, &str)>) -> Option<String> {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        let login = login.map(|(name, password)| (name.to_owned(), password.into()));
        let error = check(&SourceAccess { headers, login, origin: None }, SourceType::Rss).err()?;
        assert!(!error.to_string().contains("canary"), "{error}");
        let ServiceError::Invalid { field, .. } = error else { panic!("{error}") };
        Some(field)
    }

    #[rstest]
    #[case("Host", "canary")]
    #[case("connection", "canary")]
    #[case("Keep-Alive", "canary")]
    #[case("TE", "canary")]
    #[case("If-None-Match", "canary")]
    #[case("If-Modified-Since", "canary")]
    #[case("Range", "canary")]
    #[case("Accept-Encoding", "canary")]
    #[case("User-Agent", "canary")]
    #[case("no name", "canary")]
    #[case("", "canary")]
    #[case("X-Token", "canary\r\nX-Injected: 1")]
    #[case("X-Token", "canary\0")]
    fn a_header_that_cannot_or_must_not_be_sent_is_refused_by_its_name(#[case] name: &str, #[case] value: &str) {
        assert_eq!(field(&[(name, value)], None), Some(format!("headers.{name}")));
    }

    #[rstest]
    #[case(&[("X-Token", "canary"), ("Cookie", "a=ü; b")], None)]
    #[case(&[("Authorization", "Bearer canary")], None)]
    #[case(&[("Accept", "application/atom+xml")], Some(("ann", "")))]
    #[case(&[], Some(("ann", "c:anäry")))]
    fn what_publishers_ask_for_is_taken(#[case] headers: &[(&str, &str)], #[case] login: Option<(&str, &str)>) {
        assert_eq!(field(headers, login), None);
    }

    #[test]
    fn what_is_too_much_too_long_or_there_twice_is_refused() {
        let long = "x".repeat(HEADER_BYTES_MAX);
        assert_eq!(field(&[], None).as_deref(), Some("login"));
        assert_eq!(field(&[("X", &long)], None).as_deref(), Some("headers.X"));
        assert_eq!(field(&[("X", "1"), ("x", "2")], None).as_deref(), Some("headers.x"));
        let names: Vec<String> = (0..=HEADERS_MAX).map(|number| format!("X-{number}")).collect();
        let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
        assert_eq!((field(&many[1..], None), field(&many, None).as_deref()), (None, Some("headers")));
        assert_eq!(field(&[("authorization", "x")], Some(("ann", "x"))).as_deref(), Some("headers.authorization"));
        for name in ["", "a:b", "a\nb", &long] {
            assert_eq!(field(&[], Some((name, "canary"))).as_deref(), Some("login.name"), "{name:?}");
        }
        assert_eq!(field(&[], Some(("ann", "canary\r\n"))).as_deref(), Some("login.password"));
    }
}
