//! What a page says about its article outside of it: `<meta>`, `<link>`, `<time>`, and JSON-LD.

use dom_query::{Document, NodeRef};
use url::Url;

use super::json_ld;
use super::survey::Survey;
use super::walk::with_attribute;
use crate::model::Timestamp;
use crate::parse::{date, text};

/// Longer than any name or heading; what is longer is an article in the wrong place.
const VALUE_CHARS_MAX: usize = 300;

const TITLE_KEYS: [&str; 6] = ["og:title", "dc:title", "dcterms:title", "twitter:title", "title", "parsely-title"];
const OTHER_AUTHOR_KEYS: [&str; 5] =
    ["parsely-author", "dc:creator", "dcterms:creator", "sailthru:author", "citation_author"];
/// `property="author"` and `name="article:author"` are not where s703 looks.
const MISPLACED_AUTHOR_KEYS: [&str; 2] = ["author", "article:author"];
const PUBLISHED_KEYS: [&str; 21] = [
    "article:published_time",
    "og:article:published_time",
    "og:published_time",
    "article:published",
    "datepublished",
    "parsely-pub-date",
    "dc:date:issued",
    "dcterms:issued",
    "dcterms:created",
    "dcterms:available",
    "dc:date",
    "dcterms:date",
    "sailthru:date",
    "publish-date",
    "publishdate",
    "pubdate",
    "publication_date",
    "citation_publication_date",
    "citation_online_date",
    "weibo:article:create_at",
    "date",
];

/// The facts of a page. Each is missing if the page does not say it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PageFacts {
    pub(super) title: Option<String>,
    pub(super) author: Option<String>,
    pub(super) byline: Option<String>,
    pub(super) published: Option<Timestamp>,
    pub(super) canonical_url: Option<Url>,
    /// What relative links are resolved against.
    pub(super) base_url: Option<Url>,
}

pub(super) fn read(document: &Document, survey: &Survey<'_>, url: Option<&Url>) -> PageFacts {
    let base_url = document.base_uri().and_then(|reference| resolve(url, &reference)).or_else(|| url.cloned());
    let metas = Metas::of(survey);
    let described = json_ld::read(&survey.descriptions);
    let title = metas.first(&TITLE_KEYS, heading).or(described.headline);
    let author = author(survey);
    let misplaced = || metas.first(&MISPLACED_AUTHOR_KEYS, person).filter(|_| author.is_none());
    let other = || metas.first(&OTHER_AUTHOR_KEYS, person).or_else(misplaced);
    let byline = described.author.or_else(other).or_else(|| survey.byline.clone());
    PageFacts {
        title: title.map(|title| without_site_name(title, metas.first(&["og:site_name"], heading).as_deref())),
        author,
        byline,
        published: metas.first(&PUBLISHED_KEYS, date::parse).or(described.published).or_else(|| time_element(survey)),
        canonical_url: canonical_url(survey, &metas, base_url.as_ref()),
        base_url,
    }
}

/// A person's name, unless it is something else. Most values of `article:author` are addresses of profiles.
pub(super) fn person(name: &str) -> Option<String> {
    let name = text::unescape(name);
    let address = ["http:", "https:", "//", "www.", "/", "mailto:"];
    let is_address =
        address.iter().any(|start| name.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start)));
    let is_name = name.chars().any(char::is_alphabetic) && name.chars().count() <= VALUE_CHARS_MAX;
    (is_name && !is_address).then_some(name)
}

/// s703: `<meta name="author">`, else `<meta property="article:author">`, the first that is not blank, as it stands:
/// also the address of a profile. Only whitespace is folded.
fn author(survey: &Survey<'_>) -> Option<String> {
    let first = |attribute: &str, key: &str| {
        let is_meant = |meta: &&NodeRef<'_>| {
            with_attribute(meta, attribute, |value| value.trim().eq_ignore_ascii_case(key)).unwrap_or(false)
        };
        let content = |meta: &NodeRef<'_>| with_attribute(meta, "content", text::fold);
        survey.metas.iter().filter(is_meant).filter_map(content).find(|content| !content.is_empty())
    };
    first("name", "author").or_else(|| first("property", "article:author"))
}

/// The beginning of a heading, as much as can be one: behind an `<h1>` without end, the whole page follows.
pub(super) fn shortened(mut title: String) -> String {
    if let Some((end, _)) = title.char_indices().nth(VALUE_CHARS_MAX) {
        title.truncate(title[..end].trim_end().len());
    }
    title
}

fn heading(title: &str) -> Option<String> {
    let title = shortened(text::unescape(title));
    (!title.is_empty()).then_some(title)
}

/// "Bridge opens | The Herald" of the site "The Herald" is "Bridge opens".
fn without_site_name(title: String, site: Option<&str>) -> String {
    let rest = site.and_then(|site| title.strip_suffix(site)).map(str::trim_end);
    let rest = rest.and_then(|rest| rest.strip_suffix(['|', '｜', '-', '–', '—', '·', '»', '•', ':', '_']));
    match rest.map(str::trim_end) {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => title,
    }
}

/// All `<meta>` with a key and a content, in order. Keys are in lower case, with colons for dots.
struct Metas(Vec<(String, String)>);

impl Metas {
    fn of(survey: &Survey<'_>) -> Metas {
        let pair = |meta: &NodeRef| {
            let key = ["property", "name", "itemprop"].iter().find_map(|attribute| meta.attr(attribute))?;
            let content = meta.attr("content")?;
            Some((key.trim().to_ascii_lowercase().replace('.', ":"), content.trim().to_owned()))
        };
        Metas(survey.metas.iter().filter_map(pair).collect())
    }

    /// The first value that can be read, by the order of the keys and then of the page.
    fn first<T>(&self, keys: &[&str], read: impl Fn(&str) -> Option<T>) -> Option<T> {
        keys.iter()
            .find_map(|key| self.0.iter().filter(|(found, _)| found == key).find_map(|(_, content)| read(content)))
    }
}

/// The element that is marked as the date of publication, else the first `<time>` in the article, else the only one.
fn time_element(survey: &Survey<'_>) -> Option<Timestamp> {
    let moment = |node: &NodeRef<'_>| {
        let attribute = ["datetime", "content", "title"].iter().find_map(|name| node.attr(name));
        attribute.and_then(|text| date::parse(&text)).or_else(|| date::parse(&node.text()))
    };
    let is_inside =
        |time: &&NodeRef<'_>| time.ancestors_it(None).any(|above| above.has_name("article") || above.has_name("main"));
    let marked = survey.dates.iter().find_map(moment);
    let inside = || survey.times.iter().filter(is_inside).find_map(moment);
    let only = || survey.times.first().filter(|_| survey.times.len() == 1).and_then(moment);
    marked.or_else(inside).or_else(only)
}

fn resolve(base: Option<&Url>, reference: &str) -> Option<Url> {
    match base {
        Some(base) => base.join(reference.trim()).ok(),
        None => Url::parse(reference.trim()).ok(),
    }
}

fn canonical_url(survey: &Survey<'_>, metas: &Metas, base: Option<&Url>) -> Option<Url> {
    let address = |reference: &str| resolve(base, reference).filter(|url| matches!(url.scheme(), "http" | "https"));
    let is_canonical =
        |link: &&NodeRef| link.attr_or("rel", "").split_whitespace().any(|word| word.eq_ignore_ascii_case("canonical"));
    let link = survey.links.iter().filter(is_canonical).find_map(|link| address(link.attr("href")?.trim()));
    link.or_else(|| metas.first(&["og:url"], |content| (!content.is_empty()).then(|| address(content))?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn facts(head: &str) -> PageFacts {
        let document = Document::from(head);
        read(&document, &Survey::of(&document), Some(&"https://example.org/news/1".parse().unwrap()))
    }

    #[rstest]
    #[case::name(r#"<meta name="author" content="Ada">"#, Some("Ada"))]
    #[case::blank_then_name(r#"<meta name="author" content=" "><meta name="Author" content="Ada">"#, Some("Ada"))]
    #[case::blank_then_property(
        r#"<meta name="author" content=""><meta property="article:author" content="Bob">"#,
        Some("Bob")
    )]
    #[case::order(r#"<meta property="article:author" content="Bob"><meta name="author" content="Ada">"#, Some("Ada"))]
    #[case::address(
        r#"<meta property="article:author" content="https://facebook.com/bob"><meta property="article:author" content="Bob">"#,
        Some("https://facebook.com/bob")
    )]
    #[case::as_it_stands(
        r#"<meta name="author" content=" By Ada &amp;amp; Bob, 16 November | Herald">"#,
        Some("By Ada &amp; Bob, 16 November | Herald")
    )]
    #[case::other_key(r#"<meta name="DC.creator" content="Ada">"#, None)]
    #[case::other_attribute(
        r#"<meta property="author" content="Ada"><meta name="article:author" content="Ada">"#,
        None
    )]
    #[case::described(r#"<script type="application/ld+json">{"@type":"Article","author":"Ada"}</script>"#, None)]
    #[case::byline("<p class=byline>By Ada</p>", None)]
    #[case::nobody("<meta name=author>", None)]
    fn s703_the_author_is_the_first_that_is_not_blank(#[case] head: &str, #[case] author: Option<&str>) {
        assert_eq!(facts(head).author.as_deref(), author);
    }

    #[rstest]
    #[case::described_before_line(
        r#"<script type="application/ld+json">{"@type":"Article","author":"Ada"}</script><p class=byline>By Bob</p>"#,
        Some("Ada")
    )]
    #[case::other_key(
        r#"<meta name="DC.creator" content="Ada &amp;amp; Bob"><p class=byline>By Cem</p>"#,
        Some("Ada & Bob")
    )]
    #[case::other_attribute(r#"<meta property="author" content="Ada">"#, Some("Ada"))]
    #[case::line("<p class=byline>By Ada</p>", Some("Ada"))]
    #[case::beside_the_author(r#"<meta name="author" content="Staff"><p class=byline>By Ada</p>"#, Some("Ada"))]
    #[case::same_as_the_author(r#"<meta name="author" content="Ada"><p class=byline>By Ada</p>"#, Some("Ada"))]
    #[case::nobody(r#"<meta name="author" content="Ada">"#, None)]
    fn s703_a_byline_is_kept_apart_from_the_author(#[case] html: &str, #[case] byline: Option<&str>) {
        assert_eq!(facts(html).byline.as_deref(), byline);
    }

    #[rstest]
    #[case::plain(r#"<meta property="og:title" content="A - B">"#, Some("A - B"))]
    #[case::site(
        r#"<meta property="og:title" content="A | Herald"><meta property="og:site_name" content="Herald">"#,
        Some("A")
    )]
    #[case::only_site(
        r#"<meta property="og:title" content="Herald"><meta property="og:site_name" content="Herald">"#,
        Some("Herald")
    )]
    #[case::none("<title>left to the reader of the tree</title>", None)]
    fn the_title_comes_without_the_name_of_the_site(#[case] head: &str, #[case] title: Option<&str>) {
        assert_eq!(facts(head).title.as_deref(), title);
    }

    #[rstest]
    #[case::meta(
        r#"<meta property="article:published_time" content="2026-11-16T08:00Z"><time datetime="2020-01-01">"#,
        Some("2026-11-16T08:00:00Z")
    )]
    #[case::second_key(
        r#"<meta property="article:published_time" content="today"><meta name="DC.date.issued" content="2026-11-16">"#,
        Some("2026-11-16T00:00:00Z")
    )]
    #[case::itemprop(r#"<span itemprop="datePublished">2026-11-16</span>"#, Some("2026-11-16T00:00:00Z"))]
    #[case::inside(
        r#"<time datetime="2020-01-01"></time><article><time datetime="2026-11-16"></time></article>"#,
        Some("2026-11-16T00:00:00Z")
    )]
    #[case::only(r#"<time datetime="2026-11-16"></time>"#, Some("2026-11-16T00:00:00Z"))]
    #[case::several(r#"<time datetime="2026-11-16"></time><time datetime="2026-11-15"></time>"#, None)]
    #[case::s613_none(r#"<meta property="article:published_time" content="0001-01-01T00:00:00Z">"#, None)]
    #[case::s613_other(
        r#"<meta property="article:published_time" content="1970-01-01T00:00:00Z"><meta name="date" content="2026-11-16">"#,
        Some("2026-11-16T00:00:00Z")
    )]
    fn the_date_comes_from_meta_then_from_time(#[case] html: &str, #[case] published: Option<&str>) {
        assert_eq!(facts(html).published.map(|moment| moment.to_string()).as_deref(), published);
    }

    #[rstest]
    #[case::absolute(r#"<link rel="canonical" href="https://example.org/a">"#, Some("https://example.org/a"))]
    #[case::relative(r#"<link rel="Canonical shortlink" href="../a">"#, Some("https://example.org/a"))]
    #[case::base(r#"<base href="/x/"><link rel="canonical" href="a">"#, Some("https://example.org/x/a"))]
    #[case::property(
        r#"<link rel="canonical" href="mailto:a"><meta property="og:url" content="/b">"#,
        Some("https://example.org/b")
    )]
    #[case::blank(r#"<meta property="og:url" content="">"#, None)]
    fn the_canonical_address_is_resolved(#[case] head: &str, #[case] url: Option<&str>) {
        assert_eq!(facts(head).canonical_url.map(String::from).as_deref(), url);
    }
}
