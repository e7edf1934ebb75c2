//! Options in the query of a sink's URL.

use url::Url;

use super::AddressError;

/// The options of one URL; each is taken once, and what is left over is unknown.
pub(super) struct Options {
    left: Vec<(String, String)>,
}

impl Options {
    pub(super) fn of(url: &Url) -> Result<Options, AddressError> {
        let mut left: Vec<(String, String)> = Vec::new();
        for (name, value) in url.query_pairs() {
            if left.iter().any(|(known, _)| *known == name) {
                return Err(AddressError::Repeated(name.into_owned()));
            }
            left.push((name.into_owned(), value.into_owned()));
        }
        Ok(Options { left })
    }

    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let index = self.left.iter().position(|(known, _)| known == name)?;
        Some(self.left.remove(index).1)
    }

    pub(super) fn required(&mut self, name: &'static str, example: &'static str) -> Result<String, AddressError> {
        self.take(name).filter(|value| !value.is_empty()).ok_or(AddressError::Missing { name, example })
    }

    /// A whole number from `min` on.
    pub(super) fn number(&mut self, name: &'static str, min: u64) -> Result<Option<u64>, AddressError> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match value.parse() {
            Ok(number) if number >= min => Ok(Some(number)),
            _ => Err(AddressError::Number { name, value, min }),
        }
    }

    /// To be called after all known options were taken.
    pub(super) fn end(self, known: &'static str) -> Result<(), AddressError> {
        match self.left.into_iter().next() {
            None => Ok(()),
            Some((name, _)) => Err(AddressError::Unknown { name, known }),
        }
    }
}
