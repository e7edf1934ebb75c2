//! Reads secrets from files or standard input, because other users of the machine can see arguments.

use std::io::Read;
use std::path::Path;

use super::error::CliError;

/// Maximum size in bytes, far more than any key, login or set of headers needs.
const BYTES_MAX: u64 = 64 * 1024;

/// Reads a file; `-` is standard input. Error messages do not contain the secret.
pub(super) fn read_secret(path: &Path) -> Result<String, CliError> {
    let wrong = |what: &dyn std::fmt::Display| CliError::Usage(format!("{} {what}", path.display()));
    let unreadable = |error: std::io::Error| wrong(&format_args!("cannot be read: {error}"));
    let file: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(std::io::stdin()),
        false => Box::new(std::fs::File::open(path).map_err(unreadable)?),
    };
    let mut text = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > BYTES_MAX {
        return Err(wrong(&format_args!("has more than {BYTES_MAX} bytes")));
    }
    String::from_utf8(text).map_err(|_| wrong(&"is not UTF-8"))
}
