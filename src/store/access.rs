//! Login and headers of a source as one text, for encryption.

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::model::{Source, SourceAccess, SourceId, SourceToPoll};

use super::cipher::{Cipher, Owner};
use super::{Result, StoreError};

pub(super) fn to_secret(access: &SourceAccess) -> SecretString {
    let pair = |(name, secret): &(String, SecretString)| json!([name, secret.expose_secret()]);
    let headers: Vec<Value> = access.headers.iter().map(pair).collect();
    json!({ "headers": headers, "login": access.login.as_ref().map(pair), "origin": access.origin }).to_string().into()
}

/// Encrypts login and headers, if there are any.
pub(super) fn seal(cipher: &Cipher, source: SourceId, access: Option<&SourceAccess>) -> Result<Option<Vec<u8>>> {
    access.map(|access| cipher.seal(Owner::SourceAccess(source), &to_secret(access))).transpose()
}

pub(super) fn from_secret(secret: &SecretString) -> Result<SourceAccess> {
    // The error must not contain the text.
    let strange = || StoreError::damaged("a source's login is encrypted in an unknown format");
    let value: Value = serde_json::from_str(secret.expose_secret()).map_err(|_| strange())?;
    let pair = |pair: &Value| Some((pair[0].as_str()?.to_owned(), SecretString::from(pair[1].as_str()?)));
    let headers = value["headers"].as_array().ok_or_else(strange)?;
    let headers = headers.iter().map(|header| pair(header).ok_or_else(strange)).collect::<Result<Vec<_>>>()?;
    let login = match &value["login"] {
        Value::Null => None,
        login => Some(pair(login).ok_or_else(strange)?),
    };
    let origin = value["origin"].as_str().map(str::to_owned);
    Ok(SourceAccess { headers, login, origin })
}

/// Decrypts login and headers. A failure affects only this source.
pub(super) fn to_poll(cipher: &Cipher, (source, sealed): (Source, Option<Vec<u8>>)) -> SourceToPoll {
    let access = sealed.map_or(Ok(SourceAccess::default()), |sealed| {
        let opened = cipher.open(Owner::SourceAccess(source.id), &sealed).and_then(|secret| from_secret(&secret));
        opened.map_err(|error| error.to_string())
    });
    SourceToPoll { source, access }
}
