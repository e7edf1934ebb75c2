//! TLS configuration and error messages.

use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore};

use super::tls_sessions::TlsSessions;
use crate::model::Timestamp;

/// The configuration for every connection: the platform's authorities, or the bundled ones where the platform has
/// none, and those in the given PEM file. Sessions of this many servers are kept for resumption.
pub(crate) fn configuration(authorities: Option<&Path>, sessions_max: usize) -> Result<Arc<ClientConfig>, String> {
    let mut roots = roots(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = authorities {
        let before = roots.len();
        for certificate in CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())? {
            let certificate = certificate.map_err(|error| error.to_string())?;
            roots.add(certificate).map_err(|error| error.to_string())?;
        }
        if roots.len() == before {
            return Err(format!("{} holds no certificate; write them in PEM", path.display()));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut configuration = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    configuration.resumption = Resumption::store(Arc::new(TlsSessions::new(sessions_max)));
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(configuration))
}

/// A platform without authorities is probably a container without a certificate package.
fn roots(platform: Vec<CertificateDer<'static>>) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(platform);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

/// A TLS failure in words.
pub(crate) fn describe(error: &rustls::Error) -> String {
    use rustls::Error;
    match error {
        Error::InvalidCertificate(error) => describe_certificate(error),
        Error::InvalidMessage(_) => "the server does not speak TLS on this port".into(),
        Error::AlertReceived(AlertDescription::UnrecognisedName) => "the server does not know this name (TLS)".into(),
        Error::AlertReceived(AlertDescription::ProtocolVersion) => {
            "the server speaks only a version of TLS that is too old".into()
        }
        Error::AlertReceived(alert) => format!("the server ended the TLS handshake: {alert:?}"),
        Error::PeerIncompatible(reason) => format!("no TLS in common with the server: {reason:?}"),
        other => format!("TLS failed: {other}"),
    }
}

fn describe_certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::Expired => "TLS certificate expired".into(),
        CertificateError::ExpiredContext { not_after, .. } => format!("TLS certificate expired on {}", day(*not_after)),
        CertificateError::NotValidYet => "TLS certificate is not valid yet".into(),
        CertificateError::NotValidYetContext { not_before, .. } => {
            format!("TLS certificate is not valid before {}", day(*not_before))
        }
        CertificateError::UnknownIssuer => "TLS certificate is not signed by a known authority".into(),
        CertificateError::NotValidForName => "TLS certificate is for another name".into(),
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names: Vec<String> = presented.iter().take(3).map(|name| plain_name(name)).collect();
            format!("TLS certificate is for {}, not for {}", names.join(", "), expected.to_str())
        }
        CertificateError::Revoked => "TLS certificate was revoked".into(),
        CertificateError::BadSignature => "TLS certificate has a bad signature".into(),
        other => format!("TLS certificate is invalid: {other}"),
    }
}

/// rustls writes names as `DnsName("feeds.example")`.
fn plain_name(name: &str) -> String {
    name.split('"').nth(1).unwrap_or(name).chars().take(100).collect()
}

fn day(moment: UnixTime) -> String {
    let moment = Timestamp::from_seconds(i64::try_from(moment.as_secs()).unwrap_or(i64::MAX));
    moment.to_string().chars().take("2026-03-01".len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expired_certificate_is_named_with_its_last_day() {
        let moment = |seconds| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let error = CertificateError::ExpiredContext { time: moment(1_790_000_000), not_after: moment(1_772_366_400) };
        assert_eq!(describe(&rustls::Error::InvalidCertificate(error)), "TLS certificate expired on 2026-03-01");
    }

    #[test]
    fn the_bundled_authorities_stand_in_for_a_platform_that_has_none() {
        let unreadable = CertificateDer::from(vec![1, 2, 3]);
        assert_eq!(roots(vec![unreadable]).len(), webpki_roots::TLS_SERVER_ROOTS.len());
    }

    #[test]
    fn a_missing_file_of_authorities_is_an_error_and_not_a_smaller_trust() {
        assert!(configuration(Some(Path::new("/nonexistent/authorities.pem")), 0).is_err());
    }
}
