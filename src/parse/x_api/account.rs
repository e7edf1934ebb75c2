//! An X account: the name that a person wrote, and the number that X knows it by.

use serde::Deserialize;
use url::Url;

use super::XApiError;
use super::problem::{RawProblem, first_problem};

/// The longest name that X hands out.
const NAME_CHARS_MAX: usize = 15;
/// The longest number of 64 bits.
const ID_DIGITS_MAX: usize = 20;
/// Where accounts are shown; each also answers with `www.` or `mobile.` before it.
const SITES: [&str; 2] = ["x.com", "twitter.com"];

/// A text that names no X account.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no X account: write https://x.com/NAME, @NAME or NAME, where NAME is 1 to 15 letters, digits or underscores"
)]
pub struct NameError;

#[derive(Deserialize)]
struct UserAnswer {
    data: Option<User>,
    #[serde(default)]
    errors: Vec<RawProblem>,
}

#[derive(Deserialize)]
struct User {
    id: String,
}

/// The name in `https://x.com/NAME`, `https://twitter.com/NAME`, `@NAME` or `NAME`. What people copy along with a link
/// (a trailing slash, `?s=20`) is overlooked.
pub fn account_name(url: &str) -> Result<String, NameError> {
    let text = url.trim();
    if !text.contains("://") {
        return valid(text.strip_prefix('@').unwrap_or(text));
    }
    let url = Url::parse(text).map_err(|_| NameError)?;
    let host = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https")).ok_or(NameError)?;
    let site = host.strip_prefix("www.").or_else(|| host.strip_prefix("mobile.")).unwrap_or(host);
    if !SITES.contains(&site) || url.port().is_some() {
        return Err(NameError);
    }
    let path = url.path().trim_start_matches('/');
    valid(path.strip_suffix('/').unwrap_or(path))
}

/// The number of the account in an answer to `/2/users/by/username/NAME`.
pub fn account(body: &[u8]) -> Result<String, XApiError> {
    let answer: UserAnswer = serde_json::from_slice(body).map_err(|error| XApiError::from_json(&error))?;
    match answer.data {
        Some(user) if is_account_id(&user.id) => Ok(user.id),
        Some(_) => Err(XApiError::unknown("the account's id is not a number")),
        None => Err(first_problem(answer.errors)
            .map_or_else(|| XApiError::unknown("it holds neither an account nor a problem"), XApiError::Refused)),
    }
}

/// Whether a text can be an account's number and so part of a path.
pub fn is_account_id(text: &str) -> bool {
    (1..=ID_DIGITS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn valid(name: &str) -> Result<String, NameError> {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let fits = (1..=NAME_CHARS_MAX).contains(&name.len()) && name.bytes().all(word);
    fits.then(|| name.to_owned()).ok_or(NameError)
}

#[cfg(test)]
mod tests {
    use super::super::ProblemKind;
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("https://x.com/XDevelopers")]
    #[case("https://twitter.com/XDevelopers")]
    #[case("http://www.twitter.com/XDevelopers/")]
    #[case("https://mobile.twitter.com/XDevelopers?s=20&t=abc")]
    #[case("https://X.COM/XDevelopers#top")]
    #[case("@XDevelopers")]
    #[case("XDevelopers")]
    #[case("  XDevelopers ")]
    fn s510_an_account_is_named_by_link_or_by_name(#[case] url: &str) {
        assert_eq!(account_name(url).as_deref(), Ok("XDevelopers"));
    }

    #[rstest]
    #[case::nothing("")]
    #[case::at_alone("@")]
    #[case::two_ats("@@a")]
    #[case::too_long("abcdefghijklmnop")]
    #[case::dot("a.b")]
    #[case::dash("a-b")]
    #[case::not_ascii("jürgen")]
    #[case::two_words("a b")]
    #[case::other_site("https://nitter.net/a")]
    #[case::site_as_part("https://x.com.evil.example/a")]
    #[case::other_scheme("ftp://x.com/a")]
    #[case::other_port("https://x.com:8443/a")]
    #[case::no_name("https://x.com/")]
    #[case::a_post("https://x.com/a/status/1")]
    #[case::at_in_the_path("https://x.com/@a")]
    #[case::encoded("https://x.com/a%2Fb")]
    #[case::no_url("https://")]
    #[case::no_scheme("x.com/a")]
    fn s510_anything_else_names_no_account(#[case] url: &str) {
        assert_eq!(account_name(url), Err(NameError));
    }

    #[test]
    fn every_name_within_the_bounds_is_taken() {
        for name in ["_", "0", "a_b_C_9", "abcdefghijklmno"] {
            assert_eq!(account_name(name).as_deref(), Ok(name));
        }
    }

    #[test]
    fn the_number_of_an_account_is_found() {
        let body = br#"{"data":{"id":"2244994945","name":"Developers","username":"XDevelopers"}}"#;
        assert_eq!(account(body).as_deref(), Ok("2244994945"));
    }

    #[test]
    fn an_account_that_is_not_there_or_suspended_is_told_by_its_problem() {
        let kind = |body: &str| match account(body.as_bytes()) {
            Err(XApiError::Refused(problem)) => problem.kind,
            other => panic!("{other:?}"),
        };
        let missing = r#"{"errors":[{"value":"nobody","detail":"Could not find user with username: [nobody].",
            "title":"Not Found Error","resource_type":"user","parameter":"username","resource_id":"nobody",
            "type":"https://api.twitter.com/2/problems/resource-not-found"}]}"#;
        let suspended = r#"{"errors":[{"value":"bad","detail":"User has been suspended: [bad].","title":"Forbidden",
            "resource_type":"user","parameter":"username","resource_id":"bad",
            "type":"https://api.twitter.com/2/problems/resource-not-found"}]}"#;
        assert_eq!((kind(missing), kind(suspended)), (ProblemKind::NotFound, ProblemKind::Forbidden));
    }

    #[rstest]
    #[case("{}", "it holds neither an account nor a problem")]
    #[case(r#"{"data":null}"#, "it holds neither an account nor a problem")]
    #[case(r#"{"data":{"id":"../1"}}"#, "the account's id is not a number")]
    #[case(r#"{"data":{"id":""}}"#, "the account's id is not a number")]
    #[case(r#"{"data":{"name":"x"}}"#, "its JSON has another shape than documented (line 1, column 20)")]
    #[case("<html>", "it is not JSON (line 1, column 1)")]
    #[case(r#"{"data":"#, "its JSON ends early (line 1, column 8)")]
    #[case("", "its JSON ends early (line 1, column 0)")]
    fn an_answer_of_another_shape_is_never_taken_for_an_account(#[case] body: &str, #[case] complaint: &str) {
        let error = account(body.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), format!("X's answer cannot be read: {complaint}"));
    }
}
