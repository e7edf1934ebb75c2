//! Entities that a document declares for itself: `<!ENTITY press "The Press">`.
//!
//! Only attacks make them long or many, so their number, their length and what they add to a document are bounded. What
//! is beyond a bound stays in the text as it is written. Entities kept elsewhere (`SYSTEM`, `PUBLIC`) are never read.

use std::borrow::Cow;

use crate::parse::entity;

const ENTITIES_MAX: usize = 256;
/// Bytes of one entity, those that it refers to included.
const VALUE_BYTES_MAX: usize = 1024;

#[derive(Debug)]
pub(super) struct Declared<'a> {
    /// Name and value; the value as in the source, with references to characters.
    entities: Vec<(&'a str, String)>,
    /// How many bytes may still be added to the document.
    bytes_left: usize,
}

impl<'a> Declared<'a> {
    pub(super) fn new(document_bytes: usize) -> Declared<'a> {
        Declared { entities: Vec::new(), bytes_left: document_bytes.saturating_add(64 * 1024) }
    }

    /// Reads the declarations in the inside of a `<!DOCTYPE …>`. Each may refer to those before it.
    pub(super) fn read(&mut self, doctype: &'a str) {
        let mut rest = doctype;
        while let Some(start) = rest.find("<!") {
            rest = &rest[start + 2..];
            if let Some(comment) = rest.strip_prefix("--") {
                rest = comment.split_once("-->").map_or("", |(_, after)| after);
            } else if let Some((name, value, after)) = rest.strip_prefix("ENTITY").and_then(declaration) {
                rest = after;
                self.declare(name, value);
            }
        }
    }

    /// The value of an entity, unless the document has grown too much already.
    pub(super) fn value(&mut self, name: &str) -> Option<&str> {
        let (_, value) = self.entities.iter().find(|(known, _)| *known == name)?;
        self.bytes_left = self.bytes_left.checked_sub(value.len())?;
        Some(value)
    }

    /// A piece of the source with its entities expanded.
    pub(super) fn expanded<'s>(&mut self, source: &'s str) -> Cow<'s, str> {
        if self.entities.is_empty() || !source.contains('&') {
            return Cow::Borrowed(source);
        }
        let bytes_left = self.bytes_left;
        let mut expanded = String::with_capacity(source.len());
        expand(source, &mut expanded, |name, expanded| {
            self.value(name).map(|value| expanded.push_str(value)).is_some()
        });
        debug_assert!(expanded.len() <= source.len() + bytes_left);
        Cow::Owned(expanded)
    }

    fn declare(&mut self, name: &'a str, value: &str) {
        let is_predefined = matches!(name, "amp" | "lt" | "gt" | "quot" | "apos");
        let is_known = self.entities.iter().any(|(known, _)| *known == name);
        if is_predefined || is_known || !entity::is_reference(name) || self.entities.len() == ENTITIES_MAX {
            return;
        }
        let mut flat = String::with_capacity(value.len().min(VALUE_BYTES_MAX));
        if value.len() <= VALUE_BYTES_MAX {
            expand(value, &mut flat, |name, flat| {
                let known = self.entities.iter().find(|(known, _)| *known == name);
                // Once it is too long, it only has to stay so.
                known.map(|(_, value)| flat.push_str(if flat.len() > VALUE_BYTES_MAX { "" } else { value })).is_some()
            });
        }
        if !flat.is_empty() && flat.len() <= VALUE_BYTES_MAX {
            self.entities.push((name, flat));
        }
    }
}

/// Name and value of a declaration, and what follows it; nothing if the value is elsewhere or the entity is for the
/// declarations themselves (`%`).
fn declaration(text: &str) -> Option<(&str, &str, &str)> {
    let text = text.strip_prefix(|next: char| next.is_ascii_whitespace())?.trim_start();
    let (name, text) = text.split_at(text.find(|next: char| next.is_ascii_whitespace())?);
    let text = text.trim_start();
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let (value, after) = text[1..].split_once(quote)?;
    Some((name, value, after))
}

/// Copies a text; each reference that `push` knows, it appends itself.
fn expand(source: &str, target: &mut String, mut push: impl FnMut(&str, &mut String) -> bool) {
    let mut rest = source;
    while let Some(start) = rest.find('&') {
        target.push_str(&rest[..start]);
        rest = &rest[start..];
        let length = rest[1..].bytes().take_while(u8::is_ascii_alphanumeric).count();
        let is_reference = rest.as_bytes().get(length + 1) == Some(&b';');
        if is_reference && push(&rest[1..=length], target) {
            rest = &rest[length + 2..];
        } else {
            target.push('&');
            rest = &rest[1..];
        }
    }
    target.push_str(rest);
}
