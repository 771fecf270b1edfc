//! What the contract's texts are called in the ledger, and the registration of a service that
//! nobody has registered.

use std::collections::BTreeMap;

use crate::domain::digest::sha256_hex;
use crate::domain::id::{ExecutionKey, Replicas, RequiredReadings, ServiceName, UnitRevision};
use crate::domain::scale::intent::{Reason, RetryPolicy};
use crate::domain::scale::service::{
    Binding, ConvergeOn, Drain, FenceSource, OnUnknown, Outdated, RegisteredMode, Registration,
    TargetMatch, Terms, label_problem,
};
use crate::domain::time::{DurationMs, Timestamp};

/// Who the gateway is: the writer of what it registers, and the principal that policy is asked
/// about.
pub const WRITER: &str = "gateway";
/// The cluster of a target that is nothing but its desired count.
pub const CLUSTER: &str = "gateway";
/// The runtime of such a target.
pub const RUNTIME: &str = "desired-state";
/// The label that keeps the contract's name where it is no identifier.
pub const RAW_NAME_LABEL: &str = "gateway-service";

const HASHED: &str = "gw-";

/// The key of an operation: any text is an operation id, and not any text is a key.
pub fn key_of(operation_id: &str) -> ExecutionKey {
    own(&format!("gw:{}", sha256_hex(operation_id.as_bytes())))
}

/// What a service of the contract is called in the ledger: its name where that is an identifier,
/// else `gw-` and the SHA-256 of it. No two names are called the same: what looks like a hashed one
/// is hashed, too.
pub fn service_name(raw: &str) -> ServiceName {
    let hash = raw.strip_prefix(HASHED);
    let is_hashed = hash.is_some_and(|hash| {
        hash.len() == 64 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    });
    match raw.parse::<ServiceName>() {
        Ok(name) if name.as_str() == raw && !is_hashed => name,
        Ok(_) | Err(_) => own(&format!("{HASHED}{}", sha256_hex(raw.as_bytes()))),
    }
}

/// The reason of an operation as an intent keeps it. The operation itself is kept verbatim.
pub fn reason_of(raw: &str) -> Reason {
    let cut = Reason::cut(raw);
    if cut.as_str().is_empty() { Reason::cut("the gateway gave no reason") } else { cut }
}

/// The registration that an unknown service gets by its first accepted operation: nobody is called,
/// and the desired count is all there is (design, section 8).
pub fn registration(service: &ServiceName, raw: &str) -> Registration {
    let mut labels = BTreeMap::new();
    if service.as_str() != raw && label_problem(RAW_NAME_LABEL, raw).is_none() {
        labels.insert(RAW_NAME_LABEL.to_owned(), raw.to_owned());
    }
    Registration {
        service: service.clone(),
        unit_revision: UnitRevision::MIN,
        mode: RegisteredMode::Native,
        writer: own(WRITER),
        min_replicas: Replicas::MIN,
        max_replicas: Replicas::from(u32::MAX),
        actuator: None,
        cluster_id: own(CLUSTER),
        runtime_id: own(RUNTIME),
        workload_id: own(service.as_str()),
        terms: Terms {
            target_match: TargetMatch::Version,
            on_unknown: OnUnknown::ObserveFirst,
            required_readings: RequiredReadings::MIN,
            reading_interval_ms: DurationMs::ZERO,
            converge_on: ConvergeOn::Declared,
            drain: Drain::None,
            quiet_ms: DurationMs::ZERO,
        },
        cooldown_ms: None,
        fences: FenceSource::Minted,
        retry_policy: RetryPolicy::default(),
        labels,
        scaling: None,
        declared_replicas: None,
        quorum_required: false,
        owner: None,
        environment: None,
    }
}

/// What such a target is. Nobody reads it.
pub fn binding(service: &ServiceName, now: Timestamp) -> Binding {
    Binding {
        target_uid: own(service.as_str()),
        target_resource_version: own("1"),
        generation: None,
        replicas: None,
        ready_replicas: None,
        read_at: now,
        outdated: Outdated::default(),
    }
}

fn own<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("BUG: {text:?} is an identifier"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_an_operation_id_and_no_two_have_one_key() {
        let ids = ["op-1", " op-1", "op-1 ", "", "\u{0}", "ü", &"x".repeat(60_000)];
        let keys: std::collections::BTreeSet<_> = ids.iter().map(|id| key_of(id)).collect();
        assert_eq!(keys.len(), ids.len());
        assert_eq!(
            key_of("op-1").as_str(),
            format!("gw:{}", sha256_hex(b"op-1")),
            "the key is told by anybody who has the id"
        );
    }

    #[test]
    fn a_name_that_is_no_identifier_is_hashed_and_no_two_are_called_the_same() {
        for plain in ["api", "a/b", "team:api.v2", "gw-api"] {
            assert_eq!(service_name(plain).as_str(), plain);
        }
        let odd = [" api", "api ", "a b", "ü", "", ".api", "a@1", &"a".repeat(257)];
        let hashed = service_name("a b");
        for raw in odd.into_iter().chain([hashed.as_str()]) {
            let name = service_name(raw);
            assert_eq!(name.as_str(), format!("gw-{}", sha256_hex(raw.as_bytes())), "{raw:?}");
        }
    }

    #[test]
    fn a_reason_fits_and_is_never_empty() {
        assert_eq!(reason_of("load").as_str(), "load");
        assert_eq!(reason_of("").as_str(), "the gateway gave no reason");
        assert_eq!(reason_of("\u{0}").as_str(), "the gateway gave no reason");
        assert_eq!(reason_of(&"x".repeat(60_000)).as_str().len(), 512);
    }

    #[test]
    fn an_odd_name_is_kept_where_people_look() {
        let name = service_name("a b");
        let kept = registration(&name, "a b");
        assert_eq!(kept.labels[RAW_NAME_LABEL], "a b");
        assert!(kept.is_desired_state());
        assert!(registration(&service_name("api"), "api").labels.is_empty());
        let control = "a\u{1}b";
        assert!(registration(&service_name(control), control).labels.is_empty());
    }
}
