//! What plain text is, as a table, and the laws it keeps.

use super::*;
use proptest::prelude::*;
use rstest::rstest;

#[test]
fn s604_html_becomes_plain_text() {
    assert_eq!(from_html(r#"<p>Breaking news</p><a href="https://example.org/1">link</a>"#), "Breaking news link");
}

#[rstest]
#[case::no_markup("  two \n words ", "two words")]
#[case::inline_does_not_break("<b>w</b>ord, <i>an</i>other<span></span>one", "word, anotherone")]
#[case::blocks_break("<h1>Title</h1><p>One</p><p>Two</p>three<div>four</div>five", "Title One Two three four five")]
#[case::line_breaks("a<br>b<br/>c<BR />d</br>e", "a b c d e")]
#[case::rule_and_image("a<hr>b<img src=x alt=y>c<wbr>d", "a bcd")]
#[case::nested_inline("<p><em>a<strong>b</strong></em><code>c</code></p>", "abc")]
#[case::list("<ul><li>one<li>two</ul><ol><li>three</li></ol>", "one two three")]
#[case::definitions("<dl><dt>term<dd>meaning</dl>", "term meaning")]
#[case::table("<table><tr><th>a</th><td>b</td></tr><tr><td>c<td>d</table>", "a b c d")]
#[case::pre("<pre>  fn main() {\n    x\n  }</pre>", "fn main() { x }")]
#[case::figure("<figure><img src=a><figcaption>Cap</figcaption></figure>Text", "Cap Text")]
#[case::nothing("", "")]
#[case::only_markup("<p><br><img src=x></p>", "")]
fn elements_show_as_in_a_browser(#[case] html: &str, #[case] text: &str) {
    assert_eq!(from_html(html), text);
}

#[rstest]
#[case::script("a<script>if (x < 1) { '</p>' }</script>b", "ab")]
#[case::script_case("a<SCRIPT type='x'>1</Script >b", "ab")]
#[case::script_prefix("a<script>1</scripts>2</script>b", "ab")]
#[case::script_open("a<script>alert(1)", "a")]
#[case::script_self_closed("a <script src='x'/> b", "a b")]
#[case::script_self_closed_but_with_end("a<script src='x'/>alert(1)</script>b", "ab")]
#[case::two_self_closed("a<script src='x'/> b<script src='y'/> c", "a b c")]
#[case::style("a<style>p > b {}</style>b", "ab")]
#[case::noscript("a<noscript><p>x</p></noscript>b", "ab")]
#[case::title("<head><title>T &lt;b></title></head><body>b", "b")]
#[case::template("a<template><p>x<template>y</template>z</p></template>b", "ab")]
#[case::template_script("a<template><script>'</template>'</script>x</template>b", "ab")]
#[case::frame("a<iframe src=x>old browser</iframe>b", "a b")]
#[case::frame_self_closed("a<iframe src='x'/>b", "a b")]
#[case::video_open("a<video src='x'>b", "a b")]
#[case::video("a<video><source src=x>No video for you</video>b", "a b")]
#[case::mathml("<math><mi>x</mi><annotation encoding='tex'>\\x</annotation></math>", "x")]
#[case::mathml_content(
    "<math><semantics><mi>x</mi><annotation-xml encoding='MathML-Content'><ci>x</ci></annotation-xml></semantics></math>",
    "x"
)]
#[case::mathml_prefixed("<m:math><m:mi>x</m:mi><m:annotation>\\x</m:annotation></m:math>", "x")]
#[case::katex(
    "a <span class='katex'><span class='katex-mathml'><math><mi>x</mi><annotation>x</annotation></math></span><span class='katex-html' \
     aria-hidden='true'><span class='base'><span>x</span></span></span></span> b",
    "a x b"
)]
#[case::katex_open("a <span class='katex-html'>x<p>b", "a b")]
#[case::svg("a <svg viewBox='0 0 1 1'><title>T</title><text>x</text></svg> b", "a b")]
#[case::svg_nested("a <svg><svg><text>x</text></svg><text>y</text></svg> b", "a b")]
#[case::svg_self_closed("a <svg class='icon'/> b", "a b")]
#[case::svg_open("a <svg><path d='M0 0'><p>b", "a b")]
#[case::svg_prefixed("a <svg:svg><svg:text>x</svg:text></svg:svg> b", "a b")]
fn what_a_browser_hides_vanishes(#[case] html: &str, #[case] text: &str) {
    assert_eq!(from_html(html), text);
}

#[rstest]
#[case::comment("a<!-- <p>x</p> -->b", "ab")]
#[case::comment_with_dashes("a<!-- x -- y --->b", "ab")]
#[case::comment_bang("a<!-- x --!>b", "ab")]
#[case::comment_empty("a<!-->b<!--->c<!---->d", "abcd")]
#[case::comment_open("a<!-- b -- c", "a")]
#[case::doctype("<!DOCTYPE html>a<!doctype x 'y'>b", "ab")]
#[case::instruction("<?xml version='1.0'?>a<?php x ?>b", "ab")]
#[case::cdata("<![CDATA[<p>a &amp; b</p>c]]>d]]>e", "a & b cd]]>e")]
#[case::cdata_open("a<![CDATA[b <i>c</i>", "ab c")]
#[case::cdata_twice("<![CDATA[a<![CDATA[b]]>c<![CDATA[d]]>", "abcd")]
#[case::cdata_cut_by_tag("<![CDATA[a<b x=\"]]>\">c", "ac")]
#[case::bogus_end("a</>b</ x>c</1>d", "abcd")]
fn what_is_no_element_leaves_no_trace(#[case] html: &str, #[case] text: &str) {
    assert_eq!(from_html(html), text);
}

#[rstest]
#[case::less_than("1 < 2 <3 a<", "1 < 2 <3 a<")]
#[case::less_than_slash("a </", "a </")]
#[case::less_than_twice("a <<b>c", "a <c")]
#[case::tag_cut_off("text <a href=\"htt", "text")]
#[case::name_cut_off("text <a", "text")]
#[case::end_cut_off("text</p", "text")]
#[case::quoted_greater_than("<a title=\"a > b\" x='>'>c</a>", "c")]
#[case::quote_in_name("<a x\">b</a>", "b")]
#[case::unquoted_slash("<a href=/x/>b</a>", "b")]
#[case::value_missing("<a href=>b</a>", "b")]
#[case::equals_first("<a =x>b</a>", "b")]
#[case::spaced_value("<a href = 'x>'>b</a>", "b")]
#[case::open_quote("<p>Hello <a href=\"http://x>link</a> more</p>", "Hello link more")]
#[case::open_quote_before_tag("<p>Hello <a href=\"http://x...</p> more", "Hello more")]
#[case::stray_ends("a</b></p></div>b", "a b")]
#[case::crossed("<b>a<i>b</b>c</i>d", "abcd")]
#[case::entities("Caf&eacute&nbsp;&amp; &lt;b&gt; &#8217;", "Café & <b> ’")]
#[case::entity_in_attribute("<a title='&gt;&quot;>'>b</a>", "b")]
#[case::multibyte("<p>日本語<b>テ</b>キスト</p>«Привет»", "日本語テキスト «Привет»")]
#[case::soft_hyphen("Donau&shy;dampf<wbr>schiff\u{200B}fahrt", "Donaudampfschifffahrt")]
fn broken_and_odd_markup_keeps_its_text(#[case] html: &str, #[case] text: &str) {
    assert_eq!(from_html(html), text);
}

#[rstest]
#[case::paragraphs(
    "<h1>Title</h1><p>One <b>and</b> a half</p>\n<p>Two<br>three</p>four",
    "Title\nOne and a half\nTwo\nthree\nfour"
)]
#[case::source_lines("<p>one\ntwo</p>three\n\nfour", "one two\nthree four")]
#[case::lists("<ul><li>one<ul><li>two</ul><li>three</ul>", "one\ntwo\nthree")]
#[case::quote("a<blockquote><p>b</p></blockquote>c", "a\nb\nc")]
#[case::code("<pre><code>fn main() {\r\n    x;\n\n}</code></pre>a\nb", "fn main() {\nx;\n}\na b")]
#[case::code_with_references("<pre>a&#10;b</pre>", "a\nb")]
#[case::code_open("a<pre>b\nc", "a\nb\nc")]
#[case::rows("<table><tr><th>a</th><td>b</td></tr><tr><td>c<td>d</table>e", "a b\nc d\ne")]
#[case::paragraphs_in_cells("<tr><td><p>a</p><p>b</p></td><td><p>c</p></td></tr><tr><td>d", "a\nb c\nd")]
#[case::table_in_cell("<td>a<table><tr><td>b<td>c</tr></table></td><td>d", "a\nb c\nd")]
#[case::no_markup("one\ntwo", "one two")]
#[case::nothing("<p> <br>\n</p>", "")]
fn lines_are_those_of_a_browser(#[case] html: &str, #[case] lines: &str) {
    assert_eq!(lines_from_html(html), lines);
}

#[test]
fn plain_text_keeps_its_own_lines() {
    assert_eq!(lines("  a  b \r\n\r\n c\u{2028}d\re<br> \n"), "a b\nc\nd\ne<br>");
}

#[rstest]
#[case::title_and_alt("<img src=x title=\"It&#39;s a joke.\" alt='A drawing'>", "A drawing It's a joke.")]
#[case::both_the_same("<p><img alt=\"joke\" title='joke'/></p>", "joke")]
#[case::several("<a href=x><IMG ALT=one></a><img alt=''><img alt=two>", "one two")]
#[case::beside_text("<img alt=one>text", "text")]
#[case::hidden("<noscript><img alt=one></noscript><template><img alt=two></template><!-- <img alt=three> -->", "")]
fn html_without_text_becomes_the_texts_of_its_images(#[case] html: &str, #[case] text: &str) {
    assert_eq!(from_html(html), text);
}

#[test]
fn a_million_open_elements_and_needles_take_linear_time() {
    // Quadratic, each of these would take minutes even in a release build.
    let units = [
        "<div>",
        "<video>",
        "<script/>",
        "<script/><style/>",
        "<![CDATA[",
        "<!--",
        "<!--a-",
        "<a b='",
        "<a b=\"><",
        "</",
        "&",
        "&#",
        "&CounterClockwise",
        "<",
        "<template>",
        "<iframe>x</iframes>",
        "<svg>",
        "<svg><p></svg>",
        "<span class=katex-html>",
        "]]>",
        "\u{AD} ",
    ];
    for unit in units {
        let html = unit.repeat(1_000_000 / unit.len());
        assert!(from_html(&html).len() <= html.len(), "{unit}");
    }
}

/// Pieces from which tests build odd documents.
fn markup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z ]{1,8}",
        2 => prop::sample::select(vec![
            "<p>", "</p>", "<b>", "</b>", "<br/>", "<a href=\"x>y\">", "</a>", "<!-- c -->", "<template>", "</template>",
            "<video>", "</video>", "<iframe/>", "&amp;", "&lt;", "&nbsp;", "&nGt;", "<", ">", "&", "\"", "'", "<![CDATA[", "]]>", "<!",
            "<?x?>", "</", "<td", "<tr>", "<pre>", "</pre>", "\n", "<img alt='a &lt; b' title=c>", "<style>", "</style>", "\u{AD}", "\u{A0}", "é", "漢",
        ]).prop_map(String::from),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_gives_folded_text_of_bounded_size(html in prop_oneof![markup(), any::<String>()]) {
        let text = from_html(&html);
        prop_assert!(text.len() <= html.len() + html.len() / 5);
        prop_assert_eq!(fold(&text), text);
    }

    #[test]
    fn lines_hold_the_words_of_the_text(html in prop_oneof![markup(), any::<String>()]) {
        let with_lines = lines_from_html(&html);
        prop_assert_eq!(with_lines.replace('\n', " "), from_html(&html));
        prop_assert_eq!(lines(&with_lines), with_lines);
        prop_assert_eq!(lines(&html).replace('\n', " "), fold(&html));
    }

    #[test]
    fn its_own_output_escaped_comes_back_unchanged(html in markup()) {
        let text = from_html(&html);
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
        prop_assert_eq!(from_html(&escaped), text);
    }

    #[test]
    fn no_script_leaks(before in "[a-z <>&;/!-]{0,20}", code in "[a-z <>&;/!\"'-]{0,20}", after in "[a-z ]{0,8}") {
        let html = format!("{before}\n--><script>SECRET {code} SECRET</script>{after}");
        prop_assert!(!from_html(&html).contains("SECRET"), "{}", from_html(&html));
    }

    #[test]
    fn a_cut_anywhere_gives_a_beginning_of_the_whole(
        words in prop::collection::vec("[a-z]{1,6}", 1..8), cut in any::<prop::sample::Index>()
    ) {
        let html: String = words.iter().map(|word| format!("<p class='x'>{word}</p>")).collect();
        let part = from_html(&html[..cut.index(html.len())]);
        // A `<` or `</` that nothing follows is text, as in a browser.
        let part = part.trim_end_matches('/').trim_end_matches('<');
        prop_assert!(from_html(&html).starts_with(part), "{part}");
    }
}
