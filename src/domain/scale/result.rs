//! What an actuator is asked and what it answers, as the contract says it (seed 000).

use serde::{Deserialize, Serialize};

use super::intent::{ControllerMode, SchemaVersion, TargetBinding};
use super::lease::ControllerLease;
use crate::domain::canonical::canonical_digest;
use crate::domain::digest::Digest;
use crate::domain::id::{
    ActuatorOperationId, ControllerId, ErrorCode, ExecutionKey, IntentId, IntentRevision, Replicas,
    UnitRevision,
};

/// The longest detail, in characters (seed 000).
pub const DETAIL_CHARS_MAX: usize = 512;

/// Text for people beside a result: at most 512 characters, no U+0000.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Detail(String);

/// A detail that is too long or has U+0000 in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a detail has at most {DETAIL_CHARS_MAX} characters and no U+0000")]
pub struct InvalidDetail;

impl Detail {
    /// The first 512 characters of a text of our own making.
    pub fn cut(text: &str) -> Self {
        Self(text.chars().filter(|c| *c != '\0').take(DETAIL_CHARS_MAX).collect())
    }

    /// The text, verbatim. Escape it before a person sees it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Detail {
    type Error = InvalidDetail;
    fn try_from(text: String) -> Result<Self, InvalidDetail> {
        if text.chars().count() <= DETAIL_CHARS_MAX && !text.contains('\0') {
            Ok(Self(text))
        } else {
            Err(InvalidDetail)
        }
    }
}

impl From<Detail> for String {
    fn from(detail: Detail) -> String {
        detail.0
    }
}

/// What one call of an actuator is asked (`ScaleActuationRequest`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActuationRequest {
    /// The version of the contract.
    #[serde(default)]
    pub schema_version: SchemaVersion,
    /// The intent.
    pub intent_id: IntentId,
    /// Its place in its service.
    pub intent_revision: IntentRevision,
    /// The registration that it was made for.
    pub expected_unit_revision: UnitRevision,
    /// The key under which the effect is deduplicated.
    pub execution_key: ExecutionKey,
    /// What is wished.
    pub desired_replicas: Replicas,
    /// Who carries it out.
    pub controller_mode: ControllerMode,
    /// The one controller that may act.
    pub replica_writer_id: ControllerId,
    /// What exactly is scaled.
    pub target: TargetBinding,
    /// The permission for this attempt.
    pub lease: ControllerLease,
    /// Always false on a call: a simulation calls nobody.
    #[serde(default)]
    pub dry_run: bool,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultState {
    /// Nothing was called.
    Simulated,
    /// The count is as wished, says the actuator.
    Succeeded,
    /// The count is not as wished, says the actuator.
    Failed,
}

/// The typed answer to one attempt (`ScaleActuationResult`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawResult", into = "RawResult")]
pub struct ActuationResult {
    /// The key that was asked.
    pub execution_key: ExecutionKey,
    /// The target that was asked.
    pub target: TargetBinding,
    /// How it ended, with what belongs to each end.
    pub answer: Answer,
    /// Text for people.
    pub detail: Detail,
    /// What the actuator calls its own operation.
    pub actuator_operation_id: Option<ActuatorOperationId>,
}

/// The three ends of an answer. The contract's cross-field rules are this enum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Nothing was called. `observed_replicas` is carried as it came.
    Simulated {
        /// A count, if one was said.
        observed_replicas: Option<Replicas>,
        /// Carried as it came.
        retryable: bool,
    },
    /// The declared count is `observed_replicas`.
    Succeeded {
        /// The declared count.
        observed_replicas: Replicas,
        /// Carried as it came.
        retryable: bool,
        /// Carried as it came; the contract does not check it here.
        error_code: Option<ErrorCode>,
    },
    /// Not as wished.
    Failed {
        /// A count, if one was said.
        observed_replicas: Option<Replicas>,
        /// Whether another attempt may help.
        retryable: bool,
        /// Why, for machines.
        error_code: ErrorCode,
    },
}

/// A result that contradicts itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidResult {
    /// `simulated` with `scaled` or an error.
    #[error("a simulated result has scaled false and error_code null")]
    Simulated,
    /// `succeeded` without `scaled` or a count.
    #[error("a succeeded result has scaled true and observed_replicas")]
    Succeeded,
    /// `failed` with `scaled` or without an error.
    #[error("a failed result has scaled false and an error_code")]
    Failed,
}

impl ActuationResult {
    /// How it ended.
    pub const fn state(&self) -> ResultState {
        match self.answer {
            Answer::Simulated { .. } => ResultState::Simulated,
            Answer::Succeeded { .. } => ResultState::Succeeded,
            Answer::Failed { .. } => ResultState::Failed,
        }
    }

    /// Whether the actuator says that it scaled.
    pub const fn scaled(&self) -> bool {
        matches!(self.answer, Answer::Succeeded { .. })
    }

    /// Whether another attempt may help.
    pub const fn is_retryable_failure(&self) -> bool {
        matches!(self.answer, Answer::Failed { retryable: true, .. })
    }

    /// The declared count, if one was said.
    pub const fn observed_replicas(&self) -> Option<Replicas> {
        match &self.answer {
            Answer::Succeeded { observed_replicas, .. } => Some(*observed_replicas),
            Answer::Simulated { observed_replicas, .. }
            | Answer::Failed { observed_replicas, .. } => *observed_replicas,
        }
    }

    /// Why it failed, for machines.
    pub const fn error_code(&self) -> Option<&ErrorCode> {
        match &self.answer {
            Answer::Simulated { .. } => None,
            Answer::Succeeded { error_code, .. } => error_code.as_ref(),
            Answer::Failed { error_code, .. } => Some(error_code),
        }
    }

    /// SHA-256 of the whole canonical result, absent members as null.
    pub fn outcome_digest(&self) -> Digest {
        canonical_digest(self)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawResult {
    #[serde(default)]
    schema_version: SchemaVersion,
    execution_key: ExecutionKey,
    target: TargetBinding,
    state: ResultState,
    scaled: bool,
    #[serde(default)]
    observed_replicas: Option<Replicas>,
    #[serde(default)]
    retryable: bool,
    #[serde(default)]
    error_code: Option<ErrorCode>,
    #[serde(default)]
    detail: Detail,
    #[serde(default)]
    actuator_operation_id: Option<ActuatorOperationId>,
}

impl TryFrom<RawResult> for ActuationResult {
    type Error = InvalidResult;

    fn try_from(raw: RawResult) -> Result<Self, InvalidResult> {
        let RawResult { observed_replicas, retryable, error_code, .. } = raw;
        let answer = match (raw.state, raw.scaled) {
            (ResultState::Simulated, false) if error_code.is_none() => {
                Answer::Simulated { observed_replicas, retryable }
            }
            (ResultState::Simulated, _) => return Err(InvalidResult::Simulated),
            (ResultState::Succeeded, true) => Answer::Succeeded {
                observed_replicas: observed_replicas.ok_or(InvalidResult::Succeeded)?,
                retryable,
                error_code,
            },
            (ResultState::Succeeded, false) => return Err(InvalidResult::Succeeded),
            (ResultState::Failed, false) => Answer::Failed {
                observed_replicas,
                retryable,
                error_code: error_code.ok_or(InvalidResult::Failed)?,
            },
            (ResultState::Failed, true) => return Err(InvalidResult::Failed),
        };
        Ok(Self {
            execution_key: raw.execution_key,
            target: raw.target,
            answer,
            detail: raw.detail,
            actuator_operation_id: raw.actuator_operation_id,
        })
    }
}

impl From<ActuationResult> for RawResult {
    fn from(result: ActuationResult) -> Self {
        let (state, scaled) = (result.state(), result.scaled());
        let observed_replicas = result.observed_replicas();
        let error_code = result.error_code().cloned();
        let retryable = match result.answer {
            Answer::Simulated { retryable, .. }
            | Answer::Succeeded { retryable, .. }
            | Answer::Failed { retryable, .. } => retryable,
        };
        Self {
            schema_version: SchemaVersion::V1,
            execution_key: result.execution_key,
            target: result.target,
            state,
            scaled,
            observed_replicas,
            retryable,
            error_code,
            detail: result.detail,
            actuator_operation_id: result.actuator_operation_id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(members: &str) -> Result<ActuationResult, String> {
        let text = format!(
            r#"{{"execution_key":"k","target":{{"cluster_id":"c","runtime_id":"r","workload_id":"w",
            "target_uid":"u","target_resource_version":"1"}},{members}}}"#
        );
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_cross_field_rules_hold() {
        for (members, ok) in [
            (r#""state":"succeeded","scaled":true,"observed_replicas":3"#, true),
            (r#""state":"succeeded","scaled":true,"observed_replicas":3,"error_code":"x""#, true),
            (r#""state":"succeeded","scaled":true"#, false),
            (r#""state":"succeeded","scaled":false,"observed_replicas":3"#, false),
            (r#""state":"failed","scaled":false,"error_code":"x","retryable":true"#, true),
            (r#""state":"failed","scaled":false"#, false),
            (r#""state":"failed","scaled":true,"error_code":"x""#, false),
            (r#""state":"simulated","scaled":false"#, true),
            (r#""state":"simulated","scaled":true"#, false),
            (r#""state":"simulated","scaled":false,"error_code":"x""#, false),
            (r#""state":"started","scaled":false"#, false),
            (r#""state":"succeeded","scaled":1,"observed_replicas":3"#, false),
            (r#""state":"succeeded","scaled":true,"observed_replicas":3,"more":1"#, false),
        ] {
            assert_eq!(read(members).is_ok(), ok, "{members}");
        }
    }

    #[test]
    fn absent_members_are_null_in_the_digest() {
        let short = read(r#""state":"succeeded","scaled":true,"observed_replicas":3"#);
        let full = read(
            r#""schema_version":"1","state":"succeeded","scaled":true,"observed_replicas":3,
            "retryable":false,"error_code":null,"detail":"","actuator_operation_id":null"#,
        );
        assert_eq!(short.expect("valid").outcome_digest(), full.expect("valid").outcome_digest());
    }
}
