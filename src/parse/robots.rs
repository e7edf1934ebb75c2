//! robots.txt (RFC 9309).
//!
//! Lenient like Google's published parser: keys in any case and with common typing
//! errors, values that are not UTF-8, unknown lines. Every rule is matched in linear time, and the file, the
//! number of rules and their lengths are bounded.

mod lines;
mod pattern;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::fmt;

use url::Url;

use lines::{RobotsField, fields};
use pattern::{Pattern, RobotsTarget};

pub use lines::whole_lines;

/// Maximum size of a file in bytes: the minimum of RFC 9309 (2.5), as Google reads.
pub const FILE_BYTES_MAX: usize = 500 * 1024;
/// Maximum number of rules; further ones are ignored.
const RULES_MAX: usize = 20_000;
/// Maximum length of a line in messages.
const LINE_CHARS_MAX: usize = 200;

/// The file of one site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Robots {
    groups: Vec<RuleGroup>,
}

/// Rules and their user agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RuleGroup {
    /// Product names in lower case; `*` for all.
    agents: Vec<Box<str>>,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    line: usize,
    allows: bool,
    pattern: Pattern,
}

/// Whether a page may be fetched, and the deciding line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub is_allowed: bool,
    /// The deciding line; none for most pages.
    pub decided_by: Option<RobotsLine>,
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsLine {
    /// Its number, from one.
    pub number: usize,
    /// Text of the line, for messages.
    pub text: String,
}

impl Robots {
    /// Parses a file up to the maximum size.
    pub fn parse(bytes: &[u8]) -> Robots {
        let mut groups: Vec<RuleGroup> = Vec::new();
        let mut rules = 0;
        // Names that follow each other share the rules behind them; whatever else stands in between does not part them.
        let mut takes_agents = false;
        for (line, field) in fields(whole_lines(bytes, FILE_BYTES_MAX)) {
            if matches!(field, RobotsField::UserAgent(_)) && !takes_agents {
                groups.push(RuleGroup::default());
            }
            takes_agents = match field {
                RobotsField::UserAgent(_) => true,
                RobotsField::Rule { .. } => false,
            };
            // Rules before the first user agent are ignored.
            let Some(group) = groups.last_mut() else { continue };
            match field {
                RobotsField::UserAgent(value) => group.agents.push(token(value)),
                RobotsField::Rule { allows, value } => {
                    if let Some(pattern) = Pattern::new(value).filter(|_| rules < RULES_MAX) {
                        rules += 1;
                        group.rules.push(Rule { line, allows, pattern });
                    }
                }
            }
        }
        Robots { groups }
    }

    /// Whether this product, given as in its `User-Agent` header, may fetch the page.
    pub fn allows(&self, product: &str, url: &Url) -> Verdict {
        // RFC 9309, 2.2.2: the file itself may always be asked for.
        if url.path() == "/robots.txt" {
            return Verdict { is_allowed: true, decided_by: None };
        }
        let target = RobotsTarget::new(url);
        let decisive = self
            .groups_for(product)
            .flat_map(|group| &group.rules)
            .filter(|rule| rule.pattern.matches(&target))
            // The longest wins; between equals the one that allows, and between those the first.
            .max_by_key(|rule| (rule.pattern.len(), rule.allows, Reverse(rule.line)));
        Verdict {
            is_allowed: decisive.is_none_or(|rule| rule.allows),
            decided_by: decisive.map(|rule| RobotsLine { number: rule.line, text: rule.shown() }),
        }
    }

    /// The groups that apply to a product: those that name it, or else those for every product.
    fn groups_for(&self, product: &str) -> impl Iterator<Item = &RuleGroup> {
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
            Some(RobotsLine { number, text }) => write!(formatter, "{word} by line {number}, {text}"),
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
