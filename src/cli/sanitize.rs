//! Makes untrusted text safe for a terminal, and shortens it. Widths are columns of a terminal.

use unicode_width::UnicodeWidthStr;

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

/// Columns that a text takes on a terminal: two for a wide letter, none for a combining mark.
pub(super) fn columns(text: &str) -> usize {
    text.width()
}

/// Cuts a text to this many columns and marks the cut with an ellipsis.
pub(super) fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    if width == 0 {
        return String::new();
    }
    format!("{}…", beginning(text, width - 1))
}

/// Shortens a URL in the middle: the host and the end of the path distinguish it from others.
pub(super) fn cut_url(url: &str, width: usize) -> String {
    if columns(url) <= width {
        return url.to_owned();
    }
    let bare = url.split_once("://").map_or(url, |(_, bare)| bare);
    if columns(bare) <= width || width < 3 {
        return cut(bare, width);
    }
    let host = columns(bare.split('/').next().unwrap_or_default());
    let front = beginning(bare, host.min((width - 1) / 2));
    let room = width - 1 - columns(front);
    let mut starts = bare.char_indices().map(|(start, _)| start).skip_while(|start| *start < front.len());
    let back = starts.find(|start| columns(&bare[*start..]) <= room).map_or("", |start| &bare[start..]);
    format!("{front}…{back}")
}

/// As much of a text as fits into this many columns. Not more than a few characters for each column: a terminal cannot
/// show a letter with hundreds of combining marks.
fn beginning(text: &str, width: usize) -> &str {
    let ends = text.char_indices().map(|(start, letter)| start + letter.len_utf8()).take(width * 4 + 8);
    let end = ends.take_while(|end| columns(&text[..*end]) <= width).last().unwrap_or(0);
    // A joiner would join the ellipsis.
    text[..end].trim_end_matches('\u{200d}')
}

/// Wraps a text between words. A longer word stays whole, because a broken URL cannot be
/// copied.
pub(super) fn wrapped(text: &str, room: Option<usize>) -> Vec<String> {
    let Some(room) = room.filter(|room| columns(text) > *room) else { return vec![text.to_owned()] };
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if columns(line) + 1 + columns(word) <= room => line.extend([" ", word]),
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
    fn texts_are_cut_by_columns_and_end_with_an_ellipsis() {
        for (text, width, wanted) in [
            ("short", 5, "short"),
            ("shorter", 5, "shor…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}"),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("a", 0, ""),
        ] {
            assert_eq!(cut(text, width), wanted);
        }
        assert_eq!(cut_url("http://例え.example/日本語のフィード", 14), "例え.e…ィード");
        let marks = "a".to_owned() + &"\u{301}".repeat(1000) + "bcd";
        assert!(cut(&marks, 2).chars().count() < 30, "marks are bounded, too");
        for width in 0..12 {
            let cut = cut("👨\u{200d}👩\u{200d}👧 family 日本", width);
            assert!(columns(&cut) <= width && !cut.contains("\u{200d}…"), "{cut:?}");
        }
    }

    #[test]
    fn lines_are_broken_between_words_alone() {
        assert_eq!(wrapped("one two three", Some(7)), ["one two", "three"]);
        assert_eq!(wrapped("one two", None), ["one two"]);
        assert_eq!(wrapped("at http://a.example/ now", Some(5)), ["at", "http://a.example/", "now"]);
        assert_eq!(wrapped("", Some(5)), [""]);
    }
}
