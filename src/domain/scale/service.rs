//! Services: their registration, what their target was when last read, and their actuator.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::intent::{ControllerMode, RetryPolicy, TargetBinding};
use super::observation::Reading;
use super::scaling::ScalingSpec;
use crate::domain::id::{
    ActuatorName, ClusterId, ControllerId, EnvironmentName, Replicas, RequiredReadings, RuntimeId,
    ServiceName, TargetResourceVersion, TargetUid, UnitRevision, WorkloadId,
};
use crate::domain::time::{DurationMs, Timestamp};

/// How long a count of the binding is believed at put.
pub const COUNT_AGE_MAX: DurationMs = DurationMs::from_secs(60);
/// How old evidence may be at the start of a call.
pub const EVIDENCE_AGE_MAX: DurationMs = DurationMs::from_secs(60);
/// How far behind the time mark of a service a clock may be and is still clamped to it.
pub const CLOCK_SKEW_MAX: DurationMs = DurationMs::from_secs(300);
/// How long after an unknown call of a foreign actuator a late effect is waited for.
pub const QUIET_DEFAULT: DurationMs = DurationMs::from_secs(60);
/// The longest cooldown, quiet and pause between readings of a service: a day.
pub const LASTS_MAX: DurationMs = DurationMs::from_secs(86_400);
/// The longest label with its value and the sign between them, in bytes.
const LABEL_BYTES_MAX: usize = 256;

/// What is wrong with a label, if anything is.
pub fn label_problem(name: &str, value: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("a label has a name");
    }
    let is_too_long = name.len() + 1 + value.len() > LABEL_BYTES_MAX;
    let has_control = name.chars().chain(value.chars()).any(char::is_control);
    (is_too_long || has_control)
        .then_some("a label has at most 256 bytes with its value, and no control characters")
}

/// Who may change the count of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegisteredMode {
    /// This ledger, through the actuator.
    Native,
    /// A controller that takes orders from us through the actuator.
    Delegated,
    /// A horizontal pod autoscaler: never put, never actuated.
    ExternalHpa,
    /// A scaled object of KEDA: never put, never actuated.
    ExternalKeda,
}

impl RegisteredMode {
    /// The mode of a record, or none where somebody else owns the count.
    pub const fn record_mode(self) -> Option<ControllerMode> {
        match self {
            Self::Native => Some(ControllerMode::Native),
            Self::Delegated => Some(ControllerMode::Delegated),
            Self::ExternalHpa | Self::ExternalKeda => None,
        }
    }

    /// The mode of a word that a person writes: in any case, and by the short names of the rule
    /// book (facts/fleet-authority.md, 1B). None for any other word: nothing is taken for a mode
    /// in silence.
    pub fn of_word(text: &str) -> Option<Self> {
        match text.trim().to_lowercase().as_str() {
            "native" => Some(Self::Native),
            "delegated" => Some(Self::Delegated),
            "external_hpa" | "hpa" => Some(Self::ExternalHpa),
            "external_keda" | "keda" => Some(Self::ExternalKeda),
            _ => None,
        }
    }

    /// The words of [`RegisteredMode::of_word`], for a message.
    pub const WORDS: &str = "native, delegated, external_hpa (hpa), external_keda (keda)";

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Delegated => "delegated",
            Self::ExternalHpa => "external_hpa",
            Self::ExternalKeda => "external_keda",
        }
    }
}

/// What of the target must not have moved since the intent was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetMatch {
    /// The resource version.
    #[default]
    Version,
    /// The generation: changes of the wish, not of the status.
    Generation,
    /// The declared count.
    Replicas,
}

impl TargetMatch {
    /// What a new registration takes where nobody says. The version of an object of Kubernetes
    /// moves with its status, so its generation is what is locked.
    pub fn default_of(adapter: &str) -> Self {
        if adapter == "kubectl" { Self::Generation } else { Self::default() }
    }
}

/// What may happen after a call whose outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnknown {
    /// Call again under the same key. The actuator must deduplicate it.
    RetrySameKey,
    /// Look up, fence and read first; call again only what is proved not applied.
    #[default]
    ObserveFirst,
    /// Leave it to a person.
    Halt,
}

/// Which count of a reading must be the wished one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvergeOn {
    /// Declared and, where the target says it, ready.
    #[default]
    Ready,
    /// Declared.
    Declared,
}

/// Whether a reduction needs evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drain {
    /// It does, unless the actuator drains by itself.
    #[default]
    Required,
    /// It does not.
    None,
}

/// Who makes the fences of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FenceSource {
    /// The ledger, at acceptance.
    #[default]
    Minted,
    /// The writer: a put from flags must bring one.
    External,
}

/// The settings of a service. Every change is a CAS on `unit_revision`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    /// The service.
    pub service: ServiceName,
    /// 1, 2, 3 … over its settings.
    pub unit_revision: UnitRevision,
    /// Who may change the count.
    pub mode: RegisteredMode,
    /// The one controller that may act.
    pub writer: ControllerId,
    /// The least that may be wished.
    pub min_replicas: Replicas,
    /// The most that may be wished.
    pub max_replicas: Replicas,
    /// Who carries a wish out; none in the external modes.
    pub actuator: Option<ActuatorName>,
    /// Where the target runs: the cluster.
    pub cluster_id: ClusterId,
    /// Where the target runs: the runtime.
    pub runtime_id: RuntimeId,
    /// What the target is called there.
    pub workload_id: WorkloadId,
    /// How a wish is carried out and confirmed; copied into each intent at put.
    pub terms: Terms,
    /// How long after a call the next one waits; none means no cooldown.
    pub cooldown_ms: Option<DurationMs>,
    /// Who makes the fences.
    pub fences: FenceSource,
    /// How often and how soon to try again, unless an intent says otherwise.
    pub retry_policy: RetryPolicy,
    /// Free words for policies and selectors.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How it is scaled by a signal; none for a static service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<ScalingSpec>,
    /// The count that a static service is brought back to; none where nobody declares one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared_replicas: Option<Replicas>,
    /// Whether evidence for a reduction must say that a quorum survives.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quorum_required: bool,
    /// What the controller that owns the count is called, in the external modes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The environment that it is a part of: what moves with it, and sleeps or does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentName>,
}

/// How a wish is carried out and confirmed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// What of the target must not have moved.
    pub target_match: TargetMatch,
    /// What may happen after an unknown outcome.
    pub on_unknown: OnUnknown,
    /// How many readings must agree, the actuator's own included.
    pub required_readings: RequiredReadings,
    /// How long `scale` waits between two readings.
    pub reading_interval_ms: DurationMs,
    /// Which count must be the wished one.
    pub converge_on: ConvergeOn,
    /// Whether a reduction needs evidence.
    pub drain: Drain,
    /// How long after the end of an unknown call a late effect is waited for.
    pub quiet_ms: DurationMs,
}

/// What the target was when last read. Never raises the unit revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// The identity of the object.
    pub target_uid: TargetUid,
    /// Its version.
    pub target_resource_version: TargetResourceVersion,
    /// Its generation, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// The declared count, where it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<Replicas>,
    /// How many were ready, where the target says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<Replicas>,
    /// When: the instant before it was read, on the clock of whoever asked, or that of the result.
    pub read_at: Timestamp,
    /// What a call of ours may have changed since.
    #[serde(default, skip_serializing_if = "Outdated::is_nothing")]
    pub outdated: Outdated,
}

/// What of a target a call of ours may have changed since it was read: nobody may be held to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outdated {
    /// The version, and the generation with it.
    pub version: bool,
    /// The count.
    pub count: bool,
    /// The object itself: its environment has moved, and what is found next is the service's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub target: bool,
}

impl Outdated {
    /// After a call that nobody knows the outcome of.
    pub const ALL: Self = Self { version: true, count: true, target: false };
    /// After a move of the environment that the service is a part of.
    pub const MOVED: Self = Self { target: true, ..Self::ALL };

    /// Whether all is as it was read.
    pub const fn is_nothing(&self) -> bool {
        !self.version && !self.count && !self.target
    }
}

impl Binding {
    /// The declared count, unless a call of ours may have changed it since.
    pub fn known_replicas(&self) -> Option<Replicas> {
        self.replicas.filter(|_| !self.outdated.count)
    }
}

impl From<&Reading> for Binding {
    /// Its age is told by our own clock: when the reading began.
    fn from(reading: &Reading) -> Self {
        Self {
            target_uid: reading.target_uid.clone(),
            target_resource_version: reading.target_resource_version.clone(),
            generation: reading.generation,
            replicas: Some(reading.replicas),
            ready_replicas: reading.ready_replicas,
            read_at: reading.began_at,
            outdated: Outdated::default(),
        }
    }
}

impl Registration {
    /// Whether a reduction by such an actuator needs evidence. A quorum that is required is vouched
    /// for by evidence alone: not by a drain, not by a person, and not by silence.
    pub fn needs_evidence(&self, capabilities: Capabilities) -> bool {
        self.quorum_required || !self.drains_unasked(capabilities)
    }

    /// Whether nobody needs to say that what is taken away is drained.
    pub fn drains_unasked(&self, capabilities: Capabilities) -> bool {
        self.terms.drain == Drain::None || capabilities.drains_itself
    }

    /// Whether a quorum is required of a count that is ours, and nobody can ever vouch for it.
    pub const fn quorum_is_unvouched(&self, capabilities: Capabilities) -> bool {
        self.quorum_required && self.mode.record_mode().is_some() && !capabilities.evidence
    }

    /// The typed target, as an intent copies it.
    pub fn target(&self, binding: &Binding) -> TargetBinding {
        TargetBinding {
            cluster_id: self.cluster_id.clone(),
            runtime_id: self.runtime_id.clone(),
            workload_id: self.workload_id.clone(),
            target_uid: binding.target_uid.clone(),
            target_resource_version: binding.target_resource_version.clone(),
        }
    }
}

/// What an actuator declares that it can do. Absent means false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "the capability words of the protocol")]
pub struct Capabilities {
    /// The same execution key has one effect, however often it is called.
    pub deduplicates_execution_key: bool,
    /// An older fence is refused.
    pub rejects_stale_lease: bool,
    /// A moved resource version is refused.
    pub conditional_on_version: bool,
    /// It can read the target.
    pub inspect: bool,
    /// It can say what became of a key.
    pub lookup: bool,
    /// It can gather evidence for a reduction.
    pub evidence: bool,
    /// It can make late calls harmless.
    pub fence: bool,
    /// It drains what it removes.
    pub drains_itself: bool,
    /// It can list what it could scale. No rule rests on it; left out where it is false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub discover: bool,
}

impl Capabilities {
    /// The words of what it can do, in their order.
    pub fn words(self) -> Vec<String> {
        let Ok(serde_json::Value::Object(members)) = serde_json::to_value(self) else {
            return Vec::new();
        };
        members.into_iter().filter(|(_, can)| *can == true).map(|(word, _)| word).collect()
    }

    /// Whether both make the same promises to the rules: a list of what could be scaled is none.
    pub fn promises_like(self, other: Self) -> bool {
        Self { discover: other.discover, ..self } == other
    }
}

/// A registered actuator, as the ledger keeps it. The command is bound per host, elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisteredActuator {
    /// Its name in the ledger.
    pub name: ActuatorName,
    /// What the actuator calls itself: `local`, `exec` …
    pub adapter: String,
    /// Its own version.
    pub version: String,
    /// The protocol that it speaks.
    pub protocol: String,
    /// The environment variables that it is given.
    pub environment: Vec<String>,
    /// What it can do.
    pub capabilities: Capabilities,
    /// How long one call may take.
    pub timeout_ms: DurationMs,
}
