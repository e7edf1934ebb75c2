//! Tokens for TCP: JWTs with an expiry, an optional audience, and the scopes `read` and `write`.

use std::time::Duration;

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::settings::{TokenKey, TokenSettings};
use crate::model::Timestamp;

/// Maximum length of a token, in bytes.
const TOKEN_BYTES_MAX: usize = 8 * 1024;

/// Scopes in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenScope {
    Read,
    Write,
}

#[derive(Clone, Debug)]
pub struct TokenRequest {
    /// Name of the holder.
    pub subject: String,
    pub scope: TokenScope,
    pub lifetime: Duration,
    /// Audience, if the daemon requires one.
    pub audience: Option<String>,
}

pub enum Signer {
    Secret(SecretString),
    /// RS256, a private key in PEM.
    Rsa(SecretString),
    /// EdDSA, a private key in PEM.
    Ed25519(SecretString),
}

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("the key cannot be used: {0}")]
    Key(String),
    #[error("the token has expired")]
    Expired,
    /// The token is invalid for another reason.
    #[error("{0}")]
    Token(&'static str),
}

#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    #[serde(default)]
    sub: String,
    exp: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nbf: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    iat: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    aud: Option<serde_json::Value>,
    #[serde(default)]
    scope: String,
}

/// A token that is valid now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken {
    pub subject: String,
    pub scope: TokenScope,
    /// When it is invalid, leeway included.
    pub ends_at: Timestamp,
}

pub struct Verifier {
    key: DecodingKey,
    validation: Validation,
    leeway: i64,
}

impl Verifier {
    pub fn new(settings: &TokenSettings) -> Result<Verifier, TokenError> {
        let unusable = |error: jsonwebtoken::errors::Error| TokenError::Key(error.to_string());
        let (algorithm, key) = match &settings.key {
            TokenKey::Secret(secret) => (Algorithm::HS256, DecodingKey::from_secret(secret.expose_secret().as_bytes())),
            TokenKey::Rsa(pem) => (Algorithm::RS256, DecodingKey::from_rsa_pem(pem.as_bytes()).map_err(unusable)?),
            TokenKey::Ed25519(pem) => (Algorithm::EdDSA, DecodingKey::from_ed_pem(pem.as_bytes()).map_err(unusable)?),
        };
        // Only the configured algorithm, whatever the token's header says.
        let mut validation = Validation::new(algorithm);
        // Times are checked below, with our own clock.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation.set_required_spec_claims(&["exp"]);
        match &settings.audience {
            Some(audience) => {
                validation.set_audience(&[audience]);
                validation.set_required_spec_claims(&["exp", "aud"]);
            }
            None => validation.validate_aud = false,
        }
        Ok(Verifier { key, validation, leeway: i64::try_from(settings.leeway.as_secs()).unwrap_or(0) })
    }

    pub fn verify(&self, token: &str, now: Timestamp) -> Result<VerifiedToken, TokenError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(TokenError::Token("the token is too long"));
        }
        let claims = match jsonwebtoken::decode::<Claims>(token, &self.key, &self.validation) {
            Ok(decoded) => decoded.claims,
            Err(error) => {
                use jsonwebtoken::errors::ErrorKind;
                return Err(TokenError::Token(match error.kind() {
                    ErrorKind::InvalidAudience => "the token is for another audience",
                    ErrorKind::InvalidSignature => "the token is not signed by our key",
                    ErrorKind::InvalidAlgorithm => "the token is not signed in our way",
                    _ => "the token cannot be read",
                }));
            }
        };
        let seconds = now.as_seconds();
        let end = claims.exp.saturating_add(self.leeway);
        if end <= seconds {
            return Err(TokenError::Expired);
        }
        if claims.nbf.is_some_and(|from| from.saturating_sub(self.leeway) > seconds) {
            return Err(TokenError::Token("the token is not valid yet"));
        }
        let scopes: Vec<&str> = claims.scope.split_whitespace().collect();
        let scope = match () {
            () if scopes.contains(&"write") => TokenScope::Write,
            () if scopes.contains(&"read") => TokenScope::Read,
            () => return Err(TokenError::Token("the token has neither the scope read nor write")),
        };
        Ok(VerifiedToken { subject: claims.sub, scope, ends_at: Timestamp::from_seconds(end) })
    }
}

pub fn issue(request: &TokenRequest, signer: &Signer, now: Timestamp) -> Result<String, TokenError> {
    let unusable = |error: jsonwebtoken::errors::Error| TokenError::Key(error.to_string());
    let (algorithm, key) = match signer {
        Signer::Secret(secret) => (Algorithm::HS256, EncodingKey::from_secret(secret.expose_secret().as_bytes())),
        Signer::Rsa(pem) => {
            (Algorithm::RS256, EncodingKey::from_rsa_pem(pem.expose_secret().as_bytes()).map_err(unusable)?)
        }
        Signer::Ed25519(pem) => {
            (Algorithm::EdDSA, EncodingKey::from_ed_pem(pem.expose_secret().as_bytes()).map_err(unusable)?)
        }
    };
    let claims = Claims {
        sub: request.subject.clone(),
        exp: (now + request.lifetime).as_seconds(),
        nbf: None,
        iat: Some(now.as_seconds()),
        aud: request.audience.clone().map(Into::into),
        scope: match request.scope {
            TokenScope::Read => "read".to_owned(),
            TokenScope::Write => "read write".to_owned(),
        },
    };
    jsonwebtoken::encode(&Header::new(algorithm), &claims, &key).map_err(unusable)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn verifier(key: TokenKey, audience: Option<&str>) -> Verifier {
        let audience = audience.map(str::to_owned);
        Verifier::new(&TokenSettings { key, audience, leeway: Duration::from_secs(30) }).unwrap()
    }

    fn request(scope: TokenScope, audience: Option<&str>) -> TokenRequest {
        let (lifetime, audience) = (Duration::from_secs(3600), audience.map(str::to_owned));
        TokenRequest { subject: "ada".into(), scope, lifetime, audience }
    }

    fn token(scope: TokenScope, audience: Option<&str>) -> String {
        issue(&request(scope, audience), &Signer::Secret(SECRET.into()), NOW).unwrap()
    }

    #[test]
    fn a_token_allows_what_it_says_until_it_ends() {
        let verifier = verifier(TokenKey::Secret(SECRET.into()), None);
        for scope in [TokenScope::Read, TokenScope::Write] {
            let ends_at = NOW + Duration::from_secs(3630);
            let expected = VerifiedToken { subject: "ada".to_owned(), scope, ends_at };
            assert_eq!(verifier.verify(&token(scope, None), NOW).unwrap(), expected);
        }
        let ends = NOW + Duration::from_secs(3600 + 29);
        assert!(verifier.verify(&token(TokenScope::Read, None), ends).is_ok());
        let error = verifier.verify(&token(TokenScope::Read, None), ends + Duration::from_secs(1)).unwrap_err();
        assert_eq!(error.to_string(), "the token has expired");
    }

    #[test]
    fn only_tokens_for_us_are_taken_if_we_ask_for_that() {
        let verifier = verifier(TokenKey::Secret(SECRET.into()), Some("feeds"));
        assert!(verifier.verify(&token(TokenScope::Read, Some("feeds")), NOW).is_ok());
        assert!(verifier.verify(&token(TokenScope::Read, Some("mails")), NOW).is_err());
        assert!(verifier.verify(&token(TokenScope::Read, None), NOW).is_err());
    }

    #[test]
    fn key_pairs_sign_and_check_and_are_not_mixed_up() {
        let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        let (private, public) = (pair.serialize_pem(), pair.public_key_pem());
        let signed = issue(&request(TokenScope::Write, None), &Signer::Ed25519(private.into()), NOW).unwrap();
        let with_pair = verifier(TokenKey::Ed25519(public.clone()), None);
        assert!(with_pair.verify(&signed, NOW).is_ok());
        assert!(with_pair.verify(&token(TokenScope::Read, None), NOW).is_err());
        // A public key must not be accepted as an HMAC secret.
        let forged = issue(&request(TokenScope::Write, None), &Signer::Secret(public.into()), NOW).unwrap();
        assert!(with_pair.verify(&forged, NOW).is_err());
        assert!(verifier(TokenKey::Secret(SECRET.into()), None).verify(&signed, NOW).is_err());
    }
}
