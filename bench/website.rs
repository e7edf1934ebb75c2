//! What it costs to read a page, beside dom_smoothie alone on the same page.
//!
//! `cargo bench --bench website`. The bar: at most one and a half times dom_smoothie's own parse, over all pages.
//!
//! `cargo bench --bench website -- DIR` reads a corpus instead, a folder for each page with `source.html` and
//! `expected.html` (as Readability's `test/test-pages`), and prints the share of right words (F1) of ours and of
//! dom_smoothie in both of its candidate modes.

use std::collections::HashMap;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use dom_smoothie::{CandidateSelectMode, Config, Readability};
use feedwarden::parse::{text, website};

const ROUNDS: usize = 40;

fn main() {
    match std::env::args().skip(1).find(|argument| !argument.starts_with("--")) {
        Some(folder) => compare_on_corpus(Path::new(&folder)),
        None => measure_layouts(),
    }
}

fn measure_layouts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pages");
    let files = fs::read_dir(folder).expect("the fixtures are part of the repository");
    let mut paths: Vec<_> = files.map(|file| file.expect("the folder can be listed").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "html"));
    paths.sort();
    println!("{:<24}{:>8}{:>12}{:>16}{:>8}", "page", "KB", "extract µs", "dom_smoothie µs", "ratio");
    let (mut ours_total, mut theirs_total) = (Duration::ZERO, Duration::ZERO);
    let pages: Vec<(String, String)> = paths
        .iter()
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).expect("fixtures are readable text"))
        })
        .collect();
    for (name, html) in &pages {
        let (ours, theirs) = measure(html);
        ours_total += ours;
        theirs_total += theirs;
        print_row(name, html.len(), ours, theirs);
    }
    print_row("all layouts", pages.iter().map(|(_, html)| html.len()).sum(), ours_total, theirs_total);
    let html = long_page();
    let (ours, theirs) = measure(&html);
    print_row("one long page", html.len(), ours, theirs);
}

/// Prints the F1 of each page of a corpus, and the means.
fn compare_on_corpus(folder: &Path) {
    let files = fs::read_dir(folder).expect("the corpus is a folder");
    let mut pages: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    pages.retain(|page| page.join("source.html").exists());
    pages.sort();
    println!("{:<40}{:>8}{:>14}{:>14}", "page", "ours", "readability", "dom_smoothie");
    let mut totals = [0.0; 3];
    for page in &pages {
        let read = |name: &str| String::from_utf8_lossy(&fs::read(page.join(name)).unwrap_or_default()).into_owned();
        let (html, expected) = (read("source.html"), text::from_html(&read("expected.html")));
        let ours = website::extract(&html, None).map(|page| page.text).unwrap_or_default();
        let alone = |mode| by_dom_smoothie(&html, mode);
        let texts = [ours, alone(CandidateSelectMode::Readability), alone(CandidateSelectMode::DomSmoothie)];
        let scores = texts.map(|found| f1(&found, &expected));
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        println!("{name:<40}{:>8.3}{:>14.3}{:>14.3}", scores[0], scores[1], scores[2]);
        totals.iter_mut().zip(scores).for_each(|(total, score)| *total += score);
    }
    let [ours, readability, dom_smoothie] = totals.map(|total| total / pages.len().max(1) as f64);
    println!("{:<40}{ours:>8.4}{readability:>14.4}{dom_smoothie:>14.4}", format!("mean of {}", pages.len()));
}

fn by_dom_smoothie(html: &str, candidate_select_mode: CandidateSelectMode) -> String {
    let config = Config { candidate_select_mode, ..Config::default() };
    let article = Readability::new(html, None, Some(config)).and_then(|mut readability| readability.parse());
    article.map(|article| text::from_html(&article.content)).unwrap_or_default()
}

/// The harmonic mean of precision and recall by words; scripts without spaces count by character.
fn f1(found: &str, wanted: &str) -> f64 {
    let (found, wanted) = (words(found), words(wanted));
    let shared: usize = found.iter().map(|(word, count)| count.min(wanted.get(word).unwrap_or(&0))).sum();
    let total = found.values().sum::<usize>() + wanted.values().sum::<usize>();
    if total == 0 { 1.0 } else { 2.0 * shared as f64 / total as f64 }
}

fn words(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    let is_dense = |character: char| ('\u{2E80}'..='\u{D7FF}').contains(&character);
    for word in text.split_whitespace() {
        match word.chars().any(is_dense) {
            true => word.chars().for_each(|character| *counts.entry(character.to_string()).or_default() += 1),
            false => *counts.entry(word.to_owned()).or_default() += 1,
        }
    }
    counts
}

/// The fastest round of each, taken in turns so that a busy machine slows both.
fn measure(html: &str) -> (Duration, Duration) {
    let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        ours = ours.min(time(|| website::extract(html, None).map_or(0, |page| page.text.len())));
        theirs = theirs.min(time(|| alone(html)));
    }
    (ours, theirs)
}

fn alone(html: &str) -> usize {
    let article = Readability::new(html, None, None).and_then(|mut readability| readability.parse());
    article.map_or(0, |article| article.text_content.len())
}

fn time(work: impl FnOnce() -> usize) -> Duration {
    #[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

fn print_row(name: &str, bytes: usize, ours: Duration, theirs: Duration) {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let (ours, theirs) = (ours.as_secs_f64() * 1e6, theirs.as_secs_f64() * 1e6);
    println!("{name:<24}{:>8}{ours:>12.0}{theirs:>16.0}{ratio:>8.2}", bytes.div_ceil(1024));
}

/// A page of the size that large sites serve.
fn long_page() -> String {
    let menu = "<li class=\"menu-item\"><a href=\"/section/sub\" data-track=\"menu\">Section</a></li>".repeat(400);
    let script = "var a=1;if(a<2){console.log('<p>'+a+'</p>')}".repeat(2000);
    let paragraph =
        "<div class=\"block\"><p class=\"text\">The council met on <a href=\"/t\">Tuesday</a>, after long talks, to \
        decide about the <em>new</em> bridge over the river, which has been closed since the spring.</p></div>"
            .repeat(800);
    format!("<title>Long</title><nav><ul>{menu}</ul></nav><script>{script}</script><article>{paragraph}</article>")
}
