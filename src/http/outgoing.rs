//! Builds a request with all of its headers.

use hyper::HeaderMap;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderName,
    HeaderValue, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, RANGE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use secrecy::ExposeSecret;
use url::{Position, Url};

use super::failure::other;
use super::headers::bytes;
use super::proxy::Proxy;
use super::request::{Method, Request, credentials_of, without_credentials};
use crate::model::{FailureReport, Validators};

/// Headers that a source cannot set: connection and framing, validators, ranges, encodings,
/// and the user agent.
const RESERVED: [HeaderName; 21] = [
    ACCEPT_ENCODING,
    CONNECTION,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    EXPECT,
    HOST,
    IF_MATCH,
    IF_MODIFIED_SINCE,
    IF_NONE_MATCH,
    IF_RANGE,
    IF_UNMODIFIED_SINCE,
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    RANGE,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    USER_AGENT,
];

/// Error of a header for a source's requests, without its value.
pub fn header_problem(name: &str, value: &str) -> Option<&'static str> {
    match name.parse::<HeaderName>() {
        Err(_) => Some("not a header name"),
        Ok(name) if RESERVED.contains(&name) => Some("this header cannot be set"),
        Ok(_) if HeaderValue::from_bytes(value.as_bytes()).is_err() => Some("its value cannot be sent"),
        Ok(_) => None,
    }
}

pub(super) struct RequestContext<'a> {
    pub(super) user_agent: &'a HeaderValue,
    /// Whether the URL has the origin of the request; only then are secrets sent.
    pub(super) trusted: bool,
    /// The HTTP proxy that receives the request: it needs the absolute URL, and possibly a login.
    pub(super) proxy: Option<&'a Proxy>,
}

/// The request for this URL.
pub(super) fn build(
    request: &Request,
    url: &Url,
    context: &RequestContext,
) -> Result<hyper::Request<String>, FailureReport> {
    let target = match context.proxy {
        Some(_) => without_credentials(url).to_string(),
        None => url[Position::BeforePath..Position::AfterQuery].to_owned(),
    };
    let mut outgoing = hyper::Request::new(String::new());
    *outgoing.uri_mut() = target.parse().map_err(|error| other(format!("the URL cannot be sent: {error}")))?;
    let headers = outgoing.headers_mut();
    let host = &url[Position::BeforeHost..Position::AfterPort];
    headers.insert(HOST, value(&HOST, host.as_bytes())?);
    headers.insert(USER_AGENT, context.user_agent.clone());
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, br, zstd"));
    if context.trusted {
        add_own_headers(headers, request)?;
    }
    add_validators(headers, &request.validators);
    add_credentials(headers, request, url, context)?;
    if !request.keep_alive {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some((media_type, body)) = request.method.body() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        *outgoing.method_mut() =
            if matches!(request.method, Method::PutJson(_)) { hyper::Method::PUT } else { hyper::Method::POST };
        *outgoing.body_mut() = body.to_owned();
    }
    Ok(outgoing)
}

fn add_own_headers(headers: &mut HeaderMap, request: &Request) -> Result<(), FailureReport> {
    for (name, secret) in &request.headers {
        let name = name.parse().ok().filter(|name| !RESERVED.contains(name));
        let name = name.ok_or_else(|| other("one of the source's headers has a name that cannot be used"))?;
        let value = value(&name, secret.expose_secret().as_bytes())?;
        headers.insert(name, value);
    }
    Ok(())
}

/// Validators are sent at every hop: they are not secret, and belong to the end of the redirect.
fn add_validators(headers: &mut HeaderMap, validators: &Validators) {
    for (name, validator) in [(IF_NONE_MATCH, &validators.etag), (IF_MODIFIED_SINCE, &validators.last_modified)] {
        // Ignore an invalid validator and send an unconditional request.
        if let Some(value) = validator.as_ref().and_then(|text| HeaderValue::from_bytes(&bytes(text)?).ok()) {
            headers.insert(name, value);
        }
    }
}

fn add_credentials(
    headers: &mut HeaderMap,
    request: &Request,
    url: &Url,
    context: &RequestContext,
) -> Result<(), FailureReport> {
    let given = request.credentials.as_ref().filter(|_| context.trusted).map(|given| given.header());
    if let Some(credentials) = given.or_else(|| credentials_of(url)) {
        headers.insert(AUTHORIZATION, value(&AUTHORIZATION, credentials.as_bytes())?);
    }
    if let Some(credentials) = context.proxy.and_then(|proxy| proxy.authorization.as_deref()) {
        headers.insert(PROXY_AUTHORIZATION, value(&PROXY_AUTHORIZATION, credentials.as_bytes())?);
    }
    Ok(())
}

/// The error names the header and never its value.
fn value(name: &HeaderName, bytes: &[u8]) -> Result<HeaderValue, FailureReport> {
    HeaderValue::from_bytes(bytes).map_err(|_| other(format!("header {name} has a value that cannot be sent")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn target(url: &str, proxy: Option<&Proxy>) -> Result<String, FailureReport> {
        let user_agent = HeaderValue::from_static("test/1");
        let context = RequestContext { user_agent: &user_agent, trusted: true, proxy };
        build(&Request::new(url), &Url::parse(url).unwrap(), &context).map(|outgoing| outgoing.uri().to_string())
    }

    #[test]
    fn p26_a_url_is_asked_for_as_it_is_with_nothing_added() {
        let same = |path: &str| assert_eq!(target(&format!("http://feeds.example{path}"), None).unwrap(), path);
        same("/");
        same("/?");
        same("//double//slash?x=//");
        same("/a|b/c?d={e}|f^`&g[]=h\\i");
        same("/%zz%");
        same("/a;b=c,d!$&'()*+:@~");
    }

    #[test]
    fn an_http_proxy_is_told_the_whole_url_but_neither_credentials_nor_fragment() {
        let proxy = Proxy::from_setting(&Url::parse("http://proxy.example").unwrap()).unwrap();
        let told = target("http://ann:word@feeds.example:8080/a?b#c", Some(&proxy)).unwrap();
        assert_eq!(told, "http://feeds.example:8080/a?b");
    }

    proptest! {
        #[test]
        fn whatever_is_a_url_can_be_asked_for(rest in "[ -~\u{a0}-\u{ff}\u{4e00}]{0,60}") {
            let url = format!("http://feeds.example/{rest}");
            prop_assert!(target(&url, None).is_ok(), "{}", url);
        }
    }
}
