//! The lines of a robots.txt that mean something.

/// A line that means something. Values have no blanks and comments around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RobotsField<'a> {
    UserAgent(&'a [u8]),
    Rule { allows: bool, value: &'a [u8] },
}

/// The beginning of a text of lines, at most this long, without the line that would be cut in two: half a rule is
/// another rule.
pub fn whole_lines(bytes: &[u8], bytes_max: usize) -> &[u8] {
    // A line that ends exactly at the limit is whole.
    let Some(window) = bytes.get(..=bytes_max) else { return bytes };
    let end = window.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
    &bytes[..end.unwrap_or(0)]
}

/// The fields of a file with the numbers of their lines.
pub(super) fn fields(bytes: &[u8]) -> impl Iterator<Item = (usize, RobotsField<'_>)> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    lines(bytes).zip(1..).filter_map(|(line, number)| Some((number, field(line)?)))
}

/// The lines, which end in CR, LF or both.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let bytes = rest?;
        let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            rest = None;
            return Some(bytes);
        };
        let length = if bytes[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = Some(&bytes[end + length..]);
        Some(&bytes[..end])
    })
}

fn field(line: &[u8]) -> Option<RobotsField<'_>> {
    let said = line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii();
    let (key, value) = match said.iter().position(|byte| *byte == b':') {
        Some(colon) => (said[..colon].trim_ascii(), said[colon + 1..].trim_ascii()),
        // Some forget the colon. More than two words are prose.
        None => {
            let blank = said.iter().position(u8::is_ascii_whitespace)?;
            let value = said[blank..].trim_ascii();
            if value.iter().any(u8::is_ascii_whitespace) {
                return None;
            }
            (&said[..blank], value)
        }
    };
    let is = |names: &[&str]| names.iter().any(|name| key.eq_ignore_ascii_case(name.as_bytes()));
    if is(&["user-agent", "user agent", "useragent"]) {
        Some(RobotsField::UserAgent(value))
    } else if is(&["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"]) {
        Some(RobotsField::Rule { allows: false, value })
    } else if is(&["allow"]) {
        Some(RobotsField::Rule { allows: true, value })
    } else {
        None
    }
}
