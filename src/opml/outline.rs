//! Interprets one `<outline>`.

use url::Url;

use super::Why;
use crate::parse::xml::Tag;
use crate::parse::{entity, text};

const TITLE_CHARS_MAX: usize = 500;
const LABEL_CHARS_MAX: usize = 100;
const URL_BYTES_MAX: usize = 4096;

pub(super) enum OutlineKind {
    Feed {
        title: Option<String>,
        feed_url: String,
        site_url: Option<String>,
    },
    /// A folder, or a heading.
    Folder {
        name: String,
        is_cut: bool,
    },
    /// Without a name, or a link to something other than a feed.
    Other,
    /// A source that cannot be used.
    Bad(Why),
}

/// Relevant attributes; names are case-insensitive.
#[derive(Default)]
struct Attributes {
    text: Option<String>,
    title: Option<String>,
    kind: Option<String>,
    xml_url: Option<String>,
    html_url: Option<String>,
    url: Option<String>,
    /// Whether the attribute for the feed's URL is present but empty.
    lacks_url: bool,
}

pub(super) fn read(tag: &Tag) -> OutlineKind {
    let found = attributes(tag);
    let kind = found.kind.unwrap_or_default().to_ascii_lowercase();
    let name = found.text.or(found.title).map(|name| text::fold(&name)).filter(|name| !name.is_empty());
    // Links and included lists have a `url` too (OPML 2.0, "inclusion").
    let is_link = matches!(kind.as_str(), "link" | "include") && found.url.is_some();
    match found.xml_url.or(found.url.filter(|_| !is_link)) {
        Some(given) => match web_url(&given) {
            Ok(feed_url) => {
                // Some programs write the URL as the name.
                let title = name.filter(|name| *name != text::fold(&feed_url)).map(|name| cut(&name, TITLE_CHARS_MAX));
                let site_url = found.html_url.and_then(|url| web_url(&url).ok());
                OutlineKind::Feed { title, feed_url, site_url }
            }
            Err(why) => OutlineKind::Bad(why),
        },
        None if matches!(kind.as_str(), "rss" | "atom" | "feed") => OutlineKind::Bad(Why::NoUrl),
        // Some programs write the attribute for folders too.
        None if found.lacks_url && tag.is_empty => OutlineKind::Bad(Why::NoUrl),
        None => match name {
            Some(name) if !is_link => {
                let label = cut(&name, LABEL_CHARS_MAX);
                OutlineKind::Folder { is_cut: label != name, name: label }
            }
            _ => OutlineKind::Other,
        },
    }
}

fn attributes(tag: &Tag) -> Attributes {
    let mut found = Attributes::default();
    for (name, value) in tag.attributes() {
        let is = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        let place = match () {
            () if is(&["text"]) => &mut found.text,
            () if is(&["title"]) => &mut found.title,
            () if is(&["type"]) => &mut found.kind,
            () if is(&["xmlUrl", "feedUrl"]) => &mut found.xml_url,
            () if is(&["htmlUrl"]) => &mut found.html_url,
            () if is(&["url"]) => &mut found.url,
            () => continue,
        };
        let value = entity::decode(value);
        found.lacks_url |= value.trim().is_empty() && is(&["xmlUrl", "feedUrl"]);
        if place.is_none() && !value.trim().is_empty() {
            *place = Some(value.trim().to_owned());
        }
    }
    found
}

/// Replaces schemes such as `feed:` by http or https.
fn web_url(given: &str) -> Result<String, Why> {
    let mut url: String = given.chars().filter(|character| !matches!(character, '\n' | '\r' | '\t')).collect();
    for scheme in ["feed:", "rss:", "itpc:", "pcast:"] {
        if let Some(rest) = strip_prefix(&url, scheme) {
            let rest = rest.strip_prefix("//").unwrap_or(rest);
            let has_scheme = strip_prefix(rest, "http://").or(strip_prefix(rest, "https://")).is_some();
            url = if has_scheme { rest.to_owned() } else { format!("http://{rest}") };
            break;
        }
    }
    if url.len() > URL_BYTES_MAX {
        return Err(Why::BadUrl("it is too long"));
    }
    // The message omits the URL, which may contain a password.
    match Url::parse(&url) {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => Ok(url),
        Ok(_) => Err(Why::BadUrl("it is neither http nor https")),
        Err(url::ParseError::RelativeUrlWithoutBase) => Err(Why::BadUrl("it begins with neither https:// nor http://")),
        Err(_) => Err(Why::BadUrl("it is no URL")),
    }
}

fn strip_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let start = text.get(..prefix.len()).filter(|start| start.eq_ignore_ascii_case(prefix))?;
    Some(&text[start.len()..])
}

fn cut(text: &str, chars_max: usize) -> String {
    text.chars().take(chars_max).collect::<String>().trim_end().to_owned()
}
