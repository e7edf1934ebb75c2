//! Finds the vocabulary of an element by the namespace URI, or by the usual prefix if the URI is
//! missing or wrong.

/// Vocabularies with information about a feed or its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Namespace {
    /// RSS in all its versions, and names without any namespace.
    Core,
    Atom,
    Rdf,
    Content,
    DublinCore,
    DublinCoreTerms,
    Itunes,
    Media,
    Syndication,
    Xhtml,
    Other,
}

/// Maximum number of declarations at one element; more would make lookups slow.
const BINDINGS_MAX: usize = 100;

/// Namespace declarations in scope.
#[derive(Default)]
pub(super) struct NamespaceScope<'a> {
    bindings: Vec<(&'a str, Namespace)>,
}

impl<'a> NamespaceScope<'a> {
    /// Number of declarations in scope; [`NamespaceScope::leave`] restores it.
    pub(super) fn depth(&self) -> usize {
        self.bindings.len()
    }

    pub(super) fn leave(&mut self, depth: usize) {
        self.bindings.truncate(depth);
    }

    /// Adds a declaration. `is_root`: it is on the root element or one of its children, where an
    /// unknown default namespace is a mistake and not another vocabulary.
    pub(super) fn declare(&mut self, prefix: &'a str, uri: &str, is_root: bool) {
        let namespace = match from_uri(uri) {
            Some(namespace) => namespace,
            None if prefix.is_empty() && is_root => Namespace::Core,
            None if prefix.is_empty() => Namespace::Other,
            None => from_prefix(prefix),
        };
        let in_force = self.bindings.iter().rev().find(|(bound, _)| *bound == prefix).map(|(_, namespace)| *namespace);
        if in_force != Some(namespace) && self.bindings.len() < BINDINGS_MAX {
            self.bindings.push((prefix, namespace));
        }
    }

    /// Splits a name into its namespace and its local part.
    pub(super) fn resolve<'n>(&self, name: &'n str) -> (Namespace, &'n str) {
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        let namespace = match self.bindings.iter().rev().find(|(bound, _)| *bound == prefix) {
            Some((_, namespace)) => *namespace,
            None if prefix.is_empty() => Namespace::Core,
            None => from_prefix(prefix),
        };
        (namespace, local)
    }
}

/// The namespace of a URI, with scheme, `www.`, case and a final slash or hash set aside.
fn from_uri(uri: &str) -> Option<Namespace> {
    // Longer than any known URI: not worth folding.
    if uri.len() > 100 {
        return None;
    }
    let uri = uri.trim().to_ascii_lowercase();
    let bare = uri.strip_prefix("http://").or_else(|| uri.strip_prefix("https://")).unwrap_or(&uri);
    let bare = bare.strip_prefix("www.").unwrap_or(bare).trim_end_matches(['/', '#']);
    Some(match bare {
        "" => Namespace::Core,
        "purl.org/rss/1.0" | "purl.org/net/rss1.1" => Namespace::Core,
        "my.netscape.com/rdf/simple/0.9" | "channel.netscape.com/rdf/simple/0.9" => Namespace::Core,
        "my.netscape.com/publish/formats/rss-0.91.dtd" | "cyber.law.harvard.edu/rss" => Namespace::Core,
        "backend.userland.com/rss" | "backend.userland.com/rss2" | "backend.userland.com/rss091" => Namespace::Core,
        "blogs.law.harvard.edu/tech/rss" | "rssboard.org/rss-specification" => Namespace::Core,
        "w3.org/2005/atom" | "purl.org/atom/ns" | "purl.org/echo" | "example.com/newformat" => Namespace::Atom,
        "w3.org/1999/02/22-rdf-syntax-ns" => Namespace::Rdf,
        "purl.org/rss/1.0/modules/content" | "purl.org/rss/modules/content" => Namespace::Content,
        "purl.org/dc/elements/1.0" | "purl.org/dc/elements/1.1" | "purl.org/metadata/dublin_core" => {
            Namespace::DublinCore
        }
        "purl.org/dc/terms" => Namespace::DublinCoreTerms,
        "itunes.com/dtds/podcast-1.0.dtd" | "itunes.com/dtds/podcast-1.0" | "example.com/dtds/podcast-1.0.dtd" => {
            Namespace::Itunes
        }
        "search.yahoo.com/mrss" | "tools.search.yahoo.com/mrss" | "video.search.yahoo.com/mrss" => Namespace::Media,
        "purl.org/rss/1.0/modules/syndication" => Namespace::Syndication,
        "w3.org/1999/xhtml" => Namespace::Xhtml,
        _ => return None,
    })
}

/// The namespace that a prefix nearly always stands for.
fn from_prefix(prefix: &str) -> Namespace {
    match prefix {
        "rss" => Namespace::Core,
        "atom" | "a10" | "atom10" | "atom03" => Namespace::Atom,
        "rdf" => Namespace::Rdf,
        "content" => Namespace::Content,
        "dc" => Namespace::DublinCore,
        "dcterms" | "dct" => Namespace::DublinCoreTerms,
        "itunes" => Namespace::Itunes,
        "media" => Namespace::Media,
        "sy" => Namespace::Syndication,
        "xhtml" | "html" => Namespace::Xhtml,
        _ => Namespace::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_known_in_all_its_spellings() {
        for uri in [
            "http://www.w3.org/2005/Atom",
            "https://www.w3.org/2005/Atom",
            "http://www.w3.org/2005/Atom/",
            "http://purl.org/atom/ns#",
        ] {
            assert_eq!(from_uri(uri), Some(Namespace::Atom), "{uri}");
        }
        assert_eq!(from_uri("http://www.itunes.com/DTDs/Podcast-1.0.dtd"), Some(Namespace::Itunes));
        assert_eq!(from_uri("http://example.org/other"), None);
    }

    #[test]
    fn a_declared_prefix_means_its_uri_and_an_undeclared_one_its_habit() {
        let mut scope = NamespaceScope::default();
        assert_eq!(scope.resolve("dc:creator"), (Namespace::DublinCore, "creator"));
        scope.declare("x", "http://purl.org/dc/elements/1.1/", true);
        scope.declare("dc", "http://www.w3.org/2005/Atom", false);
        assert_eq!(scope.resolve("x:creator"), (Namespace::DublinCore, "creator"));
        assert_eq!(scope.resolve("dc:creator"), (Namespace::Atom, "creator"));
        scope.leave(1);
        assert_eq!(scope.resolve("dc:creator"), (Namespace::DublinCore, "creator"));
        assert_eq!(scope.resolve("unheard:of"), (Namespace::Other, "of"));
    }

    #[test]
    fn an_unknown_default_namespace_counts_only_below_the_root() {
        let mut scope = NamespaceScope::default();
        scope.declare("", "http://example.org/typo", true);
        assert_eq!(scope.resolve("title"), (Namespace::Core, "title"));
        scope.declare("", "http://example.org/extension", false);
        assert_eq!(scope.resolve("title"), (Namespace::Other, "title"));
    }

    #[test]
    fn a_flood_of_declarations_is_not_kept() {
        let prefixes: Vec<String> = (0..1000).map(|number| format!("p{number}")).collect();
        let mut scope = NamespaceScope::default();
        for prefix in &prefixes {
            scope.declare(prefix, "http://www.w3.org/2005/Atom", false);
        }
        assert_eq!(scope.depth(), BINDINGS_MAX);
    }
}
