//! Numbers, words and paths: reads them strictly, and guesses what a person meant only to say it in the error.

use std::path::PathBuf;

use ::config::ValueKind;

use super::kind::Raw;
use super::problem::quoted;
use crate::model::check_user_agent;

/// The longest text that any key takes.
const TEXT_BYTES_MAX: usize = 4096;

/// A whole number within bounds.
pub(super) fn count(raw: Raw<'_>, min: u64, max: u64) -> Result<u64, String> {
    let right = format!("write a whole number from {min} to {max}");
    let number = match raw {
        Raw::Typed(ValueKind::I64(number)) => i128::from(*number),
        Raw::Typed(ValueKind::String(text)) => return Err(not_a_count(text, true, &right)),
        Raw::Typed(other) => return Err(format!("{} is not a whole number; {right}", described(other))),
        Raw::Words(text) => text.trim().parse().map_err(|_| not_a_count(text, false, &right))?,
    };
    u64::try_from(number)
        .ok()
        .filter(|number| (min..=max).contains(number))
        .ok_or_else(|| format!("{number} is out of bounds; {right}"))
}

/// A whole number within bounds, or nothing.
pub(super) fn optional_count(raw: Raw<'_>, min: u64, max: u64) -> Result<Option<u64>, String> {
    match raw {
        Raw::Typed(ValueKind::String(text)) if text.is_empty() => Ok(None),
        Raw::Words(text) if text.trim().is_empty() => Ok(None),
        raw => count(raw, min, max).map(Some).map_err(|text| format!("{text}, or \"\" for none")),
    }
}

pub(super) fn flag(raw: Raw<'_>) -> Result<bool, String> {
    match raw {
        Raw::Typed(ValueKind::Boolean(flag)) => Ok(*flag),
        Raw::Typed(ValueKind::String(text)) => Err(not_a_flag(text)),
        Raw::Typed(other) => Err(format!("{} is neither true nor false; write true or false", described(other))),
        Raw::Words(text) => text.trim().parse().map_err(|_| not_a_flag(text)),
    }
}

/// One of these words.
pub(super) fn choice(raw: Raw<'_>, choices: &'static [&'static str]) -> Result<&'static str, String> {
    let given = match raw {
        Raw::Typed(ValueKind::String(text)) => text.as_str(),
        Raw::Typed(other) => return Err(format!("{} is none of {}", described(other), choices.join(", "))),
        Raw::Words(text) => text.trim(),
    };
    choices
        .iter()
        .copied()
        .find(|choice| *choice == given)
        .ok_or_else(|| format!("{} is none of {}", quoted(given), choices.join(", ")))
}

/// A path, or nothing.
pub(super) fn path(raw: Raw<'_>) -> Result<Option<PathBuf>, String> {
    let path = text(raw)?;
    if path.starts_with("~/") {
        return Err(format!("{} begins with ~, which only a shell understands; write the whole path", quoted(path)));
    }
    if path.contains('\0') {
        return Err("a path cannot hold a NUL character".into());
    }
    Ok((!path.is_empty()).then(|| PathBuf::from(path)))
}

/// The value of a `User-Agent` header, or nothing. A browser's would be a lie (politeness row p27).
pub(super) fn user_agent(raw: Raw<'_>) -> Result<String, String> {
    let agent = text(raw)?.trim();
    check_user_agent(agent).map_err(|error| format!("{}: {error}", quoted(agent)))?;
    Ok(agent.to_owned())
}

pub(super) fn words(raw: Raw<'_>) -> Result<String, String> {
    let words = text(raw)?.trim();
    match words.chars().any(char::is_control) {
        true => Err("this is more than one line; write one".into()),
        false => Ok(words.to_owned()),
    }
}

/// Text of a bounded length. Errors do not repeat it, so this serves secrets too.
pub(super) fn text<'a>(raw: Raw<'a>) -> Result<&'a str, String> {
    let text = match raw {
        Raw::Typed(ValueKind::String(text)) => text,
        Raw::Typed(ValueKind::Nil) => return Err("there is no value; write \"\" if none is meant".into()),
        Raw::Typed(ValueKind::Table(_) | ValueKind::Array(_)) => return Err("this is not one value; write text".into()),
        Raw::Typed(_) => return Err("this is not text; put it in quotes".into()),
        Raw::Words(text) => text,
    };
    if text.len() > TEXT_BYTES_MAX {
        return Err(format!("{} bytes are too many; write at most {TEXT_BYTES_MAX}", text.len()));
    }
    Ok(text)
}

/// A typed value as its author would recognise it.
pub(super) fn described(value: &ValueKind) -> String {
    match value {
        ValueKind::Nil => "nothing".into(),
        ValueKind::Table(_) => "a section".into(),
        ValueKind::Array(_) => "a list".into(),
        ValueKind::String(text) => quoted(text),
        other => other.to_string(),
    }
}

/// Says what is wrong with a text that should have been a number. `in_file` tells text from a bare word.
fn not_a_count(text: &str, in_file: bool, right: &str) -> String {
    let text = text.trim();
    if in_file && text.parse::<i128>().is_ok() {
        return format!("{} is text; write {text} without the quotes", quoted(text));
    }
    let digits: String = text.chars().filter(|letter| !['_', ',', '\'', ' '].contains(letter)).collect();
    let hint = if !text.starts_with(|first: char| first.is_ascii_digit()) {
        String::new()
    } else if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        format!(", without separators: {digits}")
    } else if digits.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        ", without a unit".to_owned()
    } else {
        String::new()
    };
    format!("{} is not a whole number; {right}{hint}", quoted(text))
}

fn not_a_flag(text: &str) -> String {
    let right = match text.trim().to_ascii_lowercase().as_str() {
        "yes" | "on" | "y" | "1" | "true" => "true",
        "no" | "off" | "n" | "0" | "false" => "false",
        _ => "true or false",
    };
    format!("{} is neither true nor false; write {right}, without quotes", quoted(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::unit("24h", "\"24h\" is not a whole number; write a whole number from 1 to 100, without a unit")]
    #[case::underscores(
        "1_0",
        "\"1_0\" is not a whole number; write a whole number from 1 to 100, without separators: 10"
    )]
    #[case::fraction("1.5", "\"1.5\" is not a whole number; write a whole number from 1 to 100")]
    #[case::word("ten", "\"ten\" is not a whole number; write a whole number from 1 to 100")]
    #[case::nothing("", "\"\" is not a whole number; write a whole number from 1 to 100")]
    #[case::negative("-1", "-1 is out of bounds; write a whole number from 1 to 100")]
    #[case::zero("0", "0 is out of bounds; write a whole number from 1 to 100")]
    #[case::above("101", "101 is out of bounds; write a whole number from 1 to 100")]
    fn what_is_no_count_says_what_would_be_one(#[case] words: &str, #[case] complaint: &str) {
        assert_eq!(count(Raw::Words(words), 1, 100).unwrap_err(), complaint);
    }

    #[rstest]
    #[case(ValueKind::String("5".into()), "\"5\" is text; write 5 without the quotes")]
    #[case(ValueKind::Float(1.5), "1.5 is not a whole number; write a whole number from 1 to 100")]
    #[case(ValueKind::Nil, "nothing is not a whole number; write a whole number from 1 to 100")]
    #[case(ValueKind::Array(vec![]), "a list is not a whole number; write a whole number from 1 to 100")]
    #[case(ValueKind::Boolean(true), "true is not a whole number; write a whole number from 1 to 100")]
    fn a_file_must_hold_numbers_where_numbers_belong(#[case] value: ValueKind, #[case] complaint: &str) {
        assert_eq!(count(Raw::Typed(&value), 1, 100).unwrap_err(), complaint);
    }

    #[test]
    fn both_bounds_are_allowed() {
        assert_eq!(count(Raw::Words("1"), 1, 100), Ok(1));
        assert_eq!(count(Raw::Words(" 100 "), 1, 100), Ok(100));
        assert_eq!(count(Raw::Typed(&ValueKind::I64(100)), 1, 100), Ok(100));
    }

    #[rstest]
    #[case("yes", "\"yes\" is neither true nor false; write true, without quotes")]
    #[case("off", "\"off\" is neither true nor false; write false, without quotes")]
    #[case("perhaps", "\"perhaps\" is neither true nor false; write true or false, without quotes")]
    fn yaml_of_another_age_is_corrected(#[case] words: &str, #[case] complaint: &str) {
        assert_eq!(flag(Raw::Words(words)).unwrap_err(), complaint);
        assert_eq!(flag(Raw::Typed(&ValueKind::String(words.into()))).unwrap_err(), complaint);
    }

    #[test]
    fn a_choice_lists_what_there_is_to_choose() {
        assert_eq!(choice(Raw::Words("full"), &["full", "normal"]), Ok("full"));
        assert_eq!(choice(Raw::Words("Full"), &["full", "normal"]).unwrap_err(), "\"Full\" is none of full, normal");
        let typed = ValueKind::Boolean(true);
        assert_eq!(choice(Raw::Typed(&typed), &["full", "normal"]).unwrap_err(), "true is none of full, normal");
    }

    #[test]
    fn p27_a_browsers_user_agent_is_refused() {
        assert!(user_agent(Raw::Words("Mozilla/5.0 (X11)")).unwrap_err().contains("pretends to be a browser"));
        assert!(user_agent(Raw::Words("line\nbreak")).unwrap_err().contains("does not fit a header"));
        assert!(user_agent(Raw::Words(&"x".repeat(257))).unwrap_err().contains("does not fit a header"));
        assert_eq!(user_agent(Raw::Words("reader/1.0")).unwrap(), "reader/1.0");
    }

    #[test]
    fn a_path_is_not_expanded_like_in_a_shell() {
        assert!(path(Raw::Words("~/log")).unwrap_err().contains("write the whole path"));
        assert_eq!(path(Raw::Words("")), Ok(None));
        assert_eq!(path(Raw::Words("log")), Ok(Some("log".into())));
    }
}
