//! One page of an account's posts.

use serde::Deserialize;

use super::XApiError;
use super::post::{RawPost, XPost};
use super::problem::{RawProblem, first_problem};

/// The most posts that X puts on a page.
const POSTS_PER_PAGE_MAX: usize = 100;
/// Longer than any token seen; it becomes part of a URL.
const TOKEN_BYTES_MAX: usize = 512;

/// A page of posts, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelinePage {
    /// What is on it.
    pub posts: Vec<XPost>,
    /// What asks for the next page, if there is one.
    pub next_token: Option<String>,
}

#[derive(Deserialize)]
struct TimelineAnswer {
    data: Option<Vec<RawPost>>,
    meta: Option<Meta>,
    #[serde(default)]
    errors: Vec<RawProblem>,
}

#[derive(Deserialize)]
struct Meta {
    result_count: u64,
    next_token: Option<String>,
}

/// Reads an answer to `/2/users/:id/tweets`.
///
/// No posts are believed only if X counts none and objects to nothing. Posts with problems beside them are posts: the
/// problems are then about what they refer to.
pub fn timeline(body: &[u8]) -> Result<TimelinePage, XApiError> {
    let answer: TimelineAnswer = serde_json::from_slice(body).map_err(|error| XApiError::from_json(&error))?;
    let posts = answer.data.unwrap_or_default();
    if posts.is_empty()
        && let Some(problem) = first_problem(answer.errors)
    {
        return Err(XApiError::Refused(problem));
    }
    let meta = answer.meta.ok_or_else(|| XApiError::unknown("it holds neither a count of posts nor a problem"))?;
    if posts.is_empty() && meta.result_count > 0 {
        return Err(XApiError::unknown(format!("it counts {} posts and holds none", meta.result_count)));
    }
    if posts.len() > POSTS_PER_PAGE_MAX {
        return Err(XApiError::unknown(format!("it holds {} posts on one page", posts.len())));
    }
    let next_token = meta.next_token.filter(|token| !token.is_empty());
    if next_token.as_ref().is_some_and(|token| token.len() > TOKEN_BYTES_MAX) {
        return Err(XApiError::unknown("its token for the next page is far too long"));
    }
    Ok(TimelinePage { posts: posts.into_iter().map(RawPost::read).collect::<Result<_, _>>()?, next_token })
}

#[cfg(test)]
mod tests {
    use super::super::ProblemKind;
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[test]
    fn a_page_has_posts_and_leads_to_the_next() {
        let page = timeline(
            br#"{"data":[{"id":"20","text":"two"},{"id":"10","text":"one"}],
                "meta":{"result_count":2,"newest_id":"20","oldest_id":"10","next_token":"7140w"}}"#,
        )
        .unwrap();
        assert_eq!(page.posts.iter().map(|post| post.number).collect::<Vec<_>>(), [20, 10]);
        assert_eq!(page.next_token.as_deref(), Some("7140w"));
    }

    #[rstest]
    #[case(r#"{"meta":{"result_count":0}}"#)]
    #[case(r#"{"data":[],"meta":{"result_count":0,"next_token":""},"errors":[]}"#)]
    fn s603_no_posts_are_believed_if_x_counts_none(#[case] body: &str) {
        assert_eq!(timeline(body.as_bytes()), Ok(TimelinePage { posts: Vec::new(), next_token: None }));
    }

    #[test]
    fn problems_beside_posts_do_not_hide_the_posts() {
        let page = timeline(
            br#"{"data":[{"id":"20","text":"two"}],"meta":{"result_count":1},
                "errors":[{"title":"Not Found Error","detail":"Could not find tweet with referenced_tweets.id: [9]."}]}"#,
        );
        assert_eq!(page.unwrap().posts.len(), 1);
    }

    #[rstest]
    #[case("Not Found Error", "resource-not-found", "Could not find user with id: [7].", ProblemKind::NotFound)]
    #[case("Forbidden", "resource-not-found", "User has been suspended: [7].", ProblemKind::Forbidden)]
    #[case(
        "Authorization Error",
        "not-authorized-for-resource",
        "Sorry, you are not authorized to see the user with id: [7].",
        ProblemKind::Forbidden
    )]
    fn a_problem_without_posts_is_never_an_empty_timeline(
        #[case] title: &str,
        #[case] problem: &str,
        #[case] detail: &str,
        #[case] kind: ProblemKind,
    ) {
        let problem = format!(
            r#"{{"value":"7","detail":"{detail}","title":"{title}","resource_type":"user","parameter":"id",
                "resource_id":"7","type":"https://api.twitter.com/2/problems/{problem}"}}"#
        );
        for around in ["", r#","meta":{"result_count":0}"#] {
            let body = format!(r#"{{"errors":[{problem}]{around}}}"#);
            let Err(XApiError::Refused(problem)) = timeline(body.as_bytes()) else { panic!("{body}") };
            assert_eq!((problem.kind, problem.to_string().as_str()), (kind, detail));
        }
    }

    #[rstest]
    #[case::nothing("{}", "it holds neither a count of posts nor a problem")]
    #[case::no_meta(r#"{"data":[]}"#, "it holds neither a count of posts nor a problem")]
    #[case::blank_problem(r#"{"errors":[{}]}"#, "it holds neither a count of posts nor a problem")]
    #[case::lost(r#"{"meta":{"result_count":3}}"#, "it counts 3 posts and holds none")]
    #[case::list("[]", "its JSON has another shape than documented (line 1, column 2)")]
    #[case::no_text(r#"{"data":[{"id":"1"}]}"#, "its JSON has another shape than documented (line 1, column 19)")]
    #[case::no_number(r#"{"data":[{"id":"one","text":"x"}],"meta":{"result_count":1}}"#, "a post's id is not a number")]
    fn s109_an_answer_of_another_shape_is_an_error(#[case] body: &str, #[case] complaint: &str) {
        let error = timeline(body.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), format!("X's answer cannot be read: {complaint}"));
    }

    #[test]
    fn a_page_and_its_token_have_bounds() {
        let posts = |count| vec![r#"{"id":"1","text":"x"}"#; count].join(",");
        let page = |count, token: &str| {
            timeline(
                format!(r#"{{"data":[{}],"meta":{{"result_count":{count},"next_token":"{token}"}}}}"#, posts(count))
                    .as_bytes(),
            )
        };
        assert_eq!(page(100, "a").unwrap().posts.len(), 100);
        assert!(page(101, "a").unwrap_err().to_string().ends_with("it holds 101 posts on one page"));
        assert!(page(1, &"a".repeat(513)).unwrap_err().to_string().ends_with("far too long"));
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_a_stack_overflow() {
        let deep = format!(r#"{{"data":{}"#, "[".repeat(1_000_000));
        assert!(timeline(deep.as_bytes()).is_err());
        let ignored = format!(r#"{{"includes":{}"#, r#"{"a":"#.repeat(1_000_000));
        assert!(timeline(ignored.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(timeline(&body).is_err());
        }

        #[test]
        fn any_cut_of_a_page_is_an_error(end in 0usize..60) {
            let whole = r#"{"data":[{"id":"20","text":"two"}],"meta":{"result_count":1}}"#;
            prop_assert!(timeline(&whole.as_bytes()[..end]).is_err());
        }
    }
}
