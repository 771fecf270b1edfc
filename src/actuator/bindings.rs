//! Which command serves an actuator on this host: `actuators.toml`.
//!
//! Owns that file, keyed by ledger and then by actuator. The ledger never holds a command, so who
//! can write a ledger cannot choose what is run on another's host. Never trusts a file that others
//! may write, and never runs a program that is not the one that was bound. The file is replaced as
//! a whole, so after a crash it is the old one or the new one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::error::BindingError;
use super::process::ChildSpec;
use crate::domain::id::{ActuatorName, LedgerId};
use crate::files;

mod command;
mod pin;

pub use command::BindSite;
pub use pin::{BundledPin, FilePin};

/// The word that stands for this very binary.
const OWN_WORD: &str = "scalectl";
const FORMAT_VERSION: u32 = 1;

/// The command that serves one actuator on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// What is run.
    pub program: Program,
    /// Its arguments, with every path absolute.
    pub args: Vec<String>,
    /// Variables with fixed values. They win over what [`resolve_env`] finds.
    pub environment: BTreeMap<String, String>,
}

/// What a binding runs, and how it is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A bundled actuator: this very binary, wherever it is.
    Bundled(BundledPin),
    /// Any other program.
    Foreign {
        /// Its absolute path.
        path: PathBuf,
        /// What the file was when it was bound.
        pin: FilePin,
        /// What the files among the arguments were that it runs, by their absolute paths.
        scripts: BTreeMap<String, FilePin>,
    },
}

impl Binding {
    /// The command line.
    pub fn words(&self) -> Vec<String> {
        let program = match &self.program {
            Program::Bundled(_) => OWN_WORD.to_owned(),
            Program::Foreign { path, .. } => path.to_string_lossy().into_owned(),
        };
        std::iter::once(program).chain(self.args.iter().cloned()).collect()
    }

    /// Whether both run the same command line, whatever its files hold.
    pub fn has_words_of(&self, other: &Self) -> bool {
        self.words() == other.words() && self.environment == other.environment
    }

    /// The child to start, if the program still is what was bound.
    ///
    /// `env` is what [`resolve_env`] answered. `own_exe` and `bundled` are this binary's.
    pub fn child(
        &self,
        own_exe: &Path,
        bundled: &BundledPin,
        mut env: Vec<(OsString, OsString)>,
    ) -> Result<ChildSpec, BindingError> {
        let program = match &self.program {
            Program::Bundled(pin) => pin.check(bundled).map(|()| own_exe.to_owned())?,
            Program::Foreign { path, pin, scripts } => {
                pin.check(path)?;
                scripts.iter().try_for_each(|(path, pin)| pin.check(Path::new(path)))?;
                path.clone()
            }
        };
        env.retain(|(name, _)| !self.environment.keys().any(|fixed| name == fixed.as_str()));
        env.extend(self.environment.iter().map(|(name, value)| (name.into(), value.into())));
        let args = self.args.iter().map(OsString::from).collect();
        Ok(ChildSpec { program, args, env, current_dir: None })
    }
}

/// The environment of a child: the listed variables that are set, and no other.
pub fn resolve_env(
    names: &[String],
    source: &dyn Fn(&str) -> Option<OsString>,
) -> Vec<(OsString, OsString)> {
    let found: BTreeMap<&str, OsString> = names
        .iter()
        .filter(|name| !name.is_empty() && !name.contains(['=', '\0']))
        .filter_map(|name| Some((name.as_str(), source(name)?)))
        .collect();
    found.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

/// The file, in the shape that it has on disk.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format_version: u32,
    #[serde(default)]
    ledger: BTreeMap<LedgerId, BTreeMap<ActuatorName, StoredBinding>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredBinding {
    program: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    environment: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<FilePin>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    scripts: BTreeMap<String, FilePin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bundled: Option<BundledPin>,
}

impl StoredBinding {
    fn from_binding(binding: &Binding) -> Result<Self, BindingError> {
        let (args, environment) = (binding.args.clone(), binding.environment.clone());
        let none = BTreeMap::new();
        let (program, file, scripts, bundled) = match &binding.program {
            Program::Bundled(pin) => (OWN_WORD.to_owned(), None, none, Some(pin.clone())),
            Program::Foreign { path, pin, scripts } => {
                let text = path.to_str().ok_or_else(|| BindingError::NotUtf8(path.into()))?;
                (text.to_owned(), Some(pin.clone()), scripts.clone(), None)
            }
        };
        Ok(Self { program, args, environment, file, scripts, bundled })
    }

    fn into_binding(self) -> Result<Binding, &'static str> {
        let program = match (self.program.as_str(), self.file, self.bundled) {
            (OWN_WORD, None, Some(pin)) if self.scripts.is_empty() => Program::Bundled(pin),
            (OWN_WORD, _, _) => return Err("a bundled program has `bundled` and no file"),
            (path, Some(pin), None) if path.starts_with('/') => {
                Program::Foreign { path: path.into(), pin, scripts: self.scripts }
            }
            (path, _, _) if path.starts_with('/') => {
                return Err("a program by path has `file` and no `bundled`");
            }
            _ => return Err("a program is an absolute path or the word scalectl"),
        };
        Ok(Binding { program, args: self.args, environment: self.environment })
    }
}

/// The command that serves an actuator of a ledger, by the file at `path`.
pub fn find(
    path: &Path,
    ledger: &LedgerId,
    actuator: &ActuatorName,
) -> Result<Binding, BindingError> {
    let (mut stored, text) = load(path)?;
    let found = stored.ledger.get_mut(ledger).and_then(|actuators| actuators.remove(actuator));
    let Some(found) = found else {
        return Err(BindingError::Unbound { actuator: actuator.clone(), path: path.to_owned() });
    };
    let line = line_of_table(&text, ledger, actuator);
    found.into_binding().map_err(|why| BindingError::Malformed {
        path: path.to_owned(),
        line,
        why: format!("actuator {actuator}: {why}"),
    })
}

/// Binds an actuator of a ledger, or binds it anew. Creates the file (0600) and its directory
/// (0700).
pub fn put(
    path: &Path,
    ledger: &LedgerId,
    actuator: &ActuatorName,
    binding: &Binding,
) -> Result<(), BindingError> {
    let stored_binding = StoredBinding::from_binding(binding)?;
    change(path, |stored| {
        let actuators = stored.ledger.entry(ledger.clone()).or_default();
        actuators.insert(actuator.clone(), stored_binding);
        true
    })
    .map(|_| ())
}

/// Takes a binding away. Answers whether there was one.
pub fn remove(
    path: &Path,
    ledger: &LedgerId,
    actuator: &ActuatorName,
) -> Result<bool, BindingError> {
    if !path.exists() {
        return Ok(false);
    }
    change(path, |stored| {
        let Some(actuators) = stored.ledger.get_mut(ledger) else { return false };
        let found = actuators.remove(actuator).is_some();
        if actuators.is_empty() {
            stored.ledger.remove(ledger);
        }
        found
    })
}

/// Reads, changes and replaces the file, one process at a time, if there is a change.
fn change(path: &Path, edit: impl FnOnce(&mut Stored) -> bool) -> Result<bool, BindingError> {
    let dir = dir_of(path);
    files::make_private_dirs(dir).map_err(failed("creating the directory", dir))?;
    if !path.exists() {
        sync_ancestors(dir).map_err(failed("writing the directories above", dir))?;
    }
    let lock = File::open(dir).map_err(failed("opening the directory", dir))?;
    flock(&lock, FlockOperation::LockExclusive)
        .map_err(|error| failed("locking the directory", dir)(error.into()))?;
    let (mut stored, _) = load(path)?;
    if !edit(&mut stored) {
        return Ok(false);
    }
    let text = toml::to_string(&stored)
        .map_err(|error| failed("writing the bindings", path)(io::Error::other(error)))?;
    files::replace(path, text.as_bytes(), 0o600).map_err(failed("writing the bindings", path))?;
    lock.sync_all().map_err(failed("writing the directory", dir))?;
    Ok(true)
}

/// Makes the names of the directories above durable, up to the root of their file system: any of
/// them may have been made just now, or by a run that crashed. Whoever may not look into one has
/// not made anything in it.
fn sync_ancestors(dir: &Path) -> io::Result<()> {
    let dir = std::path::absolute(dir)?;
    let device = dir.metadata()?.dev();
    for above in dir.ancestors().skip(1) {
        match File::open(above) {
            Ok(opened) if opened.metadata()?.dev() == device => opened.sync_all()?,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Ok(_) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The file and its text; an empty one if there is none.
fn load(path: &Path) -> Result<(Stored, String), BindingError> {
    let text = match files::read_settings(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let none = Stored { format_version: FORMAT_VERSION, ledger: BTreeMap::new() };
            return Ok((none, String::new()));
        }
        Err(error) => return Err(failed("reading the bindings", path)(error)),
    };
    refuse_shared(path)?;
    refuse_shared(dir_of(path))?;
    let malformed = |line, why| BindingError::Malformed { path: path.to_owned(), line, why };
    let text = String::from_utf8(text).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        malformed(line_at(error.as_bytes(), good), "it is not UTF-8".to_owned())
    })?;
    let stored: Stored = toml::from_str(&text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        malformed(line_at(text.as_bytes(), at), error.message().to_owned())
    })?;
    if stored.format_version != FORMAT_VERSION {
        let why = format!(
            "format_version {} is not {FORMAT_VERSION}, the one that this scalectl reads",
            stored.format_version
        );
        return Err(malformed(1, why));
    }
    Ok((stored, text))
}

fn line_at(text: &[u8], offset: usize) -> usize {
    text.iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

/// The line with the head of a binding, as we write it; the first if a person has written another.
fn line_of_table(text: &str, ledger: &LedgerId, actuator: &ActuatorName) -> usize {
    let is_head = |line: &str| {
        line.starts_with('[') && line.contains(ledger.as_str()) && line.contains(actuator.as_str())
    };
    text.lines().position(is_head).unwrap_or(0) + 1
}

fn dir_of(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Refuses a file or folder that another than root and this user may write.
pub(super) fn refuse_shared(path: &Path) -> Result<(), BindingError> {
    let found = fs::metadata(path).map_err(failed("inspecting", path))?;
    let refuse = |why: String| Err(BindingError::Unsafe { path: path.to_owned(), why });
    if found.mode() & 0o022 != 0 {
        return refuse(format!("has mode {:03o}: others may write it", found.mode() & 0o7777));
    }
    if found.uid() != 0 && found.uid() != rustix::process::geteuid().as_raw() {
        return refuse(format!("belongs to uid {}, neither root nor you", found.uid()));
    }
    Ok(())
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BindingError {
    let path = path.to_owned();
    move |source| BindingError::Io { doing, path, source }
}

#[cfg(test)]
mod tests;
