//! What a person signs: the content of an act, as one line of canonical JSON.
//!
//! Owns which facts an act has. It names the ledger, the wish or the authorization, the count and
//! the object that it is about, so that a signature is good for one act and for nothing else. It
//! never signs and never looks at a key.

use serde::Serialize;

use super::command::Authorize;
use super::consent::{Asked, Authorization, Incident};
use super::execution::Execution;
use super::rejection::Rejection;
use super::result::Detail;
use super::service::Registration;
use crate::domain::canonical::canonical_json;
use crate::domain::digest::Digest;
use crate::domain::id::{
    AuthorizationId, ClusterId, ExecutionKey, LedgerId, Replicas, RuntimeId, ServiceName,
    TargetUid, WorkloadId,
};
use crate::domain::time::DurationMs;

/// What `ssh-keygen -Y` is told that a signature is for. A signature of another use is none here.
pub const NAMESPACE: &str = "scalectl-ledger";

/// One act that can be signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "act")]
pub enum SignedAct<'a> {
    /// A yes to a proposal.
    ApprovalGrant(AnswerContent<'a>),
    /// A no to a proposal.
    ApprovalDeny(AnswerContent<'a>),
    /// An authorization.
    BreakGlassAuthorize(AuthorizeContent<'a>),
    /// A review of what was done under one.
    BreakGlassReview(ReviewContent<'a>),
}

/// What an answer to a proposal says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnswerContent<'a> {
    /// In which ledger.
    pub ledger_id: &'a LedgerId,
    /// The key of the proposal.
    pub execution_key: &'a ExecutionKey,
    /// What is wished, all of it.
    pub wish_digest: Digest,
    /// The object.
    pub target_uid: &'a TargetUid,
    /// The count that it was asked about.
    pub base_replicas: Replicas,
    /// The count that is wished.
    pub desired_replicas: Replicas,
    /// Why.
    pub reason: &'a Detail,
}

/// What an authorization says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuthorizeContent<'a> {
    /// In which ledger.
    pub ledger_id: &'a LedgerId,
    /// Its name.
    pub authorization_id: &'a AuthorizationId,
    /// The service.
    pub service: &'a ServiceName,
    /// Where its target runs.
    pub cluster_id: &'a ClusterId,
    /// Where its target runs.
    pub runtime_id: &'a RuntimeId,
    /// What its target is called.
    pub workload_id: &'a WorkloadId,
    /// The object.
    pub target_uid: &'a TargetUid,
    /// The count that is believed to run.
    pub current_replicas: Option<Replicas>,
    /// The one count that may be wished under it.
    pub desired_replicas: Replicas,
    /// What it is for.
    pub incident: &'a Incident,
    /// Why.
    pub reason: &'a Detail,
    /// How long it lasts.
    pub valid_for_ms: DurationMs,
    /// How many wishes may be carried out under it.
    pub max_uses: u8,
    /// Whether it vouches that what is not drained may lose its work.
    pub attests_not_drained: bool,
    /// The upper bound that it lets register.
    pub raises_max_to: Option<Replicas>,
}

/// What a review says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReviewContent<'a> {
    /// In which ledger.
    pub ledger_id: &'a LedgerId,
    /// What was reviewed.
    pub authorization_id: &'a AuthorizationId,
    /// Of which service.
    pub service: &'a ServiceName,
    /// The object.
    pub target_uid: &'a TargetUid,
    /// The count that was permitted.
    pub desired_replicas: Replicas,
    /// What was found.
    pub reason: &'a Detail,
}

impl<'a> SignedAct<'a> {
    /// The answer to a proposal.
    pub fn answer(
        ledger_id: &'a LedgerId,
        execution: &'a Execution,
        asked: &Asked,
        grants: bool,
        reason: &'a Detail,
    ) -> Self {
        let wish = &execution.intent.wish;
        let content = AnswerContent {
            ledger_id,
            execution_key: execution.key(),
            wish_digest: wish.digest(),
            target_uid: &wish.target.target_uid,
            base_replicas: asked.base,
            desired_replicas: wish.desired_replicas,
            reason,
        };
        if grants { Self::ApprovalGrant(content) } else { Self::ApprovalDeny(content) }
    }

    /// An authorization that is asked for.
    pub fn authorize(
        ledger_id: &'a LedgerId,
        ask: &'a Authorize,
        registration: &'a Registration,
        target_uid: &'a TargetUid,
    ) -> Self {
        Self::BreakGlassAuthorize(AuthorizeContent {
            ledger_id,
            authorization_id: &ask.authorization_id,
            service: &ask.service,
            cluster_id: &registration.cluster_id,
            runtime_id: &registration.runtime_id,
            workload_id: &registration.workload_id,
            target_uid,
            current_replicas: ask.current,
            desired_replicas: ask.desired_replicas,
            incident: &ask.incident,
            reason: &ask.reason,
            valid_for_ms: ask.valid_for,
            max_uses: ask.max_uses,
            attests_not_drained: ask.attests_not_drained,
            raises_max_to: ask.raises_max_to,
        })
    }

    /// The same authorization as it is recorded: it lasts so long.
    pub fn authorization(
        ledger_id: &'a LedgerId,
        it: &'a Authorization,
        valid_for_ms: DurationMs,
    ) -> Self {
        Self::BreakGlassAuthorize(AuthorizeContent {
            ledger_id,
            authorization_id: &it.authorization_id,
            service: &it.service,
            cluster_id: &it.cluster_id,
            runtime_id: &it.runtime_id,
            workload_id: &it.workload_id,
            target_uid: &it.target_uid,
            current_replicas: it.current,
            desired_replicas: it.desired_replicas,
            incident: &it.incident,
            reason: &it.reason,
            valid_for_ms,
            max_uses: it.max_uses,
            attests_not_drained: it.attests_not_drained,
            raises_max_to: it.raises_max_to,
        })
    }

    /// A review.
    pub fn review(ledger_id: &'a LedgerId, it: &'a Authorization, reason: &'a Detail) -> Self {
        Self::BreakGlassReview(ReviewContent {
            ledger_id,
            authorization_id: &it.authorization_id,
            service: &it.service,
            target_uid: &it.target_uid,
            desired_replicas: it.desired_replicas,
            reason,
        })
    }

    /// The line that is signed.
    pub fn content(&self) -> String {
        canonical_json(self)
    }
}

/// What is known of the signature of an act when it is decided.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signing {
    /// What was signed, and the list of allowed signers that the signature was held against; none
    /// where nobody signed.
    pub signed: Option<(String, Digest)>,
    /// The list that holds; none where the ledger has none.
    pub list: Option<Digest>,
    /// Whether the ledger takes nothing without a signature.
    pub is_required: bool,
}

impl Signing {
    /// Whether an act may be recorded as signed, or without a signature. `subject` is what it is
    /// about.
    pub fn check(&self, act: &SignedAct<'_>, subject: &str) -> Result<(), Rejection> {
        let refused = |why: &str| {
            let (subject, why) = (subject.to_owned(), why.to_owned());
            Err(Rejection::SignatureRefused { subject, why })
        };
        let Some((content, list)) = &self.signed else {
            let missing = Rejection::SignatureMissing { subject: subject.to_owned() };
            return if self.is_required { Err(missing) } else { Ok(()) };
        };
        if self.list != Some(*list) {
            return refused("the allowed signers were replaced meanwhile");
        }
        if *content != act.content() {
            return refused("something else was signed: what it is about has changed meanwhile");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(ledger: &LedgerId, reason: &Detail) -> String {
        let (authorization_id, service) = ("bg-1".parse().unwrap(), "web".parse().unwrap());
        SignedAct::BreakGlassReview(ReviewContent {
            ledger_id: ledger,
            authorization_id: &authorization_id,
            service: &service,
            target_uid: &"u".parse().unwrap(),
            desired_replicas: Replicas::from(3),
            reason,
        })
        .content()
    }

    #[test]
    fn a_content_names_its_act_and_all_of_its_facts() {
        let (ledger, reason) = ("led-1".parse().unwrap(), Detail::cut("seen"));
        assert_eq!(
            review(&ledger, &reason),
            r#"{"act":"break_glass_review","authorization_id":"bg-1","desired_replicas":3,"ledger_id":"led-1","reason":"seen","service":"web","target_uid":"u"}"#
        );
    }

    #[test]
    fn a_signature_is_good_for_what_was_signed_against_the_list_that_holds() {
        let (ledger, reason) = ("led-1".parse().unwrap(), Detail::cut("seen"));
        let (authorization_id, service) = ("bg-1".parse().unwrap(), "web".parse().unwrap());
        let uid = "u".parse().unwrap();
        let act = SignedAct::BreakGlassReview(ReviewContent {
            ledger_id: &ledger,
            authorization_id: &authorization_id,
            service: &service,
            target_uid: &uid,
            desired_replicas: Replicas::from(3),
            reason: &reason,
        });
        let (list, other) = (Digest::of(b"list"), Digest::of(b"other"));
        let code = |signed: Option<(String, Digest)>, is_required| {
            let signing = Signing { signed, list: Some(list), is_required };
            signing.check(&act, "bg-1").map_err(|rejection| rejection.code())
        };
        assert_eq!(code(Some((act.content(), list)), true), Ok(()));
        assert_eq!(code(None, false), Ok(()));
        assert_eq!(code(None, true), Err("signature_missing"));
        assert_eq!(code(Some((act.content(), other)), true), Err("signature_refused"));
        let elsewhere = "led-2".parse().unwrap();
        for changed in [review(&elsewhere, &reason), review(&ledger, &Detail::cut("not seen"))] {
            assert_eq!(code(Some((changed, list)), false), Err("signature_refused"));
        }
    }
}
