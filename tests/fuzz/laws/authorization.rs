//! `Authorization` to tokens: only a bearer may write, and only what our key has signed is let in.

use std::sync::LazyLock;
use std::time::Duration;

use feedwarden::api::authorization::credentials;
use feedwarden::api::settings::{TokenKey, TokenSettings};
use feedwarden::api::tokens::{TokenScope, Verifier};
use feedwarden::model::Timestamp;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
/// Signs the good tokens of the seeds.
const SECRET: &str = "0123456789abcdef0123456789abcdef";
/// The good tokens of the seeds; a change of any character makes a bad one.
const GOOD: [&str; 2] = [
    "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEiLCJleHAiOjQxMDI0NDQ4MDAsImlhdCI6MTgwMDAwMDAwMCwiYXVkIjoiZmVlZHMiLCJzY29wZSI6InJlYWQifQ.YWSDuPMhnTYf-SK4z8miJSaPQffv7LK3m-QsNro9sAM",
    "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJib2IiLCJleHAiOjQxMDI0NDQ4MDAsIm5iZiI6MTcwMDAwMDAwMCwiYXVkIjpbIm1haWxzIiwiZmVlZHMiXSwic2NvcGUiOiJyZWFkIHdyaXRlIn0.MznNanFc_fp9XI9Y5gRN64XTnQwxt1Dvb8F4okqnA0o",
];
/// What a refused client may be told.
const ERROR_BYTES_MAX: usize = 200;

static VERIFIER: LazyLock<Verifier> = LazyLock::new(|| {
    let (key, audience) = (TokenKey::Secret(SECRET.into()), Some("feeds".to_owned()));
    Verifier::new(&TokenSettings { key, audience, leeway: Duration::ZERO }).expect("the secret is a key")
});

/// Holds the laws against one value of the header.
pub(crate) fn check(input: &[u8]) {
    let Ok(value) = std::str::from_utf8(input) else { return };
    let Some(given) = credentials(value) else { return };
    assert!(given.token.len() <= value.len(), "a token out of nothing");
    let is_bearer = value.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("bearer "));
    assert_eq!(given.scope_max == TokenScope::Write, is_bearer, "a password may write, or a bearer may not");
    match VERIFIER.verify(&given.token, NOW) {
        Ok(verified) => {
            assert!(GOOD.contains(&given.token.as_str()), "{:?} is let in", given.token);
            assert!(verified.ends_at > NOW, "a token that has ended is let in");
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.len() <= ERROR_BYTES_MAX && !text.contains(char::is_control), "{text:?}");
            assert!(!GOOD.contains(&given.token.as_str()), "a good token is refused: {text}");
        }
    }
}
