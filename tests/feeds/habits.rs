//! Habits of publishers that were seen on public feeds, each with the reading that its author meant.

use feedwarden::parse::feed::{Entry, Feed, FeedError, Limits, Note, TextKind, read};
use feedwarden::parse::text::from_html;

use super::fixtures::BASE_URL;

fn read_text(text: &str) -> Result<Feed, FeedError> {
    read(text.as_bytes(), None, Some(BASE_URL), &Limits::default())
}

/// The only entry of a feed.
fn entry(text: &str) -> Entry {
    let mut feed = read_text(text).expect("a feed");
    assert_eq!(feed.entries.len(), 1, "{feed:?}");
    feed.entries.remove(0)
}

fn item(inside: &str) -> Entry {
    entry(&format!("<rss version='2.0'><channel><title>t</title><item>{inside}</item></channel></rss>"))
}

fn atom_entry(inside: &str) -> Entry {
    entry(&format!("<feed xmlns='http://www.w3.org/2005/Atom'><title>t</title><entry>{inside}</entry></feed>"))
}

fn body(entry: &Entry) -> &str {
    entry.content.as_ref().or(entry.summary.as_ref()).map_or("", |text| &*text.value)
}

fn titles(feed: &Feed) -> Vec<&str> {
    feed.entries.iter().filter_map(|entry| Some(&*entry.title.as_ref()?.value)).collect()
}

#[test]
fn a_two_digit_year_is_never_years_ahead() {
    let limits = Limits { year_max: 2027, ..Limits::default() };
    let check = |date: &str, expected: &str| {
        let text = format!("<rss><channel><item><title>t</title><pubDate>{date}</pubDate></item></channel></rss>");
        let feed = read(text.as_bytes(), None, None, &limits).expect("a feed");
        assert_eq!(feed.entries[0].published.map(|date| date.to_string()).as_deref(), Some(expected), "for {date}");
    };
    check("Tue, 16 Nov 49 08:30:00 GMT", "1949-11-16T08:30:00Z");
    check("Mon, 16 Nov 26 08:30:00 GMT", "2026-11-16T08:30:00Z");
    check("Mon, 16 Nov 2030 08:30:00 GMT", "2030-11-16T08:30:00Z");
    check("03-12-31", "2003-12-31T00:00:00Z");
    check("31-12-03 10:00", "2003-12-31T10:00:00Z");
    check("16-11-26", "2026-11-16T00:00:00Z");
    check("16.11.26", "2026-11-16T00:00:00Z");
    check("11/16/26", "2026-11-16T00:00:00Z");
    check("03/12/31", "2003-12-31T00:00:00Z");
    check("99-12-31", "1999-12-31T00:00:00Z");
}

#[test]
fn a_feed_inside_a_web_page_is_read() {
    let rss = "<rss version='2.0'><channel><title>t</title><item><title>One</title></item></channel></rss>";
    let atom =
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>t</title><entry><id>1</id><title>One</title></entry></feed>";
    let rdf = "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>\
               <item rdf:about='1'><title>One</title></item></rdf:RDF>";
    let escaped = rss.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    for page in [
        format!("<html><body>{rss}</body></html>"),
        format!("<!DOCTYPE html><html><head><title>x</title></head><body>\n<?xml version='1.0'?>{atom}</body></html>"),
        format!("<html>{rdf}</html>"),
        format!("<html><head></head><body><pre style='word-wrap: break-word'>{escaped}</pre></body></html>"),
        format!("<html><body><pre>&lt;?xml version='1.0'?&gt;<span class='tag'>{escaped}</span></pre></body></html>"),
    ] {
        let feed = read_text(&page).unwrap_or_else(|error| panic!("{error}: {page}"));
        assert_eq!(titles(&feed), ["One"], "{page}");
        assert!(feed.notes.contains(&Note::JunkSkipped), "{page}");
    }
}

#[test]
fn a_web_page_about_feeds_is_no_feed() {
    for page in [
        "<html><head><link rel='alternate' type='application/rss+xml' href='/feed'></head><body>\
         <pre>&lt;rss&gt;&lt;channel&gt;&lt;item&gt;&lt;title&gt;a&lt;/title&gt;&lt;/item&gt;&lt;/channel&gt;&lt;/rss&gt;</pre></body></html>",
        "<html><body><p>Write <code>&lt;rss version='2.0'&gt;</code> first.</p><pre>&lt;rss&gt;</pre></body></html>",
        "<html><body><rss-button></rss-button><feed></feed></body></html>",
        "<html><body><!-- <rss><channel></channel></rss> --></body></html>",
    ] {
        assert!(matches!(read_text(page), Err(FeedError::Html { .. })), "{page}: {:?}", read_text(page));
    }
}

#[test]
fn rdf_without_items_is_an_empty_feed() {
    let rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
    for document in [
        format!(
            "<rdf:RDF xmlns:rdf='{rdf}' xmlns='http://purl.org/rss/1.0/'><channel rdf:about='x'><title>t</title></channel></rdf:RDF>"
        ),
        format!("<rdf:RDF xmlns:rdf='{rdf}' xmlns='http://purl.org/rss/1.0/'/>"),
        format!("<rdf:RDF xmlns:rdf='{rdf}' xmlns:rss='http://purl.org/rss/1.0/'></rdf:RDF>"),
        format!("<rdf:RDF xmlns:rdf='{rdf}' xmlns='http://my.netscape.com/rdf/simple/0.9/'></rdf:RDF>"),
    ] {
        assert_eq!(read_text(&document).map(|feed| feed.entries.len()), Ok(0), "{document}");
    }
    let other = format!("<rdf:RDF xmlns:rdf='{rdf}' xmlns='http://xmlns.com/foaf/0.1/'><Person/></rdf:RDF>");
    assert!(matches!(read_text(&other), Err(FeedError::OtherXml { .. })));
}

#[test]
fn a_feed_cut_inside_cdata_keeps_the_cut_entry_if_it_has_an_id() {
    let first = "<rss><channel><item><title>One</title></item><item><title>Two</title>";
    let cut = format!("{first}<guid>2</guid><description><![CDATA[<p>Half a sen");
    let feed = read_text(&cut).unwrap();
    assert_eq!(titles(&feed), ["One", "Two"]);
    assert_eq!(body(&feed.entries[1]), "<p>Half a sen");
    assert_eq!(feed.notes, [Note::CutOff]);
    for without_id in [
        format!("{first}<description><![CDATA[<p>Half a sen"),
        format!("{first}<guid><![CDATA[https://example.org/2"),
        format!("{first}<guid>2</guid><description>Half a sen"),
    ] {
        assert_eq!(titles(&read_text(&without_id).unwrap()), ["One"], "{without_id}");
    }
    // A section that only lacks its end mark ends with its element.
    let unmarked = format!("{first}<description><![CDATA[<p>Whole</p></description></item></channel></rss>");
    let feed = read_text(&unmarked).unwrap();
    assert_eq!((titles(&feed), body(&feed.entries[1])), (vec!["One", "Two"], "<p>Whole</p>"));
    assert_eq!(feed.notes, [Note::MarkupRepaired]);
}

#[test]
fn atom_content_may_be_in_base64() {
    let base64 = "<content type='application/octet-stream'>\n RXhhbXBsZSA8Yj5B\n dG9tPC9iPg==\n</content>";
    assert_eq!(body(&atom_entry(base64)), "Example <b>Atom</b>");
    let unpadded = "<content type='application/octet-stream'>RXhhbXBsZSA8Yj5BdG9tPC9iPg</content>";
    assert_eq!(body(&atom_entry(unpadded)), "Example <b>Atom</b>");
    let binary = "<id>1</id><content type='application/octet-stream'>AAEC/w==</content>";
    assert_eq!(atom_entry(binary).content, None);
    assert_eq!(body(&atom_entry("<content type='plain'>Words</content>")), "Words");
    let picture = "<id>1</id><content type='image/png'>RXhhbXBsZQ==</content>";
    assert_eq!(atom_entry(picture).content, None);
}

#[test]
fn a_link_without_an_address_is_none_and_a_file_is_the_last_resort() {
    let url = |inside: &str| atom_entry(inside).url.map(String::from);
    let page = Some("https://example.org/1".to_owned());
    assert_eq!(url("<id>x</id><link rel='alternate'/>"), None);
    assert_eq!(url("<id>x</id><link rel='alternate' title='a'>Some words</link>"), None);
    assert_eq!(url("<link>https://example.org/1</link>"), page);
    assert_eq!(url("<link rel='alternate'/><link rel='enclosure' href='/1.mp3'/><link href='/1'/>"), page);
    assert_eq!(url("<link rel='enclosure' href='/1.mp3'/><link rel='alternate' href='/1'/>"), page);
    assert_eq!(url("<link href='/1'/><link rel='enclosure' href='/1.mp3'/>"), page);
    let texts = [
        "<link rel='enclosure'>https://example.org/1.mp3</link>",
        "<link rel='alternate'>https://example.org/1</link>",
    ];
    assert_eq!(url(&texts.concat()), page);
    assert_eq!(url(&[texts[1], texts[0]].concat()), page);
    assert_eq!(url("<id>x</id><link rel='edit'>https://example.org/1</link>"), None);
    assert_eq!(url("<link href=''/><link rel='alternate' href='/1'/>"), page);
}

#[test]
fn a_body_may_be_a_child_element_of_an_item() {
    let html = "<p>Long <b>text</b></p>";
    for inside in [
        format!("<description>Short</description><body xmlns='http://www.w3.org/1999/xhtml'>{html}</body>"),
        format!("<description>Short</description><body>{html}</body>"),
        format!(
            "<description>Short</description><xhtml:body xmlns:xhtml='http://www.w3.org/1999/xhtml'>{}</xhtml:body>",
            html.replace("</", "</xhtml:").replace("<p", "<xhtml:p").replace("<b", "<xhtml:b")
        ),
        format!("<description>Short</description><section xmlns='http://www.w3.org/1999/xhtml'>{html}</section>"),
        format!(
            "<description>Short</description><content:encoded><div xmlns='http://www.w3.org/1999/xhtml'>{html}</div></content:encoded>"
        ),
        format!("<description>Short</description><fulltext><![CDATA[{html}]]></fulltext>"),
        format!("<description>Short</description><fullitem><![CDATA[{html}]]></fullitem>"),
        format!(
            "<description>Short</description><content:items><rdf:Bag><rdf:li><content:item>\
            <content:format rdf:resource='x'/><rdf:value rdf:parseType='Literal'>{html}</rdf:value></content:item></rdf:li></rdf:Bag></content:items>"
        ),
    ] {
        let entry = item(&inside);
        assert!(body(&entry).contains(html), "{inside}: {entry:?}");
    }
    // HTML that stands unescaped in a description may have a body too.
    assert!(body(&item("<description><html><body><p>One</p></body></html></description>")).contains("<p>One</p>"));
}

#[test]
fn escaped_html_mixed_with_elements_is_html_as_a_whole() {
    for (inside, expected) in [
        ("&lt;p&gt;One&lt;/p&gt; <b>two</b>", "<p>One</p> <b>two</b>"),
        ("<b>two</b> &lt;p&gt;One &amp;amp; a half&lt;/p&gt;", "<b>two</b> <p>One &amp; a half</p>"),
        ("&lt;p&gt;One<br/>two&lt;/p&gt;", "<p>One<br/>two</p>"),
        ("&lt;p&gt;See <code>&lt;b&gt;x&lt;/b&gt;</code>&lt;/p&gt;", "<p>See <code>&lt;b&gt;x&lt;/b&gt;</code></p>"),
        ("a &lt; b <i>c</i>", "a &lt; b <i>c</i>"),
        ("<p>Write &lt;p&gt;x&lt;/p&gt;</p>", "<p>Write &lt;p&gt;x&lt;/p&gt;</p>"),
    ] {
        assert_eq!(body(&item(&format!("<description>{inside}</description>"))), expected, "for {inside}");
    }
}

#[test]
fn references_in_plain_text_are_meant_as_characters() {
    let entry = atom_entry(
        "<title type='text'>Q&amp;amp;A caf&amp;eacute; it&amp;#8217;s &amp;lt;b&amp;gt;</title><content type='text'>a &amp;nbsp;&amp;amp; b &lt;c</content>",
    );
    let title = entry.title.as_ref().unwrap();
    assert_eq!((&*title.value, title.kind), ("Q&A café it’s &lt;b&gt;", TextKind::Plain));
    assert_eq!(body(&entry), "a \u{a0}& b <c");
}

#[test]
fn declared_entities_are_expanded_within_a_bound() {
    let declared = |declarations: &str, item: &str| {
        entry(&format!(
            "<!DOCTYPE rss [{declarations}]><rss><channel><item><title>t</title>{item}</item></channel></rss>"
        ))
    };
    let press = "<!ENTITY press \"The &amp; Press\"><!ENTITY copy2 '&#169; &press;'>";
    assert_eq!(body(&declared(press, "<description>By &press;</description>")), "By The & Press");
    assert_eq!(body(&declared(press, "<description>&copy2; 2026</description>")), "© The & Press 2026");
    assert_eq!(
        body(&declared(press, "<description>By &press; <b>&press;</b></description>")),
        "By The &amp; Press <b>The &amp; Press</b>"
    );
    assert_eq!(body(&declared("<!ENTITY x SYSTEM 'file:///etc/passwd'>", "<description>&x;</description>")), "&x;");
    assert_eq!(body(&declared("<!ENTITY % x 'a'><!ENTITY y '&y;'>", "<description>&x;&y;</description>")), "&x;&y;");
    assert_eq!(
        body(&declared("<!-- <!ENTITY x 'a'> --><!ENTITY amp 'b'>", "<description>&x; &amp;amp;</description>")),
        "&x; &amp;"
    );

    let mut laughs = String::from("<!ENTITY a0 'ha'>");
    for level in 1..20 {
        laughs += &format!("<!ENTITY a{level} '{}'>", format!("&a{};", level - 1).repeat(10));
    }
    for level in 0..20 {
        let entry = declared(&laughs, &format!("<description>{}</description>", format!("&a{level};").repeat(5_000)));
        let bytes = body(&entry).len();
        assert!(bytes < 300_000, "level {level} became {bytes} bytes");
    }
}

#[test]
fn a_relative_permalink_is_a_link() {
    let url = |guid: &str| item(&format!("<title>t</title>{guid}")).url.map(String::from);
    assert_eq!(url("<guid isPermaLink='true'>posts/1</guid>").as_deref(), Some("https://example.org/feeds/posts/1"));
    assert_eq!(url("<guid>/posts/1</guid>").as_deref(), Some("https://example.org/posts/1"));
    assert_eq!(url("<guid isPermaLink='false'>/posts/1</guid>"), None);
    assert_eq!(url("<guid isPermaLink='true'>1234</guid>"), None);
    assert_eq!(url("<guid>posts/1</guid>"), None);
    assert_eq!(url("<guid isPermaLink='true'>tag:example.org,2026:a/b</guid>"), None);
}

#[test]
fn s605_authors_are_found_under_all_their_names() {
    for inside in [
        "<dc:author>Ann</dc:author>",
        "<dc:creator>Ann</dc:creator>",
        "<dcterms:creator>Ann</dcterms:creator>",
        "<itunes:author>Ann</itunes:author>",
        "<media:credit role='author'>Ann</media:credit>",
        "<creator>Ann</creator>",
        "<atom:author><atom:name>Ann</atom:name></atom:author>",
    ] {
        assert_eq!(item(inside).author.as_deref(), Some("Ann"), "{inside}");
    }
    assert_eq!(item("<id>1</id><media:credit role='photographer'>Ann</media:credit>").author, None);
}

#[test]
fn s605_all_authors_are_kept_and_an_address_stands_for_an_empty_name() {
    let authors = |entry: Entry| entry.authors.iter().map(|author| author.to_string()).collect::<Vec<_>>();
    assert_eq!(
        authors(atom_entry(
            "<author><name>Ann</name></author><author><name/></author><author><name>Bob</name></author>\
            <author><name>Ann</name></author>"
        )),
        ["Ann", "Bob"]
    );
    assert_eq!(
        authors(item("<dc:creator>Ann</dc:creator><dc:creator>Bob</dc:creator><itunes:author>Show</itunes:author>")),
        ["Ann", "Bob"]
    );
    assert_eq!(
        authors(atom_entry("<author><name> </name><email>ann@example.org</email></author>")),
        ["ann@example.org"]
    );
    assert_eq!(authors(atom_entry("<author><email>ann@example.org</email><name>Ann</name></author>")), ["Ann"]);
    let json = r#"{"version":"https://jsonfeed.org/version/1.1","authors":[{"name":"Feed"}],"items":[{"id":"1","authors":[{"name":"Ann"},{},"Bob"]},{"id":"2"}]}"#;
    let feed = read_text(json).unwrap();
    assert_eq!(authors(feed.entries[0].clone()), ["Ann", "Bob"]);
    assert_eq!(authors(feed.entries[1].clone()), ["Feed"]);
}

#[test]
fn an_entry_that_is_an_image_has_the_text_of_the_image() {
    let entry = item(
        "<title>Ladder</title><description>&lt;img src=\"https://c.example/1.png\" title=\"The joke.\" alt=\"The joke.\" /&gt;</description>",
    );
    assert_eq!(from_html(body(&entry)), "The joke.");
}

#[test]
fn drawings_and_formulas_do_not_leak() {
    let entry = atom_entry(
        "<content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><p>Look: <svg:svg xmlns:svg='http://www.w3.org/2000/svg'>\
         <svg:title>Drawing</svg:title><svg:text>Axis</svg:text></svg:svg></p><p><m:math xmlns:m='http://www.w3.org/1998/Math/MathML'>\
         <m:semantics><m:mi>x</m:mi><m:annotation encoding='application/x-tex'>\\x</m:annotation></m:semantics></m:math></p></div></content>",
    );
    assert_eq!(from_html(body(&entry)), "Look: x");
}
