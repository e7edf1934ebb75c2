//! `feedwarden token`: issues a token for the API over TCP. Needs the configuration and no daemon.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use secrecy::SecretString;
use serde_json::json;

use super::arguments::Layers;
use super::times::duration;
use super::{Exit, complain, print};
use crate::api::settings::{ApiSettings, TokenKey};
use crate::api::tokens::{Signer, TokenRequest, TokenScope, issue};
use crate::clock::{Clock, SystemClock};

/// Ten years, as for `--hours`.
const VALIDITY_MAX: Duration = Duration::from_secs(87_600 * 3600);

#[derive(Args, Debug)]
pub(super) struct TokenArguments {
    #[command(flatten)]
    pub(super) layers: Layers,
    /// Name of the token's holder
    #[arg(long, value_name = "NAME", default_value = "operator")]
    subject: String,
    /// Scope of the token
    #[arg(long, value_parser = ["read", "write"], default_value = "read")]
    scope: String,
    /// Validity in hours
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u64).range(1..=87_600))]
    hours: u64,
    /// Validity, such as 12h or 30d; at most 10 years
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, conflicts_with = "hours")]
    validity: Option<Duration>,
    /// PEM file of the private key, for RS256 and EdDSA
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn token(arguments: &TokenArguments, settings: &ApiSettings) -> Exit {
    let Some(tokens) = &settings.tokens else {
        complain(
            &"there is no key to sign with; set api.jwt-secret or api.jwt-secret-file as in the daemon's configuration",
        );
        return Exit::Usage;
    };
    let signer = match (&tokens.key, &arguments.key_file) {
        (TokenKey::Secret(secret), None) => Signer::Secret(secret.clone()),
        (TokenKey::Secret(_), Some(_)) => {
            complain(&"--key-file is of no use for HS256: the configured secret signs");
            return Exit::Usage;
        }
        (key, Some(path)) => match std::fs::read_to_string(path) {
            Ok(pem) if matches!(key, TokenKey::Rsa(_)) => Signer::Rsa(SecretString::from(pem)),
            Ok(pem) => Signer::Ed25519(SecretString::from(pem)),
            Err(error) => {
                complain(&format_args!("the key file {} cannot be read: {error}", path.display()));
                return Exit::Usage;
            }
        },
        (_, None) => {
            complain(&"the configured public key only checks; name the private one with --key-file");
            return Exit::Usage;
        }
    };
    let lifetime = arguments.validity.unwrap_or(Duration::from_secs(arguments.hours * 3600));
    if lifetime > VALIDITY_MAX {
        complain(&"--for: a token is valid for 10 years at most");
        return Exit::Usage;
    }
    let request = TokenRequest {
        subject: arguments.subject.clone(),
        scope: if arguments.scope == "write" { TokenScope::Write } else { TokenScope::Read },
        lifetime,
        audience: tokens.audience.clone(),
    };
    match issue(&request, &signer, SystemClock.now()) {
        Ok(token) if arguments.json => print(&format!("{:#}\n", json!({ "token": token }))),
        Ok(token) => print(&format!("{token}\n")),
        Err(error) => {
            complain(&error);
            Exit::Usage
        }
    }
}
