//! On which line of a YAML file each key stands: the `config` crate reads values but forgets their places.

use std::collections::HashMap;

use yaml_rust2::Event;
use yaml_rust2::parser::Parser;

/// A mapping or a list that is open at the moment.
enum Open {
    /// A mapping, with the key whose value comes next.
    Mapping(Option<String>),
    /// A list: nothing inside it is a key of ours.
    List,
}

/// The line of every key, its sections joined to it by dots. What is not YAML ends the search: whoever reads the
/// values reports that.
///
/// Aliases are an error, with the line: nine of them can unfold one kilobyte to the whole memory.
pub(super) fn lines(text: &str) -> Result<HashMap<String, usize>, usize> {
    let mut parser = Parser::new_from_str(text);
    let mut lines = HashMap::new();
    let mut open: Vec<Open> = Vec::new();
    while let Ok((event, mark)) = parser.next_token() {
        match event {
            Event::Alias(_) => return Err(mark.line()),
            Event::StreamEnd => break,
            Event::MappingStart(..) => open.push(Open::Mapping(None)),
            Event::SequenceStart(..) => open.push(Open::List),
            Event::MappingEnd | Event::SequenceEnd => {
                open.pop();
                value_ended(&mut open);
            }
            Event::Scalar(text, ..) => match open.last_mut() {
                Some(Open::Mapping(key @ None)) => {
                    *key = Some(text);
                    lines.extend(path(&open).map(|path| (path, mark.line())));
                }
                _ => value_ended(&mut open),
            },
            _ => {}
        }
    }
    Ok(lines)
}

fn value_ended(open: &mut [Open]) {
    if let Some(Open::Mapping(key)) = open.last_mut() {
        *key = None;
    }
}

/// The key at hand with its sections, unless it lies inside a list.
fn path(open: &[Open]) -> Option<String> {
    let names: Option<Vec<&str>> = open
        .iter()
        .map(|open| match open {
            Open::Mapping(key) => key.as_deref(),
            Open::List => None,
        })
        .collect();
    names.map(|names| names.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_line() {
        let text = "# words\nsource:\n  max-failures: 3\n  host-overrides:\n    nitter.net: {poll-delay-seconds: 3}\n\
                    http:\n  allowed-networks:\n    - 10.0.0.0/8\n    - a: b\n  proxy: \"\"\n";
        let expected = [
            ("source", 2),
            ("source.max-failures", 3),
            ("source.host-overrides", 4),
            ("source.host-overrides.nitter.net", 5),
            ("source.host-overrides.nitter.net.poll-delay-seconds", 5),
            ("http", 6),
            ("http.allowed-networks", 7),
            ("http.proxy", 10),
        ];
        assert_eq!(lines(text).unwrap(), HashMap::from(expected.map(|(key, line)| (key.to_owned(), line))));
    }

    #[test]
    fn an_alias_is_found_before_it_unfolds() {
        assert_eq!(lines("a: &x [1]\nb: *x\n"), Err(2));
        assert!(lines("a: \"*x\" # *y\n").is_ok());
    }
}
