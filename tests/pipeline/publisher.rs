//! Answers of a scripted publisher.

use crate::http::server::{Server, answers};

/// An answer of 200 with these header lines and a feed of entries with these texts, which have no dates.
pub(crate) fn feed(headers: &[&str], texts: &[&str]) -> String {
    feed_saying("", headers, texts)
}

/// The same of entries with these texts and dates, without validators.
pub(crate) fn dated_feed(entries: &[(&str, &str)]) -> String {
    let item = |(text, date): &(&str, &str)| {
        format!("<item><description>{text}</description><pubDate>{date}</pubDate></item>")
    };
    let items: String = entries.iter().map(item).collect();
    feed_saying(&items, &[], &[])
}

/// The same with something said in the channel.
pub(crate) fn feed_saying(said: &str, headers: &[&str], texts: &[&str]) -> String {
    let item = |text: &&str| format!("<item><title>{text}</title><description>{text}</description></item>");
    let items: String = texts.iter().map(item).collect();
    let body = format!("<rss version=\"2.0\"><channel><title>A feed</title>{said}{items}</channel></rss>");
    answer("200 OK", headers, &body)
}

/// An answer with this status line, these header lines and this body.
pub(crate) fn answer(status: &str, headers: &[&str], body: &str) -> String {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len())
}

/// A publisher that gives these answers in turn, each on a connection of its own.
pub(crate) async fn publisher(texts: &[String]) -> Server {
    Server::play(answers(texts)).await
}

/// A publisher on another loopback address, which is another host.
pub(crate) async fn publisher_at(address: &str, texts: &[String]) -> Server {
    Server::play_at(&format!("{address}:0"), answers(texts)).await
}

/// The value of a header of a request.
pub(crate) fn header(request: &str, name: &str) -> Option<String> {
    let lines = request.lines().filter_map(|line| line.split_once(": "));
    lines.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
}
