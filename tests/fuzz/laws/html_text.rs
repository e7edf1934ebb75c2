//! HTML to plain text: folded, bounded, and stable under changes that a reader would not see.

use feedwarden::parse::text::{fold, from_html, unescape};

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
    for unseen in ["<p>", "<!-- a > b -->", "<script>a < b</script>", "<img alt='a > b'/>"] {
        assert_eq!(from_html(&format!("{unseen}{html}")), text, "{unseen} before the text changes it");
    }
    if !html.contains('<') {
        assert_eq!(unescape(&html), text, "without tags there are only references");
    }
    if !html.contains(['<', '&']) {
        assert_eq!(fold(&html), text, "without markup there are only blanks");
    }
}

fn check_folded(text: &str, input_bytes: usize) {
    assert!(text.len() <= input_bytes + input_bytes / 5, "{input_bytes} bytes became {}", text.len());
    assert_eq!(fold(text), text, "the text is not folded");
    assert!(!text.contains(char::is_control), "a control character is left");
}
