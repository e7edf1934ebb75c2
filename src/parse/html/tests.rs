//! Links made absolute, and nothing else changed.

use super::*;
use proptest::prelude::*;
use rstest::rstest;

const BASE: &str = "https://example.org/blog/post.html?x=1";

#[rstest]
#[case::href(r#"<a href="a/b">x</a>"#, r#"<a href="https://example.org/blog/a/b">x</a>"#)]
#[case::root("<img src='/i.png' alt='a>b'/>", "<img src='https://example.org/i.png' alt='a>b'/>")]
#[case::host("<img src=//cdn.example/i.png>", "<img src=https://cdn.example/i.png>")]
#[case::no_scheme("<a href=\"www.example.net/a\">", "<a href=\"https://www.example.net/a\">")]
#[case::query("<a href='?p=1&amp;q=2'>", "<a href='https://example.org/blog/post.html?p=1&amp;q=2'>")]
#[case::bare_ampersand("<a href='?p=1&q=2'>", "<a href='https://example.org/blog/post.html?p=1&amp;q=2'>")]
#[case::quote("<a href='it&#39;s'>", "<a href='https://example.org/blog/it&#39;s'>")]
#[case::upper_case("<A HREF=\" a \">", "<A HREF=\"https://example.org/blog/a\">")]
#[case::several(
    "<video poster=p src=\"v\"></video><q cite=c>",
    "<video poster=https://example.org/blog/p src=\"https://example.org/blog/v\"></video><q cite=https://example.org/blog/c>"
)]
#[case::srcset(
    "<img srcset=\"a.jpg 1x, /b,c.jpg 2x,d.jpg\">",
    "<img srcset=\"https://example.org/blog/a.jpg 1x, https://example.org/b,c.jpg 2x,https://example.org/blog/d.jpg\">"
)]
#[case::srcset_data(
    "<img srcset=\"data:image/png;base64,AA== 1x, b.jpg 640w\">",
    "<img srcset=\"data:image/png;base64,AA== 1x, https://example.org/blog/b.jpg 640w\">"
)]
#[case::noscript("<noscript><img src=a></noscript>", "<noscript><img src=https://example.org/blog/a></noscript>")]
fn relative_links_become_absolute(#[case] html: &str, #[case] expected: &str) {
    assert_eq!(with_absolute_links(html, BASE), expected);
}

#[rstest]
#[case::absolute("<a href='HTTP://other.example/&amp;'>x</a>")]
#[case::other_schemes("<a href='mailto:a@b'><a href='javascript:x()'><img src='data:image/gif;base64,R0=='>")]
#[case::place_in_document("<a href='#note'>1</a>")]
#[case::empty("<a href=''><a href><a href=>")]
#[case::other_attributes("<a data-href='a' title='href=a' id=src>")]
#[case::text("a href='b' <3 & <")]
#[case::comment("<!-- <a href='b'> -->")]
#[case::script("<script>'<a href=\"b\">'</script><textarea><a href='b'></textarea><style>a{}</style>")]
#[case::end_of_section("<![CDATA[<a href='b]]>c'>x</a>]]>")]
#[case::tag_in_value("<video><source src=b</video>c>")]
#[case::cut_off("<a href=\"b")]
#[case::srcset("<img srcset='https://a.example/1 1x, https://a.example/2 2x'>")]
fn everything_else_stays_as_it_is(#[case] html: &str) {
    assert!(matches!(with_absolute_links(html, BASE), Cow::Borrowed(same) if same == html), "{html}");
}

#[test]
fn without_a_base_links_stay_relative() {
    for html in ["<a href='a'>", "<a href='www.example.net'>", "<img srcset='a 1x'>"] {
        assert_eq!(with_absolute_links(html, "no base"), html);
    }
}

#[test]
fn the_output_is_bounded() {
    let base = format!("https://example.org/{}/", "x".repeat(2_000));
    let html = "<a href=b>".repeat(100_000);
    let changed = with_absolute_links(&html, &base);
    assert!(changed.len() <= html.len() * 4 + 64 * 1024, "{}", changed.len());
    assert!(changed.starts_with("<a href=https://") && changed.ends_with("<a href=b>"));
}

proptest! {
    #[test]
    fn the_text_stays_the_same_and_a_second_pass_changes_nothing(
        pieces in prop::collection::vec(prop_oneof![
            3 => prop::sample::select(vec![
                "<a href='", "<img src=\"", "<img srcset='", "'>", "\">", "</a>", "<p cite=x>", "<script>", "</script>", "<!--", "-->", "/a/b",
                "?a&amp;b", " 2x, ", "&", "<", ">", "#", "//h/", "é", " ", "www.", "https://e.example/", "<![CDATA[", "]]>",
            ]).prop_map(String::from),
            1 => "[a-z ]{1,6}",
        ], 0..30)
    ) {
        let html = pieces.concat();
        let changed = with_absolute_links(&html, BASE);
        prop_assert_eq!(crate::parse::text::lines_from_html(&changed), crate::parse::text::lines_from_html(&html));
        prop_assert_eq!(&with_absolute_links(&changed, BASE), &changed);
    }
}
