//! An X account: the number that X knows it by.

use serde::Deserialize;

use super::XApiError;
use super::problem::{RawProblem, first_problem};

/// The longest number of 64 bits.
const ID_DIGITS_MAX: usize = 20;
#[derive(Deserialize)]
struct UserAnswer {
    data: Option<XUser>,
    #[serde(default)]
    errors: Vec<RawProblem>,
}

#[derive(Deserialize)]
struct XUser {
    id: String,
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

#[cfg(test)]
mod tests {
    use super::super::ProblemKind;
    use super::*;
    use rstest::rstest;

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
        let suspended = r#"{"errors":[{"value":"bad","detail":"XUser has been suspended: [bad].","title":"Forbidden",
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
