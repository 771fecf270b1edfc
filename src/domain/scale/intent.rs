//! The intent record of the durable scale-intent contract (seed 000, version "1") and its digests.
//!
//! The wire names, bounds and canonical form are binding: a client of that system can hand us its
//! own JSON, and both sides compute the same digests.

use serde::{Deserialize, Serialize};

use crate::domain::canonical::{canonical_digest, canonical_json};
use crate::domain::digest::{Digest, sha256_hex};
use crate::domain::id::{
    ClusterId, ControllerId, ExecutionKey, FenceToken, IntentId, IntentRevision, LeaseEpoch,
    LeaseId, Replicas, RuntimeId, ServiceName, TargetResourceVersion, TargetUid, UnitRevision,
    WorkloadId,
};
use crate::domain::time::Timestamp;

mod retry;

pub use retry::{BACKOFF_MAX, RetryAsked, RetryPolicy};

/// The longest reason, in characters (seed 000).
pub const REASON_CHARS_MAX: usize = 512;

/// The version of the contract, always "1".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SchemaVersion {
    /// Version 1.
    #[default]
    #[serde(rename = "1")]
    V1,
}

/// Why somebody wants something: 1 to 512 characters, control characters kept, U+0000 refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Reason(String);

/// A reason that is empty, too long or has U+0000 in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a reason has 1 to {REASON_CHARS_MAX} characters and no U+0000, this one has {chars}")]
pub struct InvalidReason {
    /// How many characters were given.
    pub chars: usize,
}

impl Reason {
    /// The first 512 characters of a text of our own making, which is not empty.
    pub fn cut(text: &str) -> Self {
        Self(text.chars().filter(|c| *c != '\0').take(REASON_CHARS_MAX).collect())
    }

    /// The text, verbatim. Escape it before a person sees it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Reason {
    type Error = InvalidReason;
    fn try_from(text: String) -> Result<Self, InvalidReason> {
        let chars = text.chars().count();
        if (1..=REASON_CHARS_MAX).contains(&chars) && !text.contains('\0') {
            Ok(Self(text))
        } else {
            Err(InvalidReason { chars })
        }
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> String {
        reason.0
    }
}

/// Who may act on the count, as an intent record says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControllerMode {
    /// The actuator changes the count itself.
    Native,
    /// The actuator hands the count to a controller that takes orders from us.
    Delegated,
}

/// Permission that only grows: compared by (epoch, token).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fence {
    /// Which lease the fence belongs to.
    pub lease_id: LeaseId,
    /// First half of the order.
    pub lease_epoch: LeaseEpoch,
    /// Second half of the order.
    pub fence_token: FenceToken,
    /// From this instant on the fence permits nothing; the instant itself is expired.
    pub expires_at: Timestamp,
}

impl Fence {
    /// Its place in the order of fences.
    pub const fn rank(&self) -> (u64, u64) {
        (self.lease_epoch.get(), self.fence_token.get())
    }

    /// Whether the fence still permits something at `now`.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// What exactly is scaled: never a name alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetBinding {
    /// The cluster.
    pub cluster_id: ClusterId,
    /// The runtime in the cluster.
    pub runtime_id: RuntimeId,
    /// The workload in the runtime.
    pub workload_id: WorkloadId,
    /// The identity of the object: a recreated object has another.
    pub target_uid: TargetUid,
    /// The version of the object as last read.
    pub target_resource_version: TargetResourceVersion,
}

impl TargetBinding {
    /// Whether both name the same object, whatever its version.
    pub fn is_same_object(&self, other: &Self) -> bool {
        self.cluster_id == other.cluster_id
            && self.runtime_id == other.runtime_id
            && self.workload_id == other.workload_id
            && self.target_uid == other.target_uid
    }
}

/// One wish, whole and immutable: the record of the contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawIntentRecord", into = "RawIntentRecord")]
pub struct IntentRecord {
    wish: IntentWish,
    fence: Fence,
    created_at: Timestamp,
}

/// The record without its fence and its time of creation: what is fixed when it is put.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawWish", into = "RawWish")]
pub struct IntentWish {
    /// The name of the intent.
    pub intent_id: IntentId,
    /// The place of the intent in its service, and its CAS: the previous plus one.
    pub intent_revision: IntentRevision,
    /// The registration that it was made for.
    pub expected_unit_revision: UnitRevision,
    /// What is wished.
    pub desired_replicas: Replicas,
    /// The least that its maker allows.
    pub min_replicas: Replicas,
    /// The most that its maker allows.
    pub max_replicas: Replicas,
    /// Who carries it out.
    pub controller_mode: ControllerMode,
    /// The one controller that may act.
    pub replica_writer_id: ControllerId,
    /// The key that names this intent for ever.
    pub execution_key: ExecutionKey,
    /// What exactly is scaled.
    pub target: TargetBinding,
    /// Why.
    pub reason: Reason,
    /// How often and how soon to try again.
    pub retry_policy: RetryPolicy,
}

/// Counts of a record that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("min_replicas {min} <= desired_replicas {desired} <= max_replicas {max} does not hold")]
pub struct InvalidBounds {
    /// The least.
    pub min: Replicas,
    /// What is wished.
    pub desired: Replicas,
    /// The most.
    pub max: Replicas,
}

impl IntentWish {
    /// Checks what one field alone cannot say: min ≤ desired ≤ max.
    pub fn checked(self) -> Result<Self, InvalidBounds> {
        let (min, desired, max) = (self.min_replicas, self.desired_replicas, self.max_replicas);
        if min <= desired && desired <= max {
            Ok(self)
        } else {
            Err(InvalidBounds { min, desired, max })
        }
    }

    /// SHA-256 of the canonical record without fence and `created_at`.
    pub fn digest(&self) -> Digest {
        canonical_digest(self)
    }

    /// The whole record, once it is accepted under a fence.
    pub fn accepted(self, fence: Fence, created_at: Timestamp) -> IntentRecord {
        IntentRecord { wish: self, fence, created_at }
    }
}

impl IntentRecord {
    /// The record without fence and `created_at`.
    pub const fn wish(&self) -> &IntentWish {
        &self.wish
    }

    /// Takes the record apart.
    pub fn into_parts(self) -> (IntentWish, Fence, Timestamp) {
        (self.wish, self.fence, self.created_at)
    }

    /// The fence that permits it.
    pub const fn fence(&self) -> &Fence {
        &self.fence
    }

    /// When it was made.
    pub const fn created_at(&self) -> Timestamp {
        self.created_at
    }

    /// SHA-256 of the whole canonical record.
    pub fn identity_digest(&self) -> Digest {
        canonical_digest(self)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWish {
    #[serde(default)]
    schema_version: SchemaVersion,
    intent_id: IntentId,
    intent_revision: IntentRevision,
    expected_unit_revision: UnitRevision,
    desired_replicas: Replicas,
    min_replicas: Replicas,
    max_replicas: Replicas,
    controller_mode: ControllerMode,
    replica_writer_id: ControllerId,
    execution_key: ExecutionKey,
    target: TargetBinding,
    reason: Reason,
    #[serde(default)]
    retry_policy: RetryPolicy,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawIntentRecord {
    #[serde(default)]
    schema_version: SchemaVersion,
    intent_id: IntentId,
    intent_revision: IntentRevision,
    expected_unit_revision: UnitRevision,
    desired_replicas: Replicas,
    min_replicas: Replicas,
    max_replicas: Replicas,
    controller_mode: ControllerMode,
    replica_writer_id: ControllerId,
    execution_key: ExecutionKey,
    fence: Fence,
    target: TargetBinding,
    reason: Reason,
    #[serde(default)]
    retry_policy: RetryPolicy,
    created_at: Timestamp,
}

impl From<IntentWish> for RawWish {
    fn from(wish: IntentWish) -> Self {
        Self {
            schema_version: SchemaVersion::V1,
            intent_id: wish.intent_id,
            intent_revision: wish.intent_revision,
            expected_unit_revision: wish.expected_unit_revision,
            desired_replicas: wish.desired_replicas,
            min_replicas: wish.min_replicas,
            max_replicas: wish.max_replicas,
            controller_mode: wish.controller_mode,
            replica_writer_id: wish.replica_writer_id,
            execution_key: wish.execution_key,
            target: wish.target,
            reason: wish.reason,
            retry_policy: wish.retry_policy,
        }
    }
}

impl TryFrom<RawWish> for IntentWish {
    type Error = InvalidBounds;
    fn try_from(raw: RawWish) -> Result<Self, InvalidBounds> {
        Self {
            intent_id: raw.intent_id,
            intent_revision: raw.intent_revision,
            expected_unit_revision: raw.expected_unit_revision,
            desired_replicas: raw.desired_replicas,
            min_replicas: raw.min_replicas,
            max_replicas: raw.max_replicas,
            controller_mode: raw.controller_mode,
            replica_writer_id: raw.replica_writer_id,
            execution_key: raw.execution_key,
            target: raw.target,
            reason: raw.reason,
            retry_policy: raw.retry_policy,
        }
        .checked()
    }
}

impl From<IntentRecord> for RawIntentRecord {
    fn from(record: IntentRecord) -> Self {
        let wish = RawWish::from(record.wish);
        Self {
            schema_version: wish.schema_version,
            intent_id: wish.intent_id,
            intent_revision: wish.intent_revision,
            expected_unit_revision: wish.expected_unit_revision,
            desired_replicas: wish.desired_replicas,
            min_replicas: wish.min_replicas,
            max_replicas: wish.max_replicas,
            controller_mode: wish.controller_mode,
            replica_writer_id: wish.replica_writer_id,
            execution_key: wish.execution_key,
            fence: record.fence,
            target: wish.target,
            reason: wish.reason,
            retry_policy: wish.retry_policy,
            created_at: record.created_at,
        }
    }
}

impl TryFrom<RawIntentRecord> for IntentRecord {
    type Error = InvalidBounds;
    fn try_from(raw: RawIntentRecord) -> Result<Self, InvalidBounds> {
        let wish = IntentWish::try_from(RawWish {
            schema_version: raw.schema_version,
            intent_id: raw.intent_id,
            intent_revision: raw.intent_revision,
            expected_unit_revision: raw.expected_unit_revision,
            desired_replicas: raw.desired_replicas,
            min_replicas: raw.min_replicas,
            max_replicas: raw.max_replicas,
            controller_mode: raw.controller_mode,
            replica_writer_id: raw.replica_writer_id,
            execution_key: raw.execution_key,
            target: raw.target,
            reason: raw.reason,
            retry_policy: raw.retry_policy,
        })?;
        Ok(Self { wish, fence: raw.fence, created_at: raw.created_at })
    }
}

/// The minted id of a live intent (seed 001): `scale-intent:` + 32 hex digits of the SHA-256 of the
/// canonical JSON of service, mode, count and the revision that was expected.
pub fn minted_intent_id(
    service: &ServiceName,
    mode: ControllerMode,
    desired: Replicas,
    expected_revision: u64,
) -> IntentId {
    #[derive(Serialize)]
    struct Identity<'i> {
        service: &'i ServiceName,
        controller_mode: ControllerMode,
        desired_replicas: Replicas,
        expected_revision: u64,
    }
    let identity =
        Identity { service, controller_mode: mode, desired_replicas: desired, expected_revision };
    let identity = canonical_json(&identity);
    let minted = format!("scale-intent:{}", &sha256_hex(identity.as_bytes())[..32]);
    minted.parse().expect("BUG: a minted id is an identifier")
}

/// The minted id of a recorded simulation: outside the uniqueness of live intents.
pub fn minted_simulation_id(key: &ExecutionKey) -> IntentId {
    let minted = format!("scale-intent-dry:{}", &sha256_hex(key.as_str().as_bytes())[..32]);
    minted.parse().expect("BUG: a minted id is an identifier")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::canonical::read_document;

    /// The fixture of facts/scale-intent.md, as a client of that system writes it.
    fn fixture() -> String {
        r#"{"schema_version":"1","intent_id":"scale-intent-1","intent_revision":1,
        "expected_unit_revision":7,"desired_replicas":3,"min_replicas":1,"max_replicas":5,
        "controller_mode":"native","replica_writer_id":"writer-1",
        "execution_key":"scale-execution-1","fence":{"lease_id":"intent-fence-1","lease_epoch":4,
        "fence_token":9,"expires_at":"2026-01-01T12:10:00Z"},"target":{"cluster_id":"cluster-1",
        "runtime_id":"runtime-1","workload_id":"workload-1","target_uid":"target-uid-1",
        "target_resource_version":"rv-1"},"reason":"bounded reconciliation fixture",
        "retry_policy":{"max_attempts":3,"backoff_s":2},"created_at":"2026-01-01T12:00:00Z"}"#
            .to_owned()
    }

    fn read(text: &str) -> Result<IntentRecord, String> {
        read_document(text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_golden_identity_digest_is_reproduced() {
        let record = read(&fixture()).expect("BUG: the fixture is valid");
        assert_eq!(
            record.identity_digest().to_string(),
            "a5bb7f05f3f97d07b75fac757bd651c917ba39c4695e2df628df518fa91d5a33"
        );
        assert!(!canonical_json(record.wish()).contains("fence"));
        assert_ne!(record.wish().digest(), record.identity_digest());
    }

    #[test]
    fn defaults_are_part_of_the_digest() {
        let full = read(&fixture().replace("\"backoff_s\":2", "\"backoff_s\":5")).expect("valid");
        let short = fixture()
            .replace("\"schema_version\":\"1\",", "")
            .replace("\"retry_policy\":{\"max_attempts\":3,\"backoff_s\":2},", "");
        assert_eq!(read(&short).expect("valid").identity_digest(), full.identity_digest());
    }

    #[test]
    fn canonical_text_has_six_digits_and_ascii_escapes() {
        let text = fixture()
            .replace(
                "\"created_at\":\"2026-01-01T12:00:00Z\"",
                "\"created_at\":\"2026-01-01T13:00:00.123+01:00\"",
            )
            .replace("bounded", "gr\u{fc}n \u{1F600}");
        let canonical = canonical_json(&read(&text).expect("valid"));
        assert!(canonical.contains(r#""created_at":"2026-01-01T12:00:00.123000Z""#), "{canonical}");
        assert!(canonical.contains(r"gr\u00fcn \ud83d\ude00"), "{canonical}");
        assert!(canonical.contains(r#""backoff_s":2.0"#), "{canonical}");
    }

    #[test]
    fn every_bound_of_the_record_is_held() {
        for (from, to, fragment) in [
            ("\"intent_revision\":1", "\"intent_revision\":0", "intent_revision"),
            ("\"intent_revision\":1", "\"intent_revision\":1.0", "intent_revision"),
            ("\"intent_revision\":1", "\"intent_revision\":\"1\"", "intent_revision"),
            ("\"intent_revision\":1", "\"intent_revision\":true", "intent_revision"),
            ("\"desired_replicas\":3", "\"desired_replicas\":6", "does not hold"),
            ("\"desired_replicas\":3", "\"desired_replicas\":0", "does not hold"),
            ("\"desired_replicas\":3", "\"desired_replicas\":-1", "desired_replicas"),
            ("\"min_replicas\":1", "\"min_replicas\":6", "does not hold"),
            ("\"native\"", "\"external_hpa\"", "controller_mode"),
            ("\"max_attempts\":3", "\"max_attempts\":9", "max attempts 9 is outside 1..=8"),
            ("\"max_attempts\":3", "\"max_attempts\":0", "max attempts"),
            ("\"backoff_s\":2", "\"backoff_s\":3600.001", "outside 0..=3600"),
            ("\"backoff_s\":2", "\"backoff_s\":-1", "outside"),
            ("\"backoff_s\":2", "\"backoff_s\":0.0005", "whole number of milliseconds"),
            ("\"backoff_s\":2", "\"backoff_s\":\"2\"", "backoff_s"),
            ("\"fence_token\":9", "\"fence_token\":0", "fence token 0"),
            ("2026-01-01T12:10:00Z", "2026-01-01T12:10:00", "RFC 3339"),
            ("\"schema_version\":\"1\"", "\"schema_version\":\"2\"", "schema_version"),
            ("\"schema_version\":\"1\"", "\"schema_version\":1", "schema_version"),
            (
                "\"reason\":\"bounded reconciliation fixture\"",
                "\"reason\":\"\"",
                "a reason has 1 to 512",
            ),
            ("rv-1", "rv 1", "is not an identifier"),
            ("\"writer-1\"", "null", "replica_writer_id"),
            ("\"target_uid\":\"target-uid-1\",", "", "target_uid"),
            ("{\"schema_version\"", "{\"extra\":1,\"schema_version\"", "unknown field `extra`"),
            ("{\"cluster_id\"", "{\"zone\":\"a\",\"cluster_id\"", "unknown field `zone`"),
        ] {
            let text = fixture().replacen(from, to, 1);
            assert_ne!(text, fixture(), "the row {from} changes nothing");
            let error = read(&text).expect_err(to);
            assert!(error.contains(fragment), "{to}: {error}");
        }
    }

    #[test]
    fn minted_ids_follow_the_formula() {
        let service: ServiceName = "vector-mcp".parse().expect("BUG: fits");
        let three = Replicas::new(3).expect("BUG: fits");
        for (expected_revision, id) in [
            (0, "scale-intent:395e3de7a862c495f13192087bf5028f"),
            (1, "scale-intent:6b441f52e1fb234f744a97a8d92ec826"),
        ] {
            let minted =
                minted_intent_id(&service, ControllerMode::Native, three, expected_revision);
            assert_eq!(minted.as_str(), id);
        }
    }
}
