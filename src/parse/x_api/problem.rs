//! Problem objects of X, in a list beside the data or as the body of an error response.

use std::fmt;

use serde::Deserialize;

use crate::parse::text;

/// Long enough for every sentence that X documents.
const TEXT_CHARS_MAX: usize = 200;

/// One thing that X objects to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XProblem {
    pub kind: ProblemKind,
    /// X's message on one line, shortened.
    words: String,
}

/// Kinds of problems, as far as callers distinguish them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// There is no such account.
    NotFound,
    /// The account exists, but is suspended or protected from the key's owner.
    Forbidden,
    Other,
}

/// The fields in which the parts of the API say the same.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RawProblem {
    title: String,
    detail: String,
    #[serde(rename = "type")]
    type_url: String,
    /// What older parts say instead of `detail`.
    message: String,
    /// What the part says that hands out tokens (RFC 6749, 5.2).
    error: String,
    error_description: String,
}

/// What X objects to in a body that came with a refusal; none if the body is nothing that X would say.
pub fn refusal(body: &[u8]) -> Option<XProblem> {
    #[derive(Deserialize)]
    struct Listed {
        errors: Vec<RawProblem>,
    }
    let single = serde_json::from_slice::<RawProblem>(body).ok().and_then(RawProblem::read);
    single.or_else(|| first_problem(serde_json::from_slice::<Listed>(body).ok()?.errors))
}

/// The first problem of a list that says something.
pub(super) fn first_problem(problems: Vec<RawProblem>) -> Option<XProblem> {
    problems.into_iter().find_map(RawProblem::read)
}

impl RawProblem {
    fn read(self) -> Option<XProblem> {
        let all = [&self.detail, &self.error_description, &self.message, &self.title, &self.error, &self.type_url];
        let said = all.into_iter().map(|said| text::fold(said)).find(|said| !said.is_empty())?;
        let words = said.chars().filter(|letter| !letter.is_control()).take(TEXT_CHARS_MAX).collect();
        Some(XProblem { kind: self.kind(), words })
    }

    /// The title decides before the type: X reports suspended accounts under the type of those it cannot find.
    fn kind(&self) -> ProblemKind {
        let problem = self.type_url.rsplit('/').next().unwrap_or_default();
        match (self.title.as_str(), problem) {
            ("Not Found Error", _) => ProblemKind::NotFound,
            ("Forbidden" | "Authorization Error", _) | (_, "not-authorized-for-resource") => ProblemKind::Forbidden,
            (_, "resource-not-found") => ProblemKind::NotFound,
            _ => ProblemKind::Other,
        }
    }
}

impl fmt::Display for XProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("Not Found Error", "resource-not-found", ProblemKind::NotFound)]
    #[case("", "resource-not-found", ProblemKind::NotFound)]
    #[case("Forbidden", "resource-not-found", ProblemKind::Forbidden)]
    #[case("Authorization Error", "not-authorized-for-resource", ProblemKind::Forbidden)]
    #[case("", "not-authorized-for-resource", ProblemKind::Forbidden)]
    #[case("Invalid Request", "invalid-request", ProblemKind::Other)]
    fn the_title_decides_before_the_type(#[case] title: &str, #[case] problem: &str, #[case] kind: ProblemKind) {
        let type_url = format!("https://api.twitter.com/2/problems/{problem}");
        let problem = RawProblem { title: title.into(), type_url, ..RawProblem::default() };
        assert_eq!(problem.read().unwrap().kind, kind);
    }

    #[rstest]
    #[case::problem(
        r#"{"title":"Client Forbidden","detail":"Enroll first.","type":"about:blank","status":403}"#,
        "Enroll first."
    )]
    #[case::title_alone(r#"{"title":"Too Many Requests","status":429}"#, "Too Many Requests")]
    #[case::listed(r#"{"errors":[{"message":"Invalid or expired token","code":89}]}"#, "Invalid or expired token")]
    #[case::token(
        r#"{"error":"invalid_request","error_description":"Value passed for the token was invalid."}"#,
        "Value passed for the token was invalid."
    )]
    #[case::token_alone(r#"{"error":"invalid_client"}"#, "invalid_client")]
    #[case::lines(r#"{"detail":"two\nlines\u001b[31m"}"#, "two lines[31m")]
    fn the_body_of_a_refusal_says_why(#[case] body: &str, #[case] words: &str) {
        assert_eq!(refusal(body.as_bytes()).unwrap().to_string(), words);
    }

    #[rstest]
    #[case("")]
    #[case("<html>Over capacity</html>")]
    #[case("{}")]
    #[case(r#"{"detail":" "}"#)]
    #[case(r#"{"errors":[]}"#)]
    #[case(r#"{"errors":[{"code":1}]}"#)]
    #[case("[1]")]
    fn a_body_that_says_nothing_says_nothing(#[case] body: &str) {
        assert_eq!(refusal(body.as_bytes()), None);
    }

    #[test]
    fn a_long_sentence_is_cut() {
        let problem = RawProblem { detail: "ä".repeat(5000), ..RawProblem::default() };
        assert_eq!(problem.read().unwrap().to_string(), "ä".repeat(TEXT_CHARS_MAX));
    }
}
