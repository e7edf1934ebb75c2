//! What it costs to turn the bodies of a feed into text, beside reading the feed.
//!
//! `cargo bench --bench text`. The bar: no more than parsing that feed with our own reader, in the same run. Text with
//! lines should cost what text without them costs.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use feedwarden::parse::feed::{Limits, read};
use feedwarden::parse::html::with_absolute_links;
use feedwarden::parse::text;

const ROUNDS: usize = 40;

fn main() {
    println!(
        "{:<22}{:>8}{:>10}{:>11}{:>10}{:>12}{:>10}{:>12}{:>12}",
        "feed", "KB", "text µs", "text MB/s", "parse µs", "text/parse", "lines µs", "lines/text", "links/text"
    );
    for (name, body, entries) in [
        ("RSS, rich bodies", rich_body(), 30),
        ("RSS, 300 KB", rich_body(), 300),
        ("RSS, plain summaries", plain_body(), 300),
        ("RSS, many entities", entity_body(), 100),
    ] {
        let bodies: Vec<String> = (0..entries).map(|number| body.replace("%", &number.to_string())).collect();
        let feed = feed(&bodies);
        let converting = fastest(|| bodies.iter().map(|body| text::from_html(body).len()).sum());
        let with_lines = fastest(|| bodies.iter().map(|body| text::lines_from_html(body).len()).sum());
        let base = "https://example.org/blog/";
        let linking = fastest(|| bodies.iter().map(|body| with_absolute_links(body, base).len()).sum());
        let parse = || read(feed.as_bytes(), None, None, &Limits::default()).expect("the bench's own feed is one");
        let reading = fastest(|| parse().entries.len());
        let megabytes = bodies.iter().map(String::len).sum::<usize>() as f64 / 1e6;
        println!(
            "{name:<22}{:>8}{:>10.0}{:>11.0}{:>10.0}{:>12.2}{:>10.0}{:>12.2}{:>12.2}",
            feed.len() / 1024,
            converting.as_secs_f64() * 1e6,
            megabytes / converting.as_secs_f64(),
            reading.as_secs_f64() * 1e6,
            converting.as_secs_f64() / reading.as_secs_f64(),
            with_lines.as_secs_f64() * 1e6,
            with_lines.as_secs_f64() / converting.as_secs_f64(),
            linking.as_secs_f64() / converting.as_secs_f64(),
        );
    }
}

fn fastest(mut work: impl FnMut() -> usize) -> Duration {
    let times = (0..ROUNDS).map(|_| {
        #[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    });
    times.min().expect("there is at least one round")
}

fn feed(bodies: &[String]) -> String {
    let mut feed = String::from(
        "<?xml version=\"1.0\"?><rss version=\"2.0\" xmlns:content=\"http://purl.org/rss/1.0/modules/content/\"><channel>",
    );
    for (number, body) in bodies.iter().enumerate() {
        let escaped = body.replace('&', "&amp;").replace('<', "&lt;");
        write!(
            feed,
            "<item><title>Entry {number}</title><link>https://example.org/{number}</link><guid>{number}</guid>\
             <pubDate>Mon, 16 Nov 2026 08:30:00 GMT</pubDate><content:encoded>{escaped}</content:encoded></item>"
        )
        .expect("writing to a string does not fail");
    }
    feed + "</channel></rss>"
}

fn rich_body() -> String {
    let paragraph = "<p class=\"wp-block-paragraph\">The council met on <a href=\"https://example.org/a?b=c&amp;d=%\" \
        rel=\"noopener\">Tuesday</a> to talk about the <em>new</em> bridge, which isn&#8217;t cheap: &pound;4&nbsp;million.</p>\n";
    let figure = "<figure class=\"wp-block-image\"><img src=\"https://example.org/%.jpg\" alt=\"The bridge\" width=\"800\"/>\
        <figcaption>The bridge, seen from the east.</figcaption></figure>\n<ul><li>One</li><li>Two</li></ul>";
    format!("{paragraph}{paragraph}{figure}{paragraph}")
}

fn plain_body() -> String {
    "The council met on Tuesday to talk about the new bridge, number %, which is not cheap at four million. ".repeat(3)
}

fn entity_body() -> String {
    "&ldquo;Caf&eacute;&rdquo; &mdash; &Uuml;ber&nbsp;&amp;&nbsp;&#8222;%&#8220; &hellip; ".repeat(20)
}
