//! Makes untrusted text safe for a terminal, and shortens it.

/// Untrusted text on one line, without control characters.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|letter| if is_obeyed(letter) { ' ' } else { letter }).collect()
}

/// Untrusted text with its line breaks, without other control characters.
pub(super) fn plain_lines(text: &str) -> String {
    text.chars().filter(|letter| *letter == '\n' || !is_obeyed(*letter)).collect()
}

/// Whether a terminal interprets the character: control characters, line and paragraph separators, and bidirectional
/// formatting, which can disguise text.
fn is_obeyed(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Cuts a text and marks the cut with an ellipsis.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain((width > 0).then_some('…')).collect()
}

/// Shortens a URL in the middle: the host and the end of the path distinguish it from others.
pub(super) fn cut_url(url: &str, width: usize) -> String {
    if url.chars().count() <= width {
        return url.to_owned();
    }
    let bare = url.split_once("://").map_or(url, |(_, bare)| bare);
    let length = bare.chars().count();
    if length <= width || width < 3 {
        return cut(bare, width);
    }
    let host = bare.split('/').next().unwrap_or_default().chars().count();
    let front = host.min((width - 1) / 2);
    let back = bare.chars().skip(length - (width - 1 - front));
    bare.chars().take(front).chain(['…']).chain(back).collect()
}

/// Wraps a text between words. A longer word stays whole, because a broken URL cannot be
/// copied.
pub(super) fn wrapped(text: &str, columns: Option<usize>) -> Vec<String> {
    let Some(columns) = columns.filter(|columns| text.chars().count() > *columns) else { return vec![text.to_owned()] };
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => line.extend([" ", word]),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_safe_from_what_publishers_write() {
        assert_eq!(plain("a\x1b[2Jb\r\nc\u{9b}"), "a [2Jb  c ");
        assert_eq!(plain("gpj\u{202e}.exe \u{2067}a\u{2069}\u{2028}"), "gpj .exe  a  ");
        assert_eq!(plain_lines("a\nb\x1b\u{202a}\u{2066}c"), "a\nbc");
        assert_eq!(plain("שלום, ünï, 日本"), "שלום, ünï, 日本", "languages are left alone");
    }

    #[test]
    fn urls_keep_what_tells_them_apart() {
        let url = "https://blog.example.org/a/long/way/to/feed.xml";
        for (width, wanted) in [
            (47, url),
            (39, "blog.example.org/a/long/way/to/feed.xml"),
            (30, "blog.example.o…way/to/feed.xml"),
            (16, "blog.ex…feed.xml"),
            (3, "b…l"),
            (1, "…"),
            (0, ""),
        ] {
            assert_eq!(cut_url(url, width), wanted, "{width}");
        }
        assert_eq!(cut_url("http://127.0.0.1:43123/feeds/17.xml", 20), "127.0.0.1…eds/17.xml");
        assert_eq!(cut_url("http://a.example/feeds/by/name.xml", 20), "a.example…y/name.xml");
    }

    #[test]
    fn lines_are_broken_between_words_alone() {
        assert_eq!(wrapped("one two three", Some(7)), ["one two", "three"]);
        assert_eq!(wrapped("one two", None), ["one two"]);
        assert_eq!(wrapped("at http://a.example/ now", Some(5)), ["at", "http://a.example/", "now"]);
        assert_eq!(wrapped("", Some(5)), [""]);
    }
}
