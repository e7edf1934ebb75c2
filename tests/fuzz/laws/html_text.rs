//! HTML to plain text: folded, bounded, and stable under changes that a reader would not see.

use std::borrow::Cow;

use feedwarden::parse::html::with_absolute_links;
use feedwarden::parse::text::{fold, from_html, lines, lines_from_html, unescape};

/// Holds the laws against one piece of HTML.
pub(crate) fn check(input: &[u8]) {
    let html = String::from_utf8_lossy(input);
    let text = from_html(&html);
    check_folded(&text, html.len());
    check_folded(&unescape(&html), html.len());
    check_folded(&fold(&html), html.len());

    // What a reader sees comes back as it is.
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    assert_eq!(from_html(&escaped), text, "escaped text is read as another text");
    // What shows nothing changes nothing.
    for unseen in ["<p>", "<!-- a > b -->", "<script>a < b</script>", "<img src='a > b'/>"] {
        assert_eq!(from_html(&format!("{unseen}{html}")), text, "{unseen} before the text changes it");
    }
    // An image shows its text only where there is nothing but images.
    let with_image = from_html(&format!("<img alt='a > b'/>{html}"));
    let among_images = format!("a > b {text}");
    assert!(with_image == text || with_image == among_images.trim_end(), "{with_image:?} instead of {text:?}");
    // Lines hold the words of the text.
    let with_lines = lines_from_html(&html);
    assert_eq!(with_lines.replace('\n', " "), text, "lines change the text");
    assert_eq!(lines(&with_lines), with_lines, "a line is blank or has blanks around it");
    assert_eq!(lines(&html).replace('\n', " "), fold(&html), "lines change a plain text");
    check_links(&html, &with_lines);

    if !html.contains('<') {
        assert_eq!(unescape(&html), text, "without tags there are only references");
    }
    if !html.contains(['<', '&']) {
        assert_eq!(fold(&html), text, "without markup there are only blanks");
    }
}

/// Absolute links change neither the text nor anything at a second time.
fn check_links(html: &str, with_lines: &str) {
    let base = "https://example.org/a/b?c";
    let absolute = with_absolute_links(html, base);
    assert!(absolute.len() <= html.len() * 4 + (64 << 10), "{} bytes became {}", html.len(), absolute.len());
    // Links inside of films and drawings are made absolute, their text is skipped: where quotes are missing, the two may
    // disagree about what is a link.
    let lower = html.to_ascii_lowercase();
    if !["svg", "video", "audio", "canvas", "datalist", "annotation"].iter().any(|name| lower.contains(name)) {
        assert_eq!(lines_from_html(&absolute), with_lines, "absolute links change the text");
    }
    assert!(matches!(with_absolute_links(&absolute, base), Cow::Borrowed(_)), "links are relative at a second look");
}

fn check_folded(text: &str, input_bytes: usize) {
    assert!(text.len() <= input_bytes + input_bytes / 5, "{input_bytes} bytes became {}", text.len());
    assert_eq!(fold(text), text, "the text is not folded");
    assert!(!text.contains(char::is_control), "a control character is left");
}
