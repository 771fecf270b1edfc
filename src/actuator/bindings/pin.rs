//! How a bound program is recognised.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::super::error::BindingError;
use super::failed;
use crate::domain::digest::Digest;

/// What the file of a foreign program was when it was bound.
///
/// While all but the digest is the same, the file is not read again. The change time cannot be set
/// by its owner, so a file that was replaced and dated back is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilePin {
    size_bytes: u64,
    inode: u64,
    mtime_s: i64,
    mtime_ns: i64,
    ctime_s: i64,
    ctime_ns: i64,
    sha256: Digest,
}

impl FilePin {
    /// Reads the file.
    pub fn of(program: &Path) -> Result<Self, BindingError> {
        let doing = "reading the program";
        // Looked at first and read second: a change in between shows at the next check.
        let found = fs::metadata(program).map_err(failed(doing, program))?;
        let sha256 = hash(program).map_err(failed(doing, program))?;
        Ok(Self::new(&found, sha256))
    }

    fn new(found: &Metadata, sha256: Digest) -> Self {
        Self {
            size_bytes: found.len(),
            inode: found.ino(),
            mtime_s: found.mtime(),
            mtime_ns: found.mtime_nsec(),
            ctime_s: found.ctime(),
            ctime_ns: found.ctime_nsec(),
            sha256,
        }
    }

    /// Whether the program still is what was bound: the same file, or another with the same bytes.
    pub(super) fn check(&self, program: &Path) -> Result<(), BindingError> {
        let doing = "inspecting the bound program";
        let found = fs::metadata(program).map_err(failed(doing, program))?;
        if Self::new(&found, self.sha256) == *self {
            return Ok(());
        }
        let actual = hash(program).map_err(failed(doing, program))?;
        if actual == self.sha256 {
            return Ok(());
        }
        Err(BindingError::ActuatorChanged {
            program: program.to_owned(),
            expected: self.sha256.to_string(),
            actual: actual.to_string(),
        })
    }
}

fn hash(path: &Path) -> io::Result<Digest> {
    let mut hasher = Sha256::new();
    let mut file = fs::File::open(path)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match io::Read::read(&mut file, &mut buffer) {
            Ok(0) => break,
            Ok(count) => hasher.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let bytes: [u8; 32] = hasher.finalize().into();
    Digest::from_bytes(&bytes).ok_or_else(|| io::Error::other("a digest of another length"))
}

/// What a bundled actuator was when it was bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundledPin {
    /// The protocol that it speaks, such as `scalectl.actuator/1`.
    pub protocol: String,
    /// The version of its behaviour.
    pub adapter_version: String,
}

impl BundledPin {
    pub(super) fn check(&self, current: &Self) -> Result<(), BindingError> {
        if self == current {
            return Ok(());
        }
        let say = |pin: &Self| format!("{} {}", pin.protocol, pin.adapter_version);
        Err(BindingError::BundledChanged { expected: say(self), actual: say(current) })
    }
}
