//! What sources need to be let in: checked before it is kept, kept for the origin that it was given for.

use secrecy::ExposeSecret;

use super::changes::ROUNDS_MAX;
use super::{ControlError, PipelineHandle, canonicalize};
use crate::http::header_problem;
use crate::model::{NewSource, SourceAccess, SourceId, SourceSettings};
use crate::store::{Added, Saved, StoreError};

/// How many headers a source can have of its own.
const HEADERS_MAX: usize = 16;
const HEADER_BYTES_MAX: usize = 8 * 1024;
const LOGIN_BYTES_MAX: usize = 1024;

/// What is wrong with a login or with headers; no value of theirs is repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct AccessError {
    /// Which part is wrong.
    pub field: String,
    text: String,
}

impl AccessError {
    fn new(field: impl Into<String>, text: impl Into<String>) -> AccessError {
        AccessError { field: field.into(), text: text.into() }
    }
}

/// Says what is wrong with a login or with headers before anybody has to learn it from a failing poll.
pub fn check_access(access: &SourceAccess) -> Result<(), AccessError> {
    let SourceAccess { headers, login, .. } = access;
    if headers.is_empty() && login.is_none() {
        return Err(AccessError::new("login", "give a login, headers or both"));
    }
    if headers.len() > HEADERS_MAX {
        return Err(AccessError::new("headers", format!("at most {HEADERS_MAX} headers")));
    }
    for (place, (name, value)) in headers.iter().enumerate() {
        let field = || format!("headers.{}", name.chars().take(64).collect::<String>());
        if name.len() + value.expose_secret().len() > HEADER_BYTES_MAX {
            return Err(AccessError::new(field(), format!("a header has at most {HEADER_BYTES_MAX} bytes")));
        }
        if let Some(problem) = header_problem(name, value.expose_secret()) {
            return Err(AccessError::new(field(), problem));
        }
        if headers[..place].iter().any(|(earlier, _)| earlier.eq_ignore_ascii_case(name)) {
            return Err(AccessError::new(field(), "this header is there twice"));
        }
        if login.is_some() && name.eq_ignore_ascii_case("authorization") {
            return Err(AccessError::new(field(), "give a login or this header, not both: a login is sent in it"));
        }
    }
    let Some((name, password)) = login else { return Ok(()) };
    let password = password.expose_secret();
    let is_wrong = |text: &str| text.len() > LOGIN_BYTES_MAX || text.chars().any(char::is_control);
    if name.is_empty() || name.contains(':') || is_wrong(name) {
        let right = format!("a name has 1 to {LOGIN_BYTES_MAX} bytes, no colon and no control characters");
        return Err(AccessError::new("login.name", right));
    }
    if is_wrong(password) {
        let right = format!("a password has at most {LOGIN_BYTES_MAX} bytes and no control characters");
        return Err(AccessError::new("login.password", right));
    }
    Ok(())
}

impl PipelineHandle {
    /// Adds a source with its labels, and perhaps with what it needs to be let in.
    pub async fn add_source(
        &self,
        settings: SourceSettings,
        labels: Vec<String>,
        access: Option<SourceAccess>,
    ) -> Result<Added, ControlError> {
        let Some(access) = access else {
            let added = self.add_sources(vec![(settings, labels)]).await?.pop();
            return added.ok_or_else(|| StoreError::Internal("nothing was added".into()).into());
        };
        check_access(&access)?;
        let settings = canonicalize(self.context.store.as_ref(), settings).await?;
        let access = SourceAccess { origin: SourceAccess::origin_of(&settings.url), ..access };
        let store = &self.context.store;
        let new = NewSource { settings, created_at: self.context.clock.now() };
        let added = store.add_source_with_access(new, &access).await?;
        if let Added::New(id) = added {
            store.add_labels(vec![(id, labels)], self.context.clock.now()).await?;
            self.sources_changed(vec![id]);
        }
        Ok(added)
    }

    /// Keeps what a source needs to be let in instead of what was kept before, or nothing; if a version is named, only if
    /// the source still has it. The next poll uses it. Returns the new version.
    pub async fn save_access(
        &self,
        id: SourceId,
        access: Option<SourceAccess>,
        expected_version: Option<i64>,
    ) -> Result<i64, ControlError> {
        access.as_ref().map(check_access).transpose()?;
        let store = &self.context.store;
        let mut source = store.source(id).await?.ok_or(ControlError::NoSuchSource(id))?;
        for _ in 0..=ROUNDS_MAX {
            if expected_version.is_some_and(|expected| expected != source.version) {
                break;
            }
            let origin = SourceAccess::origin_of(&source.settings.url);
            let access = access.clone().map(|access| SourceAccess { origin, ..access });
            // On the version whose URL was looked at, so that nothing is kept for an origin that nobody meant.
            let now = self.context.clock.now();
            match store.save_source_access(id, access.as_ref(), Some(source.version), now).await? {
                Saved::Written(version) => {
                    self.sources_changed(vec![id]);
                    return Ok(version);
                }
                Saved::Stale(fresh) => source = *fresh,
                Saved::Duplicate(other) => return Err(ControlError::Duplicate(other)),
                Saved::Gone => return Err(ControlError::NoSuchSource(id)),
            }
        }
        Err(ControlError::Conflict { version: source.version })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn field(headers: &[(&str, &str)], login: Option<(&str, &str)>) -> Option<String> {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        let login = login.map(|(name, password)| (name.to_owned(), password.into()));
        let wrong = check_access(&SourceAccess { headers, login, origin: None }).err()?;
        assert!(!wrong.to_string().contains("canary"), "{wrong}");
        Some(wrong.field)
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
