//! `feedwarden token`: issues a token for the TCP door. Only who knows the secret or the private key can.

use std::time::Duration;

use secrecy::SecretString;

use super::arguments::Token;
use super::{Exit, complain, print};
use crate::api::settings::TokenKey;
use crate::api::tokens::{Scope, Signer, TokenWish, issue};
use crate::clock::{Clock, SystemClock};
use crate::config::Settings;

const DAY: u64 = 86_400;

/// Prints a token, or says what is missing.
pub(super) fn token(arguments: &Token, settings: &Settings) -> Exit {
    let Some(tokens) = &settings.api.tokens else {
        complain(&"no token would be taken: set api.jwt-secret, api.jwt-secret-file or api.jwt-public-key-file first");
        return Exit::Usage;
    };
    let private = match &arguments.private_key_file {
        None => None,
        Some(path) => match std::fs::read_to_string(path) {
            Ok(pem) => Some(SecretString::from(pem)),
            Err(cause) => {
                complain(&format_args!("{} cannot be read: {cause}", path.display()));
                return Exit::Failure;
            }
        },
    };
    let signer = match (&tokens.key, private) {
        (TokenKey::Secret(secret), None) => Signer::Secret(secret.clone()),
        (TokenKey::Rsa(_), Some(private)) => Signer::Rsa(private),
        (TokenKey::Ed25519(_), Some(private)) => Signer::Ed25519(private),
        (TokenKey::Secret(_), Some(_)) => {
            complain(&"tokens are signed with the secret (api.jwt-algorithm is HS256); leave --private-key-file out");
            return Exit::Usage;
        }
        (TokenKey::Rsa(_) | TokenKey::Ed25519(_), None) => {
            complain(&"tokens are signed with a private key; name it with --private-key-file");
            return Exit::Usage;
        }
    };
    let wish = TokenWish {
        subject: arguments.subject.clone(),
        scope: if arguments.scope == "write" { Scope::Write } else { Scope::Read },
        lifetime: Duration::from_secs(u64::from(arguments.days) * DAY),
        audience: tokens.audience.clone(),
    };
    match issue(&wish, &signer, SystemClock.now()) {
        Ok(token) => print(&format!("{token}\n")),
        Err(error) => {
            complain(&error);
            Exit::Failure
        }
    }
}
