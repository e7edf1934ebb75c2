//! HTML cut into texts and tags, by the tokenizer's rules of the HTML standard.
//!
//! Comments, doctypes, processing instructions and attributes are read over. Every search that can fail is made so
//! that it fails at most once per document and needle, which keeps the whole pass linear.

use std::ops::Range;

use memchr::memchr;

/// One piece of markup that matters for the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::parse) enum HtmlToken<'a> {
    /// Characters as written, references not decoded.
    Text(&'a str),
    Open {
        /// As written: in any case.
        name: &'a str,
        /// What stands between the name and the closing bracket, for [`attributes`].
        attributes: &'a str,
        /// Whether it ends in `/>`, as XHTML writes an empty element.
        self_closed: bool,
    },
    Close {
        /// As written: in any case.
        name: &'a str,
    },
}

#[derive(Debug)]
pub(in crate::parse) struct HtmlTokens<'a> {
    html: &'a str,
    at: usize,
    /// Where the `]]>` of an open CDATA section stands.
    cdata_end: Option<usize>,
    cdata_has_no_end: bool,
    /// Names of which no further end tag follows.
    never_closed: Vec<&'a str>,
    /// True once an element had fewer end tags than start tags inside it.
    has_unbalanced: bool,
}

impl<'a> HtmlTokens<'a> {
    /// A reader at the start of the document.
    pub(in crate::parse) fn new(html: &'a str) -> HtmlTokens<'a> {
        HtmlTokens {
            html,
            at: 0,
            cdata_end: None,
            cdata_has_no_end: false,
            never_closed: Vec::new(),
            has_unbalanced: false,
        }
    }

    /// The next token; nothing at the end.
    pub(in crate::parse) fn next(&mut self) -> Option<HtmlToken<'a>> {
        while self.at < self.html.len() {
            match self.cdata_end {
                Some(end) if end < self.at => self.cdata_end = None,
                Some(end) if end == self.at => self.at += "]]>".len(),
                _ => {
                    let token = if self.rest().starts_with('<') { self.markup() } else { Some(self.text(0)) };
                    if token.is_some() {
                        return token;
                    }
                }
            }
        }
        None
    }

    /// Skips the content of an element that is never shown. Without an end tag that is the rest, as in a browser.
    pub(in crate::parse) fn skip_unseen(&mut self, name: &'a str, self_closed: bool) {
        if !self.skip_fallback(name, self_closed) && !self_closed {
            self.at = self.html.len();
        }
    }

    /// Skips the content of a box up to its end tag, and says whether there is one. Without it the box is empty: feeds
    /// are full of `<iframe …/>`, after which a browser would show nothing more.
    pub(in crate::parse) fn skip_fallback(&mut self, name: &'a str, self_closed: bool) -> bool {
        if self.never_closed.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return false;
        }
        let nested_end = if self_closed || self.has_unbalanced { None } else { self.balanced_end(name) };
        match nested_end.map(|end| (end, true)).or_else(|| self.next_tag_named(self.at, name, self_closed)) {
            Some((end, true)) => {
                self.at = end;
                true
            }
            Some((_, false)) => false,
            None => {
                self.never_closed.push(name);
                false
            }
        }
    }

    /// Where the end tag of a drawing starts, which may hold others; nothing for other elements and unclosed ones.
    fn balanced_end(&mut self, name: &str) -> Option<usize> {
        if !name.eq_ignore_ascii_case("svg") && !name.eq_ignore_ascii_case("svg:svg") {
            return None;
        }
        let (mut from, mut depth) = (self.at, 1_usize);
        while let Some((start, is_end)) = self.next_tag_named(from, name, true) {
            depth = if is_end { depth - 1 } else { depth + 1 };
            if depth == 0 {
                return Some(start);
            }
            from = start + 1;
        }
        self.has_unbalanced = true;
        None
    }

    /// The first tag of this name: where it starts, and whether it is an end tag. Start tags count if asked for.
    fn next_tag_named(&self, from: usize, name: &str, or_start: bool) -> Option<(usize, bool)> {
        let mut from = from;
        loop {
            let start = from + memchr(b'<', &self.html.as_bytes()[from..])?;
            let behind = &self.html.as_bytes()[start + 1..];
            let is_end = behind.first() == Some(&b'/');
            let found = &behind[usize::from(is_end)..];
            let is_named = found.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
                && found.get(name.len()).is_none_or(|&byte| ends_name(byte));
            if is_named && (is_end || or_start) {
                return Some((start, is_end));
            }
            from = start + 1;
        }
    }

    /// Where the next token begins.
    pub(in crate::parse) fn position(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a str {
        &self.html[self.at..]
    }

    /// Reads up to the next `<` behind the given number of bytes, or to the end of the CDATA section.
    fn text(&mut self, skip_bytes: usize) -> HtmlToken<'a> {
        let start = self.at;
        let from = start + skip_bytes;
        let end = memchr(b'<', &self.html.as_bytes()[from..]).map_or(self.html.len(), |offset| from + offset);
        self.at = self.cdata_end.map_or(end, |cdata_end| end.min(cdata_end.max(from)));
        HtmlToken::Text(&self.html[start..self.at])
    }

    /// Reads what starts with `<`; nothing if it leaves no trace in the text.
    fn markup(&mut self) -> Option<HtmlToken<'a>> {
        let rest = self.rest();
        match (rest.as_bytes().get(1), rest.as_bytes().get(2)) {
            (Some(first), _) if first.is_ascii_alphabetic() => {
                let (name, attributes, self_closed) = self.tag(1)?;
                return Some(HtmlToken::Open { name, attributes, self_closed });
            }
            (Some(b'/'), Some(first)) if first.is_ascii_alphabetic() => {
                let (name, _, _) = self.tag(2)?;
                return Some(HtmlToken::Close { name });
            }
            (Some(b'!'), _) if rest.starts_with("<!--") => self.at += comment_bytes(rest),
            (Some(b'!'), _) if rest.starts_with("<![CDATA[") => self.open_cdata(),
            (Some(b'/'), Some(_)) | (Some(b'!' | b'?'), _) => self.at += rest.find('>').map_or(rest.len(), |at| at + 1),
            _ => return Some(self.text(1)),
        }
        None
    }

    /// A browser makes a comment of a CDATA section in HTML. In a feed it is a body that was wrapped twice, so only the
    /// wrapping goes.
    fn open_cdata(&mut self) {
        self.at += "<![CDATA[".len();
        if self.cdata_end.is_none() && !self.cdata_has_no_end {
            self.cdata_end = self.rest().find("]]>").map(|offset| self.at + offset);
            self.cdata_has_no_end = self.cdata_end.is_none();
        }
    }

    /// Reads a tag whose name starts after this many bytes. One that the document breaks off in is dropped.
    fn tag(&mut self, name_start: usize) -> Option<(&'a str, &'a str, bool)> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let name_end = end_of(bytes, name_start, ends_name);
        let (bytes_used, self_closed) = match attributes_end(bytes, name_end) {
            TagEnd::Closed { at, self_closed } => (at, self_closed),
            // A quote that never closes would swallow the rest; the next angle bracket surely is not part of it. This
            // happens at most once for each kind of quote, since no other follows.
            TagEnd::OpenQuote { at } => match rest[at..].find(['<', '>']) {
                Some(offset) => (at + offset + usize::from(bytes[at + offset] == b'>'), false),
                None => (bytes.len(), false),
            },
            TagEnd::Missing => {
                self.at = self.html.len();
                return None;
            }
        };
        self.at += bytes_used;
        let end = bytes_used - usize::from(bytes[bytes_used - 1] == b'>');
        Some((&rest[name_start..name_end], &rest[name_end..end.max(name_end)], self_closed))
    }
}

enum TagEnd {
    Closed { at: usize, self_closed: bool },
    OpenQuote { at: usize },
    Missing,
}

/// Reads over the attributes: a `>` inside quotes does not end the tag, a quote inside a name does not open one.
fn attributes_end(bytes: &[u8], from: usize) -> TagEnd {
    let mut at = from;
    loop {
        match attribute(bytes, at) {
            AttributeScan::Attribute { next, .. } => at = next,
            AttributeScan::TagEnd { at } => return TagEnd::Closed { at: at + 1, self_closed: bytes[at - 1] == b'/' },
            AttributeScan::OpenQuote { at } => return TagEnd::OpenQuote { at },
            AttributeScan::Missing => return TagEnd::Missing,
        }
    }
}

/// One attribute of a tag, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::parse) struct Attribute<'a> {
    pub(in crate::parse) name: &'a str,
    /// Without its quotes, references not decoded.
    pub(in crate::parse) value: &'a str,
    /// Where the value begins in the text given to [`attributes`].
    pub(in crate::parse) value_start: usize,
}

/// The attributes in what stands between a tag's name and its closing bracket. An attribute without a value is left out,
/// and so is one whose quote is never closed.
pub(in crate::parse) fn attributes(text: &str) -> impl Iterator<Item = Attribute<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let AttributeScan::Attribute { name, value, next } = attribute(text.as_bytes(), at) else { return None };
            at = next;
            if let Some(value) = value {
                return Some(Attribute { name: &text[name], value_start: value.start, value: &text[value] });
            }
        }
    })
}

enum AttributeScan {
    Attribute { name: Range<usize>, value: Option<Range<usize>>, next: usize },
    TagEnd { at: usize },
    OpenQuote { at: usize },
    Missing,
}

/// Reads the attribute that follows. Inlined, because most callers only want to know where it ends.
#[inline(always)]
fn attribute(bytes: &[u8], from: usize) -> AttributeScan {
    let start = end_of(bytes, from, |byte| !byte.is_ascii_whitespace() && byte != b'/');
    match bytes.get(start) {
        None => return AttributeScan::Missing,
        Some(b'>') => return AttributeScan::TagEnd { at: start },
        Some(_) => {}
    }
    let name_end = end_of(bytes, start + 1, |byte| ends_name(byte) || byte == b'=');
    let name = start..name_end;
    let equals = end_of(bytes, name_end, |byte| !byte.is_ascii_whitespace());
    if bytes.get(equals) != Some(&b'=') {
        return AttributeScan::Attribute { name, value: None, next: name_end };
    }
    let value = end_of(bytes, equals + 1, |byte| !byte.is_ascii_whitespace());
    match bytes.get(value) {
        Some(&quote @ (b'"' | b'\'')) => {
            let close = end_of(bytes, value + 1, |byte| byte == quote);
            if close == bytes.len() {
                return AttributeScan::OpenQuote { at: value };
            }
            AttributeScan::Attribute { name, value: Some(value + 1..close), next: close + 1 }
        }
        _ => {
            let end = end_of(bytes, value, |byte| byte.is_ascii_whitespace() || byte == b'>');
            AttributeScan::Attribute { name, value: Some(value..end), next: end }
        }
    }
}

fn ends_name(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>')
}

/// The first place from here on whose byte satisfies the test, or the end.
fn end_of(bytes: &[u8], from: usize, test: impl Fn(u8) -> bool) -> usize {
    let from = from.min(bytes.len());
    bytes[from..].iter().position(|&byte| test(byte)).map_or(bytes.len(), |offset| from + offset)
}

/// How long the comment at the start is. `<!-->` is one, `--!>` ends one, and an open one takes the rest.
fn comment_bytes(rest: &str) -> usize {
    let start = "<!--".len();
    for end in [">", "->"] {
        if rest[start..].starts_with(end) {
            return start + end.len();
        }
    }
    let mut from = start;
    while let Some(offset) = rest[from..].find("--") {
        let behind = from + offset + 2;
        for end in [">", "!>"] {
            if rest[behind..].starts_with(end) {
                return behind + end.len();
            }
        }
        from = behind - 1;
    }
    rest.len()
}
