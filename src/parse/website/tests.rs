//! Pages as a whole: what is found, what is refused, and what does no harm. The layouts of real sites are in
//! `tests/pages/`.

use super::*;
use proptest::prelude::*;
use rstest::rstest;

const PARAGRAPH: &str = "<p>The council met on Tuesday, after long talks, to decide about the new bridge over the river, \
    which has been closed since the spring, and it agreed to pay for the repairs.</p>";

fn text(html: &str) -> String {
    extract(html, None).map(|page| page.text).unwrap_or_default()
}

#[test]
fn s701_the_article_is_the_text() {
    let html =
        format!("<nav><a href=/>Home</a></nav><article><h1>Bridge</h1>{PARAGRAPH}</article><aside>Weather</aside>");
    let text = text(&html);
    assert!(text.contains("The council met on Tuesday"), "{text}");
    assert!(!text.contains("Home") && !text.contains("Weather"), "{text}");
}

#[test]
fn s701_without_an_article_the_largest_block_is_the_text() {
    let html = format!("<div><a href=/>Home</a></div><div>{}</div><div>Short line.</div>", PARAGRAPH.repeat(4));
    let text = text(&html);
    assert!(text.starts_with("The council met"), "{text}");
    assert!(!text.contains("Home"), "{text}");
}

#[test]
fn s701_the_main_article_is_the_text_and_comments_in_articles_or_divisions_are_not() {
    let comments =
        "<article class=comment><p>I cross that bridge every day, and nobody asked me.</p></article>".repeat(9);
    for comments in [
        comments.clone(),
        format!("<div id=comments>{comments}</div>"),
        comments.replace("article", "div"),
        comments.replace(" class=comment", ""),
        format!("<h2>9 Comments</h2>{}", comments.replace("article class=comment", "div").replace("article", "div")),
    ] {
        for html in [
            format!("<article><h1>Bridge</h1>{PARAGRAPH}</article>{comments}"),
            format!("<article><h1>Bridge</h1>{PARAGRAPH}{comments}</article>"),
        ] {
            let text = text(&html);
            assert!(text.contains("The council met on Tuesday") && !text.contains("every day"), "{html}\n{text}");
        }
    }
}

/// What is called like comments and is none, or holds the article as well.
#[rstest]
#[case::commentary("<div class='commentary'>#</div>")]
#[case::opinion("<article class='tone-comment'><h1>We need this bridge</h1>#</article>")]
#[case::german_opinion("<article class='kommentar'><h1>Die Brücke</h1>#</article>")]
#[case::states("<body class='has-comments comments-open'><div id='comments-open'>#</div>")]
#[case::wrapper("<div class='comments'><h1>Bridge</h1><div>#</div><div class='comment'>Nice, I say.</div></div>")]
#[case::only_text("<h1>Guestbook</h1><div class='comments'>#</div>")]
#[case::discussion("<article><h1>Herons</h1><section id='discussion'><h2>Discussion</h2>#</section></article>")]
#[case::chapter(
    "<article><h1>Rust</h1><p>It begins.</p><h2>Comments</h2>#<h2>Functions</h2><p>It goes on.</p></article>"
)]
#[case::code("<article><h1>Code</h1><pre><code><span class='comment'>// #</span></code></pre></article>")]
fn s701_what_is_only_called_like_comments_stays(#[case] html: &str) {
    let text = text(&html.replace('#', PARAGRAPH));
    assert!(text.contains("The council met on Tuesday"), "{text}");
}

#[test]
fn s701_of_several_whole_articles_the_longest_is_the_main_one() {
    let article = |heading: &str, text: String| format!("<article><h2>{heading}</h2><p>{text}</p></article>");
    let others = [article("Two", "A shorter report about the harbour. ".repeat(9)), article("Three", PARAGRAPH.into())];
    let html =
        format!("<main>{}{}</main>", others.concat(), article("One", "The mayor spoke for an hour. ".repeat(14)));
    let text = text(&html);
    assert!(text.contains("The mayor spoke") && !text.contains("harbour") && !text.contains("council"), "{text}");
}

#[test]
fn s701_a_short_article_beside_a_long_text_is_the_article() {
    let article =
        "<article><p>The bridge is closed today. It opens again on Monday. Buses take the long way.</p></article>";
    let html = format!("{article}<div id=content>{}</div>", PARAGRAPH.repeat(12));
    assert!(!text(&html).contains("The council met"), "{}", text(&html));
}

#[test]
fn s701_a_list_of_teasers_is_no_main_article() {
    let teaser = |number: usize| format!("<article><h2><a href=/{number}>Story {number}</a></h2>{PARAGRAPH}</article>");
    let text = text(&format!("<h1>The Herald</h1><main>{}</main>", (0..20).map(teaser).collect::<String>()));
    assert_eq!(text.matches("The council met").count(), 20, "{text}");
}

#[rstest]
#[case::header("<article><header><h1>Bridge</h1><p>A word before.</p></header></article><div>#</div>")]
#[case::empty("<h1>Bridge</h1><article></article><div>#</div>")]
#[case::teaser("<h1>Bridge</h1><article><h3><a href=/2>Ferry</a></h3><p>It left at noon.</p></article><div>#</div>")]
#[case::aside(
    "<aside><article><p>It left at noon, said the ferryman, who knows.</p></article></aside><h1>Bridge</h1><div>#</div>"
)]
fn s701_an_article_without_the_text_is_not_the_article(#[case] html: &str) {
    let text = text(&html.replace('#', &PARAGRAPH.repeat(5)));
    assert_eq!(text.matches("The council met").count(), 5, "{text}");
    assert!(!text.contains("at noon"), "{text}");
}

#[test]
fn s701_an_article_in_several_parts_is_found_whole() {
    let part = format!("<div class=part><div>{PARAGRAPH}</div></div><div class=share><a href=/s>Share</a></div>");
    let text = text(&format!("<article><h1>Bridge</h1>{}</article>", part.repeat(6)));
    assert_eq!(text.matches("The council met").count(), 6, "{text}");
}

#[rstest]
#[case::hidden("<div style='Visibility: hidden'>#</div>")]
#[case::attribute("<div hidden>#</div>")]
#[case::gallery("<div class='media-slideshow'>#</div>")]
fn s701_what_an_article_hides_or_shows_as_a_gallery_does_not_make_its_text_a_small_part(#[case] extra: &str) {
    let extra = extra.replace('#', &"<p>A picture of the harbour in spring, seen from the tower.</p>".repeat(40));
    let text = text(&format!("<article><h1>Bridge</h1>{}{extra}</article>", PARAGRAPH.repeat(3)));
    assert_eq!((text.matches("The council met").count(), text.contains("harbour")), (3, false), "{text}");
}

#[test]
fn the_html_of_an_article_has_its_elements_with_absolute_links_and_nothing_around_it() {
    let html = format!(
        "<base href='/news/'><nav><a href=/>Home</a></nav><article><h1>Bridge</h1>{PARAGRAPH}<p>See <a href=plan>the \
         plan</a> of it, or <b>come</b> and see.</p><figure><img src='/bridge.jpg'><figcaption>In spring</figcaption></figure>\
         <ul><li>One <i>arch</i></li></ul><p>Read more: <a href=/ferry>The ferry</a></p><pre>a\nb</pre></article>\
         <div class=comments><p>I cross it every day, and nobody asked me.</p></div>"
    );
    let page = extract(&html, Some(&"https://example.org/1".parse().unwrap())).unwrap();
    for part in [
        "<a href=\"https://example.org/news/plan\">the plan</a>",
        "<b>come</b>",
        "https://example.org/bridge.jpg",
        "In spring",
        "<li>One <i>arch</i></li>",
    ] {
        assert!(page.html.contains(part), "{part}: {}", page.html);
    }
    for part in ["Home", "Read more", "ferry", "every day"] {
        assert!(!page.html.contains(part), "{part}: {}", page.html);
    }
    assert!(page.lines.ends_with("One arch\na\nb") && !page.lines.contains("In spring"), "{}", page.lines);
    let thread = format!("<div class='topic-body'><article><h1>Bridge</h1>{PARAGRAPH}</article></div>");
    assert!(extract(&thread, None).unwrap().html.contains("<p>The council met"));
}

#[test]
fn s702_a_number_of_comments_is_no_part_of_the_text() {
    let page = |count: usize| {
        format!(
            "<article><h1>Bridge</h1><p>3 March · <a href='#comments'>{count} comments</a></p>{PARAGRAPH}\
            <p>{count} Kommentare</p></article>"
        )
    };
    assert_eq!(text(&page(1)), text(&page(12)));
    assert!(!text(&page(7)).contains('7'), "{}", text(&page(7)));
}

#[test]
fn a_hostile_number_of_comments_takes_no_minutes() {
    let opened = "<div class=comments><h2>3 comments</h2><article class=comment>".repeat(100);
    let flat = "<p class=comment>x</p><h3>Comments</h3><span class=comment-count>3</span>".repeat(20_000);
    assert!(text(&format!("{}{opened}{flat}", PARAGRAPH.repeat(3))).contains("The council met"));
}

#[test]
fn s702_the_same_page_gives_the_same_text() {
    let html = format!("<article>{}</article>", PARAGRAPH.repeat(3));
    assert_eq!(extract(&html, None), extract(&html, None));
}

#[test]
fn s703_a_byline_is_no_author() {
    let html = format!("<article><p class='byline'>By Ada Lovelace | 16 November</p>{}</article>", PARAGRAPH.repeat(3));
    let page = extract(&html, None).unwrap();
    assert_eq!((page.author.as_deref(), page.byline.as_deref()), (None, Some("Ada Lovelace")));
    let page = extract(&format!("<meta name=author content='https://a.example/ada'>{html}"), None).unwrap();
    assert_eq!(page.author.as_deref(), Some("https://a.example/ada"));
    assert_eq!(page.byline.as_deref(), Some("Ada Lovelace"));
}

#[test]
fn a_heading_without_end_does_not_make_the_page_its_title() {
    let page = extract(&format!("<article><h1>Bridge {}</article>", PARAGRAPH.repeat(9)), None).unwrap();
    let title = page.title.unwrap();
    assert!(title.starts_with("Bridge The council") && title.len() <= 300, "{title}");
}

#[test]
fn a_short_page_is_still_a_page() {
    assert_eq!(text("<article>All systems operational.</article>"), "All systems operational.");
}

#[test]
fn a_page_without_text_says_why() {
    let refused = |html: &str| extract(html, None).unwrap_err();
    assert_eq!(refused(""), PageError::NoText);
    assert_eq!(refused("<html><head><title>T</title></head><body><img src=x></body></html>"), PageError::NoText);
    assert_eq!(refused("<body><script>let text = 'long enough to be an article';</script></body>"), PageError::NoText);
    assert_eq!(
        refused("<div id=root></div><noscript>You need to enable JavaScript to run this app.</noscript>"),
        PageError::ScriptRequired
    );
    assert_eq!(
        refused(
            "<h1>Sign in</h1><form><label>Mail</label><input><input type=password><p>Forgot your password?</p></form>"
        ),
        PageError::LoginRequired
    );
}

#[test]
fn a_short_article_beside_a_login_form_is_an_article() {
    let form = "<form><label>Log in</label><input name=user><input type=password><button>Log in</button></form>";
    let short = "The bridge over the mill stream is open again. The council thanks everybody for their patience.";
    for page in [
        format!("<header>{form}</header><article><h1>Open again</h1><p>{short}</p></article>"),
        format!("<div class=top>{form}</div><main><h1>Open again</h1><p>{short}</p></main>"),
    ] {
        let page = extract(&page, None).unwrap();
        assert!(page.text.contains(short), "{}", page.text);
    }
    let about = "Choose a password that is long. A password manager remembers it, so that every site can have its own. \
                 Change a password only if it has leaked: forced changes make people choose worse ones when they log in. \
                 Write the password of the manager on paper, and keep that at home.";
    let page = extract(&format!("<header>{form}</header><article><h1>Passwords</h1><p>{about}</p></article>"), None);
    assert!(page.unwrap().text.contains("keep that at home"));
    let wall = format!("<article><h1>Open again</h1><p>Subscribe or log in to read this article.</p>{form}</article>");
    assert_eq!(extract(&wall, None), Err(PageError::LoginRequired));
}

#[test]
fn paragraphs_of_an_article_have_lines_of_their_own() {
    let page =
        extract(&format!("<article><h2>One</h2>{PARAGRAPH}<ul><li>first</li><li>second</li></ul></article>"), None);
    let page = page.unwrap();
    assert_eq!(page.lines.replace('\n', " "), page.text);
    assert!(page.lines.contains("\nfirst\nsecond") && page.lines.starts_with("One\n"), "{}", page.lines);
}

#[test]
fn a_page_that_checks_the_browser_is_no_article() {
    let html = "<h1>Just a moment...</h1><p>Enable JavaScript and cookies to continue to example.org, please.</p>";
    assert_eq!(extract(html, None), Err(PageError::ScriptRequired));
}

#[test]
fn a_hundred_thousand_nested_elements_do_no_harm() {
    // Threads of the runtime have 2 MB of stack; an overflow would end the test run, not only this test.
    let read = || {
        for open in ["<div>", "<b>", "<table><tr><td>", "<table><div>", "<ul><li>", "<template>", "<svg><g>", "<a><p>"]
        {
            let html = format!("{PARAGRAPH}{}{PARAGRAPH}", open.repeat(100_000));
            assert!(text(&html).contains("The council met"), "{open}");
        }
        let html = "<div>".repeat(100_000) + PARAGRAPH;
        assert_eq!(extract(&html, None), Err(PageError::TooComplex));
        let html = format!("<nav><a href=/>Home</a> <a href=/about>About us</a></nav>{html}");
        assert_eq!(extract(&html, None), Err(PageError::TooComplex), "navigation is no article");
    };
    std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(read).unwrap().join().unwrap();
}

#[test]
fn the_font_bomb_does_no_harm() {
    let fonts: String = (0..1000).map(|number| format!("<p><font size={number}>x")).collect();
    let bomb = fonts + &"<p>x".repeat(4000);
    assert!(bomb.len() < 40_000);
    assert!(text(&bomb).len() < bomb.len());
    assert!(text(&(PARAGRAPH.repeat(4) + &bomb)).contains("The council met"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_answered(html in any::<String>()) {
        let _ = extract(&html, None);
    }

    #[test]
    fn any_soup_of_tags_is_answered(pieces in prop::collection::vec(prop::sample::select(vec![
        "<p>", "</p>", "<div class=caption>", "</div>", "<table>", "<td>", "</table>", "<br><br>", "<a href=x>", "</a>", "<b>", "<i>", "</b>",
        "<h2>", "</h2>", "<ul>", "<li>", "<svg>", "<math>", "<select>", "<option>", "<template>", "</template>", "<figure>", "<noscript>",
        "<script>", "</script>", "<title>", "</title>", "<!--", "-->", "<body>", "<html>", "<frameset>", "Words, and more words. ", PARAGRAPH,
    ]), 0..60)) {
        if let Ok(page) = extract(&pieces.concat(), None) {
            prop_assert_eq!(crate::parse::text::fold(&page.text), page.text);
        }
    }
}
