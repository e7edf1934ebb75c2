//! A text that folds its whitespace while it grows.

/// Text that never starts or ends with a separator or has two in a row. A separator is a space or, if lines are kept, a
/// line feed.
///
/// Every Unicode space counts, the no-break space included. Soft hyphens, zero-width spaces, byte-order marks and
/// control characters are dropped: they are invisible, and PostgreSQL cannot store NUL.
#[derive(Debug, Default)]
pub(in crate::parse) struct Folded {
    text: String,
    due: Separator,
    keeps_lines: bool,
    /// True where a line feed in the input is a line break, as in `<pre>`.
    pub(in crate::parse) is_preformatted: bool,
}

/// What separates two pieces of text. Of several between the same pieces the greatest counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Separator {
    #[default]
    None,
    /// Between words.
    Word,
    /// Between paragraphs and the like.
    Line,
    /// Between cells of one row, which stay on one line even if they hold paragraphs.
    Cell,
    /// Between rows of a table, and around it.
    Row,
}

impl Folded {
    /// An empty text with room for this many bytes.
    pub(in crate::parse) fn with_capacity(bytes: usize) -> Folded {
        Folded { text: String::with_capacity(bytes), ..Folded::default() }
    }

    /// The same text with line breaks, each in the place of a space.
    pub(in crate::parse) fn with_lines(self) -> Folded {
        Folded { keeps_lines: true, ..self }
    }

    /// Separates the following text by a space.
    pub(in crate::parse) fn break_word(&mut self) {
        self.separate(Separator::Word);
    }

    /// Puts the following text on a line of its own, if lines are kept.
    pub(in crate::parse) fn break_line(&mut self) {
        self.separate(Separator::Line);
    }

    /// Separates the following text, if there is text before it.
    pub(super) fn separate(&mut self, separator: Separator) {
        if !self.text.is_empty() {
            self.due = self.due.max(separator);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(in crate::parse) fn push_char(&mut self, character: char) {
        if character.is_whitespace() {
            let breaks_line = self.is_preformatted && is_line_break(character);
            self.separate(if breaks_line { Separator::Line } else { Separator::Word });
        } else if !is_invisible(character) {
            self.write_separator();
            self.text.push(character);
        }
    }

    /// Appends a piece of text.
    pub(in crate::parse) fn push(&mut self, piece: &str) {
        let bytes = piece.as_bytes();
        let mut start = 0;
        while start < bytes.len() {
            let end = plain_end(bytes, start);
            if end > start {
                self.write_separator();
                self.text.push_str(&piece[start..end]);
                start = end;
            } else {
                let character = piece[start..].chars().next().expect("start lies before the end of the piece");
                self.push_char(character);
                start += character.len_utf8();
            }
        }
    }

    pub(in crate::parse) fn into_string(mut self) -> String {
        // Markup took most of the room; the text may be kept for long.
        if self.text.len() < self.text.capacity() / 2 {
            self.text.shrink_to_fit();
        }
        self.text
    }

    fn write_separator(&mut self) {
        match std::mem::take(&mut self.due) {
            Separator::None => {}
            Separator::Line | Separator::Row if self.keeps_lines => self.text.push('\n'),
            _ => self.text.push(' '),
        }
    }
}

fn is_line_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_invisible(character: char) -> bool {
    character.is_control() || matches!(character, '\u{200B}' | '\u{AD}' | '\u{FEFF}')
}

/// How many bytes are looked at before asking whether all of them are plain: enough for the compiler to take them at
/// once.
const STEP_BYTES: usize = 32;

/// Where the run ends that can be copied as it stands: visible characters with single spaces between them.
fn plain_end(bytes: &[u8], start: usize) -> usize {
    let is_plain = |at: usize| bytes.get(at).is_some_and(|&byte| PLAIN[byte as usize]);
    if !is_plain(start) {
        return start;
    }
    let mut end = start;
    loop {
        while bytes.get(end..=end + STEP_BYTES).is_some_and(is_plain_step) {
            end += STEP_BYTES;
        }
        let step_end = end + STEP_BYTES;
        while end < step_end {
            if is_plain(end) {
                end += 1;
            } else if bytes.get(end) == Some(&b' ') && is_plain(end + 1) {
                end += 2;
            } else {
                return end;
            }
        }
    }
}

/// Whether all bytes but the last are visible ASCII characters with single spaces between them. The last one says whether
/// the one before it is a single space.
fn is_plain_step(step: &[u8]) -> bool {
    let is_visible = |byte: u8| byte.wrapping_sub(b'!') <= b'~' - b'!';
    let pairs = step.iter().zip(&step[1..]);
    // Without shortcuts, so that it can be done for many bytes at once.
    pairs.fold(true, |plain, (&byte, &next)| plain & (is_visible(byte) | ((byte == b' ') & is_visible(next))))
}

/// Bytes that are never part of a space or of an invisible character. The five lead bytes that are missing start the
/// characters U+0080–BF, U+1000–1FFF, U+2000–2FFF, U+3000–3FFF and U+F000–FFFF, among which such characters lie.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0x21;
    while byte < 0x100 {
        plain[byte] = !matches!(byte, 0x7F | 0xC2 | 0xE1 | 0xE2 | 0xE3 | 0xEF);
        byte += 1;
    }
    plain
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folded(text: &str) -> String {
        let mut folded = Folded::default();
        folded.push(text);
        folded.into_string()
    }

    #[test]
    fn spaces_of_every_kind_become_one() {
        assert_eq!(folded("\u{FEFF} a\u{A0}\u{A0}b\t\n c\u{3000}d\u{2009}e \u{200B} f  "), "a b c d e f");
    }

    #[test]
    fn invisible_characters_do_not_break_words() {
        assert_eq!(folded("Donau\u{AD}dampf\u{200B}schiff\0fahrt"), "Donaudampfschifffahrt");
    }

    #[test]
    fn a_space_at_the_seam_of_two_pieces_is_kept_once() {
        let mut text = Folded::default();
        for piece in ["a ", " b", "c", " ", "d"] {
            text.push(piece);
        }
        assert_eq!(text.into_string(), "a bc d");
    }

    #[test]
    fn long_runs_are_folded_like_short_ones() {
        let words = "seven plain words stand in this line ".repeat(4);
        for (place, inserted) in
            (0..words.len()).flat_map(|place| [" ", "\t", "\u{AD}", "é", "\u{A0}"].map(|it| (place, it)))
        {
            let mut text = words.clone();
            text.insert_str(place, inserted);
            let mut slow = Folded::default();
            text.chars().for_each(|character| slow.push_char(character));
            assert_eq!(folded(&text), slow.into_string(), "{inserted:?} at {place}");
        }
    }

    proptest! {
        #[test]
        fn the_fast_runs_and_the_slow_way_agree(text in r"[a-c \t\u{A0}\u{AD}\u{200B}\u{2003}\u{3000}\u{FEFF}é漢\u{80}\u{7F}]{0,40}") {
            let mut slow = Folded::default();
            text.chars().for_each(|character| slow.push_char(character));
            prop_assert_eq!(folded(&text), slow.into_string());
        }
    }
}
