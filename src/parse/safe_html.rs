//! HTML that can be shown to readers.

use std::collections::HashSet;
use std::sync::LazyLock;

use ammonia::Builder;

/// HTML without scripts, styles, forms, embedded pages, event handlers and links of other schemes than the web's. It has
/// the elements of text, images, audio and video. Relative links are removed: they would lead into the program that
/// shows it.
pub fn sanitized(html: &str) -> String {
    static BUILDER: LazyLock<Builder<'static>> = LazyLock::new(|| {
        let mut builder = Builder::default();
        builder
            .add_tags(["audio", "video", "source", "picture"])
            .add_tag_attributes("audio", ["src", "controls", "preload"])
            .add_tag_attributes("video", ["src", "controls", "preload", "poster", "width", "height"])
            .add_tag_attributes("source", ["src", "type"])
            .url_schemes(HashSet::from(["http", "https", "mailto"]))
            .url_relative(ammonia::UrlRelative::Deny);
        builder
    });
    BUILDER.clean(html).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_run_or_load_a_page_is_removed_and_text_stays() {
        let link = r#"<a href="https://a.example/" rel="noopener noreferrer">a</a>"#;
        let cases = [
            ("<p>one <b>two</b></p>", "<p>one <b>two</b></p>"),
            ("<p onclick=\"x()\">one</p><script>alert(1)</script>", "<p>one</p>"),
            (r#"<a href="https://a.example/" onmouseover="x()">a</a>"#, link),
            (r#"<a href="javascript:alert(1)">a</a>"#, r#"<a rel="noopener noreferrer">a</a>"#),
            (r#"<img src="/relative.png" alt="a">"#, r#"<img alt="a">"#),
            (r#"<img src="https://a.example/b.png">"#, r#"<img src="https://a.example/b.png">"#),
            (r#"<iframe src="https://a.example/"></iframe>text"#, "text"),
            (
                r#"<audio src="https://a.example/b.mp3" controls></audio>"#,
                r#"<audio src="https://a.example/b.mp3" controls=""></audio>"#,
            ),
            ("<svg><style><img src=x onerror=alert(1)></style></svg>", ""),
            ("a < b & c", "a &lt; b &amp; c"),
        ];
        for (html, expected) in cases {
            assert_eq!(sanitized(html), expected, "{html}");
        }
    }
}
