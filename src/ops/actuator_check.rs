//! `actuator check`: an actuator held against the protocol, row by row.
//!
//! Owns the conformance kit for authors: which promises are tried, in which order, and what counts
//! as kept. Speaks to the bound command directly and never writes the ledger. It never touches a
//! target that a registered service uses, and it acts under the ledger identity
//! `scalectl-check`, so that a target which takes orders from a real ledger refuses it. In return, a
//! workload that was checked may remember that identity and its fences: it is for checks only.
//!
//! Policy is asked for `administer`: a check changes no service, and there is no service to name in
//! another question. What changes the count goes under a guard, as every call does: it ends with
//! its deadline or with this process. A signal first has the count brought back. After a crash the
//! workload is left at a count of the check, and the next check begins there; its fences are above
//! the older ones, because their epoch is the clock's.

mod probe;
mod promises;
mod rows;

use serde::Serialize;

use super::administer::may_administer;
use super::error::OpError;
use super::report::Effect;
use super::session::Session;
use crate::actuator::process::ChildSpec;
use crate::actuator::protocol::{Inspection, PartialTarget};
use crate::domain::id::{ActuatorName, Replicas, WorkloadId};
use crate::domain::scale::policy::PolicyAction;
use crate::domain::scale::service::RegisteredActuator;
use probe::Probe;
use rows::Rows;

/// The workload that is scaled unless another is named.
pub const WORKLOAD_DEFAULT: &str = "scalectl-check";
/// The ledger that requests of a check name.
pub const LEDGER_OF_CHECKS: &str = "scalectl-check";

/// How one promise was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Checked {
    /// Kept.
    Passed,
    /// Not made: the capability is not declared.
    NotDeclared,
    /// Not tried, because of what was found before.
    NotTried,
    /// Broken.
    Failed,
}

/// One row of the kit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The word for the promise. A released word keeps its meaning.
    pub check: &'static str,
    /// How it was found.
    pub says: Checked,
    /// What was seen, for people; foreign text in it is verbatim.
    pub seen: String,
}

/// What a check came to.
pub struct CheckReport {
    /// The rows, in the order in which they were tried.
    pub checks: Vec<Check>,
    /// Whether the workload was changed on the way.
    pub effect: Effect,
}

impl CheckReport {
    /// How many promises are broken.
    pub fn failed(&self) -> usize {
        self.checks.iter().filter(|check| check.says == Checked::Failed).count()
    }
}

/// A check that may be made, and what it would touch.
pub struct CheckPlan {
    /// The actuator.
    pub actuator: RegisteredActuator,
    /// What it will be told to scale.
    pub workload: WorkloadId,
    /// What is there; none where the actuator does not inspect, or the text of why it could not.
    found: Result<Option<Inspection>, String>,
    spec: ChildSpec,
}

impl CheckPlan {
    /// Decides whether the check may be made. Reads the target, and changes nothing.
    pub fn of(
        session: &mut Session,
        name: &ActuatorName,
        workload: Option<&WorkloadId>,
    ) -> Result<Self, OpError> {
        let actuator = session.actuator(name)?;
        let spec = session.bound_command(&actuator)?;
        may_administer(session, PolicyAction::Administer, name.as_str(), None)?;
        let named = workload.cloned().unwrap_or_else(default_workload);
        refuse_in_use(session, name, &named, workload.is_some())?;
        let found = if actuator.capabilities.inspect {
            inspected(session, &actuator, &named)?.map(Some)
        } else {
            Ok(None)
        };
        if let Ok(Some(found)) = &found {
            refuse_target_in_use(session, &named, found)?;
            if workload.is_none() {
                refuse_shared(session, &actuator, found)?;
            }
        }
        Ok(Self { actuator, workload: named, found, spec })
    }

    /// The count that the workload has now, and that it is left with. None where it is not known:
    /// then it is left with 0.
    pub fn first_count(&self) -> Option<Replicas> {
        self.found.as_ref().ok()?.as_ref().map(|found| found.replicas)
    }

    /// Makes the check.
    ///
    /// A signal ends it, but not before the workload is as it was found, which is said beside.
    pub fn run(self, session: &mut Session) -> Result<CheckReport, OpError> {
        let probe = Probe::new(session, &self)?;
        let mut rows = Rows::new(probe, self);
        let run = rows.run();
        if let Err(OpError::Interrupted { .. }) = &run
            && rows.probe.effect != Effect::None
        {
            match rows.bring_back() {
                Ok(said) => session.notice("left_as_found", said),
                Err(said) => session.notice("not_left_as_found", said),
            }
        }
        session.note_effect(rows.probe.effect);
        run.map(|()| rows.into_report())
    }
}

fn default_workload() -> WorkloadId {
    WORKLOAD_DEFAULT.parse().expect("BUG: the default workload is an identifier")
}

/// What is there now. The inner error is a fault of the actuator, for a row of the report.
fn inspected(
    session: &Session,
    actuator: &RegisteredActuator,
    workload: &WorkloadId,
) -> Result<Result<Inspection, String>, OpError> {
    match session.asker(actuator)?.inspect(&place_of(workload)) {
        Ok(found) => Ok(Ok(found)),
        Err(OpError::Actuator { problem, .. }) => Ok(Err(problem.to_string())),
        Err(error) => Err(error),
    }
}

/// A target of which only the name is known.
fn place_of(workload: &WorkloadId) -> PartialTarget {
    PartialTarget {
        cluster_id: None,
        runtime_id: None,
        workload_id: workload.clone(),
        target_uid: None,
        target_resource_version: None,
    }
}

/// No service may use the workload. A command may have its target fixed, whatever it is asked for,
/// so where a service uses the actuator at all, a person must name the workload.
fn refuse_in_use(
    session: &mut Session,
    name: &ActuatorName,
    workload: &WorkloadId,
    is_named: bool,
) -> Result<(), OpError> {
    for (service, head) in session.ledger.read()?.service_heads()? {
        let Some(registration) = head.registration else { continue };
        if registration.actuator.as_ref() != Some(name) {
            continue;
        }
        if registration.workload_id == *workload {
            return Err(in_use(workload, service.as_str()));
        }
        if !is_named {
            return Err(OpError::Usage {
                code: "actuator_in_use",
                message: format!(
                    "service {service} uses {name}; a check must be told which other workload it \
                     may scale up, down and to nothing"
                ),
                hint: Some(format!(
                    "if {name} keeps workloads apart, add --workload {WORKLOAD_DEFAULT}"
                )),
            });
        }
    }
    Ok(())
}

/// The same object under another name or by another actuator is still the service's.
fn refuse_target_in_use(
    session: &mut Session,
    workload: &WorkloadId,
    found: &Inspection,
) -> Result<(), OpError> {
    let target = &found.target;
    let heads = session.ledger.read()?.service_heads()?;
    let user = heads.into_iter().find(|(_, head)| {
        let is_place = head.registration.as_ref().is_some_and(|registration| {
            registration.cluster_id == target.cluster_id
                && registration.runtime_id == target.runtime_id
        });
        let uid = head.binding.as_ref().map(|binding| &binding.target_uid);
        is_place && uid == Some(&target.target_uid)
    });
    user.map_or(Ok(()), |(service, _)| Err(in_use(workload, service.as_str())))
}

fn in_use(workload: &WorkloadId, service: &str) -> OpError {
    OpError::Usage {
        code: "workload_in_use",
        message: format!(
            "a check scales its workload up, down and to nothing, and {workload} is the target of \
             service {service}"
        ),
        hint: Some(
            "name a workload that nobody uses with --workload; where every name is the same \
             target, check the actuator in a ledger of its own, on a target of its own"
                .to_owned(),
        ),
    }
}

/// An actuator for which every name is the same target has no workload that nobody uses.
fn refuse_shared(
    session: &Session,
    actuator: &RegisteredActuator,
    found: &Inspection,
) -> Result<(), OpError> {
    let other = "scalectl-check-other".parse().expect("BUG: the name is an identifier");
    let Ok(beside) = inspected(session, actuator, &other)? else { return Ok(()) };
    if beside.target.target_uid != found.target.target_uid {
        return Ok(());
    }
    Err(OpError::Usage {
        code: "target_shared",
        message: format!(
            "{} has one target, {}, whatever the workload is called; the check would scale it and \
             leave its fences there",
            actuator.name, found.target.target_uid
        ),
        hint: Some(
            "bind the actuator to a target that is for checks only, then name it with --workload"
                .to_owned(),
        ),
    })
}
