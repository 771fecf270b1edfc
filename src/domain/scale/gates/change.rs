//! The gates that look at the change itself: cooldown, evidence and policy.

use super::{Checked, Gate, Reports, passed, skipped, yielded};
use crate::domain::id::{
    AuthorizationId, ControllerId, ExecutionKey, Replicas, ServiceName, TargetResourceVersion,
};
use crate::domain::scale::authority::Hold;
use crate::domain::scale::command::{Context, StartAttempt};
use crate::domain::scale::consent::{Approval, OpenAuthorization, Unauthorized};
use crate::domain::scale::cooldown::{CooldownStatus, cooldown};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::intent::TargetBinding;
use crate::domain::scale::observation::Evidence;
use crate::domain::scale::policy::{PolicyAction, PolicyAnswer, PolicyQuery, PolicyResource};
use crate::domain::scale::provenance::{Provenance, WishSource};
use crate::domain::scale::rejection::{MissingFact, Rejection};
use crate::domain::scale::service::{CLOCK_SKEW_MAX, Capabilities, EVIDENCE_AGE_MAX, Registration};
use crate::domain::scale::state::ServiceState;
use crate::domain::time::Timestamp;

/// What the gates that look at the change itself need.
pub(super) struct Ask<'a> {
    pub(super) registration: &'a Registration,
    pub(super) context: &'a Context<'a>,
    /// Who put the wish; policy is asked about this one, whoever carries it out.
    pub(super) proposer: &'a Provenance,
    /// The version of the target as last read.
    pub(super) version: &'a TargetResourceVersion,
    pub(super) current: Option<Replicas>,
    pub(super) desired: Replicas,
    pub(super) reason: Option<&'a str>,
    pub(super) controller: &'a ControllerId,
    /// Where the wish comes from.
    pub(super) source: WishSource,
    /// What a person's consent lets pass.
    pub(super) pass: Pass<'a>,
    /// Whether the wish pins the count.
    pub(super) pins: bool,
    /// The hold upon the service, if one is in force.
    pub(super) hold: Option<&'a Hold>,
    pub(super) now: Timestamp,
}

/// What a person's consent lets pass.
#[derive(Clone, Copy)]
pub(super) enum Pass<'a> {
    /// Nothing.
    Nothing,
    /// What policy leaves to a colleague.
    Approved(&'a Approval),
    /// Policy, approval, cooldown and hold.
    Glass(&'a OpenAuthorization),
    /// Nothing: the authorization that was named does not permit it.
    Void(&'a Rejection),
}

impl<'a> Pass<'a> {
    /// Of an authorization that was looked for.
    pub(super) const fn of(found: &'a Result<Self, Rejection>) -> Self {
        match found {
            Ok(pass) => *pass,
            Err(rejection) => Self::Void(rejection),
        }
    }
}

/// A gate that a broken glass passes.
pub(super) fn yielded_to(open: &OpenAuthorization) -> Checked {
    let it = &open.authorization;
    yielded(format!("passed by {}", it.authorization_id), &it.decision)
}

/// The authorization of that name, where it permits the wish.
pub(in crate::domain::scale) fn authorized<'s>(
    state: &'s ServiceState,
    service: &ServiceName,
    id: &AuthorizationId,
    key: &ExecutionKey,
    desired: Replicas,
    target: &TargetBinding,
    now: Timestamp,
) -> Result<&'s OpenAuthorization, Rejection> {
    let open = state.head.authorizations.get(id);
    let is_for = open.map(|open| open.authorization.desired_replicas);
    let refused = |why| Rejection::NotAuthorized {
        service: service.clone(),
        authorization_id: id.clone(),
        why,
        is_for: is_for.filter(|count| *count != desired),
    };
    let open = open.ok_or_else(|| refused(Unauthorized::NoSuch))?;
    open.permits(key, desired, target, now).map_err(refused)?;
    Ok(open)
}

impl Ask<'_> {
    pub(super) fn cooldown(
        &self,
        state: &ServiceState,
        override_asked: bool,
        own: Option<&Execution>,
    ) -> Checked {
        let service = self.registration.service.clone();
        let status = cooldown(state, self.now);
        let is_clear = matches!(status, CooldownStatus::Clear { .. });
        let overrides =
            (override_asked && !is_clear).then(|| self.caller_may(PolicyAction::OverrideCooldown));
        match status {
            CooldownStatus::Clear { last: None } => passed("clear"),
            CooldownStatus::Clear { last: Some(last) } => {
                passed(format!("clear, last change {}", last.ended_at))
            }
            // A retry finishes its own change; it does not make another.
            CooldownStatus::Active { last, .. }
                if own.is_some_and(|own| *own.key() == last.execution_key) =>
            {
                passed("its own change")
            }
            CooldownStatus::Unknown { by } if own.is_some_and(|own| own.revision() == by) => {
                passed("its own change")
            }
            CooldownStatus::Active { .. } | CooldownStatus::Unknown { .. }
                if let Pass::Glass(open) = self.pass =>
            {
                yielded_to(open)
            }
            CooldownStatus::Active { .. } | CooldownStatus::Unknown { .. }
                if let Pass::Void(rejection) = self.pass =>
            {
                Err(rejection.clone())
            }
            CooldownStatus::Active { .. } | CooldownStatus::Unknown { .. }
                if override_asked && overrides.as_ref().is_some_and(|answer| answer.allowed) =>
            {
                yielded("overridden", overrides.as_ref().expect("BUG: just seen"))
            }
            CooldownStatus::Active { last, cooldown, until } => Err(Rejection::Cooldown {
                service,
                last: Box::new(last),
                cooldown,
                until,
                now: self.now,
            }),
            CooldownStatus::Unknown { by } => {
                Err(Rejection::FactUnknown { service, fact: MissingFact::Cooldown { by } })
            }
        }
    }

    fn is_reduction(&self) -> bool {
        self.current.is_none_or(|current| self.desired < current)
    }

    fn capabilities(&self) -> Capabilities {
        self.context.actuator.map(|actuator| actuator.capabilities).unwrap_or_default()
    }

    /// At put, a reduction only needs somebody who can vouch for it later.
    pub(super) fn evidence_source(&self, attested: bool) -> Checked {
        if !self.is_reduction() {
            return skipped("no reduction");
        }
        if !self.registration.needs_evidence(self.capabilities()) {
            return passed("not needed");
        }
        if self.capabilities().evidence {
            return passed("gathered when it starts");
        }
        if attested && !self.registration.quorum_required {
            return self.attested();
        }
        self.no_evidence()
    }

    fn no_evidence(&self) -> Checked {
        let service = self.registration.service.clone();
        let fact = if self.registration.quorum_required {
            MissingFact::Quorum { may_come: self.capabilities().evidence }
        } else {
            MissingFact::Evidence
        };
        Err(Rejection::FactUnknown { service, fact })
    }

    /// A person's word needs the permission to give it.
    fn attested(&self) -> Checked {
        if let Pass::Glass(open) = self.pass
            && open.authorization.attests_not_drained
        {
            return yielded_to(open);
        }
        let answer = self.caller_may(PolicyAction::Attest);
        if answer.allowed {
            return yielded("attested", &answer);
        }
        Err(Rejection::Denied {
            actor: self.context.by.actor.to_string(),
            subject: format!("that {} may lose its work", self.registration.service),
            answer: Box::new(answer),
        })
    }

    pub(super) fn evidence(&self, start: &StartAttempt) -> Checked {
        if !self.is_reduction() {
            return skipped("no reduction");
        }
        if !self.registration.needs_evidence(self.capabilities()) {
            return passed("not needed");
        }
        let service = self.registration.service.clone();
        let missing = |fact| Err(Rejection::FactUnknown { service: service.clone(), fact });
        let found = start.found.as_ref().and_then(|found| found.as_ref().ok());
        let needs_quorum = self.registration.quorum_required;
        match &start.evidence {
            Some(evidence) => match self.contradiction(evidence, start.attest_not_drained) {
                Some(("quorum_safe", ..)) if evidence.quorum_safe.is_none() => {
                    missing(MissingFact::Quorum { may_come: false })
                }
                Some((part, expected, actual)) => {
                    missing(MissingFact::EvidenceSays { part, expected, actual })
                }
                None if start.attest_not_drained => self.attested(),
                None => passed(format!("read {}", evidence.read_at)),
            },
            // A person's word replaces what is drained and stabilized, and nothing else: without
            // evidence the counts are those that were just read.
            None if start.attest_not_drained && found.is_some() && !needs_quorum => self.attested(),
            None => self.no_evidence(),
        }
    }

    /// The order of the checks is that of facts/fleet-authority.md, 6.3.
    fn contradiction(
        &self,
        evidence: &Evidence,
        attested: bool,
    ) -> Option<(&'static str, String, String)> {
        let age = self.now.since(evidence.read_at);
        let text = |value: &dyn std::fmt::Display| value.to_string();
        let attested = attested || self.registration.drains_unasked(self.capabilities());
        let checks = [
            ("drained", attested || evidence.drained, "true".to_owned(), text(&evidence.drained)),
            (
                "stabilized",
                attested || evidence.stabilized,
                "true".to_owned(),
                text(&evidence.stabilized),
            ),
            (
                "resource_version",
                *self.version == evidence.resource_version,
                text(self.version),
                text(&evidence.resource_version),
            ),
            (
                "observed_replicas",
                self.current == Some(evidence.observed_replicas),
                self.current.map_or_else(|| "a known count".to_owned(), |count| text(&count)),
                text(&evidence.observed_replicas),
            ),
            (
                "remaining_replicas",
                evidence.remaining_replicas == self.desired,
                text(&self.desired),
                text(&evidence.remaining_replicas),
            ),
            (
                "quorum_safe",
                match evidence.quorum_safe {
                    Some(safe) => safe,
                    None => !self.registration.quorum_required,
                },
                "true".to_owned(),
                evidence.quorum_safe.map_or_else(|| "nothing".to_owned(), |safe| text(&safe)),
            ),
            (
                "read_at",
                age <= EVIDENCE_AGE_MAX && evidence.read_at <= self.now.plus(CLOCK_SKEW_MAX),
                format!("at most {EVIDENCE_AGE_MAX} old"),
                format!("{age} old"),
            ),
        ];
        checks
            .into_iter()
            .find(|(_, holds, ..)| !holds)
            .map(|(part, _, expected, actual)| (part, expected, actual))
    }

    fn query(&self, action: PolicyAction, who: &Provenance) -> PolicyQuery {
        let resource = service_resource(self.registration, self.context);
        PolicyQuery {
            desired: Some(self.desired),
            current: self.current,
            reason: self.reason.map(str::to_owned),
            controller: Some(self.controller.clone()),
            recent: self.context.recent,
            ..PolicyQuery::of(who, action, resource, self.source, self.now)
        }
    }

    /// What is said by a flag of this very command is the caller's word, not the proposer's.
    fn caller_may(&self, action: PolicyAction) -> PolicyAnswer {
        self.context.policy.answer(&self.query(action, self.context.by))
    }

    /// Gate 13, and what of it is left to gate 14: where policy refuses and lets the wish be
    /// proposed, a colleague may agree.
    pub(super) fn policy(&self, reports: &mut Reports) {
        let mut actions = PolicyAction::for_change(self.current, self.desired);
        if self.pins {
            actions.push(PolicyAction::Override);
        }
        let ask = |action, who| self.context.policy.answer(&self.query(action, who));
        let answer = self
            .context
            .policy
            .answer_all(&self.query(PolicyAction::ScaleUp, self.proposer), &actions);
        let (decision, checked) = match self.pass {
            Pass::Glass(open) => {
                // What is signed is the authorization that the wish rests on.
                let query = self.query(PolicyAction::BreakGlass, self.proposer);
                let signer = open.by.signed_by.as_ref().map(|signer| signer.principal.clone());
                let query = PolicyQuery { signed_by: signer.or(query.signed_by.clone()), ..query };
                let glass = self.context.policy.answer(&query);
                let by = &open.authorization.authorization_id;
                self.checked_answer(glass, |_| format!("passed by {by}"))
            }
            Pass::Void(rejection) => (answer, Err(rejection.clone())),
            Pass::Approved(_) | Pass::Nothing if self.hold.is_some() => {
                let hold = self.hold.expect("BUG: just seen");
                let refusal = Rejection::OnHold {
                    service: self.registration.service.clone(),
                    hold: Box::new(hold.clone()),
                };
                (answer, Err(refusal))
            }
            Pass::Approved(approval) if answer.leaves_to_a_colleague() => {
                let asked = ask(PolicyAction::Propose, self.proposer);
                let agreed = ask(PolicyAction::Approve, &approval.by);
                let decisive = if asked.allowed { agreed } else { asked };
                self.checked_answer(decisive, |_| format!("agreed to by {}", approval.by.actor))
            }
            Pass::Nothing if answer.leaves_to_a_colleague() => {
                let asked = ask(PolicyAction::Propose, self.proposer);
                if asked.allowed {
                    reports.refused = Some(answer);
                    self.checked_answer(asked, |rules| format!("may be proposed: {rules}"))
                } else {
                    self.checked_answer(answer, str::to_owned)
                }
            }
            Pass::Approved(_) | Pass::Nothing => self.checked_answer(answer, str::to_owned),
        };
        reports.decision = Some(decision);
        reports.add(Gate::Policy, checked);
    }

    fn checked_answer(
        &self,
        answer: PolicyAnswer,
        seen: impl FnOnce(&str) -> String,
    ) -> (PolicyAnswer, Checked) {
        let rules: Vec<&str> = answer.rules.iter().map(|rule| rule.id.as_str()).collect();
        let checked = if answer.allowed {
            passed(seen(&rules.join(", ")))
        } else {
            Err(self.denied(&answer))
        };
        (answer, checked)
    }

    fn denied(&self, answer: &PolicyAnswer) -> Rejection {
        let from = self.current.map_or_else(|| "?".to_owned(), |count| count.to_string());
        Rejection::Denied {
            actor: self.proposer.actor.to_string(),
            subject: format!("{} from {from} to {}", self.registration.service, self.desired),
            answer: Box::new(answer.clone()),
        }
    }
}

/// The resource that policy sees for a service.
pub fn service_resource(registration: &Registration, context: &Context<'_>) -> PolicyResource {
    PolicyResource::Service {
        name: registration.service.clone(),
        actuator: registration.actuator.clone(),
        adapter: context.actuator.map(|actuator| actuator.adapter.clone()),
        mode: registration.mode.as_str().to_owned(),
        writer: registration.writer.clone(),
        min: registration.min_replicas,
        max: registration.max_replicas,
        labels: registration.labels.clone(),
    }
}
