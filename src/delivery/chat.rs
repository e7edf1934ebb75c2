//! Messages for chat services, escaped for each of them and within its limits.

use serde_json::{Value, json};
use url::Url;

use super::message::EventMessage;

/// Characters of a title in a message.
const TITLE_MAX: usize = 200;
/// Characters of the text of a post in a message: enough to decide whether to open it.
const EXCERPT_MAX: usize = 500;
/// Characters of a URL in a message; a longer one is left out.
const URL_MAX: usize = 1000;
/// Discord rejects messages with more UTF-16 units.
const DISCORD_MAX: usize = 2000;
/// ntfy makes longer messages an attachment.
const NTFY_BYTES_MAX: usize = 4096;

/// What a message says, as plain text.
struct Words {
    title: String,
    /// Empty if there is nothing to say beside the title.
    text: String,
    url: Option<String>,
}

fn words(message: &EventMessage<'_>) -> Words {
    let data = &message.data;
    let source = data.source.map(|source| source.title.clone().unwrap_or_else(|| source.url.clone()));
    let source = source.or_else(|| data.url.map(str::to_owned)).unwrap_or_else(|| "a source".to_owned());
    let reason = data.reason.unwrap_or_default();
    let until = data.until.map(|until| format!(" until {until}")).unwrap_or_default();
    let (title, text, url) = match (&data.post, message.event_type) {
        (Some(post), event) => {
            let title = if post.title().is_empty() { "(no title)" } else { post.title() };
            let changed = if event == "post.updated" { " (changed)" } else { "" };
            (format!("{source}: {title}{changed}"), post.text().to_owned(), post.url().map(str::to_owned))
        }
        (None, "source.resting") => (format!("{source} rests{until}"), reason.to_owned(), None),
        (None, "source.disabled") => (format!("{source} is disabled"), reason.to_owned(), None),
        (None, "source.recovered") => (format!("{source} is polled again"), reason.to_owned(), None),
        (None, "source.moved") => (format!("{source} has moved"), reason.to_owned(), data.new_url.map(str::to_owned)),
        (None, "source.silent") => (format!("{source} is silent"), reason.to_owned(), None),
        (None, "source.gap") => (format!("{source} may miss entries"), reason.to_owned(), None),
        (None, "host.held") => {
            (format!("Host {} is held{until}", data.host.unwrap_or_default()), reason.to_owned(), None)
        }
        (None, "daemon.not_ready") => {
            let node = data.node.map(|node| format!(" on {node}")).unwrap_or_default();
            (format!("Feedwarden{node} is not ready"), reason.to_owned(), None)
        }
        (None, _) => ("Feedwarden: test of the webhook".to_owned(), String::new(), None),
    };
    let is_web =
        |url: &String| url.len() <= URL_MAX && Url::parse(url).is_ok_and(|url| url.scheme().starts_with("http"));
    Words { title: cut(&one_line(&title), TITLE_MAX), text: cut(&text, EXCERPT_MAX), url: url.filter(is_web) }
}

/// At most so many characters, with an ellipsis if it was longer.
fn cut(text: &str, characters_max: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(characters_max) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(characters_max - 1).collect();
            format!("{}…", kept.trim_end())
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn joined(parts: [Option<String>; 3]) -> String {
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Slack reads `&`, `<` and `>`, in which links and mentions are written, and marks at the borders of words.
fn slack_text(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // A word joiner keeps a mark from being one.
    escaped.chars().fold(String::with_capacity(escaped.len()), |mut text, letter| {
        if matches!(letter, '*' | '_' | '~' | '`') {
            text.push('\u{2060}');
        }
        text.push(letter);
        text
    })
}

/// A URL that ends a link in none of the services' languages.
fn plain_url(url: &str) -> String {
    let mut plain = String::with_capacity(url.len());
    for letter in url.chars() {
        match letter {
            '<' | '>' | '|' | '"' | '`' | '(' | ')' | '\\' | ' ' => {
                plain.push_str(&format!("%{:02X}", u32::from(letter)));
            }
            _ if letter.is_control() => {}
            _ => plain.push(letter),
        }
    }
    plain
}

pub(super) fn slack(message: &EventMessage<'_>) -> Value {
    let Words { title, text, url } = words(message);
    let title = format!("*{}*", slack_text(&title));
    let url = url.map(|url| format!("<{}>", plain_url(&url).replace('&', "&amp;")));
    json!({ "text": joined([Some(title), Some(slack_text(&text)), url]), "unfurl_links": false })
}

/// Marks of Discord's Markdown are escaped, and so is what could be a mention.
fn discord_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if "\\*_~`|>#-+[]()<:@".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

pub(super) fn discord(message: &EventMessage<'_>) -> Value {
    let Words { title, mut text, url } = words(message);
    // Escapes and letters outside the first plane count twice.
    loop {
        let (title, link) =
            (format!("**{}**", discord_text(&title)), url.as_ref().map(|url| format!("<{}>", plain_url(url))));
        let content = joined([Some(title), Some(discord_text(&text)), link]);
        if content.encode_utf16().count() <= DISCORD_MAX || text.is_empty() {
            return json!({ "content": content, "allowed_mentions": { "parse": [] } });
        }
        let half = text.chars().count() / 2;
        text = if half < 2 { String::new() } else { cut(&text, half) };
    }
}

fn html(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    escaped.replace('\n', "<br>")
}

/// The URL of the request with this transaction id.
pub(super) fn matrix_url(url: &str, id: &str) -> String {
    match Url::parse(url) {
        Ok(mut parsed) => {
            let path = format!("{}/{id}", parsed.path().trim_end_matches('/'));
            parsed.set_path(&path);
            parsed.into()
        }
        Err(_) => url.to_owned(),
    }
}

pub(super) fn matrix(message: &EventMessage<'_>) -> Value {
    let Words { title, text, url } = words(message);
    let body = joined([Some(title.clone()), Some(text.clone()), url.clone()]);
    let link = |url: String| format!("<a href=\"{0}\">{0}</a>", html(&plain_url(&url)));
    let title = Some(format!("<b>{}</b>", html(&title)));
    let formatted = joined([title, Some(html(&text)), url.map(link)]).replace('\n', "<br>");
    json!({
        "msgtype": "m.notice",
        "body": body,
        "format": "org.matrix.custom.html",
        "formatted_body": formatted,
        // Names in the text cause no notifications.
        "m.mentions": {},
    })
}

/// The URL of the server and the topic, of a URL that ends with the topic.
pub(super) fn ntfy_topic(url: &str) -> Option<(String, String)> {
    let mut parsed = Url::parse(url).ok()?;
    let (path, topic) = parsed
        .path()
        .trim_end_matches('/')
        .rsplit_once('/')
        .map(|(path, topic)| (path.to_owned(), topic.to_owned()))?;
    if topic.is_empty() {
        return None;
    }
    parsed.set_path(&format!("{path}/"));
    Some((parsed.into(), topic))
}

pub(super) fn ntfy(message: &EventMessage<'_>, topic: &str) -> Value {
    let Words { title, mut text, url } = words(message);
    if text.is_empty() {
        text = message.event_type.to_owned();
    }
    while text.len() > NTFY_BYTES_MAX {
        text = cut(&text, text.chars().count() / 2);
    }
    let mut sent = json!({ "topic": topic, "title": title, "message": text });
    if let Some(url) = url {
        sent["click"] = url.into();
    }
    sent
}

#[cfg(test)]
mod tests;
