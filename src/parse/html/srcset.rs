//! The list of images in `srcset`: `a.jpg 1x, b.jpg 2x`.

use super::LinkBase;

/// The list with absolute URLs; nothing if all of them are already. References in the value are decoded.
pub(super) fn absolute(value: &str, base: &LinkBase<'_>) -> Option<String> {
    let decoded = crate::parse::entity::decode(value);
    let mut output = String::with_capacity(decoded.len());
    let mut is_changed = false;
    let mut rest = decoded.as_str();
    loop {
        let start = rest.find(|next: char| !next.is_ascii_whitespace() && next != ',').unwrap_or(rest.len());
        output.push_str(&rest[..start]);
        rest = &rest[start..];
        if rest.is_empty() {
            return is_changed.then_some(output);
        }
        // A URL may hold commas, but not end with one.
        let end = rest.find(|next: char| next.is_ascii_whitespace()).unwrap_or(rest.len());
        let url = rest[..end].trim_end_matches(',');
        match super::absolute_decoded(url, base) {
            Some(joined) => {
                is_changed = true;
                output.push_str(&joined);
            }
            None => output.push_str(url),
        }
        let has_comma = url.len() < end;
        rest = &rest[url.len()..];
        if !has_comma {
            let end = rest.find(',').unwrap_or(rest.len());
            output.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
}
