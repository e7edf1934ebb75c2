//! YAML as a format of the `config` crate whose values know their line. The crate's own format forgets it, so the text
//! would have to be parsed a second time to name a line in an error.

use std::error::Error;

use ::config::{FileStoredFormat, Format, Map, Value, ValueKind};
use yaml_rust2::parser::{Parser, Tag};
use yaml_rust2::scanner::TScalarStyle;
use yaml_rust2::{Event, Yaml};

/// Settings have three levels; deeper documents could end the process when they are dropped.
const DEPTH_MAX: usize = 64;

/// YAML in which every value of a mapping has the line of its key as its origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct YamlWithLines;

/// A mapping or a list that has begun and not ended.
enum OpenNode {
    /// The entries so far, and the key whose value comes next, with its line.
    Mapping(Map<String, Value>, Option<(String, usize)>),
    List(Vec<Value>),
}

/// The line of a value that [`YamlWithLines`] has read.
pub(super) fn line(value: &Value) -> Option<usize> {
    value.origin()?.parse().ok()
}

impl FileStoredFormat for YamlWithLines {
    fn file_extensions(&self) -> &'static [&'static str] {
        &["yaml", "yml"]
    }
}

impl Format for YamlWithLines {
    fn parse(&self, _: Option<&String>, text: &str) -> Result<Map<String, Value>, Box<dyn Error + Send + Sync>> {
        Ok(read(text)?)
    }
}

/// Errors repeat nothing of the file but keys: the rest may be a secret.
///
/// Aliases are an error: nine of them can unfold one kilobyte to the whole memory.
fn read(text: &str) -> Result<Map<String, Value>, String> {
    let mut parser = Parser::new_from_str(text);
    let (mut open, mut documents, mut root) = (Vec::new(), 0, None);
    loop {
        let next = parser.next_token();
        let (event, mark) = next.map_err(|error| not_yaml(error.marker().line(), error.info(), text))?;
        let kind = match event {
            Event::StreamEnd => break,
            Event::Alias(_) => return Err(format!("line {} has an alias (*); write the value itself", mark.line())),
            Event::DocumentStart => {
                documents += 1;
                continue;
            }
            Event::MappingStart(..) | Event::SequenceStart(..) if open.len() >= DEPTH_MAX => {
                return Err(format!("line {} is nested too deeply", mark.line()));
            }
            Event::MappingStart(..) => {
                open.push(OpenNode::Mapping(Map::new(), None));
                continue;
            }
            Event::SequenceStart(..) => {
                open.push(OpenNode::List(Vec::new()));
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => match open.pop() {
                Some(OpenNode::Mapping(table, _)) => ValueKind::Table(table),
                Some(OpenNode::List(values)) => ValueKind::Array(values),
                None => ValueKind::Nil,
            },
            Event::Scalar(text, style, _, tag) => match open.last_mut() {
                Some(OpenNode::Mapping(_, key @ None)) => {
                    *key = Some((text, mark.line()));
                    continue;
                }
                _ => scalar(text, style, tag.as_ref()),
            },
            Event::Nothing | Event::StreamStart | Event::DocumentEnd => continue,
        };
        match open.last_mut() {
            None => root = Some(kind),
            Some(OpenNode::List(values)) => values.push(Value::new(None, kind)),
            Some(OpenNode::Mapping(table, key)) => {
                let Some((name, line)) = key.take() else {
                    return Err(not_yaml(mark.line(), "a list or a section cannot be a key", text));
                };
                let value = Value::new(Some(&line.to_string()), kind);
                if table.insert(name.clone(), value).is_some() {
                    return Err(not_yaml(line, &format!("{name:?}: duplicated key in mapping"), text));
                }
            }
        }
    }
    match root {
        _ if documents > 1 => Err(format!("has {documents} YAML documents; write one")),
        Some(ValueKind::Table(table)) => Ok(table),
        None => Ok(Map::new()),
        Some(_) => Err("holds no sections; write keys below sections, such as source: {max-failures: 3}".to_owned()),
    }
}

/// The type of a plain scalar follows from its text, unless a tag says that it is text.
fn scalar(text: String, style: TScalarStyle, tag: Option<&Tag>) -> ValueKind {
    let is_text = tag.is_some_and(|tag| tag.handle != "tag:yaml.org,2002:" || tag.suffix == "str");
    if style != TScalarStyle::Plain || is_text {
        return ValueKind::String(text);
    }
    match Yaml::from_str(&text) {
        Yaml::Integer(number) => ValueKind::I64(number),
        Yaml::Boolean(flag) => ValueKind::Boolean(flag),
        Yaml::Null => ValueKind::Nil,
        Yaml::Real(_) => text.parse().map_or(ValueKind::String(text), ValueKind::Float),
        _ => ValueKind::String(text),
    }
}

fn not_yaml(line: usize, what: &str, text: &str) -> String {
    let tab = text.lines().take(line).skip(line.saturating_sub(2)).any(|line| line.contains('\t'));
    let hint = if tab { " (there is a tab: YAML is indented with spaces)" } else { "" };
    format!("line {line} is not YAML: {what}{hint}")
}

/// The line of every key, its sections joined to it by dots.
#[cfg(test)]
pub(super) fn lines(text: &str) -> std::collections::HashMap<String, usize> {
    let mut waiting: Vec<(String, Value)> = read(text).expect("this is YAML").into_iter().collect();
    let mut lines = std::collections::HashMap::new();
    while let Some((key, value)) = waiting.pop() {
        lines.extend(line(&value).map(|line| (key.clone(), line)));
        if let ValueKind::Table(table) = value.kind {
            waiting.extend(table.into_iter().map(|(name, value)| (format!("{key}.{name}"), value)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

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
        assert_eq!(lines(text), HashMap::from(expected.map(|(key, line)| (key.to_owned(), line))));
    }

    #[test]
    fn scalars_have_the_types_of_yaml() {
        let text = "a: 3\nb: 0x10\nc: 1.5\nd: true\ne: ~\nf:\ng: \"3\"\nh: !!str 3\ni: words\nj: [1, x]\nk: {}\n";
        let table = read(text).unwrap();
        let kind = |key: &str| table[key].kind.clone();
        assert_eq!([kind("a"), kind("b"), kind("c")], [3_i64.into(), 16_i64.into(), 1.5.into()]);
        assert_eq!([kind("d"), kind("e"), kind("f")], [true.into(), ValueKind::Nil, ValueKind::Nil]);
        assert_eq!([kind("g"), kind("h"), kind("i")], ["3".into(), "3".into(), "words".into()]);
        assert_eq!(kind("j"), ValueKind::Array(vec![Value::new(None, 1_i64), Value::new(None, "x")]));
        assert_eq!(kind("k"), ValueKind::Table(Map::new()));
    }

    #[test]
    fn an_alias_is_found_before_it_unfolds() {
        assert_eq!(read("a: &x [1]\nb: *x\n").unwrap_err(), "line 2 has an alias (*); write the value itself");
        assert!(read("a: \"*x\" # *y\n").is_ok());
    }

    #[test]
    fn deep_documents_and_keys_that_are_none_are_refused() {
        assert_eq!(read(&"- ".repeat(100_000)).unwrap_err(), "line 1 is nested too deeply");
        assert_eq!(read(&"a: {".repeat(200)).unwrap_err(), "line 1 is nested too deeply");
        assert!(read("? [a]\n: b\n").unwrap_err().starts_with("line 1 is not YAML: a list or a section"));
    }
}
