//! Whether something stands between a reader and the article of a page: a login, or a check of the browser.

use dom_query::NodeRef;

use super::PageError;
use super::article::has_chars;
use super::survey::Survey;

/// Less than this is a wall, if the page looks like one.
const WALL_CHARS_MAX: usize = 600;
/// A text that asks to log in once in so many letters is about it.
const LOGIN_CHARS_MAX: usize = 100;

/// What can stand between a reader and an article.
pub(super) struct Walls {
    asks_for_password: bool,
    asks_for_scripts: bool,
}

impl Walls {
    pub(super) fn of(survey: &Survey<'_>) -> Walls {
        let asks = |noscript: &NodeRef<'_>| noscript.text().to_lowercase().contains("javascript");
        Walls { asks_for_password: survey.asks_for_password, asks_for_scripts: survey.noscripts.iter().any(asks) }
    }

    /// The wall that this text is, if it is not an article. A form for a password alone proves nothing: many sites have
    /// one on every page, above short but complete articles. The text has to be about it, too.
    pub(super) fn before(&self, text: &str) -> Option<PageError> {
        if has_chars(text, WALL_CHARS_MAX) {
            None
        } else if self.asks_for_password && is_about_login(text) {
            Some(PageError::LoginRequired)
        } else {
            is_challenge(text).then_some(PageError::ScriptRequired)
        }
    }

    /// The likeliest reason why there is no text at all.
    pub(super) fn why_nothing(&self) -> PageError {
        if self.asks_for_password {
            PageError::LoginRequired
        } else if self.asks_for_scripts {
            PageError::ScriptRequired
        } else {
            PageError::NoText
        }
    }
}

/// Whether a short text has little to say but that a reader should log in. The word "password" alone proves nothing:
/// short articles are about passwords, too.
fn is_about_login(text: &str) -> bool {
    let text = text.to_lowercase();
    let appeals = [
        "log in",
        "log-in",
        "login",
        "sign in",
        "sign-in",
        "subscribe",
        "anmelden",
        "einloggen",
        "connexion",
        "connecter",
        "iniciar sesión",
        "accedi",
        "inloggen",
        "войти",
        "ログイン",
        "登录",
        "로그인",
    ];
    let mentions = appeals.iter().map(|appeal| text.matches(appeal).count()).sum::<usize>();
    // Once in a sentence or two, or again and again.
    mentions > 0 && !has_chars(&text, mentions * LOGIN_CHARS_MAX)
}

/// The words of pages that check the browser instead of answering.
fn is_challenge(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let checks = [
        "enable javascript and cookies to continue",
        "checking your browser",
        "checking if the site connection is secure",
        "verify you are human",
        "verifying you are human",
        "please enable javascript",
        "you need to enable javascript",
        "enable js and disable any ad blocker",
        "javascript is disabled",
        "requires javascript",
    ];
    checks.iter().any(|check| text.contains(check))
}
