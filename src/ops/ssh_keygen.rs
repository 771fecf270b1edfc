//! Signatures by `ssh-keygen -Y`, as a child of its own.
//!
//! Owns the lines that it is started with and what its answers mean. Its files are in a directory
//! of this user's alone that is gone afterwards. It never asks anybody for a passphrase: a key that
//! has one is used through the agent.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::error::OpError;
use super::session::{Place, Session};
use crate::actuator::process::{self, Captured, ChildEnd, ChildSpec, Limits, Unwatched};
use crate::domain::id::CommandId;
use crate::domain::scale::signed::NAMESPACE;
use crate::domain::time::{DurationMs, Timestamp};
use crate::files;

/// A key on a token waits for a touch.
const TIMEOUT: DurationMs = DurationMs::from_secs(60);

/// What of the environment it needs: where keys are, and whom to ask for them.
const ENVIRONMENT: [&str; 4] = ["HOME", "PATH", "SSH_AUTH_SOCK", "SSH_SK_PROVIDER"];

/// Whom a good signature is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Signed {
    /// By the list of allowed signers.
    pub(super) principal: String,
    /// `SHA256:…`.
    pub(super) fingerprint: String,
}

/// What it said.
pub(super) enum Said<T> {
    /// Yes.
    Good(T),
    /// No, and why.
    Bad(String),
}

/// Signs a text with the key in a file: a private one, or a public one whose private half the agent
/// has.
pub(super) fn sign(place: &Place, key: &Path, content: &str) -> Result<Said<String>, OpError> {
    let key = std::path::absolute(key).unwrap_or_else(|_| key.to_owned());
    let args =
        [OsStr::new("-q"), "-Y".as_ref(), "sign".as_ref(), "-n".as_ref(), NAMESPACE.as_ref()];
    let args = args.into_iter().chain([OsStr::new("-f"), key.as_os_str()]);
    let captured = run(place, args, content)?;
    let armour = String::from_utf8_lossy(&captured.stdout).into_owned();
    Ok(if is_good(&captured) && armour.starts_with("-----BEGIN SSH SIGNATURE-----") {
        Said::Good(armour)
    } else {
        Said::Bad(problem(&captured))
    })
}

/// Holds a signature against a list of allowed signers, as it was good at an instant.
pub(super) fn verify(
    place: &Place,
    allowed: &str,
    armour: &str,
    content: &str,
    at: Timestamp,
) -> Result<Said<Signed>, OpError> {
    let files = Files::new(place, allowed, armour)?;
    let time = format!("-Overify-time={}", compact(at));
    let found = {
        let args = [OsStr::new("-Y"), "find-principals".as_ref(), time.as_ref()];
        run(place, args.into_iter().chain(files.args()), "")?
    };
    if !is_good(&found) {
        return Ok(Said::Bad(problem(&found)));
    }
    let names = String::from_utf8_lossy(&found.stdout).into_owned();
    let mut last = "the list names nobody for this key".to_owned();
    for principal in names.lines().map(str::trim).filter(|name| !name.is_empty()) {
        let args = [OsStr::new("-Y"), "verify".as_ref(), time.as_ref(), "-n".as_ref()];
        let args =
            args.into_iter().chain([NAMESPACE.as_ref(), OsStr::new("-I"), principal.as_ref()]);
        let verified = run(place, args.chain(files.args()), content)?;
        let said = String::from_utf8_lossy(&verified.stdout).into_owned();
        let fingerprint = said.split_whitespace().find(|word| word.starts_with("SHA256:"));
        match fingerprint.filter(|_| is_good(&verified)) {
            Some(fingerprint) => {
                let (principal, fingerprint) = (principal.to_owned(), fingerprint.to_owned());
                return Ok(Said::Good(Signed { principal, fingerprint }));
            }
            None => last = problem(&verified),
        }
    }
    Ok(Said::Bad(last))
}

/// `YYYYMMDDHHMMSS`. The child's zone is UTC, so no letter says it; it knows whole seconds only.
fn compact(at: Timestamp) -> String {
    let text = at.to_string();
    text.chars().filter(char::is_ascii_digit).take(14).collect()
}

fn run<'a>(
    place: &Place,
    args: impl IntoIterator<Item = &'a OsStr>,
    stdin: &str,
) -> Result<Captured, OpError> {
    let named = |name: &str| {
        let value = place.environment.get(OsStr::new(name))?;
        Some((OsString::from(name), value.clone()))
    };
    let mut env: Vec<(OsString, OsString)> = ENVIRONMENT.into_iter().filter_map(named).collect();
    // Whoever has no terminal must not wait at one, and no window may open: the answer is no.
    let fixed = [
        ("LC_ALL", "C"),
        ("TZ", "UTC0"),
        ("SSH_ASKPASS", "/bin/false"),
        ("SSH_ASKPASS_REQUIRE", "force"),
        ("DISPLAY", ""),
    ];
    env.extend(fixed.into_iter().map(|(name, value)| (name.into(), value.into())));
    let spec = ChildSpec {
        program: PathBuf::from("ssh-keygen"),
        args: args.into_iter().map(OsStr::to_owned).collect(),
        env,
        current_dir: None,
    };
    let captured = process::run(&spec, stdin.as_bytes(), &Limits::within(TIMEOUT), &mut Unwatched);
    let captured = captured.map_err(|error| match error {
        crate::actuator::error::SpawnError::Interrupted { signal, .. } => {
            OpError::Interrupted { signal, key: None }
        }
        error => OpError::Usage {
            code: "ssh_keygen_missing",
            message: format!("signatures are made and checked by ssh-keygen: {error}"),
            hint: Some("install OpenSSH's client, or let it be found in PATH".to_owned()),
        },
    })?;
    let failed = |what: String| OpError::Usage {
        code: "ssh_keygen_failed",
        message: format!("ssh-keygen gave no answer: {what}"),
        hint: Some("run this same line again".to_owned()),
    };
    // Only its own exit says anything of a signature.
    match captured.end {
        ChildEnd::Exited(_) => Ok(captured),
        ChildEnd::Interrupted(signal) => Err(OpError::Interrupted { signal, key: None }),
        ChildEnd::Signalled(signal) => Err(failed(format!("signal {signal} ended it"))),
        ChildEnd::TimedOut | ChildEnd::Stopped => {
            Err(failed(format!("it was not done within {TIMEOUT}")))
        }
    }
}

fn is_good(captured: &Captured) -> bool {
    captured.end == ChildEnd::Exited(0)
}

/// What it said for people, in one line.
fn problem(captured: &Captured) -> String {
    let text = String::from_utf8_lossy(&captured.stderr);
    let said: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
    if said.is_empty() {
        return "ssh-keygen says no, and not why".to_owned();
    }
    format!("ssh-keygen says: {}", said.join("; "))
}

/// The files that it reads. Gone when they are dropped.
struct Files {
    directory: PathBuf,
    allowed: PathBuf,
    signature: PathBuf,
}

impl Files {
    fn new(place: &Place, allowed: &str, armour: &str) -> Result<Self, OpError> {
        let command: CommandId = Session::command_id()?;
        let directory = place.state_dir.join("signatures").join(command.as_str());
        let files = Self {
            allowed: directory.join("allowed_signers"),
            signature: directory.join("signature"),
            directory,
        };
        let failed = |error: std::io::Error| OpError::Internal {
            what: format!("{}: {error}", files.directory.display()),
        };
        files::make_private_dirs(&files.directory).map_err(failed)?;
        for (path, text) in [(&files.allowed, allowed), (&files.signature, armour)] {
            use std::io::Write as _;
            let mut file = files::make_private_file(path).map_err(failed)?;
            file.write_all(text.as_bytes()).map_err(failed)?;
        }
        Ok(files)
    }

    fn args(&self) -> impl Iterator<Item = &OsStr> {
        let allowed = [OsStr::new("-f"), self.allowed.as_os_str()];
        allowed.into_iter().chain([OsStr::new("-s"), self.signature.as_os_str()])
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // What is left over says nothing that the ledger does not.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
