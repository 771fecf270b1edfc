//! The gateway's contract: one operation, and the journal of its own authority.

use scalectl::domain::canonical::read_document_of_others;
use scalectl::domain::gateway::{
    Holds, Journal, Judged, OPERATION_BYTES_MAX, ScaleOperation, Used, judge, key_of, read_lenient,
    service_name,
};
use scalectl::domain::id::Replicas;
use serde_json::Value;

/// What is read says what was written, goes out and in again, and is judged without a panic.
pub fn operation(data: &[u8]) -> bool {
    let Ok(operation) = read_lenient::<ScaleOperation>(data, OPERATION_BYTES_MAX) else {
        return false;
    };
    assert!(data.len() <= OPERATION_BYTES_MAX);
    let first = serde_json::Deserializer::from_slice(data).into_iter::<Value>().next();
    if let Some(Ok(Value::Object(said))) = first {
        assert_eq!(said["desired_replicas"].as_u64(), Some(operation.desired_replicas.into()));
        assert_eq!(said["operation_id"].as_str(), Some(operation.operation_id.as_str()));
    }
    let text = serde_json::to_vec(&operation).expect("it is JSON");
    if text.len() <= OPERATION_BYTES_MAX {
        assert_eq!(read_lenient(&text, OPERATION_BYTES_MAX), Ok(operation.clone()));
    }
    assert_eq!(key_of(&operation.operation_id).as_str().len(), 67);
    assert!(!service_name(&operation.service).as_str().is_empty());
    let holds = Holds { replicas: Replicas::from(operation.current_replicas), revision: 5 };
    if let Ok(Judged::Accept(answer)) = judge(&operation, Used::No, holds, None) {
        assert_eq!(answer.actual_replicas, operation.desired_replicas);
        assert_eq!(answer.revision.as_deref(), Some("6"));
    }
    true
}

/// What is taken over follows, receipt by receipt, to what the journal holds.
pub fn journal(data: &[u8]) -> bool {
    let Ok(journal) = read_document_of_others::<Journal>(data) else { return false };
    let Ok(services) = journal.checked() else { return false };
    let said: Value = serde_json::from_slice(data).expect("it was read");
    for (name, journaled) in &services {
        let (mut at, mut desired) = (journaled.revision, journaled.replicas);
        for receipt in &journaled.receipts {
            assert_eq!(&receipt.request.service, name);
            assert_eq!(receipt.request.current_replicas, desired);
            assert_eq!(receipt.revision(), Some(at + 1));
            (at, desired) = (at + 1, receipt.request.desired_replicas);
        }
        assert_eq!(said["revisions"][name].as_u64(), Some(at), "{name}");
        assert_eq!(said["targets"][name].as_u64().unwrap_or(0), u64::from(desired), "{name}");
    }
    true
}
