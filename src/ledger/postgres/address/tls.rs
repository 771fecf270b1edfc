//! TLS: the server's certificate and its name are always checked.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{AddressError, wrong};
use crate::files;

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
            let private = PrivateKeyDer::from_pem_slice(&read("sslkey", key)?)
                .map_err(|error| wrong(format!("sslkey {key}: {}", pem_problem(&error))))?;
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
    let text = read(word, file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|error| failed(&pem_problem(&error)))?;
    if found.is_empty() { Err(failed(&"there is no certificate in it")) } else { Ok(found) }
}

/// A file of the address, read as files of settings are: never waited for, and never without end.
fn read(word: &str, file: &str) -> Result<Vec<u8>, AddressError> {
    files::read_settings(Path::new(file)).map_err(|error| wrong(format!("{word} {file}: {error}")))
}

/// What is wrong with a file. The error's own text shows what stands there, which may be a key.
const fn pem_problem(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::NoItemsFound => "there is none in it",
        pem::Error::MissingSectionEnd { .. } => "a BEGIN line has no END line",
        pem::Error::IllegalSectionStart { .. } => "a BEGIN line is not whole",
        pem::Error::Base64Decode(_) => "what stands between BEGIN and END is not base64",
        _ => "it is not in the form of PEM",
    }
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
