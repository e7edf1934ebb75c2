//! Files and brokers as receivers of events: what their URLs, passwords and formats have to be.

use secrecy::SecretString;

use super::{Result, Service, ServiceError};
use crate::model::DeliveryFormat;
use crate::sinks::{Address, check_file, is_sink};

impl Service {
    /// The URL of a sink without its password, and the password, which is kept encrypted; none if neither URL nor
    /// request has one.
    pub(super) fn valid_sink(
        &self,
        url: &str,
        secret: Option<String>,
        format: DeliveryFormat,
    ) -> Result<(String, Option<SecretString>)> {
        if !format.has_standard_signature() {
            let detail = "files and brokers take the formats standard and cloudevents";
            return Err(ServiceError::invalid("format", detail));
        }
        let in_url = |error: String| ServiceError::invalid("url", error);
        let (url, written) = Address::split(url).map_err(|error| in_url(error.to_string()))?;
        if written.is_some() && secret.is_some() {
            return Err(ServiceError::invalid("secret", "the URL has a password already; give one of the two"));
        }
        let secret = written.or_else(|| secret.map(SecretString::from));
        let address = Address::new(&url, secret.as_ref()).map_err(|error| in_url(error.to_string()))?;
        if let Address::File(file) = &address {
            check_file(file, self.pipeline.sinks()).map_err(in_url)?;
        }
        Ok((url, secret))
    }
}

/// A receiver stays what it is: its history and its secret belong to it.
pub(super) fn check_kind(old: &str, new: &str) -> Result<()> {
    match (is_sink(old), is_sink(new)) {
        (true, false) => Err(ServiceError::invalid("url", "a sink cannot become a webhook; add a new one")),
        (false, true) => Err(ServiceError::invalid("url", "a webhook cannot become a sink; add a new one")),
        _ => Ok(()),
    }
}
