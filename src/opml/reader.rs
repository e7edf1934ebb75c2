//! Reads a list a piece at a time: what is held does not grow with the list, but for a number for each feed.

use std::collections::{HashMap, VecDeque};
use std::io::BufRead;

use sha2::{Digest, Sha256};

use super::bytes::Text;
use super::outline::{self, Entry};
use super::{BadOutline, DEPTH_MAX, OUTLINES_MAX, OpmlError, Outline, Why};
use crate::model::canonical_web_url;
use crate::parse::xml::{Tag, Token, Tokens};

/// What has to be there behind the beginning of a tag before it is read: no tag is longer.
const TAG_BYTES_MAX: usize = 32 * 1024;
/// What is held of a document at most, and only if it holds no tag at all.
const WINDOW_BYTES_MAX: usize = 8 * TAG_BYTES_MAX;
/// What is shown of a document that is no list.
const SHOWN_CHARS_MAX: usize = 60;

/// The sources of a list, one after the other, and what could not be used of it. It goes on after every problem but the
/// last.
pub struct Reader<R> {
    text: Text<R>,
    /// The part of the text that was not read yet.
    window: String,
    list: List,
}

/// What was understood so far.
#[derive(Default)]
struct List {
    ready: VecDeque<Result<Outline, BadOutline>>,
    /// For every open outline, what it adds to the labels of those inside.
    open: Vec<Option<String>>,
    /// The folder that was opened last and its line, as long as nothing is inside.
    bare: Option<(String, u64)>,
    /// How many further outlines are open, too deep to be looked at.
    too_deep: usize,
    /// The feeds so far and their lines, by a hash, since URLs can be long.
    seen: HashMap<[u8; 16], u64>,
    /// How far the lines of the window are counted, and how many end before that in the whole document.
    counted: usize,
    lines: u64,
    /// Whether there is a root that has yet to be closed.
    awaits_end: bool,
    is_damaged: bool,
    is_over: bool,
    /// What kept the rest from being read.
    trouble: Option<String>,
}

impl<R: BufRead> Reader<R> {
    /// Begins to read; an error if this is no list.
    pub fn new(input: R) -> Result<Reader<R>, OpmlError> {
        let mut reader = Reader { text: Text::new(input), window: String::new(), list: List::default() };
        reader.text.pull(&mut reader.window)?;
        reader.list.awaits_end = check_root(&reader.window)?;
        Ok(reader)
    }

    /// Reads as much of the window as can be trusted, and takes the next piece.
    fn advance(&mut self) {
        let is_last = self.text.is_over;
        let done = self.list.read(&self.window, is_last);
        self.list.count(&self.window, done);
        self.list.counted = 0;
        self.window.drain(..done);
        // A piece that so large a window does not hold has no end worth waiting for.
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
    /// Reads a part of the document and says how far. What begins close to its end is left to the next part, because
    /// it may look damaged only for being cut.
    fn read(&mut self, window: &str, is_last: bool) -> usize {
        let safe = if is_last { usize::MAX } else { window.len().saturating_sub(TAG_BYTES_MAX) };
        let mut tokens = Tokens::new(window);
        loop {
            let token = tokens.next();
            let start = tokens.start();
            if start >= safe {
                return start;
            }
            match token {
                Token::Open(tag) if is(tag.name, "outline") => self.open(&tag, window, start),
                Token::Close(name) if is(name, "outline") => self.close(),
                Token::Close(name) if is(name, "opml") => self.stop(),
                Token::End => return if tokens.is_cut && !is_last { start } else { window.len() },
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
            if !matches!(entry, Entry::Folder { .. } | Entry::Other) {
                self.complain(window, start, Why::TooDeep);
            }
            self.too_deep += usize::from(!tag.is_empty);
            return;
        }
        let mut label = None;
        match entry {
            Entry::Other => {}
            Entry::Folder { name, is_cut } => {
                let line = self.line(window, start);
                if is_cut {
                    self.complain(window, start, Why::NameCut(name.clone()));
                }
                self.bare = Some((name.clone(), line));
                label = Some(name);
            }
            Entry::Bad(why) => self.complain(window, start, why),
            Entry::Feed { title, feed_url, site_url } => {
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

    /// Nothing more is wanted.
    fn stop(&mut self) {
        (self.is_over, self.awaits_end, self.too_deep) = (true, false, 0);
        self.open.clear();
    }

    /// Nothing more comes: a document that is not closed was cut off.
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

/// Whether the document has a root that will be closed; an error if it begins like something else.
fn check_root(window: &str) -> Result<bool, OpmlError> {
    let mut tokens = Tokens::new(window);
    loop {
        match tokens.next() {
            Token::Open(tag) if is(tag.name, "opml") => return Ok(!tag.is_empty),
            // A list that lost its beginning is still a list.
            Token::Open(tag) if ["head", "body", "outline"].iter().any(|name| is(tag.name, name)) => return Ok(false),
            Token::Open(tag) => {
                let name: String = tag.name.chars().take(SHOWN_CHARS_MAX).collect();
                return Err(OpmlError::NotOpml(format!("it begins with <{name}>")));
            }
            Token::End => break,
            _ => {}
        }
    }
    let beginning: String = window.trim().chars().take(SHOWN_CHARS_MAX).collect();
    Err(OpmlError::NotOpml(match beginning.as_str() {
        "" => "it is empty".to_owned(),
        beginning => format!("it begins with {beginning:?}"),
    }))
}

/// Names are written in any case, and sometimes with a prefix.
fn is(name: &str, wanted: &str) -> bool {
    name.rsplit(':').next().unwrap_or(name).eq_ignore_ascii_case(wanted)
}

/// What is equal for two texts of one URL.
fn key(url: &str) -> [u8; 16] {
    let digest: [u8; 32] = Sha256::digest(canonical_web_url(url).as_bytes()).into();
    let mut key = [0; 16];
    key.copy_from_slice(&digest[..16]);
    key
}
