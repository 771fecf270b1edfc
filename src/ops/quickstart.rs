//! `quickstart`: the first five minutes, on a ledger of its own: every line that it runs is one that
//! a person could type, and is printed before it runs.
//!
//! Owns a directory that it makes and, when asked, removes. Never touches another ledger: the
//! environment's choice of one is not passed on. If it is killed, the directory is left as it is, and
//! `quickstart --remove` still finds its way.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ask::stderr_text;
use super::error::OpError;
use super::session::Place;
use super::wait::pause;
use crate::actuator::bindings;
use crate::actuator::host::Deadline;
use crate::actuator::process::{
    self, Captured, ChildEnd, ChildSpec, Limits, Tick, Unwatched, Watch,
};
use crate::domain::id::{ActuatorName, LedgerId};
use crate::domain::time::DurationMs;

/// The file that says that a directory was made by `quickstart` and may be removed by it.
const MARK: &str = ".scalectl-quickstart";
/// How long one line may take.
const LINE_TIMEOUT: DurationMs = DurationMs::from_secs(60);
/// How long to wait between two looks at a step that is to be killed.
const LOOK: DurationMs = DurationMs::from_millis(10);
/// How long after the start of a step its middle is.
const MIDDLE: DurationMs = DurationMs::from_millis(300);
/// How often the recovery is tried until the wish is verified.
const RECOVERY_TRIES: u32 = 20;
/// How long a new replica must live: long enough to be killed in the middle of a start.
const SETTLE: &str = "700ms";

/// Where and how it runs.
pub struct Quickstart<'a> {
    /// This host.
    pub place: &'a Place,
    /// The directory of its own.
    pub dir: PathBuf,
    /// Whether the directory was named, so that it is to be named again.
    pub is_named: bool,
    /// Told each line that is printed.
    pub say: &'a mut dyn FnMut(&str),
}

/// Kills the child it watches once the wish is seen to have started.
struct KillOnceStarted<'q> {
    place: &'q Place,
    dir: &'q Path,
    saw_started: bool,
    next_look: Deadline,
}

impl Watch for KillOnceStarted<'_> {
    fn tick(&mut self) -> Tick {
        self.next_look = Deadline::after(LOOK);
        let status = run(self.place, self.dir, &["status", "-o", "json"], &mut Unwatched);
        let started = status.is_ok_and(|captured| {
            let text = String::from_utf8_lossy(&captured.stdout).into_owned();
            text.contains("\"state\": \"started\"")
        });
        if started && !self.saw_started {
            // Somewhere in the middle of starting its processes.
            self.saw_started = true;
            self.next_look = Deadline::after(MIDDLE);
            return Tick::Continue;
        }
        if self.saw_started { Tick::End } else { Tick::Continue }
    }

    fn next_tick(&self) -> Option<Duration> {
        Some(self.next_look.remaining())
    }
}

impl Quickstart<'_> {
    /// Runs the whole of it.
    pub fn start(&mut self) -> Result<(), OpError> {
        self.make_dir()?;
        let ledger = self.ledger();
        self.tell(&format!(
            "Using a ledger of its own: {}   (SCALECTL_LEDGER is ignored here)",
            ledger.display()
        ));
        self.line(&["init", "--starter-policy", "local"])?;
        let state_dir = self.state_dir();
        let put = [&["actuator", "put", "procs", "--"][..], &command(&state_dir)].concat();
        self.line(&put)?;
        self.line(&["service", "put", "web", "--actuator", "procs", "--max", "10"])?;
        self.line(&["scale", "web=3", "--reason", "hello"])?;
        self.line(&[
            "intent",
            "put",
            "web",
            "--replicas",
            "5",
            "--key",
            "crash-me",
            "--reason",
            "the next step is killed",
        ])?;
        self.crash()?;
        self.recover()?;
        self.line(&["status"])?;
        self.line(&["verify"])?;
        self.tell_the_way_on();
        Ok(())
    }

    /// Kills a child `scalectl actuate` with SIGKILL while its call is under way.
    fn crash(&mut self) -> Result<(), OpError> {
        self.tell("+ scalectl actuate crash-me    (killed with -9 as soon as it has started)");
        let mut watch = KillOnceStarted {
            place: self.place,
            dir: &self.dir,
            saw_started: false,
            next_look: Deadline::after(LOOK),
        };
        let captured = run(self.place, &self.dir, &["actuate", "crash-me"], &mut watch)?;
        let text = match (captured.end, watch.saw_started) {
            (ChildEnd::Stopped, true) => {
                "  killed in the middle: started, and no result".to_owned()
            }
            // The step was over before it could be killed: nothing to recover, and it converges.
            (end, _) => format!("  it was faster than the kill: {end:?}"),
        };
        self.tell(&text);
        self.line(&["status"])
    }

    /// Finds out what became of the killed step, and goes on until it is verified.
    fn recover(&mut self) -> Result<(), OpError> {
        for _ in 0..RECOVERY_TRIES {
            self.tell("+ scalectl replay crash-me --wait");
            let captured = self.run(&["replay", "crash-me", "--wait"], &mut Unwatched)?;
            self.tell_output(&captured);
            if captured.end == ChildEnd::Exited(0) {
                return Ok(());
            }
            pause(DurationMs::from_millis(300), Deadline::after(LINE_TIMEOUT))?;
        }
        Err(OpError::Internal { what: "the killed step did not converge".to_owned() })
    }

    fn tell_the_way_on(&mut self) {
        let ledger = self.ledger();
        let exe = self.place.own_exe.display().to_string();
        let named = format!(" --dir {}", self.dir.display());
        let named = if self.is_named { named } else { String::new() };
        for line in [
            String::new(),
            format!("Go on:   export SCALECTL_LEDGER={}", ledger.display()),
            format!("         alias scalectl={exe}"),
            "         scalectl status · scalectl explain web · scalectl scale web=2 --reason less"
                .to_owned(),
            "Yours:   unset SCALECTL_LEDGER".to_owned(),
            "         scalectl init · scalectl policy template kubernetes > policy.cedar"
                .to_owned(),
            format!(
                "Remove:  {exe} quickstart --remove{named}          (stops its processes, deletes {})",
                self.dir.display()
            ),
        ] {
            self.tell(&line);
        }
    }

    /// Stops what it started and deletes its directory.
    pub fn remove(&mut self) -> Result<(), OpError> {
        if !self.dir.exists() {
            return Err(OpError::Usage {
                code: "quickstart_not_there",
                message: format!("{} is not there: nothing is left to remove", self.dir.display()),
                hint: None,
            });
        }
        if !self.dir.join(MARK).exists() {
            return Err(OpError::Usage {
                code: "not_a_quickstart",
                message: format!("{} was not made by quickstart", self.dir.display()),
                hint: Some("nothing was changed".to_owned()),
            });
        }
        if self.ledger().exists() {
            // Somebody may have pointed it elsewhere since: these processes are known to the
            // command that has started them. Where it is that one already, nothing changes.
            let state_dir = self.state_dir();
            let back = [&["actuator", "put", "procs", "--"][..], &command(&state_dir)].concat();
            let bound = self.run(&back, &mut Unwatched)?;
            if bound.end != ChildEnd::Exited(0) {
                self.tell_output(&bound);
            }
            let stopped = self.run(
                &[
                    "scale",
                    "web=0",
                    "--reason",
                    "quickstart --remove",
                    "--supersede",
                    "--timeout",
                    "30s",
                ],
                &mut Unwatched,
            )?;
            self.tell_output(&stopped);
            if !matches!(stopped.end, ChildEnd::Exited(0 | 24)) {
                return Err(OpError::Usage {
                    code: "quickstart_not_stopped",
                    message: format!(
                        "the processes of {} could not be stopped, so nothing was deleted",
                        self.dir.display()
                    ),
                    hint: Some(format!(
                        "see why, then remove it again: scalectl --ledger {} explain web",
                        self.ledger().display()
                    )),
                });
            }
            self.forget_binding()?;
        }
        fs::remove_dir_all(&self.dir).map_err(|error| OpError::Internal {
            what: format!("deleting {}: {error}", self.dir.display()),
        })?;
        let text = format!("deleted {}", self.dir.display());
        self.tell(&text);
        Ok(())
    }

    fn forget_binding(&self) -> Result<(), OpError> {
        let status = self.run(&["status", "-o", "json"], &mut Unwatched)?;
        let document: serde_json::Value =
            serde_json::from_slice(&status.stdout).unwrap_or_default();
        let ledger_id = document["ledger"]["id"].as_str().and_then(|id| id.parse().ok());
        let ledger_id: LedgerId = match ledger_id {
            Some(ledger_id) => ledger_id,
            None => return Ok(()),
        };
        let procs: ActuatorName = "procs".parse().expect("BUG: procs is an identifier");
        bindings::remove(&self.place.bindings_file(), &ledger_id, &procs)?;
        Ok(())
    }

    fn ledger(&self) -> PathBuf {
        self.dir.join("ledger.db")
    }

    fn state_dir(&self) -> String {
        self.dir.join("procs").to_string_lossy().into_owned()
    }

    fn make_dir(&self) -> Result<(), OpError> {
        if self.dir.exists() {
            return Err(OpError::Usage {
                code: "quickstart_exists",
                message: format!("{} is already there", self.dir.display()),
                hint: Some("go on with it, or remove it with quickstart --remove".to_owned()),
            });
        }
        let made = fs::create_dir_all(&self.dir)
            .and_then(|()| fs::write(self.dir.join(MARK), "made by scalectl quickstart\n"));
        made.map_err(|error| OpError::Internal {
            what: format!("making {}: {error}", self.dir.display()),
        })
    }

    fn tell(&mut self, line: &str) {
        (self.say)(line);
    }

    fn tell_output(&mut self, captured: &Captured) {
        let stderr = stderr_text(captured);
        let stdout = String::from_utf8_lossy(&captured.stdout).into_owned();
        for line in stderr.lines().chain(stdout.lines()) {
            let line = format!("  {}", line.trim_end());
            self.tell(line.trim_end());
        }
    }

    /// Prints a line, runs it, prints what it printed. A failure ends the whole.
    fn line(&mut self, args: &[&str]) -> Result<(), OpError> {
        let shown: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
        let shown = format!("+ scalectl {}", shown.join(" "));
        self.tell(&shown);
        let captured = self.run(args, &mut Unwatched)?;
        self.tell_output(&captured);
        match captured.end {
            ChildEnd::Exited(0) => Ok(()),
            ChildEnd::Interrupted(signal) => Err(OpError::Interrupted { signal, key: None }),
            ChildEnd::Exited(_)
            | ChildEnd::Signalled(_)
            | ChildEnd::TimedOut
            | ChildEnd::Stopped => Err(OpError::Internal {
                what: format!("{} failed: {:?}", args.join(" "), captured.end),
            }),
        }
    }

    fn run(&self, args: &[&str], watch: &mut dyn Watch) -> Result<Captured, OpError> {
        run(self.place, &self.dir, args, watch)
    }
}

/// The command of its actuator.
fn command(state_dir: &str) -> [&str; 10] {
    let run = ["scalectl", "actuator", "run", "local"];
    let [first, second, third, fourth] = run;
    [
        first,
        second,
        third,
        fourth,
        "--state-dir",
        state_dir,
        "--settle",
        SETTLE,
        "--command",
        "sleep 3600",
    ]
}

/// Runs one line of this very binary on the ledger of its own.
fn run(
    place: &Place,
    dir: &Path,
    args: &[&str],
    watch: &mut dyn Watch,
) -> Result<Captured, OpError> {
    let spec = ChildSpec {
        program: place.own_exe.clone(),
        args: args.iter().map(OsString::from).collect(),
        env: environment(&place.environment, &dir.join("ledger.db")),
        current_dir: Some(dir.to_owned()),
    };
    process::run(&spec, b"", &Limits::within(LINE_TIMEOUT), watch)
        .map_err(|error| OpError::Internal { what: error.to_string() })
}

/// This process's environment with the ledger of its own.
fn environment(whole: &BTreeMap<OsString, OsString>, ledger: &Path) -> Vec<(OsString, OsString)> {
    let ours = ["SCALECTL_LEDGER", "SCALECTL_REASON", "SCALECTL_ACTOR"];
    let mut environment: Vec<_> = whole
        .iter()
        .filter(|(name, _)| !ours.iter().any(|own| name.as_os_str() == *own))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    environment.push(("SCALECTL_LEDGER".into(), ledger.into()));
    environment
}

fn quoted(word: &str) -> String {
    if word.contains(' ') { format!("'{word}'") } else { word.to_owned() }
}
