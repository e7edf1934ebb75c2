//! Entries as Atom, RSS, JSON Feed and web pages. All texts are plain words, so that nothing needs escaping.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, SystemTime};

use super::content::{PublishedEntry, SiteForm};
use super::prose::Prose;
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
    form: &'a SiteForm,
    entries: &'a [PublishedEntry],
    titled: bool,
    seed: u64,
    prose: &'a Prose,
}

/// The document with these entries, newest first, and its media type.
pub(super) fn render(
    form: &SiteForm,
    behaviour: SiteBehaviour,
    entries: &[PublishedEntry],
    seed: u64,
    prose: &Prose,
) -> (&'static str, String) {
    let feed = FeedRenderer { form, entries, titled: behaviour != SiteBehaviour::Titleless, seed, prose };
    match form.format {
        _ if behaviour == SiteBehaviour::Website => ("text/html; charset=utf-8", feed.page()),
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
        let SiteForm { site, home, .. } = self.form;
        let updated = self.entries.first().map_or(Timestamp::EPOCH, |entry| entry.published);
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
             <title>Site {site}</title>\n<id>{home}/</id>\n<link href=\"{home}/\"/>\n<updated>{updated}</updated>\n\
             <author><name>Author {site}</name></author>\n"
        );
        for entry in self.entries {
            // Atom demands a title; an empty one is how feeds without titles comply.
            self.write(&mut text, format_args!(
                "<entry><title>{}</title><id>{}</id><link href=\"{}\"/><published>{date}</published>\
                 <updated>{date}</updated>\n<content type=\"html\">&lt;p&gt;{}&lt;/p&gt;&lt;p&gt;{}&lt;/p&gt;</content></entry>\n",
                self.title(entry), self.id(entry), self.link(entry), self.opening(entry), self.rest(entry),
                date = entry.published,
            ));
        }
        text.push_str("</feed>\n");
        text
    }

    fn rss(&self) -> String {
        let SiteForm { site, home, .. } = self.form;
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<rss version=\"2.0\"><channel>\n<title>Site {site}</title>\n\
             <link>{home}/</link>\n<description>The news of site {site}</description>\n"
        );
        for entry in self.entries {
            let title = if self.titled { format!("<title>{}</title>", self.title(entry)) } else { String::new() };
            // Rounded up: an entry must not seem older than the source that was added a moment before it.
            let date = http_date(entry.published + Duration::from_micros(999_999));
            self.write(
                &mut text,
                format_args!(
                    "<item>{title}<link>{}</link><guid isPermaLink=\"false\">{}</guid><pubDate>{date}</pubDate>\n\
                 <description><![CDATA[<p>{}</p><p>{}</p>]]></description></item>\n",
                    self.link(entry),
                    self.id(entry),
                    self.opening(entry),
                    self.rest(entry),
                ),
            );
        }
        text.push_str("</channel></rss>\n");
        text
    }

    fn json(&self) -> String {
        let SiteForm { site, home, .. } = self.form;
        let mut text = format!(
            "{{\"version\":\"https://jsonfeed.org/version/1.1\",\"title\":\"Site {site}\",\"home_page_url\":\"{home}/\",\
             \"items\":["
        );
        for (index, entry) in self.entries.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let title = if self.titled { format!("\"title\":\"{}\",", self.title(entry)) } else { String::new() };
            self.write(
                &mut text,
                format_args!(
                    "{comma}\n{{\"id\":\"{}\",\"url\":\"{}\",{title}\"date_published\":\"{}\",\
                 \"content_html\":\"<p>{}</p><p>{}</p>\"}}",
                    self.id(entry),
                    self.link(entry),
                    entry.published,
                    self.opening(entry),
                    self.rest(entry),
                ),
            );
        }
        text.push_str("]}\n");
        text
    }

    /// One article, dated long before it appears, with a byline, and with comments that look like it, inside of it or
    /// behind it.
    fn page(&self) -> String {
        let site = self.form.site;
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
                 <article><h1>{title}</h1>\n<p class=\"byline\">By Ada Moss</p>\n<p>{}</p>\n<p>{}</p>{inside}</article>\n{behind}",
                    entry.published - PAGE_AGE,
                    self.opening(entry),
                    self.rest(entry),
                    title = self.title(entry),
                ),
            );
        }
        self.write(&mut text, format_args!("<footer>Site {site}</footer></body></html>\n"));
        text
    }

    fn title(&self, entry: &PublishedEntry) -> String {
        if self.titled { format!("News {} from site {}", entry.number, self.form.site) } else { String::new() }
    }

    fn id(&self, entry: &PublishedEntry) -> String {
        format!("urn:little-web:{:x}:{}:{}", self.seed, self.form.site, entry.number)
    }

    fn link(&self, entry: &PublishedEntry) -> String {
        format!("{}/{}/entry/{}", self.form.home, self.form.site, entry.number)
    }

    fn opening(&self, entry: &PublishedEntry) -> String {
        self.prose.opening(self.form.site, entry.number)
    }

    fn rest(&self, entry: &PublishedEntry) -> &str {
        self.prose.rest(self.form.site, entry.number)
    }

    fn write(&self, text: &mut String, words: std::fmt::Arguments<'_>) {
        text.write_fmt(words).expect("writing into memory does not fail");
    }
}
