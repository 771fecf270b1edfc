//! TLS: the server's certificate and its name are always checked.

use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{AddressError, wrong};

/// The connector that a mode asks for. Without a mode: TLS for every host that is not this one.
///
/// `require` and `verify-ca` check as much as `verify-full`. `allow` and `prefer` leave it to
/// whoever answers whether there is TLS at all, so they are refused where that may be a stranger.
pub(super) fn of<'a>(
    mode: Option<&str>,
    is_local: bool,
    word: impl Fn(&str) -> Option<&'a str>,
) -> Result<Option<MakeRustlsConnect>, AddressError> {
    match mode {
        None | Some("allow" | "prefer") if is_local => Ok(None),
        Some("disable") => Ok(None),
        None | Some("require" | "verify-ca" | "verify-full") => connector(word).map(Some),
        Some("allow" | "prefer") => Err(wrong(
            "sslmode is allow or prefer, which a stranger can turn into no TLS at all: \
             verify-full, or disable where the network itself is safe",
        )),
        Some(other) => Err(wrong(format!("sslmode is {other:?}: verify-full or disable"))),
    }
}

fn connector<'a>(
    word: impl Fn(&str) -> Option<&'a str>,
) -> Result<MakeRustlsConnect, AddressError> {
    let roots = roots(word("sslrootcert").filter(|file| *file != "system"))?;
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(format!("TLS: {error}")))?
        .with_root_certificates(roots);
    let config = match (word("sslcert"), word("sslkey")) {
        (None, None) => builder.with_no_client_auth(),
        (Some(certificate), Some(key)) => {
            let chain = certificates("sslcert", certificate)?;
            let private = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| wrong(format!("sslkey {key}: {error}")))?;
            builder
                .with_client_auth_cert(chain, private)
                .map_err(|error| wrong(format!("sslcert {certificate}: {error}")))?
        }
        _ => return Err(wrong("sslcert and sslkey belong together")),
    };
    Ok(MakeRustlsConnect::new(config))
}

fn certificates(word: &str, file: &str) -> Result<Vec<CertificateDer<'static>>, AddressError> {
    let failed = |error: &dyn std::fmt::Display| wrong(format!("{word} {file}: {error}"));
    let found = CertificateDer::pem_file_iter(file).map_err(|error| failed(&error))?;
    let found: Result<Vec<_>, _> = found.collect();
    let found = found.map_err(|error| failed(&error))?;
    if found.is_empty() { Err(failed(&"there is no certificate in it")) } else { Ok(found) }
}

fn roots(file: Option<&str>) -> Result<RootCertStore, AddressError> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = file {
        for certificate in certificates("sslrootcert", file)? {
            roots
                .add(certificate)
                .map_err(|error| wrong(format!("sslrootcert {file}: {error}")))?;
        }
        return Ok(roots);
    }
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(wrong("this host has no root certificates: name a file with sslrootcert=FILE"));
    }
    Ok(roots)
}
