//! Finds out which areas and crates a source file refers to, from its tokens; comments and texts do not count.

/// Words that may stand before a path without being part of it.
const KEYWORDS: &[&str] = &["as", "dyn", "else", "for", "if", "impl", "in", "match", "mut", "return", "use", "where"];

/// A path that leaves its own module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reference {
    /// Into this crate: the area, and the next name in it if there is one.
    Inside(String, Option<String>),
    /// A name that begins a path: another crate, or something already in scope.
    Outside(String),
}

/// All references of a file, in order, each once. `module` is where the file is: `["http", "client"]`.
pub(super) fn references(module: &[&str], source: &str) -> Vec<Reference> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    // The inline modules around the current token, with the depth of braces at which each began.
    let mut inline: Vec<(String, usize)> = Vec::new();
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" => {
                depth += 1;
                if index >= 2 && tokens[index - 2] == "mod" {
                    inline.push((tokens[index - 1].clone(), depth));
                }
            }
            "}" => {
                inline.pop_if(|(_, begun)| *begun == depth);
                depth -= 1;
            }
            name if is_name(name) && begins_path(&tokens, index) => {
                let here = module.iter().map(ToString::to_string).chain(inline.iter().map(|(name, _)| name.clone()));
                follow(&tokens, index, here.collect(), &mut found);
            }
            _ => {}
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Whether the name at this token is the first of a path, rather than the middle of one or no path at all.
fn begins_path(tokens: &[String], index: usize) -> bool {
    let back = |steps: usize| index.checked_sub(steps).map_or("", |before| tokens[before].as_str());
    // `a::b` and `<T>::b` continue a path; in `use ::b` and `(::b` one begins.
    let continues = back(1) == "::" && (is_name(back(2)) || back(2) == ">");
    !continues && (back(1) == "use" || tokens.get(index + 1).is_some_and(|next| next == "::"))
}

/// Follows the path that begins at this token to where it points.
fn follow(tokens: &[String], start: usize, here: Vec<String>, found: &mut Vec<Reference>) {
    let mut index = start;
    let mut at = match tokens[start].as_str() {
        "crate" | "feedwarden" => Vec::new(),
        "super" => {
            let mut at = here;
            at.pop();
            while tokens.get(index + 2).is_some_and(|token| token == "super") {
                at.pop();
                index += 2;
            }
            at
        }
        "self" => here,
        outside => return found.push(Reference::Outside(outside.to_string())),
    };
    // Two names are enough to tell the area and its part; a group has several continuations.
    for rest in continuations(tokens, index + 2, 2_usize.saturating_sub(at.len())) {
        let length = at.len();
        at.extend(rest);
        if let Some(area) = at.first() {
            found.push(Reference::Inside(area.clone(), at.get(1).cloned()));
        }
        at.truncate(length);
    }
}

/// The names that may follow `::` at this token, at most so many deep: `{a::b, c}` gives `a b` and `c`.
fn continuations(tokens: &[String], start: usize, names: usize) -> Vec<Vec<String>> {
    let Some(token) = tokens.get(start).filter(|_| names > 0) else { return vec![Vec::new()] };
    if token == "{" {
        return group(tokens, start).into_iter().flat_map(|item| continuations(tokens, item, names)).collect();
    }
    if tokens.get(start + 1).is_none_or(|next| next != "::") {
        return vec![vec![token.clone()]];
    }
    let rest = continuations(tokens, start + 2, names - 1);
    rest.into_iter().map(|rest| [vec![token.clone()], rest].concat()).collect()
}

/// Where the items of the group begin that is opened by the brace at this token.
fn group(tokens: &[String], open: usize) -> Vec<usize> {
    let mut items = Vec::new();
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        let next_is_item = tokens.get(index + 1).is_some_and(|next| next != "}" && next != ",");
        if depth == 1 && next_is_item && (index == open || token == ",") {
            items.push(index + 1);
        }
    }
    items
}

fn is_name(token: &str) -> bool {
    !KEYWORDS.contains(&token) && token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Names, `::`, arrows and single other characters; comments, texts, characters and lifetimes are left out.
fn tokens(source: &str) -> Vec<String> {
    let characters: Vec<char> = source.chars().collect();
    let at = |index: usize| characters.get(index).copied().unwrap_or('\0');
    let mut tokens: Vec<String> = Vec::new();
    let mut index = 0;
    while index < characters.len() {
        let character = at(index);
        if character == '/' && at(index + 1) == '/' {
            index = (index..characters.len()).find(|end| at(*end) == '\n').unwrap_or(characters.len());
        } else if character == '/' && at(index + 1) == '*' {
            index = end_of_block_comment(&characters, index);
        } else if character == '"' {
            // What comes before a raw text is a name such as `r` or `br` and its hashes.
            let hashes = tokens.iter().rev().take_while(|token| *token == "#").count();
            let raw = tokens.iter().rev().nth(hashes).is_some_and(|token| ["r", "br", "cr"].contains(&token.as_str()));
            index = end_of_text(&characters, index, raw.then_some(hashes));
        } else if character == '\'' {
            index = end_of_quote(&characters, index);
        } else if matches!((character, at(index + 1)), (':', ':') | ('-', '>') | ('=', '>')) {
            tokens.push(characters[index..index + 2].iter().collect());
            index += 2;
        } else if character.is_alphanumeric() || character == '_' {
            let word = characters[index..].iter().take_while(|next| next.is_alphanumeric() || **next == '_');
            let word: String = word.collect();
            index += word.chars().count();
            tokens.push(word);
        } else {
            if !character.is_whitespace() {
                tokens.push(character.to_string());
            }
            index += 1;
        }
    }
    tokens
}

fn end_of_block_comment(characters: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut index = start;
    while index + 1 < characters.len() {
        match (characters[index], characters[index + 1]) {
            ('/', '*') => (depth, index) = (depth + 1, index + 2),
            ('*', '/') => (depth, index) = (depth - 1, index + 2),
            _ => index += 1,
        }
        if depth == 0 {
            return index;
        }
    }
    characters.len()
}

/// The end of a text that opens here; a raw one ends at a quote with as many hashes, another at a quote unescaped.
fn end_of_text(characters: &[char], start: usize, raw_hashes: Option<usize>) -> usize {
    let mut index = start + 1;
    while index < characters.len() {
        match (characters[index], raw_hashes) {
            ('\\', None) => index += 1,
            ('"', None) => return index + 1,
            ('"', Some(hashes))
                if characters[index + 1..].iter().take_while(|next| **next == '#').count() >= hashes =>
            {
                return index + 1 + hashes;
            }
            _ => {}
        }
        index += 1;
    }
    characters.len()
}

/// The end of a character; of a lifetime only its quote, for its name does no harm.
fn end_of_quote(characters: &[char], start: usize) -> usize {
    match characters.get(start + 1) {
        Some('\\') => {
            let quote = (start + 3..characters.len()).find(|end| characters[*end] == '\'');
            quote.map_or(characters.len(), |end| end + 1)
        }
        Some(_) if characters.get(start + 2) == Some(&'\'') => start + 3,
        _ => start + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn areas(module: &[&str], source: &str) -> Vec<String> {
        let areas = references(module, source).into_iter().filter_map(|reference| match reference {
            Reference::Inside(area, Some(part)) => Some(format!("{area}::{part}")),
            Reference::Inside(area, None) => Some(area),
            Reference::Outside(_) => None,
        });
        areas.collect()
    }

    #[test]
    fn plain_nested_and_renamed_paths_are_found() {
        let check = |source: &str, wanted: &[&str]| assert_eq!(areas(&["http", "wire"], source), wanted, "{source}");
        check("use crate::store::Store;", &["store::Store"]);
        check("use crate::store;", &["store"]);
        check("use crate::store as kept;", &["store"]);
        check(
            "pub(crate) use crate::{model::{Source, Post}, store::*, clock};",
            &["clock", "model::Post", "model::Source", "store::*"],
        );
        check("fn f(x: &crate::actors::Host) -> crate::rules::due::Due {}", &["actors::Host", "rules::due"]);
        check("use crate::{\n    // why\n    self,\n    store::sqlite::{a, b},\n};", &["self", "store::sqlite"]);
        check("use crate::*;", &["*"]);
        check("use feedwarden::daemon::run;", &["daemon::run"]);
    }

    #[test]
    fn paths_through_super_and_self_are_resolved() {
        assert_eq!(areas(&["http", "wire"], "use super::decode::Body;"), ["http::decode"]);
        assert_eq!(areas(&["http", "wire"], "use super::super::store::Store;"), ["store::Store"]);
        assert_eq!(areas(&["http"], "use super::store::Store;"), ["store::Store"]);
        assert_eq!(areas(&["http"], "use super::{store::Store, model::Post};"), ["model::Post", "store::Store"]);
        assert_eq!(areas(&["http"], "pub use self::wire::Wire;"), ["http::wire"]);
        assert_eq!(areas(&["http"], "mod tests { use super::*; }"), ["http::*"]);
        assert_eq!(areas(&["http"], "mod tests { mod deep { use super::super::super::store::A; } }"), ["store::A"]);
        assert_eq!(areas(&["http"], "mod tests { fn f() { if a {} } } use super::store::A;"), ["store::A"]);
    }

    #[test]
    fn comments_texts_and_characters_do_not_count() {
        for source in [
            "//! [`crate::store`]",
            "/* crate::store::A /* crate::store::B */ crate::store::C */",
            r#"let x = "crate::store::A \" crate::store::B";"#,
            r###"let x = r#"crate::store::A " crate::store::B"#;"###,
            "let x = ('\"', '\\'', '\\u{41}'); // crate::store::A",
        ] {
            assert_eq!(areas(&["http"], source), Vec::<String>::new(), "{source}");
        }
        let hidden = "fn f<'a>(x: &'a str) { let q = '\"'; crate::store::A; let r = '\"'; }";
        assert_eq!(areas(&["http"], hidden), ["store::A"]);
        assert_eq!(areas(&["http"], r###"let x = r#"a"b"#; crate::store::A"###), ["store::A"]);
        assert_eq!(areas(&["http"], r#"let x = "a\\"; crate::store::A"#), ["store::A"]);
    }

    #[test]
    fn the_first_name_of_other_paths_is_given_as_it_is() {
        let found =
            references(&["rules"], "use tokio::sync::{a::b, c}; use ::rand::random; fn f() -> ::d::E { <X>::e::f() }");
        let outside = |name: &str| Reference::Outside(name.into());
        assert_eq!(found, [outside("a"), outside("d"), outside("rand"), outside("tokio")]);
        assert_eq!(references(&["rules"], "use slog as log;"), [outside("slog")]);
    }
}
