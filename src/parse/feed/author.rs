//! Who wrote an entry, out of the forms in which feeds say so.

/// A name and how far it can be trusted to be one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Author<'a> {
    Name(&'a str),
    /// A mail address alone: better than nothing.
    Mail(&'a str),
}

/// Reads `mail (Name)`, `Name <mail>`, `Name (mail)`, a name or a mail address. A blank is no author (s605).
pub(super) fn parse(text: &str) -> Option<Author<'_>> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let in_brackets = [('(', ')'), ('<', '>')].into_iter().find_map(|(open, close)| {
        let (before, inside) = text.strip_suffix(close)?.split_once(open)?;
        Some((before.trim().trim_matches('"').trim(), inside.trim()))
    });
    let Some((before, inside)) = in_brackets else {
        return Some(if is_mail(text) { Author::Mail(text) } else { Author::Name(text) });
    };
    match (is_mail(before), is_mail(inside)) {
        (true, false) if !inside.is_empty() => Some(Author::Name(inside)),
        (true, _) => Some(Author::Mail(before)),
        (false, true) if !before.is_empty() => Some(Author::Name(before)),
        (false, true) => Some(Author::Mail(inside)),
        // `(Name)` alone; `Name (Paper)` is a name as it stands.
        (false, false) if before.is_empty() && !inside.is_empty() => Some(Author::Name(inside)),
        (false, false) if before.is_empty() => None,
        (false, false) => Some(Author::Name(text)),
    }
}

fn is_mail(text: &str) -> bool {
    text.contains('@') && !text.starts_with('@') && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s605_the_name_is_found_beside_the_mail_address() {
        for (text, expected) in [
            ("joe@example.org (Joe Bloggs)", Some(Author::Name("Joe Bloggs"))),
            ("Joe Bloggs <joe@example.org>", Some(Author::Name("Joe Bloggs"))),
            ("\"Joe Bloggs\" <joe@example.org>", Some(Author::Name("Joe Bloggs"))),
            ("Joe Bloggs (joe@example.org)", Some(Author::Name("Joe Bloggs"))),
            ("John Smith", Some(Author::Name("John Smith"))),
            ("joe@example.org", Some(Author::Mail("joe@example.org"))),
            ("joe@example.org ()", Some(Author::Mail("joe@example.org"))),
            ("<joe@example.org>", Some(Author::Mail("joe@example.org"))),
            ("\"\" <joe@example.org>", Some(Author::Mail("joe@example.org"))),
            ("(Joe)", Some(Author::Name("Joe"))),
            ("Joe (The Daily)", Some(Author::Name("Joe (The Daily)"))),
            ("@joe", Some(Author::Name("@joe"))),
            ("日本@例え (山田)", Some(Author::Name("山田"))),
            (" \n ", None),
            ("()", None),
        ] {
            assert_eq!(parse(text), expected, "for {text:?}");
        }
    }
}
