//! robots.txt (RFC 9309): what a site asks of those who read it by machine.
//!
//! Written as people write it, read as Google's published parser reads it: keys in any case and with the usual typing
//! errors, values that are not UTF-8, lines that mean nothing. Every rule is matched in linear time, and the file, the
//! number of rules and their lengths are bounded.

mod lines;
mod pattern;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::fmt;

use url::Url;

use lines::{Field, fields};
use pattern::{Pattern, Target};

pub use lines::whole_lines;

/// How much of a file is read: what RFC 9309 (2.5) asks for at least, and Google reads.
pub const FILE_BYTES_MAX: usize = 500 * 1024;
/// More than anybody has written by hand; those behind are ignored.
const RULES_MAX: usize = 20_000;
/// What a person is shown of a line.
const LINE_CHARS_MAX: usize = 200;

/// The file of one site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Robots {
    groups: Vec<Group>,
}

/// Rules, and whom they are for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Group {
    /// Products in lower case, and `*` for everybody.
    agents: Vec<Box<str>>,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    line: usize,
    allows: bool,
    pattern: Pattern,
}

/// Whether a page may be asked for, and which line of the file says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it may.
    pub is_allowed: bool,
    /// The line that decided; of most pages none speaks.
    pub decided_by: Option<Line>,
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, from one.
    pub number: usize,
    /// What it says, for people.
    pub text: String,
}

impl Robots {
    /// Reads a file, or as much of it as anybody has to.
    pub fn parse(bytes: &[u8]) -> Robots {
        let mut groups: Vec<Group> = Vec::new();
        let mut rules = 0;
        // Names that follow each other share the rules behind them; whatever else stands in between does not part them.
        let mut takes_agents = false;
        for (line, field) in fields(whole_lines(bytes, FILE_BYTES_MAX)) {
            if matches!(field, Field::UserAgent(_)) && !takes_agents {
                groups.push(Group::default());
            }
            takes_agents = match field {
                Field::UserAgent(_) => true,
                Field::Rule { .. } => false,
            };
            // What stands before the first name is meant for nobody.
            let Some(group) = groups.last_mut() else { continue };
            match field {
                Field::UserAgent(value) => group.agents.push(token(value)),
                Field::Rule { allows, value } => {
                    if let Some(pattern) = Pattern::new(value).filter(|_| rules < RULES_MAX) {
                        rules += 1;
                        group.rules.push(Rule { line, allows, pattern });
                    }
                }
            }
        }
        Robots { groups }
    }

    /// Whether this product, which may be named as in its `User-Agent` header, may ask for the page.
    pub fn allows(&self, product: &str, url: &Url) -> Verdict {
        // RFC 9309, 2.2.2: the file itself may always be asked for.
        if url.path() == "/robots.txt" {
            return Verdict { is_allowed: true, decided_by: None };
        }
        let target = Target::new(url);
        let decisive = self
            .groups_for(product)
            .flat_map(|group| &group.rules)
            .filter(|rule| rule.pattern.matches(&target))
            // The longest wins; between equals the one that allows, and between those the first.
            .max_by_key(|rule| (rule.pattern.len(), rule.allows, Reverse(rule.line)));
        Verdict {
            is_allowed: decisive.is_none_or(|rule| rule.allows),
            decided_by: decisive.map(|rule| Line { number: rule.line, text: rule.shown() }),
        }
    }

    /// The groups that apply to a product: those that name it, or else those for every product.
    fn groups_for(&self, product: &str) -> impl Iterator<Item = &Group> {
        let product = token(product.as_bytes());
        let is_named = !product.is_empty() && self.groups.iter().any(|group| group.agents.contains(&product));
        let wanted = if is_named { product } else { "*".into() };
        self.groups.iter().filter(move |group| group.agents.contains(&wanted))
    }
}

impl Rule {
    fn shown(&self) -> String {
        let key = if self.allows { "Allow" } else { "Disallow" };
        format!("{key}: {}", self.pattern).chars().take(LINE_CHARS_MAX).collect()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.is_allowed { "allowed" } else { "refused" };
        match &self.decided_by {
            Some(Line { number, text }) => write!(formatter, "{word} by line {number}, {text}"),
            None => write!(formatter, "{word}, since no line speaks of it"),
        }
    }
}

/// The name of a product: what stands before the version, in lower case. RFC 9309 (2.2.1) knows letters, `_` and `-`.
fn token(value: &[u8]) -> Box<str> {
    if value.first() == Some(&b'*') && value.get(1).is_none_or(u8::is_ascii_whitespace) {
        return "*".into();
    }
    let letters = value.iter().take_while(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-'));
    letters.map(|byte| char::from(byte.to_ascii_lowercase())).collect()
}
