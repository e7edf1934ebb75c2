//! The examples of RFC 9309 and of Google's documentation, and what people write instead.

use rstest::rstest;

use super::*;

fn url(path: &str) -> Url {
    Url::parse("https://site.example").unwrap().join(path).unwrap()
}

fn allows(file: impl AsRef<[u8]>, product: &str, path: &str) -> bool {
    Robots::parse(file.as_ref()).allows(product, &url(path)).is_allowed
}

/// What the file says about the path to us, in words.
fn said(file: &str, path: &str) -> String {
    Robots::parse(file.as_bytes()).allows("feedwarden", &url(path)).to_string()
}

/// RFC 9309, 5.1.
const SIMPLE: &str = "User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
";

#[rstest]
#[case("feedwarden", "/a.gif", false)]
#[case("feedwarden", "/a.gif?x", true)]
#[case("feedwarden", "/example/page.html", false)]
#[case("feedwarden", "/publications/", true)]
#[case("feedwarden", "/", true)]
#[case("foobot", "/", false)]
#[case("foobot", "/publications/", false)]
#[case("foobot", "/example/page.html", true)]
#[case("foobot", "/example/allowed.gif", true)]
#[case("FooBot/2.1 (+https://foo.example)", "/", false)]
#[case("barbot", "/example/page.html", false)]
#[case("barbot", "/example/", true)]
#[case("bazbot", "/example/page.html", false)]
// Named, so that the rules for `*` do not apply.
#[case("quxbot", "/example/", true)]
fn p29_the_simple_example_of_the_standard(#[case] product: &str, #[case] path: &str, #[case] expected: bool) {
    assert_eq!(allows(SIMPLE, product, path), expected);
}

#[test]
fn p29_the_longest_match_of_the_standard_wins() {
    // RFC 9309, 5.2.
    let file = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
    assert!(allows(file, "foobot", "/example/page/"));
    assert!(!allows(file, "foobot", "/example/page/disallowed.gif"));
}

#[rstest]
#[case("/foo/bar?baz=quz", "/foo/bar?baz=quz")]
#[case("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar")]
#[case("/foo/bar/ツ", "/foo/bar/%E3%83%84")]
#[case("/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84")]
#[case("/foo/bar/%62%61%7A", "/foo/bar/baz")]
#[case("/path/file-with-a-%2A.html", "/path/file-with-a-*.html")]
#[case("/path/foo-%24", "/path/foo-$")]
#[case("/a b", "/a%20b")]
#[case("/a|b", "/a%7Cb")]
fn p29_two_spellings_of_a_path_are_one_path(#[case] one: &str, #[case] other: &str) {
    for (pattern, path) in [(one, other), (other, one), (one, one), (other, other)] {
        // A bare star or a last dollar in a pattern is a wildcard, which is another matter.
        if !pattern.contains(['*', '$']) {
            assert!(!allows(format!("User-agent: *\nDisallow: {pattern}$"), "feedwarden", path), "{pattern} {path}");
        }
    }
    assert!(allows("User-agent: *\nDisallow: /a%2Fb", "feedwarden", "/a/b"), "a slash in a path is no reference");
}

/// Google's documentation, "URL matching based on path values".
#[rstest]
#[case("/", &["/", "/any?thing"], &[])]
#[case("/*", &["/", "/any?thing"], &[])]
#[case("/$", &["/"], &["/any", "/?x"])]
#[case("/fish", &["/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fish.php?id=anything"],
    &["/Fish.asp", "/catfish", "/?id=fish", "/desert/fish"])]
#[case("/fish*", &["/fish", "/fish.html", "/fish/salmon.html", "/fishheads"], &["/Fish.asp", "/catfish", "/?id=fish"])]
#[case("/fish/", &["/fish/", "/fish/?id=anything", "/fish/salmon.htm"], &["/fish", "/fish.html", "/animals/fish/"])]
#[case("/*.php", &["/index.php", "/filename.php", "/folder/filename.php?parameters", "/folder/any.php.file.html",
    "/filename.php/"], &["/", "/windows.PHP"])]
#[case("/*.php$", &["/filename.php", "/folder/filename.php"], &["/filename.php?parameters", "/filename.php/",
    "/filename.php5", "/windows.PHP"])]
#[case("/fish*.php", &["/fish.php", "/fishheads/catfish.php?parameters"], &["/Fish.PHP"])]
// A place that fits too early is no reason to give up.
#[case("/*.php*.php$", &["/a.php/b.php/c.php"], &["/a.php", "/a.php/b"])]
#[case("/a*b$", &["/ab", "/abb", "/a/b/b"], &["/a", "/abc"])]
#[case("*.gif", &["/x.gif", "/y/x.gif?z"], &["/x.png"])]
#[case("fish", &["/fish"], &["/catfish"])]
#[case("/price$list", &["/price$list"], &["/price"])]
#[case("", &[], &["/"])]
fn p29_patterns_match_as_documented(#[case] pattern: &str, #[case] refused: &[&str], #[case] allowed: &[&str]) {
    let file = format!("user-agent: *\ndisallow: {pattern}\n");
    for path in refused {
        assert!(!allows(&file, "feedwarden", path), "{pattern} {path}");
    }
    for path in allowed {
        assert!(allows(&file, "feedwarden", path), "{pattern} {path}");
    }
}

/// Google's documentation, "Order of precedence for rules".
#[rstest]
#[case("allow: /p\ndisallow: /", "/page", "allowed by line 2, Allow: /p")]
#[case("allow: /folder\ndisallow: /folder", "/folder/page", "allowed by line 2, Allow: /folder")]
#[case("disallow: /folder\nallow: /folder", "/folder/page", "allowed by line 3, Allow: /folder")]
#[case("allow: /page\ndisallow: /*.htm", "/page.htm", "refused by line 3, Disallow: /*.htm")]
#[case("allow: /page\ndisallow: /*.ph", "/page.php5", "allowed by line 2, Allow: /page")]
#[case("allow: /$\ndisallow: /", "/", "allowed by line 2, Allow: /$")]
#[case("allow: /$\ndisallow: /", "/page.htm", "refused by line 3, Disallow: /")]
#[case("disallow: /a", "/b", "allowed, since no line speaks of it")]
#[case("disallow: /\ndisallow: /", "/b", "refused by line 2, Disallow: /")]
#[case("disallow: /", "/robots.txt", "allowed, since no line speaks of it")]
fn p29_the_most_specific_line_decides_and_is_named(#[case] rules: &str, #[case] path: &str, #[case] expected: &str) {
    assert_eq!(said(&format!("user-agent: *\n{rules}\n"), path), expected);
}

#[rstest]
// Several groups for one product are one, those for others are not ours.
#[case("User-agent: feedwarden\nDisallow: /a\nUser-agent: *\nDisallow: /\nUser-agent: FEEDWARDEN\nDisallow: /x", false)]
#[case("User-agent: feedwarden\nDisallow: /a\nUser-agent: *\nDisallow: /x", true)]
#[case("User-agent: *\nDisallow: /a\nUser-agent: *\nDisallow: /x", false)]
#[case("User-agent: other\nDisallow: /x", true)]
// A version, a comment or more words behind the name.
#[case("User-agent: FeedWarden/1.0\nDisallow: /x", false)]
#[case("User-agent: feedwarden the poller # ours\nDisallow: /x", false)]
#[case("User-agent: feedwarden-images\nDisallow: /x", true)]
#[case("User-agent: * the rest\nDisallow: /x", false)]
#[case("User-agent: *bot\nDisallow: /x", true)]
#[case("User-agent:\nDisallow: /x", true)]
// Nothing but a rule ends the names of a group.
#[case("User-agent: feedwarden\nSitemap: https://s.example/\n\nnonsense\nUser-agent: other\nDisallow: /x", false)]
#[case("User-agent: feedwarden\nCrawl-delay: 5\nUser-agent: other\nDisallow: /x", false)]
#[case("User-agent: feedwarden\nDisallow:\nUser-agent: other\nDisallow: /x", true)]
// Rules before any name.
#[case("Disallow: /x\nUser-agent: *\nAllow: /y", true)]
// Typing errors, blanks, line ends, marks.
#[case("useragent : *\nDISSALLOW : /x", false)]
#[case("User-agent *\nDisallow /x", false)]
#[case("User-agent: *\nDisallow /x and more", true)]
#[case("  User-agent:\t*  \r\n\r\n\tDisallow:/x\t# why\r\n", false)]
#[case("User-agent: *\rDisallow: /x\r", false)]
#[case("\u{feff}User-agent: *\nDisallow: /x", false)]
#[case("User-agent: *\nDisallow: # /x", true)]
#[case("<html><body>User-agent: *</body>\nDisallow: /x", true)]
#[case("", true)]
fn p29_groups_are_found_as_people_write_them(#[case] file: &str, #[case] expected: bool) {
    assert_eq!(allows(file, "feedwarden", "/x"), expected);
}

#[test]
fn p29_a_product_without_a_name_is_everybody() {
    assert!(!allows("User-agent:\nAllow: /\nUser-agent: *\nDisallow: /x", "", "/x"));
}

#[test]
fn p29_lines_are_numbered_whatever_ends_them() {
    for end in ["\n", "\r", "\r\n"] {
        let file = ["# one", "", "User-agent: *", "Disallow: /x"].join(end);
        assert_eq!(said(&file, "/x"), "refused by line 4, Disallow: /x");
    }
}

#[test]
fn p29_bytes_that_are_not_utf_8_are_the_bytes_of_a_path() {
    let file = b"User-agent: *\nDisallow: /\xe4\xff\n\xff\xfe: \x00\nDisallow: /b\n";
    assert!(!allows(file, "feedwarden", "/%E4%FF"));
    assert!(!allows(file, "feedwarden", "/b"));
    assert!(allows(file, "feedwarden", "/%E4"));
}

#[test]
fn p29_what_stands_behind_500_kib_is_not_read_and_no_rule_is_cut_in_two() {
    let rule = "\nDisallow: /private";
    let start = "User-agent: *\n#";
    let filled = |total: usize| format!("{start}{}{rule}", "x".repeat(total - start.len() - rule.len()));
    assert!(!allows(filled(FILE_BYTES_MAX), "feedwarden", "/private"));
    assert!(!allows(filled(FILE_BYTES_MAX) + "\nAllow: /private", "feedwarden", "/private"));
    for over in 1..rule.len() + 1 {
        assert!(allows(filled(FILE_BYTES_MAX + over), "feedwarden", "/private"), "{over} over");
    }
    assert_eq!(whole_lines(b"a\nb\ncd", 3), b"a\nb");
    assert_eq!(whole_lines(b"a\nb\ncd", 5), b"a\nb");
    assert_eq!(whole_lines(b"a\nb\ncd", 6), b"a\nb\ncd");
    assert_eq!(whole_lines(b"abc", 2), b"");
}

#[test]
fn p29_hostile_files_are_matched_in_linear_time() {
    let path = url(&format!("/{}", "a".repeat(100_000)));
    let hostile = [
        format!("User-agent: *\nDisallow: /{}b\n", "a*".repeat(2000)),
        format!("User-agent: *\n{}", "Disallow: /*aaaaaaaab\n".repeat(23_000)),
        format!("User-agent: *\nDisallow: {}$\n", "*a".repeat(2000)),
        "User-agent: a\nCrawl-delay: 1\n".repeat(20_000),
        format!("{}Crawl-delay: 1\nDisallow: /b", "User-agent: *\n".repeat(36_000)),
    ];
    for file in hostile {
        // Tried at every place, any of these would take minutes.
        let robots = Robots::parse(file.as_bytes());
        robots.allows("feedwarden", &path);
        assert!(robots.groups.iter().map(|group| group.rules.len()).sum::<usize>() <= RULES_MAX);
    }
}
