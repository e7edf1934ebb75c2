//! Answers of X to posts: within bounds, whatever an answer repeats, and without its secrets in errors.

use feedwarden::parse::x_api::{XApiError, account, is_account_id, refusal, renewed, timeline};

/// The most posts that X puts on a page.
const POSTS_MAX: usize = 100;
/// The bytes that links of a post may add when they are written out.
const LINKS_BYTES_MAX: usize = 100 * 2048;
const NEXT_TOKEN_BYTES_MAX: usize = 512;
/// What an operator may be given to read about an answer.
const ERROR_BYTES_MAX: usize = 1000;

/// Holds the laws against one body, read as each of the answers that it could be.
pub(crate) fn check(input: &[u8]) {
    match timeline(input) {
        Ok(page) => {
            assert!(page.posts.len() <= POSTS_MAX, "{} posts", page.posts.len());
            for post in &page.posts {
                assert!(post.text.len() <= input.len() + LINKS_BYTES_MAX, "a text of {} bytes", post.text.len());
                assert_eq!(post.text.trim(), post.text, "blanks around a text");
            }
            let token = page.next_token.as_deref();
            assert!(token.is_none_or(|token| (1..=NEXT_TOKEN_BYTES_MAX).contains(&token.len())), "{token:?}");
        }
        Err(error) => check_error(&error),
    }
    match account(input) {
        Ok(id) => assert!(is_account_id(&id), "{id:?} becomes a part of a path"),
        Err(error) => check_error(&error),
    }
    match renewed(input) {
        Ok(renewed) => {
            assert!(!renewed.access_token.is_empty(), "an empty token");
            assert!(renewed.refresh_token.is_none_or(|token| !token.is_empty()), "an empty token");
        }
        Err(error) => check_error(&error),
    }
    if let Some(problem) = refusal(input) {
        check_words(&problem.to_string());
    }
}

fn check_error(error: &XApiError) {
    check_words(&error.to_string());
}

fn check_words(text: &str) {
    assert!(!text.trim().is_empty() && text.len() <= ERROR_BYTES_MAX, "{} bytes: {text:?}", text.len());
    assert!(!text.contains(char::is_control), "{text:?} holds a control character");
}
