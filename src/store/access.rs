//! A source's headers and login as one secret text, for the cipher.

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

/// Seals what belongs to a source, if there is anything.
pub(super) fn seal(cipher: &Cipher, source: SourceId, access: Option<&SourceAccess>) -> Result<Option<Vec<u8>>> {
    access.map(|access| cipher.seal(Owner::SourceAccess(source), &to_secret(access))).transpose()
}

pub(super) fn from_secret(secret: &SecretString) -> Result<SourceAccess> {
    // The text itself must not show up in the error.
    let strange = || StoreError::damaged("a source's login is sealed in a form that nobody knows");
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

/// Opens what belongs to a source. What cannot be opened harms nobody but its own source.
pub(super) fn to_poll(cipher: &Cipher, (source, sealed): (Source, Option<Vec<u8>>)) -> SourceToPoll {
    let access = sealed.map_or(Ok(SourceAccess::default()), |sealed| {
        let opened = cipher.open(Owner::SourceAccess(source.id), &sealed).and_then(|secret| from_secret(&secret));
        opened.map_err(|error| error.to_string())
    });
    SourceToPoll { source, access }
}
