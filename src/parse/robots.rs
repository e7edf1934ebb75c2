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
use std::time::Duration;

use url::Url;

use lines::{Field, fields};
use pattern::{Pattern, Target};

pub use lines::whole_lines;

/// How much of a file is read: what RFC 9309 (2.5) asks for at least, and Google reads.
pub const FILE_BYTES_MAX: usize = 500 * 1024;
/// A longer delay than this between two requests is a way of saying no, for which there are rules.
const CRAWL_DELAY_MAX: Duration = Duration::from_secs(60 * 60);
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
    /// Each is meant for as many of the agents as were named before it.
    delays: Vec<(usize, Duration)>,
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
                Field::CrawlDelay(_) => takes_agents,
            };
            // What stands before the first name is meant for nobody.
            let Some(group) = groups.last_mut() else { continue };
            match field {
                Field::UserAgent(value) => group.agents.push(token(value)),
                Field::CrawlDelay(value) => group.delays.extend(delay(value).map(|delay| (group.agents.len(), delay))),
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
            .flat_map(|(_, group)| &group.rules)
            .filter(|rule| rule.pattern.matches(&target))
            // The longest wins; between equals the one that allows, and between those the first.
            .max_by_key(|rule| (rule.pattern.len(), rule.allows, Reverse(rule.line)));
        Verdict {
            is_allowed: decisive.is_none_or(|rule| rule.allows),
            decided_by: decisive.map(|rule| Line { number: rule.line, text: rule.shown() }),
        }
    }

    /// How long this product is asked to wait between two requests; never more than an hour.
    pub fn crawl_delay(&self, product: &str) -> Option<Duration> {
        let delays = |(place, group): (usize, &'_ Group)| {
            group.delays.iter().filter(|(named, _)| place < *named).map(|(_, delay)| *delay).max()
        };
        self.groups_for(product).filter_map(delays).max()
    }

    /// The groups that speak to a product, and the place of its name in each: those that name it, or else those for
    /// everybody.
    fn groups_for(&self, product: &str) -> impl Iterator<Item = (usize, &Group)> {
        let product = token(product.as_bytes());
        let is_named = !product.is_empty() && self.groups.iter().any(|group| group.agents.contains(&product));
        let wanted = if is_named { product } else { "*".into() };
        self.groups.iter().filter_map(move |group| Some((group.agents.iter().position(|of| *of == wanted)?, group)))
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

fn delay(value: &[u8]) -> Option<Duration> {
    let seconds: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    let is_delay = seconds.is_finite() && seconds > 0.0;
    is_delay.then(|| Duration::from_secs_f64(seconds.min(CRAWL_DELAY_MAX.as_secs_f64())))
}
