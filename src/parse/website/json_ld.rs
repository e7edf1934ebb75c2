//! What a page says of its article in JSON-LD: heading, author and date. Its `articleBody` is not used: it is often a
//! teaser, or another article.

use dom_query::NodeRef;
use serde_json::Value;

use super::metadata::person;
use crate::model::Timestamp;
use crate::parse::{date, text};

/// A page's JSON-LD is a few KB; what is larger is data of another kind.
const SCRIPT_BYTES_MAX: usize = 512 * 1024;

/// The facts of the first article that the page describes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) headline: Option<String>,
    /// Its author or authors.
    pub(super) author: Option<String>,
    /// When it was published.
    pub(super) published: Option<Timestamp>,
}

/// Reads the facts; an article wins over a mere page or recipe that has a date.
pub(super) fn read(scripts: &[NodeRef<'_>]) -> Described {
    let scripts: Vec<Value> = scripts.iter().filter_map(|script| json(&script.text())).collect();
    let objects = objects(&scripts);
    let article = objects.iter().find(|object| is_article(object));
    let Some(thing) = article.or_else(|| objects.iter().find(|object| object.get("datePublished").is_some())) else {
        return Described::default();
    };
    let published =
        ["datePublished", "dateCreated", "uploadDate"].iter().find_map(|key| date::parse(thing.get(key)?.as_str()?));
    Described {
        headline: article
            .and_then(|article| article.get("headline")?.as_str())
            .map(text::from_html)
            .filter(|text| !text.is_empty()),
        author: thing.get("author").and_then(|author| names(author, &objects)),
        published,
    }
}

/// Scripts wrap JSON in comments or CDATA, and hold raw line breaks inside strings.
fn json(script: &str) -> Option<Value> {
    if script.len() > SCRIPT_BYTES_MAX {
        return None;
    }
    let script = script.split_once("<![CDATA[").map_or(script, |(_, behind)| behind);
    let script = script.split_once("]]>").map_or(script, |(before, _)| before);
    let start = script.find(['{', '['])?;
    let end = script.rfind(['}', ']'])?;
    let json = script.get(start..=end)?;
    serde_json::from_str(json).ok().or_else(|| serde_json::from_str(&json.replace(char::is_control, " ")).ok())
}

/// All objects at the top, in lists, in `@graph` and under `mainEntity`, in order.
fn objects(scripts: &[Value]) -> Vec<&Value> {
    let mut waiting: Vec<&Value> = scripts.iter().rev().collect();
    let mut objects = Vec::new();
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(values) => waiting.extend(values.iter().rev()),
            Value::Object(fields) => {
                objects.push(value);
                waiting.extend(["mainEntity", "mainEntityOfPage", "@graph"].iter().filter_map(|key| fields.get(*key)));
            }
            _ => {}
        }
    }
    objects
}

fn is_article(object: &Value) -> bool {
    let is_article =
        |name: &str| ["Article", "Posting", "Report", "APIReference"].iter().any(|end| name.ends_with(end));
    match object.get("@type") {
        Some(Value::String(name)) => is_article(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(is_article),
        _ => false,
    }
}

/// A name, an object with one, a reference to such an object, or a list of these.
fn names(author: &Value, objects: &[&Value]) -> Option<String> {
    let authors = match author {
        Value::Array(authors) => authors.as_slice(),
        _ => std::slice::from_ref(author),
    };
    let name = |author: &Value| -> Option<String> {
        let id = author.get("@id").and_then(Value::as_str);
        let meant = || {
            objects.iter().find(|object| id.is_some() && object.get("@id").and_then(Value::as_str) == id)?.get("name")
        };
        let name = author.as_str().or_else(|| author.get("name")?.as_str()).or_else(|| meant()?.as_str());
        person(name?)
    };
    let names: Vec<String> = authors.iter().take(10).filter_map(name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dom_query::Document;
    use rstest::rstest;

    fn described(json: &str) -> Described {
        let document = Document::from(format!("<script type='application/ld+json'>{json}</script>"));
        read(document.select("script").nodes())
    }

    #[rstest]
    #[case::text(r#"{"@type":"NewsArticle","author":"Ada"}"#, Some("Ada"))]
    #[case::object(r#"{"@type":"BlogPosting","author":{"name":" Ada  L. "}}"#, Some("Ada L."))]
    #[case::list(
        r#"[{"@type":"WebSite"},{"@type":["Article"],"author":[{"name":"Ada"},{"name":"Bob"}]}]"#,
        Some("Ada, Bob")
    )]
    #[case::reference(
        r##"{"@graph":[{"@type":"Article","author":{"@id":"#p"}},{"@id":"#p","@type":"Person","name":"Ada"}]}"##,
        Some("Ada")
    )]
    #[case::address(r#"{"@type":"Article","author":"https://example.org/ada"}"#, None)]
    #[case::page(r#"{"@type":"WebPage","datePublished":"2026-11-16","author":"Ada"}"#, Some("Ada"))]
    #[case::wrapped("//<![CDATA[\n{\"@type\":\"Article\",\n\"author\":\"A\nda\"}\n//]]>", Some("A da"))]
    #[case::broken(r#"{"@type":"Article","author":"#, None)]
    fn authors_are_found_in_every_shape(#[case] json: &str, #[case] author: Option<&str>) {
        assert_eq!(described(json).author.as_deref(), author);
    }

    #[test]
    fn the_article_wins_over_the_page() {
        let facts = described(
            r#"{"@graph":[{"@type":"WebPage","datePublished":"2020-01-01"},
            {"@type":"NewsArticle","headline":"A &amp; B","datePublished":"2026-11-16T08:30:00+01:00"}]}"#,
        );
        assert_eq!(facts.headline.as_deref(), Some("A & B"));
        assert_eq!(facts.published.map(|moment| moment.to_string()).as_deref(), Some("2026-11-16T07:30:00Z"));
    }
}
