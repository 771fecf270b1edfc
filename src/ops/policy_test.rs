//! `policy test`: what the policy says, and why. Nothing is written.

use super::error::OpError;
use super::session::Session;
use crate::domain::id::{Replicas, ServiceName};
use crate::domain::scale::gates::{fresh_count, service_resource};
use crate::domain::scale::policy::{PolicyAction, PolicyGate as _, PolicyQuery};
use crate::domain::scale::provenance::WishSource;
use crate::policy::{Explanation, NoPolicy, PolicyEngine};

/// What is asked.
pub struct Question {
    /// The service.
    pub service: ServiceName,
    /// The count that would be wished.
    pub desired: Replicas,
    /// The count to take for the current one; none for what is recorded.
    pub current: Option<Replicas>,
    /// Another action than the ones that the change asks for.
    pub action: Option<PolicyAction>,
    /// The operating system's user to ask for; none for this one.
    pub os_user: Option<String>,
}

/// What came of a question.
pub struct Tested {
    /// The count that was taken for the current one; none where it is not known.
    pub current: Option<Replicas>,
    /// What the policy says of each action.
    pub explained: Vec<Explanation>,
}

/// Asks the policy about a change, and what every rule does with it.
pub fn policy_test(session: &mut Session, question: &Question) -> Result<Tested, OpError> {
    let state = session.load_service(&question.service)?;
    let now = session.now();
    let policy = session.stored_policy()?;
    let engine = policy.map(|policy| PolicyEngine::derive(&policy.sources)).transpose()?;
    let recorded = fresh_count(&state.head, now);
    let current = question.current.or(recorded);
    let actions = match question.action {
        Some(action) => vec![action],
        None => PolicyAction::for_change(current, question.desired),
    };
    let by = session.by.clone();
    let query = session.with_context(&state, None, |context| {
        let registration = state.head.registration.as_ref().expect("BUG: loaded as registered");
        let resource = service_resource(registration, context);
        let asked = PolicyQuery::of(&by, actions[0], resource, WishSource::Cli, now);
        PolicyQuery {
            desired: Some(question.desired),
            current,
            reason: Some("policy test".to_owned()),
            controller: Some(registration.writer.clone()),
            os_user: Some(question.os_user.clone().unwrap_or_else(|| by.os_user.clone())),
            recent: context.recent,
            ..asked
        }
    })?;
    let asked = actions.into_iter().map(|action| PolicyQuery { action, ..query.clone() });
    let explained = asked.map(|query| match &engine {
        Some(engine) => engine.explain(&query),
        None => Explanation { answer: NoPolicy.answer(&query), rules: Vec::new() },
    });
    Ok(Tested { current, explained: explained.collect() })
}
