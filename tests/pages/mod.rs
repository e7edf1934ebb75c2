//! Forty and more page layouts, each with the text that a reader would call its article.
//!
//! `tests/fixtures/pages/NAME.html` is the page; `NAME.txt` its article, a block per line; `NAME.json` what the page
//! says about it. A page must give exactly that text, unless its JSON holds `f1`, the least share of right words, and
//! `why` it cannot be exact.

mod comments;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use feedwarden::parse::{text, website};
use proptest::prelude::*;
use serde::Deserialize;

/// What is expected of a page besides its text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    url: Option<String>,
    title: Option<String>,
    author: Option<String>,
    #[serde(default)]
    byline: Option<String>,
    published: Option<String>,
    canonical_url: Option<String>,
    f1: Option<f64>,
    why: Option<String>,
}

#[test]
fn every_page_gives_its_article_and_what_it_says_about_it() {
    names().iter().for_each(|name| print_share(name));
    let complaints: Vec<String> = names().iter().flat_map(|name| complaints(name)).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn there_are_at_least_forty_layouts_and_a_bar_below_one_has_a_reason() {
    let names = names();
    assert!(names.len() >= 40, "{} pages", names.len());
    for name in names {
        let Expected { f1, why, .. } = expected(&name);
        assert!(f1.is_none() || (f1 >= Some(0.7) && why.is_some_and(|why| !why.is_empty())), "{name}");
    }
}

/// Prints the share of right words, to be seen with `--nocapture`.
fn print_share(name: &str) {
    let url = expected(name).url.map(|url| url.parse().expect("the page's URL is one"));
    let found = website::extract(&read(name, "html"), url.as_ref()).map(|page| page.text).unwrap_or_default();
    println!("| {name} | {:.3} |", f1(&found, &text::fold(&read(name, "txt"))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_damaged_page_is_answered(
        page in any::<prop::sample::Index>(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6),
    ) {
        let names = names();
        let mut html: Vec<char> = read(&names[page.index(names.len())], "html").chars().collect();
        for (from, to) in cuts {
            let (from, to) = (from.index(html.len()), to.index(html.len()));
            // Either a piece is lost, or it is moved to the end.
            let piece: Vec<char> = html.drain(from.min(to)..from.max(to)).collect();
            if from > to {
                html.extend(piece);
            }
            html.push(' ');
        }
        if let Ok(page) = website::extract(&html.into_iter().collect::<String>(), None) {
            prop_assert_eq!(text::fold(&page.text), page.text);
        }
    }
}

fn complaints(name: &str) -> Vec<String> {
    let expected = expected(name);
    let url = expected.url.map(|url| url.parse().expect("the page's URL is one"));
    let page = match website::extract(&read(name, "html"), url.as_ref()) {
        Ok(page) => page,
        Err(error) => return vec![format!("{name}: {error}")],
    };
    let mut complaints = Vec::new();
    let mut check = |what: &str, found: Option<String>, wanted: Option<String>| {
        if found != wanted {
            complaints.push(format!("{name}: {what} is {found:?}, wanted {wanted:?}"));
        }
    };
    check("title", page.title, expected.title);
    check("author", page.author, expected.author);
    check("byline", page.byline, expected.byline);
    check("published", page.published.map(|moment| moment.to_string()), expected.published);
    check("canonical URL", page.canonical_url.map(String::from), expected.canonical_url);
    let wanted = text::fold(&read(name, "txt"));
    let score = f1(&page.text, &wanted);
    if score < expected.f1.unwrap_or(1.0) || (expected.f1.is_none() && page.text != wanted) {
        complaints.push(format!("{name}: F1 {score:.3}\n  found:  {}\n  wanted: {wanted}", page.text));
    }
    complaints
}

/// The harmonic mean of how much of the text is right and how much of what is right was found, by words. Scripts
/// without spaces count by character.
fn f1(found: &str, wanted: &str) -> f64 {
    let (found, wanted) = (words(found), words(wanted));
    let shared: usize = found.iter().map(|(word, count)| count.min(wanted.get(word).unwrap_or(&0))).sum();
    let total = found.values().sum::<usize>() + wanted.values().sum::<usize>();
    2.0 * shared as f64 / total as f64
}

fn words(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for word in text.split_whitespace() {
        let is_dense = |character: char| ('\u{2E80}'..='\u{D7FF}').contains(&character);
        let parts =
            if word.chars().any(is_dense) { word.chars().map(String::from).collect() } else { vec![word.to_owned()] };
        for part in parts {
            *counts.entry(part).or_default() += 1;
        }
    }
    counts
}

fn names() -> Vec<String> {
    let entries = fs::read_dir(folder()).expect("the fixtures are part of the repository");
    let files = entries.map(|entry| entry.expect("the folder can be listed").path());
    let pages = files.filter(|path| path.extension().is_some_and(|extension| extension == "html"));
    let mut names: Vec<String> = pages.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    names
}

fn expected(name: &str) -> Expected {
    serde_json::from_str(&read(name, "json")).unwrap_or_else(|error| panic!("{name}.json: {error}"))
}

fn read(name: &str, extension: &str) -> String {
    let file = format!("{name}.{extension}");
    fs::read_to_string(Path::new(folder()).join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn folder() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/pages")
}
