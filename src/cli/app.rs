//! What every verb has at hand: the flags that all of them take, the environment, the ledger.

mod anew;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Args;

use super::args::{up_to, whole_number};
use super::chosen::{Chosen, note_clear_text};
use super::fault::Fault;
use super::output::{Format, LedgerShown, Recorded};
use super::passwd::this_user;
use super::problem::{Problem, ProblemContext};
use crate::actuator::host::{self, Deadline};
use crate::actuator::signals;
use crate::domain::id::{ExecutionKey, IntentRevision, ServiceName};
use crate::domain::scale::left::Left;
use crate::domain::scale::provenance::{Claim, Provenance};
use crate::domain::scale::rejection::Rejection;
use crate::domain::time::DurationMs;
use crate::ledger::{CreateOptions, LOCK_TIMEOUT_MAX, Ledger, OpenOptions};
use crate::ops::clock::Clock;
use crate::ops::{OpError, Place, Session, mint, while_opening};

/// The flags that every verb takes.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Globals {
    /// The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]
    #[arg(long, global = true, value_name = "LEDGER", help_heading = "Everywhere")]
    pub(crate) ledger: Option<String>,
    /// How to print the answer
    #[arg(
        long,
        short = 'o',
        global = true,
        value_name = "FORMAT",
        value_enum,
        default_value = "table",
        help_heading = "Everywhere"
    )]
    pub(crate) output: OutputFormat,
    /// Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]
    #[arg(long, global = true, value_name = "NAME", help_heading = "Everywhere")]
    pub(crate) actor: Option<String>,
    /// What varies between runs of the same wish: a commit, a ticket. Never compared
    #[arg(long = "ref", global = true, value_name = "TEXT", help_heading = "Everywhere")]
    pub(crate) reference: Option<String>,
    /// How long to wait for another writer of the ledger, up to 24h
    #[arg(
        long,
        global = true,
        value_name = "DURATION",
        default_value = "5s",
        value_parser = lock_timeout,
        help_heading = "Everywhere"
    )]
    pub(crate) lock_timeout: DurationMs,
}

fn lock_timeout(text: &str) -> Result<DurationMs, String> {
    up_to(LOCK_TIMEOUT_MAX, text)
}

/// The word of `--output`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people.
    #[default]
    Table,
    /// One JSON document.
    Json,
    /// One JSON document a line.
    Ndjson,
    /// Names only.
    Name,
}

impl OutputFormat {
    /// Whether an answer is a JSON document.
    pub(crate) const fn is_document(self) -> bool {
        matches!(self, Self::Json | Self::Ndjson)
    }
}

impl From<OutputFormat> for Format {
    fn from(word: OutputFormat) -> Self {
        match word {
            OutputFormat::Table => Self::Table,
            OutputFormat::Json => Self::Json,
            OutputFormat::Ndjson => Self::Ndjson,
            OutputFormat::Name => Self::Name,
        }
    }
}

/// The environment, read once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// The environment of this process.
    pub(crate) fn of_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// A variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The same as text; what is not UTF-8 is taken as not set.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(OsStr::to_str)
    }

    /// A variable of ours that is set and is not UTF-8. What it says would be dropped silently; the
    /// ledger's may be any path.
    pub(crate) fn garbled(&self) -> Option<String> {
        let is_ours = |name: &str| name.starts_with("SCALECTL_") && name != "SCALECTL_LEDGER";
        let mut names = self.0.iter().filter(|(_, value)| value.to_str().is_none());
        names.find_map(|(name, _)| name.to_str().filter(|name| is_ours(name)).map(str::to_owned))
    }

    /// A directory of the XDG base directories: the variable where it is absolute, else below HOME.
    fn xdg(&self, name: &str, below_home: &str) -> Option<PathBuf> {
        let named = self.get(name).map(Path::new).filter(|path| path.is_absolute());
        named
            .map(Path::to_owned)
            .or_else(|| self.get("HOME").map(|home| Path::new(home).join(below_home)))
    }

    /// All of it.
    pub(crate) const fn all(&self) -> &BTreeMap<OsString, OsString> {
        &self.0
    }
}

/// What every verb has at hand.
pub(crate) struct App {
    pub(crate) globals: Globals,
    pub(crate) environment: Environment,
    /// The words of the verb.
    pub(crate) verb: Vec<String>,
    /// The whole line.
    pub(crate) line: Vec<String>,
    /// The wish of the line, as `plan` and `policy test` take it.
    pub(crate) wish: Option<String>,
    /// Until when the line may wait for anything; none where it has not said.
    deadline: Option<Deadline>,
    session: Option<Session>,
}

impl App {
    pub(crate) const fn new(
        globals: Globals,
        environment: Environment,
        verb: Vec<String>,
        line: Vec<String>,
    ) -> Self {
        Self { globals, environment, verb, line, wish: None, deadline: None, session: None }
    }

    /// The clock; a test may set it.
    #[cfg_attr(
        not(feature = "testing"),
        expect(clippy::unused_self, reason = "only a test's environment sets the clock")
    )]
    pub(crate) fn clock(&self) -> Clock {
        #[cfg(feature = "testing")]
        if let Some(instant) = self.environment.text("SCALECTL_TEST_NOW")
            && let Ok(instant) = instant.parse()
        {
            return match self.environment.text("SCALECTL_TEST_CLOCK") {
                Some("still") => Clock::still(instant),
                _ => Clock::starting_at(instant),
            };
        }
        Clock::system()
    }

    /// Where this process keeps what is not in the ledger.
    pub(crate) fn state_dir(&self) -> Result<PathBuf, Fault> {
        let home = self.environment.xdg("XDG_STATE_HOME", ".local/state");
        home.map(|home| home.join("scalectl")).ok_or_else(|| no_home("XDG_STATE_HOME"))
    }

    /// Where the host's settings are.
    pub(crate) fn config_dir(&self) -> Result<PathBuf, Fault> {
        let home = self.environment.xdg("XDG_CONFIG_HOME", ".config");
        home.map(|home| home.join("scalectl")).ok_or_else(|| no_home("XDG_CONFIG_HOME"))
    }

    /// Who asks.
    pub(crate) fn provenance(&self) -> Result<Provenance, Fault> {
        let (os_user, uid) = this_user(&self.environment);
        let named = self
            .globals
            .actor
            .as_deref()
            .or_else(|| self.environment.text("SCALECTL_ACTOR"))
            .unwrap_or(&os_user);
        let actor = Claim::try_from(named.to_owned())
            .map_err(|error| Fault::usage("invalid_actor", error.to_string()))?;
        let reference = self.globals.reference.clone();
        if reference.as_ref().is_some_and(|text| text.contains('\0') || text.len() > 1024) {
            let text = "--ref has at most 1024 bytes and no U+0000";
            return Err(Fault::usage("invalid_reference", text));
        }
        Ok(Provenance {
            actor,
            uid,
            os_user,
            host: host::host_name()?,
            pid: host::pid(),
            run_url: self.run_url(),
            reference,
            db_role: None,
            signed_by: None,
        })
    }

    /// The page of the CI run, where the environment tells of one.
    fn run_url(&self) -> Option<String> {
        let get = |name| self.environment.text(name);
        if let (Some(server), Some(repository), Some(run)) =
            (get("GITHUB_SERVER_URL"), get("GITHUB_REPOSITORY"), get("GITHUB_RUN_ID"))
        {
            return Some(format!("{server}/{repository}/actions/runs/{run}"));
        }
        get("CI_JOB_URL").or_else(|| get("BUILD_URL")).map(str::to_owned)
    }

    /// Where this process runs.
    pub(crate) fn place(&self) -> Result<Place, Fault> {
        Ok(Place {
            own_exe: own_exe()?,
            state_dir: self.state_dir()?,
            config_dir: self.config_dir()?,
            host_key: host::host_key()?,
            host: host::host_name()?,
            pid: host::pid(),
            environment: self.environment.all().clone(),
        })
    }

    /// Lets nothing that is waited for from now on outlast the time that the line has.
    pub(crate) fn waits_at_most(&mut self, timeout: DurationMs) {
        self.deadline = Some(Deadline::after(timeout));
    }

    /// The open ledger and what belongs to it.
    pub(crate) fn session(&mut self) -> Result<&mut Session, Fault> {
        if self.session.is_none() {
            let chosen = self.chosen()?;
            let options = OpenOptions {
                lock_timeout: self.globals.lock_timeout,
                answer_within: self.deadline.map(Deadline::remaining),
                while_asked: Some(|| while_opening(super::output::say_while_waiting)),
            };
            let ledger = Ledger::open(&chosen.location, options)?;
            let mut session = Session::new(ledger, self.clock(), self.provenance()?, self.place()?);
            session.tell_of_locks(self.globals.lock_timeout, super::output::say_while_waiting);
            if let Some(deadline) = self.deadline {
                session.wait_no_longer_than(deadline);
            }
            note_clear_text(&mut session, &chosen.location);
            self.note_broken_settings(&mut session);
            self.session = Some(session);
        }
        Ok(self.session.as_mut().expect("BUG: the session was just opened"))
    }

    /// The session, where one is open.
    pub(crate) const fn opened(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Makes a new ledger and opens it. Whatever else can fail comes first.
    pub(crate) fn create(&mut self, group: Option<u32>) -> Result<(&mut Session, Chosen), Fault> {
        let chosen = self.chosen()?;
        let by = self.provenance()?;
        let clock = self.clock();
        let options = CreateOptions {
            ledger_id: mint("led-")?,
            command_id: Session::command_id()?,
            open: OpenOptions { lock_timeout: self.globals.lock_timeout, ..OpenOptions::default() },
            group,
        };
        let place = self.place()?;
        let ledger = Ledger::create(&chosen.location, &by, clock.now(), &options)?;
        let mut session = Session::new(ledger, clock, by, place);
        note_clear_text(&mut session, &chosen.location);
        self.session = Some(session);
        Ok((self.session.as_mut().expect("BUG: the session was just opened"), chosen))
    }

    /// The ledger as answers show it.
    pub(crate) fn ledger_shown(&self) -> Option<LedgerShown> {
        let session = self.session.as_ref()?;
        let identity = session.identity();
        let name = match self.chosen() {
            Ok(chosen) => chosen.shown,
            Err(_) => identity.path.display().to_string(),
        };
        Some(LedgerShown::new(identity.ledger_id.clone(), &name, identity.engine))
    }

    /// What problems are told in.
    pub(crate) fn problem_context(&self) -> ProblemContext {
        let now = self.opened().map_or_else(|| self.clock().now(), Session::now);
        let mut context = ProblemContext::at(now);
        if let Ok(chosen) = self.chosen() {
            if chosen.by_flag {
                context.program = vec!["scalectl".into(), "--ledger".into(), chosen.shown.clone()];
            }
            context.ledger = Some(format!("{}, {}", chosen.shown, chosen.why));
        }
        if let Some(session) = self.opened() {
            context.recorded = match session.has_recorded() {
                // Also of what a refusal leaves: its row may be there.
                _ if session.is_poisoned() => Recorded::Unknown,
                true => Recorded::Yes,
                false => Recorded::No,
            };
            context.applied = super::ending::applied(session.effect());
        }
        context.told = self.provenance().ok().map(|by| (by.actor.to_string(), by.os_user));
        context.verb.clone_from(&self.verb);
        context.line.clone_from(&self.line);
        context.wish.clone_from(&self.wish);
        context
    }

    /// The key that a word names: a key, `SERVICE@REVISION` or `SERVICE@latest`.
    pub(crate) fn key(&mut self, word: &str) -> Result<ExecutionKey, Fault> {
        let Some((service, revision)) = word.split_once('@') else {
            return word.parse().map_err(|error: crate::domain::id::InvalidIdentifier| {
                Fault::no_key(error.to_string())
            });
        };
        let service: ServiceName =
            service.parse().map_err(|error: crate::domain::id::InvalidIdentifier| {
                Fault::no_key(error.to_string())
            })?;
        let missing = || Fault::from(Rejection::NoSuchKey { key: word.to_owned() });
        let session = self.session()?;
        if revision == "latest" {
            let head = session.load_service(&service)?.head;
            let latest = IntentRevision::new(head.latest_revision).map_err(|_| missing())?;
            // A number that a simulation has used up names nothing: what was accepted before is the
            // newest then.
            let found = session.key_at(&service, latest)?;
            let current = head.current.map(|current| current.execution_key);
            return found.or(current).ok_or_else(missing);
        }
        let number = whole_number(revision).map_err(|_| {
            Fault::no_key(format!("{word}: after @ comes an intent revision or latest"))
        })?;
        let revision = IntentRevision::new(number).map_err(|_| missing())?;
        let found = session.key_at(&service, revision)?;
        found.ok_or_else(missing)
    }

    /// The problem of a fault, told in this line's context.
    pub(crate) fn problem(&self, fault: Fault) -> Problem {
        let left = self.opened().map_or(Left::Nothing, Session::left);
        self.problem_of(fault, left)
    }

    /// The same of a fault about a key whose calls have left this.
    pub(crate) fn problem_of(&self, fault: Fault, left: Left) -> Problem {
        let fault = ended_by_signal(fault);
        let left = fault.left().unwrap_or(left);
        let problem = fault.into_problem(&self.problem_context()).with_left(left);
        if problem.code == "ledger_missing" { self.about_no_ledger(problem) } else { problem }
    }
}

/// What a signal has ended is told as that: the ledger that was waited for is well for all we know.
fn ended_by_signal(fault: Fault) -> Fault {
    let is_wait = matches!(&fault, Fault::Op(OpError::Ledger(error)) if error.is_unavailable());
    match signals::installed().and_then(signals::Signals::first) {
        Some(signal) if is_wait => Fault::Op(OpError::Interrupted { signal, key: None }),
        Some(_) | None => fault,
    }
}

fn no_home(variable: &str) -> Fault {
    Problem::usage("no_home", format!("neither HOME nor {variable} is set"))
        .hint("set HOME, or XDG_STATE_HOME and XDG_CONFIG_HOME, to an absolute path")
        .into()
}

fn own_exe() -> Result<PathBuf, Fault> {
    std::env::current_exe()
        .map_err(|error| Fault::host(format!("this binary cannot be found: {error}")))
}
