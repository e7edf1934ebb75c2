//! The signature of a push (WebSub, 8): an HMAC of the body by the secret of the subscription.

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};

/// Checks a signature while the body is read, so that a large body takes no memory.
pub enum PushSignature {
    Sha1(Hmac<Sha1>, Vec<u8>),
    Sha256(Hmac<Sha256>, Vec<u8>),
    Sha384(Hmac<Sha384>, Vec<u8>),
    Sha512(Hmac<Sha512>, Vec<u8>),
}

impl PushSignature {
    /// Begins to check the value of `X-Hub-Signature`: a method, `=` and the signature in hexadecimal; none if it is not
    /// that.
    pub fn new(header: &str, secret: &[u8]) -> Option<PushSignature> {
        let (method, signature) = header.trim().split_once('=')?;
        let signature = from_hex(signature.trim())?;
        Some(match method.trim().to_ascii_lowercase().as_str() {
            "sha1" => PushSignature::Sha1(Hmac::new_from_slice(secret).ok()?, signature),
            "sha256" => PushSignature::Sha256(Hmac::new_from_slice(secret).ok()?, signature),
            "sha384" => PushSignature::Sha384(Hmac::new_from_slice(secret).ok()?, signature),
            "sha512" => PushSignature::Sha512(Hmac::new_from_slice(secret).ok()?, signature),
            _ => return None,
        })
    }

    pub fn update(&mut self, piece: &[u8]) {
        match self {
            PushSignature::Sha1(mac, _) => mac.update(piece),
            PushSignature::Sha256(mac, _) => mac.update(piece),
            PushSignature::Sha384(mac, _) => mac.update(piece),
            PushSignature::Sha512(mac, _) => mac.update(piece),
        }
    }

    /// Whether the signature is right. Takes the same time wherever it is wrong.
    pub fn is_right(self) -> bool {
        match self {
            PushSignature::Sha1(mac, signature) => mac.verify_slice(&signature).is_ok(),
            PushSignature::Sha256(mac, signature) => mac.verify_slice(&signature).is_ok(),
            PushSignature::Sha384(mac, signature) => mac.verify_slice(&signature).is_ok(),
            PushSignature::Sha512(mac, signature) => mac.verify_slice(&signature).is_ok(),
        }
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|digit| u8::try_from(digit.to_digit(16)?).ok()).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0 && digits.len() <= 128)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_right(header: &str, body: &[u8]) -> bool {
        PushSignature::new(header, b"key").is_some_and(|mut signature| {
            body.chunks(3).for_each(|piece| signature.update(piece));
            signature.is_right()
        })
    }

    /// Computed with `printf 'The feed' | openssl dgst -METHOD -hmac key`.
    #[test]
    fn p46_signatures_are_checked_by_four_methods() {
        let right = [
            "sha1=3d35381cf130c92c8baa9ecd6ca698b82bd635e3",
            "sha256=7f3fd155983aeb796806a84618c99d69d6276b23ea62c75751707a835a5f21d7",
            "sha384=44a95d58cdcf19ed55330cbcafe93c659761fbccb40b67655edbf96885e2831a9ac4439d5a6dfe09f38d54b90427621a",
            "sha512=95e76c0c80af558b3c72a9796caae0252c9cd051cfad0a88352c743202312aa0d00d2c0d3e3d2a3431ff879e824f108ec6ef5f5e2e44d51f88d7f0aee269054c",
        ];
        for header in right {
            assert!(is_right(header, b"The feed"), "{header}");
            assert!(is_right(&header.to_uppercase(), b"The feed"), "{header}");
            assert!(!is_right(header, b"The feeds"), "{header}");
            assert!(!is_right(&header[..header.len() - 2], b"The feed"), "a part is not enough: {header}");
        }
        for header in ["", "sha1", "sha1=", "sha1=xy", "md5=00", "=", "sha256=é"] {
            assert!(!is_right(header, b"The feed"), "{header}");
        }
    }
}
