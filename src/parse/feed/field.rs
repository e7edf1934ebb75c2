//! Gathers the text of one element, whether it comes escaped, in CDATA sections or as markup.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use memchr::memchr;

use super::mixed;
use super::{Text, TextKind};
use crate::parse::xml::Tag;
use crate::parse::{control, entity};

/// The padding is often missing.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How an element says its text is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// RSS says nothing: HTML, escaped or not.
    #[default]
    Unsaid,
    Plain,
    Html,
    /// Markup inside the element.
    Markup,
    /// Perhaps HTML in base64: what Atom has for every type that is neither text nor XML.
    Base64,
    /// A picture or the like.
    NoText,
}

/// The form that `type` and `mode` of an Atom element name (RFC 4287, section 3.1; Atom 0.3, section 3.1).
pub(super) fn atom_form(media_type: Option<&str>, mode: Option<&str>) -> Form {
    let media_type = media_type.unwrap_or("text").trim().to_ascii_lowercase();
    let mode = mode.map(|mode| mode.trim().to_ascii_lowercase());
    let is_text = media_type.is_empty() || media_type.starts_with("text") || media_type.contains("html");
    match (media_type.as_str(), mode.as_deref()) {
        (_, Some("base64")) if is_text => Form::Base64,
        (_, Some("base64")) => Form::NoText,
        ("text" | "text/plain" | "", None) => Form::Plain,
        ("text/plain", Some(_)) => Form::Plain,
        ("html" | "text/html", Some("xml")) => Form::Markup,
        (_, Some("escaped")) => Form::Html,
        ("xhtml" | "application/xhtml+xml", _) => Form::Markup,
        (other, _) if other.ends_with("+xml") || other.ends_with("/xml") => Form::Markup,
        _ if is_text => Form::Html,
        // `type="plain"` and other words that are no media type.
        (other, _) if !other.contains('/') => Form::Unsaid,
        (other, _) if ["image/", "audio/", "video/", "font/"].iter().any(|kind| other.starts_with(kind)) => {
            Form::NoText
        }
        _ => Form::Base64,
    }
}

/// The text of the element that is being read. One of these serves for all elements, so that its buffer is reused.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    buffer: String,
    form: Form,
    /// Where the element's content begins in the source.
    start: usize,
    /// True once a tag stood in it, so that references have to stay as they are.
    is_markup: bool,
    has_cdata: bool,
    /// True once a `&lt;` was kept undecoded, because the text holds tags.
    has_escaped_brackets: bool,
    /// How many elements of the field's own name are open inside it.
    pub(super) same_name_depth: usize,
    /// Open `<div>`s, to find the outer one that RFC 4287 requires, which is dropped.
    div_depth: usize,
    is_wrapped: bool,
    /// True once there is enough.
    is_frozen: bool,
    /// How good the text of a link is as one, by its `rel`; none if it is not one at all.
    pub(super) link_rank: Option<u8>,
    /// `isPermaLink`, on a `guid`.
    pub(super) is_permalink: Option<bool>,
}

impl Gathered {
    /// Starts with the element whose content begins here.
    pub(super) fn begin(&mut self, form: Form, start: usize) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        *self = Gathered { buffer, form, start, ..Gathered::default() };
    }

    /// Where the element's content begins in the source.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// True if the element said that markup would come.
    pub(super) fn expects_markup(&self) -> bool {
        self.form == Form::Markup
    }

    /// True once the `<div>` around the whole has been closed.
    pub(super) fn is_after_wrapper(&self) -> bool {
        self.is_wrapped && self.div_depth == 0
    }

    /// Takes no more, unless there is nothing yet.
    pub(super) fn freeze(&mut self) {
        self.is_frozen |= !self.buffer.trim().is_empty();
    }

    pub(super) fn text(&mut self, text: &str) {
        if self.is_frozen {
            return;
        }
        self.note_content(text);
        self.buffer.push_str(text);
    }

    pub(super) fn reference(&mut self, name: &str) {
        if self.is_frozen {
            return;
        }
        self.note_content(name);
        if self.is_markup {
            self.has_escaped_brackets |= name == "lt";
            self.buffer.extend(["&", name, ";"]);
        } else {
            entity::push_reference(&mut self.buffer, name);
        }
    }

    /// Takes the value of an entity that the document declares, in the form in which it was declared.
    pub(super) fn declared(&mut self, value: &str) {
        if self.is_markup {
            self.text(value);
        } else {
            self.text(&entity::decode(value));
        }
    }

    pub(super) fn cdata(&mut self, text: &str) {
        if self.is_frozen {
            return;
        }
        self.note_content(text);
        self.has_cdata = true;
        if self.expects_markup() {
            // In XHTML a CDATA section is characters, and characters have to be escaped in the HTML that this becomes.
            for character in text.chars() {
                match character {
                    '<' => self.buffer.push_str("&lt;"),
                    '&' => self.buffer.push_str("&amp;"),
                    other => self.buffer.push(other),
                }
            }
        } else {
            self.buffer.push_str(text);
        }
    }

    /// Takes a start tag as part of the text. `before` is the source from the content's start up to here.
    pub(super) fn open_tag(&mut self, tag: &Tag<'_>, local: &str, is_html: bool, before: &str) {
        self.turn_to_markup(before);
        self.note_content(tag.name);
        let is_div = local.eq_ignore_ascii_case("div");
        if is_div && !tag.is_empty {
            self.is_wrapped |= self.buffer.trim().is_empty();
            self.div_depth += 1;
        }
        // An HTML element keeps its name and loses its prefix: `<xhtml:p>` is unknown to everyone who reads HTML.
        let name = if is_html { local } else { tag.name };
        self.buffer.extend(["<", name, tag.after_name(), if tag.is_empty { "/>" } else { ">" }]);
    }

    /// Takes an end tag as part of the text, if tags are part of it.
    pub(super) fn close_tag(&mut self, name: &str, local: &str, is_html: bool) {
        if !self.is_markup {
            return;
        }
        self.buffer.extend(["</", if is_html { local } else { name }, ">"]);
        if local.eq_ignore_ascii_case("div") {
            self.div_depth = self.div_depth.saturating_sub(1);
        }
    }

    /// The text without surrounding blanks and without the control characters that XML forbids, if any is left.
    pub(super) fn plain(&mut self) -> Option<&str> {
        control::remove_forbidden(&mut self.buffer);
        // C1 controls in UTF-8 are Windows characters that were converted as Latin 1; all of them begin with C2.
        if memchr(0xC2, self.buffer.as_bytes()).is_some() && self.buffer.contains(entity::is_c1) {
            self.buffer = self.buffer.chars().map(entity::without_c1).collect();
        }
        Some(self.buffer.trim()).filter(|text| !text.is_empty())
    }

    /// The text and how to read it, if there is any. A summary or content that calls itself plain and is full of tags
    /// is not taken at its word.
    pub(super) fn finish(&mut self, distrusts_plain: bool) -> Option<Text> {
        if self.form == Form::Base64 {
            self.decode_base64()?;
        }
        let (form, is_markup, is_wrapped) = (self.form, self.is_markup, self.is_wrapped);
        if self.has_escaped_brackets
            && matches!(form, Form::Unsaid | Form::Html)
            && let Some(whole) = mixed::decoded(&self.buffer)
        {
            self.buffer = whole;
        }
        let text = self.plain()?;
        let text = if form == Form::Markup && is_wrapped { unwrapped(text) } else { text };
        let kind = match form {
            Form::NoText => return None,
            Form::Plain if is_markup || distrusts_plain && has_tags(text) => TextKind::Html,
            Form::Plain if text.contains('&') => {
                let value = decoded_twice(text);
                let value = value.trim();
                return (!value.is_empty()).then(|| Text { value: value.into(), kind: TextKind::Plain });
            }
            Form::Plain => TextKind::Plain,
            _ => TextKind::Html,
        };
        (!text.is_empty()).then(|| Text { value: text.into(), kind })
    }

    fn turn_to_markup(&mut self, before: &str) {
        if !self.is_markup && !self.has_cdata {
            self.buffer.clear();
            self.buffer.push_str(before);
            self.has_escaped_brackets = before.contains("&lt;");
        }
        self.is_markup = true;
    }

    /// Anything after the end of the first `<div>` means that it was not around the whole.
    fn note_content(&mut self, content: &str) {
        if self.is_wrapped && self.div_depth == 0 && !content.trim().is_empty() {
            self.is_wrapped = false;
        }
    }

    fn decode_base64(&mut self) -> Option<()> {
        self.buffer.retain(|character| !character.is_whitespace());
        let bytes = BASE64.decode(&self.buffer).ok()?;
        self.buffer = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
        Some(())
    }
}

/// The inside of the `<div>` around a text.
fn unwrapped(text: &str) -> &str {
    let inside = text.find('>').map(|end| &text[end + 1..]);
    inside.and_then(|inside| inside.strip_suffix("</div>")).map_or(text, str::trim)
}

/// Plain text in which references are left, because it was escaped twice. Those for angle brackets stay: they may be
/// meant, and would look like tags.
fn decoded_twice(text: &str) -> String {
    entity::decode(&text.replace("&lt;", "&amp;lt;").replace("&gt;", "&amp;gt;"))
}

/// True if a text holds what can only be HTML.
pub(super) fn has_tags(text: &str) -> bool {
    text.contains("</") || ["<p>", "<br", "<img "].iter().any(|tag| text.contains(tag))
}
