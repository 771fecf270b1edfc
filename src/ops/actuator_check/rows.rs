//! The rows that every actuator must pass, and the order of all rows.

use super::super::error::OpError;
use super::super::report::Effect;
use super::probe::{Probe, Seen, Step, Trouble, broken, unknown_text};
use super::{Check, CheckPlan, CheckReport, Checked};
use crate::actuator::protocol::{self, ApplyAnswer, Inspection, PROTOCOL, Request};
use crate::actuator::signals::{self, Signals};
use crate::domain::count::counted;
use crate::domain::id::{Replicas, TargetResourceVersion};
use crate::domain::scale::result::ActuationResult;
use crate::domain::time::DurationMs;

/// How far the clocks of this host and of the target may be apart.
const CLOCK_SKEW_MAX: DurationMs = DurationMs::from_secs(60);

/// What a row needs before it is tried.
#[derive(Clone, Copy)]
pub(super) enum Needs {
    /// Nothing.
    Nothing,
    /// That the capability is declared.
    Declared(bool),
    /// That a change of the count works, and that the capability is declared.
    Effect(bool),
}

/// The rows so far, and what later rows must know of earlier ones.
pub(super) struct Rows {
    pub(super) probe: Probe,
    pub(super) plan: CheckPlan,
    checks: Vec<Check>,
    works: bool,
    /// Versions before and after the steps that changed the count.
    moves: Vec<(TargetResourceVersion, TargetResourceVersion)>,
    /// What the first step answered.
    pub(super) first_answer: Option<ActuationResult>,
    /// What the second step answered.
    pub(super) second_answer: Option<ActuationResult>,
}

pub(super) const ONE: Step = Step::new("one", 1, 1, 1);
pub(super) const TWO: Step = Step::new("two", 1, 1, 2);

impl Rows {
    pub(super) const fn new(probe: Probe, plan: CheckPlan) -> Self {
        Self {
            probe,
            plan,
            checks: Vec::new(),
            works: false,
            moves: Vec::new(),
            first_answer: None,
            second_answer: None,
        }
    }

    /// Tries everything. Errors are what ends the check itself; a broken promise is a row.
    pub(super) fn run(&mut self) -> Result<(), OpError> {
        let can = self.plan.actuator.capabilities;
        self.row("describe", Needs::Nothing, Self::describe)?;
        self.row("unreadable_request", Needs::Nothing, Self::unreadable_request)?;
        self.row("inspect", Needs::Declared(can.inspect), Self::inspect)?;
        self.row("discover", Needs::Declared(can.discover), Self::discover)?;

        if let Err(problem) = &self.plan.found {
            let why = format!("whose target this is cannot be told: {problem}");
            self.checks.push(Check { check: "apply_up", says: Checked::NotTried, seen: why });
        } else {
            self.row("apply_up", Needs::Nothing, Self::apply_up)?;
            self.works = self.checks.last().is_some_and(|row| row.says == Checked::Passed);
            self.row("apply_further_up", Needs::Effect(true), Self::apply_further_up)?;
            self.promises(can)?;
            self.row("unknown_members", Needs::Effect(true), Self::unknown_members)?;
            self.row("longest_values", Needs::Effect(true), Self::longest_values)?;
            self.row("apply_to_zero", Needs::Effect(true), Self::apply_to_zero)?;
            let moves = Needs::Effect(can.inspect && can.conditional_on_version);
            self.row("version_moves", moves, Self::version_moves)?;
            self.last_row()?;
        }
        self.overall();
        Ok(())
    }

    pub(super) fn into_report(self) -> CheckReport {
        CheckReport { effect: self.probe.effect, checks: self.checks }
    }

    /// After a signal: leaves the workload as it was found, and says whether that could be done. A
    /// second signal ends this, too.
    pub(super) fn bring_back(&mut self) -> Result<String, String> {
        signals::installed().and_then(Signals::heard);
        let workload = self.plan.workload.clone();
        match self.leave_as_found() {
            Ok(_) => {
                self.probe.effect = Effect::Applied;
                let first = self.plan.first_count().unwrap_or(Replicas::MIN);
                Ok(format!("workload {workload} was brought back to {first}"))
            }
            Err(Trouble::Broken(seen)) => {
                Err(format!("workload {workload} could not be brought back: {seen}"))
            }
            Err(Trouble::Ends(error)) => {
                Err(format!("workload {workload} was not brought back: {error}"))
            }
        }
    }

    pub(super) fn row(
        &mut self,
        check: &'static str,
        needs: Needs,
        run: impl FnOnce(&mut Self) -> Seen,
    ) -> Result<(), OpError> {
        let is_declared = match needs {
            Needs::Nothing => true,
            Needs::Declared(declared) | Needs::Effect(declared) => declared,
        };
        let (says, seen) = if !is_declared {
            (Checked::NotDeclared, "not declared".to_owned())
        } else if let Some(op) = self.probe.tally.hung {
            (Checked::NotTried, format!("not tried: {op} was not done in time"))
        } else if matches!(needs, Needs::Effect(_)) && !self.works {
            (Checked::NotTried, "not tried: apply does not work".to_owned())
        } else {
            judged(run(self))?
        };
        self.checks.push(Check { check, says, seen });
        Ok(())
    }

    /// Leaving the workload as it was found is tried whatever was found before.
    fn last_row(&mut self) -> Result<(), OpError> {
        let (says, seen) = judged(self.leave_as_found())?;
        self.checks.push(Check { check: "left_as_found", says, seen });
        Ok(())
    }

    /// What holds over all calls.
    fn overall(&mut self) {
        let tally = &self.probe.tally;
        let calls = tally.calls;
        let rows = [
            ("one_object", &tally.not_one_object, format!("in each of {calls} answers")),
            ("exit_codes", &tally.bad_exit, format!("0 after each good answer of {calls}")),
        ];
        let mut rows: Vec<Check> = rows
            .into_iter()
            .map(|(check, problem, well)| match problem {
                Some(problem) => Check { check, says: Checked::Failed, seen: problem.clone() },
                None => Check { check, says: Checked::Passed, seen: well },
            })
            .collect();
        let (says, seen) = match tally.hung {
            Some(op) => (Checked::Failed, format!("{op} was killed at the end of its time")),
            None => (Checked::Passed, format!("the slowest call took {}", tally.slowest)),
        };
        rows.push(Check { check: "in_time", says, seen });
        self.checks.append(&mut rows);
    }

    fn describe(&mut self) -> Seen {
        let request = Request::Describe.to_json();
        let mut answers = Vec::new();
        for request in [request.clone(), Probe::with_future_word(&request)] {
            let (bytes, exit) = self.probe.call("describe", &request)?;
            match protocol::read_describe(&bytes, exit) {
                Ok(description) => answers.push(description),
                Err(error) => return broken(error.to_string()),
            }
        }
        if answers[0] != answers[1] {
            return broken("asked again with a member more, it answers otherwise");
        }
        let registered = &self.plan.actuator;
        let found = &answers[0];
        if found.capabilities != registered.capabilities
            || found.environment != registered.environment
            || found.name.as_str() != registered.adapter
        {
            return broken("it declares other things than when it was registered: actuator put");
        }
        Ok(format!("{} {}", found.name, found.version))
    }

    fn unreadable_request(&mut self) -> Seen {
        let unknown_op = format!("{{\"protocol\":\"{PROTOCOL}\",\"op\":\"scalectl_check\"}}\n");
        let mut codes = Vec::new();
        for (what, input) in [("no JSON", "this is no JSON\n"), ("an unknown op", &unknown_op)] {
            let (bytes, exit) = self.probe.call("unreadable", input)?;
            match protocol::read_describe(&bytes, exit) {
                Err(protocol::AnswerError::Refused(reply)) => codes.push(reply.code.to_string()),
                Err(error) => {
                    return broken(format!("{what} is not answered by an error: {error}"));
                }
                Ok(_) => return broken(format!("{what} is answered as if it were describe")),
            }
        }
        Ok(codes.join(", "))
    }

    fn inspect(&mut self) -> Seen {
        let began_at = self.probe.now();
        let by_name = self.probe.inspect_by_name(false)?;
        let by_target = self.probe.inspect()?;
        let futuristic = self.probe.inspect_by_name(true)?;
        for again in [&by_target, &futuristic] {
            if again.target != by_name.target || again.replicas != by_name.replicas {
                return broken("asked again, it answers otherwise");
            }
        }
        let read_at = by_name.read_at;
        let apart = read_at.since(self.probe.now()).max(began_at.since(read_at));
        if apart > CLOCK_SKEW_MAX {
            return broken(format!("read_at is {apart} away from this host's clock"));
        }
        let ready = by_name.ready_replicas.map(|ready| format!(", {ready} ready"));
        Ok(format!(
            "{}{}, version {}",
            counted(by_name.replicas.get(), "replica"),
            ready.unwrap_or_default(),
            by_name.target.target_resource_version
        ))
    }

    fn apply_up(&mut self) -> Seen {
        if self.plan.first_count() != Some(Replicas::MIN) {
            self.takes_effect(&Step::new("first", 1, 1, 0))?;
        }
        let (result, seen) = self.takes_effect(&ONE)?;
        self.first_answer = Some(result);
        Ok(seen)
    }

    fn apply_further_up(&mut self) -> Seen {
        let (result, seen) = self.takes_effect(&TWO)?;
        self.second_answer = Some(result);
        Ok(seen)
    }

    fn apply_to_zero(&mut self) -> Seen {
        self.takes_effect(&Step::new("zero", 4, 1, 0)).map(|(_, seen)| seen)
    }

    fn unknown_members(&mut self) -> Seen {
        let step = Step { future_word: true, ..Step::new("future", 4, 1, 1) };
        self.takes_effect(&step).map(|(_, seen)| seen)
    }

    fn longest_values(&mut self) -> Seen {
        let step = Step { long_key: true, ..Step::new("long", 4, 1, 1) };
        self.takes_effect(&step)?;
        Ok("a key of 256 characters comes back whole".to_owned())
    }

    fn version_moves(&mut self) -> Seen {
        if let Some((before, _)) = self.moves.iter().find(|(before, after)| before == after) {
            return broken(format!("the version stayed {before} although the count changed"));
        }
        let last = self.moves.last();
        Ok(last.map_or_else(String::new, |(before, after)| format!("such as {before} → {after}")))
    }

    fn leave_as_found(&mut self) -> Seen {
        let first = self.plan.first_count().unwrap_or(Replicas::MIN);
        if self.probe.standing()?.is_some_and(|found| found.replicas == first) {
            return Ok(counted(first.get(), "replica"));
        }
        let desired = u32::try_from(first.get()).unwrap_or(u32::MAX);
        self.takes_effect(&Step::new("last", 9, 1, desired)).map(|(_, seen)| seen)
    }

    /// The step must have its effect, and say so.
    pub(super) fn takes_effect(
        &mut self,
        step: &Step,
    ) -> Result<(ActuationResult, String), Trouble> {
        let before = self.probe.standing()?;
        let (result, version_after) = match self.probe.apply(step)? {
            ApplyAnswer::Known { result, resource_version_after, .. } => {
                (*result, resource_version_after)
            }
            ApplyAnswer::Unknown { why, detail, .. } => {
                return broken(unknown_text(why, detail.as_str()));
            }
        };
        let desired = Replicas::from(step.desired);
        if let Some(code) = result.error_code().filter(|_| !result.scaled()) {
            return broken(format!("failed {code}: {}", result.detail.as_str()));
        }
        if result.observed_replicas() != Some(desired) {
            let said = result.observed_replicas().map_or_else(String::new, |n| n.to_string());
            return broken(format!("{desired} was wished, and it says {said}"));
        }
        let after = self.probe.standing()?;
        let seen = match (before, after) {
            (Some(before), Some(after)) => {
                self.agree(&before, &after, desired, version_after.as_ref())?
            }
            _ => format!("{}, says its answer", counted(desired.get(), "replica")),
        };
        Ok((result, seen))
    }

    fn agree(
        &mut self,
        before: &Inspection,
        after: &Inspection,
        desired: Replicas,
        version_after: Option<&TargetResourceVersion>,
    ) -> Seen {
        if after.replicas != desired {
            return broken(format!("it says {desired}, and inspect finds {}", after.replicas));
        }
        if after.target.target_uid != before.target.target_uid {
            let uid = &after.target.target_uid;
            return broken(format!("the uid is {uid} after the call"));
        }
        let version = &after.target.target_resource_version;
        if let Some(said) = version_after.filter(|said| *said != version) {
            return broken(format!("resource_version_after is {said}, inspect finds {version}"));
        }
        if before.replicas != after.replicas {
            let moved = (before.target.target_resource_version.clone(), version.clone());
            self.moves.push(moved);
        }
        Ok(format!("{} → {}", before.replicas, after.replicas))
    }

    /// The step must be refused, and change nothing.
    pub(super) fn is_refused(&mut self, step: &Step) -> Seen {
        let before = self.probe.standing()?;
        let answer = self.probe.apply(step)?;
        let after = self.probe.standing()?;
        if let (Some(before), Some(after)) = (&before, &after)
            && before.replicas != after.replicas
        {
            return broken(format!("it had an effect: {} → {}", before.replicas, after.replicas));
        }
        match answer {
            ApplyAnswer::Known { result, .. } => match result.error_code() {
                Some(code) if !result.scaled() => Ok(format!("refused: {code}")),
                _ => broken("it says that it succeeded"),
            },
            ApplyAnswer::Unknown { why, detail, .. } => broken(unknown_text(why, detail.as_str())),
        }
    }

    /// The first version of the target, if it is not there any more.
    pub(super) fn older_version(&self) -> Option<TargetResourceVersion> {
        let (oldest, _) = self.moves.first()?;
        let (_, newest) = self.moves.last()?;
        (oldest != newest).then(|| oldest.clone())
    }
}

fn judged(seen: Seen) -> Result<(Checked, String), OpError> {
    match seen {
        Ok(seen) => Ok((Checked::Passed, seen)),
        Err(Trouble::Broken(seen)) => Ok((Checked::Failed, seen)),
        Err(Trouble::Ends(error)) => Err(error),
    }
}
