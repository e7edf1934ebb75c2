//! The fields of entries beside their texts, in every format that has them.

use feedwarden::parse::feed::{Entry, EntryEnclosure, Feed, Limits, read};

use super::fixtures::BASE_URL;

fn read_text(text: &str) -> Feed {
    read(text.as_bytes(), None, Some(BASE_URL), &Limits::default()).expect("a feed")
}

fn rss_item(inside: &str) -> Entry {
    read_text(&format!("<rss><channel><item><title>t</title>{inside}</item></channel></rss>")).entries.remove(0)
}

fn atom_entry(inside: &str) -> Entry {
    let text = format!("<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>1</id>{inside}</entry></feed>");
    read_text(&text).entries.remove(0)
}

fn json_item(inside: &str) -> Entry {
    read_text(&format!(r#"{{"version":"https://jsonfeed.org/version/1.1","items":[{{"id":"1",{inside}}}]}}"#))
        .entries
        .remove(0)
}

fn file(url: &str, media_type: Option<&str>) -> EntryEnclosure {
    EntryEnclosure {
        url: url.into(),
        media_type: media_type.map(Into::into),
        length: None,
        duration_seconds: None,
        title: None,
    }
}

#[test]
fn categories_are_trimmed_deduplicated_and_bounded() {
    let check = |entry: Entry, expected: &[&str]| {
        assert_eq!(entry.categories.iter().map(|name| &**name).collect::<Vec<_>>(), expected);
    };
    check(
        rss_item(
            "<category> News </category><category domain='x'><![CDATA[R&D]]></category><category/><category>News</category>\
            <dc:subject>Science</dc:subject>",
        ),
        &["News", "R&D", "Science"],
    );
    check(
        rss_item(
            "<itunes:category text='Arts &amp; more'><itunes:category text='Books'/></itunes:category>\
            <media:category label='Music'>music/artist</media:category><media:group><media:category>Pop</media:category></media:group>",
        ),
        &["Arts & more", "Books", "Music", "music/artist", "Pop"],
    );
    check(
        atom_entry("<category term='news' label='The News'/><category term='a&amp;b'/><category/>"),
        &["The News", "a&b"],
    );
    check(json_item(r#""tags":["a"," b ","a",7,null,["c"]]"#), &["a", "b"]);
    let many: String = (0..100).map(|number| format!("<category>{number}{}</category>", "é".repeat(300))).collect();
    let entry = rss_item(&many);
    assert_eq!(entry.categories.len(), 64);
    assert!(entry.categories.iter().all(|name| name.chars().count() == 200));
}

#[test]
fn files_are_read_from_every_format() {
    let sound = EntryEnclosure { length: Some(1234), ..file("https://example.org/1.mp3", Some("audio/mpeg")) };
    let entry = rss_item("<enclosure url='/1.mp3' type='audio/mpeg' length='1234'/>");
    assert_eq!(entry.enclosures, std::slice::from_ref(&sound));
    assert_eq!(
        atom_entry("<link rel='enclosure' href='/1.mp3' type='audio/mpeg' length='1234' title='Part 1'/>").enclosures,
        [EntryEnclosure { title: Some("Part 1".into()), ..sound.clone() }]
    );
    assert_eq!(
        json_item(r#""attachments":[{"url":"/1.mp3","mime_type":"audio/mpeg","title":"Part 1","size_in_bytes":1234,"duration_in_seconds":61.5},{"mime_type":"x"},"no"]"#)
            .enclosures,
        [EntryEnclosure { title: Some("Part 1".into()), duration_seconds: Some(61), ..sound.clone() }]
    );
    assert_eq!(
        rss_item("<media:content url='https://example.org/1.mp3' type='audio/mpeg' fileSize='1234' duration='61'/>")
            .enclosures,
        [EntryEnclosure { duration_seconds: Some(61), ..sound }]
    );
    let files: String = (0..50).map(|number| format!("<enclosure url='/{number}.mp3'/>")).collect();
    assert_eq!(rss_item(&files).enclosures.len(), 32);
}

#[test]
fn a_file_named_twice_is_one_enclosure() {
    let entry = rss_item(
        "<enclosure url='https://example.org/1.mp3' length='0'/><media:content url='https://example.org/1.mp3' type='audio/mpeg' fileSize='9'/>",
    );
    assert_eq!(
        entry.enclosures,
        [EntryEnclosure { length: Some(9), ..file("https://example.org/1.mp3", Some("audio/mpeg")) }]
    );
}

#[test]
fn the_playing_time_belongs_to_the_first_sound_or_film() {
    for inside in [
        "<enclosure url='/a.pdf' type='application/pdf'/><enclosure url='/1.mp3' type='audio/mpeg'/><itunes:duration>1:01</itunes:duration>",
        "<itunes:duration>61</itunes:duration><enclosure url='/a.pdf' type='application/pdf'/><enclosure url='/1.mp3'/>",
    ] {
        let seconds: Vec<_> = rss_item(inside).enclosures.iter().map(|file| file.duration_seconds).collect();
        assert_eq!(seconds, [None, Some(61)], "{inside}");
    }
}

#[test]
fn the_image_comes_from_the_best_element() {
    let image = |entry: Entry| entry.image_url.as_deref().map(str::to_owned);
    let media = "<media:content url='/m.jpg' medium='image'/>";
    let thumbnail = "<media:group><media:thumbnail url='/t.jpg'/></media:group>";
    let itunes = "<itunes:image href='/i.jpg'/>";
    assert_eq!(image(rss_item(media)).as_deref(), Some("https://example.org/m.jpg"));
    assert_eq!(image(rss_item(&format!("{media}{thumbnail}"))).as_deref(), Some("https://example.org/t.jpg"));
    assert_eq!(image(rss_item(&format!("{media}{thumbnail}{itunes}"))).as_deref(), Some("https://example.org/i.jpg"));
    assert_eq!(
        image(rss_item("<enclosure url='/e.jpg' type='image/jpeg'/>")).as_deref(),
        Some("https://example.org/e.jpg")
    );
    assert_eq!(image(json_item(r#""banner_image":"/b.jpg""#)).as_deref(), Some("https://example.org/b.jpg"));
    assert_eq!(
        image(json_item(r#""banner_image":"/b.jpg","image":"/a.jpg""#)).as_deref(),
        Some("https://example.org/a.jpg")
    );
    assert_eq!(image(rss_item("<media:thumbnail url='javascript:x()'/>")), None);
}

#[test]
fn comments_are_a_page() {
    let comments = |entry: Entry| entry.comments_url.as_deref().map(str::to_owned);
    assert_eq!(
        comments(rss_item("<comments>https://example.org/1#c</comments>")).as_deref(),
        Some("https://example.org/1#c")
    );
    assert_eq!(comments(rss_item("<comments>/1#c</comments>")).as_deref(), Some("https://example.org/1#c"));
    assert_eq!(comments(rss_item("<comments>17</comments><slash:comments>17</slash:comments>")), None);
    assert_eq!(
        comments(atom_entry("<link rel='replies' type='application/atom+xml' href='/f'/><link rel='replies' type='text/html' href='/c'/>")).as_deref(),
        Some("https://example.org/c")
    );
}

#[test]
fn the_language_is_the_entrys_or_the_feeds() {
    let languages = |text: &str| {
        let feed = read_text(text);
        let entries: Vec<_> = feed.entries.iter().map(|entry| entry.language.as_deref().map(str::to_owned)).collect();
        (feed.language.as_deref().map(str::to_owned), entries)
    };
    let said = |language: &str| Some(language.to_owned());
    assert_eq!(
        languages(
            "<rss><channel><item><title>a</title></item><item><title>b</title><dc:language>fr</dc:language></item><language>en-us</language></channel></rss>"
        ),
        (said("en-us"), vec![said("en-us"), said("fr")])
    );
    assert_eq!(
        languages(
            "<feed xmlns='http://www.w3.org/2005/Atom' xml:lang='de'><entry xml:lang='fr'><id>1</id></entry>\
            <entry><id>2</id><content xml:lang='it'>x</content></entry><entry><id>3</id></entry></feed>"
        ),
        (said("de"), vec![said("fr"), said("it"), said("de")])
    );
    assert_eq!(
        languages(
            r#"{"version":"https://jsonfeed.org/version/1.1","items":[{"id":"1"},{"id":"2","language":"fr"}],"language":"en"}"#
        ),
        (said("en"), vec![said("en"), said("fr")])
    );
    assert_eq!(
        languages("<rss><channel><language>English please</language><item><title>a</title></item></channel></rss>"),
        (None, vec![None])
    );
}

#[test]
fn the_base_is_the_one_in_force_at_the_text() {
    let bases = |text: &str| -> Vec<_> {
        read_text(text).entries.iter().map(|entry| entry.base.as_deref().map(str::to_owned)).collect()
    };
    let said = |base: &str| Some(base.to_owned());
    assert_eq!(
        bases(
            "<feed xmlns='http://www.w3.org/2005/Atom'><entry xml:base='/e/'><id>1</id><summary xml:base='s/'>x</summary>\
            <content xml:base='c/'>x</content></entry><entry xml:base='/e/'><id>2</id><content>x</content></entry><entry><id>3</id><content>x</content></entry></feed>"
        ),
        [said("https://example.org/e/c/"), said("https://example.org/e/"), said(BASE_URL)]
    );
    let without_address =
        "<rss><channel><link>https://example.net/blog/</link><item><enclosure url='1.mp3'/></item></channel></rss>";
    let feed = read(without_address.as_bytes(), None, None, &Limits::default()).unwrap();
    assert_eq!(feed.entries[0].base.as_deref(), Some("https://example.net/blog/"));
    assert_eq!(&*feed.entries[0].enclosures[0].url, "https://example.net/blog/1.mp3");
}

#[test]
fn older_entries_are_in_the_previous_archive() {
    let next = |text: &str| read_text(text).next_archive.map(String::from);
    let archive = Some("https://example.org/archive/1".to_owned());
    assert_eq!(
        next("<feed xmlns='http://www.w3.org/2005/Atom'><link rel='prev-archive' href='/archive/1'/></feed>"),
        archive
    );
    assert_eq!(
        next(
            "<rss><channel><atom:link rel='prev-archive' href='/archive/1'/><item><title>t</title></item></channel></rss>"
        ),
        archive
    );
    assert_eq!(next(r#"{"version":"https://jsonfeed.org/version/1.1","next_url":"/archive/1","items":[]}"#), archive);
    assert_eq!(
        next(
            "<feed xmlns='http://www.w3.org/2005/Atom'><link rel='self' href='/archive/1'/><entry><link rel='prev-archive' href='/e'/></entry></feed>"
        ),
        None
    );
}
