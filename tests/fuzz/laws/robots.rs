//! robots.txt to verdicts: a refusal names its line, and what a reader would not see changes nothing.

use feedwarden::parse::robots::{Robots, Verdict};
use url::Url;

/// What a person is shown of a line.
const LINE_CHARS_MAX: usize = 200;

/// Holds the laws against one file, whose first line is the page that is asked about.
pub(crate) fn check(input: &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let path = String::from_utf8_lossy(&input[..end]);
    let base = Url::parse("https://site.example/").expect("a constant URL is one");
    let Ok(page) = base.join(&path) else { return };
    let robots = Robots::parse(input);
    let verdict = robots.allows("feedwarden", &page);
    check_verdict(&verdict, input);
    check_verdict(&robots.allows("another", &page), input);

    assert!(robots.allows("feedwarden", &base.join("/robots.txt").expect("a path is one")).is_allowed);
    assert_eq!(robots.allows("FeedWarden/7 (+https://x.example)", &page), verdict, "a product is named in any case");
    let mut fragment = page.clone();
    fragment.set_fragment(Some("part"));
    assert_eq!(robots.allows("feedwarden", &fragment), verdict, "a fragment is no part of what is asked for");
    assert_eq!(Robots::parse(&[input, b"\n# end\n\nSitemap: /x\n"].concat()), robots, "a comment changes the rules");
    if !input.contains(&b'\r') {
        let other_ends: Vec<u8> = input.iter().map(|byte| if *byte == b'\n' { b'\r' } else { *byte }).collect();
        assert_eq!(Robots::parse(&other_ends), robots, "line ends change the rules");
    }
}

fn check_verdict(verdict: &Verdict, input: &[u8]) {
    let Some(line) = &verdict.decided_by else {
        assert!(verdict.is_allowed, "refused by no line");
        return;
    };
    let lines = input.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() + 1;
    assert!((1..=lines).contains(&line.number), "line {} of {lines}", line.number);
    assert!(line.text.chars().count() <= LINE_CHARS_MAX && !line.text.contains(char::is_control), "{:?}", line.text);
    assert_eq!(line.text.starts_with("Allow: "), verdict.is_allowed, "{:?} says otherwise", line.text);
}
