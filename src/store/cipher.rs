//! Encrypts API keys, logins and webhook secrets in the database.
//!
//! XChaCha20-Poly1305 with a random nonce for each secret. The owner is authenticated data, so that a ciphertext
//! copied into another row cannot be decrypted there.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, Generate, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use secrecy::{ExposeSecret, SecretString};

use crate::model::{KeyProvider, SecretChange, SigningSecrets, SourceId, UserId, WebhookChange, WebhookTarget};

use super::rows::{SealedTarget, storable};
use super::settings::EncryptionKeys;
use super::{Result, StoreError};

const NONCE_BYTES: usize = 24;

/// Owner of a secret, used as authenticated data.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner<'a> {
    ApiKey(UserId, KeyProvider),
    SourceAccess(SourceId),
    Webhook(&'a str),
    /// Token of a subscription at a hub.
    Subscription(&'a str),
    /// What nodes compare their keys by.
    Fleet,
}

impl fmt::Display for Owner<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::ApiKey(user, provider) => write!(formatter, "the {} key of user {user}", provider.name()),
            Owner::SourceAccess(source) => write!(formatter, "the login of source {source}"),
            Owner::Webhook(_) => write!(formatter, "the secret of a webhook"),
            Owner::Subscription(_) => write!(formatter, "the secret of a subscription"),
            Owner::Fleet => write!(formatter, "the check of the fleet's key"),
        }
    }
}

impl Owner<'_> {
    /// Authenticated data. `Display` omits the URL of a webhook, which may contain credentials.
    fn associated(&self) -> String {
        match self {
            Owner::Webhook(url) => format!("{self} at {url}"),
            Owner::Subscription(token) => format!("{self} with the token {token}"),
            Owner::ApiKey(..) | Owner::SourceAccess(_) | Owner::Fleet => self.to_string(),
        }
    }
}

/// The key that opens a sealed secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenedBy {
    Current,
    Previous,
}

/// Encrypts and decrypts secrets; fails without a key.
#[derive(Clone, Default)]
pub struct Cipher {
    current: Option<XChaCha20Poly1305>,
    previous: Option<XChaCha20Poly1305>,
}

impl Cipher {
    pub fn new(keys: Option<&EncryptionKeys>) -> Result<Cipher> {
        let Some(EncryptionKeys { current, previous }) = keys else { return Ok(Cipher::default()) };
        let previous = previous.as_ref().map(|key| with_key(key, "database.encryption-key-previous")).transpose()?;
        Ok(Cipher { current: Some(with_key(current, "database.encryption-key")?), previous })
    }

    pub(super) fn has_key(&self) -> bool {
        self.current.is_some()
    }

    pub(super) fn seal(&self, owner: Owner<'_>, secret: &SecretString) -> Result<Vec<u8>> {
        let cipher = self.cipher()?;
        let nonce = XNonce::try_generate()
            .map_err(|error| StoreError::Internal(format!("the machine gives no random numbers: {error}")))?;
        let owner = owner.associated();
        let payload = Payload { msg: secret.expose_secret().as_bytes(), aad: owner.as_bytes() };
        let sealed = cipher
            .encrypt(&nonce, payload)
            .map_err(|_| StoreError::Encryption("the secret is too long to be kept".into()))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    pub(super) fn open(&self, owner: Owner<'_>, sealed: &[u8]) -> Result<SecretString> {
        self.open_with(owner, sealed).map(|(secret, _)| secret)
    }

    /// The secret, and the key that opened it.
    pub(super) fn open_with(&self, owner: Owner<'_>, sealed: &[u8]) -> Result<(SecretString, OpenedBy)> {
        let current = decrypt(self.cipher()?, owner, sealed).map(|secret| (secret, OpenedBy::Current));
        let previous = || Some((decrypt(self.previous.as_ref()?, owner, sealed)?, OpenedBy::Previous));
        current.or_else(previous).ok_or_else(|| {
            StoreError::Encryption(format!(
                "{owner} cannot be opened: database.encryption-key is not the one it was sealed with; set that one again, \
                 there or as database.encryption-key-previous, or store it anew"
            ))
        })
    }

    /// The stored and the new ciphertext; none if the stored secret is not the one that was used.
    pub(super) fn swap(
        &self,
        owner: Owner<'_>,
        kept: Option<Vec<u8>>,
        used: &SecretString,
        renewed: &SecretString,
    ) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let Some(kept) = kept else { return Ok(None) };
        let opened = self.open(owner, &kept)?;
        if opened.expose_secret() == used.expose_secret() {
            return Ok(Some((kept, self.seal(owner, renewed)?)));
        }
        // The swap was stored before, and this is a retry.
        Ok((opened.expose_secret() == renewed.expose_secret()).then(|| (kept.clone(), kept)))
    }

    pub(super) fn open_target(&self, target: SealedTarget) -> Result<WebhookTarget> {
        let SealedTarget { url, sealed, enabled, format } = target;
        let secrets = SigningSecrets::from_text(&self.open(Owner::Webhook(&url), &sealed)?);
        Ok(WebhookTarget { url, secrets, format, enabled })
    }

    /// URL of a changed webhook, and its secret, encrypted for that URL.
    pub(super) fn reseal_target(&self, url: &str, sealed: &[u8], change: &WebhookChange) -> Result<(String, Vec<u8>)> {
        let new_url = storable(change.url.as_deref().unwrap_or(url)).into_owned();
        let sealed = match &change.secret {
            Some(SecretChange::Replace(secret)) => self.seal(Owner::Webhook(&new_url), secret)?,
            Some(change) => {
                let secrets = SigningSecrets::from_text(&self.open(Owner::Webhook(url), sealed)?);
                self.seal(Owner::Webhook(&new_url), &secrets.changed(change).to_text())?
            }
            None => self.seal(Owner::Webhook(&new_url), &self.open(Owner::Webhook(url), sealed)?)?,
        };
        Ok((new_url, sealed))
    }

    fn cipher(&self) -> Result<&XChaCha20Poly1305> {
        self.current.as_ref().ok_or_else(|| {
            StoreError::Encryption(
                "API keys, logins and webhook secrets are stored encrypted, but database.encryption-key is not set; set it to \
                 32 random bytes in Base64 (`openssl rand -base64 32`)"
                    .into(),
            )
        })
    }
}

/// None if this key does not open it.
fn decrypt(cipher: &XChaCha20Poly1305, owner: Owner<'_>, sealed: &[u8]) -> Option<SecretString> {
    let (nonce, sealed) = sealed.split_at_checked(NONCE_BYTES)?;
    let nonce = XNonce::try_from(nonce).ok()?;
    let associated = owner.associated();
    let opened = cipher.decrypt(&nonce, Payload { msg: sealed, aad: associated.as_bytes() }).ok()?;
    String::from_utf8(opened).ok().map(SecretString::from)
}

/// `key`: 32 bytes in Base64.
fn with_key(key: &SecretString, name: &str) -> Result<XChaCha20Poly1305> {
    let bytes = STANDARD.decode(key.expose_secret().trim()).ok();
    bytes.and_then(|bytes| XChaCha20Poly1305::new_from_slice(&bytes).ok()).ok_or_else(|| {
        StoreError::Encryption(format!("{name} is not 32 bytes in Base64, such as `openssl rand -base64 32` prints"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Owner<'_> = Owner::ApiKey(UserId(1), KeyProvider::X);

    fn cipher(byte: u8) -> Cipher {
        Cipher::new(Some(&STANDARD.encode([byte; 32]).into())).unwrap()
    }

    #[test]
    fn the_previous_key_opens_and_never_seals() {
        let previous = Some(STANDARD.encode([1; 32]).into());
        let keys = EncryptionKeys { current: STANDARD.encode([2; 32]).into(), previous };
        let both = Cipher::new(Some(&keys)).unwrap();
        let old = cipher(1).seal(OWNER, &"bearer-1".into()).unwrap();
        let new = both.seal(OWNER, &"bearer-2".into()).unwrap();
        let opened =
            |sealed: &[u8]| both.open_with(OWNER, sealed).map(|(secret, by)| (secret.expose_secret().to_owned(), by));
        assert_eq!(opened(&old).unwrap(), ("bearer-1".to_owned(), OpenedBy::Previous));
        assert_eq!(opened(&new).unwrap(), ("bearer-2".to_owned(), OpenedBy::Current));
        assert!(cipher(1).open(OWNER, &new).is_err() && cipher(3).open(OWNER, &old).is_err());
    }

    #[test]
    fn what_is_sealed_opens_for_its_owner_alone() {
        let sealed = cipher(1).seal(OWNER, &"bearer-1".into()).unwrap();
        assert_eq!(cipher(1).open(OWNER, &sealed).unwrap().expose_secret(), "bearer-1");
        assert!(cipher(1).open(Owner::ApiKey(UserId(2), KeyProvider::X), &sealed).is_err());
        assert!(cipher(1).open(Owner::SourceAccess(SourceId(1)), &sealed).is_err());
        assert!(cipher(2).open(OWNER, &sealed).is_err());
    }

    #[test]
    fn the_same_key_never_looks_the_same_twice_and_never_shows() {
        let seal = || cipher(1).seal(OWNER, &"bearer-1".into()).unwrap();
        assert_ne!(seal(), seal());
        assert!(!seal().windows(6).any(|window| window == b"bearer"));
    }

    #[test]
    fn a_damaged_seal_is_refused_at_every_byte() {
        let sealed = cipher(1).seal(OWNER, &"bearer-1".into()).unwrap();
        for index in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[index] ^= 1;
            assert!(cipher(1).open(OWNER, &damaged).is_err());
            assert!(cipher(1).open(OWNER, &sealed[..index]).is_err());
        }
    }

    #[test]
    fn a_key_of_the_wrong_length_or_alphabet_is_refused_with_what_would_be_right() {
        for key in ["", "short", "!!!", &STANDARD.encode([1; 31]), &STANDARD.encode([1; 33])] {
            let error = Cipher::new(Some(&key.into())).map(|_| ()).unwrap_err();
            assert!(error.to_string().contains("openssl rand -base64 32"), "{error}");
        }
    }

    #[test]
    fn without_a_key_nothing_is_kept_in_the_clear() {
        let cipher = Cipher::new(None).unwrap();
        assert!(matches!(
            cipher.seal(OWNER, &"bearer-1".into()),
            Err(StoreError::Encryption(text)) if text.contains("database.encryption-key")
        ));
    }
}
