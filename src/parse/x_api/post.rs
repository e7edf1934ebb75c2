//! Parses one post of a timeline.

use serde::Deserialize;

use super::XApiError;
use crate::model::Timestamp;

/// What every short link begins with; ten letters and digits follow.
const SHORT_LINK: &str = "https://t.co/";
/// As many links of a post are written out, and none that is longer: an answer that repeats a short link could otherwise
/// become a text of any length.
const LONG_LINKS_MAX: usize = 100;
const LONG_LINK_BYTES_MAX: usize = 2048;

/// A post of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XPost {
    /// Its number; later posts have higher ones.
    pub number: u64,
    /// Its whole text, with links written out.
    pub text: String,
    /// When it was published.
    pub published: Option<Timestamp>,
    /// Whether it is the account's own post: no repost, and no reply to another account.
    pub is_own: bool,
}

#[derive(Deserialize)]
pub(super) struct RawPost {
    id: String,
    text: String,
    created_at: Option<String>,
    author_id: Option<String>,
    in_reply_to_user_id: Option<String>,
    #[serde(default)]
    referenced_tweets: Vec<Reference>,
    entities: Option<Entities>,
    note_tweet: Option<LongText>,
}

/// A long post: `text` of the post itself is cut at 280 characters then.
#[derive(Deserialize)]
struct LongText {
    text: String,
    entities: Option<Entities>,
}

#[derive(Deserialize)]
struct Reference {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Default, Deserialize)]
struct Entities {
    #[serde(default)]
    urls: Vec<ShortLink>,
}

#[derive(Deserialize)]
struct ShortLink {
    url: String,
    expanded_url: Option<String>,
    /// Where redirects led when X looked.
    unwound_url: Option<String>,
}

impl RawPost {
    pub(super) fn read(self) -> Result<XPost, XApiError> {
        let number = self.id.parse().map_err(|_| XApiError::unknown("a post's id is not a number"))?;
        let is_repost = self.referenced_tweets.iter().any(|reference| reference.kind == "retweeted");
        let is_reply_to_another = self.in_reply_to_user_id.is_some() && self.in_reply_to_user_id != self.author_id;
        let (text, entities) = match self.note_tweet {
            Some(note) => (note.text, note.entities),
            None => (self.text, self.entities),
        };
        Ok(XPost {
            number,
            text: readable(&text, &entities.unwrap_or_default().urls),
            published: self.created_at.and_then(|moment| moment.parse().ok()),
            is_own: !is_repost && !is_reply_to_another,
        })
    }
}

/// The text with expanded links and with the three characters unescaped that X escapes.
fn readable(text: &str, links: &[ShortLink]) -> String {
    // The ampersand comes last, or `&amp;lt;` would become `<`.
    let text = with_long_links(text, links).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    text.trim().to_owned()
}

/// Short links are found by their own text. The places that X gives for them count neither bytes nor characters alike
/// in all of its answers.
fn with_long_links(text: &str, links: &[ShortLink]) -> String {
    let mut written = String::with_capacity(text.len());
    let (mut rest, mut left) = (text, LONG_LINKS_MAX);
    while let Some(start) = rest.find(SHORT_LINK) {
        let (before, link) = rest.split_at(start);
        let is_end = |character: char| !character.is_ascii_alphanumeric();
        let length = link[SHORT_LINK.len()..].find(is_end).map_or(link.len(), |end| SHORT_LINK.len() + end);
        let (short, after) = link.split_at(length);
        let long = links.iter().find(|link| left > 0 && link.url == short);
        let long = long.and_then(|link| link.unwound_url.as_deref().or(link.expanded_url.as_deref()));
        let long = long.filter(|long| (1..=LONG_LINK_BYTES_MAX).contains(&long.len()));
        left = left.saturating_sub(usize::from(long.is_some()));
        written.push_str(before);
        written.push_str(long.unwrap_or(short));
        rest = after;
    }
    written.push_str(rest);
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> XPost {
        serde_json::from_str::<RawPost>(json).unwrap().read().unwrap()
    }

    #[test]
    fn a_post_is_read_as_documented() {
        let post = read(
            r#"{"id":"1346889436626259968","text":"Learn how &amp; why: https://t.co/56a0vZUx7i","author_id":"2244994945",
                "created_at":"2021-01-06T18:40:40.000Z","edit_history_tweet_ids":["1346889436626259968"],
                "entities":{"urls":[{"start":17,"end":40,"url":"https://t.co/56a0vZUx7i",
                "expanded_url":"https://example.org/learn?a=1","display_url":"example.org/learn"}]}}"#,
        );
        assert_eq!(post.number, 1_346_889_436_626_259_968);
        assert_eq!(post.text, "Learn how & why: https://example.org/learn?a=1");
        assert_eq!(post.published, Some("2021-01-06T18:40:40Z".parse().unwrap()));
        assert!(post.is_own);
    }

    #[test]
    fn a_long_post_is_read_in_full_with_its_own_links() {
        let post = read(
            r#"{"id":"2","text":"cut off… https://t.co/aaaaaaaaaa","entities":{"urls":[]},
                "note_tweet":{"text":"The whole story. https://t.co/bbbbbbbbbb",
                "entities":{"urls":[{"url":"https://t.co/bbbbbbbbbb","expanded_url":"https://example.org/b"}]}}}"#,
        );
        assert_eq!(post.text, "The whole story. https://example.org/b");
    }

    #[test]
    fn only_short_links_that_are_known_are_written_out() {
        let link = |url: &str, long: &str| ShortLink {
            url: format!("https://t.co/{url}"),
            expanded_url: Some(long.into()),
            unwound_url: None,
        };
        let links = [link("aaa", "https://one.example/"), link("aaab", "https://two.example/"), link("ccc", "")];
        let check = |text: &str, wanted: &str| assert_eq!(with_long_links(text, &links), wanted);
        check("https://t.co/aaab https://t.co/aaa", "https://two.example/ https://one.example/");
        check("(https://t.co/aaa)", "(https://one.example/)");
        check("äöü https://t.co/aaa…", "äöü https://one.example/…");
        check("https://t.co/zzz https://t.co/ccc https://t.co/", "https://t.co/zzz https://t.co/ccc https://t.co/");
        check("", "");
    }

    #[test]
    fn a_repeated_link_does_not_grow_the_text_without_bound() {
        let link = |bytes: usize| {
            let expanded_url = Some("x".repeat(bytes));
            [ShortLink { url: "https://t.co/a".into(), expanded_url, unwound_url: None }]
        };
        let text = "https://t.co/a ".repeat(5000);
        let written = with_long_links(&text, &link(LONG_LINK_BYTES_MAX));
        assert!(written.len() <= text.len() + LONG_LINKS_MAX * LONG_LINK_BYTES_MAX, "{} bytes", written.len());
        assert!(written.ends_with("https://t.co/a "));
        assert_eq!(with_long_links(&text, &link(LONG_LINK_BYTES_MAX + 1)), text);
    }

    #[test]
    fn escaped_characters_become_themselves_exactly_once() {
        assert_eq!(readable(" a &lt;b&gt; &amp;amp; &amp;lt; &quot; ", &[]), "a <b> &amp; &lt; &quot;");
    }

    #[test]
    fn line_breaks_stay() {
        assert_eq!(read(r#"{"id":"1","text":"One\n\nTwo"}"#).text, "One\n\nTwo");
    }

    #[test]
    fn a_thread_is_the_accounts_own_and_a_repost_or_a_reply_to_another_is_not() {
        let own = |more: &str| read(&format!(r#"{{"id":"1","text":"x","author_id":"7"{more}}}"#)).is_own;
        assert!(own(""));
        assert!(own(r#","in_reply_to_user_id":"7","referenced_tweets":[{"type":"replied_to","id":"9"}]"#));
        assert!(own(r#","referenced_tweets":[{"type":"quoted","id":"9"}]"#));
        assert!(!own(r#","in_reply_to_user_id":"8","referenced_tweets":[{"type":"replied_to","id":"9"}]"#));
        assert!(!own(r#","referenced_tweets":[{"type":"retweeted","id":"9"}]"#));
    }

    #[test]
    fn a_date_that_is_none_leaves_the_post_undated_and_a_number_that_is_none_is_an_error() {
        assert_eq!(read(r#"{"id":"1","text":"x","created_at":"yesterday"}"#).published, None);
        for id in ["", "x", "-1", "18446744073709551616"] {
            let raw: RawPost = serde_json::from_str(&format!(r#"{{"id":"{id}","text":"x"}}"#)).unwrap();
            assert!(raw.read().is_err(), "{id}");
        }
    }
}
