//! The vocabulary: what an element means, by its name and by where it stands.

use crate::parse::namespace::Namespace;

/// What an open element is to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// `<rss>`, `<rdf:RDF>`, `<feed>` or `<channel>`: says things about the feed, holds entries.
    Channel,
    /// `<item>` or `<entry>`.
    Entry,
    /// `<media:group>`, `<media:content>`: says things about the entry around it.
    MediaGroup,
    /// `<content:items>` and what it holds: lists around the text of the entry.
    ContentItems,
    /// `<source>` of an Atom entry: the feed that the entry was taken from.
    Source,
    /// `<skipHours>`.
    SkipHours,
    /// `<skipDays>`.
    SkipDays,
    /// An element whose text matters.
    Field(Field),
    /// An element that says nothing a post needs, with all it holds.
    Skipped,
}

/// An element whose text matters: for what, and how much against others that say the same (less is better).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) slot: FieldSlot,
    pub(super) rank: u8,
}

/// What a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldSlot {
    Id,
    /// An RSS `guid`, which may be a link too.
    Guid,
    Title,
    Link,
    Published,
    Updated,
    Author,
    /// `<name>` inside an author.
    PersonName,
    /// `<email>` inside an author.
    PersonMail,
    Summary,
    Content,
    Category,
    /// An address of comments.
    Comments,
    Language,
    /// The playing time of an episode.
    Duration,
    Ttl,
    UpdatePeriod,
    UpdateFrequency,
    Hour,
    Day,
    /// Nothing; but unlike a skipped element it holds text only, so that a forgotten end tag can be noticed.
    Nothing,
}

impl FieldSlot {
    /// True for texts that may hold markup. In all others, tags say nothing.
    pub(super) const fn takes_markup(self) -> bool {
        matches!(self, FieldSlot::Title | FieldSlot::Summary | FieldSlot::Content)
    }
}

/// How good a mail address is as an author: worse than any name that the entry gives, better than a name from
/// elsewhere.
pub(super) const AUTHOR_MAIL_RANK: u8 = 4;

/// How good each kind of link is as the place where an entry can be read.
pub(super) mod link_rank {
    /// A link to a page; also what RSS calls a link.
    pub(in crate::parse::feed) const PAGE: u8 = 0;
    /// The entry in another form than a page.
    pub(in crate::parse::feed) const OTHER_FORM: u8 = 1;
    /// A guid that is an address.
    pub(in crate::parse::feed) const PERMALINK: u8 = 2;
    /// What an RDF item is about.
    pub(in crate::parse::feed) const ABOUT: u8 = 3;
    /// Something that the entry is about, or its text at another place.
    pub(in crate::parse::feed) const RELATED: u8 = 4;
    /// The entry as a document of its own.
    pub(in crate::parse::feed) const OWN_DOCUMENT: u8 = 5;
    /// An Atom id that is an address.
    pub(in crate::parse::feed) const ID: u8 = 6;
    /// A page that plays a film or a sound.
    pub(in crate::parse::feed) const PLAYER: u8 = 7;
    /// A file: a sound, a film, a picture.
    pub(in crate::parse::feed) const FILE: u8 = 8;
}

const fn field(slot: FieldSlot, rank: u8) -> Option<Element> {
    Some(Element::Field(Field { slot, rank }))
}

/// What an element means inside another one; nothing if it is not known there. `local` is in lower case.
pub(super) fn classify(context: Element, namespace: Namespace, local: &str, is_atom: bool) -> Option<Element> {
    match context {
        Element::Channel => in_channel(namespace, local),
        Element::Entry => in_entry(namespace, local, is_atom),
        Element::MediaGroup => match namespace {
            Namespace::Media => in_entry(namespace, local, is_atom),
            _ => None,
        },
        Element::ContentItems => match (namespace, local) {
            (Namespace::Rdf, "bag" | "seq" | "li") | (Namespace::Content, "item") => Some(Element::ContentItems),
            (Namespace::Rdf, "value") => field(FieldSlot::Content, 1),
            _ => None,
        },
        Element::Source => match (namespace, local) {
            (Namespace::Core | Namespace::Atom, "author") => field(FieldSlot::Author, 5),
            (Namespace::Core | Namespace::Atom, "title" | "id" | "updated" | "subtitle" | "rights") => {
                field(FieldSlot::Nothing, 0)
            }
            _ => None,
        },
        Element::SkipHours if local == "hour" => field(FieldSlot::Hour, 0),
        Element::SkipDays if local == "day" => field(FieldSlot::Day, 0),
        Element::Field(Field { slot: FieldSlot::Author, .. }) => match local {
            "name" => field(FieldSlot::PersonName, 0),
            "email" => field(FieldSlot::PersonMail, 0),
            "uri" | "url" | "homepage" => field(FieldSlot::Nothing, 0),
            _ => None,
        },
        Element::SkipHours | Element::SkipDays | Element::Field(_) | Element::Skipped => None,
    }
}

fn in_channel(namespace: Namespace, local: &str) -> Option<Element> {
    match namespace {
        Namespace::Core | Namespace::Atom => match local {
            "item" | "entry" => Some(Element::Entry),
            "channel" => Some(Element::Channel),
            "title" => field(FieldSlot::Title, 0),
            "link" => field(FieldSlot::Link, link_rank::PAGE),
            "author" => field(FieldSlot::Author, 0),
            "ttl" => field(FieldSlot::Ttl, 0),
            "language" => field(FieldSlot::Language, 0),
            "skiphours" => Some(Element::SkipHours),
            "skipdays" => Some(Element::SkipDays),
            "image" | "textinput" | "items" | "contributor" => Some(Element::Skipped),
            "description" | "subtitle" | "tagline" | "id" | "updated" | "modified" | "rights" | "copyright"
            | "generator" | "pubdate" | "lastbuilddate" | "docs" | "managingeditor" | "webmaster" | "category"
            | "icon" | "logo" | "rating" => field(FieldSlot::Nothing, 0),
            _ => None,
        },
        Namespace::DublinCore | Namespace::DublinCoreTerms => match local {
            "title" => field(FieldSlot::Title, 1),
            "language" => field(FieldSlot::Language, 1),
            _ => field(FieldSlot::Nothing, 0),
        },
        Namespace::Syndication => match local {
            "updateperiod" => field(FieldSlot::UpdatePeriod, 0),
            "updatefrequency" => field(FieldSlot::UpdateFrequency, 0),
            _ => None,
        },
        _ => None,
    }
}

fn in_entry(namespace: Namespace, local: &str, is_atom: bool) -> Option<Element> {
    match namespace {
        Namespace::Core | Namespace::Atom => match local {
            "title" => field(FieldSlot::Title, 0),
            "link" => field(FieldSlot::Link, link_rank::PAGE),
            "guid" => field(FieldSlot::Guid, 0),
            "id" => field(FieldSlot::Id, 0),
            "pubdate" | "published" | "issued" => field(FieldSlot::Published, 0),
            "created" | "date" => field(FieldSlot::Published, 2),
            "updated" | "modified" => field(FieldSlot::Updated, 0),
            "author" => field(FieldSlot::Author, 0),
            "creator" => field(FieldSlot::Author, 3),
            "description" => field(FieldSlot::Summary, 0),
            "body" | "fulltext" | "fullitem" if !is_atom => field(FieldSlot::Content, 2),
            "summary" => field(FieldSlot::Summary, if is_atom { 0 } else { 1 }),
            "content" => field(FieldSlot::Content, if is_atom { 0 } else { 1 }),
            "source" if is_atom => Some(Element::Source),
            "category" => field(FieldSlot::Category, 0),
            "comments" => field(FieldSlot::Comments, 0),
            "enclosure" | "rights" | "copyright" | "source" => field(FieldSlot::Nothing, 0),
            "contributor" => Some(Element::Skipped),
            _ => None,
        },
        Namespace::Content => match local {
            "encoded" => field(FieldSlot::Content, 0),
            "items" => Some(Element::ContentItems),
            _ => None,
        },
        Namespace::DublinCore | Namespace::DublinCoreTerms => match local {
            "title" => field(FieldSlot::Title, 1),
            "creator" | "author" => field(FieldSlot::Author, 1),
            "date" | "issued" => field(FieldSlot::Published, 1),
            "created" => field(FieldSlot::Published, 2),
            "modified" => field(FieldSlot::Updated, 1),
            "description" | "abstract" => field(FieldSlot::Summary, 2),
            "identifier" => field(FieldSlot::Id, 2),
            "subject" => field(FieldSlot::Category, 0),
            "language" => field(FieldSlot::Language, 1),
            _ => field(FieldSlot::Nothing, 0),
        },
        Namespace::Itunes => match local {
            "author" => field(FieldSlot::Author, 2),
            "title" => field(FieldSlot::Title, 2),
            "summary" => field(FieldSlot::Summary, 4),
            "subtitle" => field(FieldSlot::Summary, 5),
            "duration" => field(FieldSlot::Duration, 0),
            "image" | "category" | "explicit" | "keywords" | "episode" | "season" | "order" | "block" => {
                field(FieldSlot::Nothing, 0)
            }
            _ => None,
        },
        Namespace::Media => match local {
            "group" | "content" => Some(Element::MediaGroup),
            "title" => field(FieldSlot::Title, 3),
            "description" => field(FieldSlot::Summary, 3),
            "credit" => field(FieldSlot::Author, 3),
            "category" => field(FieldSlot::Category, 0),
            "player" | "thumbnail" | "keywords" | "rating" | "copyright" | "text" => field(FieldSlot::Nothing, 0),
            _ => None,
        },
        // An article in an RSS item, as `<body xmlns="http://www.w3.org/1999/xhtml">`.
        Namespace::Xhtml => match local {
            "body" | "div" | "section" | "article" | "main" => field(FieldSlot::Content, 2),
            _ => None,
        },
        _ => None,
    }
}

/// True for a name that HTML has too, so that it cannot be told from markup inside a text.
pub(super) fn may_be_html(local: &str, expects_markup: bool, is_atom: bool) -> bool {
    match local {
        "body" => true,
        "source" | "summary" => expects_markup || !is_atom,
        "title" | "link" => expects_markup,
        _ => false,
    }
}
