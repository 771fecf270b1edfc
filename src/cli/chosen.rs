//! Which ledger a line is about: by a flag, the environment, a name of `config.toml`, or by default.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::address::{resembles_address, without_password};
use super::app::App;
use super::config::Config;
use super::fault::Fault;
use super::passwd::{os_user, this_user};
use super::problem::Problem;
use crate::actuator::host;
use crate::domain::near::nearest;
use crate::files;
use crate::ledger::{Location, OwnSession, ServerAddress, Surroundings};
use crate::ops::session::Session;

/// What is said where a ledger is reached without TLS.
pub(super) fn note_clear_text(session: &mut Session, location: &Location) {
    if matches!(location, Location::Server(address) if address.is_in_clear()) {
        session.notice("ledger_in_clear", "the ledger is reached over a network without TLS");
    }
}

/// Which ledger, and why that one.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    pub(crate) location: Location,
    pub(crate) shown: String,
    pub(crate) why: &'static str,
    pub(super) by_flag: bool,
}

impl App {
    /// Which ledger: the flag, else the environment, else the default.
    pub(crate) fn chosen(&self) -> Result<Chosen, Fault> {
        let (text, why, by_flag) =
            match (&self.globals.ledger, self.environment.get("SCALECTL_LEDGER")) {
                (Some(flag), _) => (OsString::from(flag), "chosen by --ledger", true),
                (None, Some(variable)) => (variable.to_owned(), "chosen by SCALECTL_LEDGER", false),
                (None, None) => {
                    let path = self.state_dir()?.join("ledger.db");
                    let why = "chosen by the default (no --ledger, no SCALECTL_LEDGER)";
                    return Ok(Chosen {
                        shown: path.display().to_string(),
                        location: Location::File(path),
                        why,
                        by_flag: false,
                    });
                }
            };
        let shown = text.to_string_lossy().into_owned();
        let named = self.named_ledger(&shown)?.map(OsString::from);
        let location = self.location(named.unwrap_or(text))?;
        let shown = without_password(&shown).into_owned();
        Ok(Chosen { location, shown, why, by_flag })
    }

    /// The place that a word names, and the word as it is shown.
    pub(crate) fn place_of(&self, word: &str) -> Result<(Location, String), Fault> {
        let named = self.named_ledger(word)?.unwrap_or_else(|| word.to_owned());
        let location = self.location(OsString::from(named))?;
        let shown = match &location {
            Location::File(path) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                path.display().to_string()
            }
            Location::Server(_) => without_password(word).into_owned(),
        };
        Ok((location, shown))
    }

    /// What is meant by a path or an address.
    fn location(&self, text: OsString) -> Result<Location, Fault> {
        let address = text.to_string_lossy();
        if !resembles_address(&address) {
            return Ok(Location::File(PathBuf::from(text)));
        }
        let address = address.as_ref();
        let os_user = os_user(rustix::process::getuid().as_raw());
        let application = self.session_name();
        let environment = self.environment.all();
        let around = Surroundings { environment, os_user: &os_user, application: &application };
        ServerAddress::parse(address, &around).map(Location::Server).map_err(|error| {
            let shown = without_password(address);
            let text = format!("{shown}: {error}");
            Problem::usage("ledger_address_invalid", text)
                .hint(
                    "write postgres://USER@HOST/DATABASE, with ?sslmode=verify-full (what is done \
                     anyway) or, within one host, ?sslmode=disable",
                )
                .into()
        })
    }

    /// What a server is told of this process, so that whoever waits for it can be told.
    fn session_name(&self) -> String {
        let (os_user, _) = this_user(&self.environment);
        let actor = self.globals.actor.as_deref().or(self.environment.text("SCALECTL_ACTOR"));
        let host = host::host_name().unwrap_or_default();
        let (verb, pid) = (self.verb.join(" "), host::pid());
        OwnSession { verb: &verb, actor: actor.unwrap_or(&os_user), host: &host, pid }.name()
    }

    /// What a person should know of a ledger that is not there: a name that was misspelt, a runner
    /// that keeps nothing.
    pub(super) fn about_no_ledger(&self, problem: Problem) -> Problem {
        let word = self.globals.ledger.as_deref().or(self.environment.text("SCALECTL_LEDGER"));
        let word = word.filter(|word| !word.contains(['/', '.']));
        if let (Some(word), Ok(config)) = (word, self.config_dir()) {
            let names = self.ledger_names().unwrap_or_default();
            let problem = match nearest(word, names.keys().map(String::as_str)) {
                Some(name) => problem.fact("did you mean", name),
                None => problem,
            };
            let file = config.join("config.toml");
            let text = format!(
                "{word} is no name in {} ([ledgers] {word} = \"PATH\"), so it was taken for a file",
                file.display()
            );
            return problem.fact("name", text);
        }
        if self.environment.get("CI").is_some() {
            let note = "this is a CI runner: a ledger made here would know nothing of earlier runs";
            return problem.fact("note", note);
        }
        problem
    }

    /// A file of this host. An address there would be shown, as a path is.
    pub(crate) fn file_named(flag: &str, path: &Path) -> Result<(), Fault> {
        let text = path.to_string_lossy();
        if !resembles_address(&text) {
            return Ok(());
        }
        let shown = without_password(&text);
        let text = format!("{flag} is a file, and {shown} is no path (./… where it is one)");
        Err(Fault::usage("not_a_path", text))
    }

    /// What is said where `config.toml` cannot be read, also by a line that asks no name of it:
    /// nobody is told of anything meanwhile.
    pub(super) fn note_broken_settings(&self, session: &mut Session) {
        if let Err(Fault::Problem(problem)) = self.ledger_names()
            && problem.code.starts_with("config_")
        {
            session.notice("config_unusable", problem.message);
        }
    }

    /// A ledger's name from `config.toml`: `[ledgers]` with NAME = "PATH" or "postgres://…". A word
    /// with a slash or a dot is a path.
    fn named_ledger(&self, word: &str) -> Result<Option<String>, Fault> {
        if word.contains(['/', '.']) {
            return Ok(None);
        }
        Ok(self.ledger_names()?.get(word).cloned())
    }

    /// The names of ledgers that `config.toml` has.
    pub(super) fn ledger_names(&self) -> Result<BTreeMap<String, String>, Fault> {
        let file = self.config_dir()?.join("config.toml");
        let text = match files::read_settings_text(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(BTreeMap::new());
            }
            Err(error) => {
                return Err(Fault::usage(
                    "config_unreadable",
                    format!("reading {}: {error}", file.display()),
                ));
            }
        };
        let config = Config::read(&text).map_err(|error| {
            Fault::usage("config_invalid", format!("{}:{error}", file.display()))
        })?;
        Ok(config.into_ledgers())
    }
}
