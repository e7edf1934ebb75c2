//! Streaming parser: memory does not grow with the list, except for a hash per feed.

use std::collections::{HashMap, VecDeque};
use std::io::BufRead;

use sha2::{Digest, Sha256};

use super::bytes::DecodingReader;
use super::outline::{self, OutlineKind};
use super::{BadOutline, DEPTH_MAX, OUTLINES_MAX, OpmlError, Outline, Why};
use crate::model::canonical_web_url;
use crate::parse::xml::{Tag, XmlToken, XmlTokens};

/// Bytes that must follow the start of a tag before it is parsed; no tag is longer.
const TAG_BYTES_MAX: usize = 32 * 1024;
/// Maximum size of the window, reached only without any tag.
const WINDOW_BYTES_MAX: usize = 8 * TAG_BYTES_MAX;
/// Number of characters of a non-OPML document in the error message.
const SHOWN_CHARS_MAX: usize = 60;

/// Iterates over the sources of a list and its problems. Continues after every problem except the
/// last.
pub struct Reader<R> {
    text: DecodingReader<R>,
    window: String,
    list: List,
}

#[derive(Default)]
struct List {
    ready: VecDeque<Result<Outline, BadOutline>>,
    /// For every open outline, the label that it adds.
    open: Vec<Option<String>>,
    /// The last opened folder with its line, as long as it is empty.
    bare: Option<(String, u64)>,
    /// Number of open outlines that are nested too deeply.
    too_deep: usize,
    /// Feeds so far by hash, with their lines.
    seen: HashMap<[u8; 16], u64>,
    /// Position up to which lines of the window are counted, and their number in the document.
    counted: usize,
    lines: u64,
    /// Whether the root element is still open.
    awaits_end: bool,
    is_damaged: bool,
    is_over: bool,
    trouble: Option<String>,
}

impl<R: BufRead> Reader<R> {
    /// Fails if the document is not OPML.
    pub fn new(input: R) -> Result<Reader<R>, OpmlError> {
        let mut reader = Reader { text: DecodingReader::new(input), window: String::new(), list: List::default() };
        reader.text.pull(&mut reader.window)?;
        reader.list.awaits_end = check_root(&reader.window)?;
        Ok(reader)
    }

    /// Parses the safe part of the window and reads the next chunk.
    fn advance(&mut self) {
        let is_last = self.text.is_over;
        let done = self.list.read(&self.window, is_last);
        self.list.count(&self.window, done);
        self.list.counted = 0;
        self.window.drain(..done);
        // Do not wait for the end of something larger than the window.
        let is_stuck = done == 0 && self.window.len() > WINDOW_BYTES_MAX;
        if is_last || is_stuck || self.list.is_over {
            self.list.end();
        } else if let Err(error) = self.text.pull(&mut self.window) {
            self.list.trouble = Some(error.to_string());
            self.text.is_over = true;
        }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Outline, BadOutline>;

    fn next(&mut self) -> Option<Result<Outline, BadOutline>> {
        while self.list.ready.is_empty() && !self.list.is_over {
            self.advance();
        }
        self.list.ready.pop_front()
    }
}

impl List {
    /// Parses a part of the document and returns its end. Tags that begin close to the end are left for the next part,
    /// because they may be cut.
    fn read(&mut self, window: &str, is_last: bool) -> usize {
        let safe = if is_last { usize::MAX } else { window.len().saturating_sub(TAG_BYTES_MAX) };
        let mut tokens = XmlTokens::new(window);
        loop {
            let token = tokens.next();
            let start = tokens.start();
            if start >= safe {
                return start;
            }
            match token {
                XmlToken::Open(tag) if is(tag.name, "outline") => self.open(&tag, window, start),
                XmlToken::Close(name) if is(name, "outline") => self.close(),
                XmlToken::Close(name) if is(name, "opml") => self.stop(),
                XmlToken::End => return if tokens.is_cut && !is_last { start } else { window.len() },
                _ => {}
            }
            if tokens.is_repaired && !self.is_damaged {
                self.is_damaged = true;
                self.complain(window, start, Why::Damaged);
            }
            if self.is_over {
                return tokens.position();
            }
        }
    }

    fn open(&mut self, tag: &Tag, window: &str, start: usize) {
        let entry = outline::read(tag);
        self.bare = None;
        if self.open.len() >= DEPTH_MAX {
            if !matches!(entry, OutlineKind::Folder { .. } | OutlineKind::Other) {
                self.complain(window, start, Why::TooDeep);
            }
            self.too_deep += usize::from(!tag.is_empty);
            return;
        }
        let mut label = None;
        match entry {
            OutlineKind::Other => {}
            OutlineKind::Folder { name, is_cut } => {
                let line = self.line(window, start);
                if is_cut {
                    self.complain(window, start, Why::NameCut(name.clone()));
                }
                self.bare = Some((name.clone(), line));
                label = Some(name);
            }
            OutlineKind::Bad(why) => self.complain(window, start, why),
            OutlineKind::Feed { title, feed_url, site_url } => {
                let line = self.line(window, start);
                let labels = self.open.iter().flatten().cloned().collect();
                self.take(Outline { title, feed_url, site_url, labels, line });
            }
        }
        if tag.is_empty {
            self.tell_bare();
        } else {
            self.open.push(label);
        }
    }

    /// A name alone is a feed that lost its URL, or a folder that lost its feeds.
    fn tell_bare(&mut self) {
        let bare = self.bare.take();
        self.ready.extend(bare.map(|(name, line)| Err(BadOutline { line, why: Why::Empty(name) })));
    }

    fn close(&mut self) {
        self.tell_bare();
        match self.too_deep.checked_sub(1) {
            Some(left) => self.too_deep = left,
            None => drop(self.open.pop()),
        }
    }

    fn take(&mut self, outline: Outline) {
        let line = outline.line;
        let why = match self.seen.get(&key(&outline.feed_url)) {
            Some(first_line) => Why::Duplicate { first_line: *first_line },
            None if self.seen.len() >= OUTLINES_MAX => {
                self.stop();
                Why::TooMany
            }
            None => {
                self.seen.insert(key(&outline.feed_url), line);
                self.ready.push_back(Ok(outline));
                return;
            }
        };
        self.ready.push_back(Err(BadOutline { line, why }));
    }

    fn stop(&mut self) {
        (self.is_over, self.awaits_end, self.too_deep) = (true, false, 0);
        self.open.clear();
    }

    /// At the end of input: an open root means that the document was cut off.
    fn end(&mut self) {
        self.is_over = true;
        let is_cut = self.awaits_end || !self.open.is_empty() || self.too_deep > 0;
        let why = self.trouble.take().map(Why::Unreadable).or(is_cut.then_some(Why::CutOff));
        self.ready.extend(why.map(|why| Err(BadOutline { line: self.lines + 1, why })));
    }

    fn complain(&mut self, window: &str, start: usize, why: Why) {
        let line = self.line(window, start);
        self.ready.push_back(Err(BadOutline { line, why }));
    }

    fn line(&mut self, window: &str, start: usize) -> u64 {
        self.count(window, start);
        self.lines + 1
    }

    fn count(&mut self, window: &str, up_to: usize) {
        self.lines += window.as_bytes()[self.counted..up_to].iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        self.counted = up_to;
    }
}

/// Whether the document has a root element; an error if it is not OPML.
fn check_root(window: &str) -> Result<bool, OpmlError> {
    let mut tokens = XmlTokens::new(window);
    loop {
        match tokens.next() {
            XmlToken::Open(tag) if is(tag.name, "opml") => return Ok(!tag.is_empty),
            // Accept a list without its beginning.
            XmlToken::Open(tag) if ["head", "body", "outline"].iter().any(|name| is(tag.name, name)) => {
                return Ok(false);
            }
            XmlToken::Open(tag) => {
                let name: String = tag.name.chars().take(SHOWN_CHARS_MAX).collect();
                return Err(OpmlError::NotOpml(format!("it begins with <{name}>")));
            }
            XmlToken::End => break,
            _ => {}
        }
    }
    let beginning: String = window.trim().chars().take(SHOWN_CHARS_MAX).collect();
    Err(OpmlError::NotOpml(match beginning.as_str() {
        "" => "it is empty".to_owned(),
        beginning => format!("it begins with {beginning:?}"),
    }))
}

/// Names are case-insensitive and may have a prefix.
fn is(name: &str, wanted: &str) -> bool {
    name.rsplit(':').next().unwrap_or(name).eq_ignore_ascii_case(wanted)
}

/// The same for all forms of one URL.
fn key(url: &str) -> [u8; 16] {
    let digest: [u8; 32] = Sha256::digest(canonical_web_url(url).as_bytes()).into();
    let mut key = [0; 16];
    key.copy_from_slice(&digest[..16]);
    key
}
