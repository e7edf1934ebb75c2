//! Tokenizes XML and repairs common damage.
//!
//! quick-xml finds the tokens; rejected input is read again from the position of the mistake: a `<` that
//! starts no tag, a quotation mark that is never closed, a tag without its `>`. Reading again has a budget, so that the
//! cost is at most a few times the document's length. Does not check nesting.

use quick_xml::Reader;
use quick_xml::errors::{Error, SyntaxError};
use quick_xml::events::Event;
use quick_xml::events::attributes::Attributes;

use super::entity;

/// A token, borrowed from the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum XmlToken<'a> {
    /// `<name …>` or `<name …/>`.
    Open(Tag<'a>),
    /// `</name>`.
    Close(&'a str),
    /// Text without references, or an ampersand that starts none and what follows it.
    Text(&'a str),
    /// The inside of `&…;`.
    Reference(&'a str),
    /// The inside of `<![CDATA[…]]>`; the rest of the document if it has no end.
    CData(&'a str),
    /// The inside of `<!DOCTYPE …>`.
    Doctype(&'a str),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag<'a> {
    /// Its name, with prefix.
    pub(crate) name: &'a str,
    /// True for `<name/>`.
    pub(crate) is_empty: bool,
    /// Everything between the angle brackets, for the attributes.
    inside: &'a str,
}

impl<'a> Tag<'a> {
    /// Its attributes as far as they can be made out: without quotation marks, without value, repeated. Values are as
    /// found, with their references.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let inside = self.inside;
        let start = self.name.len();
        let mut attributes = Attributes::html(inside, start);
        attributes.with_checks(false);
        attributes.filter_map(Result::ok).map(move |attribute| {
            let value = match attribute.value {
                std::borrow::Cow::Borrowed(value) => value,
                std::borrow::Cow::Owned(_) => "",
            };
            (attribute.key.0, value)
        })
    }

    /// True if there is anything to look for in [`Tag::attributes`].
    pub(crate) fn has_attributes(&self) -> bool {
        self.inside.len() > self.name.len()
    }

    /// What stands between the name and the closing bracket.
    pub(crate) fn after_name(&self) -> &'a str {
        &self.inside[self.name.len()..]
    }
}

/// Reads a document piece by piece.
pub(crate) struct XmlTokens<'a> {
    source: &'a str,
    reader: Reader<&'a [u8]>,
    /// Where in the source the present reader began.
    origin: usize,
    /// Where the last token began.
    start: usize,
    /// How many bytes may still be read a second time.
    rereads_left: usize,
    /// True once something had to be repaired.
    pub(crate) is_repaired: bool,
    /// True once the document ended inside a piece.
    pub(crate) is_cut: bool,
}

impl<'a> XmlTokens<'a> {
    /// Starts at the beginning of a text.
    pub(crate) fn new(source: &'a str) -> XmlTokens<'a> {
        let mut tokens = XmlTokens {
            source,
            reader: Reader::from_str(""),
            origin: 0,
            start: 0,
            rereads_left: source.len().saturating_mul(8).saturating_add(1 << 20),
            is_repaired: false,
            is_cut: false,
        };
        tokens.restart(0);
        tokens
    }

    /// Where the last token began.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Where the last token ended.
    pub(crate) fn position(&self) -> usize {
        self.origin + usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX - self.origin)
    }

    /// A part of the document as it was found.
    pub(crate) fn source(&self, range: std::ops::Range<usize>) -> &'a str {
        self.source.get(range).unwrap_or_default()
    }

    /// Continues at another position after reinterpreting the last token. Beyond the budget, the document counts as
    /// cut off here.
    pub(crate) fn reread_from(&mut self, place: usize) {
        let reread = self.position().saturating_sub(place);
        self.is_repaired = true;
        match self.rereads_left.checked_sub(reread) {
            Some(left) => {
                self.rereads_left = left;
                self.restart(place);
            }
            None => {
                self.is_cut = true;
                self.restart(self.source.len());
            }
        }
    }

    pub(crate) fn next(&mut self) -> XmlToken<'a> {
        loop {
            let start = self.position();
            self.start = start;
            let bytes = self.source.as_bytes();
            // A `<` that cannot start a tag was meant as the character.
            if bytes.get(start) == Some(&b'<') {
                match bytes.get(start + 1) {
                    Some(b'A'..=b'Z' | b'a'..=b'z' | b'_' | b':' | b'/' | b'!' | b'?' | 0x80..) => {}
                    Some(_) => {
                        self.is_repaired = true;
                        self.restart(start + 1);
                        return XmlToken::Reference("lt");
                    }
                    None => return self.cut(),
                }
            }
            let event = self.reader.read_event();
            let end = self.position();
            let raw = self.source(start..end);
            match event {
                Ok(Event::Text(_)) => return XmlToken::Text(raw),
                Ok(Event::Start(_) | Event::Empty(_)) => return self.open(start, raw),
                Ok(Event::End(_)) => return self.close(start, raw),
                Ok(Event::GeneralRef(_)) => {
                    let name = raw.get(1..raw.len() - 1).unwrap_or_default();
                    return if entity::is_reference(name) { XmlToken::Reference(name) } else { XmlToken::Text(raw) };
                }
                Ok(Event::CData(_)) => return XmlToken::CData(raw.get(9..raw.len() - 3).unwrap_or_default()),
                Ok(Event::DocType(_)) => return XmlToken::Doctype(raw.get(9..raw.len() - 1).unwrap_or_default()),
                Ok(Event::Decl(_)) => {
                    // `<?xml … >` without the second question mark would reach to the next `?>` of the document.
                    if let Some(length) = instruction_length(raw).filter(|length| *length < raw.len()) {
                        self.reread_from(start + length);
                    }
                }
                Ok(Event::Comment(_) | Event::PI(_)) => {}
                Ok(Event::Eof) => return XmlToken::End,
                Err(Error::Syntax(error)) => {
                    if let Some(token) = self.repair(error) {
                        return token;
                    }
                }
                Err(Error::IllFormed(_)) if end > start => {}
                Err(_) => return self.cut(),
            }
        }
    }

    /// A start tag, unless its end was found too late.
    fn open(&mut self, start: usize, raw: &'a str) -> XmlToken<'a> {
        let inside = raw.get(1..raw.len() - 1).unwrap_or_default();
        match misplaced_end(inside) {
            None => tag(inside),
            Some(length) => {
                let skip = usize::from(inside[length..].starts_with('>'));
                self.reread_from(start + 1 + length + skip);
                tag(&inside[..length])
            }
        }
    }

    /// An end tag; what follows the name says nothing.
    fn close(&mut self, start: usize, raw: &'a str) -> XmlToken<'a> {
        let inside = raw.get(2..raw.len() - 1).unwrap_or_default();
        if let Some(length) = inside.find('<') {
            self.reread_from(start + 2 + length);
        }
        XmlToken::Close(
            inside.trim_start().split(|next: char| next.is_whitespace() || next == '<').next().unwrap_or(""),
        )
    }

    /// Interprets a token without an end; none if it is meaningless.
    fn repair(&mut self, error: SyntaxError) -> Option<XmlToken<'a>> {
        let start = self.start;
        let rest = self.source(start..self.source.len());
        match error {
            // The rest of the document is inside: what it holds was not meant to be read as markup.
            SyntaxError::UnclosedComment if rest.starts_with("<!--") => Some(self.cut()),
            SyntaxError::UnclosedCData if rest.starts_with("<![CDATA[") => {
                self.cut();
                Some(XmlToken::CData(&rest["<![CDATA[".len()..]))
            }
            SyntaxError::UnclosedTag
            | SyntaxError::UnclosedSingleQuotedAttributeValue
            | SyntaxError::UnclosedDoubleQuotedAttributeValue => {
                // Whichever comes first: looking for each by itself would read the rest of the document for every tag.
                let Some(end) = rest[1..].find(['<', '>']).map(|place| place + 1) else { return Some(self.cut()) };
                let next = end + usize::from(rest[end..].starts_with('>'));
                self.reread_from(start + next);
                if self.is_cut {
                    return Some(XmlToken::End);
                }
                Some(match rest[1..end].strip_prefix('/') {
                    Some(name) => XmlToken::Close(name.split_whitespace().next().unwrap_or("")),
                    None => tag(&rest[1..end]),
                })
            }
            _ => match instruction_length(rest) {
                Some(length) => {
                    self.reread_from(start + length);
                    None
                }
                None => Some(self.cut()),
            },
        }
    }

    fn cut(&mut self) -> XmlToken<'a> {
        self.is_cut = true;
        self.restart(self.source.len());
        XmlToken::End
    }

    fn restart(&mut self, place: usize) {
        let mut place = place;
        // quick-xml drops a byte order mark at its start without counting it.
        while self.source[place..].starts_with('\u{feff}') {
            place += '\u{feff}'.len_utf8();
        }
        self.origin = place;
        self.reader = Reader::from_str(&self.source[place..]);
        let config = self.reader.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
    }
}

/// Makes a tag of what stands between the angle brackets.
fn tag(inside: &str) -> XmlToken<'_> {
    let (inside, is_empty) = inside.strip_suffix('/').map_or((inside, false), |inside| (inside, true));
    let length = inside.find(|next: char| next.is_ascii_whitespace() || next == '/').unwrap_or(inside.len());
    XmlToken::Open(Tag { name: &inside[..length], is_empty, inside })
}

/// The length of an instruction or declaration without a proper end: up to its bracket, or to the next tag.
fn instruction_length(rest: &str) -> Option<usize> {
    rest[1..].find(['<', '>']).map(|place| place + 1 + usize::from(rest[1 + place..].starts_with('>')))
}

/// Where a tag really ended, if another tag seems to stand inside it: at a `>` that a quotation mark hid, or right
/// before the other tag if it was not closed at all. A `<` inside a quoted value is just a careless value.
fn misplaced_end(inside: &str) -> Option<usize> {
    let next_tag = inside.find('<')?;
    let before = &inside[..next_tag];
    before.find('>').or_else(|| {
        let is_quoted = ['"', '\''].iter().any(|quote| before.matches(*quote).count() % 2 == 1);
        (!is_quoted).then_some(next_tag)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The pieces of a document in a short notation.
    fn pieces(source: &str) -> Vec<String> {
        let mut tokens = XmlTokens::new(source);
        let mut found = Vec::new();
        loop {
            found.push(match tokens.next() {
                XmlToken::Open(tag) => {
                    let attributes: String = tag.attributes().map(|(name, value)| format!(" {name}={value}")).collect();
                    format!("<{}{attributes}{}", tag.name, if tag.is_empty { "/>" } else { ">" })
                }
                XmlToken::Close(name) => format!("</{name}>"),
                XmlToken::Text(text) => text.to_owned(),
                XmlToken::Reference(name) => format!("&{name};"),
                XmlToken::CData(text) => format!("[{text}]"),
                XmlToken::Doctype(text) => format!("!{text}"),
                XmlToken::End => break,
            });
        }
        if tokens.is_cut {
            found.push("cut".to_owned());
        }
        found
    }

    #[test]
    fn damage_is_read_as_a_person_would() {
        let check = |source: &str, expected: &[&str]| assert_eq!(pieces(source), expected, "for {source:?}");
        check("<a x='1' y=2 z>t</a>", &["<a x=1 y=2 z=>", "t", "</a>"]);
        check("<a>1 < 2 &amp; 3</a>", &["<a>", "1 ", "&lt;", " 2 ", "&amp;", " 3", "</a>"]);
        check("<a>I <3 U</a>", &["<a>", "I ", "&lt;", "3 U", "</a>"]);
        check("<a>AT&T; R&D</a>", &["<a>", "AT", "&T;", " R", "&D", "</a>"]);
        check("<a>Q & A; B</a>", &["<a>", "Q ", "& A;", " B", "</a>"]);
        check("<a x=\"1><b>t</b></a>", &["<a>", "<b>", "t", "</b>", "</a>"]);
        check("<a x=\"1><b y=\"2\">t</b>", &["<a>", "<b y=2>", "t", "</b>"]);
        check("<a <b>t</b></a>", &["<a>", "<b>", "t", "</b>", "</a>"]);
        check("<a>t</a <b/>", &["<a>", "t", "</a>", "<b/>"]);
        check("<a x=\"1 < 2\"/>", &["<a x=1 < 2/>"]);
        check("<?xml version='1.0'><a/><?p?>", &["<a/>"]);
        check("<?xml version='1.0'?<a/>", &["<a/>"]);
        check("<?xml version='1.0'?<a/><?p?>", &["<a/>"]);
        check("<![endif]--><a/>", &["<a/>"]);
        check("<!ELEMENT a><a/>", &["<a/>"]);
        check("</ a ><a/>", &["</a>", "<a/>"]);
        check("<a/", &["cut"]);
        check("<a>t<", &["<a>", "t", "cut"]);
        check("<a><![CDATA[<b>", &["<a>", "[<b>]", "cut"]);
        check("<a><!-- <b>", &["<a>", "cut"]);
        check("\u{feff}\u{feff}<a/>", &["<a/>"]);
    }

    #[test]
    fn a_flood_of_declarations_takes_linear_time() {
        // Quadratic, this would take half a minute even in a release build.
        for unit in ["<!", "<?", "<!x", "<![", "<!-", "</<"] {
            let source = unit.repeat(500_000);
            let mut tokens = XmlTokens::new(&source);
            while tokens.next() != XmlToken::End {}
            assert!(tokens.is_repaired || tokens.is_cut, "{unit}");
        }
    }

    #[test]
    fn a_flood_of_open_tags_is_not_read_again_and_again() {
        let source = "<a ".repeat(300_000);
        let mut tokens = XmlTokens::new(&source);
        let mut count = 0;
        while tokens.next() != XmlToken::End {
            count += 1;
        }
        assert!(tokens.is_cut && count < 1000, "{count}");
    }

    proptest! {
        #[test]
        fn any_text_comes_to_an_end(source in "[<>/!?\"'=&;a-c \\[\\]CDAT\u{feff}é-]{0,80}") {
            let mut tokens = XmlTokens::new(&source);
            let count = std::iter::from_fn(|| (tokens.next() != XmlToken::End).then_some(())).take(1000).count();
            prop_assert!(count < 1000);
        }
    }
}
