//! What it costs to read a page, beside dom_smoothie alone on the same page.
//!
//! `cargo bench --bench website`. The bar: at most one and a half times dom_smoothie's own parse, over all pages.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use dom_smoothie::Readability;
use feedwarden::parse::website;

const ROUNDS: usize = 40;

fn main() {
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
