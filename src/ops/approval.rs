//! `approval`: proposals that wait for a person, and the answers to them.

use std::path::Path;

use super::error::OpError;
use super::report::Report;
use super::session::Session;
use super::signing::{Sealed, sign};
use crate::domain::id::ExecutionKey;
use crate::domain::scale::command::AuthorityCommand;
use crate::domain::scale::consent::approval_id;
use crate::domain::scale::execution::Execution;
use crate::domain::scale::provenance::Provenance;
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::result::Detail;
use crate::domain::scale::signed::SignedAct;
use crate::ledger::ExecutionFilter;

/// The proposals, the newest first: those that wait, or all that ever were.
pub fn approvals(session: &mut Session, all: bool) -> Result<Vec<Execution>, OpError> {
    let filter = ExecutionFilter { unfinished: !all, ..ExecutionFilter::default() };
    let mut found = session.ledger.read()?.executions(&filter)?;
    found.retain(|execution| execution.asked.is_some());
    if !all {
        found.retain(|execution| execution.acceptance.is_none());
    }
    Ok(found)
}

/// The key of the proposal that has this name: `a-` and ten hex digits.
pub fn approval_key(session: &mut Session, name: &str) -> Result<ExecutionKey, OpError> {
    for all in [false, true] {
        let found = approvals(session, all)?;
        if let Some(execution) = found.iter().find(|it| approval_id(it.key()).as_str() == name) {
            return Ok(execution.key().clone());
        }
    }
    Err(Rejection::NoSuchKey { key: name.to_owned() }.into())
}

/// Reads the target of a proposal, where this host can: what is agreed to is what runs now. Where
/// it cannot, the start reads it.
pub fn read_for_answer(session: &mut Session, key: &ExecutionKey) -> Result<bool, OpError> {
    let (state, execution) = session.load(key)?;
    let actuator = state.head.registration.as_ref().and_then(|it| it.actuator.clone());
    let Some(actuator) = actuator.filter(|name| session.is_bound_here(name)) else {
        return Ok(false);
    };
    match session.refresh_binding(&execution.intent.service) {
        Ok(found) => Ok(found.is_some()),
        Err(error) => {
            let why = error.unread()?;
            session.notice("count_not_read", format!("{actuator} could not read it: {why}"));
            Ok(false)
        }
    }
}

/// Answers a proposal: yes or no.
pub fn approval_answer(
    session: &mut Session,
    key: &ExecutionKey,
    grants: bool,
    reason: &Detail,
    sign_with: Option<&Path>,
) -> Result<(Report, Provenance), OpError> {
    if grants {
        read_for_answer(session, key)?;
    }
    let (_, execution) = session.load(key)?;
    let service = execution.intent.service.clone();
    let ledger_id = session.ledger.identity().ledger_id.clone();
    let sealed = match (sign_with, &execution.asked) {
        (Some(with), Some(asked)) => {
            let act = SignedAct::answer(&ledger_id, &execution, asked, grants, reason);
            sign(session, &service, with, &act.content(), approval_id(key).as_str())?
        }
        (Some(_) | None, _) => Sealed::default(),
    };
    let done = session.sealed(&sealed, &service, std::slice::from_ref(key), |signing| {
        let (key, reason) = (key.clone(), reason.clone());
        AuthorityCommand::Answer { key, grants, reason, signing }
    })?;
    Ok((Report::of(done, key)?, sealed.by(&session.by)))
}
