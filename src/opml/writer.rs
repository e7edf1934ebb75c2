//! Writes a list as OPML 2.0.

use std::borrow::Borrow;
use std::io::{self, Write};

use super::Outline;

/// Writes sources in their folders. A folder is closed at the first source outside of it, so sources
/// ordered by label give one folder per label; nothing is buffered.
pub fn write<O: Borrow<Outline>>(
    mut output: impl Write,
    title: &str,
    outlines: impl IntoIterator<Item = O>,
) -> io::Result<()> {
    let title = escaped(title);
    write!(
        output,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\">\n  <head>\n    <title>{title}</title>\n  \
         </head>\n  <body>\n"
    )?;
    let mut open: Vec<String> = Vec::new();
    for outline in outlines {
        let outline = outline.borrow();
        let shared = open.iter().zip(&outline.labels).take_while(|(open, label)| open == label).count();
        close(&mut output, &mut open, shared)?;
        for label in &outline.labels[shared..] {
            indent(&mut output, open.len())?;
            let label_text = escaped(label);
            writeln!(output, "<outline text=\"{label_text}\" title=\"{label_text}\">")?;
            open.push(label.clone());
        }
        indent(&mut output, open.len())?;
        write_feed(&mut output, outline)?;
    }
    close(&mut output, &mut open, 0)?;
    output.write_all(b"  </body>\n</opml>\n")?;
    output.flush()
}

fn write_feed(output: &mut impl Write, outline: &Outline) -> io::Result<()> {
    // `text` is mandatory.
    let title = escaped(outline.title.as_ref().unwrap_or(&outline.feed_url));
    let feed_url = escaped(&outline.feed_url);
    write!(output, "<outline type=\"rss\" text=\"{title}\" title=\"{title}\" xmlUrl=\"{feed_url}\"")?;
    if let Some(site_url) = &outline.site_url {
        write!(output, " htmlUrl=\"{}\"", escaped(site_url))?;
    }
    output.write_all(b"/>\n")
}

fn close(output: &mut impl Write, open: &mut Vec<String>, down_to: usize) -> io::Result<()> {
    while open.len() > down_to {
        open.pop();
        indent(output, open.len())?;
        output.write_all(b"</outline>\n")?;
    }
    Ok(())
}

fn indent(output: &mut impl Write, depth: usize) -> io::Result<()> {
    write!(output, "{:width$}", "", width = 4 + 2 * depth)
}

/// Escapes a text for an attribute, without characters that XML forbids.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push_str(&format!("&#{};", u32::from(character))),
            '\0'..'\u{20}' | '\u{fffe}' | '\u{ffff}' => {}
            character => escaped.push(character),
        }
    }
    escaped
}
