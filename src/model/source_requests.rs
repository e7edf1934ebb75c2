//! How requests for a source are made, if not as for all others: its user agent and its proxy.

use std::fmt;
use std::str::FromStr;

use url::Url;

const USER_AGENT_BYTES_MAX: usize = 256;
const PROXY_BYTES_MAX: usize = 300;

/// The proxy of a source, in place of the configured one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SourceProxy {
    /// Requests go to the host itself.
    Direct,
    /// `http`, `socks5` or `socks5h`; without credentials.
    Through(Url),
}

/// The text for [`SourceProxy::Direct`].
const NONE: &str = "none";

impl fmt::Display for SourceProxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceProxy::Direct => formatter.write_str(NONE),
            SourceProxy::Through(url) => formatter.write_str(url.as_str()),
        }
    }
}

impl FromStr for SourceProxy {
    type Err = &'static str;

    /// The error does not repeat the text, which may hold a password.
    fn from_str(text: &str) -> Result<SourceProxy, &'static str> {
        const FORM: &str = "write none, or a URL that begins with http://, socks5:// or socks5h://";
        if text == NONE {
            return Ok(SourceProxy::Direct);
        }
        if text.len() > PROXY_BYTES_MAX {
            return Err("the URL of a proxy has at most 300 bytes");
        }
        let url = Url::parse(text).map_err(|_| FORM)?;
        if !matches!(url.scheme(), "http" | "socks5" | "socks5h") || url.host_str().is_none_or(str::is_empty) {
            return Err(FORM);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the proxy of a source has no login; only http.proxy of the configuration can have one");
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err("the URL of a proxy ends with its host and port");
        }
        Ok(SourceProxy::Through(url))
    }
}

/// Whether this can be the value of a `User-Agent` header. A browser's would be a lie (politeness row p27).
pub fn check_user_agent(agent: &str) -> Result<(), &'static str> {
    if agent.len() > USER_AGENT_BYTES_MAX || agent.bytes().any(|byte| !(b' '..=b'~').contains(&byte)) {
        return Err("it does not fit a header; write up to 256 plain ASCII characters");
    }
    if agent.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("Mozilla/")) {
        return Err(
            "this pretends to be a browser; write who you are, such as \"example-reader/1.0 (+https://example.org)\"",
        );
    }
    Ok(())
}

/// The name in a user agent that robots.txt files know it by: `reader` of `reader/1.0 (+https://a.example)`.
pub fn product_of(user_agent: &str) -> &str {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let length = user_agent.bytes().take_while(|byte| is_token(*byte)).count();
    &user_agent[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_read_and_printed_alike() {
        for text in ["none", "http://proxy.example:3128/", "socks5://127.0.0.1:9050", "socks5h://[::1]"] {
            assert_eq!(text.parse::<SourceProxy>().map(|proxy| proxy.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(
            "http://proxy.example:3128".parse::<SourceProxy>().unwrap().to_string(),
            "http://proxy.example:3128/"
        );
    }

    #[test]
    fn p37_a_proxy_with_a_login_or_of_another_kind_is_refused_without_repeating_it() {
        let long = format!("http://{}.example", "hidden".repeat(60));
        for text in [
            "",
            "hidden",
            "https://hidden",
            "socks5://ann:hidden@a.example",
            "http://hidden@a",
            "http://a/hidden",
            &long,
        ] {
            let error = text.parse::<SourceProxy>().unwrap_err();
            assert!(!error.contains("hidden"), "{text}: {error}");
        }
    }

    #[test]
    fn a_user_agent_has_a_product() {
        for (agent, product) in
            [("reader/1.0 (+https://a.example)", "reader"), ("my-bot", "my-bot"), ("", ""), ("(x)", ""), ("a b", "a")]
        {
            assert_eq!(product_of(agent), product);
        }
    }
}
