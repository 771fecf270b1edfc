//! Which command of this host is told of what a person should hear of: `[notify]` of `config.toml`.
//!
//! Owns that part of the file. Like a binding, the command is this host's alone and never comes
//! from a ledger; where others may write the file, its folder or the program, nothing is run.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::bindings::refuse_shared;
use super::error::BindingError;
use crate::domain::time::{DurationMs, InvalidDuration};
use crate::files;

/// How long the command may take where nobody says.
const TIMEOUT: DurationMs = DurationMs::from_secs(5);
/// The longest that it may take: a command of ours waits for it at its end.
const TIMEOUT_MAX: DurationMs = DurationMs::from_secs(60);

/// What somebody may be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// A wish waits for a colleague.
    Approval,
    /// Nobody knows what became of a call.
    Unknown,
    /// Somebody has broken the glass.
    BreakGlass,
}

impl Topic {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Approval, Self::Unknown, Self::BreakGlass];

    /// The word in the file and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Unknown => "unknown",
            Self::BreakGlass => "break_glass",
        }
    }
}

/// The part of the file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotifySettings {
    /// What it is told of; all of it where nobody says.
    #[serde(default = "all")]
    on: Vec<Topic>,
    /// The program, by an absolute path, and its arguments.
    command: Vec<String>,
    /// When it is killed; 5 s where nobody says, 60 s at most.
    #[serde(default = "usual")]
    timeout: DurationText,
}

/// A duration as the command line takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct DurationText(DurationMs);

impl TryFrom<String> for DurationText {
    type Error = InvalidDuration;
    fn try_from(text: String) -> Result<Self, InvalidDuration> {
        text.parse().map(Self)
    }
}

fn all() -> Vec<Topic> {
    Topic::ALL.to_vec()
}

fn usual() -> DurationText {
    DurationText(TIMEOUT)
}

/// Why nothing can be told.
#[derive(Debug, thiserror::Error)]
pub enum NotifyError {
    /// The file could not be read.
    #[error("reading {path:?}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The part of the file says nothing that could be run.
    #[error("{path:?}: [notify] {why}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong. Nothing of what stands there is shown: there may be a password in it.
        why: String,
    },
    /// Others could change which command is run.
    #[error("{0}")]
    Unsafe(BindingError),
}

impl NotifySettings {
    /// The settings of a text of the file; none where it has no such part.
    pub fn of_text(text: &str) -> Result<Option<Self>, String> {
        /// The whole of the file, as far as it is of interest here.
        #[derive(Deserialize)]
        struct File {
            notify: Option<NotifySettings>,
        }
        const SHAPE: &str = "has command = [\"/absolute/path\", …], and may have \
                             on = [\"approval\", \"unknown\", \"break_glass\"] and timeout = \
                             \"5s\"";
        let file: File = toml::from_str(text).map_err(|_| SHAPE.to_owned())?;
        let Some(settings) = file.notify else { return Ok(None) };
        match settings.command.first() {
            Some(program) if program.starts_with('/') => {}
            Some(_) => return Err("needs the absolute path of a program".to_owned()),
            None => return Err("names no program in command".to_owned()),
        }
        if settings.command.iter().any(|word| word.contains('\0')) {
            return Err("has U+0000 in its command".to_owned());
        }
        if settings.timeout.0 == DurationMs::ZERO || settings.timeout.0 > TIMEOUT_MAX {
            return Err(format!("has a timeout that is not from 1ms to {TIMEOUT_MAX}"));
        }
        Ok(Some(settings))
    }

    /// The settings of this host, if they can be trusted; none where there are none.
    pub fn read(path: &Path) -> Result<Option<Self>, NotifyError> {
        let text = match files::read_settings_text(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(NotifyError::Unreadable { path: path.to_owned(), source }),
        };
        let found = Self::of_text(&text);
        let found = found.map_err(|why| NotifyError::Malformed { path: path.to_owned(), why })?;
        let Some(settings) = found else { return Ok(None) };
        let folder = path.parent().unwrap_or(Path::new("/"));
        for place in [folder, path, settings.program()] {
            refuse_shared(place).map_err(NotifyError::Unsafe)?;
        }
        Ok(Some(settings))
    }

    /// Whether it is told of this.
    pub fn is_for(&self, topic: Topic) -> bool {
        self.on.contains(&topic)
    }

    /// What it is told of.
    pub fn topics(&self) -> Vec<&'static str> {
        self.on.iter().map(|topic| topic.as_str()).collect()
    }

    /// What is run.
    pub fn program(&self) -> &Path {
        Path::new(self.command.first().map_or("/", String::as_str))
    }

    /// Its arguments.
    pub fn arguments(&self) -> &[String] {
        self.command.get(1..).unwrap_or_default()
    }

    /// When it is killed.
    pub const fn timeout(&self) -> DurationMs {
        self.timeout.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_says_nothing_to_run_is_refused() {
        let read = |text: &str| NotifySettings::of_text(text);
        assert_eq!(read(""), Ok(None));
        assert_eq!(read("[ledgers]\nprod = \"/p\"\n"), Ok(None));
        let good =
            "[notify]\non = [\"unknown\"]\ncommand = [\"/bin/page\", \"sre\"]\ntimeout = \"2s\"";
        let good = read(good).expect("good").expect("there");
        assert_eq!(
            (good.program(), good.arguments()),
            (Path::new("/bin/page"), &["sre".into()][..])
        );
        assert!(good.is_for(Topic::Unknown) && !good.is_for(Topic::Approval));
        assert_eq!(good.timeout(), DurationMs::from_secs(2));
        let all = read("[notify]\ncommand = [\"/bin/page\"]").expect("good").expect("there");
        assert!(Topic::ALL.into_iter().all(|topic| all.is_for(topic)));
        assert_eq!(all.timeout(), TIMEOUT);
        for (bad, why) in [
            ("[notify]", "has command"),
            ("notify = 1", "has command"),
            ("[notify]\ncommand = []", "names no program"),
            ("[notify]\ncommand = [\"page\"]", "absolute path"),
            ("[notify]\ncommand = [\"./page\"]", "absolute path"),
            ("[notify]\ncommand = \"/bin/page\"", "has command"),
            ("[notify]\ncommand = [\"/p\"]\non = [\"all\"]", "has command"),
            ("[notify]\ncommand = [\"/p\"]\nwho = 1", "has command"),
            ("[notify]\ncommand = [\"/p\"]\ntimeout = 5", "has command"),
            ("[notify]\ncommand = [\"/p\"]\ntimeout = \"0s\"", "timeout"),
            ("[notify]\ncommand = [\"/p\"]\ntimeout = \"61s\"", "timeout"),
            ("[notify]\ncommand = [\"/p\\u0000\"]", "U+0000"),
        ] {
            let said = read(bad).expect_err(bad);
            assert!(said.contains(why), "{bad}: {said}");
        }
    }
}
