//! Signatures of webhooks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use crate::model::{SigningSecrets, Timestamp};

/// Beginning of a secret by the Standard Webhooks specification.
pub const STANDARD_PREFIX: &str = "whsec_";
/// Bytes of a key by that specification.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// The secret with this key.
pub fn new_standard_secret(key: &[u8]) -> String {
    format!("{STANDARD_PREFIX}{}", STANDARD.encode(key))
}

/// The key in a secret by the Standard Webhooks specification; none if it is no such secret.
pub fn standard_key(secret: &SecretString) -> Option<Vec<u8>> {
    let key = STANDARD.decode(secret.expose_secret().strip_prefix(STANDARD_PREFIX)?).ok()?;
    KEY_BYTES.contains(&key.len()).then_some(key)
}

/// `t=SECONDS,v1=HEX`: HMAC-SHA256 of the seconds, a dot and the body. The time lets the receiver refuse a
/// delivery that was recorded and is sent again.
pub(super) fn classic(secret: &SecretString, sent_at: Timestamp, body: &str) -> String {
    let seconds = sent_at.as_seconds();
    let sum = hmac(secret.expose_secret().as_bytes(), &[&format!("{seconds}."), body]);
    let hex: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={seconds},v1={hex}")
}

/// `v1,BASE64`, one for each secret, of id, seconds and body; none if a secret is not one of the specification.
pub(super) fn standard(secrets: &SigningSecrets, id: &str, sent_at: Timestamp, body: &str) -> Option<String> {
    let sign = |secret: &SecretString| {
        let sum = hmac(&standard_key(secret)?, &[id, ".", &sent_at.as_seconds().to_string(), ".", body]);
        Some(format!("v1,{}", STANDARD.encode(sum)))
    };
    let current = sign(&secrets.current)?;
    // One that replaces a secret of another form leaves that one without a signature.
    let previous = secrets.previous.as_ref().and_then(sign);
    Some(match previous {
        Some(previous) => format!("{current} {previous}"),
        None => current,
    })
}

fn hmac(key: &[u8], parts: &[&str]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("keys have any length");
    parts.iter().for_each(|part| mac.update(part.as_bytes()));
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_seconds(1_800_000_000);

    /// Computed with `printf '1800000000.[]' | openssl dgst -sha256 -hmac key`.
    #[test]
    fn a_classic_signature_is_what_other_programs_compute() {
        assert_eq!(
            classic(&"key".into(), AT, "[]"),
            "t=1800000000,v1=b216c608669675eea1cddf90d057897d7bc07712dbae5158406d99d76b93128e"
        );
    }

    /// The example of the specification.
    #[test]
    fn a_standard_signature_is_that_of_the_specification() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let secrets = SigningSecrets { current: secret.into(), previous: None };
        let sent_at = Timestamp::from_seconds(1_614_265_330);
        let signed = standard(&secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", sent_at, "{\"test\": 2432232314}");
        assert_eq!(signed.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn two_secrets_sign_while_one_replaces_the_other() {
        let (old, new) = (new_standard_secret(&[1; 32]), new_standard_secret(&[2; 32]));
        let alone = |secret: &str| {
            let secrets = SigningSecrets { current: secret.into(), previous: None };
            standard(&secrets, "evt_1", AT, "{}").unwrap()
        };
        let both = SigningSecrets { current: new.as_str().into(), previous: Some(old.as_str().into()) };
        assert_eq!(standard(&both, "evt_1", AT, "{}").unwrap(), format!("{} {}", alone(&new), alone(&old)));
    }

    #[test]
    fn other_secrets_are_none_of_the_specification() {
        for secret in ["a secret to sign with", "whsec_", "whsec_!!!", "whsec_c2hvcnQ="] {
            assert_eq!(standard_key(&secret.into()), None, "{secret}");
        }
    }
}
