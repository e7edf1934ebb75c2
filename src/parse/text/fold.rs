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

    pub(in crate::parse) fn into_string(self) -> String {
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

/// Where the run ends that can be copied as it stands: visible characters with single spaces between them.
fn plain_end(bytes: &[u8], start: usize) -> usize {
    let mut end = start;
    while let Some(&byte) = bytes.get(end) {
        if PLAIN[byte as usize] {
            end += 1;
        } else if byte == b' ' && end > start && bytes.get(end + 1).is_some_and(|&next| PLAIN[next as usize]) {
            end += 2;
        } else {
            break;
        }
    }
    end
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

    proptest! {
        #[test]
        fn the_fast_runs_and_the_slow_way_agree(text in r"[a-c \t\u{A0}\u{AD}\u{200B}\u{2003}\u{3000}\u{FEFF}é漢\u{80}\u{7F}]{0,40}") {
            let mut slow = Folded::default();
            text.chars().for_each(|character| slow.push_char(character));
            prop_assert_eq!(folded(&text), slow.into_string());
        }
    }
}
