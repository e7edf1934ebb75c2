//! Certificates for servers of tests.

use std::path::{Path, PathBuf};

use feedwarden::sinks::SinkSettings;

/// Writes `cert.pem` and `key.pem` for localhost into the directory; the certificate is its own authority.
pub(super) fn certify(directory: &Path) -> SinkSettings {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate: PathBuf = directory.join("cert.pem");
    std::fs::write(&certificate, certified.cert.pem()).unwrap();
    std::fs::write(directory.join("key.pem"), certified.signing_key.serialize_pem()).unwrap();
    SinkSettings { authorities: Some(certificate), directory: None }
}
