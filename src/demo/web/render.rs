//! Entries as Atom, RSS, JSON Feed and web pages. All texts are plain words, so that
//! nothing needs escaping; in links, ampersands are written as `&amp;`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, SystemTime};

use super::content::{PublishedEntry, SiteForm};
use super::entry_view::DocumentStyle;
use super::site_behaviour::SiteBehaviour;
use crate::model::Timestamp;

/// What a feed is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FeedSyntax {
    Atom,
    Rss,
    JsonFeed,
}

/// How long before they appear pages say that they were published.
const PAGE_AGE: Duration = Duration::from_secs(30 * 86_400);

/// What is rendered, with what its parts have in common.
struct FeedRenderer<'a> {
    document: &'a DocumentStyle<'a>,
    entries: &'a [PublishedEntry],
}

/// The document with these entries, in this order, and its media type.
pub(super) fn render(document: &DocumentStyle<'_>, entries: &[PublishedEntry]) -> (&'static str, String) {
    let feed = FeedRenderer { document, entries };
    match document.form.format {
        _ if document.behaviour == SiteBehaviour::Website => ("text/html; charset=utf-8", feed.page()),
        FeedSyntax::Atom => ("application/atom+xml", feed.atom()),
        FeedSyntax::Rss => ("application/rss+xml; charset=utf-8", feed.rss()),
        FeedSyntax::JsonFeed => ("application/feed+json", feed.json()),
    }
}

/// A moment as HTTP and RSS write it: in whole seconds, rounded down.
pub(super) fn http_date(moment: Timestamp) -> String {
    let seconds = u64::try_from(moment.as_seconds()).unwrap_or(0);
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing into memory does not fail")
}

impl FeedRenderer<'_> {
    fn atom(&self) -> String {
        let SiteForm { site, home, .. } = self.document.form;
        let updated = self.entries.first().map_or(Timestamp::EPOCH, |entry| entry.published);
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
             <title>Site {site}</title>\n<id>{home}/</id>\n<link href=\"{home}/\"/>\n<updated>{updated}</updated>\n\
             <author><name>Author {site}</name></author>\n"
        );
        for entry in self.entries {
            // Atom demands a title; an empty one is how feeds without titles comply.
            let title = self.document.title(entry);
            let id = element("id", self.document.id(entry));
            let published = element("published", self.document.published(entry).iso());
            let updated = element("updated", self.document.updated(entry).iso());
            let link = self.document.link(entry);
            let html = self.html(entry).replace('<', "&lt;").replace('>', "&gt;");
            self.write(
                &mut text,
                format_args!(
                    "<entry><title>{title}</title>{id}<link href=\"{link}\"/>{published}{updated}\n\
                     <content type=\"html\">{html}</content></entry>\n",
                ),
            );
        }
        text.push_str("</feed>\n");
        text
    }

    fn rss(&self) -> String {
        let SiteForm { site, home, .. } = self.document.form;
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<rss version=\"2.0\"><channel>\n<title>Site {site}</title>\n\
             <link>{home}/</link>\n<description>The news of site {site}</description>\n"
        );
        for entry in self.entries {
            let title = element("title", self.document.has_titles().then(|| self.document.title(entry)));
            let id = self.document.id(entry).map(|id| format!("<guid isPermaLink=\"false\">{id}</guid>"));
            let date = element("pubDate", self.document.updated(entry).http());
            let (link, html, id) = (self.document.link(entry), self.html(entry), id.unwrap_or_default());
            self.write(
                &mut text,
                format_args!(
                    "<item>{title}<link>{link}</link>{id}{date}\n\
                     <description><![CDATA[{html}]]></description></item>\n",
                ),
            );
        }
        text.push_str("</channel></rss>\n");
        text
    }

    fn json(&self) -> String {
        let SiteForm { site, home, .. } = self.document.form;
        let mut text = format!(
            "{{\"version\":\"https://jsonfeed.org/version/1.1\",\"title\":\"Site {site}\",\"home_page_url\":\"{home}/\",\
             \"items\":["
        );
        for (index, entry) in self.entries.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let members = [
                ("id", self.document.id(entry)),
                ("title", self.document.has_titles().then(|| self.document.title(entry))),
                ("date_published", self.document.published(entry).iso()),
                ("date_modified", entry.updated.and_then(|_| self.document.updated(entry).iso())),
                ("url", Some(self.document.link(entry))),
                ("content_html", Some(self.html(entry))),
            ];
            let members = members.into_iter().filter_map(|(name, value)| Some((name, value?.replace("&amp;", "&"))));
            let members: Vec<String> = members.map(|(name, value)| format!("\"{name}\":\"{value}\"")).collect();
            self.write(&mut text, format_args!("{comma}\n{{{}}}", members.join(",")));
        }
        text.push_str("]}\n");
        text
    }

    /// One article, dated long before it appears, with a byline, and with comments that look like it, inside of it or
    /// behind it.
    fn page(&self) -> String {
        let site = self.document.form.site;
        let mut text = String::from("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\">\n");
        for entry in self.entries {
            let comments = "<article class=\"comment\"><p>I was there, and it was quite different.</p></article>\n"
                .repeat(usize::try_from(entry.number % 4).unwrap_or_default());
            let (inside, behind) =
                if site.is_multiple_of(2) { (comments.as_str(), "") } else { ("", comments.as_str()) };
            self.write(
                &mut text,
                format_args!(
                    "<title>{title}</title>\n<meta property=\"article:published_time\" content=\"{}\">\n\
                 <meta name=\"author\" content=\"Site {site}\">\n</head><body>\n\
                 <nav><a href=\"/\">Home</a> <a href=\"/about\">About</a></nav>\n\
                 <article><h1>{title}</h1>\n<p class=\"byline\">By Ada Moss</p>\n{}{inside}</article>\n{behind}",
                    entry.published - PAGE_AGE,
                    self.html(entry).replace("</p><p>", "</p>\n<p>"),
                    title = self.document.title(entry),
                ),
            );
        }
        self.write(&mut text, format_args!("<footer>Site {site}</footer></body></html>\n"));
        text
    }

    fn html(&self, entry: &PublishedEntry) -> String {
        format!("<p>{}</p>", self.document.paragraphs(entry).join("</p><p>"))
    }

    fn write(&self, text: &mut String, words: std::fmt::Arguments<'_>) {
        text.write_fmt(words).expect("writing into memory does not fail");
    }
}

/// An element with this text, or nothing.
fn element(name: &str, text: Option<String>) -> String {
    text.map_or_else(String::new, |text| format!("<{name}>{text}</{name}>"))
}
