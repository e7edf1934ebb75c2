//! A source's URL as it may be shown: in logs, on screens, to other people.

use url::Url;

/// What stands for a text that is no URL and may therefore hold a password in any place.
const NOT_A_URL: &str = "(not a URL)";

/// The URL without credentials (p37). What cannot be read as a URL is not shown at all.
pub fn shown_url(url: &str) -> String {
    let Ok(mut shown) = Url::parse(url) else { return NOT_A_URL.to_owned() };
    if shown.username().is_empty() && shown.password().is_none() {
        return url.to_owned();
    }
    // Both fail only for URLs that cannot hold credentials, which then have none.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p37_credentials_are_left_out_and_the_rest_is_shown_as_it_was_given() {
        assert_eq!(shown_url("https://ann:word@feeds.example/all?page=1"), "https://feeds.example/all?page=1");
        assert_eq!(shown_url("https://ann@feeds.example/"), "https://feeds.example/");
        assert_eq!(shown_url("HTTP://Feeds.example/a b"), "HTTP://Feeds.example/a b");
        assert_eq!(shown_url("ann:word@feeds"), "ann:word@feeds", "a URL of a scheme that nobody knows");
        assert_eq!(shown_url("//ann:word@feeds.example"), "(not a URL)");
    }
}
