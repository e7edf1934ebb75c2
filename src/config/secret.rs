//! Secrets: their form, and the files that may hold them. No error here repeats one.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};

use super::kind::Raw;
use super::scalar::text;

/// The length that the cipher wants.
const ENCRYPTION_KEY_BYTES: usize = 32;
/// A signature with a shorter secret can be guessed (RFC 7518, section 3.2).
const SIGNING_SECRET_BYTES_MIN: usize = 32;
/// The largest file that is read for a secret.
const SECRET_FILE_BYTES_MAX: u64 = 4096;

/// Reads a secret of the form that `check` wants, or nothing.
pub(super) fn read(raw: Raw<'_>, check: fn(&str) -> Result<(), String>) -> Result<Option<SecretString>, String> {
    let secret = text(raw)?.trim();
    if secret.is_empty() {
        return Ok(None);
    }
    check(secret)?;
    Ok(Some(SecretString::from(secret)))
}

/// 32 bytes in Base64.
pub(super) fn encryption_key(secret: &str) -> Result<(), String> {
    let right = "write 32 bytes in Base64, as `openssl rand -base64 32` makes them";
    let bytes = Zeroizing::new(STANDARD.decode(secret).map_err(|_| format!("this is not Base64; {right}"))?);
    match bytes.len() {
        ENCRYPTION_KEY_BYTES => Ok(()),
        length => Err(format!("this is Base64 of {length} bytes; {right}")),
    }
}

/// Long enough not to be guessed.
pub(super) fn signing_secret(secret: &str) -> Result<(), String> {
    match secret.len() {
        SIGNING_SECRET_BYTES_MIN.. => Ok(()),
        length => {
            Err(format!("{length} bytes can be guessed; write at least 32, as `openssl rand -base64 32` makes them"))
        }
    }
}

/// Reads the secret that a file holds; white space around it does not count.
pub(super) fn from_file(path: &Path, check: fn(&str) -> Result<(), String>) -> Result<SecretString, String> {
    let name = path.display().to_string();
    let name = name.escape_debug();
    let content =
        SecretString::from(small_file(path, SECRET_FILE_BYTES_MAX).map_err(|cause| format!("{name} {cause}"))?);
    let secret = content.expose_secret().trim();
    if secret.is_empty() {
        return Err(format!("{name} is empty; put the secret into it"));
    }
    check(secret).map_err(|complaint| format!("in {name}: {complaint}"))?;
    Ok(SecretString::from(secret))
}

/// The text of a file that must be small. The error reads on from the file's name.
pub(super) fn small_file(path: &Path, bytes_max: u64) -> Result<String, String> {
    let cannot = |cause: std::io::Error| format!("cannot be read: {cause}");
    if path.is_dir() {
        return Err("is a directory; name a file".into());
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(cannot)?.take(bytes_max + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!("is larger than {bytes_max} bytes; is it the right file?"));
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("is not UTF-8 text: byte {} is wrong", error.utf8_error().valid_up_to() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    #[test]
    fn an_encryption_key_is_32_bytes_in_base64() {
        assert_eq!(encryption_key(KEY), Ok(()));
        assert!(encryption_key("hunter2!").unwrap_err().starts_with("this is not Base64"));
        assert!(encryption_key("AAAA").unwrap_err().starts_with("this is Base64 of 3 bytes"));
    }

    #[test]
    fn a_short_signing_secret_is_refused_without_being_repeated() {
        let complaint = signing_secret("hunter2").unwrap_err();
        assert!(complaint.contains("7 bytes can be guessed") && !complaint.contains("hunter2"));
        assert_eq!(signing_secret(&"x".repeat(32)), Ok(()));
    }

    #[test]
    fn a_secret_file_may_end_in_a_line_break() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        std::fs::write(&path, format!("{KEY}\n")).unwrap();
        assert_eq!(from_file(&path, encryption_key).unwrap().expose_secret(), KEY);
    }

    #[test]
    fn a_secret_file_that_holds_none_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let complaint = |path: &Path| from_file(path, encryption_key).unwrap_err();
        assert!(complaint(directory.path()).contains("is a directory"));
        let path = directory.path().join("key");
        assert!(complaint(&path).contains("cannot be read"));
        std::fs::write(&path, " \n").unwrap();
        assert!(complaint(&path).contains("is empty"));
        std::fs::write(&path, [b'a', 0xff]).unwrap();
        assert!(complaint(&path).contains("byte 2 is wrong"));
        std::fs::write(&path, vec![b'a'; 4097]).unwrap();
        assert!(complaint(&path).contains("larger than 4096 bytes"));
        std::fs::write(&path, "hunter2").unwrap();
        assert!(!complaint(&path).contains("hunter2"));
    }
}
