//! One step of the model, by the real checks, rules and fold, with or without a fault.

use scalectl::domain::gateway::{
    self, Direction, Holds, Judged, Receipt, ScaleAnswer, ScaleOperation, Used, finalized, judge,
    key_of, reason_of,
};
use scalectl::domain::scale::command::{
    Command, Context, GatewayCommand, Premise, PutForm, PutIntent, RegisterService,
};
use scalectl::domain::scale::decide::decide;
use scalectl::domain::scale::intent::RetryAsked;
use scalectl::domain::scale::invariant;
use scalectl::domain::scale::owners::Owners;
use scalectl::domain::scale::provenance::WishSource;
use scalectl::domain::scale::state::ServiceState;
use scalectl::domain::time::DurationMs;

use super::{Model, Mutant};
use crate::oracle::authority::Said;
use crate::rules::support::{count, id};

impl Model {
    pub(super) fn registered(&self) -> ServiceState {
        let (service, now) = (id("web"), self.world.now);
        let command = Command::RegisterService(Box::new(RegisterService {
            registration: gateway::registration(&service, "web"),
            binding: Some(gateway::binding(&service, now)),
            expected: Some(0),
            target_holder: None,
            owners: Owners::default(),
            authorization: None,
        }));
        self.decided(&ServiceState::default(), &command, "gateway").expect("registered")
    }

    fn decided(
        &self,
        state: &ServiceState,
        command: &Command,
        actor: &str,
    ) -> Result<ServiceState, String> {
        let mut by = self.world.by();
        by.actor = actor.to_owned().try_into().expect("a claim");
        let context = Context {
            by: &by,
            ledger_id: &self.ledger_id,
            actuator: None,
            policy: &self.world.policy,
            recent: None,
        };
        let decision = decide(state, command, &context, self.world.now);
        let decision = decision.map_err(|rejection| format!("the rules refuse it: {rejection}"))?;
        let after = state.clone().fold(&decision.events);
        let after = after.map_err(|illegal| format!("it cannot be folded: {illegal}"))?;
        invariant::check(&after).map_err(|violation| violation.to_string())?;
        Ok(self.forget(state, after))
    }

    /// What a fold with a fault comes to.
    fn forget(&self, before: &ServiceState, mut after: ServiceState) -> ServiceState {
        let is_accepted = before.head.latest_revision < after.head.latest_revision;
        let is_changed = *before != after;
        let newest = after.head.current.as_ref().map(|current| current.execution_key.clone());
        let newest = newest.and_then(|key| after.executions.get_mut(&key));
        match self.mutant {
            Mutant::ForgetsCount if before.head.gateway.is_some() => {
                after.head.gateway.clone_from(&before.head.gateway);
            }
            Mutant::MissesPerson
                if newest.as_ref().is_some_and(|it| it.receipt.is_none())
                    && before.head.gateway.is_some() =>
            {
                after.head.gateway.clone_from(&before.head.gateway);
            }
            Mutant::CountsTwice if !is_accepted && is_changed => {
                if let Some(gateway) = &mut after.head.gateway {
                    gateway.revision += 1;
                }
            }
            Mutant::LosesReceipt if is_accepted => {
                if let Some(newest) = newest {
                    newest.receipt = None;
                }
            }
            Mutant::KeepsAnswer if !is_accepted => {
                for (key, execution) in &mut after.executions {
                    if let Some(was) = before.executions.get(key) {
                        execution.receipt.clone_from(&was.receipt);
                    }
                }
            }
            Mutant::ForgetsWish if before.head.current.is_some() => {
                after.head.current.clone_from(&before.head.current);
            }
            _ => {}
        }
        after
    }

    pub(super) fn holds(state: &ServiceState) -> Holds {
        let revision = if let Some(gateway) = &state.head.gateway {
            gateway.revision
        } else {
            let accepted = state.executions.values().filter(|it| it.acceptance.is_some());
            u64::try_from(accepted.count()).expect("few")
        };
        Holds { replicas: state.head.gateway_replicas(), revision }
    }

    /// One operation, as `gateway apply` carries it out.
    pub(super) fn apply(
        &self,
        state: &ServiceState,
        asked: &ScaleOperation,
    ) -> Result<(Said, ServiceState), String> {
        let mut asked = asked.clone();
        let mut holds = Self::holds(state);
        let known = state.executions.get(&key_of(&asked.operation_id));
        let mut stored = known.and_then(|it| it.receipt.as_deref()).cloned();
        match self.mutant {
            Mutant::JudgesAnew => stored = None,
            Mutant::ComparesIds => {
                if let Some(stored) = &mut stored {
                    stored.request = asked.clone();
                }
            }
            Mutant::Believes => {
                holds.replicas = count(asked.current_replicas.into());
                asked.expected_revision = Some(holds.revision.to_string());
            }
            Mutant::AnyWay if asked.desired_replicas != asked.current_replicas => {
                let is_up = asked.desired_replicas > asked.current_replicas;
                asked.direction = if is_up { Direction::Up } else { Direction::Down };
            }
            _ => {}
        }
        let used = match (&stored, known) {
            (Some(stored), _) => Used::By(stored),
            (None, Some(_)) if self.mutant != Mutant::JudgesAnew => Used::Otherwise,
            (None, _) => Used::No,
        };
        let response = match judge(&asked, used, holds, None) {
            Ok(Judged::Replay(answer)) => {
                let (actual, revision) = numbers(&answer);
                return Ok((Said::Replayed { actual, revision }, state.clone()));
            }
            Ok(Judged::Accept(answer)) => answer,
            Err(conflict) => return Ok((Said::Refused(conflict.code.as_str()), state.clone())),
        };
        let (actual, revision) = numbers(&response);
        let form = PutForm::Flags {
            replicas: asked.desired_replicas.into(),
            reason: reason_of(&asked.reason),
            retry: RetryAsked::default(),
            key: key_of(&asked.operation_id),
            fence: None,
            valid_for: DurationMs::from_secs(3600),
        };
        let put = PutIntent {
            premise: Premise::Latest,
            queue: true,
            source: WishSource::Gateway,
            receipt: Some(Box::new(Receipt { request: asked, response })),
            ..PutIntent::new(id("web"), form)
        };
        let after = self.decided(state, &Command::Put(Box::new(put)), "gateway")?;
        Ok((Said::Accepted { actual, revision }, after))
    }

    pub(super) fn finalize(
        &self,
        state: &ServiceState,
        asked: &ScaleOperation,
        ready: u32,
        made: u64,
    ) -> Result<(Said, ServiceState), String> {
        let key = key_of(&asked.operation_id);
        let stored = state.executions.get(&key).and_then(|it| it.receipt.as_deref());
        let answer = ScaleAnswer {
            accepted: true,
            actual_replicas: ready,
            revision: Some(made.to_string()),
            message: "seen".to_owned(),
        };
        let receipt = Receipt { request: asked.clone(), response: answer.clone() };
        if let Err(conflict) = finalized(stored, &receipt, Self::holds(state))
            && self.mutant != Mutant::FinalizesAnything
        {
            return Ok((Said::Refused(conflict.code.as_str()), state.clone()));
        }
        let command = Command::Gateway(Box::new(GatewayCommand::Finalize { key, answer }));
        let after = self.decided(state, &command, "gateway")?;
        Ok((Said::Accepted { actual: ready, revision: made }, after))
    }

    pub(super) fn person(
        &self,
        state: &ServiceState,
        replicas: u32,
    ) -> Result<ServiceState, String> {
        let form = PutForm::Flags {
            replicas: replicas.into(),
            reason: id("by hand"),
            retry: RetryAsked::default(),
            key: id(&format!("by-hand-{}", state.head.latest_revision)),
            fence: None,
            valid_for: DurationMs::from_secs(3600),
        };
        let put = PutIntent {
            premise: Premise::Latest,
            supersede: true,
            ..PutIntent::new(id("web"), form)
        };
        self.decided(state, &Command::Put(Box::new(put)), "ann")
    }
}

fn numbers(answer: &ScaleAnswer) -> (u32, u64) {
    let revision = answer.revision.as_ref().and_then(|it| it.parse().ok());
    (answer.actual_replicas, revision.expect("an answer has a revision"))
}
